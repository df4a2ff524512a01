"""Reading the file that a decoder was given: whole, up to a limit, or at a position of its own."""

from __future__ import annotations

import io
import os
from typing import Any, BinaryIO

from eyespan.errors import Unreadable
from eyespan.source import pread


def unreadable(reason: str) -> Unreadable:
    """Return the error of a decoder for its file; the client of the worker adds the path and the kind."""
    return Unreadable("", kind="", reason=reason)


def read_whole(file: BinaryIO, max_bytes: int) -> bytes:
    """Return all bytes of a file from its position on. Raises: Unreadable, if there are more than `max_bytes`."""
    data = read_up_to(file, max_bytes + 1)
    if len(data) > max_bytes:
        raise unreadable(f"it has more than {max_bytes} bytes")
    return data


def read_up_to(file: BinaryIO | PositionedFile, max_bytes: int) -> bytes:
    """Return `max_bytes` bytes, or less at the end of the file; continues after short reads."""
    data = file.read(max_bytes)
    while data and len(data) < max_bytes and (more := file.read(max_bytes - len(data))):
        data += more
    return data


class PositionedFile(io.RawIOBase):
    """A file with a position of its own, so that several processes can read one descriptor at the same time."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._position = 0
        try:
            self._fd = file.fileno()
        except OSError:
            self._fd = -1  # a file in memory

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        if whence == os.SEEK_END:
            offset += os.lseek(self._fd, 0, os.SEEK_END) if self._fd >= 0 else self._file.seek(0, os.SEEK_END)
        elif whence == os.SEEK_CUR:
            offset += self._position
        self._position = max(0, offset)
        return self._position

    def tell(self) -> int:
        return self._position

    def read(self, size: int = -1) -> bytes:
        if size < 0:
            return self.readall()
        if self._fd >= 0:
            data = pread(self._fd, size, self._position)
        else:
            self._file.seek(self._position)
            data = self._file.read(size)
        self._position += len(data)
        return data

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        data = self.read(len(view))
        view[: len(data)] = data
        return len(data)
