"""Read tables: their columns and some of their rows. CSV is read here by lines, SQLite and Parquet in the worker.

No argument of a caller is ever run as SQL.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

from eyespan.context import CallContext
from eyespan.errors import NoMember, ScanLimit, Unreadable
from eyespan.escape import plural
from eyespan.extras.documents.tables import tabular
from eyespan.lines.encodings import UTF8, Encoding, Transcoder, choose
from eyespan.lines.whole import decoded
from eyespan.model import MIB, Document, NotePart, Selection, TableOptions
from eyespan.source import Source

if TYPE_CHECKING:
    from eyespan.opened import Opened


SAMPLE_ROWS = 10
TYPED_ROWS = 1000
"""The number of rows that the types of columns are derived from."""
COUNT_BYTES = 8 * MIB
"""The rows of larger files are not counted."""
MAX_SCAN_BYTES = 1024 * MIB
BLOCK_BYTES = 32 * 1024
"""The deadline is checked after each block; a block may hold as many rows as bytes."""
MAX_LINE_BYTES = MIB
"""The limit for a line, and for the lines of one row: a quoted value may go over several."""
MAX_DESCRIBED_COLUMNS = 20_000
"""Columns beyond these are counted, but have neither name nor type in the facts, and decide nothing."""
FREE_CELLS = 1000
CELL_BYTES = 160
"""The memory of a cell of a wide row: itself, in a list, and in a set while the header is checked."""
COLUMN_BYTES = 500
"""The memory of a column that is described: its name, its type and its facts."""
FREE_LINE_BYTES = 64 * 1024
LINE_FACTOR = 8
"""The memory of a byte of a long line: decoded, and as a value that grows; both may take four bytes a character."""
DELIMITERS = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars"}


def read(opened: Opened, selection: Selection, context: CallContext) -> Document:
    """Return one note: columns with their types, and rows.

    Facts: `columns` (name, type), `total_rows` (None if counting is expensive), `rows_returned` ((first, last) or
    None), `cut_cells`, `left_out_columns` and `problem` if something is missing; for a database `tables`, with these
    facts for each.

    Raises: Unreadable, Missing, NoMember (no such table), ScanLimit, TimedOut, Cancelled.
    """
    if opened.kind.decoder:
        return _decoded_document(opened, context)
    note, facts = _Csv(opened, context).read()
    return opened.document((note,), facts)


def _window(options: TableOptions) -> tuple[int, int]:
    """Return the first row and the number of rows, within bounds."""
    count = SAMPLE_ROWS if options.count is None else options.count
    return max(1, options.first), max(0, min(count, tabular.MAX_ROWS))


def _decoded_document(opened: Opened, context: CallContext) -> Document:
    source, options = opened.source, opened.request.options.table
    first, count = _window(options)
    params = {"table": options.table, "first": first, "count": count, "windowed": options.count is not None}
    facts, blobs = opened.decode(params, context)
    if facts.get("no_table"):
        suggestions = tuple([str(name) for name in facts.get("suggestions", ())][:10])
        raise NoMember(source.asked, member=str(options.table), suggestions=suggestions, what="table")
    if len(blobs) != 1:
        raise Unreadable(source.asked, kind=opened.kind.name, reason="the decoder returned an invalid response")
    text = blobs[0].decode("utf-8", "replace")
    return opened.document((NotePart(text),), facts)


@dataclass(frozen=True, slots=True)
class _CsvTable:
    """A part of a CSV file."""

    columns: list[tuple[str, str]]
    """The name and the type of each, up to `MAX_DESCRIBED_COLUMNS`."""
    total_columns: int
    rows: tabular.RowTable
    total_rows: int | None
    """None: not counted."""
    ragged_rows: int
    """The number of rows with another number of columns than the first one."""
    delimiter: str
    has_names: bool
    """The first row holds the names of the columns."""


class _Csv:
    """One pass over one file of separated values."""

    def __init__(self, opened: Opened, context: CallContext) -> None:
        self._source: Source = opened.source
        source, request = opened.source, opened.request
        self._context = context
        self._first, self._count = _window(request.options.table)
        self._is_selected = request.options.table.count is not None
        self._row_bytes = 0
        """The bytes of lines since the end of the last row."""
        self._charged_bytes = self._line_bytes = 0
        """The memory of the present row."""
        self._left_out_cells = 0
        """The cells of the present row that were counted and not split."""
        rule = "bom" if request.encoding == "utf-8" else request.encoding
        self._encoding: Encoding = choose(rule, source.first_bytes, source.read_at, opened.ask_encoding(context))
        if rule == "bom" and self._encoding.name == "utf-8":
            self._encoding = choose("utf-8-sig", source.first_bytes)
        if not self._encoding.has_lines:
            self._source = decoded(source, self._encoding, context)[0]
            self._encoding = UTF8

    def read(self) -> tuple[NotePart, dict[str, Any]]:
        """Return the note and the facts of the table. Raises: Unreadable, ScanLimit, TimedOut, Cancelled."""
        delimiter = self._delimiter()
        try:
            table = self._table(delimiter)
        except csv.Error as error:
            raise _invalid_csv(self._source, str(error)) from None
        if table is None:
            return NotePart("CSV without rows"), {"columns": [], "total_rows": 0, "rows_returned": None}
        return self._answer(table)

    def _table(self, delimiter: str) -> _CsvTable | None:
        """Return the columns and the selected rows; None if there are no rows."""
        records = self._records(delimiter)
        first = next(records, None)
        if first is None:
            return None
        first_row, width = first
        has_names = _is_header(first_row)
        if not has_names:
            records = chain((first,), records)
        described = first_row[:MAX_DESCRIBED_COLUMNS]
        names = described if has_names else [f"column {n}" for n in range(1, len(described) + 1)]
        self._context.charge(COLUMN_BYTES * len(described))
        types = [_ColumnType() for _ in described]
        rows = tabular.RowTable(names, width, is_selected=self._is_selected)
        ragged = number = 0
        last = self._first + self._count - 1
        is_counted = self._source.size_bytes <= COUNT_BYTES
        is_ended = True
        for number, (row, row_width) in enumerate(records, 1):
            ragged += row_width != width
            if number <= TYPED_ROWS:
                for column, value in zip(types, row, strict=False):
                    column.add(value)
            if self._first <= number <= last:
                rows.add(row + [""] * (min(width, tabular.MAX_COLUMNS) - len(row)))
            elif not is_counted and number > max(last, TYPED_ROWS):
                is_ended = False
                break
        return _CsvTable(
            columns=[(name, column.name) for name, column in zip(names, types, strict=True)],
            total_columns=width,
            rows=rows,
            total_rows=number if is_ended else None,
            ragged_rows=ragged,
            delimiter=delimiter,
            has_names=has_names,
        )

    def _records(self, delimiter: str) -> Iterator[tuple[list[str], int]]:
        """Yield each row, with its number of cells. A wide row has only its first `MAX_DESCRIBED_COLUMNS` cells."""
        for row in csv.reader(self._csv_lines(delimiter.encode()), delimiter=delimiter):
            self._row_bytes = 0
            if row:
                yield row, len(row) + self._left_out_cells

    def _answer(self, table: _CsvTable) -> tuple[NotePart, dict[str, Any]]:
        columns, total, encoding = table.columns, table.total_rows, self._encoding.name
        header = f"CSV, {plural(table.total_columns, 'column')}, {tabular.row_count(total)}, separated by "
        header += DELIMITERS[table.delimiter]
        if not table.has_names:
            header += "; no names in the first row"
        if table.ragged_rows:
            header += f"; {plural(table.ragged_rows, 'row')} with another number of columns"
        if encoding != "utf-8":
            header += f"; {encoding}"
        lines = [header, f"columns: {tabular.columns_line(columns, table.total_columns)}"]
        fitting = table.rows.row_count
        if self._count:
            lines += ["", tabular.rows_line(self._first, fitting, total), table.rows.text()]
        facts: dict[str, Any] = {
            "columns": [{"name": name, "type": kind} for name, kind in columns],
            "total_rows": total,
            **table.rows.facts(self._first),
            "delimiter": table.delimiter,
            "has_names": table.has_names,
            "encoding": encoding,
        }
        if table.total_columns > len(columns):
            facts["total_columns"] = table.total_columns
        return NotePart("\n".join(lines).rstrip("\n")), facts

    def _delimiter(self) -> str:
        """Return the separator that splits the first lines most evenly; tabs for `.tsv` if none does."""
        sample = Transcoder(self._encoding).feed(self._aligned(self._source.first_bytes[len(self._encoding.bom) :]))
        self._has_only_cr = b"\r" in sample and b"\n" not in sample  # as programs of the old Mac OS write them
        if self._has_only_cr:
            sample = sample.replace(b"\r", b"\n")
        lines = sample.decode("utf-8", "replace").split("\n")[:50]
        if len(lines) > 1:
            lines.pop()  # it may be cut
        best, best_score = ",", (0.0, 0)
        for delimiter in DELIMITERS:
            try:
                widths = Counter(len(row) for row in csv.reader(lines, delimiter=delimiter) if row)
            except csv.Error:
                continue
            if widths:
                width, times = widths.most_common(1)[0]
                score = (times / widths.total() if width > 1 else 0.0, width)
                if score > best_score:
                    best, best_score = delimiter, score
        if best_score[0] == 0 and self._source.name.lower().endswith((".tsv", ".tab")):
            return "\t"
        return best

    def _aligned(self, data: bytes) -> bytes:
        return data[: len(data) - len(data) % self._encoding.unit_bytes]

    def _csv_lines(self, delimiter: bytes) -> Iterator[str]:
        """Yield the lines; each is paid for before it is split."""
        transcoder = Transcoder(self._encoding)
        position = len(self._encoding.bom)
        rest = b""
        while True:
            block = self._source.read_fully(position, BLOCK_BYTES)
            position += len(block)
            self._context.advance(position, self._source.size_bytes)
            if position > MAX_SCAN_BYTES:
                raise ScanLimit(self._source.asked, limit_bytes=MAX_SCAN_BYTES)
            text = transcoder.feed(block, final=not block)
            *lines, rest = (rest + (text.replace(b"\r", b"\n") if self._has_only_cr else text)).split(b"\n")
            for line in lines:
                is_first = not self._row_bytes
                self._row_bytes += len(line)
                if self._row_bytes > MAX_LINE_BYTES and len(line) < self._row_bytes:
                    raise _invalid_csv(self._source, f"a row exceeds {MAX_LINE_BYTES} bytes")
                yield self._line(line, delimiter, is_first) + "\n"
            if not block:
                break
            if len(rest) > MAX_LINE_BYTES:
                raise _invalid_csv(self._source, f"a line exceeds {MAX_LINE_BYTES} bytes")
        if rest:
            yield self._line(rest, delimiter, not self._row_bytes)

    def _line(self, line: bytes, delimiter: bytes, is_first: bool) -> str:
        """Return a line as text, after paying for its cells. A wide row of one line without quotes is cut."""
        if is_first:
            self._left_out_cells = 0
            self._line_bytes = 0
        cells = line.count(delimiter) + 1
        if cells > MAX_DESCRIBED_COLUMNS and is_first and b'"' not in line and b"\r" not in line[:-1]:
            rest = line.split(delimiter, MAX_DESCRIBED_COLUMNS)[-1]
            line = line[: -len(rest) - 1]
            self._left_out_cells = cells - MAX_DESCRIBED_COLUMNS
            cells = MAX_DESCRIBED_COLUMNS
        if cells > FREE_CELLS or len(line) > FREE_LINE_BYTES:
            self._line_bytes += CELL_BYTES * cells + LINE_FACTOR * len(line)
            if self._line_bytes > self._charged_bytes:  # the memory of a row serves for the next
                more, self._charged_bytes = self._line_bytes - self._charged_bytes, self._line_bytes
                self._context.charge(more)
        return line.decode("utf-8", "replace")


_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")


def _invalid_csv(source: Source, reason: str) -> Unreadable:
    return Unreadable(source.asked, kind="csv", reason=f"invalid CSV: {reason}")


def _is_header(row: list[str]) -> bool:
    """Return True if the values of a row can be names: none is empty or a number, and all differ."""
    names = [value.strip() for value in row]
    return all(names) and len(set(names)) == len(names) and not any(_NUMBER.fullmatch(name) for name in names)


class _ColumnType:
    """The type that all values of a column have in common."""

    _KINDS = (
        ("boolean", re.compile(r"(?:true|false)", re.I)),
        ("integer", re.compile(r"[+-]?(?:0|[1-9]\d{0,17})")),
        ("number", _NUMBER),
        ("date", re.compile(r"\d{4}-\d\d-\d\d")),
        ("timestamp", re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?")),
    )

    __slots__ = ("_has_empty", "_has_leading_zeros", "_has_values", "_possible")

    def __init__(self) -> None:
        self._possible: tuple[tuple[str, re.Pattern[str]], ...] = self._KINDS
        self._has_values = self._has_empty = self._has_leading_zeros = False

    def add(self, value: str) -> None:
        """Take a value into account."""
        value = value.strip()
        if not value:
            self._has_empty = True
            return
        self._has_values = True
        if value[0] == "0" and len(value) > 1 and value.isdigit():
            self._has_leading_zeros = True  # 007 is a name
        if self._possible:
            self._possible = tuple([kind for kind in self._possible if kind[1].fullmatch(value)])

    @property
    def name(self) -> str:
        """Return the name of the type."""
        if not self._has_values:
            return "empty"
        kind = self._possible[0][0] if self._possible and not self._has_leading_zeros else "text"
        return f"{kind} or empty" if self._has_empty else kind
