"""Texts in chunks for retrieval: cut by structure, within a limit of tokens, each with a selector that reads it again.

A text is cut where it has structure: between symbols and headings, the outer ones first, then at empty lines, then
between any two lines, and a line that alone exceeds the limit between characters. Neighbours that fit into one chunk
stay together. Pages of a PDF and windows of rows are cut one by one. The chunks of a file in order are its text, each
character once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from eyespan import kinds
from eyespan.dialects.native.documents import joined
from eyespan.errors import Cancelled, ReadError, TimedOut, TooLarge
from eyespan.extras.bulk.windows import selector_of, windows
from eyespan.model import CharRange, Document, Lines, NotePart, TextPart
from eyespan.opened import Opened
from eyespan.selectors import Cells, Named, Pages, Piece, Ranges, Target, write_target
from eyespan.tokens import estimate, fit

if TYPE_CHECKING:
    from eyespan.outline import Outline


INNER_DEPTH = 3
"""Symbols within so many others, and deeper ones, are cut apart together."""
EMPTY_LINE, ANY_LINE = INNER_DEPTH + 1, INNER_DEPTH + 2
"""The ranks of cuts after those at symbols, by their depth."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a text and the selector that reads it."""

    selector: str
    text: str
    symbol: str = ""
    """The innermost symbol or heading around all of it."""
    left_out: str = ""
    """What belongs to the part of the document that begins here and is in no chunk."""


def chunks_of(opened: Opened, path: str, max_tokens: int, max_bytes: int) -> Iterator[Chunk] | None:
    """Return the chunks of a file; None for one that has no text, such as an image.

    Raises: ReadError; TooLarge once more than `max_bytes` were read, after the chunks before them.
    """
    kind = opened.kind
    if kind.layout == "image" or kind is kinds.BINARY:
        return None
    if kind is kinds.TEXT or (kind.is_text and kind.layout in ("notes", "drawing")):
        return _text_chunks(opened, path, max_tokens, max_bytes)
    return _window_chunks(opened, path, max_tokens, max_bytes)


def _window_chunks(opened: Opened, path: str, max_tokens: int, max_bytes: int) -> Iterator[Chunk]:
    taken_bytes = 0
    before = ""
    for window in windows(opened):
        document = window.document
        if window.piece is None and opened.kind.layout == "pages":
            before = "bookmarks, attachments or signatures before the first page"
            continue
        text, cuts = _joined_text(document, path)
        taken_bytes += len(text)
        if taken_bytes > max_bytes:
            raise TooLarge(path, size_bytes=opened.facts.size_bytes, limit_bytes=max_bytes)
        lines = split_lines(text)
        left_out = "; ".join([one for one in (before, window.left_out) if one])
        before = ""
        for first, last, column, chars in cut(lines, cuts, max_tokens):
            is_whole = (first, last, column) == (1, len(lines), 0)
            piece = _piece_within(window.piece, None if is_whole else _range(first, last, column, chars), len(lines))
            yield Chunk(selector_of(path, piece), _text(lines, first, last, column, chars), left_out=left_out)
            left_out = ""


def _piece_within(piece: Piece | None, selected: Lines | CharRange | None, line_count: int) -> Piece:
    """Return the piece that selects a part of the text of a window; None: all of it."""
    if isinstance(piece, (Pages, Cells, Named)):
        return piece if selected is None else replace(piece, within=(selected,))
    return Ranges((selected or Lines(1, line_count),))


def _joined_text(document: Document, path: str) -> tuple[str, Mapping[int, int]]:
    """Return the text whose lines a selector counts, and the lines where its parts begin."""
    if document.parts and isinstance(document.parts[0], TextPart):
        return bytes(document.parts[0].data).decode("utf-8", "replace"), {}
    text, _ = joined(document, Target(path))
    cuts, line = {}, 1
    for part in document.parts:
        cuts[line] = 0
        line += max(1, len(split_lines(part.text))) if isinstance(part, NotePart) else 1
    return text, cuts


def _text_chunks(opened: Opened, path: str, max_tokens: int, max_bytes: int) -> Iterator[Chunk]:
    text, is_whole = _whole_text(opened, max_bytes)
    lines = split_lines(text)
    outline = None
    if estimate(text) > max_tokens and opened.kind is kinds.TEXT:
        outline = _outline(opened)
    cuts = symbol_cuts(outline) if outline is not None else {}
    for first, last, column, chars in cut(lines, cuts, max_tokens):
        piece: Piece | None = Ranges((_range(first, last, column, chars),))
        if (first, last, column) == (1, len(lines), 0) and opened.kind is kinds.TEXT:
            piece = None
        symbol = "" if outline is None else _symbol_around(outline, first, last)
        yield Chunk(write_target(Target(path, piece)), _text(lines, first, last, column, chars), symbol)
    if not is_whole:
        raise TooLarge(path, size_bytes=opened.facts.size_bytes, limit_bytes=max_bytes)


