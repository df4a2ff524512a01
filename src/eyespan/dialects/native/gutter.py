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
    from collections.abc import Callable, Sequence

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


@record
class Style:
    """The look of the gutter."""

    separator: str = "\t"
    every: int = EVERY
    """Each line whose number this divides is numbered; 1: all, 0: none and no gutter."""

    def format(self, rows: Sequence[Row], shown: Sequence[str]) -> list[str]:
        """Return one string for each row: its gutter and the text shown for it."""
        every, separator = self.every, self.separator
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


def starts_after_gap(rows: Sequence[Row]) -> list[bool]:
    """Return for each row if text is missing between the row before and this one."""
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
