"""A piece of a text file by characters: from any character of any line on, as much as was asked for or may be held.

What a budget needs: it reads on from where it stopped, inside a line of any length too, and reads no more of the file
than it hands out (but for finding the start: that takes one pass over the lines before it, once, and over the
characters before it in its own line). Columns count code points of the decoded text.
"""

from __future__ import annotations

from eyespan.lines.encodings import Transcoder
from eyespan.lines.reader import LineReader
from eyespan.model import MIB, CharRange, TextPart

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from eyespan.context import CallContext
    from eyespan.lines.encodings import Encoding
    from eyespan.model import Part, ReadRequest, Tail
    from eyespan.source import Source

BLOCK_BYTES = 64 * 1024


def read_stretch(
    source: Source, request: ReadRequest, selection: CharRange | Tail, encoding: Encoding, context: CallContext
) -> tuple[tuple[Part, ...], Mapping[str, Any]]:
    """The text that the selection names, and how it was decoded.

    Raises: what reading raises.
    """
    reader = CharRangeReader(source, request, encoding, context)
    try:
        if isinstance(selection, CharRange):
            part = reader.stretch(selection)
        else:
            part = reader.ending(selection.count, selection.max_bytes or 1)
    finally:
        reader.keep_index()
    told: dict[str, Any] = {"encoding": encoding.name, "encoding_found": encoding.how, "bom": bool(encoding.bom)}
    if encoding.confidence is not None:
        told["encoding_confidence"] = encoding.confidence
    if reader.lost:
        told["replaced"] = reader.lost
    if reader.line_chars is not None:
        told["line_chars"] = reader.line_chars
    return (part,), told


class CharRangeReader(LineReader):
    """One pass over one source for one piece of its text."""

    def __init__(self, source: Source, request: ReadRequest, encoding: Encoding, context: CallContext) -> None:
        super().__init__(source, request, encoding, context)
        self.block_bytes = BLOCK_BYTES
        self._read_to = 0
        self._line = 0
        """Where reading stopped, and the line that goes on there."""
        self.lost = 0
        """How many pieces of what was read could not be decoded."""
        self.line_chars: int | None = None
        """How long the first line is, where it ends before the character asked for."""

    def stretch(self, wanted: CharRange) -> TextPart:
        """The text from a character on; no lines if the file ends before its line, an empty one if its line does."""
        position, line = self.seek(self.start, 1, wanted.first)
        if line < wanted.first:
            return self._part(b"", wanted.first, 0, self._total(line), False, {})
        return self._from(position, wanted)

    def ending(self, count: int, max_bytes: int) -> TextPart:
        """The last lines, as many as fit; if not even the last one does, its start."""
        start, unit = self.start, self._encoding.unit_bytes
        end, total = self._count()
        lines = min(count, total)
        position = self._back(start, end, lines)
        if end - position > max_bytes:
            low = max(start, end - max_bytes - unit)  # a line may start exactly where what fits does
            low += -(low - start) % unit
            block = self._exactly(low, end - low)
            at = self._encoding.find(block)
            if at < 0 or at + unit >= len(block):
                position, lines = self._back(start, end, 1), 1
            else:
                position = low + at + unit
                lines = self._encoding.count(block[at + unit :]) + self._ends_open
        self._limit, self._over = end, None  # what was appended since is another file's business
        return self._from(position, CharRange(total - lines + 1, 1, None, max_bytes), (total, self._ends_open))

    def _from(self, position: int, wanted: CharRange, known: tuple[int, bool] | None = None) -> TextPart:
        """The text from character `wanted.column` of the line `wanted.first`, which starts at `position`.

        `known` are the number of lines and whether the last one is open, where they were found before.
        """
        pieces: list[str] = []
        skip, left = wanted.column - 1, MIB if wanted.max_chars is None else wanted.max_chars
        lines_left = None if wanted.last is None else wanted.last - wanted.first + 1
        self._read_to, self._line = position, wanted.first
        cut_short = at_end = False
        for text in self._decoded():
            if skip:
                text, skip = self._skipped(text, skip, wanted.column - 1 - skip)
            if lines_left is not None:
                text, lines_left = _first_lines(text, lines_left)
            cut_short = len(text) > left
            pieces.append(text[:left])
            left -= len(text)
            if cut_short or lines_left == 0:
                break
        else:
            at_end = True
        if self._read_to == position:
            return self._part(b"", wanted.first, 0, wanted.first - 1, False, {})
        if skip:
            self.line_chars = wanted.column - 1 - skip
        text = "".join(pieces)
        if cut_short and text.endswith("\r") and len(text) > 1:
            text = text[:-1]  # perhaps half of a line's end
        lines = text.count("\n") + (not text.endswith("\n"))
        total: int | None
        if known is not None:
            total, self._ends_open = known
        else:
            total = self._total(self._line) if at_end else self._total_after(self._read_to, self._line)
        more = cut_short or total is None or wanted.first + lines - 1 < total
        ends_open = None if total is None else self._ends_open
        return TextPart(
            text.encode("utf-8", "replace"), wanted.first, lines, total, more, {}, self._encoding.name, ends_open,
            wanted.column, cut_short,
        )  # fmt: skip

    def _decoded(self) -> Iterator[str]:
        """The text from `_read_to` on, a block at a time; a character is never cut in two."""
        encoding = self._encoding
        transcoder = Transcoder(encoding)
        while block := self._block(self._read_to):
            self._read_to += len(block)
            self._line += encoding.count(block)
            self._ends_open = not encoding.ends_line(block)
            text = transcoder.feed(block).decode("utf-8")
            self.lost = transcoder.replaced
            yield text
        text = transcoder.feed(b"", final=True).decode("utf-8")
        self.lost = transcoder.replaced
        yield text

    def _skipped(self, text: str, skip: int, before: int) -> tuple[str, int]:
        """The text without its first `skip` characters, and how many are still to skip: never beyond the line's end."""
        end = text.find("\n", 0, skip)
        if end < 0:
            return text[skip:], max(0, skip - len(text))
        self.line_chars = before + end - (end > 0 and text[end - 1] == "\r")
        return text[end:], 0


def _first_lines(text: str, count: int) -> tuple[str, int]:
    """The first `count` lines of a text, and how many of them are still to come."""
    feeds = text.count("\n")
    if feeds < count:
        return text, count - feeds
    at = -1
    for _ in range(count):
        at = text.find("\n", at + 1)
    return text[: at + 1], 0
