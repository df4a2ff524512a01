"""Lines as rows that can be walked both ways from an anchor: number, indentation, what they are and what is shown.

Reads in blocks around the anchor and holds one block each way. A row keeps no more of its line than can be shown.
"""

from __future__ import annotations

import codecs

from eyespan.lines.encodings import Transcoder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from eyespan.context import CallContext
    from eyespan.lines.encodings import Encoding
    from eyespan.lines.reader import LineReader
    from eyespan.source import Source

TAB_COLUMNS = 4
MOST_HELD_BYTES = 64 * 1024 * 1024
"""What is read at most to show one line, for a request that sets no limit of its own."""
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
    """The rows of one file. Offsets are of the file's own bytes; what a row shows is UTF-8, whatever its encoding."""

    def __init__(
        self,
        source: Source,
        lines: LineReader,
        encoding: Encoding,
        context: CallContext,
        max_line_bytes: int,
        block_bytes: int,
    ) -> None:
        self._source = source
        self._lines = lines
        self._encoding = encoding
        self._unit = encoding.unit_bytes
        self._cr = "\r".encode(encoding.name)
        self._start = lines.start
        self._context = context
        self._max_line = max_line_bytes
        self._block_bytes = max(self._unit, block_bytes - block_bytes % self._unit)
        # Enough of any encoding for the bytes of UTF-8 that are shown: none needs more than 4 for a character.
        self._glance_bytes = min(max(4 * max_line_bytes, 800), MOST_HELD_BYTES)
        self.replaced = 0
        """How many pieces of the rows seen could not be decoded; UTF-8 is not looked at."""

    def at(self, number: int) -> Row | None:
        """The row with this number, or None if the file ends before."""
        position, line = self._lines.seek(self._start, 1, number)
        if line < number:
            return None
        return next(self._from(position, number), None)

    def below(self, row: Row) -> Iterator[Row]:
        """The rows that follow, in order."""
        return self._from(row.end, row.number + 1)

    def above(self, row: Row) -> Iterator[Row]:
        """The rows before, nearest first."""
        find, unit = self._encoding.rfind, self._unit
        number, end = row.number, row.start
        low, block = end, b""  # `block` are the bytes from `low` on, at least up to `end`
        while end > self._start:
            # The terminator of the row above is the unit before `end`; its start lies behind the one before that.
            at = find(block, max(0, end - unit - low))
            scanned = low
            while at < 0 and scanned > self._start:
                size = min(self._block_bytes, scanned - self._start)
                scanned -= size
                piece = self._read(scanned, size)
                self._context.advance(scanned, self._source.size_bytes)
                at = find(piece, max(0, min(size, end - unit - scanned)))
                low, block = scanned, piece
            start = low + at + unit if at >= 0 else self._start
            number -= 1
            whole = block[start - low : end - low] if low <= start and end - low <= len(block) else b""
            yield self._row(number, start, end, whole, terminated=True)
            end = start

    def _from(self, position: int, number: int) -> Iterator[Row]:
        find, unit = self._encoding.find, self._unit
        low, block = position, b""
        while True:
            at = find(block, position - low)
            if at < 0:
                # The line is not complete in this block: read anew from its start, or on until its end.
                low, block = position, self._read(position, self._block_bytes)
                if not block:
                    return
                at = find(block)
            end, terminated = (low + at + unit, True) if at >= 0 else self._end_of(position + len(block))
            whole = block[position - low : end - low] if end - low <= len(block) else b""
            yield self._row(number, position, end, whole, terminated)
            self._context.advance(end, self._source.size_bytes)
            position = end
            number += 1

    def _end_of(self, position: int) -> tuple[int, bool]:
        """Where a line that goes on at `position` ends, and whether a line feed ends it."""
        while True:
            block = self._read(position, self._block_bytes)
            if not block:
                return position, False
            at = self._encoding.find(block)
            if at >= 0:
                return position + at + self._unit, True
            position += len(block)
            self._context.advance(position, self._source.size_bytes)

    def _row(self, number: int, start: int, end: int, whole: bytes, terminated: bool) -> Row:
        """Measures the line at [start, end); `whole` are its bytes if they are at hand."""
        unit = self._unit
        stop = end - unit if terminated else end
        size = stop - start
        if not size:
            return Row(number, start, end, b"", 0, "")
        line = whole[:size] if len(whole) >= size else b""
        if len(line) < size:
            line = self._read(start, min(size, self._glance_bytes))
        if terminated and (line[-unit:] if len(line) == size else self._read(stop - unit, unit)) == self._cr:
            size -= unit
            line = line[:size]
        complete = len(line) == size
        if self._encoding.name != "utf-8":
            transcoder = Transcoder(self._encoding)
            line = transcoder.feed(line, final=complete)
            self.replaced += transcoder.replaced
        indent, text = self._measure(start, size, line, complete)
        return Row(number, start, end, line[: self._max_line], indent, text)

    def _measure(self, start: int, size: int, line: bytes, complete: bool) -> tuple[int, str]:
        """The columns of leading blanks and tabs, and the first characters of the text ("" if there is none).

        `line` is the line's first part in UTF-8, or all of it.
        """
        body = line.lstrip(b" \t")
        indent = _columns(line, len(line) - len(body))
        if not body and not complete:
            indent = 0
            for piece in self._pieces(start, size):
                body = piece.lstrip(b" \t")
                indent += _columns(piece, len(piece) - len(body))
                if body:
                    break
        glance = line[:200]
        text = glance.decode("utf-8", "replace").lstrip(WHITE_SPACE)
        # Of three characters only the last can be one that the glance cut in two.
        if len(text) > 2 or (complete and len(glance) == len(line)):
            return indent, text
        return indent, self._first_text(start, size)

    def _first_text(self, start: int, size: int) -> str:
        """The line from its first character that is no white space on, for a line that starts with much of it."""
        decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        text = ""
        for piece in self._pieces(start, size):
            text = (text + decode(piece)).lstrip(WHITE_SPACE)
            if len(text) >= 3:
                return text
        return (text + decode(b"", True)).lstrip(WHITE_SPACE)

    def _pieces(self, start: int, size: int) -> Iterator[bytes]:
        """A line of `size` bytes in UTF-8, a block at a time."""
        transcoder = Transcoder(self._encoding) if self._encoding.name != "utf-8" else None
        seen = 0
        while seen < size:
            piece = self._read(start + seen, min(self._block_bytes, size - seen))
            if not piece:
                return
            seen += len(piece)
            yield piece if transcoder is None else transcoder.feed(piece, final=seen >= size)
            self._context.advance(start + seen, self._source.size_bytes)

    def _read(self, position: int, size: int) -> bytes:
        """`size` bytes; fewer only at the end of the file, so that blocks stay aligned."""
        head = self._source.first_bytes
        if position + size <= len(head):
            return head[position : position + size]
        block = self._source.read_at(position, size)
        while block and len(block) < size:
            more = self._source.read_at(position + len(block), size - len(block))
            if not more:
                break
            block += more
        return block


def _columns(line: bytes, blanks: int) -> int:
    tabs = line.count(b"\t", 0, blanks)
    return blanks + tabs * (TAB_COLUMNS - 1)
