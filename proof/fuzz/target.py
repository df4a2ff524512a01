"""The base classes of targets, and the faults that no reply may have."""

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

from proof import REPOSITORY
from proof.fuzz import damage

FIXTURES = REPOSITORY / "tests" / "fixtures"
CONFORMANCE = REPOSITORY / "tests" / "conformance"
MAX_SEED_BYTES = 100_000
MAX_REPLY_BYTES = 32_000_000
MAX_IMAGE_BASE64_BYTES = 5 * 1024 * 1024
MAX_SIDE_PX = 2000
SECRET = "outside: a secret that no answer may hold"


class Broken(Exception):
    """Raised if an invariant does not hold; the text describes the fault."""


class Hang(BaseException):
    """Raised if an input took longer than its target's deadline.

    Not an `Exception`: no handler of errors on the way may catch it.
    """


class Target:
    """One parser of bytes from outside."""

    name = ""
    invariant = ""
    how: tuple = damage.BYTES
    """The kinds of damage that reach deepest into this target."""
    deadline_seconds = 30
    """An input that takes longer hangs; a busy machine may take seconds for the work of a millisecond."""
    cpu_seconds = 2.0
    """An input that takes more CPU time is a fault: an attacker would send it a thousand times."""
    guidable = True
    """The code that reads the input runs in this process, so coverage can guide the choice of inputs."""

    def seeds(self) -> list[bytes]:
        """Return undamaged inputs."""
        raise NotImplementedError

    def open(self) -> None:
        """Prepare for `check`."""

    def close(self) -> None:
        """Release what `open` acquired."""

    def check(self, data: bytes) -> str:
        """Check one input and return a word for the outcome. Raises: Broken; anything else is a fault too."""
        raise NotImplementedError

    def mutate(self, dice: random.Random, data: bytes, other: bytes) -> bytes:
        return damage.damaged(dice, data, other, self.how)

    def unavailable(self) -> str:
        """Return the reason why the target cannot run here; "" if it can."""
        return ""


def dice_of(data: bytes) -> random.Random:
    """Return a random generator that depends on the input alone."""
    return random.Random(zlib.crc32(data))


class Complaints(logging.Handler):
    """Collects the log entries that `tool.call` writes for an internal error; the caller only sees an error."""

    def __init__(self) -> None:
        super().__init__()
        self.entries: list[str] = []

    def emit(self, entry: logging.LogRecord) -> None:
        error = entry.exc_info[1] if entry.exc_info else None
        self.entries.append("".join(traceback.format_exception(error)) if error else entry.getMessage())

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
        """Raise Broken if there was an entry since the last call."""
        if self.entries:
            entries, self.entries = self.entries, []
            raise Broken("an internal error:\n" + "\n".join(entries))


class FileTarget(Target):
    """A target that writes each input to one file of a workspace."""

    file_name = "input"

    def open(self) -> None:
        from eyespan import Workspace

        # In memory if possible: a disk would take most of the time of every input.
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
        """Write the input to a file, in place, and return its path."""
        fd = self._fds.get(name)
        path = os.path.join(self.root, name)
        if fd is None:
            fd = self._fds[name] = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        os.ftruncate(fd, 0)
        os.pwrite(fd, data, 0)
        return path

    def outcome(self, reply) -> str:
        """Return a word for a reply. Raises: Broken, if the reply has a fault."""
        self.complaints.raise_any()
        found = faults(reply)
        if found:
            raise Broken("; ".join(found))
        if reply.error is None:
            return "+".join(sorted({block.type for block in reply.content}))
        return error_outcome(reply.error.code, reply.error.message)


def error_outcome(code: str, message: str) -> str:
    """Return a word for an error, with the failure of the decoder if there is one."""
    if "the decoder failed: " in message:
        return "decoder failed: " + message.partition("the decoder failed: ")[2].partition(":")[0]
    return f"{code}, decoder crashed" if "the decoder crashed" in message else code


def faults(reply) -> list[str]:
    """Describe what no reply may contain, whatever the file and the arguments were."""
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
                found.append(f"an image of {size} bytes as base64")
            found += image_faults(block)
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


def image_faults(block) -> list[str]:
    """Describe what no image of a reply may have."""
    from PIL import Image

    try:
        with Image.open(io.BytesIO(block.data)) as image:
            if max(image.size) > MAX_SIDE_PX:
                return [f"an image of {image.size} pixels"]
            if Image.MIME.get(image.format or "") != block.media_type and image.format != "MPO":
                return [f"{image.format} labelled {block.media_type}"]
            image.load()
    except Exception as error:
        return [f"an image that cannot be decoded: {error!r}"]
    return []


def fixtures(*patterns: str) -> list[bytes]:
    """Return the contents of files below tests/fixtures that are small enough to be damaged quickly."""
    paths = sorted(path for each in patterns for path in FIXTURES.glob(each) if path.suffix != ".json")
    found = [path.read_bytes() for path in paths if path.stat().st_size <= MAX_SEED_BYTES]
    assert found, f"no fixtures: {patterns}"
    return found
