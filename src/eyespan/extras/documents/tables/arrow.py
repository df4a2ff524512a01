"""Arrow files and streams: the schema, the number of rows and some of them.

A file is a list of messages: the schema, dictionaries, and batches of rows. A message is a table of FlatBuffers, whose
fields are found by offsets, followed by buffers of values. Batches before the selected rows are skipped by their
headers, and of buffers without compression only the selected values are read. A table with a column of a rare type
(unions, intervals, runs, views of lists) is described without its rows.
"""

from __future__ import annotations

import datetime
import decimal
import struct
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, BinaryIO

from eyespan.decoders.files import read_up_to, unreadable
from eyespan.escape import plural
from eyespan.extras.documents.tables import tabular, unpacking

SIGNATURE = b"ARROW1"
MAX_MESSAGE_BYTES = 16 * 1024 * 1024
MAX_BUFFER_BYTES = 64 * 1024 * 1024
"""The limit for one buffer with compression, and for all values of one column that are read at once."""
MAX_BATCHES = 100_000
MAX_FIELDS = 10_000
MAX_DEPTH = 12
MAX_ITEMS = tabular.MAX_TEXT_CHARS
"""The items of a list that is decoded; a longer one does not fit into an answer."""
SLICE_ROWS = 16
"""The rows that are read at once: the values of each column together."""
_SCHEMA, _DICTIONARY, _BATCH = 1, 2, 3
_CODECS = {0: "lz4", 1: "zstd"}
_UNITS = ("s", "ms", "us", "ns")
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


class _NotShown(Exception):
    """Reports rows that are not decoded; the text is the reason."""


