"""The first of three steps from a target to an answer: which ranges of a text are wanted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eyespan.dialects.pieces import AROUND_LINES, around_place
from eyespan.model import EXACT_TOTAL, CharRange, Lines, Tail
from eyespan.selectors import Place, Range

if TYPE_CHECKING:
    from eyespan.dialects.native.fold import Gap
    from eyespan.dialects.native.text import Text


@dataclass(frozen=True, slots=True)
class Wanted:
    """The ranges of one text that an item is to show."""

    ranges: tuple[CharRange, ...] = ()
    is_whole: bool = False
    tail: int | None = None
    """The number of last lines; they are shown from the very last one backwards."""
    symbol: str = ""
    """The symbol that the ranges belong to."""
    lines: tuple[int, ...] = ()
    """Lines of the symbol that were asked for, which are not hidden."""
    places: tuple[Place, ...] = ()
    """The places that all ranges surround; (): some ranges are not around a place."""
    notes: tuple[str, ...] = ()
    pattern: str = ""
    """The pattern of a search; the ranges surround its matches."""
    matches: tuple[int, ...] = ()
    """The lines that match."""
    search_next: int = 0
    """The line at which a search that stopped early continues."""
    search_last: int | None = None
    """The last line that is searched; None: that of the file."""
    gaps: tuple[Gap, ...] = ()
    """Lines between the ranges that belong to what was asked for, and are named instead of shown."""


WHOLE = Wanted((CharRange(),), is_whole=True)


def want_ranges(text: Text, ranges: Sequence[Range]) -> Wanted:
    """Return what these ranges mean in the text; without any, all of it.

    Raises: ReadError.
    """
    if len(ranges) == 1 and isinstance(ranges[0], Tail):
        return Wanted(tail=ranges[0].count)
    found: list[CharRange] = []
    places: list[Place] = []
    notes: list[str] = []
    for one in ranges:
        match one:
            case Lines(first, count):
                found.append(CharRange(first, 1, None if count is None else first + count - 1))
            case CharRange():
                found.append(one)
            case Tail(count):
                found.append(_last_lines(text, count))
            case Place(line, column):
                around, note = around_place(lambda selection: text.read(selection)[0], line, column)
                found.append(around)
                notes += [note] if note else []
                if around.max_chars is not None or around.last == line + AROUND_LINES:
                    places.append(one)
    around_all = tuple(places) if len(places) == len(ranges) else ()
    return Wanted(tuple(found), is_whole=not ranges, places=around_all, notes=tuple(notes))


def line_ranges(text: Text, ranges: Sequence[Range]) -> tuple[CharRange, ...]:
    """Return these ranges in order, the last lines as lines too.

    Raises: ReadError.
    """
    wanted = want_ranges(text, ranges)
    found = wanted.ranges if wanted.tail is None else (_last_lines(text, wanted.tail),)
    return tuple(sorted(found, key=lambda one: one.first))


def combined(text: Text, several: Sequence[Wanted]) -> Wanted:
    """Return all that several targets want of the same text.

    Raises: ReadError.
    """
    if len(several) == 1:
        return several[0]
    ranges: list[CharRange] = []
    for one in several:
        ranges += one.ranges
        if one.tail is not None:
            ranges.append(_last_lines(text, one.tail))
    notes = dict.fromkeys([note for one in several for note in one.notes])
    places = tuple([place for one in several for place in one.places]) if all(one.places for one in several) else ()
    return Wanted(tuple(ranges), is_whole=any(one.is_whole for one in several), places=places, notes=tuple(notes))


def _last_lines(text: Text, count: int) -> CharRange:
    part, _ = text.read(CharRange(1, 1, 1, 1), EXACT_TOTAL)
    return CharRange(max(1, (part.total_lines or 0) - count + 1))
