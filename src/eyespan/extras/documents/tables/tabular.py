"""Tables as text: a line about the columns, then rows in Markdown, each on one line.

Used by readers and by decoders in the worker.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from eyespan.escape import escaped, plural

MAX_CELL_CHARS = 200
"""The limit for a cell of a sample. Cells of rows that were selected share the limit of the text."""
MAX_BLOB_BYTES = 16
MAX_COLUMNS = 200
"""Columns after these are only counted."""
MAX_TEXT_CHARS = 400_000
MAX_ROWS = 10_000
"""The limits for one answer."""
NEXT_ROWS = 1000
"""The rows that a line about others offers."""


def cell(value: Any, max_chars: int = MAX_CELL_CHARS) -> str:
    """Return a value on one line. A long value is cut, with its length after the cut."""
    if value is None:
        return "NULL"
    if isinstance(value, (bytes, bytearray, memoryview)):
        start = bytes(value[:MAX_BLOB_BYTES])
        return f"x'{start.hex()}{'...' if len(value) > MAX_BLOB_BYTES else ''}' ({len(value)} bytes)"
    text = value if isinstance(value, str) else str(value)
    cut = ""
    if len(text) > max_chars:
        text, cut = text[:max_chars], f"... ({len(text)} chars)"
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

    def __init__(self, names: Sequence[str], column_count: int | None = None, *, is_selected: bool = False) -> None:
        """`column_count` is the number of all columns, if `names` has only those that are shown.

        `is_selected`: the rows were requested, so their cells are whole as far as the first row always fits.
        """
        shown = names[:MAX_COLUMNS]
        self._more = (len(names) if column_count is None else column_count) - len(shown)
        self._cell_chars = max(MAX_CELL_CHARS, MAX_TEXT_CHARS // max(1, len(shown))) if is_selected else MAX_CELL_CHARS
        header = [cell(name) for name in shown] + ([f"({self._more} more columns)"] if self._more else [])
        self._lines = [f"| {' | '.join(header)} |", "|" + " --- |" * len(header)]
        self._chars = sum(map(len, self._lines))
        self._cut_cells = 0
        self.is_full = False
        """The last row did not fit."""

    def add(self, row: Sequence[Any]) -> bool:
        """Add a row; return False if it does not fit. The first row always fits."""
        if self.is_full:
            return False
        shown = row[:MAX_COLUMNS]
        line = f"| {' | '.join([cell(value, self._cell_chars) for value in shown])}{' | ...' if self._more else ''} |"
        self._chars += len(line)
        self.is_full = self._chars > MAX_TEXT_CHARS and len(self._lines) > 2
        if not self.is_full:
            self._lines.append(line)
            self._cut_cells += sum([self._is_cut(value) for value in shown])
        return not self.is_full

    def _is_cut(self, value: Any) -> bool:
        if isinstance(value, (bytes, bytearray, memoryview)):
            return len(value) > MAX_BLOB_BYTES
        if value is None or isinstance(value, (int, float)):
            return False
        return len(value if isinstance(value, str) else str(value)) > self._cell_chars

    @property
    def row_count(self) -> int:
        """The number of rows that were added."""
        return len(self._lines) - 2

    def facts(self, first: int) -> dict[str, Any]:
        """Return the rows that are shown, `first` on, and how many cells are cut and columns left out, if any."""
        count = self.row_count
        facts: dict[str, Any] = {"rows_returned": [first, first + count - 1] if count else None}
        if self._cut_cells:
            facts["cut_cells"] = self._cut_cells
        if self._more:
            facts["left_out_columns"] = self._more
        return facts

    def text(self) -> str:
        """Return the table; "" if it has no rows."""
        return "\n".join(self._lines) if self.row_count else ""


def table(
    names: Sequence[str], rows: Iterable[Sequence[Any]], column_count: int | None = None, *, is_selected: bool = False
) -> RowTable:
    """Return the rows that fit below the names of their columns: see `RowTable`."""
    made = RowTable(names, column_count, is_selected=is_selected)
    for row in rows:
        if not made.add(row):
            break
    return made


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
    return f"{shown}; the next with :{f'{table} ' if table else ''}rows {after}-{min(total, after + NEXT_ROWS - 1)}"


def described(
    lines: Sequence[str],
    columns: Sequence[tuple[str, str]],
    rows: RowTable,
    *,
    first: int,
    total: int | None,
    problem: str = "",
) -> tuple[dict[str, Any], list[bytes]]:
    """Return the answer of a decoder of tables: facts about columns and rows, and the lines as its text.

    `problem` is the reason why rows are missing.
    """
    facts = {
        "columns": [{"name": name[:200], "type": kind[:200]} for name, kind in columns[:MAX_COLUMNS]],
        "total_rows": total,
        **rows.facts(first),
    }
    if problem:
        facts["problem"] = problem
    return facts, ["\n".join(lines).rstrip("\n").encode("utf-8", "replace")]


def row_count(total: int | None) -> str:
    """Return the number of all rows in words; None: they were not all counted."""
    return "more rows than were counted" if total is None else plural(total, "row")
