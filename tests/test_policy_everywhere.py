"""One policy for every way to bytes: no spelling reaches or names a denied file, through no source.

Each example makes a tree of denied names in odd spellings, as files, behind links, in archives, compressed and in git,
and asks for them in every way there is. Each name contains TOKEN and each file CONTENTS, so that an answer that holds
one of them is a leak.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import shutil
import struct
import subprocess
import tarfile
import tempfile
import zipfile
import zlib

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from eyespan import Policy, Workspace
from eyespan.context import CallContext
from eyespan.dialects import dialect_names
from eyespan.dialects.table import uri_of
from eyespan.errors import PolicyDenied, ReadError
from eyespan.extras.resources import resource
from eyespan.model import ReadRequest
from eyespan.policy.spellings import BACKUP_SUFFIXES, COMPRESSION_SUFFIXES, fold
from tests.sizes import examples

TOKEN = "zq7kwv"
"""Longer than what the name of a temporary directory has by chance."""
CONTENTS = "value-of-the-secret"
DENIED = (
    f"{TOKEN}.env",
    f".env.{TOKEN}",
    f"{TOKEN}.key",
    f"id_rsa_{TOKEN}",
    f"app/{TOKEN}.pem",
    f".ssh/{TOKEN}",
    f"{TOKEN}.kdbx",
    f"secrets/{TOKEN}.md",
    f"config/{TOKEN}.yml",
    f"secrets/{TOKEN}/.env.example",
)
POLICY = Policy(deny=["secrets/", f"config/{TOKEN}.yml"])
DIALECTS = {"native": "path", "forge": "path", "codex": "file_path", "workspace": "path", "claude": "file_path"}
"""The dialects and their argument for the path."""


@st.composite
def spelled(draw: st.DrawFn) -> str:
    """Draw another spelling of a denied name, as the path of a file on disk."""
    name = draw(st.sampled_from(DENIED))
    letters = [
        draw(st.sampled_from([letter, letter.upper(), chr(ord(letter) + 0xFEE0)])) if letter not in "/" else letter
        for letter in name
    ]
    directory, slash, last = "".join(letters).rpartition("/")
    ends = st.sampled_from(["", "", ".", " ", ". ", "\u3000"])
    suffixes = draw(st.lists(st.sampled_from(COMPRESSION_SUFFIXES + BACKUP_SUFFIXES), max_size=3))
    last += "".join(suffixes) + draw(ends)
    directory += draw(ends) if directory else ""
    path = f"{directory}{slash}{last}"
    return path.replace("/", "\\") if draw(st.booleans()) else path


class Tree:
    """A workspace full of denied names, and the answers to questions about it."""

    def __init__(self, root: str, names: list[str]) -> None:
        self.root = root
        self.names = names
        self.links: list[str] = []
        self._write("readme.md", b"open to all\n")
        for number, name in enumerate(names):
            self._write(name, CONTENTS.encode())
            self._write(f"{name}.gz", gzip.compress(CONTENTS.encode()))
            link = f"link{number}.txt"
            os.symlink(name, os.path.join(root, link))
            self.links.append(link)
        with open(os.path.join(root, "a.zip"), "wb") as file:
            file.write(self._zip())
        with open(os.path.join(root, "b.tar"), "wb") as file:
            file.write(self._tar())

    def _write(self, name: str, data: bytes) -> None:
        path = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)

    def _zip(self) -> bytes:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            archive.writestr("readme.md", "open to all\n")
            for name in self.names:
                info = zipfile.ZipInfo("x")
                info.filename = name  # the constructor would rewrite backslashes on some systems
                archive.writestr(info, CONTENTS)
        return buffer.getvalue()

    def _tar(self) -> bytes:
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as archive:
            for name in self.names:
                info = tarfile.TarInfo(name)
                info.size = len(CONTENTS)
                archive.addfile(info, io.BytesIO(CONTENTS.encode()))
            for number, name in enumerate(self.names):
                for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE):
                    info = tarfile.TarInfo(f"link{kind.decode()}{number}")
                    info.type, info.linkname = kind, name
                    archive.addfile(info)
            data = self._zip()
            info = tarfile.TarInfo("nested.zip")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
        return buffer.getvalue()

    def commit(self) -> None:
        """Commit everything to a repository, and point another directory at it."""
        identity = ("-c", "user.name=a", "-c", "user.email=a@b")
        for words in (("init", "-q"), ("add", "-A"), (*identity, "commit", "-qm", "x")):
            subprocess.run(["git", *words], cwd=self.root, check=True, capture_output=True)
        self._write("other/.git", b"gitdir: ../.git\n")
        os.symlink("../.git", os.path.join(self._made("linked"), ".git"))
        self._write("borrowed/.git/objects/info/alternates", b"../../../.git/objects\n")
        head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=self.root, check=True, capture_output=True).stdout
        self._write("borrowed/.git/HEAD", head)

    def _made(self, name: str) -> str:
        path = os.path.join(self.root, name)
        os.mkdir(path)
        return path


def leaks(text: str, *, asked: str = "") -> list[str]:
    """Return what a text gives away beyond the path that was asked for."""
    shown = fold(text.replace(asked, "") if asked else text)
    return [secret for secret in (TOKEN, CONTENTS) if secret in shown]


def read(workspace: Workspace, path: str, **more: str) -> str:
    """Return the text of a request, of a document or of an error."""
    try:
        request = ReadRequest(path, documents=frozenset(["archive", "compressed"]), **more)
        return repr(workspace.engine.read(request).parts)
    except PolicyDenied as error:
        return f"denied {error}"
    except ReadError as error:
        return str(error)


NAMES = st.lists(spelled(), min_size=1, max_size=6, unique_by=lambda name: fold(name).replace("\\", "/"))
EVERYTHING = settings(max_examples=examples(200, short=8))


@contextlib.contextmanager
def tree_of(names: list[str]):
    with tempfile.TemporaryDirectory() as root:
        tree = Tree(root, names)
        with Workspace(root, policy=POLICY) as workspace:
            yield tree, workspace


@EVERYTHING
@given(NAMES)
@example([f"{TOKEN}.key.gz", f"app\\.env.{TOKEN}", f".ssh\\{TOKEN}", f"secrets/{TOKEN}/.env.example"])
def test_no_source_reaches_a_denied_file(names):
    with tree_of(names) as (tree, workspace):
        for name in [*names, *[f"{name}.gz" for name in names], *tree.links]:
            assert read(workspace, name).startswith("denied"), name
            with pytest.raises(PolicyDenied):
                resource.read(workspace.engine, workspace.roots, uri_of(name), CallContext())
            for dialect, argument in DIALECTS.items():
                path = os.path.join(tree.root, name) if dialect in ("codex", "claude") else name
                reply = workspace.tool(dialect).call({argument: path})
                assert reply.error, (dialect, name)
                assert CONTENTS not in reply.text, (dialect, name)
        for name in names:
            for spelling in (name, name.replace("\\", "/")):
                assert CONTENTS not in read(workspace, "a.zip", member=spelling), spelling
                assert CONTENTS not in read(workspace, "b.tar", member=spelling), spelling
                assert CONTENTS not in read(workspace, "b.tar", member=f"nested.zip!/{spelling}"), spelling
            assert read(workspace, "a.zip", member=name).startswith("denied"), name
            assert read(workspace, "b.tar", member=name).startswith("denied"), name
        for number in range(len(names)):
            assert read(workspace, "b.tar", member=f"link1{number}").startswith("denied")
            assert not leaks(read(workspace, "b.tar", member=f"link2{number}"))


@EVERYTHING
@given(NAMES)
@example([f"{TOKEN}.key.gz", f"app\\.env.{TOKEN}", f".ssh\\{TOKEN}", f"secrets/{TOKEN}/.env.example"])
def test_nothing_names_a_denied_file(names):
    with tree_of(names) as (_, workspace):
        native = workspace.tool("native")
        for path in [
            ".",
            "a.zip",
            "b.tar",
            "b.tar!/nested.zip",
            "app",
            "config",
            "app/",
            "a.zip!/app",
            "a.zip!/config",
            "b.tar!/secrets",
        ]:
            assert not leaks(native.call({"path": path}).text), path
        for path, member in (
            ("a.zip", ""),
            ("b.tar", ""),
            ("b.tar", "nested.zip"),
            ("a.zip", "app"),
            ("b.tar", "config"),
        ):
            assert not leaks(read(workspace, path, member=member)), (path, member)
        for typed in ["", "z", "Z", ".", ".e", "i", "app/", "config/", "config/z", "secrets/", ".ssh/", TOKEN[0]]:
            assert not leaks(str(resource.complete(workspace.engine, typed, CallContext()))), typed
        for name in names:
            for wrong in (name[:-1], f"{name}x", name.swapcase(), name.replace(".", "_"), f"x/{name}"):
                for path in (wrong, f"a.zip!/{wrong}", f"b.tar!/{wrong}", f"b.tar!/nested.zip!/{wrong}"):
                    text = native.call({"path": path}).text
                    assert CONTENTS not in text, path
                    assert name not in text.replace(path, "").replace(wrong, ""), path


def _unicode_path(name: str) -> bytes:
    """Return the extra field of zip for a name in Unicode."""
    raw = name.encode()
    return struct.pack("<HHBL", 0x7075, 5 + len(raw), 1, zlib.crc32(b"open.txt")) + raw


def _zip_of(name: str, extra: bytes = b"") -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("readme.md", "open to all\n")
        info = zipfile.ZipInfo("x")
        info.filename, info.extra = name, extra
        archive.writestr(info, CONTENTS)
    return buffer.getvalue()


def _tar_of(name: str, path: str = "", **how: int) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", **how) as archive:
        info = tarfile.TarInfo(name)
        info.size = len(CONTENTS)
        info.pax_headers = {"path": path} if path else {}
        archive.addfile(info, io.BytesIO(CONTENTS.encode()))
    return buffer.getvalue()


def _archives_with_two_names(name: str) -> dict[str, tuple[bytes, str]]:
    """Return archives of a member that is `name` to some programs, and its name to others."""
    in_both = _zip_of("open.txt", _unicode_path(name))
    field = _unicode_path(name)
    long_name = _tar_of("open" * 30, format=tarfile.GNU_FORMAT)
    at = 2 * tarfile.BLOCKSIZE  # the header of the member, after that of its long name and the name itself
    header = tarfile.TarInfo(name)
    header.size = len(CONTENTS)
    return {
        "unicode path.zip": (in_both, "open.txt"),
        "local.zip": (in_both[::-1].replace(field[::-1], _unicode_path("o" * len(name))[::-1], 1)[::-1], "open.txt"),
        "nul.zip": (_zip_of(f"{name}Q.txt").replace(f"{name}Q".encode(), f"{name}\0".encode()), f"{name}\0.txt"),
        "pax.tar": (_tar_of(name, "open.txt", format=tarfile.PAX_FORMAT), "open.txt"),
        "gnu.tar": (long_name[:at] + header.tobuf(tarfile.GNU_FORMAT) + long_name[at + 512 :], "open" * 30),
    }


@EVERYTHING
@given(st.sampled_from([name for name in DENIED if not name.startswith(("secrets", "config"))]))
def test_a_denied_name_in_any_header_of_an_archive_is_denied(name):
    with tree_of([]) as (tree, workspace):
        for archive, (data, member) in _archives_with_two_names(name).items():
            tree._write(archive, data)
            listing = read(workspace, archive)
            assert "archive, " in listing
            assert archive == "local.zip" or not leaks(listing), archive
            assert CONTENTS not in read(workspace, archive, member=member), archive
        buffer = io.BytesIO()
        with gzip.GzipFile(filename=name, mode="wb", fileobj=buffer) as packed:
            packed.write(CONTENTS.encode())
        tree._write("day.log.gz", buffer.getvalue())
        is_kept = "/" in name  # the module of Python writes the last name only
        assert is_kept or read(workspace, "day.log.gz").startswith("denied")


@pytest.mark.parametrize("how", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_a_long_name_that_a_header_cuts_after_a_denied_suffix_is_not_denied(tmp_path, how):
    name = "a" * 96 + ".pembroke/readme.md"
    (tmp_path / "a.tar").write_bytes(_tar_of(name, format=how))
    with Workspace(tmp_path) as workspace:
        assert CONTENTS in read(workspace, "a.tar", member=name)


def test_a_link_to_an_archive_does_not_lead_past_the_rules_for_its_members(tmp_path):
    (tmp_path / "bundle.zip").write_bytes(_zip_of("private/plan.md"))
    (tmp_path / "alias.zip").symlink_to("bundle.zip")
    with Workspace(tmp_path, policy=Policy(deny=["bundle.zip/private/"])) as workspace:
        for path in ("bundle.zip", "alias.zip"):
            assert "plan" not in read(workspace, path), path
            assert read(workspace, path, member="private/plan.md").startswith("denied"), path
            assert read(workspace, path, member="private").startswith("denied"), path


def test_a_refusal_of_a_member_does_not_depend_on_its_existence(tmp_path):
    (tmp_path / "a.zip").write_bytes(_zip_of(".npmrc"))
    (tmp_path / "b.zip").write_bytes(_zip_of("plan.md"))
    with Workspace(tmp_path) as workspace:
        for member in (".npmrc", "x/.npmrc", ".ssh", "c.zip!/.env"):
            answers = [read(workspace, path, member=member).replace(path, "") for path in ("a.zip", "b.zip")]
            assert answers[0].startswith("denied")
            assert answers[0] == answers[1], member


def test_a_map_names_no_directory_that_a_listing_leaves_out(tmp_path):
    for name in ("src/app.py", f".env.{TOKEN}/app.py", f"secrets/{TOKEN}.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("def harbour(): pass\n")
    with Workspace(tmp_path, policy=POLICY) as workspace:
        for path in (".", "**", "**/*.py"):
            text = workspace.tool("native").call({"path": path, "outline": True}).text
            assert "src" in text
            assert not leaks(text), path


def arguments_for(tool, path: str) -> dict[str, object]:
    """Return arguments that name a path in every way that the schema of a tool has."""
    filled: dict[str, object] = {}
    for name, schema in tool.spec.input_schema["properties"].items():
        if name.lower().replace("_", "") in ("path", "filepath", "dirpath", "absolutepath"):
            filled[name] = path
        elif name in ("paths", "include"):
            filled[name] = [path]
        elif name == "files":
            filled[name] = [{"path": path}] if schema.get("type") == "array" else path
        elif name in ("pattern", "command"):
            filled[name] = {"pattern": "**/*", "command": "view"}[name]
    return filled


@pytest.mark.parametrize("dialect", dialect_names())
def test_no_tool_reveals_a_denied_file(dialect):
    names = [f".env.{TOKEN}", f"app/{TOKEN}.pem", f"secrets/{TOKEN}.md", f"app/credentials ({TOKEN}).json"]
    with tree_of(names) as (tree, workspace):
        os.symlink("app", os.path.join(tree.root, "pub"))
        os.symlink("secrets", os.path.join(tree.root, "open"))
        tools = workspace.toolset(dialect)
        readme = os.path.join(tree.root, "readme.md")
        assert any("open to all" in tool.call(arguments_for(tool, readme)).text for tool in tools)
        for path in (
            ".",
            "app",
            "pub",
            "open",
            f"open/{TOKEN}.md",
            f"pub/{TOKEN}.pem",
            *tree.links,
            *names,
            "app/x.pem",
        ):
            for asked in (path, os.path.join(tree.root, path)):
                for tool in tools:
                    reply = tool.call(arguments_for(tool, asked))
                    shown = f"{reply.text} {reply.structured}"
                    assert CONTENTS not in shown, (tool.spec.name, asked)
                    assert TOKEN in asked or TOKEN not in shown, (tool.spec.name, asked)


@pytest.mark.skipif(shutil.which("git") is None, reason="repositories are made with git")
@settings(max_examples=examples(50, short=3))
@given(NAMES)
@example([f"config/{TOKEN}.yml", f"secrets/{TOKEN}.md", f"{TOKEN}.key.gz", f".ssh\\{TOKEN}"])
def test_no_revision_reaches_a_denied_file(names):
    with tree_of(names) as (tree, workspace):
        tree.commit()
        assert "open to all" in read(workspace, "other/readme.md", revision="HEAD")
        assert "open to all" in read(workspace, "borrowed/readme.md", revision="HEAD")
        for name in names:
            for directory in ("", "other/", "linked/", "borrowed/"):
                path = directory + name
                text = read(workspace, path, revision="HEAD")
                assert text.startswith("denied"), path
                assert CONTENTS not in workspace.tool("native").call({"path": f"{path}@HEAD"}).text, path
        for member in names:
            assert read(workspace, "other/a.zip", revision="HEAD", member=member).startswith("denied"), member


@pytest.mark.skipif(shutil.which("git") is None, reason="repositories are made with git")
def test_a_rule_holds_in_the_working_tree_that_a_repository_belongs_to(tmp_path):
    (tmp_path / "project" / "config").mkdir(parents=True)
    (tmp_path / "project" / "config" / "private.yml").write_text(CONTENTS)
    for words in (("init", "-q"), ("add", "-A"), ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x")):
        subprocess.run(["git", *words], cwd=tmp_path / "project", check=True, capture_output=True)
    (tmp_path / "pub").mkdir()
    (tmp_path / "pub" / ".git").write_text("gitdir: ../project/.git\n")
    shutil.copytree(tmp_path / "project" / ".git", tmp_path / "moved.git")
    with open(tmp_path / "moved.git" / "config", "a") as config:
        config.write("[core]\n\tworktree = ../project\n")
    (tmp_path / "away").mkdir()
    (tmp_path / "away" / ".git").write_text("gitdir: ../moved.git\n")

    subprocess.run(["git", "worktree", "add", "-q", "../linked"], cwd=tmp_path / "project", check=True)

    for tree in ("project", "linked"):
        with Workspace(tmp_path, policy=Policy(deny=[f"{tree}/config/"])) as workspace:
            for directory in ("project", "pub", "linked"):
                path = f"{directory}/config/private.yml"
                assert read(workspace, path, revision="HEAD").startswith("denied"), (tree, path)
    with Workspace(tmp_path, policy=Policy(deny=["project/config/"])) as workspace:
        assert read(workspace, "away/config/private.yml", revision="HEAD").startswith("denied")


@pytest.mark.skipif(shutil.which("git") is None, reason="repositories are made with git")
def test_revisions_are_available_where_the_host_denies_the_configuration_of_git(tmp_path):
    (tmp_path / "a.md").write_text("open to all\n")
    for words in (("init", "-q"), ("add", "-A"), ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x")):
        subprocess.run(["git", *words], cwd=tmp_path, check=True, capture_output=True)
    with Workspace(tmp_path, policy=Policy(deny=["**/.git/**/config"])) as workspace:
        assert "open to all" in read(workspace, "a.md", revision="HEAD")
        assert read(workspace, ".git/config").startswith("denied")
    with Workspace(tmp_path, policy=Policy(deny=[".git/"])) as workspace:
        assert read(workspace, "a.md", revision="HEAD").startswith("denied")


def test_the_rules_for_a_directory_hold_where_it_is_the_root(tmp_path):
    root = tmp_path / ".aws"
    root.mkdir()
    (root / "credentials").write_text(CONTENTS)
    (root / "config").write_text("region = x\n")
    with Workspace(root) as workspace:
        assert read(workspace, "credentials").startswith("denied")
        assert [entry.name for entry in workspace.engine.list(".").entries] == ["config"]


@pytest.mark.parametrize(
    "path",
    [
        *("%2enpmrc", "%252enpmrc", "a%2f.npmrc", "a%5c.npmrc", ".npmrc%00", ".npmrc;v=1", ".npmrc?a", ".npmrc#a"),
        *("a;b/.ssh;c/config", ".npmrc%3Bv=1", "server%2Ekey%2egz", "%E2%80%8B.npmrc"),
    ],
)
def test_a_key_that_a_web_server_may_take_for_a_denied_one_is_denied(path):
    # Nothing listens there: the rules come before the first request.
    with Workspace("http://127.0.0.1:9/pub") as workspace:
        assert read(workspace, path).startswith("denied")
