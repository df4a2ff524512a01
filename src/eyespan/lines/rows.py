"""Rows: lines that can be walked both ways from an anchor, with number, indentation and first bytes.

Reads a window of lines at a time. A row keeps no more of its line than can be shown, and measures its first
`MEASURED_BYTES`.
"""

from __future__ import annotations

from collections.abc import Iterator

from eyespan.context import CallContext
from eyespan.lines.encodings import Encoding
from eyespan.lines.reader import LineReader
from eyespan.model import NO_TOTAL, Limits, ReadRequest
from eyespan.source import Source

TAB_COLUMNS = 4
WINDOW_LINES = 64
MEASURED_BYTES = 16 * 1024
"""White space that a line has after these bytes does not count."""
# White_Space of Unicode, the rule of Rust's `char::is_whitespace`; `str.strip()` also removes U+001C to U+001F.
WHITE_SPACE = (
    "\t\n\x0b\x0c\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
COMMENT_SIGNS = ("#", "//", "--")


class MeasuredRow:
    """One line. `data` holds its first bytes in UTF-8 without the terminator."""

    __slots__ = ("data", "indent", "is_blank", "is_comment", "number")

    def __init__(self, number: int, line: bytes = b"", max_line_bytes: int = 0) -> None:
        self.number = number
        self.data = line[:max_line_bytes]
        space = len(line) - len(line.lstrip(b" \t"))
        self.indent = space + line.count(b"\t", 0, space) * (TAB_COLUMNS - 1)
        text = line[space:].decode("utf-8", "replace").lstrip(WHITE_SPACE)
        self.is_blank = not text
        self.is_comment = text.startswith(COMMENT_SIGNS)


class Rows:
    """The rows of one file."""

    def __init__(self, source: Source, encoding: Encoding, context: CallContext, *, max_line_bytes: int) -> None:
        limits = Limits(max_line_bytes=max(MEASURED_BYTES, max_line_bytes))
        self._lines = LineReader(source, ReadRequest("", limits=limits, total=NO_TOTAL), encoding, context)
        self._memory = context.memory
        self._max_line_bytes = max_line_bytes

    def at(self, number: int) -> MeasuredRow | None:
        """Return the row with this number, or None if the file ends before it."""
        return next(iter(self._window(number, 1)), None)

    def below(self, row: MeasuredRow) -> Iterator[MeasuredRow]:
        """Yield the rows after `row`, in order."""
        number = row.number + 1
        while window := self._window(number, WINDOW_LINES):
            yield from window
            number += len(window)

    def above(self, row: MeasuredRow) -> Iterator[MeasuredRow]:
        """Yield the rows before `row`, nearest first."""
        end = row.number
        while end > 1:
            first = max(1, end - WINDOW_LINES)
            yield from reversed(self._window(first, end - first))
            end = first

    def cache_index(self) -> None:
        """Cache the index of a large file, if the walk has extended it."""
        self._lines.cache_index()

    def _window(self, first: int, count: int) -> list[MeasuredRow]:
        with self._memory.loan():
            lines = bytes(self._lines.window(first, count).data).split(b"\n")
        last = lines.pop()
        lines = [line.removesuffix(b"\r") for line in lines]
        numbered = enumerate([*lines, last] if last else lines, first)
        return [MeasuredRow(number, line, self._max_line_bytes) for number, line in numbered]
