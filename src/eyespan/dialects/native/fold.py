"""Fold a text into a share of the budget: keep what carries meaning, replace the rest by gaps that are selectors.

The first lines are kept, because a definition starts with its signature, its documentation and its attributes, and so
are the lines around those that were asked for. What is hidden is named by the symbols in it: `>… 35-62 def moor(self)`.
If the signatures take more than half of the share, one gap names several symbols. Shown lines and gaps together
are the whole text. Pure.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from eyespan import tokens
from eyespan.dialects.native import own_lines

if TYPE_CHECKING:
    from eyespan.dialects.native.rows import Row
    from eyespan.outline import Symbol


AROUND_KEPT = 8
"""The lines on both sides of a line that was asked for."""
LEAST_HIDDEN = 3
"""Fewer lines are not hidden: their gap would cost as much."""
GAPS_SHARE = 0.5
"""The most of the share that gaps take."""
SIGNATURE_CHARS = 60
MAX_NAMES = 24
"""The symbols that one gap names."""


class Gap(NamedTuple):
    """Lines that are hidden, and what is in them."""

    first: int
    last: int
    names: str = ""

    def line(self) -> str:
        """Return the line of the answer that stands for these lines."""
        lines = f"{self.first}-{self.last}" if self.last > self.first else f"{self.first}"
        return own_lines.words(f"… {lines} {self.names}".rstrip())


def fold(
    rows: Sequence[Row], costs: Sequence[int], symbols: Sequence[Symbol], max_tokens: int, kept: Iterable[int] = ()
) -> tuple[list[bool], list[Gap]]:
    """Return which of the rows are shown within `max_tokens`, and the gaps.

    `rows` are consecutive whole lines with the cost of each, `symbols` those of the file in file order, `kept` the
    numbers of lines that were asked for.
    """
    near = {number + by for number in kept for by in range(-AROUND_KEPT, AROUND_KEPT + 1)}
    first, last = rows[0].number, rows[-1].number
    inner = [symbol for symbol in symbols if first < symbol.first and symbol.last <= last]

    def choose(count: int, describe: Describe) -> tuple[list[bool], list[Gap], int]:
        """Show the first `count` rows and those near kept lines; return the cost, too."""
        is_shown = [at < count or row.number in near for at, row in enumerate(rows)]
        gaps: list[Gap] = []
        for start, end in _hidden_runs(is_shown):
            if end - start < LEAST_HIDDEN:
                is_shown[start:end] = [True] * (end - start)
            else:
                gaps += describe(rows[start].number, rows[end - 1].number, inner)
        spent = sum([cost for cost, shows in zip(costs, is_shown, strict=True) if shows])
        return is_shown, gaps, spent + _cost(gaps)

    for describe in (_by_symbol, _by_names, _bare):
        if describe is _bare or _cost(choose(1, describe)[1]) <= max_tokens * GAPS_SHARE:
            break
    count = max(1, bisect_left(range(1, len(rows)), True, key=lambda count: choose(count, describe)[2] > max_tokens))
    is_shown, gaps, _ = choose(count, describe)
    return is_shown, gaps


Describe = Callable[[int, int, "Sequence[Symbol]"], list[Gap]]


def _by_symbol(first: int, last: int, symbols: Sequence[Symbol]) -> list[Gap]:
    """Return a gap for each symbol, with its signature; lines between symbols belong to the one before."""
    outer = _outermost(first, last, symbols)
    starts = [first, *[symbol.first for symbol in outer if symbol.first > first], last + 1]
    by_first = {symbol.first: symbol for symbol in outer}
    return [
        Gap(start, end - 1, by_first[start].signature[:SIGNATURE_CHARS] if start in by_first else "")
        for start, end in itertools.pairwise(starts)
    ]


def _by_names(first: int, last: int, symbols: Sequence[Symbol]) -> list[Gap]:
    """Return one gap with the names of its symbols."""
    names = list(dict.fromkeys([symbol.name for symbol in _outermost(first, last, symbols)]))
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return [Gap(first, last, ", ".join(names[:MAX_NAMES]) + more)]


def _bare(first: int, last: int, symbols: Sequence[Symbol]) -> list[Gap]:
    return [Gap(first, last)]


def _outermost(first: int, last: int, symbols: Sequence[Symbol]) -> list[Symbol]:
    """Return the symbols that begin in these lines, without those within another of them."""
    found: list[Symbol] = []
    for symbol in symbols:
        if first <= symbol.first <= last and (not found or symbol.first > found[-1].last):
            found.append(symbol)
    return found


def _hidden_runs(is_shown: Sequence[bool]) -> list[tuple[int, int]]:
    """Return start and end of each run of rows that are not shown."""
    shown = [-1, *[at for at, shows in enumerate(is_shown) if shows], len(is_shown)]
    return [(before + 1, at) for before, at in itertools.pairwise(shown) if at > before + 1]


def _cost(gaps: Sequence[Gap]) -> int:
    return tokens.estimate(own_lines.write([gap.line() for gap in gaps])) + len(gaps) if gaps else 0
