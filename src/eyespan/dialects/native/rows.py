"""Rows: lines of a text as they were read, their place in it, and the gutter that shows them.

The gutter is a number and a tab, flush left. Everything after the first tab is the line, unaltered. With `every=5` only
the first line of every piece and each fifth line of the file are numbered, the others count on; an empty line that is
not numbered is an empty line. No row starts with `>`, the sign of the tool's own lines. Measured with o200k on files of
Python's standard library, over the bare text: a number on every line takes 15 %, on every fifth 4 %, the padded forms
of other tools 37 to 49 % (bench/tokens.py). Pure functions.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from zlib import crc32

from eyespan.model import CharRange, Lines, TextPart
from eyespan.selectors import Range

EVERY = 1
"""The distance of numbered lines: every line, because edits that name lines need exact numbers."""


class Row(NamedTuple):
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

    @property
    def is_whole(self) -> bool:
        """Return True if the row is a line from its first to its last character."""
        return self.column == 1 and not self.is_cut


def lines_of(part: TextPart) -> list[str]:
    """Return the lines of a text part without their line feeds."""
    lines = bytes(part.data).decode("utf-8", "replace").split("\n") if part.line_count else []
    return lines[:-1] if lines and not lines[-1] and len(lines) > 1 else lines


def rows_of(part: TextPart) -> list[Row]:
    """Return the rows of a text part."""
    lines = lines_of(part)
    rows = [Row(number, 1, line) for number, line in enumerate(lines, part.first_line)]
    if b"\r" in part.data:
        rows = [row._replace(text=row.text[:-1], has_cr=True) if row.text.endswith("\r") else row for row in rows]
    if rows and not bytes(part.data[-1:]).endswith(b"\n"):
        rows[-1] = Row(rows[-1].number, 1, lines[-1], False, part.cut_short, False)
    if rows and part.column > 1:
        rows[0] = rows[0]._replace(column=part.column)
    return rows


# --- places ----------------------------------------------------------------------------------------------------------


def as_selector_range(wanted: CharRange) -> Range:
    """Return the range as a selector writes it: whole lines where it starts at the first character."""
    if wanted.max_chars is not None and wanted.last == wanted.first:
        return wanted
    if wanted.column > 1:
        return CharRange(wanted.first, wanted.column, wanted.last)
    return Lines(wanted.first, None if wanted.last is None else wanted.last - wanted.first + 1)


def merged(ranges: Sequence[CharRange]) -> list[CharRange]:
    """Return the same text in file order, each piece once: ranges that overlap or touch become one."""
    found: list[CharRange] = []
    for one in sorted(ranges, key=lambda one: (one.first, one.column)):
        before = found[-1] if found else None
        if (
            before is None
            or before.max_chars is not None
            or (before.last is not None and not _touches(before.last, one))
        ):
            found.append(one)
        elif before.last is not None and (one.last is None or one.last > before.last):
            found[-1] = CharRange(before.first, before.column, one.last)
    return found


def _touches(last: int, one: CharRange) -> bool:
    return one.first <= last or (one.first == last + 1 and one.column == 1 and one.max_chars is None)


def place_after(row: Row) -> tuple[int, int]:
    """Return the line and character that follow a row."""
    return (row.number, row.column + len(row.text)) if row.is_cut else (row.number + 1, 1)


def starts_after_gap(rows: Sequence[Row]) -> list[bool]:
    """Return for each row if text is missing between the row before and this one."""
    found = [False] * min(1, len(rows))
    for before, row in itertools.pairwise(rows):
        found.append(row.number != before.number + 1 or before.is_cut or row.column > 1)
    return found


def split_runs(rows: Sequence[Row]) -> list[Sequence[Row]]:
    """Return the rows in runs without a gap."""
    starts = [at for at, is_after_gap in enumerate(starts_after_gap(rows)) if is_after_gap or not at]
    return [rows[start:end] for start, end in zip(starts, [*starts[1:], len(rows)], strict=True)]


def ranges_of(runs: Sequence[Sequence[Row]]) -> list[CharRange]:
    """Return one range for each run of rows."""
    return [CharRange(run[0].number, run[0].column, run[-1].number) for run in runs]


def extent(runs: Sequence[Sequence[Row]]) -> str:
    """Return the lines of runs, with the character where a line is shown in part: `1-12`, `1:2001-1:4000`, `1-5,9`."""
    parts = []
    for run in runs:
        first, last = run[0], run[-1]
        start = f"{first.number}:{first.column}" if first.column > 1 else f"{first.number}"
        end = f"{last.number}:{last.column + len(last.text) - 1}" if last.is_cut else f"{last.number}"
        parts.append(start if start == end else f"{start}-{end}")
    return ",".join(parts)


# --- the gutter ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Style:
    """The look of the gutter."""

    every: int = EVERY
    """Each line whose number this divides is numbered; 1: all."""
    has_anchors: bool = False
    """Whole lines have their anchor after the number."""

    def format(self, rows: Sequence[Row], texts: Sequence[str]) -> list[str]:
        """Return one string for each row: its gutter and the text shown for it."""
        if self.every == 1:
            return [f"{self.number(row, text)}\t{text}" for row, text in zip(rows, texts, strict=True)]
        lines: list[str] = []
        for row, text, is_after_gap in zip(rows, texts, starts_after_gap(rows), strict=True):
            if row.column > 1:
                lines.append(f"{row.number}:{row.column}\t{text}")
            elif not lines or is_after_gap or row.number % self.every == 0:
                lines.append(f"{row.number}\t{text}")
            else:
                lines.append(f"\t{text}" if text else "")
        return lines

    def number(self, row: Row, text: str) -> str:
        """Return the number of a row, with the character it starts with or its anchor."""
        if row.column > 1:
            return f"{row.number}:{row.column}"
        return f"{row.number}:{anchor(text)}" if self.has_anchors and row.is_whole else str(row.number)


def anchor(text: str) -> str:
    """Return three characters that tell a line from others at its place, such as `a3f`: a letter, two of base 36."""
    value = crc32(text.encode("utf-8", "surrogatepass"))
    return _LETTERS[value % 26] + _BASE_36[value // 26 % 36] + _BASE_36[value // 936 % 36]


_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_BASE_36 = f"0123456789{_LETTERS}"


def count_fitting(
    lines: Sequence[str], max_tokens: int, estimate: Callable[[str], int], *, at_end: bool = False
) -> int:
    """Return how many of the first lines, or with `at_end` of the last, cost no more than `max_tokens`."""

    def exceeds(count: int) -> bool:
        part = lines[len(lines) - count :] if at_end else lines[:count]
        return estimate("\n".join(part)) > max_tokens

    return bisect_left(range(1, len(lines)), True, key=exceeds) if exceeds(len(lines)) else len(lines)


def shared(needs: Sequence[int], room: int) -> list[int]:
    """Return the share of each: all it needs where that is little, and an equal part of the rest otherwise."""
    shares = [0] * len(needs)
    for done, at in enumerate(sorted(range(len(needs)), key=lambda at: needs[at])):
        shares[at] = max(1, min(needs[at], room // (len(needs) - done)))
        room -= shares[at]
    return shares
