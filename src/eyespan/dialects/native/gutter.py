"""The gutter: lines as a model reads them, at the lowest price, with the text exactly as it is in the file.

The gutter is a number or nothing, then a tab. The first line of every piece and each fifth line of the file are
numbered, the others count on; an empty line that is not numbered is an empty line. Everything after the first tab is
the line, unaltered. No row starts with `>`, the sign of the tool's own lines. Measured with o200k on files of Python's
standard library, over the bare text: 4 %; a number on every line takes 15 % and the padded forms of other tools 37 to
49 % (bench/tokens.py).
"""

from __future__ import annotations

from eyespan.record import record
from eyespan.search import first_true

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import overload

SEPARATORS = {"tab": "\t", "colon": ":", "pipe": "|", "arrow": "→", "blank": " "}
EVERY = 5
"""The distance of numbered lines: far enough apart to cost little, near enough to count on from."""


@record
class Row:
    """One line, or as much of it as was read."""

    number: int
    column: int
    """The character it starts with."""
    text: str
    """Without its terminator."""
    has_cr: bool = False
    """A carriage return precedes its line feed."""
    is_cut: bool = False
    """The line continues after the text."""
    has_newline: bool = True
    """A line feed ends it; False also for the file's last line without one."""


class Run:
    """Rows without a gap between them, held as columns. A `Row` is made when it is asked for, which is seldom.

    Only the first row can start within its line, and only the last can be cut or lack a line feed.
    """

    __slots__ = ("column", "first", "has_cr", "has_newline", "is_cut", "texts")

    def __init__(
        self,
        first: int,
        texts: Sequence[str],
        *,
        column: int = 1,
        has_cr: Sequence[bool] = (),
        is_cut: bool = False,
        has_newline: bool = True,
    ) -> None:
        self.first = first
        """The number of the first row."""
        self.texts = texts
        self.column = column
        """The character that the first row starts with."""
        self.has_cr = has_cr
        """For each row, if a carriage return precedes its line feed; empty if that is so for none."""
        self.is_cut = is_cut
        """The last line continues after its text."""
        self.has_newline = has_newline
        """A line feed ends the last line."""

    def __len__(self) -> int:
        return len(self.texts)

    def __iter__(self) -> Iterator[Row]:
        for at in range(len(self.texts)):
            yield self[at]

    if TYPE_CHECKING:

        @overload
        def __getitem__(self, at: int) -> Row: ...
        @overload
        def __getitem__(self, at: slice) -> Run: ...

    def __getitem__(self, at: int | slice) -> Row | Run:
        count = len(self.texts)
        if isinstance(at, slice):
            start, stop, _ = at.indices(count)
            is_to_end = stop == count
            return Run(
                self.first + start,
                self.texts[start:stop],
                column=1 if start else self.column,
                has_cr=self.has_cr[start:stop],
                is_cut=self.is_cut and is_to_end,
                has_newline=self.has_newline or not is_to_end,
            )
        text = self.texts[at]
        at += count if at < 0 else 0
        is_last = at == count - 1
        return Row(
            number=self.first + at,
            column=1 if at else self.column,
            text=text,
            has_cr=bool(self.has_cr) and self.has_cr[at],
            is_cut=self.is_cut and is_last,
            has_newline=self.has_newline or not is_last,
        )


@record
class Style:
    """The look of the gutter."""

    separator: str = "\t"
    every: int = EVERY
    """Each line whose number this divides is numbered; 1: all, 0: none and no gutter."""

    def format(self, rows: Sequence[Row] | Run, shown: Sequence[str]) -> list[str]:
        """Return one string for each row: its gutter and the text shown for it."""
        every, separator = self.every, self.separator
        if isinstance(rows, Run):
            return self._format_run(rows, shown)
        lines: list[str] = []
        for row, text, is_after_gap in zip(rows, shown, starts_after_gap(rows), strict=True):
            number = row.number
            if not every:
                lines.append(text)
            elif row.column > 1:
                lines.append(f"{number}:{row.column}{separator}{text}")
            elif not lines or is_after_gap or number % every == 0:
                lines.append(f"{number}{separator}{text}")
            else:
                lines.append(f"{separator}{text}" if text else "")
        return lines

    def _format_run(self, rows: Run, shown: Sequence[str]) -> list[str]:
        """Format rows without a gap: all as those without a number, then those with one."""
        every, separator, first = self.every, self.separator, rows.first
        if not every or not shown:
            return list(shown)
        lines = [separator + text if text else "" for text in shown]
        for at in range(-first % every, len(lines), every):
            lines[at] = f"{first + at}{separator}{shown[at]}"
        place = f"{first}:{rows.column}" if rows.column > 1 else f"{first}"
        lines[0] = f"{place}{separator}{shown[0]}"
        return lines


def starts_after_gap(rows: Sequence[Row] | Run) -> list[bool]:
    """Return for each row if text is missing between the row before and this one."""
    if isinstance(rows, Run):
        return [False] * len(rows)
    found: list[bool] = []
    before: Row | None = None
    for row in rows:
        found.append(before is not None and (row.number != before.number + 1 or before.is_cut or row.column > 1))
        before = row
    return found


def count_fitting(
    lines: Sequence[str], max_tokens: int, estimate: Callable[[str], int], *, at_end: bool = False
) -> int:
    """Return how many of the first lines, or with `at_end` of the last, cost no more than `max_tokens`."""

    def exceeds(count: int) -> bool:
        part = lines[len(lines) - count :] if at_end else lines[:count]
        return estimate("\n".join(part)) > max_tokens

    return first_true(1, len(lines), exceeds) - 1 if exceeds(len(lines)) else len(lines)
