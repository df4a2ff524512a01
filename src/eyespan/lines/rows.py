"""Lines as rows that can be walked both ways from an anchor: number, indentation, what they are and what is shown.

Reads in blocks around the anchor and holds one block each way. A row keeps no more of its line than can be shown.
"""

from __future__ import annotations

import codecs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from eyespan.guard import Source
    from eyespan.lines.reader import LineReader
    from eyespan.model import Pulse

TAB_COLUMNS = 4
# White_Space of Unicode as Rust's `char::is_whitespace` has it; `str.strip()` would also take U+001C to U+001F.
WHITE_SPACE = (
    "\t\n\x0b\x0c\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
COMMENT_MARKS = ("#", "//", "--")


class Row:
    """One line: `shown` holds its first bytes without the terminator, the rest was measured on the whole line."""

    __slots__ = ("blank", "comment", "end", "indent", "number", "shown", "start")

    def __init__(self, number: int, start: int, end: int, shown: bytes, indent: int, text: str) -> None:
        self.number = number
        self.start = start
        self.end = end  # behind the terminator
        self.shown = shown
        self.indent = indent
        self.blank = not text
        self.comment = text.startswith(COMMENT_MARKS)


class Rows:
    """The rows of one file; UTF-8 or any encoding in which a line feed is one byte."""

    def __init__(self, source: Source, lines: LineReader, pulse: Pulse, max_line_bytes: int, block_bytes: int) -> None:
        self._source = source
        self._lines = lines
        self._pulse = pulse
        self._max_line = max_line_bytes
        self._block_bytes = block_bytes

    def at(self, number: int) -> Row | None:
        """The row with this number, or None if the file ends before."""
        position, line = self._lines.seek(0, 1, number)
        if line < number:
            return None
        return next(self._from(position, number), None)

    def below(self, row: Row) -> Iterator[Row]:
        """The rows that follow, in order."""
        return self._from(row.end, row.number + 1)

    def above(self, row: Row) -> Iterator[Row]:
        """The rows before, nearest first."""
        number, end = row.number, row.start
        low, block = end, b""  # `block` are the bytes from `low` on, at least up to `end`
        while end > 0:
            # The terminator of the row above is the byte before `end`; its start lies behind the one before that.
            at = block.rfind(b"\n", 0, max(0, end - 1 - low))
            scanned = low
            while at < 0 and scanned > 0:
                size = min(self._block_bytes, scanned)
                scanned -= size
                piece = self._read(scanned, size)
                self._pulse.beat(scanned, self._source.size_bytes)
                at = piece.rfind(b"\n", 0, min(size, end - 1 - scanned))
                low, block = scanned, piece
            start = low + at + 1 if at >= 0 else 0
            number -= 1
            whole = block[start - low : end - low] if end - low <= len(block) else b""
            yield self._row(number, start, end, whole, terminated=True)
            end = start

    def _from(self, position: int, number: int) -> Iterator[Row]:
        low, block = position, b""
        while True:
            at = block.find(b"\n", position - low)
            if at < 0:
                # The line is not complete in this block: read anew from its start, or on until its end.
                low, block = position, self._read(position, self._block_bytes)
                if not block:
                    return
                at = block.find(b"\n")
            end, terminated = (low + at + 1, True) if at >= 0 else self._end_of(position + len(block))
            whole = block[position - low : end - low] if end - low <= len(block) else b""
            yield self._row(number, position, end, whole, terminated)
            self._pulse.beat(end, self._source.size_bytes)
            position = end
            number += 1

    def _end_of(self, position: int) -> tuple[int, bool]:
        """Where a line that goes on at `position` ends, and whether a line feed ends it."""
        while True:
            block = self._read(position, self._block_bytes)
            if not block:
                return position, False
            at = block.find(b"\n")
            if at >= 0:
                return position + at + 1, True
            position += len(block)
            self._pulse.beat(position, self._source.size_bytes)

    def _row(self, number: int, start: int, end: int, whole: bytes, terminated: bool) -> Row:
        """Measures the line at [start, end); `whole` are its bytes if they are at hand."""
        stop = end - 1 if terminated else end
        size = stop - start
        if not size:
            return Row(number, start, end, b"", 0, "")
        line = whole[:size] if len(whole) >= size else b""
        if len(line) < size:
            line = self._read(start, min(size, max(self._block_bytes, self._max_line)))
        if terminated and (line[-1:] if len(line) == size else self._read(stop - 1, 1)) == b"\r":
            size -= 1
            line = line[:size]
        indent, text = self._measure(start, size, line)
        return Row(number, start, end, line[: self._max_line], indent, text)

    def _measure(self, start: int, size: int, line: bytes) -> tuple[int, str]:
        """The columns of leading blanks and tabs, and the first characters of the text ("" if there is none)."""
        body = line.lstrip(b" \t")
        indent = _columns(line, len(line) - len(body))
        seen = len(line)
        while not body and seen < size and (more := self._read(start + seen, min(self._block_bytes, size - seen))):
            body = more.lstrip(b" \t")
            indent += _columns(more, len(more) - len(body))
            seen += len(more)
        glance = line[:200]
        text = glance.decode("utf-8", "replace").lstrip(WHITE_SPACE)
        # Of three characters only the last can be one that the glance cut in two.
        if len(text) > 2 or len(glance) == size:
            return indent, text
        return indent, self._first_text(start, size)

    def _first_text(self, start: int, size: int) -> str:
        """The line from its first character that is no white space on, for a line that starts with much of it."""
        decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        text, seen = "", 0
        while len(text) < 3 and seen < size:
            piece = self._read(start + seen, min(self._block_bytes, size - seen))
            if not piece:
                break
            seen += len(piece)
            text = (text + decode(piece, seen >= size)).lstrip(WHITE_SPACE)
            self._pulse.beat(start + seen, self._source.size_bytes)
        return text

    def _read(self, position: int, size: int) -> bytes:
        head = self._source.head
        if position + size <= len(head):
            return head[position : position + size]
        return self._source.read_fully(position, size)


def _columns(line: bytes, blanks: int) -> int:
    tabs = line.count(b"\t", 0, blanks)
    return blanks + tabs * (TAB_COLUMNS - 1)
