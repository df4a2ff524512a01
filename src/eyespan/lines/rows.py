"""Rows: lines that can be walked both ways from an anchor, with number, indentation and first bytes.

Reads in blocks around the anchor and holds one block each way. A row keeps no more of its line than can be shown.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator

from eyespan.lines.encodings import Transcoder
from eyespan.lines.finder import LineFinder

TAB_COLUMNS = 4
MAX_HELD_BYTES = 64 * 1024 * 1024
"""The most that is read to show one line, for a request without a limit of its own."""
# White_Space of Unicode, the rule of Rust's `char::is_whitespace`; `str.strip()` also removes U+001C to U+001F.
WHITE_SPACE = (
    "\t\n\x0b\x0c\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
COMMENT_SIGNS = ("#", "//", "--")


class Row:
    """One line. `data` holds its first bytes in UTF-8 without the terminator; all else describes the whole line."""

    __slots__ = ("data", "end", "indent", "is_blank", "is_comment", "number", "start")

    def __init__(self, number: int, start: int, end: int, data: bytes = b"", indent: int = 0, text: str = "") -> None:
        self.number = number
        self.start = start
        self.end = end
        """The offset after the terminator."""
        self.data = data
        self.indent = indent
        self.is_blank = not text
        self.is_comment = text.startswith(COMMENT_SIGNS)


class Rows:
    """The rows of one file. Offsets count bytes of the file; the data of a row is UTF-8, whatever the encoding."""

    def __init__(self, finder: LineFinder, *, max_line_bytes: int) -> None:
        scan = finder.scan
        self._finder = finder
        self._scan = scan
        self._encoding = scan.encoding
        self._unit_bytes = unit_bytes = scan.encoding.unit_bytes
        self._carriage_return = "\r".encode(scan.encoding.name)
        self._max_line_bytes = max_line_bytes
        self._block_bytes = max(unit_bytes, scan.block_bytes - scan.block_bytes % unit_bytes)
        # No encoding needs more than 4 bytes for a character, so this is enough for the UTF-8 bytes that are shown.
        self._max_start_bytes = min(max(4 * max_line_bytes, 800), MAX_HELD_BYTES)
        self.replaced = 0
        """The number of pieces of the rows that could not be decoded; not counted in UTF-8."""

    def at(self, number: int) -> Row | None:
        """Return the row with this number, or None if the file ends before it."""
        place = self._finder.find(number)
        if place.line < number:
            return None
        return next(self._from(place.offset, number), None)

    def below(self, row: Row) -> Iterator[Row]:
        """Yield the rows after `row`, in order."""
        return self._from(row.end, row.number + 1)

    def above(self, row: Row) -> Iterator[Row]:
        """Yield the rows before `row`, nearest first."""
        rfind, unit_bytes, first = self._encoding.rfind, self._unit_bytes, self._scan.start
        number, end = row.number, row.start
        low, block = end, b""  # `block` holds the bytes from `low` on, at least up to `end`
        while end > first:
            # The terminator of the row above is the unit before `end`; the row starts after the terminator before it.
            feed = rfind(block, max(0, end - unit_bytes - low))
            while feed < 0 and low > first:
                size = min(self._block_bytes, low - first)
                low -= size
                block = self._scan.read_fully(low, size)
                self._advance(low)
                feed = rfind(block, max(0, min(size, end - unit_bytes - low)))
            start = low + feed + unit_bytes if feed >= 0 else first
            number -= 1
            line = block[start - low : end - low] if low <= start and end - low <= len(block) else b""
            yield self._row(number, start, end, line, has_newline=True)
            end = start

    def _from(self, offset: int, number: int) -> Iterator[Row]:
        find, unit_bytes, advance = self._encoding.find, self._unit_bytes, self._scan.context.advance
        block, place = self._scan.block_with(offset)
        low = offset - place
        while True:
            feed = find(block, offset - low)
            if feed < 0:
                # The block does not hold the whole line: read again from its start, then on to its end.
                low, block = offset, self._scan.read_fully(offset, self._block_bytes)
                if not block:
                    return
                feed = find(block)
            end, has_newline = (low + feed + unit_bytes, True) if feed >= 0 else self._end_of_line(offset + len(block))
            line = block[offset - low : end - low] if end - low <= len(block) else b""
            yield self._row(number, offset, end, line, has_newline)
            advance(end, self._scan.source.size_bytes)
            offset = end
            number += 1

    def _end_of_line(self, offset: int) -> tuple[int, bool]:
        """Return the end of the line that goes on at `offset`, and True if a line feed ends it."""
        while True:
            block = self._scan.read_fully(offset, self._block_bytes)
            if not block:
                return offset, False
            feed = self._encoding.find(block)
            if feed >= 0:
                return offset + feed + self._unit_bytes, True
            offset += len(block)
            self._advance(offset)

    def _row(self, number: int, start: int, end: int, line: bytes, has_newline: bool) -> Row:
        """Measure the line from `start` to `end`; `line` holds its bytes if they are in memory."""
        unit_bytes = self._unit_bytes
        stop = end - unit_bytes if has_newline else end
        size = stop - start
        if not size:
            return Row(number, start, end)
        line = line[:size] if len(line) >= size else self._scan.read_fully(start, min(size, self._max_start_bytes))
        if has_newline:
            last = line[-unit_bytes:] if len(line) == size else self._scan.read_fully(stop - unit_bytes, unit_bytes)
            if last == self._carriage_return:
                size -= unit_bytes
                line = line[:size]
        is_whole = len(line) == size
        if self._encoding.name != "utf-8":
            transcoder = Transcoder(self._encoding)
            line = transcoder.feed(line, final=is_whole)
            self.replaced += transcoder.replaced
        indent, text = self._measure(start, size, line, is_whole)
        # By position: keywords would take a tenth of the time of a row.
        return Row(number, start, end, line[: self._max_line_bytes], indent, text)

    def _measure(self, start: int, size: int, line: bytes, is_whole: bool) -> tuple[int, str]:
        """Return the columns of leading spaces and tabs, and the first characters of the text ("" if there is none).

        `line` is the first part of the line in UTF-8, or all of it.
        """
        body = line.lstrip(b" \t")
        indent = _columns(line, len(line) - len(body))
        if not body and not is_whole:
            indent = 0
            for piece in self._pieces(start, size):
                body = piece.lstrip(b" \t")
                indent += _columns(piece, len(piece) - len(body))
                if body:
                    break
        first = line[:200]
        text = first.decode("utf-8", "replace").lstrip(WHITE_SPACE)
        # The cut after 200 bytes can damage only the last of three characters.
        if len(text) > 2 or (is_whole and len(first) == len(line)):
            return indent, text
        return indent, self._first_text(start, size)

    def _first_text(self, start: int, size: int) -> str:
        """Return the first characters after the white space, for a line that starts with much of it."""
        decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        text = ""
        for piece in self._pieces(start, size):
            text = (text + decode(piece)).lstrip(WHITE_SPACE)
            if len(text) >= 3:
                return text
        return (text + decode(b"", True)).lstrip(WHITE_SPACE)

    def _pieces(self, start: int, size: int) -> Iterator[bytes]:
        """Yield a line of `size` bytes in UTF-8, a block at a time."""
        transcoder = Transcoder(self._encoding) if self._encoding.name != "utf-8" else None
        seen = 0
        while seen < size:
            piece = self._scan.read_fully(start + seen, min(self._block_bytes, size - seen))
            if not piece:
                return
            seen += len(piece)
            yield piece if transcoder is None else transcoder.feed(piece, final=seen >= size)
            self._advance(start + seen)

    def _advance(self, offset: int) -> None:
        self._scan.context.advance(offset, self._scan.source.size_bytes)


def _columns(line: bytes, size: int) -> int:
    """Return the columns that the first `size` spaces and tabs take."""
    tabs = line.count(b"\t", 0, size)
    return size + tabs * (TAB_COLUMNS - 1)
