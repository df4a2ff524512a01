"""Ranges of a text that are wanted, and the rows of it that were read. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence

from eyespan import _native
from eyespan.dialects.native.gutter import Row, Run, starts_after_gap
from eyespan.model import CharRange, Lines, TextPart
from eyespan.selectors import Range


def as_selector_range(wanted: CharRange) -> Range:
    """Return the range as a selector writes it: whole lines where it starts at the first character."""
    if wanted.max_chars is not None and wanted.last == wanted.first:
        return wanted
    if wanted.column > 1:
        return CharRange(wanted.first, wanted.column, wanted.last)
    return Lines(wanted.first, None if wanted.last is None else wanted.last - wanted.first + 1)


def rows_of(part: TextPart) -> Run:
    """Return the lines of a text part, without their terminators."""
    if not part.line_count:
        return Run(part.first_line, b"", 0)
    data = bytes(part.data)
    is_open = not data.endswith(b"\n")
    count = _native.count(data) + is_open
    return Run(part.first_line, data, count, column=part.column, is_cut=part.cut_short and is_open)


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


def lacks_newline(rows: Sequence[Row] | Run) -> bool:
    """Return True if the last row is the end of the file and no line feed ends it."""
    if not rows:
        return False
    last = rows if isinstance(rows, Run) else rows[-1]
    return not last.is_cut and not last.has_newline


def runs(rows: Sequence[Row] | Run) -> list[CharRange]:
    """Return one range for each run of rows without a gap."""
    if isinstance(rows, Run):
        return [CharRange(rows.first, rows.column, rows.first + rows.count - 1)] if rows.count else []
    return [CharRange(run[0].number, run[0].column, run[-1].number) for run in _split(rows)]


def _split(rows: Sequence[Row]) -> list[Sequence[Row]]:
    """Return the rows in runs without a gap."""
    if not rows:
        return []
    starts = [at for at, is_after_gap in enumerate(starts_after_gap(rows)) if is_after_gap or not at]
    return [rows[start:end] for start, end in zip(starts, [*starts[1:], len(rows)], strict=True)]


def extent(rows: Sequence[Row] | Run) -> str:
    """Return the lines shown, with the character where a line is shown in part: `1-12`, `1:2001-1:4000`, `1-5,9`."""
    if isinstance(rows, Run):
        if rows.is_cut or not rows.count:
            return extent(list(rows))
        start = f"{rows.first}:{rows.column}" if rows.column > 1 else f"{rows.first}"
        return start if rows.count == 1 and rows.column == 1 else f"{start}-{rows.first + rows.count - 1}"
    parts = []
    for run in _split(rows):
        first, last = run[0], run[-1]
        start = f"{first.number}:{first.column}" if first.column > 1 else f"{first.number}"
        end = f"{last.number}"
        if last.is_cut:
            end += f":{last.column + len(last.text) - 1}"
        parts.append(start if start == end else f"{start}-{end}")
    return ",".join(parts)
