"""Lines of bytes over two file descriptors: the byte level of the stdio server."""

from __future__ import annotations

import os
import select
import sys
from _thread import allocate_lock

MAX_LINE_BYTES = 4 * 1024 * 1024
"""The longest line accepted. The official SDK has the same limit for the body of a request."""
_READ_BYTES = 65536
_MAX_VECTORS = 512
_SMALL_BYTES = 65536
_PIPE_BYTES = 1 << 20
_F_SETPIPE_SZ = 1031
_HAS_WRITEV = hasattr(os, "writev")


class LineTooLong(Exception):
    """A line of more than MAX_LINE_BYTES was skipped."""


class LineStream:
    """Reads lines from one descriptor and writes lines to another. One thread may read while others write."""

    def __init__(self, fd_in: int, fd_out: int) -> None:
        self._in = fd_in
        self._out = fd_out
        self._writing = allocate_lock()
        self._lines: list[bytes] = []
        """The lines that have been received, the last one first; none of them is blank."""
        self._start = bytearray()
        """The start of the line after them."""

    @property
    def is_broken(self) -> bool:
        """True after a write failed: the peer has closed its end."""
        return self._out < 0

    def read_line(self) -> bytes | None:
        """Return the next line that is not blank, or None at the end. Raises: LineTooLong."""
        while not self._lines:
            block = self._read_block()
            if not block:
                line = bytes(self._start)
                self._start.clear()
                return line if line.strip() else None
            self._take_block(block)
        return self._lines.pop()

    def _take_block(self, block: bytes) -> None:
        """Divide a block, and what has been received before it, into lines. Raises: LineTooLong."""
        if self._start or not block.endswith(b"\n"):
            self._start += block
            if b"\n" not in block:
                if len(self._start) > MAX_LINE_BYTES:
                    self._skip_line()
                    raise LineTooLong
                return
            end = self._start.rindex(b"\n") + 1
            block = bytes(self._start[:end])
            del self._start[:end]
        self._lines = [line for line in block.split(b"\n") if line and not line.isspace()]
        self._lines.reverse()

    def write_line(self, pieces: list[bytes]) -> bool:
        """Write the pieces and a line end. Returns False if this write found the stream broken."""
        return self.write([*pieces, b"\n"])

    def write(self, pieces: list[bytes]) -> bool:
        """Write pieces of whole lines. Returns False if this write found the stream broken."""
        # To copy a small answer takes less time than to make views of its pieces.
        if not _HAS_WRITEV or sum(map(len, pieces)) <= _SMALL_BYTES:
            pieces = [b"".join(pieces)]
        with self._writing:
            if self._out >= 0:
                try:
                    _write_all(self._out, pieces)
                except OSError:
                    self._out = -1
                    return False
        return True

    def _skip_line(self) -> None:
        self._start.clear()
        while block := self._read_block():
            end = block.find(b"\n")
            if end >= 0:
                self._take_block(block[end:])
                break

    def _read_block(self) -> bytes:
        while True:
            try:
                return os.read(self._in, _READ_BYTES)
            except BlockingIOError:
                _wait_until_ready(self._in, for_writing=False)  # some hosts pass a non-blocking pipe
            except OSError:
                return b""


def take_standard_streams() -> tuple[int, int]:
    """Return private copies of standard input and output, and redirect the originals.

    Other code then reads nothing from standard input, and what it prints goes to standard error.
    """
    fd_in, fd_out = _private_copy(0), _private_copy(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    try:
        os.dup2(2, 1)
    except OSError:  # started without standard error
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.close(null)
    return fd_in, fd_out


def _private_copy(fd: int) -> int:
    if sys.platform == "win32":
        import msvcrt

        copy = os.dup(fd)
        msvcrt.setmode(copy, os.O_BINARY)
        return copy
    import fcntl

    copy = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3)
    if sys.platform == "linux":
        try:
            # An answer of 100 KB then takes one write, instead of two waits for the host to read.
            fcntl.fcntl(copy, _F_SETPIPE_SZ, _PIPE_BYTES)
        except OSError:
            pass  # a socket, a file, or a user at the limit for pipes
    return copy


def _write_all(fd: int, pieces: list[bytes]) -> None:
    if len(pieces) == 1:
        try:
            done = os.write(fd, pieces[0])
        except BlockingIOError:
            done = 0
        if done == len(pieces[0]):
            return
        pieces = [pieces[0][done:]]
    views = [memoryview(piece) for piece in pieces]
    while views:
        try:
            done = os.writev(fd, views[:_MAX_VECTORS]) if _HAS_WRITEV else os.write(fd, views[0])
        except BlockingIOError:
            _wait_until_ready(fd, for_writing=True)
            continue
        while views and done >= len(views[0]):
            done -= len(views.pop(0))
        if done:
            views[0] = views[0][done:]


def _wait_until_ready(fd: int, *, for_writing: bool) -> None:
    select.select([] if for_writing else [fd], [fd] if for_writing else [], [])
