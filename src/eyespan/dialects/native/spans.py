"""Pieces of a text that are wanted, and rows of it that were read. Pure."""

from __future__ import annotations

from eyespan.dialects.native.gutter import Row
from eyespan.model import Lines, TextPart
from eyespan.record import record
from eyespan.selectors import Chars

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from eyespan.selectors import Range


@record
class Span:
    """A stretch of lines that is wanted, from a character on; `last=None` is the end of the file."""

    first: int
    column: int = 1
    last: int | None = None
    max_chars: int | None = None
    """All that is wanted of it, for the surroundings of a place in a long line."""

    def range(self) -> Range:
        if self.column > 1:
            return Chars(self.first, self.column, self.last)
        return Lines(self.first, None if self.last is None else self.last - self.first + 1)


def rows_of(part: TextPart) -> list[Row]:
    """The lines of a piece of text, terminators taken off and remembered."""
    if not part.line_count:
        return []
    lines = part.data.decode("utf-8", "replace").split("\n")
    last = lines.pop()
    rows = []
    number, column = part.first_line, part.column
    for line in lines:
        carriage = line.endswith("\r")
        rows.append(Row(number, column, line[:-1] if carriage else line, carriage))
        number, column = number + 1, 1
    if last or not lines:
        rows.append(Row(number, column, last, False, part.cut_short, False))
    return rows


def merged(spans: Sequence[Span]) -> list[Span]:
    """The same text in file order, each piece of it once: what overlaps or touches is one span."""
    found: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.first, span.column)):
        before = found[-1] if found else None
        if (
            before is None
            or before.max_chars is not None
            or (before.last is not None and not _touches(before.last, span))
        ):
            found.append(span)
        elif before.last is not None and (span.last is None or span.last > before.last):
            found[-1] = Span(before.first, before.column, span.last)
    return found


def _touches(last: int, span: Span) -> bool:
    return span.first <= last or (span.first == last + 1 and span.column == 1 and span.max_chars is None)


def behind(row: Row) -> tuple[int, int]:
    """The line and character that come after a row."""
    return (row.number, row.column + len(row.text)) if row.open else (row.number + 1, 1)


def stretches(rows: Sequence[Row]) -> list[tuple[int, int, int]]:
    """First line, its first character, and last line of each run of consecutive rows."""
    found: list[list[int]] = []
    for row in rows:
        if found and found[-1][2] == row.number - 1:
            found[-1][2] = row.number
        else:
            found.append([row.number, row.column, row.number])
    return [(first, column, last) for first, column, last in found]


def extent(rows: Sequence[Row]) -> str:
    """The lines that are shown, with the character where one is shown in part: `1-12`, `1:2001-1:4000`, `1-5,9`."""
    said = []
    for first, column, last in stretches(rows):
        start = f"{first}:{column}" if column > 1 else f"{first}"
        end = f"{last}"
        if rows[-1].number == last and rows[-1].open:
            end += f":{rows[-1].column + len(rows[-1].text) - 1}"
        said.append(start if start == end else f"{start}-{end}")
    return ",".join(said)
