"""Arrow files, streams and Feather files: the schema, the number of rows and some of them.

A file is a list of messages: the schema, dictionaries, and batches of rows. A message is a table of FlatBuffers, whose
fields are found by offsets, followed by buffers of values. Batches before the selected rows are skipped by their
headers, and of buffers without compression only the selected values are read.
"""

from __future__ import annotations

import datetime
import decimal
import struct
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, BinaryIO

from eyespan.decoders import tabular, unpacking
from eyespan.decoders.files import read_up_to
from eyespan.errors import Unreadable

KIND = "arrow"
SIGNATURE = b"ARROW1"
MAX_MESSAGE_BYTES = 16 * 1024 * 1024
MAX_BUFFER_BYTES = 64 * 1024 * 1024
"""The limit for one buffer with compression, and for all values of one column that are read at once."""
MAX_BATCHES = 100_000
MAX_FIELDS = 10_000
MAX_DEPTH = 12
MAX_ITEMS = 50
"""The items of a list that a sample shows."""
MAX_VALUE_BYTES = 4096
"""The bytes of one text that are read for a sample; its cell shows less."""
SLICE_ROWS = 16
"""The rows that are read at once: the values of each column together, whole if the rows were selected."""
_SCHEMA, _DICTIONARY, _BATCH = 1, 2, 3
_CODECS = {0: "lz4", 1: "zstd"}
_UNITS = ("s", "ms", "us", "ns")


