"""Read text by characters: from any character of any line on, as much as is requested or may be held.

Token budgets need this. It goes on where an answer stopped, also within a line of any length, and reads no more of the
file than it returns. Finding the start takes one pass over the lines before it and over the characters before it in its
own line. Columns count code points of the decoded text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from eyespan.context import CallContext
from eyespan.lines.encodings import READ_BYTES, UNDECODED, Encoding, Transcoder, char_width
from eyespan.lines.finder import LineFinder, LineStart
from eyespan.lines.index import Indexer
from eyespan.lines.scan import Scan
from eyespan.model import MIB, CharRange, Part, ReadRequest, Tail, TextPart
from eyespan.source import Source

BLOCK_BYTES = 64 * 1024


def read_char_range(
    source: Source, request: ReadRequest, selection: CharRange | Tail, encoding: Encoding, context: CallContext
) -> tuple[tuple[Part, ...], Mapping[str, Any]]:
    """Return the selected text and facts about its decoding.

    Raises: what reading raises.
    """
    indexer = Indexer(source, encoding, context)
    finder = LineFinder(Scan(source, encoding, context, block_bytes=BLOCK_BYTES), indexer)
    try:
        if isinstance(selection, CharRange):
            found = _read_range(finder, selection, request.total)
        else:
            found = _read_tail(finder, selection.count, selection.max_bytes or 1, request.total)
    finally:
        indexer.save()
    facts: dict[str, Any] = {"encoding": encoding.name, "encoding_found": encoding.how, "bom": bool(encoding.bom)}
    if encoding.confidence is not None:
        facts["encoding_confidence"] = encoding.confidence
    if found.replaced:
        facts["replaced"] = found.replaced
    if found.line_chars is not None:
        facts["line_chars"] = found.line_chars
    return (found.part,), facts


@dataclass(frozen=True, slots=True)
class CharRangeText:
    """The text of a character range."""

    part: TextPart
    replaced: int = 0
    """The number of its pieces that could not be decoded."""
    line_chars: int | None = None
    """The length of the first line, if it ends before the requested column."""


def _read_range(finder: LineFinder, wanted: CharRange, total_rule: str) -> CharRangeText:
    """Return the text from a character on.

    No lines if the file ends before its line, an empty line if that line is shorter. Raises: what reading raises.
    """
    place = finder.find(wanted.first)
    if place.line < wanted.first:
        return CharRangeText(_empty_part(finder, wanted.first, place))
    return _read_from(finder, place.offset, wanted, total_rule=total_rule)


def _read_tail(finder: LineFinder, count: int, max_bytes: int, total_rule: str) -> CharRangeText:
    """Return the last lines, as many as fit into `max_bytes`; if not even the last one does, its start.

    Raises: what reading raises.
    """
    scan, encoding = finder.scan, finder.scan.encoding
    unit_bytes = encoding.unit_bytes
    end = finder.end()
    lines = min(count, end.line_count)
    offset = finder.go_back(end.offset, lines)
    if end.offset - offset > max_bytes:
        low = max(scan.start, end.offset - max_bytes - unit_bytes)  # a line may start exactly where the limit is
        low += -(low - scan.start) % unit_bytes
        block = scan.read_fully(low, end.offset - low)
        feed = encoding.find(block)
        if feed < 0 or feed + unit_bytes >= len(block):
            offset, lines = finder.go_back(end.offset, 1), 1
        else:
            offset = low + feed + unit_bytes
            lines = encoding.count(block[feed + unit_bytes :]) + end.is_inside
    wanted = CharRange(first=end.line_count - lines + 1, max_chars=max_bytes)
    # Ignore what was appended after the count.
    return _read_from(finder.up_to(end.offset), offset, wanted, total_rule=total_rule, end=end)


def _empty_part(finder: LineFinder, first: int, end: LineStart) -> TextPart:
    return TextPart(
        data=b"",
        first_line=first,
        line_count=0,
        total_lines=end.line_count,
        more=False,
        encoding=finder.scan.encoding.name,
        ends_open=end.is_inside,
    )


def _read_from(
    finder: LineFinder, offset: int, wanted: CharRange, *, total_rule: str, end: LineStart | None = None
) -> CharRangeText:
    """Return the text from character `wanted.column` of the line `wanted.first`, which starts at `offset`.

    `end` is the end of the file, if it is known.
    """
    column = _Column(wanted.column)
    decoded = _Decoded(finder.scan, LineStart(offset, wanted.first))
    pieces: list[str] = []
    left = MIB if wanted.max_chars is None else wanted.max_chars
    lines_left = None if wanted.last is None else wanted.last - wanted.first + 1
    cut_short = is_at_end = False
    context = finder.scan.context
    chars, width, charged = 0, 1, 0
    before_bytes = context.memory.loan_start()
    for text in decoded:
        chars += min(len(text), max(left, 0))
        width = max(width, char_width(text))
        context.charge(READ_BYTES[width] * chars - charged)
        charged = READ_BYTES[width] * chars
        text = column.skip(text)
        if lines_left is not None:
            text, lines_left = _first_lines(text, lines_left)
        cut_short = len(text) > left
        pieces.append(text[:left])
        left -= len(text)
        if cut_short or lines_left == 0:
            break
    else:
        is_at_end = True
    context.memory.end_loan(before_bytes)  # blocks that are not part of the text are free
    if decoded.place.offset == offset:
        return CharRangeText(_empty_part(finder, wanted.first, decoded.place))
    text = "".join(pieces)
    context.charge(READ_BYTES[char_width(text)] * len(text))
    if cut_short and text.endswith("\r") and len(text) > 1:
        text = text[:-1]  # it may be half of a line end
    lines = text.count("\n") + (not text.endswith("\n"))
    replaced = text.count(UNDECODED)
    if end is None:
        end = decoded.place if is_at_end else finder.known_end(decoded.place, total_rule)
    part = TextPart(
        data=text.replace(UNDECODED, "\ufffd").encode("utf-8", "replace"),
        first_line=wanted.first,
        line_count=lines,
        total_lines=None if end is None else end.line_count,
        more=cut_short or end is None or wanted.first + lines - 1 < end.line_count,
        encoding=finder.scan.encoding.name,
        ends_open=None if end is None else end.is_inside,
        column=wanted.column,
        cut_short=cut_short,
    )
    return CharRangeText(part, replaced=replaced, line_chars=column.line_chars)


class _Decoded:
    """The text of a scan from one place on, a block at a time, with `UNDECODED`; no character is cut in two."""

    def __init__(self, scan: Scan, place: LineStart) -> None:
        self._scan = scan
        self._transcoder = Transcoder(scan.encoding)
        self.place = place
        """The end of the blocks read so far."""

    def __iter__(self) -> Iterator[str]:
        encoding = self._scan.encoding
        while block := self._scan.block(self.place.offset):
            self.place = LineStart(
                self.place.offset + len(block), self.place.line + encoding.count(block), not encoding.ends_line(block)
            )
            yield self._transcoder.decode(block)
        yield self._transcoder.decode(b"", final=True)


class _Column:
    """Skips the characters before a column of the first line, never beyond the end of that line."""

    def __init__(self, column: int) -> None:
        self._left = column - 1
        self._skipped = 0
        self._is_past_end = False

    @property
    def line_chars(self) -> int | None:
        """Return the length of the line, if it ended before the column."""
        return self._skipped if self._left or self._is_past_end else None

    def skip(self, text: str) -> str:
        """Return the text without the characters that are still to be skipped."""
        if not self._left:
            return text
        end = text.find("\n", 0, self._left)
        if end < 0:
            skipped = min(self._left, len(text))
            self._left -= skipped
            self._skipped += skipped
            return text[skipped:]
        self._skipped += end - (end > 0 and text[end - 1] == "\r")
        self._left = 0
        self._is_past_end = True
        return text[end:]


def _first_lines(text: str, count: int) -> tuple[str, int]:
    """Return the first `count` lines of a text, and how many of them are still to come."""
    feeds = text.count("\n")
    if feeds < count:
        return text, count - feeds
    end = -1
    for _ in range(count):
        end = text.find("\n", end + 1)
    return text[: end + 1], 0