def decode(file: BinaryIO, params: Mapping[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    """Decode the schema and `count` rows from row `first` on. Raises: Unreadable."""
    try:
        return _decode(file, params)
    except (LookupError, TypeError, ValueError, ArithmeticError, RecursionError, struct.error):
        raise unreadable("not an Arrow file, or a corrupt one") from None


def _decode(file: BinaryIO, params: Mapping[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    is_file = read_up_to(file, 8).startswith(SIGNATURE)
    first, count = params["first"], params["count"]
    scan = _Scan(file, 8 if is_file else 0, is_selected=params.get("windowed", False))
    rows, problem = scan.rows(first, count)
    columns = [(field.name, field.type_name) for field in scan.fields]
    lines = [
        f"Arrow {'file' if is_file else 'stream'}, {plural(len(columns), 'column')}, "
        f"{tabular.row_count(scan.total)}, {plural(scan.batches, 'batch', 'batches')}"
        f"{'' if scan.codec is None else f', compression {_CODECS.get(scan.codec)}'}",
        f"columns: {tabular.columns_line(columns)}",
    ]
    if problem:
        lines.append(problem)
    if count and not (problem and not rows.row_count):
        lines += ["", tabular.rows_line(first, rows.row_count, scan.total), rows.text()]
    return tabular.described(lines, columns, rows, first=first, total=scan.total, problem=problem)


# --- FlatBuffers ------------------------------------------------------------------------------------------------------


class _FlatTable:
    """A table of FlatBuffers; fields are named by their number in the schema."""

    def __init__(self, data: bytes, at: int) -> None:
        self._data, self._at = data, at
        self._fields = at - struct.unpack_from("<i", data, at)[0]
        if self._fields < 0:
            raise ValueError("a table outside its message")
        self._size = struct.unpack_from("<H", data, self._fields)[0]

    @classmethod
    def root(cls, data: bytes) -> _FlatTable:
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

    def table(self, number: int) -> _FlatTable | None:
        target = self._target(number)
        return _FlatTable(self._data, target) if target else None

    def _block(self, number: int, item_bytes: int) -> bytes:
        """Return the items of a list, or the letters of a text."""
        target = self._target(number)
        size = item_bytes * struct.unpack_from("<I", self._data, target)[0] if target else 0
        block = self._data[target + 4 : target + 4 + size]
        if len(block) < size:
            raise ValueError("a list longer than its message")
        return block

    def text(self, number: int) -> str:
        return self._block(number, 1).decode("utf-8", "replace")

    def tables(self, number: int) -> list[_FlatTable]:
        target, count = self._target(number), len(self._block(number, 4)) // 4
        if count > MAX_FIELDS:
            raise ValueError("too many entries")
        places = [target + 4 + 4 * index for index in range(count)]
        return [_FlatTable(self._data, place + struct.unpack_from("<I", self._data, place)[0]) for place in places]

    def pairs(self, number: int) -> list[tuple[int, int]]:
        """Return a list of structures of two numbers of 64 bits."""
        return list(struct.iter_unpack("<qq", self._block(number, 16)))

    def numbers(self, number: int) -> list[int]:
        """Return a list of numbers of 64 bits."""
        return [value for (value,) in struct.iter_unpack("<q", self._block(number, 8))]


# --- the schema -------------------------------------------------------------------------------------------------------

_NULL, _BOOL, _STRUCT, _FIXED_LIST, _MAP = 1, 6, 13, 16, 17
_TEXTS = {4: "binary", 5: "string", 19: "large binary", 20: "large string"}
_VIEWS = {23: "binary view", 24: "string view"}
_LISTS = {12: "list", 17: "map", 21: "large list"}
_RARE = {11: "interval", 14: "union", 22: "run-end encoded", 25: "list view", 26: "large list view"}
_NAMES = {_NULL: "null", _BOOL: "bool", _STRUCT: "struct", **_TEXTS, **_VIEWS, **_LISTS, **_RARE}
_LARGE = (19, 20, 21)


class _Field:
    """One column, or a part of one."""

    def __init__(self, table: _FlatTable, by_dictionary: dict[int, _Field], depth: int = 0) -> None:
        if depth > MAX_DEPTH:
            raise ValueError("columns nested too deeply")
        self.name = table.text(0)
        self.kind = table.number(2, "B")
        self.children = [_Field(child, by_dictionary, depth + 1) for child in table.tables(5)]
        self.rare: str = _RARE.get(self.kind, "") or next((child.rare for child in self.children if child.rare), "")
        """The name of a type in it whose values are not read."""
        self.form = ""
        """The form of values of a fixed size; "" for others."""
        self.show: Callable[[Any], Any] | None = None
        """Returns a value of a fixed size as it is shown."""
        self.item_count = 0
        self.type_name = self._type(table.table(3))
        self.dictionary: int | None = None
        encoding = table.table(4)
        if encoding is not None:
            self.dictionary = encoding.number(0, "q")
            by_dictionary[self.dictionary] = self
            self.type_name = f"dictionary of {self.type_name}"
            index = encoding.table(1)
            self.index_form = "i" if index is None else _int_form(index)

    def _type(self, facts: _FlatTable | None) -> str:
        """Return the name of the type, and set how its values are read."""
        kind = self.kind
        if kind in _NAMES:
            inner = ""
            if kind == _STRUCT:
                inner = f"<{', '.join([f'{child.name} {child.type_name}' for child in self.children[:20]])}>"
            elif kind in _LISTS and kind != _MAP:
                inner = f" of {self.children[0].type_name}"
            return f"{_NAMES[kind]}{inner}"
        if facts is None:
            raise ValueError("a type without its facts")
        unit = facts.number(0, "h", 0 if kind == 10 else 1) % 4  # of times
        match kind:
            case 2:
                self.form = _int_form(facts)
                return f"{'' if facts.number(1, 'B') else 'u'}int{facts.number(0, 'i')}"
            case 3:
                precision = facts.number(0, "h") % 3
                self.form = "efd"[precision]
                return ("float16", "float32", "float64")[precision]
            case 7:
                digits, scale = facts.number(0, "i"), facts.number(1, "i")
                self.form = f"{facts.number(2, 'i', 128) // 8}s"
                self.show = lambda data: _decimal(data, scale)
                return f"decimal({digits}, {scale})"
            case 8:
                self.form = "q" if unit else "i"
                self.show = lambda value: _moment(value if unit else value * 86_400_000, 1000)[:10]
                return "date"
            case 9:
                self.form = "i" if facts.number(1, "i", 32) == 32 else "q"
                self.show = lambda value: _moment(value, 1000**unit)[11:]
                return f"time({_UNITS[unit]})"
            case 10:
                self.form, zone = "q", facts.text(1)
                self.show = lambda value: _moment(value, 1000**unit) + ("Z" if zone else "")
                return f"timestamp({_UNITS[unit]}{f', {zone}' if zone else ''})"
            case 15:
                size = facts.number(0, "i")
                self.form = f"{size}s"
                return f"{size} bytes"
            case 16:
                self.item_count = facts.number(0, "i")
                return f"{self.item_count} {self.children[0].type_name}"
            case 18:
                self.form = "q"
                self.show = lambda value: f"{value} {_UNITS[unit]}"
                return f"duration({_UNITS[unit]})"
        raise ValueError("an unknown type")


def _int_form(table: _FlatTable) -> str:
    form = {8: "b", 16: "h", 32: "i", 64: "q"}[table.number(0, "i")]
    return form if table.number(1, "B") else form.upper()


def _decimal(data: bytes, scale: int) -> Any:
    number = int.from_bytes(data, "little", signed=True)
    if abs(scale) > 100:
        return number
    with decimal.localcontext() as context:
        context.prec = 100
        return format(decimal.Decimal(number).scaleb(-scale), "f")


def _moment(value: int, per_second: int) -> str:
    """Return a time since 1970 in ISO form, with all digits of its fraction that are not zero."""
    seconds, rest = divmod(value, per_second)
    try:
        text = (_EPOCH + datetime.timedelta(seconds=seconds)).isoformat()[:19]
    except OverflowError:
        return f"{value} (not a time)"
    fraction = f"{rest:0{len(str(per_second)) - 1}d}".rstrip("0") if rest else ""
    return f"{text}.{fraction}" if fraction else text


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
        """Return some bytes of the buffer. Raises: ValueError, if it has less."""
        if at < 0 or size < 0:
            raise ValueError("a value before its buffer")
        if size > MAX_BUFFER_BYTES:
            raise _NotShown(f"a value has more than {MAX_BUFFER_BYTES >> 20} MiB")
        if self._codec is None:
            self._file.seek(self._offset + at)
            data = read_up_to(self._file, max(0, min(size, self.size - at)))
        else:
            if self._data is None:
                self._data = self._decompressed()
            data = self._data[at : at + size]
        if len(data) < size:
            raise ValueError("a value after the end of its buffer")
        return data

    def numbers(self, form: str, at: int, count: int) -> list[Any]:
        size = struct.calcsize("<" + form)
        return [value for (value,) in struct.iter_unpack("<" + form, self.take(size * at, size * count))]

    def bits(self, at: int, count: int) -> list[bool]:
        data = self.take(at // 8, (at + count + 7) // 8 - at // 8)
        return [bool(data[(at % 8 + i) // 8] >> ((at + i) % 8) & 1) for i in range(count)]

    def _decompressed(self) -> bytes:
        self._file.seek(self._offset)
        (length,) = struct.unpack("<q", read_up_to(self._file, 8))
        if max(self.size, length) > MAX_BUFFER_BYTES:
            raise _NotShown(f"the values of a column have more than {MAX_BUFFER_BYTES >> 20} MiB")
        packed = read_up_to(self._file, self.size - 8)
        if length == -1:
            return packed
        if length < 0:
            raise ValueError("a buffer of a negative size")
        return unpacking.lz4_frame(packed, length) if self._codec == 0 else unpacking.zstd(packed, length)


class _Batch:
    """One batch of rows, whose columns take its buffers in order."""

    def __init__(
        self, file: BinaryIO, table: _FlatTable, body: int, dictionaries: Mapping[int, list[_ArrowColumn]]
    ) -> None:
        self.length = table.number(0, "q")
        if not 0 <= self.length < 1 << 60:
            raise ValueError("a batch of a negative length")
        compression = table.table(3)
        self.codec = compression.number(0, "b") if compression is not None else None
        self.nodes = iter(table.pairs(1))
        self.dictionaries = dictionaries
        self._buffers = iter(table.pairs(2))
        self._view_buffers = iter(table.numbers(4))
        self._file, self._body = file, body

    def buffer(self) -> _Buffer:
        offset, size = next(self._buffers, (0, 0))
        return _Buffer(self._file, self._body + offset, size, self.codec)

    def view_buffers(self) -> list[_Buffer]:
        return [self.buffer() for _ in range(min(next(self._view_buffers, 0), MAX_FIELDS))]


class _ArrowColumn:
    """The values of one field in one batch."""

    def __init__(self, batch: _Batch, field: _Field, *, is_dictionary: bool = False) -> None:
        """Take the buffers of the field; `is_dictionary`: these are the values that its indexes stand for."""
        length, self._nulls = next(batch.nodes, (0, 0))
        self.length = length
        self._field = field
        self._known = None
        kind = field.kind
        if field.dictionary is not None and not is_dictionary:
            self._valid, self._data = batch.buffer(), batch.buffer()
            self._known = batch.dictionaries.get(field.dictionary, [])
            return
        if kind == _NULL:
            return
        self._valid = batch.buffer()
        if kind in _TEXTS or kind in _LISTS:
            self._places = batch.buffer()
        if kind not in (_STRUCT, _FIXED_LIST) and kind not in _LISTS:
            self._data = batch.buffer()
        self._longer = batch.view_buffers() if kind in _VIEWS else []
        self._children = [_ArrowColumn(batch, child) for child in field.children]

    def values(self, at: int, count: int) -> list[Any]:
        """Return some values; None for those that are missing."""
        if count < 0:
            raise ValueError("a list of a negative length")
        if not count:
            return []  # the buffers may be left out then
        if self._field.kind == _NULL and self._known is None:
            return [None] * count
        has_nulls = self._nulls and self._valid.size
        bits = self._valid.bits(at, count) if has_nulls else [True] * count
        if self._known is not None:
            show: Callable[[Any], Any] | None = self._looked_up
            stored = self._data.numbers(self._field.index_form, at, count)
        else:
            show = self._field.show
            stored = self._stored(at, count)
        if show is None:
            return [value if bit else None for value, bit in zip(stored, bits, strict=True)]
        return [show(value) if bit else None for value, bit in zip(stored, bits, strict=True)]

    def _looked_up(self, index: int) -> Any:
        for part in self._known or ():
            if 0 <= index < part.length:
                return part.values(index, 1)[0]
            index -= part.length
        raise ValueError("a value that is in no dictionary")

    def _stored(self, at: int, count: int) -> list[Any]:
        field, kind = self._field, self._field.kind
        if field.form:
            return self._data.numbers(field.form, at, count)
        if kind == _BOOL:
            return self._data.bits(at, count)
        if kind == _STRUCT:
            columns = [child.values(at, count) for child in self._children]
            names = [child.name for child in field.children]
            return [{name: column[i] for name, column in zip(names, columns, strict=True)} for i in range(count)]
        if kind == _FIXED_LIST:
            return [self._items((at + i) * field.item_count, field.item_count) for i in range(count)]
        if kind in _VIEWS:
            return [self._viewed(view) for view in self._data.numbers("16s", at, count)]
        edges = list(pairwise(self._places.numbers("q" if kind in _LARGE else "i", at, count + 1)))
        if kind in _TEXTS:
            return [self._decoded_text(self._data.take(start, end - start)) for start, end in edges]
        lists = [self._items(start, end - start) for start, end in edges]
        return [_as_map(entries) for entries in lists] if kind == _MAP else lists

    def _items(self, at: int, size: int) -> list[Any]:
        if size > MAX_ITEMS:
            raise _NotShown(f"a list of {size} items is too long")
        return self._children[0].values(at, size)

    def _decoded_text(self, data: bytes) -> Any:
        return data.decode("utf-8", "replace") if "string" in _NAMES[self._field.kind] else data

    def _viewed(self, view: bytes) -> Any:
        """Return a text that stands in its view if it is short, else in another buffer."""
        size, _, number, offset = struct.unpack("<iiii", view)
        return self._decoded_text(self._longer[number].take(offset, size) if size > 12 else view[4 : 4 + max(0, size)])


def _as_map(entries: list[Any]) -> Any:
    if all(isinstance(entry, dict) and len(entry) == 2 for entry in entries):
        return {str(next(iter(entry.values()))): list(entry.values())[1] for entry in entries}
    return entries


# --- messages ---------------------------------------------------------------------------------------------------------


class _Scan:
    """The messages of a file: the schema first, then dictionaries and batches."""

    def __init__(self, file: BinaryIO, start: int, *, is_selected: bool) -> None:
        self._file, self._at = file, start
        self._is_selected = is_selected
        self._is_cut_off = False
        self.fields: list[_Field] = []
        self.codec: int | None = None
        self.total: int | None = None
        self.batches = 0
        self._dictionaries: dict[int, list[_ArrowColumn]] = {}
        self._by_dictionary: dict[int, _Field] = {}

    def rows(self, first: int, count: int) -> tuple[tabular.RowTable, str]:
        """Return the selected rows, and the reason if they cannot be decoded; counts all rows."""
        rows = tabular.RowTable([])
        problem = ""
        total = 0
        for _ in range(MAX_BATCHES):
            message = self._next()
            if message is None:
                if not self.fields:
                    raise ValueError("no schema")
                self.total = total
                if self._is_cut_off:
                    problem = problem or "the file is cut off; the rows after these are missing"
                break
            kind, header, body = message
            try:
                if kind == _SCHEMA:
                    self.fields = [_Field(field, self._by_dictionary) for field in header.tables(1)]
                    rows = tabular.RowTable([field.name for field in self.fields], is_selected=self._is_selected)
                    if header.number(0, "h"):
                        raise _NotShown("they have the byte order of another machine")
                    if rare := next((field.rare for field in self.fields if field.rare), ""):
                        raise _NotShown(f"a column of type {rare} is not decoded")
                elif kind == _DICTIONARY and not problem:
                    self._add_dictionary(header, body)
                elif kind == _BATCH:
                    batch = _Batch(self._file, header, body, self._dictionaries)
                    self.batches += 1
                    self.codec = self.codec if batch.codec is None else batch.codec
                    low, high = max(first - 1, total), min(first - 1 + count, total + batch.length)
                    at, total = low - total, total + batch.length
                    if low < high and not problem and not rows.is_full:
                        self._add_rows(rows, batch, at, high - low)
            except (_NotShown, unpacking.NoUnpacker) as error:
                problem = f"rows are not shown: {error}"
        return rows, problem

    def _add_rows(self, rows: tabular.RowTable, batch: _Batch, at: int, count: int) -> None:
        columns = [_ArrowColumn(batch, field) for field in self.fields][: tabular.MAX_COLUMNS]
        for start in range(at, at + count, SLICE_ROWS):
            values = [column.values(start, min(SLICE_ROWS, at + count - start)) for column in columns]
            for row in zip(*values, strict=True):
                if not rows.add(row):
                    return

    def _add_dictionary(self, header: _FlatTable, body: int) -> None:
        number, data = header.number(0, "q"), header.table(1)
        field = self._by_dictionary.get(number)
        if field is not None and data is not None:
            batch = _Batch(self._file, data, body, self._dictionaries)
            column = _ArrowColumn(batch, field, is_dictionary=True)
            is_delta = header.number(2, "B")
            self._dictionaries[number] = [*(self._dictionaries.get(number, ()) if is_delta else ()), column]

    def _next(self) -> tuple[int, _FlatTable, int] | None:
        """Return the kind, the header and the place of the body of the next message; None at the end."""
        self._file.seek(self._at)
        marker, size = struct.unpack("<Ii", read_up_to(self._file, 8).ljust(8, b"\0"))
        if not marker or not size:
            return None
        if marker != 0xFFFFFFFF:
            raise unreadable("it is from before Arrow 0.15, whose messages are not read")
        if not 0 < size <= MAX_MESSAGE_BYTES:
            raise ValueError("a message is too large")
        data = read_up_to(self._file, size)
        if len(data) < size:
            if not self.fields:
                raise ValueError("a message is cut off")
            self._is_cut_off = True
            return None
        message = _FlatTable.root(data)
        header, length = message.table(2), message.number(3, "q")
        if header is None or length < 0:
            raise ValueError("a message without a header")
        body = self._at + 8 + size
        self._at = body + (length + 7) // 8 * 8
        return message.number(1, "B"), header, body
