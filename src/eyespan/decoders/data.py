"""Reading single fields of a file by position, for parsers of headers; everything is bounded."""

from __future__ import annotations

import os
from typing import BinaryIO, Literal

from eyespan.decoders.files import read_up_to

MAX_READ_BYTES = 4 * 1024 * 1024
MAX_TEXT_CHARS = 120


class Data:
    """The bytes of a file, read by position. A field after the end of the file is missing bytes, not an error."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.size_bytes = file.seek(0, os.SEEK_END)

    def at(self, offset: int, size_bytes: int) -> bytes:
        """Return the bytes from a position on, or less at the end."""
        if not 0 <= offset < self.size_bytes or size_bytes <= 0:
            return b""
        self._file.seek(offset)
        return read_up_to(self._file, min(size_bytes, MAX_READ_BYTES))

    def big(self, offset: int, size_bytes: int) -> int:
        """Return a number whose highest byte comes first."""
        return self._number(offset, size_bytes, "big")

    def little(self, offset: int, size_bytes: int) -> int:
        """Return a number whose lowest byte comes first."""
        return self._number(offset, size_bytes, "little")

    def _number(self, offset: int, size_bytes: int, order: Literal["big", "little"]) -> int:
        found = self.at(offset, size_bytes)
        if len(found) < size_bytes:
            raise ValueError("the file ends within a field")
        return int.from_bytes(found, order)


def text(data: bytes, encoding: str = "utf-8") -> str:
    """Return a field as one short line of text, up to its first NUL."""
    shown = data.decode(encoding, "replace").split("\0", 1)[0]
    return " ".join("".join([c if c.isprintable() else " " for c in shown]).split())[:MAX_TEXT_CHARS]


def duration(seconds: float) -> str:
    """Return a time as hours, minutes and seconds."""
    if not 0 <= seconds < 1e7:
        raise ValueError("not a duration")
    whole = round(seconds)
    hours, minutes = divmod(whole // 60, 60)
    shown = f"{minutes}:{whole % 60:02}" if not hours else f"{hours}:{minutes:02}:{whole % 60:02}"
    return f"{seconds:.2f} s" if seconds < 10 else shown
