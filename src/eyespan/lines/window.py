"""Collect the lines of one window, and shorten the long ones while they are read.

A window holds no more of a line than the dialect shows, and no more in all than its limit; a single endless line costs
one block.
"""

from __future__ import annotations

from eyespan import _native
from eyespan.errors import WindowTooLarge
from eyespan.lines.encodings import CharCounter
from eyespan.model import EXACT_TOTAL, ReadRequest

LINE_BYTES = 16
"""The weight of a line in a window beside its text: its number and the characters around it."""
OPEN_LINE_BYTES = 65536
"""A line that is not complete is cut once it is longer than this."""


class LineWindow:
    """Lines in UTF-8, collected block by block from the start of line `first` on; at most `count` of them."""

    def __init__(self, request: ReadRequest, *, asked: str, first: int, count: int | None, squeeze_bytes: int) -> None:
        self.data = bytearray()
        self.line_count = 0
        self.is_full = count is not None and count <= 0
        """All lines wanted are there; further blocks are not needed."""
        self.ends_open = False
        """The last line ended with the text, without a line feed."""
        self.is_end_unknown = False
        """Enough was seen of the last line; its end was not looked for."""
        self.cuts: dict[int, int] = {}
        """The numbers of the shortened lines with their length in characters, or -1 if that was not requested."""
        self._first = first
        self._count = count
        self._asked = asked
        self._squeeze_bytes = squeeze_bytes
        self._max_open_bytes = min(squeeze_bytes, OPEN_LINE_BYTES)
        self._max_line_bytes = request.limits.max_line_bytes
        self._max_line_chars = request.limits.max_line_chars
        self._max_window_bytes = request.limits.max_window_bytes
        self._counts_cut_chars = request.counts_cut_chars
        self._may_stop_early = not request.counts_cut_chars and request.total != EXACT_TOTAL
        self._line_start = 0
        """The place in `data` of the line that is not complete."""
        self._squeezed = 0
        """The place in `data` up to which long lines are already shortened."""
        self._cut_chars: CharCounter | None = None
        """Counts the line that is being cut; None: no line is."""
        self._last_byte = b""
        """The last byte seen of the line that is being cut."""

    def feed(self, block: bytes, final: bool = False) -> int:
        """Take the bytes that belong to the window and return their number; `final` ends the text.

        Raises: WindowTooLarge.
        """
        used = self._take(block)
        if final and not self.is_full:
            if self._cut_chars is not None:
                self._end_cut(has_newline=False)
                self.ends_open = True
            elif len(self.data) > self._line_start:
                self.line_count += 1
                self.ends_open = True
            self.is_full = True
        return used

    def _take(self, block: bytes) -> int:
        start = 0
        if self._cut_chars is not None:
            end = block.find(10)
            self._skip_cut(block if end < 0 else block[:end])
            if end < 0:
                return len(block)
            self._end_cut(has_newline=True)
            start = end + 1
            if self.is_full:
                return start
        rest = block[start:] if start else block
        feeds = _native.count(rest)
        if self._count is not None and self.line_count + feeds >= self._count:
            feeds = self._count - self.line_count
            rest = rest[: _native.nth(rest, feeds)]
            self.is_full = True
        before = len(self.data)
        self.data += rest
        self.line_count += feeds
        if feeds:
            self._line_start = before + rest.rfind(10) + 1
        if self._max_line_bytes is not None:
            if len(self.data) - self._squeezed > self._squeeze_bytes:
                self._squeeze()
            if not self.is_full and len(self.data) - self._line_start > max(self._max_line_bytes, self._max_open_bytes):
                self._squeeze()  # lines before a cut are not looked at again
                self._start_cut()
        if self._is_too_large() and self._max_line_bytes is not None:
            self._squeeze()
        if self._is_too_large():
            raise WindowTooLarge(self._asked, limit_bytes=self._max_window_bytes)
        return start + len(rest)

    def _is_too_large(self) -> bool:
        return len(self.data) + LINE_BYTES * self.line_count > self._max_window_bytes

    def _squeeze(self) -> None:
        """Shorten the complete lines that are longer than the dialect shows."""
        limit = self._max_line_bytes or 0
        old = bytes(self.data[self._squeezed : self._line_start])
        open_line = self.data[self._line_start :]
        del self.data[self._squeezed :]
        number = self._first + self.line_count - _native.count(old)
        start = 0
        while start < len(old):
            end = old.find(10, start)
            if end - start > limit or self._has_more_chars(old[start:end]):
                self.cuts[number] = -1
                if self._counts_cut_chars:
                    counter = CharCounter()
                    counter.feed(old[start:end])
                    self.cuts[number] = counter.total(has_newline=True)
                self.data += self._prefix(old[start : start + limit]) + (b"\r\n" if old[end - 1] == 13 else b"\n")
            else:
                self.data += old[start : end + 1]
            start = end + 1
            number += 1
        self._line_start = self._squeezed = len(self.data)
        self.data += open_line

    def _has_more_chars(self, line: bytes) -> bool:
        """Return True for a line whose characters, not its bytes, are more than the dialect shows."""
        most = self._max_line_chars
        return most is not None and len(line) > most + 2 and len(line.decode("utf-8", "replace")) > most + 2

    def _start_cut(self) -> None:
        """Keep the start of the line that is not complete; the rest of it is only counted."""
        self._cut_chars = CharCounter()
        line = bytes(self.data[self._line_start :])
        self._skip_cut(line)
        del self.data[self._line_start :]
        self.data += self._prefix(line[: self._max_line_bytes])
        if self._may_stop_early and self._count is not None and self.line_count + 1 == self._count:
            self._end_cut(has_newline=True)
            self.is_end_unknown = True

    def _skip_cut(self, piece: bytes) -> None:
        if piece and self._cut_chars is not None:
            if self._counts_cut_chars:
                self._cut_chars.feed(piece)
            self._last_byte = piece[-1:]

    def _end_cut(self, has_newline: bool) -> None:
        counter, self._cut_chars = self._cut_chars, None
        assert counter is not None
        self.cuts[self._first + self.line_count] = counter.total(has_newline) if self._counts_cut_chars else -1
        if has_newline:
            self.data += b"\r\n" if self._last_byte == b"\r" else b"\n"
        self.line_count += 1
        self._line_start = self._squeezed = len(self.data)
        self.is_full = self._count is not None and self.line_count >= self._count

    def _prefix(self, start: bytes) -> bytes:
        """Return as much of a long line as is needed to show that it is too long.

        That is two characters more than are shown: the last may be a CR that belongs to the line end.
        """
        if not self._max_line_chars:
            return start
        return start.decode("utf-8", "replace")[: self._max_line_chars + 2].encode("utf-8")
