"""The gutter: lines as a model reads them, with the text exactly as it is in the file.

The gutter is a number and a tab, flush left. Everything after the first tab is the line, unaltered. With `every=5` only
the first line of every piece and each fifth line of the file are numbered, the others count on; an empty line that is
not numbered is an empty line. No row starts with `>`, the sign of the tool's own lines. Measured with o200k on files of
Python's standard library, over the bare text: a number on every line takes 15 %, on every fifth 4 %, the padded forms
of other tools 37 to 49 % (bench/tokens.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, overload

from eyespan import _native
from eyespan.search import first_true

SEPARATORS = {"tab": "\t", "colon": ":", "pipe": "|", "arrow": "→", "blank": " "}
EVERY = 1
"""The distance of numbered lines: every line, because edits that name lines need exact numbers."""


@dataclass(frozen=True, slots=True)
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
    """Rows without a gap between them, held as the bytes of their lines. A `Row` is made when it is asked for.

    That is seldom: the rows of most answers are hashed and formatted together. Only the first row can start within its
    line, and only the last can be cut or lack a line feed.
    """

    __slots__ = ("_has_cr", "_text", "_texts", "column", "count", "data", "first", "has_crlf", "has_newline", "is_cut")

    def __init__(self, first: int, data: bytes, count: int, *, column: int = 1, is_cut: bool = False) -> None:
        self.first = first
        """The number of the first row."""
        self.data = data
        """The lines with their terminators, in UTF-8."""
        self.count = count
        """The number of rows."""
        self.column = column
        """The character that the first row starts with."""
        self.is_cut = is_cut
        """The last line continues after its text."""
        self.has_newline = data.endswith(b"\n")
        """A line feed ends the last line."""
        self.has_crlf = b"\r" in data and b"\r\n" in data  # one byte is found ten times as fast as two
        """A carriage return precedes the line feed of any row."""
        self._text: str | None = None
        self._texts: Sequence[str] | None = None
        self._has_cr: Sequence[bool] = ()

    @property
    def text(self) -> str:
        """Return the lines with their terminators."""
        if self._text is None:
            self._text = self.data.decode("utf-8", "replace")
        return self._text

    @property
    def texts(self) -> Sequence[str]:
        """Return the rows without their terminators."""
        if self._texts is None:
            self._split()
        assert self._texts is not None
        return self._texts

    @property
    def has_cr(self) -> Sequence[bool]:
        """Return for each row if a carriage return precedes its line feed; nothing if that is so for none."""
        if self._texts is None and self.has_crlf:
            self._split()
        return self._has_cr

    def _split(self) -> None:
        lines = self.text.split("\n") if self.count else []
        if self.has_newline and lines:
            lines.pop()
        if self.has_crlf:
            has_cr = [line.endswith("\r") for line in lines]
            has_cr[-1] = has_cr[-1] and self.has_newline
            lines = [line[:-1] if is_marked else line for line, is_marked in zip(lines, has_cr, strict=True)]
            self._has_cr = has_cr
        self._texts = lines

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[Row]:
        for at in range(self.count):
            yield self[at]

    if TYPE_CHECKING:

        @overload
        def __getitem__(self, at: int) -> Row: ...
        @overload
        def __getitem__(self, at: slice) -> Run: ...

    def __getitem__(self, at: int | slice) -> Row | Run:
        count = self.count
        if isinstance(at, slice):
            start, stop, _ = at.indices(count)
            if stop <= start:
                return Run(self.first + start, b"", 0, column=1 if start else self.column)
            from_byte = _native.nth(self.data, start) if start else 0
            to_byte = _native.nth(self.data, stop) if stop < count else len(self.data)
            return Run(
                self.first + start,
                self.data[from_byte:to_byte],
                stop - start,
                column=1 if start else self.column,
                is_cut=self.is_cut and stop == count,
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


@dataclass(frozen=True, slots=True)
class Style:
    """The look of the gutter."""

    separator: str = "\t"
    every: int = EVERY
    """Each line whose number this divides is numbered; 1: all, 0: none and no gutter."""

    def format(self, rows: Sequence[Row] | Run, shown: Sequence[str] | None = None) -> list[str]:
        """Return one string for each row: its gutter and the text shown for it; None: its own."""
        every, separator = self.every, self.separator
        if isinstance(rows, Run):
            return self._format_run(rows, rows.texts if shown is None else shown)
        if shown is None:
            shown = [row.text for row in rows]
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
