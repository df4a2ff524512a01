"""Tables: their schema and some of their rows. CSV here, line by line; SQLite and Parquet in the worker.

Options: `table` (of a database), `rows` ((first, count), from 1; a count of 0 gives the schema alone). Nothing that a
caller says is ever run as SQL.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from eyespan.decoders import tabular
from eyespan.errors import NoMember, ScanLimit, Unreadable
from eyespan.lines.encodings import Transcoder, choose
from eyespan.model import MIB, NotePart

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eyespan.context import CallContext
    from eyespan.lines.encodings import Encoding
    from eyespan.model import Document, Part, ReadRequest, Selection, TableOptions
    from eyespan.opened import Opened
    from eyespan.source import Source

SAMPLE_ROWS = 10
TYPED_ROWS = 1000
"""So many rows are looked at to say what a column holds."""
COUNT_BYTES = 8 * MIB
"""The rows of a larger file are not counted."""
MAX_SCAN_BYTES = 1024 * MIB
MAX_LINE_BYTES = MIB
DELIMITERS = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars"}


def read(opened: Opened, selection: Selection, context: CallContext) -> Document:
    """One note: columns with their types, and rows.

    Facts: `columns` (name, type), `total_rows` (None where counting is not cheap) and `rows_returned` ((first, last) or
    None), for a database `tables` with these of each.

    Raises: Unreadable, Missing, NoMember (no such table), ScanLimit, TimedOut, Cancelled.
    """
    if opened.kind.decoder:
        return _decoded(opened, context)
    parts, facts = _Csv(opened.source, opened.request, context).read()
    return opened.document(parts, facts)


def _window(options: TableOptions) -> tuple[int, int]:
    """Return the first row and the number of rows, within bounds."""
    count = SAMPLE_ROWS if options.count is None else options.count
    return max(1, options.first), max(0, min(count, tabular.MAX_ROWS))


def _decoded(opened: Opened, context: CallContext) -> Document:
    source, options = opened.source, opened.request.options.table
    first, count = _window(options)
    params = {
        "table": options.table,
        "first": first,
        "count": count,
        "windowed": options.count is not None,
    }
    facts, blobs = opened.decode(params, context)
    if facts.get("no_table"):
        suggestions = tuple([str(name) for name in facts.get("near", ())][:10])
        raise NoMember(source.asked, member=str(options.table), suggestions=suggestions, what="table")
    if len(blobs) != 1:
        raise Unreadable(source.asked, kind=opened.kind.name, reason="the decoder returned an invalid response")
    text = blobs[0].decode("utf-8", "replace")
    return opened.document((NotePart(text),), facts)


class _Csv:
    """One pass over one file of separated values."""

    def __init__(self, source: Source, request: ReadRequest, context: CallContext) -> None:
        self._source = source
        self._context = context
        self._first, self._count = _window(request.options.table)
        rule = "bom" if request.encoding == "utf-8" else request.encoding
        self._encoding: Encoding = choose(rule, source.first_bytes, source.read_at)
        if rule == "bom" and self._encoding.name == "utf-8":
            self._encoding = choose("utf-8-sig", source.first_bytes)

    def read(self) -> tuple[tuple[Part, ...], Mapping[str, Any]]:
        delimiter = self._delimiter()
        try:
            return self._table(delimiter)
        except csv.Error as error:
            raise Unreadable(self._source.asked, kind="csv", reason=f"it cannot be taken apart: {error}") from None

    def _table(self, delimiter: str) -> tuple[tuple[Part, ...], Mapping[str, Any]]:
        records = (row for row in csv.reader(self._lines(), delimiter=delimiter) if row)
        head = next(records, None)
        if head is None:
            return (NotePart("CSV without rows"),), {"columns": [], "total_rows": 0, "rows_returned": None}
        has_names = _is_header(head)
        types = [_Type() for _ in head]
        names = head if has_names else [f"column {n}" for n in range(1, len(head) + 1)]
        shown: list[list[str]] = []
        ragged = 0
        row: list[str] | None = None if has_names else head
        number = 0
        last = self._first + self._count - 1
        counted = self._source.size_bytes <= COUNT_BYTES
        ended = False
        while True:
            if row is None:
                row = next(records, None)
                if row is None:
                    ended = True
                    break
            number += 1
            ragged += len(row) != len(head)
            if number <= TYPED_ROWS:
                for one, value in zip(types, row, strict=False):
                    one.see(value)
            if self._first <= number <= last:
                shown.append(row + [""] * (len(head) - len(row)))
            elif not counted and number > max(last, TYPED_ROWS):
                break
            row = None
        total = number if ended else None
        columns = [(name, one.name) for name, one in zip(names, types, strict=True)]
        return self._answer(columns, shown, total, ragged, delimiter, has_names)

    def _answer(
        self,
        columns: list[tuple[str, str]],
        shown: list[list[str]],
        total: int | None,
        ragged: int,
        delimiter: str,
        has_names: bool,
    ) -> tuple[tuple[Part, ...], Mapping[str, Any]]:
        rows = "more rows than were counted" if total is None else tabular.plural(total, "row")
        head = "" if has_names else "; no names in the first row"
        odd = f"; {tabular.plural(ragged, 'row')} with another number of columns" if ragged else ""
        told = f"; {self._encoding.name}" if self._encoding.name != "utf-8" else ""
        size = f"{tabular.plural(len(columns), 'column')}, {rows}"
        lines = [
            f"CSV, {size}, separated by {DELIMITERS[delimiter]}{head}{odd}{told}",
            f"columns: {tabular.columns_line(columns)}",
        ]
        fit = 0
        if self._count:
            text, fit = tabular.table([name for name, _ in columns], shown)
            lines += ["", tabular.rows_line(self._first, fit, total), text if fit else ""]
        extra = {
            "columns": [{"name": name, "type": kind} for name, kind in columns],
            "total_rows": total,
            "rows_returned": [self._first, self._first + fit - 1] if fit else None,
            "delimiter": delimiter,
            "has_names": has_names,
            "encoding": self._encoding.name,
        }
        return (NotePart("\n".join(lines).rstrip("\n")),), extra

    def _delimiter(self) -> str:
        """The separator that cuts the first lines most evenly; a file named so is separated by tabs."""
        sample = Transcoder(self._encoding).feed(self._aligned(self._source.first_bytes[len(self._encoding.bom) :]))
        lines = sample.decode("utf-8", "replace").split("\n")[:50]
        if len(lines) > 1:
            lines.pop()  # it may go on
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

    def _lines(self) -> Iterator[str]:
        transcoder = Transcoder(self._encoding)
        position = len(self._encoding.bom)
        rest = b""
        while True:
            block = self._source.read_fully(position, 256 * 1024)
            position += len(block)
            self._context.advance(position, self._source.size_bytes)
            if position > MAX_SCAN_BYTES:
                raise ScanLimit(self._source.asked, limit_bytes=MAX_SCAN_BYTES)
            *lines, rest = (rest + transcoder.feed(block, final=not block)).split(b"\n")
            for line in lines:
                yield line.decode("utf-8", "replace") + "\n"
            if not block:
                break
            if len(rest) > MAX_LINE_BYTES:
                reason = f"it has a line of more than {MAX_LINE_BYTES} bytes"
                raise Unreadable(self._source.asked, kind="csv", reason=reason)
        if rest:
            yield rest.decode("utf-8", "replace")


_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")


def _is_header(row: list[str]) -> bool:
    """Names are there, are no numbers, and differ."""
    names = [value.strip() for value in row]
    return all(names) and len(set(names)) == len(names) and not any(_NUMBER.fullmatch(name) for name in names)


class _Type:
    """What the values of a column seen so far have in common."""

    _KINDS = (
        ("boolean", re.compile(r"(?:true|false)", re.I)),
        ("integer", re.compile(r"[+-]?(?:0|[1-9]\d{0,17})")),
        ("number", _NUMBER),
        ("date", re.compile(r"\d{4}-\d\d-\d\d")),
        ("timestamp", re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?")),
    )

    def __init__(self) -> None:
        self._possible = list(self._KINDS)
        self._seen = self._empty = self._zeros = False

    def see(self, value: str) -> None:
        value = value.strip()
        if not value:
            self._empty = True
            return
        self._seen = True
        if value[0] == "0" and len(value) > 1 and value.isdigit():
            self._zeros = True  # 007 is a name, whatever it looks like
        if self._possible:
            self._possible = [kind for kind in self._possible if kind[1].fullmatch(value)]

    @property
    def name(self) -> str:
        if not self._seen:
            return "empty"
        kind = self._possible[0][0] if self._possible and not self._zeros else "text"
        return f"{kind} or empty" if self._empty else kind
