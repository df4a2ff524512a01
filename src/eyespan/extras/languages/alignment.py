"""Compare the ends of definitions with the indentation of a text, and mark those that may be wrong.

In formatted code the last line of a definition is not indented less than its header, and the line after it not deeper.
Otherwise the definition is doubtful. One that contains an error of the parser is doubtful unless it ends at the first
line that closes something in the column of its header.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import replace

from eyespan.outline.model import TYPE_KINDS, Definition

_CLOSING = re.compile(r"[})\]]|end\b")
_BLANK_LINES = 50
"""The lines after a definition that are searched for one with text."""
_BODIES = frozenset(("function", "method", "test", "namespace", *TYPE_KINDS))
"""The kinds of definitions that have a body."""


class Alignment:
    """The columns in which the lines of a text begin."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._columns: list[int] = []
        """The column of each line; -1 for a blank one."""
        self._closing: dict[int, list[int]] = {}
        """The lines that begin with a closing bracket or word, by column."""
        for number, line in enumerate(lines, 1):
            body = line.lstrip()
            column = len(line[: len(line) - len(body)].expandtabs(8)) if body else -1
            self._columns.append(column)
            if _CLOSING.match(body):
                self._closing.setdefault(column, []).append(number)

    def closing_line(self, line: int) -> int:
        """Return the first line after this one that closes something in its column; 0 if there is none."""
        closing = self._closing.get(self._columns[line - 1], [])
        at = bisect_right(closing, line)
        return closing[at] if at < len(closing) else 0

    def with_doubts(self, definitions: list[Definition], errors: Sequence[tuple[int, int]]) -> list[Definition]:
        """Return definitions with their lines of doubt. `errors` are the lines that the parser did not understand."""
        damage = _Damage(errors)
        return [replace(one, doubt=doubt) if (doubt := self._doubt(one, damage)) else one for one in definitions]

    def _doubt(self, one: Definition, damage: _Damage) -> int:
        if one.doubt or one.kind not in _BODIES:
            return one.doubt
        if self._disagrees(one):
            return one.last
        error = damage.line_in(one.first, one.last)
        return error if error and self.closing_line(one.line) != one.last else 0

    def _disagrees(self, one: Definition) -> bool:
        """Return True if the last line is indented less than the header, or the line after it deeper.

        A last line that is indented deeper is that of an expression, in the languages that have such bodies.
        """
        columns = self._columns
        following = next((column for column in columns[one.last : one.last + _BLANK_LINES] if column >= 0), -1)
        outermost = min([column for column in columns[one.first - 1 : one.line] if column >= 0], default=0)
        return following > columns[one.line - 1] or 0 <= columns[one.last - 1] < outermost


class _Damage:
    """The lines of errors."""

    def __init__(self, errors: Sequence[tuple[int, int]]) -> None:
        ordered = sorted(errors)
        self._starts = [first for first, _ in ordered]
        self._reach: list[int] = []
        """The last line of each error and of those before it."""
        for _, last in ordered:
            self._reach.append(max(last, self._reach[-1] if self._reach else 0))

    def line_in(self, first: int, last: int) -> int:
        """Return the first line of these that is in an error, or 0."""
        at = bisect_left(self._starts, first)
        if at and self._reach[at - 1] >= first:
            return first
        return self._starts[at] if at < len(self._starts) and self._starts[at] <= last else 0