def _whole_text(opened: Opened, max_bytes: int) -> tuple[str, bool]:
    """Return the lines of a file, and False if it has more than `max_bytes`. Raises: ReadError."""
    data: list[bytes] = []
    left = max_bytes
    for part in opened.stream(as_text=True):
        if isinstance(part, TextPart):
            left -= len(part.data)
            if left < 0:
                return b"".join(data).decode("utf-8", "replace"), False
            data.append(bytes(part.data))
    return b"".join(data).decode("utf-8", "replace"), True


def _outline(opened: Opened) -> Outline | None:
    try:
        return opened.outline()
    except (Cancelled, TimedOut):
        raise
    except ReadError:
        return None  # a text without symbols is cut at its empty lines


def _symbol_around(outline: Outline, first: int, last: int) -> str:
    around = [symbol for symbol in outline.symbols if symbol.first <= first and last <= symbol.last]
    return min(around, key=lambda symbol: symbol.last - symbol.first).qualified if around else ""


def symbol_cuts(outline: Outline) -> dict[int, int]:
    """Return the lines before which a text can be cut between symbols, with the depth of the symbols."""
    cuts: dict[int, int] = {}
    for symbol in outline.symbols:
        depth = min(symbol.depth, INNER_DEPTH)
        for line in (symbol.first, symbol.last + 1):
            cuts[line] = min(depth, cuts.get(line, depth))
    return cuts


def split_lines(text: str) -> list[str]:
    """Return the lines of a text with their ends. A line ends at a line feed and nowhere else."""
    lines = text.split("\n")
    last = lines.pop()
    return [f"{line}\n" for line in lines] + ([last] if last else [])


def cut(lines: Sequence[str], cuts: Mapping[int, int], max_tokens: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield the first and last line of each chunk and, for a part of one line, its first column and its length.

    `cuts` are lines before which structure ends, with a rank: cuts of lower ranks come first.
    """
    ranks = dict(cuts)
    for number, line in enumerate(lines, 1):
        if not line.strip():
            ranks.setdefault(number + 1, EMPTY_LINE)
    by_rank = [sorted([line for line, rank in ranks.items() if rank == level]) for level in range(ANY_LINE)]
    for first, last in _pieces(lines, 1, len(lines), by_rank, 0, max_tokens):
        if first < last or estimate(lines[first - 1]) <= max_tokens:
            yield first, last, 0, 0
        else:
            yield from _line_parts(lines[first - 1], first, max_tokens)


def _pieces(
    lines: Sequence[str], first: int, last: int, by_rank: Sequence[Sequence[int]], rank: int, max_tokens: int
) -> list[tuple[int, int]]:
    """Return the lines `first` to `last` in pieces that fit, cut at the lowest ranks that suffice."""
    if first > last:
        return []
    if first == last or _fits(lines, first, last, max_tokens):
        return [(first, last)]
    if rank >= len(by_rank):
        starts = list(range(first, last + 1))
    else:
        starts = [first, *[line for line in by_rank[rank] if first < line <= last]]
        if len(starts) == 1:
            return _pieces(lines, first, last, by_rank, rank + 1, max_tokens)
    found: list[tuple[int, int]] = []
    can_grow = False
    for start, end in zip(starts, [*[line - 1 for line in starts[1:]], last], strict=True):
        if can_grow and _fits(lines, found[-1][0], end, max_tokens):
            found[-1] = (found[-1][0], end)
        elif start == end or _fits(lines, start, end, max_tokens):
            found.append((start, end))
            can_grow = True
        else:
            found += _pieces(lines, start, end, by_rank, rank + 1, max_tokens)
            can_grow = False
    return found


def _fits(lines: Sequence[str], first: int, last: int, max_tokens: int) -> bool:
    chars = 0
    for number in range(first - 1, last):
        chars += len(lines[number])
        if chars > 16 * max_tokens:
            return False  # more characters to a token than any text has
    return estimate("".join(lines[first - 1 : last])) <= max_tokens


def _line_parts(line: str, number: int, max_tokens: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield the parts of one line, by characters; its end belongs to the last part."""
    content = len(line.removesuffix("\n").removesuffix("\r"))
    at = 0
    while at < content:
        chars = max(1, fit(line[at:content], max_tokens - 2))
        is_last = at + chars >= content
        yield number, number, at + 1, len(line) - at if is_last else chars
        at += chars


def _range(first: int, last: int, column: int, chars: int) -> Lines | CharRange:
    return CharRange(first, column, first, chars) if column else Lines(first, last - first + 1)


def _text(lines: Sequence[str], first: int, last: int, column: int, chars: int) -> str:
    if column:
        return lines[first - 1][column - 1 : column - 1 + chars]
    return "".join(lines[first - 1 : last])
