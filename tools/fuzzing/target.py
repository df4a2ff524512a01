"""What a target is, the folder it works in, and what is wrong with any reply whatever was asked."""

from __future__ import annotations

import io
import json
import logging
import os
import random
import shutil
import tempfile
import traceback
import zlib
from pathlib import Path

from fuzzing import damage

REPOSITORY = Path(__file__).resolve().parent.parent.parent
FIXTURES = REPOSITORY / "tests" / "fixtures"
CONFORMANCE = REPOSITORY / "tests" / "conformance"
MAX_SEED_BYTES = 100_000
MAX_REPLY_BYTES = 32_000_000
MAX_IMAGE_BASE64_BYTES = 5 * 1024 * 1024
MAX_SIDE_PX = 8000
SECRET = "outside: a secret that no answer may hold"


class Broken(Exception):
    """An invariant does not hold; the text says how."""


class Hang(BaseException):
    """An input took longer than its target's patience. No `Exception`: nothing on the way may take it for an error."""


class Target:
    """One thing that takes bytes from strangers."""

    name = ""
    invariant = ""
    how: tuple = damage.BYTES
    """The kinds of damage that get deepest into this target."""
    patience_seconds = 30
    """An input that takes longer hangs. A busy machine may take seconds for what takes a millisecond."""
    cpu_seconds = 2.0
    """An input that keeps this process busy for longer is one that somebody will send a thousand times."""
    guidable = True
    """The code that judges the input runs in this process, so that coverage can guide the choice of inputs."""

    def seeds(self) -> list[bytes]:
        """Sound inputs."""
        raise NotImplementedError

    def open(self) -> None:
        """Makes whatever `check` needs."""

    def close(self) -> None:
        """Lets go of it."""

    def check(self, data: bytes) -> str:
        """Feeds one input; a word for what came of it. Raises: Broken, or anything else that nobody foresaw."""
        raise NotImplementedError

    def mutate(self, dice: random.Random, data: bytes, other: bytes) -> bytes:
        return damage.damaged(dice, data, other, self.how)

    def unavailable(self) -> str:
        """Why the target cannot run here; "" if it can."""
        return ""


def dice_of(data: bytes) -> random.Random:
    """Chance that depends on the input alone."""
    return random.Random(zlib.crc32(data))


class Complaints(logging.Handler):
    """Hears what `tool.call` logs when something unforeseen happened: to the caller it is only an error."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[str] = []

    def emit(self, entry: logging.LogRecord) -> None:
        error = entry.exc_info[1] if entry.exc_info else None
        self.heard.append("".join(traceback.format_exception(error)) if error else entry.getMessage())

    def __enter__(self) -> Complaints:
        logger = logging.getLogger("eyespan")
        logger.addHandler(self)
        self._propagate, logger.propagate = logger.propagate, False
        return self

    def __exit__(self, *_: object) -> None:
        logger = logging.getLogger("eyespan")
        logger.removeHandler(self)
        logger.propagate = self._propagate

    def raise_any(self) -> None:
        if self.heard:
            heard, self.heard = self.heard, []
            raise Broken("an internal error:\n" + "\n".join(heard))


class FileTarget(Target):
    """Writes each input as one file of a workspace."""

    file_name = "input"

    def open(self) -> None:
        from eyespan import Workspace

        # In memory where there is such a place: a disk would be the slowest part of every input.
        self.base = tempfile.mkdtemp(prefix="eyespan-fuzz-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
        self.base = os.path.realpath(self.base)
        self.root = os.path.join(self.base, "root")
        os.mkdir(self.root)
        with open(os.path.join(self.base, "secret"), "w") as file:
            file.write(SECRET)
        self.workspace = Workspace(self.root)
        self.complaints = Complaints()
        self.complaints.__enter__()
        self._fds: dict[str, int] = {}

    def close(self) -> None:
        for fd in self._fds.values():
            os.close(fd)
        self.complaints.__exit__()
        self.workspace.close()
        shutil.rmtree(self.base, ignore_errors=True)

    def write(self, data: bytes, name: str) -> str:
        """Puts the input in its file, in place; the file's path."""
        fd = self._fds.get(name)
        path = os.path.join(self.root, name)
        if fd is None:
            fd = self._fds[name] = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        os.ftruncate(fd, 0)
        os.pwrite(fd, data, 0)
        return path

    def said(self, reply) -> str:
        """A word for a reply. Raises: Broken, if it is one that no input may get."""
        self.complaints.raise_any()
        found = faults(reply)
        if found:
            raise Broken("; ".join(found))
        if reply.error is None:
            return "+".join(sorted({block.type for block in reply.content}))
        return told(reply.error.code, reply.error.message)


def told(code: str, message: str) -> str:
    """A word for an error; what the decoding process went through is part of it."""
    if "the decoder failed: " in message:
        return "decoder failed: " + message.partition("the decoder failed: ")[2].partition(":")[0]
    return f"{code}, decoder crashed" if "the decoder crashed" in message else code


def faults(reply) -> list[str]:
    """What is wrong with a reply, whatever the file and the arguments were."""
    found = []
    total = 0
    for block in reply.content:
        if block.type == "text":
            total += len(block.text.encode("utf-8"))
            if SECRET in block.text:
                found.append("the contents of an outside file")
            continue
        size = (len(block.data) + 2) // 3 * 4
        total += size
        if block.type == "image":
            if size > MAX_IMAGE_BASE64_BYTES:
                found.append(f"a picture of {size} bytes as base64")
            found += _picture_faults(block)
    if reply.structured is not None:
        total += len(json.dumps(reply.structured, ensure_ascii=False, allow_nan=False).encode("utf-8"))
    if total > MAX_REPLY_BYTES:
        found.append(f"a reply of {total} bytes")
    if reply.error is not None:
        reply.error.message.encode("utf-8")
        if "an internal error of eyespan" in reply.error.message or not reply.error.message:
            found.append(f"an error that explains nothing: {reply.error.message!r}")
    if not reply.content:
        found.append("a reply without a block")
    return found


def _picture_faults(block) -> list[str]:
    from PIL import Image

    try:
        with Image.open(io.BytesIO(block.data)) as picture:
            if max(picture.size) > MAX_SIDE_PX:
                return [f"a picture of {picture.size} pixels"]
            if Image.MIME.get(picture.format or "") != block.media_type and picture.format != "MPO":
                return [f"{picture.format} called {block.media_type}"]
            picture.load()
    except Exception as error:
        return [f"a picture that cannot be decoded: {error!r}"]
    return []


def fixtures(*patterns: str) -> list[bytes]:
    """The contents of files below tests/fixtures, none too large to be damaged quickly."""
    paths = sorted(path for each in patterns for path in FIXTURES.glob(each) if path.suffix != ".json")
    found = [path.read_bytes() for path in paths if path.stat().st_size <= MAX_SEED_BYTES]
    assert found, f"no fixtures: {patterns}"
    return found
