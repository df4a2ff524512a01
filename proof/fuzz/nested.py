"""Targets for files inside files: archives, compressed files, revisions of a git repository."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import shutil
import subprocess
import tarfile
import tempfile
import zipfile

from proof.fuzz import damage
from proof.fuzz.target import FileTarget, dice_of, error_outcome

MEMBER = "directory/notes.txt"
BODY = "".join(f"line {n}: {n * 7919 % 1000}\n" for n in range(60)).encode()


def _zip(method: int = zipfile.ZIP_DEFLATED) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as archive:
        for name, data in ((MEMBER, BODY), ("empty", b""), ("deep.zip", b"PK\5\6" + bytes(18)), (".env", b"KEY=1")):
            archive.writestr(zipfile.ZipInfo(name), data)
    return made.getvalue()


def _tar(kind: int, mode: str = "w") -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode=mode, format=kind) as archive:
        for name, data in ((MEMBER, BODY), ("empty", b""), ("n" * 150 + "/é.txt", b"long name\n")):
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
        for name, what, target in (("link", tarfile.SYMTYPE, "/etc/passwd"), ("hard", tarfile.LNKTYPE, MEMBER)):
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = what, target
            archive.addfile(entry)
    return made.getvalue()


class _Nested(FileTarget):
    """A file inside the input, or the list of such files."""

    invariant = "Lines, a list of members, or a reason, in bounded time and memory; never an internal error."
    members: tuple[str, ...] = ("",)
    file_name = "input"

    def open(self) -> None:
        super().open()
        self.tool = self.workspace.tool("native")

    def check(self, data: bytes) -> str:
        from eyespan.errors import ReadError
        from eyespan.model import ANY_IS_TEXT, Lines, ReadRequest, Tail

        dice = dice_of(data)
        path = self.write(data, self.file_name)
        member = dice.choice(self.members)
        if dice.random() < 0.3:
            return "native: " + self.outcome(self.tool.call({"files": [f"{path}!/{member}" if member else path]}))
        selection = dice.choice((Lines(), Lines(5, 3), Tail(4)))
        documents = frozenset(("archive", "compressed"))
        request = ReadRequest(path, selection, member=member, documents=documents, text_rule=ANY_IS_TEXT)
        try:
            part = self.workspace.engine.read(request).parts[0]
        except ReadError as error:
            str(error).encode("utf-8", "backslashreplace")
            return error_outcome(error.code, str(error))
        return type(part).__name__


class Zip(_Nested):
    name, file_name = "zip", "input.zip"
    how = (*damage.BYTES, damage.damage_a_part)
    members = ("", MEMBER, MEMBER, MEMBER, "directory", "empty", "deep.zip!/x", ".env", "../x", "nothing")

    def seeds(self) -> list[bytes]:
        return [_zip(), _zip(zipfile.ZIP_STORED), _zip(zipfile.ZIP_BZIP2), _zip(zipfile.ZIP_LZMA)]


class Tar(_Nested):
    name, file_name = "tar", "input.tar"
    members = ("", MEMBER, MEMBER, MEMBER, "directory", "link", "hard", "n" * 150 + "/é.txt", "nothing")

    def seeds(self) -> list[bytes]:
        return [_tar(kind) for kind in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT)]

    def mutate(self, dice, data, other):
        data = super().mutate(dice, data, other)
        if dice.random() < 0.5:  # with a matching checksum, so that the damage gets past it
            at = dice.choice((0, 512 * dice.randrange(len(data) // 512 + 1)))
            block = bytearray(data[at : at + 512])
            if len(block) == 512:
                block[148:156] = b" " * 8
                block[148:156] = b"%06o\0 " % sum(block)
                data = data[:at] + bytes(block) + data[at + 512 :]
        return data


class Compressed(_Nested):
    name = "compressed"
    members = ("", "", "", MEMBER)

    def seeds(self) -> list[bytes]:
        tar = _tar(tarfile.PAX_FORMAT)
        made = [bz2.compress(BODY), lzma.compress(BODY), gzip.compress(BODY, mtime=0), gzip.compress(tar, mtime=0)]
        made += [lzma.compress(tar), gzip.compress(gzip.compress(BODY, mtime=0), mtime=0), made[2] * 3]
        try:
            import zstandard
        except ImportError:
            return made
        return [*made, zstandard.compress(BODY), zstandard.compress(tar)]


REPOSITORIES = (("loose", False), ("packed", True))
ENVIRONMENT = {
    "PATH": os.environ.get("PATH", ""),
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "LC_ALL": "C",
    **{f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    **{f"GIT_{who}_DATE": "1700000000 +0000" for who in ("AUTHOR", "COMMITTER")},
}


class Git(FileTarget):
    """One damaged file of a repository's `.git`. The input is its path, a line feed, its contents."""

    name = "git"
    invariant = "The file at that revision, or a reason; never an internal error, whatever the repository contains."

    def unavailable(self) -> str:
        return "" if shutil.which("git") else "git is not installed, which makes the seeds"

    def seeds(self) -> list[bytes]:
        with tempfile.TemporaryDirectory() as directory:
            self._make(directory)
            return self._files(directory)

    @staticmethod
    def _files(directory: str) -> list[bytes]:
        found = []
        for repository, _ in REPOSITORIES:
            for here, _, files in sorted(os.walk(os.path.join(directory, repository, ".git"))):
                for file in sorted(files):
                    path = os.path.join(here, file)
                    name = os.path.relpath(path, directory)
                    if not any(
                        part in name for part in ("hooks", "description", "/logs/", "COMMIT_EDITMSG", "index")
                    ) or (file.endswith(".idx")):
                        with open(path, "rb") as opened:
                            found.append(name.encode() + b"\n" + opened.read())
        return found

    @staticmethod
    def _make(directory: str) -> None:
        def git(*words):
            subprocess.run(["git", *words], cwd=here, env=ENVIRONMENT, capture_output=True, check=True)

        for name, packed in REPOSITORIES:
            here = os.path.join(directory, name)
            os.mkdir(here)
            git("init", "-q", "-b", "main")
            for version in range(4):
                with open(os.path.join(here, "a.txt"), "wb") as file:
                    file.write(BODY.replace(b"line 2", b"version %d" % version))
                git("add", ".")
                git("commit", "-q", "-m", f"version {version}")
            git("tag", "-a", "-m", "words", "v1", "HEAD~1")
            if packed:
                git("gc", "-q", "--aggressive", "--prune=now")
                git("pack-refs", "--all")

    def open(self) -> None:
        super().open()
        self._make(self.root)
        self.whole = dict(data.split(b"\n", 1) for data in self._files(self.root))

    def mutate(self, dice, data, other):
        name, _, body = data.partition(b"\n")
        return name + b"\n" + super().mutate(dice, body, other.partition(b"\n")[2])

    def check(self, data: bytes) -> str:
        from eyespan.errors import ReadError
        from eyespan.model import ReadRequest

        name, _, body = data.partition(b"\n")
        if name not in self.whole:
            return "no such file"
        dice = dice_of(data)
        path = os.path.join(self.root, os.fsdecode(name))
        os.chmod(path, 0o600)
        with open(path, "r+b") as file:
            file.truncate(0)
            file.write(body)
        revision = dice.choice(("HEAD", "HEAD~2", "v1", "main~1", "v1^{}", "HEAD^2", "main@{1}", "0123"))
        request = ReadRequest(os.path.join(self.root, name.split(b"/")[0].decode(), "a.txt"), revision=revision)
        try:
            self.workspace.engine.read(request)
        except ReadError as error:
            if not str(error):
                raise
            return error_outcome(error.code, str(error))
        finally:
            with open(path, "r+b") as file:
                file.truncate(0)
                file.write(self.whole[name])
        return "read"


TARGETS = (Zip(), Tar(), Compressed(), Git())
