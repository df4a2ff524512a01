"""Merge what a grammar finds in broken source with what the scanner of braces finds in the same source.

A grammar that meets an error continues somewhere else, perhaps far away, so the ends of definitions around it are
wrong. The scanner knows only braces, so one that closes all it opens is right about ends. Definitions near an error get
the scanner's end where the two disagree, those that the grammar lost are added, and each of them carries the line of
the error unless both agree.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eyespan.outline.model import Definition


_BODIES = frozenset(("function", "method", "class", "struct", "interface", "enum", "trait", "impl", "namespace"))
_NEAR_LINES = 2


def merged(
    parsed: Sequence[Definition],
    scanned: Sequence[Definition],
    errors: Sequence[tuple[int, int]],
    *,
    is_balanced: bool,
) -> list[Definition]:
    """Return the definitions of broken source, in file order with parents before children.

    `errors` are the lines that the grammar could not parse; `is_balanced` holds if the scanner closed all it opened.
    """
    damage = _Damage(errors)
    by_name: dict[str, list[Definition]] = {}
    for one in scanned:
        by_name.setdefault(one.name, []).append(one)
    found: list[Definition] = []
    taken: set[int] = set()
    lost: list[tuple[int, int]] = []  # lines that a definition of the grammar covers by mistake
    for one in parsed:
        twin = _twin(one, by_name)
        if twin is not None:
            taken.add(id(twin))
        if twin is None or twin.last == one.last:
            agrees = twin is not None and is_balanced
            doubt = 0 if agrees or one.kind not in _BODIES else damage.line_in(one.first, one.last)
            found.append(replace(one, doubt=doubt) if doubt else one)
            continue
        line = damage.line_in(min(one.first, twin.first), max(one.last, twin.last) + 1)
        if not line:
            found.append(one)  # the scanner is wrong: the grammar had no difficulty here
        elif is_balanced:
            if one.last > twin.last:
                lost.append((twin.last + 1, one.last))
            found.append(replace(one, last=max(twin.last, one.line), doubt=line))
        else:
            found.append(replace(one, doubt=line))
    lost_lines = _Damage([*errors, *lost])
    known = {(one.name, one.line) for one in found}
    for one in scanned:
        if id(one) in taken or (one.name, one.line) in known:
            continue
        line = lost_lines.line_in(one.line, one.last)
        if line:
            found.append(replace(one, doubt=0 if is_balanced else line))
    return nested(found)


def _twin(one: Definition, by_name: dict[str, list[Definition]]) -> Definition | None:
    """Return the scanner's version of a definition."""
    near = [other for other in by_name.get(one.name, ()) if abs(other.line - one.line) <= _NEAR_LINES]
    return min(near, key=lambda other: abs(other.line - one.line), default=None)


class _Damage:
    """Ranges of lines, and the question if one is near."""

    def __init__(self, ranges: Sequence[tuple[int, int]]) -> None:
        self._starts = sorted([first for first, _ in ranges])
        self._ends: list[int] = []
        ordered = sorted(ranges)
        reach = 0
        for _, last in ordered:
            reach = max(reach, last)
            self._ends.append(reach)
        self._ordered = ordered

    def line_in(self, first: int, last: int) -> int:
        """Return the first line of a range that overlaps these lines, or 0."""
        at = bisect_left(self._starts, first)
        if at < len(self._starts) and self._starts[at] <= last:
            return self._starts[at]
        before = bisect_right(self._starts, first)
        if before and self._ends[before - 1] >= first:
            return first
        return 0


def nested(definitions: list[Definition]) -> list[Definition]:
    """Return definitions in file order, each with its parent; a child that ends after its parent is cut."""
    order = sorted(range(len(definitions)), key=lambda at: (definitions[at].line, -definitions[at].last, at))
    result: list[Definition] = []
    open_ones: list[int] = []
    floor = 0  # the last line of the definitions that end before this one
    for at in order:
        one = definitions[at]
        while open_ones and result[open_ones[-1]].last < one.line:
            floor = max(floor, result[open_ones.pop()].last)
        parent = open_ones[-1] if open_ones else -1
        first, last, doubt = one.first, one.last, one.doubt
        if parent >= 0:
            around = result[parent]
            first = max(first, around.first)
            if last > around.last:
                last = around.last
                doubt = doubt or around.doubt or last
        if result:
            first = max(first, result[-1].first, floor + 1)
        first = min(first, one.line)
        result.append(replace(one, first=first, last=max(last, one.line), parent=parent, doubt=doubt))
        open_ones.append(len(result) - 1)
    return result
