"""Lines as a model reads them, at the lowest price: a gutter, then the text exactly as it is in the file.

The gutter is a number or nothing, then a tab. The first line of every piece and each fifth line of the file are
numbered, the others count on; an empty line that is not numbered is an empty line. Whatever follows the first tab is
the line, unaltered. Measured with o200k on files of Python's standard library, over the bare text: 4 %, where a number
on every line takes 15 % and the padded forms of other tools 37 to 49 % (bench/tokens.py).
"""

from __future__ import annotations

from eyespan.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SEPARATORS = {"tab": "\t", "colon": ":", "pipe": "|", "arrow": "→", "blank": " "}
GAP = "..."
EVERY = 5
"""Which lines are numbered: far enough apart to cost little, near enough to count on from."""


@record
class Row:
    """One line, or as much of it as was read."""

    number: int
    column: int
    """The character it starts with."""
    text: str
    """Without its terminator."""
    carriage: bool = False
    """A carriage return stands before its line feed."""
    open: bool = False
    """The line goes on behind the text."""
    closed: bool = True
    """A line feed ends it; False also for the file's last line without one."""


@record
class Style:
    separator: str = "\t"
    every: int = EVERY
    """Each line whose number this divides is numbered; 1: all, 0: none and no gutter."""

    def drawn(self, rows: Sequence[Row], shown: Sequence[str]) -> list[str]:
        """One string for each row: its gutter and `shown`, what stands for its text; before it `...` for a gap."""
        every, mark = self.every, self.separator
        lines: list[str] = []
        following = 0
        for row, text in zip(rows, shown, strict=True):
            number = row.number
            lead = f"{GAP}\n" if following and number != following else ""
            if not every:
                lines.append(f"{lead}{text}")
            elif row.column > 1:
                lines.append(f"{lead}{number}:{row.column}{mark}{text}")
            elif number != following or number % every == 0:
                lines.append(f"{lead}{number}{mark}{text}")
            else:
                lines.append(f"{mark}{text}" if text else "")
            following = number + 1
        return lines


def fitting(lines: Sequence[str], tokens: int, estimate: Callable[[str], int]) -> int:
    """How many of the first lines cost no more than this many tokens."""
    if estimate("\n".join(lines)) <= tokens:
        return len(lines)
    low, high = 0, len(lines)
    while high - low > 1:
        middle = (low + high) // 2
        if estimate("\n".join(lines[:middle])) <= tokens:
            low = middle
        else:
            high = middle
    return low


def fitting_end(lines: Sequence[str], tokens: int, estimate: Callable[[str], int]) -> int:
    """How many of the last lines cost no more than this many tokens."""
    if estimate("\n".join(lines)) <= tokens:
        return len(lines)
    low, high = 0, len(lines)
    while high - low > 1:
        middle = (low + high) // 2
        if estimate("\n".join(lines[len(lines) - middle :])) <= tokens:
            low = middle
        else:
            high = middle
    return low


def fitting_chars(text: str, tokens: int, estimate: Callable[[str], int]) -> int:
    """How many of the first characters cost no more than this many tokens; at least one."""
    if estimate(text) <= tokens:
        return len(text)
    low, high = 1, min(len(text), max(2, tokens * 64))
    while high - low > 1:
        middle = (low + high) // 2
        if estimate(text[:middle]) <= tokens:
            low = middle
        else:
            high = middle
    return low
