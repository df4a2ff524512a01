"""A mount that hangs on demand: a small FUSE server that answers some requests and never others.

`hung_mount(point)` mounts one and removes it again, whatever happens. The name of a file decides:

    plain.txt      works, as does plain.png         lookup-*       looking it up never returns; in no listing
    open-*         opening it never returns         read-*         reading it never returns
    drip-*         each read returns one byte after `DRIP_SECONDS`
    list/          listing it never returns

`Mount.answer()` makes the server answer the waiting requests and all later ones: the mount works again.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import select
import stat
import struct
import subprocess
import sys
import time
import zlib
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

DRIP_SECONDS = 0.2
CONTENT = b"one\ntwo\nthree\n"
DRIP_BYTES = 1 << 20

LOOKUP, FORGET, GETATTR, OPEN, READ, STATFS, RELEASE, FLUSH, INIT = 1, 2, 3, 14, 15, 17, 18, 25, 26
OPENDIR, READDIR, RELEASEDIR, INTERRUPT, BATCH_FORGET = 27, 28, 29, 36, 42
MNT_FORCE, MNT_DETACH = 1, 2
_libc = ctypes.CDLL(None, use_errno=True)


def why_not() -> str:
    """Return the reason if no such mount can be made, else ""."""
    if sys.platform != "linux" or not os.path.exists("/dev/fuse"):
        return "no /dev/fuse here"
    try:
        os.close(os.open("/dev/fuse", os.O_RDWR))
    except OSError as error:
        return f"/dev/fuse cannot be opened: {error.strerror}"
    caps = Path("/proc/self/status").read_text().partition("CapEff:")[2].split()[0]
    return "" if int(caps, 16) >> 21 & 1 else "no right to mount (CAP_SYS_ADMIN)"


class Mount:
    """A mounted server, seen from the test."""

    def __init__(self, point: str) -> None:
        self.point = point
        self._server = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__, point], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self._server.stdout is not None
        assert self._server.stdout.readline() == b"ready\n", "the test's own FUSE server did not start"

    def answer(self) -> None:
        """Answer the waiting requests, and let no later one wait."""
        assert self._server.stdin is not None
        self._server.stdin.write(b"answer\n")
        self._server.stdin.flush()

    def remove(self) -> None:
        """Remove the mount. Waiting calls return with an error."""
        # The end of the server ends the connection, and that fails all waiting calls.
        self._server.kill()
        self._server.wait()
        for stream in (self._server.stdin, self._server.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        _libc.umount2(os.fsencode(self.point), MNT_DETACH | MNT_FORCE)


@contextlib.contextmanager
def hung_mount(point: str | os.PathLike[str]) -> Iterator[Mount]:
    """Mount a server on an empty directory while the block runs."""
    mount = Mount(os.fspath(point))
    try:
        yield mount
    finally:
        mount.remove()


def contents(name: str) -> bytes:
    """Return the contents of a file: some lines, or an image of one black pixel."""
    if not name.endswith(".png"):
        return CONTENT
    dot = [(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)), (b"IDAT", zlib.compress(b"\0\0")), (b"IEND", b"")]
    chunks = [struct.pack(">I", len(d)) + k + d + struct.pack(">I", zlib.crc32(k + d)) for k, d in dot]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


# --- the server -------------------------------------------------------------------------------------------------------


class Server:
    """The FUSE server."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.names = {1: ""}
        self.hangs = True
        self.waiting: list[int] = []
        self.later: list[tuple[float, int, bytes]] = []

    def reply(self, unique: int, data: bytes = b"", error: int = 0) -> None:
        with contextlib.suppress(OSError):  # ENOENT: the caller is gone
            os.write(self.fd, struct.pack("<IiQ", 16 + len(data), -error, unique) + data)

    def attr(self, node: int) -> bytes:
        name = self.names[node]
        is_directory = name in ("", "list")
        mode = stat.S_IFDIR | 0o755 if is_directory else stat.S_IFREG | 0o644
        size = 4096 if is_directory else DRIP_BYTES if name.startswith("drip-") else len(contents(name))
        return struct.pack("<QQQQQQIIIIIIIIII", node, size, 8, 1, 1, 1, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)

    def hang(self, unique: int, prefix: str, name: str) -> bool:
        if self.hangs and name.startswith(prefix):
            self.waiting.append(unique)
            return True
        return False

    def handle(self, request: bytes) -> None:
        _, opcode, unique, node = struct.unpack_from("<IIQQ", request)
        body = request[40:]
        name = self.names.get(node, "")
        if opcode == INIT:
            major, minor, ahead, _ = struct.unpack_from("<IIII", body)
            self.reply(
                unique,
                struct.pack("<IIIIHHIIHHIIIIIIII", major, min(minor, 31), ahead, 1 << 18, 64, 48, 4096, 1, *[0] * 10),
            )
        elif opcode == LOOKUP:
            wanted = body.split(b"\0")[0].decode()
            if self.hang(unique, "lookup-", wanted):
                return
            if not wanted.startswith(("plain", "open-", "read-", "drip-", "list")) or name:
                self.reply(unique, error=errno.ENOENT)
                return
            found = next((n for n, known in self.names.items() if known == wanted), len(self.names) + 1)
            self.names[found] = wanted
            # With timeouts of 0 the kernel caches nothing and asks each time, as with a network mount.
            self.reply(unique, struct.pack("<QQQQII", found, 0, 0, 0, 0, 0) + self.attr(found))
        elif opcode == GETATTR:
            self.reply(unique, struct.pack("<QII", 0, 0, 0) + self.attr(node))
        elif opcode in (OPEN, OPENDIR):
            if opcode == OPENDIR or not self.hang(unique, "open-", name):
                self.reply(unique, struct.pack("<QII", 0, 1, 0))  # 1: no page cache
        elif opcode == READ:
            _, offset, size = struct.unpack_from("<QQI", body)
            if self.hang(unique, "read-", name):
                return
            if name.startswith("drip-"):
                self.later.append((time.monotonic() + DRIP_SECONDS, unique, b"x"))
                return
            self.reply(unique, contents(name)[offset : offset + size])
        elif opcode == READDIR:
            if self.hang(unique, "list", name):
                return
            offset = struct.unpack_from("<QQI", body)[1]
            entry = struct.pack("<QQII", 2, 1, 9, stat.S_IFREG >> 12) + b"plain.txt".ljust(16, b"\0")
            self.reply(unique, b"" if offset else entry)
        elif opcode == STATFS:
            self.reply(unique, struct.pack("<QQQQQIIII", 0, 0, 0, 0, 0, 4096, 255, 4096, 0) + bytes(24))
        elif opcode in (RELEASE, RELEASEDIR, FLUSH):
            self.reply(unique)
        elif opcode not in (FORGET, BATCH_FORGET, INTERRUPT):
            self.reply(unique, error=errno.ENOSYS)

    def serve(self) -> None:
        os.set_blocking(self.fd, False)
        while True:
            soonest = min((when for when, _, _ in self.later), default=None)
            wait = None if soonest is None else max(0.0, soonest - time.monotonic())
            ready, _, _ = select.select([self.fd, 0], [], [], wait)
            now = time.monotonic()
            for when, unique, data in [one for one in self.later if one[0] <= now]:
                self.later.remove((when, unique, data))
                self.reply(unique, data)
            if 0 in ready:
                if not os.read(0, 100):
                    return  # the test is gone
                self.hangs = False
                for unique in self.waiting:
                    self.reply(unique, error=errno.EIO)
                self.waiting.clear()
            if self.fd in ready:
                try:
                    self.handle(os.read(self.fd, 1 << 17))
                except BlockingIOError:
                    continue
                except OSError as error:
                    if error.errno != errno.ENOENT:  # the request was withdrawn
                        return


def main(point: str) -> None:
    fd = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={fd},rootmode=40000,user_id=0,group_id=0,allow_other".encode()
    if _libc.mount(b"eyespan-test", os.fsencode(point), b"fuse", ctypes.c_ulong(6), options) != 0:
        raise OSError(ctypes.get_errno(), "mount")
    print("ready", flush=True)
    try:
        Server(fd).serve()
    finally:
        _libc.umount2(os.fsencode(point), MNT_DETACH | MNT_FORCE)


if __name__ == "__main__":
    main(sys.argv[1])