def decode(file: BinaryIO, params: Mapping[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    """Decode the schema and `count` rows from row `first` on. Raises: Unreadable."""
    try:
        return _decode(file, params)
    except (IndexError, struct.error, KeyError, TypeError, ValueError, OverflowError, ArithmeticError, RecursionError):
        raise _unreadable("not an Arrow file, or a corrupt one") from None


def _decode(file: BinaryIO, params: Mapping[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    start = read_up_to(file, 8)
    if start.startswith(b"FEA1"):
        raise _unreadable("Feather version 1, which is not read; pandas.read_feather opens it")
    is_file = start.startswith(SIGNATURE)
    scan = _Scan(file, 8 if is_file else 0, is_selected=params.get("windowed", False))
    first, count = params["first"], params["count"]
    rows, problem = scan.rows(first, count)
    columns = [(field.name, field.type_name()) for field in scan.fields]
    total = scan.total
    codec = f", compression {_CODECS.get(scan.codec, '?')}" if scan.codec is not None else ""
    shown_total = "more rows than were counted" if total is None else tabular.plural(total, "row")
    lines = [
        f"Arrow {'file' if is_file else 'stream'}, {tabular.plural(len(columns), 'column')}, {shown_total}, "
        f"{tabular.plural(scan.batches, 'batch').replace('batchs', 'batches')}{codec}",
        f"columns: {tabular.columns_line(columns)}",
    ]
    if problem:
        lines.append(problem)
    if count and not (problem and not rows.row_count):
        lines += ["", tabular.rows_line(first, rows.row_count, total), rows.text()]
    return tabular.described(lines, columns, rows, first=first, total=total, problem=problem)


def _unreadable(reason: str) -> Unreadable:
    return Unreadable("", kind=KIND, reason=reason)


# --- FlatBuffers ------------------------------------------------------------------------------------------------------


class _Table:
    """A table of FlatBuffers; fields are named by their number in the schema."""

    def __init__(self, data: bytes, at: int) -> None:
        self._data, self._at = data, at
        self._fields = at - struct.unpack_from("<i", data, at)[0]
        if self._fields < 0:
            raise ValueError("a table outside its message")
        self._size = struct.unpack_from("<H", data, self._fields)[0]

    @classmethod
    def root(cls, data: bytes) -> _Table:
        return cls(data, struct.unpack_from("<I", data)[0])

    def _place(self, number: int) -> int:
        at = 4 + 2 * number
        offset = struct.unpack_from("<H", self._data, self._fields + at)[0] if at + 2 <= self._size else 0
        return self._at + offset if offset else 0

    def number(self, number: int, form: str, default: int = 0) -> int:
        place = self._place(number)
        return int(struct.unpack_from("<" + form, self._data, place)[0]) if place else default

    def _target(self, number: int) -> int:
        place = self._place(number)
        return place + struct.unpack_from("<I", self._data, place)[0] if place else 0

    def table(self, number: int) -> _Table | None:
        target = self._target(number)
        return _Table(self._data, target) if target else None

    def text(self, number: int) -> str:
        target = self._target(number)
        if not target:
            return ""
        size = struct.unpack_from("<I", self._data, target)[0]
        return self._data[target + 4 : target + 4 + size].decode("utf-8", "replace")

    def tables(self, number: int) -> list[_Table]:
        target = self._target(number)
        if not target:
            return []
        count = struct.unpack_from("<I", self._data, target)[0]
        if count > MAX_FIELDS:
            raise ValueError("too many entries")
        places = [target + 4 + 4 * index for index in range(count)]
        return [_Table(self._data, place + struct.unpack_from("<I", self._data, place)[0]) for place in places]

    def pairs(self, number: int) -> list[tuple[int, int]]:
        """Return a list of structures of two numbers of 64 bits."""
        target = self._target(number)
        if not target:
            return []
        count = struct.unpack_from("<I", self._data, target)[0]
        if 16 * count > len(self._data):
            raise ValueError("a list longer than its message")
        values = struct.unpack_from(f"<{2 * count}q", self._data, target + 4)
        return list(zip(values[::2], values[1::2], strict=True))

    def numbers(self, number: int) -> list[int]:
        """Return a list of numbers of 64 bits."""
        target = self._target(number)
        if not target:
            return []
        count = struct.unpack_from("<I", self._data, target)[0]
        if 8 * count > len(self._data):
            raise ValueError("a list longer than its message")
        return list(struct.unpack_from(f"<{count}q", self._data, target + 4))


# --- the schema -------------------------------------------------------------------------------------------------------

_SIMPLE = {
    1: "null",
    4: "binary",
    5: "string",
    6: "bool",
    12: "list",
    13: "struct",
    14: "union",
    17: "map",
    19: "large binary",
    20: "large string",
    21: "large list",
    22: "run-end encoded",
    23: "binary view",
    24: "string view",
    25: "list view",
    26: "large list view",
}
_FLOATS = ("float16", "float32", "float64")


class _Field:
    """One column, or a part of one."""

    def __init__(self, table: _Table, depth: int = 0) -> None:
        if depth > MAX_DEPTH:
            raise ValueError("columns nested too deeply")
        self.name = table.text(0)
        self.kind = table.number(2, "B")
        self.facts = table.table(3)
        encoding = table.table(4)
        self.dictionary = encoding.number(0, "q") if encoding is not None else None
        self.index_form = "i"
        if encoding is not None and (index := encoding.table(1)) is not None:
            self.index_form = _int_form(index)
        self.children = [_Field(child, depth + 1) for child in table.tables(5)]

    def fact(self, number: int, form: str, default: int = 0) -> int:
        return self.facts.number(number, form, default) if self.facts is not None else default

    def type_name(self) -> str:
        name = self._plain_name()
        return f"dictionary of {name}" if self.dictionary is not None else name

    def _plain_name(self) -> str:
        if self.kind == 2:
            return f"{'' if self.fact(1, 'B') else 'u'}int{self.fact(0, 'i')}"
        if self.kind == 3:
            return _FLOATS[self.fact(0, "h") % 3]
        if self.kind == 7:
            return f"decimal({self.fact(0, 'i')}, {self.fact(1, 'i')})"
        if self.kind == 8:
            return "date"
        if self.kind in (9, 18):
            return f"{'time' if self.kind == 9 else 'duration'}({_UNITS[self.fact(0, 'h', 1) % 4]})"
        if self.kind == 10:
            zone = self.facts.text(1) if self.facts is not None else ""
            return f"timestamp({_UNITS[self.fact(0, 'h') % 4]}{f', {zone}' if zone else ''})"
        if self.kind == 11:
            return "interval"
        if self.kind in (15, 16):
            inner = "bytes" if self.kind == 15 else ", ".join([child.type_name() for child in self.children])
            return f"{self.fact(0, 'i')} {inner}"
        name = _SIMPLE.get(self.kind, "unknown")
        if self.kind in (12, 21, 25, 26) and self.children:
            return f"{name} of {self.children[0].type_name()}"
        if self.kind in (13, 14):
            return f"{name}<{', '.join([f'{child.name} {child.type_name()}' for child in self.children[:20]])}>"
        return name


def _int_form(table: _Table) -> str:
    form = {8: "b", 16: "h", 32: "i", 64: "q"}[table.number(0, "i")]
    return form if table.number(1, "B") else form.upper()


# --- values -----------------------------------------------------------------------------------------------------------


class _Buffer:
    """The values of one column in a batch, in the file or decompressed."""

    def __init__(self, file: BinaryIO, offset: int, size: int, codec: int | None) -> None:
        if offset < 0 or size < 0:
            raise ValueError("a buffer outside its batch")
        self._file, self._offset, self.size = file, offset, size
        self._codec = codec if size else None
        self._data: bytes | None = None

    def take(self, at: int, size: int) -> bytes:
        """Return some bytes of the buffer."""
        if size > MAX_BUFFER_BYTES or at < 0 or size < 0:
            raise ValueError("more values than can be read")
        if self._codec is None:
            self._file.seek(self._offset + at)
            return read_up_to(self._file, max(0, min(size, self.size - at)))
        if self._data is None:
            self._data = self._decompressed()
        return self._data[at : at + size]

    def _decompressed(self) -> bytes:
        if self.size > MAX_BUFFER_BYTES:
            raise ValueError("a buffer is too large")
        self._file.seek(self._offset)
        (length,) = struct.unpack("<q", read_up_to(self._file, 8))
        packed = read_up_to(self._file, self.size - 8)
        if length == -1:
            return packed
        if not 0 <= length <= MAX_BUFFER_BYTES:
            raise ValueError("a buffer is too large")
        if self._codec == 0:
            return unpacking.lz4_frame(packed, length)
        if self._codec != 1:
            raise ValueError("an unknown compression")
        return unpacking.zstd(packed, MAX_BUFFER_BYTES)


class _Limits:
    """The limits of values: those of a sample, or as much of a selected row as a text can hold."""

    def __init__(self, is_selected: bool) -> None:
        self.items = tabular.MAX_TEXT_CHARS if is_selected else MAX_ITEMS
        self.value_bytes = 4 * tabular.MAX_TEXT_CHARS if is_selected else MAX_VALUE_BYTES

    def value(self, buffer: _Buffer, at: int, size: int, is_text: bool) -> Any:
        """Return a text or bytes."""
        data = buffer.take(at, min(size, self.value_bytes))
        if size > self.value_bytes:
            shown = data.decode("utf-8", "replace")[: tabular.MAX_CELL_CHARS - 40] if is_text else data[:16].hex()
            return tabular.CutText(f"{shown}... ({size} bytes)")
        return data.decode("utf-8", "replace") if is_text else data

    def items_of(self, read: Callable[[int, int], list[Any]], at: int, size: int) -> list[Any]:
        """Return the items of a list."""
        if size < 0:
            raise ValueError("a list of a negative length")
        shown = read(at, min(size, self.items))
        return shown if size <= self.items else [*shown, f"... {size - self.items} more"]


class _Batch:
    """One batch of rows: its columns are decoded in the order of their buffers."""

    def __init__(
        self, file: BinaryIO, table: _Table, body: int, dictionaries: Mapping[int, _Dictionary], limits: _Limits
    ) -> None:
        self._limits = limits
        self.length = table.number(0, "q")
        compression = table.table(3)
        self.codec = compression.number(0, "b") if compression is not None else None
        self._nodes = iter(table.pairs(1))
        self._buffers = iter(table.pairs(2))
        self._variadic = iter(table.numbers(4))
        self._file, self._body, self._dictionaries = file, body, dictionaries

    def _buffer(self) -> _Buffer:
        offset, size = next(self._buffers, (0, 0))
        return _Buffer(self._file, self._body + offset, size, self.codec)

    def column(self, field: _Field) -> Callable[[int, int], list[Any]]:
        """Return a function that returns `count` values of a column from a place on."""
        _length, nulls = next(self._nodes, (0, 0))
        if field.dictionary is not None:
            return self._dictionary_column(field, nulls)
        kind = field.kind
        if kind == 1:
            return lambda at, count: [None] * count
        if kind in (14, 22):
            if kind == 14:
                self._buffer()
                if field.fact(0, "h"):
                    self._buffer()
            for child in field.children:
                self.column(child)
            return lambda at, count: ["(not decoded)"] * count
        valid = self._buffer()
        read = self._values(field, kind)

        def values(at: int, count: int) -> list[Any]:
            found = read(at, count)
            if not nulls or not valid.size:
                return found
            bits = _bits(valid, at, count)
            return [value if bit else None for value, bit in zip(found, bits, strict=False)]

        return values

    def _dictionary_column(self, field: _Field, nulls: int) -> Callable[[int, int], list[Any]]:
        valid, indexes = self._buffer(), self._buffer()
        known = self._dictionaries.get(field.dictionary or 0)
        read = _numbers(indexes, field.index_form)

        def values(at: int, count: int) -> list[Any]:
            bits = _bits(valid, at, count) if nulls and valid.size else [True] * count
            looked_up = known.value if known is not None else (lambda index: f"#{index}")
            return [looked_up(index) if bit else None for index, bit in zip(read(at, count), bits, strict=False)]

        return values

    def _values(self, field: _Field, kind: int) -> Callable[[int, int], list[Any]]:
        if kind == 2:
            if field.facts is None:
                raise ValueError("a number without a size")
            return _numbers(self._buffer(), _int_form(field.facts))
        if kind == 3:
            return _numbers(self._buffer(), "efd"[field.fact(0, "h") % 3])
        if kind == 6:
            bools = self._buffer()
            return lambda at, count: _bits(bools, at, count)
        if kind == 7:
            return _decimals(self._buffer(), field.fact(2, "i", 128) // 8, field.fact(1, "i"))
        if kind in (8, 9, 10, 18):
            return self._times(field, kind)
        if kind in (4, 5, 19, 20):
            return self._texts("q" if kind in (19, 20) else "i", is_text=kind in (5, 20))
        if kind in (23, 24):
            return self._views(is_text=kind == 24)
        if kind == 15:
            return _fixed(self._buffer(), field.fact(0, "i"))
        if kind in (12, 17, 21):
            return self._lists(field, "q" if kind == 21 else "i")
        if kind == 16:
            child, size = self.column(field.children[0]), field.fact(0, "i")
            return lambda at, count: [self._limits.items_of(child, (at + i) * size, size) for i in range(count)]
        if kind == 13:
            return self._structs(field)
        if kind in (25, 26):
            form = "q" if kind == 26 else "i"
            starts, sizes = _numbers(self._buffer(), form), _numbers(self._buffer(), form)
            inner = self.column(field.children[0])
            return lambda at, count: [
                self._limits.items_of(inner, start, size)
                for start, size in zip(starts(at, count), sizes(at, count), strict=True)
            ]
        if kind == 11:
            size = {0: 4, 1: 8, 2: 16}.get(field.fact(0, "h"), 16)
            return _fixed(self._buffer(), size)
        raise ValueError("an unknown type")

    def _times(self, field: _Field, kind: int) -> Callable[[int, int], list[Any]]:
        if kind == 8:
            is_days = field.fact(0, "h", 1) == 0
            read, per_second = _numbers(self._buffer(), "i" if is_days else "q"), 1 if is_days else 1000
            scale = 86400 if is_days else 1
            return lambda at, count: [_date(value * scale, per_second)[:10] for value in read(at, count)]
        unit = field.fact(0, "h", 0 if kind == 10 else 1) % 4
        if kind == 9:
            read = _numbers(self._buffer(), "i" if field.fact(1, "i", 32) == 32 else "q")
            return lambda at, count: [_date(value, 1000**unit)[11:] for value in read(at, count)]
        read = _numbers(self._buffer(), "q")
        if kind == 18:
            return lambda at, count: [f"{value} {_UNITS[unit]}" for value in read(at, count)]
        has_zone = field.facts is not None and bool(field.facts.text(1))
        return lambda at, count: [_date(value, 1000**unit) + ("Z" if has_zone else "") for value in read(at, count)]

    def _texts(self, form: str, is_text: bool) -> Callable[[int, int], list[Any]]:
        places, data = _numbers(self._buffer(), form), self._buffer()

        def values(at: int, count: int) -> list[Any]:
            edges = places(at, count + 1)
            return [self._limits.value(data, start, end - start, is_text) for start, end in pairwise(edges)]

        return values

    def _views(self, is_text: bool) -> Callable[[int, int], list[Any]]:
        views = self._buffer()
        buffers = [self._buffer() for _ in range(min(next(self._variadic, 0), MAX_FIELDS))]

        def values(at: int, count: int) -> list[Any]:
            data = views.take(16 * at, 16 * count)
            made: list[Any] = []
            for place in range(0, 16 * count, 16):
                size, _, number, offset = struct.unpack_from("<iiii", data, place)
                if size <= 12:
                    short = data[place + 4 : place + 4 + max(0, size)]
                    made.append(short.decode("utf-8", "replace") if is_text else short)
                else:
                    made.append(self._limits.value(buffers[number], offset, size, is_text))
            return made

        return values

    def _lists(self, field: _Field, form: str) -> Callable[[int, int], list[Any]]:
        places = _numbers(self._buffer(), form)
        child = self.column(field.children[0])
        is_map = field.kind == 17

        def values(at: int, count: int) -> list[Any]:
            edges = places(at, count + 1)
            lists = [self._limits.items_of(child, start, end - start) for start, end in pairwise(edges)]
            return [_as_map(entries) for entries in lists] if is_map else lists

        return values

    def _structs(self, field: _Field) -> Callable[[int, int], list[Any]]:
        children = [(child.name, self.column(child)) for child in field.children]

        def values(at: int, count: int) -> list[Any]:
            columns = [(name, read(at, count)) for name, read in children]
            return [{name: column[i] for name, column in columns} for i in range(count)]

        return values


class _Dictionary:
    """The values that the numbers of a column stand for, each read once."""

    def __init__(self) -> None:
        self._parts: list[tuple[int, Callable[[int, int], list[Any]]]] = []
        self._known: dict[int, Any] = {}

    def add(self, length: int, read: Callable[[int, int], list[Any]], is_delta: bool) -> None:
        if not is_delta:
            self._parts, self._known = [], {}
        self._parts.append((length, read))

    def value(self, index: int) -> Any:
        if index not in self._known:
            at = index
            for length, read in self._parts:
                if at < length:
                    self._known[index] = read(at, 1)[0] if at >= 0 else None
                    break
                at -= length
            else:
                raise ValueError("a value that is in no dictionary")
        return self._known[index]


def _numbers(buffer: _Buffer, form: str) -> Callable[[int, int], list[Any]]:
    size = struct.calcsize("<" + form)

    def values(at: int, count: int) -> list[Any]:
        data = buffer.take(size * at, size * count)
        return list(struct.unpack_from(f"<{count}{form}", data)) if data or count else []

    return values


def _bits(buffer: _Buffer, at: int, count: int) -> list[bool]:
    data = buffer.take(at // 8, (at + count + 7) // 8 - at // 8)
    return [bool(data[(at % 8 + i) // 8] >> ((at + i) % 8) & 1) for i in range(count)]


def _fixed(buffer: _Buffer, size: int) -> Callable[[int, int], list[Any]]:
    if size < 0:
        raise ValueError("values of a negative size")

    def values(at: int, count: int) -> list[Any]:
        data = buffer.take(size * at, size * count)
        return [data[size * i : size * (i + 1)] for i in range(count)]

    return values


def _decimals(buffer: _Buffer, size: int, scale: int) -> Callable[[int, int], list[Any]]:
    read = _fixed(buffer, size)

    def values(at: int, count: int) -> list[Any]:
        numbers = [int.from_bytes(data, "little", signed=True) for data in read(at, count)]
        if abs(scale) > 100:
            return numbers
        with decimal.localcontext() as context:
            context.prec = 100
            return [format(decimal.Decimal(number).scaleb(-scale), "f") for number in numbers]

    return values


def _as_map(entries: list[Any]) -> Any:
    if all(isinstance(entry, dict) and len(entry) == 2 for entry in entries):
        return {str(next(iter(entry.values()))): list(entry.values())[1] for entry in entries}
    return entries


_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def _date(value: int, per_second: int) -> str:
    """Return a time since 1970 in ISO form, with all digits of its fraction that are not zero."""
    seconds, rest = divmod(value, per_second)
    try:
        text = (_EPOCH + datetime.timedelta(seconds=seconds)).isoformat()[:19]
    except OverflowError:
        return f"{value} (not a time)"
    fraction = f"{rest:0{len(str(per_second)) - 1}d}".rstrip("0") if rest else ""
    return f"{text}.{fraction}" if fraction else text


# --- messages ---------------------------------------------------------------------------------------------------------


class _Scan:
    """The messages of a file: the schema first, then dictionaries and batches."""

    def __init__(self, file: BinaryIO, start: int, *, is_selected: bool) -> None:
        self._file, self._at = file, start
        self._is_selected, self._limits = is_selected, _Limits(is_selected)
        self.fields: list[_Field] = []
        self.codec: int | None = None
        self.total: int | None = 0
        self.batches = 0
        self._dictionaries: dict[int, _Dictionary] = {}
        self._by_dictionary: dict[int, _Field] = {}

    def rows(self, first: int, count: int) -> tuple[tabular.RowTable, str]:
        """Return the selected rows, and the reason if they cannot be decoded; counts all rows."""
        rows = tabular.RowTable([])
        problem = ""
        total = 0
        for _ in range(MAX_BATCHES):
            found = self._next()
            if found is None:
                break
            kind, header, body = found
            if kind == _SCHEMA:
                if header.number(0, "h"):
                    raise _unreadable("an Arrow file of a machine with another byte order, which is not read")
                self.fields = [_Field(field) for field in header.tables(1)]
                self._note_dictionaries(self.fields)
                rows = tabular.RowTable([field.name for field in self.fields], is_selected=self._is_selected)
            elif kind == _DICTIONARY:
                self._add_dictionary(header, body)
            elif kind == _BATCH:
                batch = _Batch(self._file, header, body, self._dictionaries, self._limits)
                self.batches += 1
                self.codec = batch.codec if batch.codec is not None else self.codec
                if not 0 <= batch.length < 1 << 60:
                    raise ValueError("a batch of a negative length")
                low, high = max(first - 1, total), min(first - 1 + count, total + batch.length)
                if low < high and not problem and not rows.is_full:
                    try:
                        self._add_rows(rows, batch, low - total, high - low)
                    except unpacking.NoCodec as error:
                        problem = f"rows are not shown: {error}"
                total += batch.length
        else:
            self.total = None
            return rows, problem
        if not self.fields:
            raise ValueError("no schema")
        self.total = total
        return rows, problem

    def _add_rows(self, rows: tabular.RowTable, batch: _Batch, at: int, count: int) -> None:
        columns = [batch.column(field) for field in self.fields][: tabular.MAX_COLUMNS]
        for start in range(at, at + count, SLICE_ROWS):
            values = [read(start, min(SLICE_ROWS, at + count - start)) for read in columns]
            for row in zip(*values, strict=False):
                if not rows.add(row):
                    return

    def _note_dictionaries(self, fields: list[_Field]) -> None:
        for field in fields:
            if field.dictionary is not None:
                self._by_dictionary[field.dictionary] = field
            self._note_dictionaries(field.children)

    def _add_dictionary(self, header: _Table, body: int) -> None:
        number, data = header.number(0, "q"), header.table(1)
        field = self._by_dictionary.get(number)
        if field is None or data is None:
            return
        batch = _Batch(self._file, data, body, self._dictionaries, self._limits)
        field.dictionary = None  # the values themselves
        try:
            read = batch.column(field)
        finally:
            field.dictionary = number
        self._dictionaries.setdefault(number, _Dictionary()).add(batch.length, read, bool(header.number(2, "B")))

    def _next(self) -> tuple[int, _Table, int] | None:
        """Return the kind, the header and the place of the body of the next message; None at the end."""
        self._file.seek(self._at)
        start = read_up_to(self._file, 8)
        if start[:4] == b"\xff\xff\xff\xff":
            size, at = struct.unpack_from("<i", start.ljust(8, b"\0"), 4)[0], self._at + 8
        else:  # before version 0.15 there was no marker
            size, at = struct.unpack_from("<i", start.ljust(4, b"\0"))[0], self._at + 4
        if size <= 0:
            return None
        if size > MAX_MESSAGE_BYTES:
            raise ValueError("a message is too large")
        self._file.seek(at)
        data = read_up_to(self._file, size)
        if len(data) < size:
            if self.fields:
                return None  # cut off after sound messages
            raise ValueError("a message is cut off")
        message = _Table.root(data)
        header, length = message.table(2), message.number(3, "q")
        if header is None or length < 0:
            raise ValueError("a message without a header")
        body = at + size
        self._at = body + (length + 7) // 8 * 8
        return message.number(1, "B"), header, body
