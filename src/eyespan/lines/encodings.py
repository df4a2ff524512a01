"""What a file's bytes mean: the codec, the width of its units and where its lines end.

A line ends at U+000A and nowhere else. In UTF-8 and in every code page the reader knows, byte 0x0A is never part of
another character, so lines are found in the raw bytes; in UTF-16 and UTF-32 it is one unit wide and aligned.
"""

from __future__ import annotations

import codecs

from eyespan import _native
from eyespan.model import drained
from eyespan.record import record


@record
class Encoding:
    """A codec by its Python name, with what line finding needs to know of it."""

    name: str
    unit_bytes: int = 1
    bom: bytes = b""
    """The mark at the start of the file that is no part of the text."""
    newline: bytes = b"\n"
    how: str = "default"
    """How it was found: default, bom, named, detected."""

    def count(self, block: bytes) -> int:
        """How many line feeds an aligned block holds."""
        if self.unit_bytes == 1:
            return _native.count(block)
        return block.decode(self.name, "replace").count("\n")

    def nth(self, block: bytes, n: int, start: int = 0) -> int:
        """The offset just behind the n-th line feed at or after `start` in an aligned block, or -1."""
        if self.unit_bytes == 1:
            return _native.nth(block, n, start)
        at = start
        for _ in range(n):
            at = self.find(block, at)
            if at < 0:
                return -1
            at += self.unit_bytes
        return at

    def find(self, block: bytes, start: int = 0) -> int:
        """The offset of the first line feed at or after `start`, or -1."""
        at = block.find(self.newline, start)
        while at >= 0 and at % self.unit_bytes:
            at = block.find(self.newline, at + 1)
        return at

    def rfind(self, block: bytes, end: int) -> int:
        """The offset of the last line feed that ends at or before `end`, or -1."""
        at = block.rfind(self.newline, 0, end)
        while at >= 0 and at % self.unit_bytes:
            at = block.rfind(self.newline, 0, at + self.unit_bytes - 1)
        return at

    def ends_line(self, block: bytes) -> bool:
        """Whether the last unit of an aligned block is a line feed."""
        return block.endswith(self.newline) and len(block) % self.unit_bytes == 0

    def to_utf8(self, data: bytes | bytearray) -> bytes | bytearray:
        """The same text in UTF-8. UTF-8 itself stays as it is, mistakes included: whoever shows it replaces them.

        Other data, which may be large where it is a bytearray, is used up piece by piece, so that it is not held twice.
        """
        if self.name == "utf-8":
            return data
        decode = codecs.getincrementaldecoder(self.name)("replace").decode
        text = bytearray()
        pieces = drained(data if isinstance(data, bytearray) else bytearray(data))
        while pieces:
            text += decode(pieces.pop(), not pieces).encode("utf-8", "replace")
        return text


UTF8 = Encoding("utf-8")
_UTF8_MARKED = Encoding("utf-8", 1, codecs.BOM_UTF8, b"\n", "bom")

# UTF-32 before UTF-16: its little-endian mark starts with UTF-16's.
_MARKS = (
    Encoding("utf-32-le", 4, codecs.BOM_UTF32_LE, b"\n\0\0\0", "bom"),
    Encoding("utf-32-be", 4, codecs.BOM_UTF32_BE, b"\0\0\0\n", "bom"),
    Encoding("utf-16-le", 2, codecs.BOM_UTF16_LE, b"\n\0", "bom"),
    Encoding("utf-16-be", 2, codecs.BOM_UTF16_BE, b"\0\n", "bom"),
)


def by_mark(head: bytes) -> Encoding | None:
    """The wide encoding that a byte order mark announces. A UTF-8 mark changes nothing: it is part of the text."""
    for encoding in _MARKS:
        if head.startswith(encoding.bom):
            return encoding
    return None


def choose(rule: str, head: bytes) -> Encoding:
    """The encoding to read with.

    "utf-8" looks at nothing; "utf-8-sig" takes one UTF-8 mark off; "bom" honours the marks of the wide encodings.
    """
    if rule == "utf-8":
        return UTF8
    if rule == "utf-8-sig":
        return _UTF8_MARKED if head.startswith(codecs.BOM_UTF8) else UTF8
    return by_mark(head) or UTF8


class CharCounter:
    """Counts the characters of a line that is seen in pieces and kept by nobody."""

    __slots__ = ("_decoder", "_ends_in_cr", "chars")

    def __init__(self, encoding: Encoding) -> None:
        self._decoder = codecs.getincrementaldecoder(encoding.name)("replace")
        self._ends_in_cr = False
        self.chars = 0

    def feed(self, piece: bytes, final: bool = False) -> None:
        text = self._decoder.decode(piece, final)
        if text:
            self.chars += len(text)
            self._ends_in_cr = text[-1] == "\r"

    def total(self, terminated: bool) -> int:
        """The characters of the line, its terminator not counted."""
        self.feed(b"", final=True)
        return self.chars - (terminated and self._ends_in_cr)
