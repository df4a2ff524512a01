"""Tables as text: a line about the columns, then rows in Markdown, each on one line.

Used by readers and by decoders in the worker.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eyespan.escape import escaped

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MAX_CELL_CHARS = 200
MAX_COLUMNS = 200
"""Columns after these are only counted."""
MAX_TEXT_CHARS = 400_000
MAX_ROWS = 1000
"""The limit for one answer."""


def cell(value: Any) -> str:
    """Return a value on one line. A long value is cut, with its length after the cut."""
    if value is None:
        return "NULL"
    if isinstance(value, (bytes, bytearray, memoryview)):
        start = bytes(value[:16])
        return f"x'{start.hex()}{'...' if len(value) > 16 else ''}' ({len(value)} bytes)"
    text = value if isinstance(value, str) else str(value)
    cut = f"... ({len(text)} chars)" if len(text) > MAX_CELL_CHARS else ""
    text = text[:MAX_CELL_CHARS]
    if not text.isprintable():
        # Control characters are escaped; blanks of other scripts are harmless.
        text = "".join([c if c.isprintable() or (c.isspace() and c not in _BREAKS) else _escaped(c) for c in text])
    return text.replace("|", "\\|") + cut


_BREAKS = "\n\r\t\v\f\x1c\x1d\x1e\x1f\x85\u2028\u2029"
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def _escaped(character: str) -> str:
    return _SHORT.get(character) or escaped(character)


class RowTable:
    """Rows below the names of their columns, as text. Cells are cut when they are added, so memory stays bounded."""

    def __init__(self, names: Sequence[str], column_count: int) -> None:
        """`column_count` is the number of all columns, `names` has at least those that are shown."""
        shown = names[:MAX_COLUMNS]
        self._more = column_count - len(shown)
        header = [cell(name) for name in shown] + ([f"({self._more} more columns)"] if self._more else [])
        self._lines = [f"| {' | '.join(header)} |", "|" + " --- |" * len(header)]
        self._chars = sum(map(len, self._lines))
        self._is_full = False

    def add(self, row: Sequence[Any]) -> bool:
        """Add a row; return False if it does not fit. The first row always fits."""
        if self._is_full:
            return False
        cells = [cell(value) for value in row[:MAX_COLUMNS]]
        line = f"| {' | '.join(cells)}{' | ...' if self._more else ''} |"
        self._chars += len(line)
        self._is_full = self._chars > MAX_TEXT_CHARS and len(self._lines) > 2
        if not self._is_full:
            self._lines.append(line)
        return not self._is_full

    @property
    def row_count(self) -> int:
        """The number of rows that were added."""
        return len(self._lines) - 2

    def text(self) -> str:
        """Return the table."""
        return "\n".join(self._lines)


def table(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> tuple[str, int]:
    """Return rows below the names of their columns, and the number of rows that fit."""
    made = RowTable(names, len(names))
    for row in rows:
        if not made.add(row):
            break
    return made.text(), made.row_count


def columns_line(columns: Sequence[tuple[str, str]], column_count: int | None = None) -> str:
    """Return names and types of columns in one line; `column_count` is their number if `columns` are only the first."""
    shown = [f"{cell(name)} {kind}".strip() for name, kind in columns[:MAX_COLUMNS]]
    more = (len(columns) if column_count is None else column_count) - len(shown)
    return ", ".join(shown) + (f", and {more} more" if more else "")


def rows_line(first: int, count: int, total: int | None, table: str = "") -> str:
    """Return a line with the range of rows that are shown, the total, and the piece that selects the next rows."""
    of = "" if total is None else f" of {total}"
    if count <= 0:
        return f"no rows from row {first} on{of}" if first > 1 else "no rows"
    shown = f"row {first}{of}" if count == 1 else f"rows {first}-{first + count - 1}{of}"
    after = first + count
    if total is None or after > total:
        return shown
    return f"{shown}; the next with :{f'{table} ' if table else ''}rows {after}-{min(total, after + MAX_ROWS - 1)}"


def described(
    lines: Sequence[str], columns: Sequence[tuple[str, str]], first: int, fit: int, total: int | None
) -> tuple[dict[str, Any], list[bytes]]:
    """Return the answer of a decoder of tables: facts about columns and rows, and the lines as its text."""
    facts = {
        "columns": [{"name": name[:200], "type": kind[:200]} for name, kind in columns[:MAX_COLUMNS]],
        "total_rows": total,
        "rows_returned": [first, first + fit - 1] if fit else None,
    }
    return facts, ["\n".join(lines).rstrip("\n").encode("utf-8", "replace")]


def plural(count: int, noun: str) -> str:
    """Return a count with its noun."""
    return f"{count} {noun}{'' if count == 1 else 's'}"
