"""Lines of bytes over two file descriptors: the byte level of the stdio server."""

from __future__ import annotations

import os
import sys
from _thread import allocate_lock

MAX_LINE_BYTES = 4 * 1024 * 1024
"""The longest line accepted. The official SDK has the same limit for the body of a request."""


class LineTooLong(Exception):
    """A line of more than MAX_LINE_BYTES was skipped."""


class LineStream:
    """Reads lines from one descriptor and writes lines to another. One thread may read while others write.

    A buffered file of `io` has a lock, and a process that ends while another thread waits in it may crash.
    """

    def __init__(self, fd_in: int, fd_out: int) -> None:
        self._in = fd_in
        self._out = fd_out
        self._writing = allocate_lock()
        self._received = bytearray()
        """What has been received after the last line."""

    @property
    def is_broken(self) -> bool:
        """True after a write failed: the peer has closed its end."""
        return self._out < 0

    def read_line(self) -> bytes | None:
        """Return the next line that is not blank, or None at the end. Raises: LineTooLong."""
        is_too_long = False
        while True:
            end = self._received.find(b"\n")
            if end < 0 and (block := self._read_block()):
                self._received += block
                if len(self._received) > MAX_LINE_BYTES and b"\n" not in block:
                    self._received.clear()
                    is_too_long = True
                continue
            line = bytes(self._received if end < 0 else self._received[:end])
            del self._received[: len(line) + 1]
            if is_too_long:
                raise LineTooLong
            if line.strip():
                return line
            if end < 0:
                return None

    def _read_block(self) -> bytes:
        try:
            return os.read(self._in, 65_536)
        except OSError:
            return b""

    def write_line(self, pieces: list[bytes]) -> bool:
        """Write the pieces and a line end. Returns False if this write found the stream broken."""
        return self.write([*pieces, b"\n"])

    def write(self, pieces: list[bytes]) -> bool:
        """Write pieces of whole lines. Returns False if this write found the stream broken."""
        if sum(map(len, pieces)) <= 65_536:  # of a large answer no copy is made
            pieces = [b"".join(pieces)]
        with self._writing:
            try:
                for piece in pieces if self._out >= 0 else ():
                    view = memoryview(piece)
                    while view:
                        view = view[os.write(self._out, view) :]
            except OSError:
                self._out = -1
                return False
        return True


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
    copy = os.dup(fd)
    if sys.platform == "win32":
        import msvcrt

        msvcrt.setmode(copy, os.O_BINARY)
    else:
        os.set_blocking(copy, True)  # some hosts pass a pipe that is not
    return copy
