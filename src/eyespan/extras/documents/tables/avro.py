"""Avro container files: the schema, the number of rows and some of them.

The file holds its own schema as JSON. Rows are in blocks with a count, so the total is known without decoding them.
"""

from __future__ import annotations

import bz2
import json
import lzma
import struct
import zlib
from collections.abc import Mapping
from typing import Any, BinaryIO

from eyespan.decoders.files import read_up_to, unreadable
from eyespan.escape import plural
from eyespan.extras.documents.tables import tabular, unpacking

SIGNATURE = b"Obj\x01"
MAX_HEADER_BYTES = 16 * 1024 * 1024
MAX_BLOCK_BYTES = 64 * 1024 * 1024
MAX_DEPTH = 60
MAX_BLOCKS_COUNTED = 100_000


def decode(file: BinaryIO, params: Mapping[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    """Decode the schema and `count` rows from row `first` on. Raises: Unreadable."""
    try:
        return _decode(file, params)
    except (LookupError, TypeError, ValueError, OverflowError, OSError, struct.error, zlib.error, lzma.LZMAError):
        raise unreadable("not an Avro file, or a corrupt one") from None


def _decode(file: BinaryIO, params: Mapping[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    header = _Bytes(read_up_to(file, MAX_HEADER_BYTES))
    if header.take(4) != SIGNATURE:
        raise unreadable("not an Avro file")
    metadata = {}
    for key, value in header.pairs():
        metadata[key.decode("utf-8", "replace")] = value
    header.take(16)  # the signature between blocks
    schema = json.loads(metadata["avro.schema"])
    codec = metadata.get("avro.codec", b"null").decode("ascii", "replace") or "null"
    types = _Types(schema)
    columns = _columns(schema)
    file.seek(header.at)
    first, count = params["first"], params["count"]
    rows = tabular.RowTable([name for name, _ in columns], is_selected=params.get("windowed", False))
    total, problem = _add_rows(rows, file, types, schema, codec, first, count)
    lines = [
        f"Avro, {plural(len(columns), 'column')}, {tabular.row_count(total)}, compression {codec}",
        f"columns: {tabular.columns_line(columns)}",
    ]
    if problem:
        lines.append(problem)
    elif count:
        lines += ["", tabular.rows_line(first, rows.row_count, total), rows.text()]
    return tabular.described(lines, columns, rows, first=first, total=total, problem=problem)


def _columns(schema: Any) -> list[tuple[str, str]]:
    if isinstance(schema, dict) and schema.get("type") == "record":
        return [(str(field["name"]), _type_name(field["type"])) for field in schema["fields"]]
    return [("value", _type_name(schema))]


def _type_name(schema: Any, depth: int = 0) -> str:
    if depth > 5:
        return "..."
    if isinstance(schema, list):
        return " or ".join([_type_name(one, depth + 1) for one in schema[:20]])
    if not isinstance(schema, dict):
        return str(schema)
    kind = str(schema.get("logicalType") or schema.get("type"))
    if kind == "array":
        return f"array of {_type_name(schema.get('items'), depth + 1)}"
    if kind == "map":
        return f"map of {_type_name(schema.get('values'), depth + 1)}"
    return str(schema.get("name")) if kind in ("record", "enum", "fixed") else kind


def _add_rows(
    rows: tabular.RowTable, file: BinaryIO, types: _Types, schema: Any, codec: str, first: int, count: int
) -> tuple[int | None, str]:
    """Add the selected rows; return the number of all rows, and the reason if they cannot be decoded."""
    names = [name for name, _ in _columns(schema)]
    total = 0
    at = file.tell()
    for _ in range(MAX_BLOCKS_COUNTED):
        file.seek(at)
        start = _Bytes(read_up_to(file, 20))
        if not start.data:
            return total, ""
        in_block, size = start.number(), start.number()
        if in_block < 0 or size < 0 or size > MAX_BLOCK_BYTES:
            raise ValueError("block")
        if total < first - 1 + count and total + in_block >= first and count and not rows.is_full:
            file.seek(at + start.at)
            try:
                data = _unpacked(read_up_to(file, size), codec)
            except unpacking.NoCodec as error:
                return None, f"rows are not shown: {error}"
            if data is None:
                return None, f"rows are not shown: the compression {codec[:50]} is not supported"
            block = _Bytes(data)
            for number in range(total + 1, total + in_block + 1):
                row = types.read(block, schema, 0)
                if number < first:
                    continue
                values = [row.get(name) if isinstance(row, dict) else row for name in names]
                if number >= first + count or not rows.add(values):
                    break
        total += in_block
        at += start.at + size + 16
    return None, ""


def _unpacked(data: bytes, codec: str) -> bytes | None:
    if codec == "null":
        return data
    if codec == "deflate":
        return zlib.decompressobj(-15).decompress(data, MAX_BLOCK_BYTES)
    if codec == "bzip2":
        return bz2.BZ2Decompressor().decompress(data, MAX_BLOCK_BYTES)
    if codec == "xz":
        return lzma.LZMADecompressor(memlimit=128 * 1024 * 1024).decompress(data, MAX_BLOCK_BYTES)
    if codec == "snappy":
        return unpacking.snappy(data[:-4], MAX_BLOCK_BYTES)  # a checksum follows
    if codec == "zstandard":
        return unpacking.zstd(data, MAX_BLOCK_BYTES)
    return None


class _Bytes:
    """Bytes that are read in order."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, size: int) -> bytes:
        if size < 0 or self.at + size > len(self.data):
            raise IndexError("end of data")
        self.at += size
        return self.data[self.at - size : self.at]

    def number(self) -> int:
        """Return an integer of variable length; odd ones are negative."""
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            if not byte & 0x80:
                return value >> 1 ^ -(value & 1)
            shift += 7
            if shift > 63:
                raise ValueError("number")

    def count(self) -> int:
        """Return the number of items in a part of an array or a map. A negative one is followed by a size in bytes."""
        number = self.number()
        if number < 0:
            self.number()
        return abs(number)

    def pairs(self) -> list[tuple[bytes, bytes]]:
        found = []
        while count := self.count():
            for _ in range(count):
                found.append((self.take(self.number()), self.take(self.number())))
        return found


class _Types:
    """Reads values by their schema. Types with names may be used again by their names."""

    def __init__(self, schema: Any) -> None:
        self._named: dict[str, Any] = {}
        self._collect(schema, 0)

    def _collect(self, schema: Any, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise ValueError("schema")
        if isinstance(schema, list):
            for one in schema:
                self._collect(one, depth + 1)
        elif isinstance(schema, dict):
            if "name" in schema and schema.get("type") in ("record", "enum", "fixed"):
                name = str(schema["name"])
                self._named[name] = schema
                self._named[f"{schema.get('namespace', '')}.{name}"] = schema
            for field in schema.get("fields", ()):
                self._collect(field.get("type"), depth + 1)
            for key in ("items", "values", "type"):
                if isinstance(schema.get(key), (dict, list)):
                    self._collect(schema[key], depth + 1)

    def read(self, data: _Bytes, schema: Any, depth: int) -> Any:
        """Return the next value."""
        if depth > MAX_DEPTH:
            raise ValueError("depth")
        if isinstance(schema, list):
            return self.read(data, schema[data.number()], depth + 1)
        kind = schema.get("type") if isinstance(schema, dict) else schema
        if isinstance(kind, (dict, list)):
            return self.read(data, kind, depth + 1)
        match kind:
            case "null":
                return None
            case "boolean":
                return data.take(1) != b"\0"
            case "int" | "long":
                return data.number()
            case "float":
                return struct.unpack("<f", data.take(4))[0]
            case "double":
                return struct.unpack("<d", data.take(8))[0]
            case "bytes":
                return data.take(data.number())
            case "string":
                return data.take(data.number()).decode("utf-8", "replace")
            case "fixed":
                return data.take(int(schema["size"]))
            case "enum":
                return schema["symbols"][data.number()]
            case "array":
                return self._items(data, schema["items"], depth)
            case "map":
                return self._map(data, schema["values"], depth)
            case "record":
                return {str(field["name"]): self.read(data, field["type"], depth + 1) for field in schema["fields"]}
        return self.read(data, self._named[str(kind)], depth + 1)

    def _items(self, data: _Bytes, schema: Any, depth: int) -> list[Any]:
        found = []
        while count := data.count():
            if count > len(data.data):
                raise ValueError("count")
            found += [self.read(data, schema, depth + 1) for _ in range(count)]
        return found

    def _map(self, data: _Bytes, schema: Any, depth: int) -> dict[str, Any]:
        found = {}
        while count := data.count():
            if count > len(data.data):
                raise ValueError("count")
            for _ in range(count):
                key = data.take(data.number()).decode("utf-8", "replace")
                found[key] = self.read(data, schema, depth + 1)
        return found
