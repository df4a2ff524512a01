"""ORC files: the number of rows and the columns, from the footer at the end.

The footer is a message of protocol buffers, compressed like the rest of the file. Rows are not read.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator

from eyespan.decoders import tabular, unpacking
from eyespan.decoders.data import Data
from eyespan.decoders.listings import read_varint

MAX_FOOTER_BYTES = 1024 * 1024
MAX_TYPES = 10_000
MAX_SHOWN = 60
_COMPRESSIONS = ("none", "zlib", "snappy", "lzo", "lz4", "zstd", "brotli")
_KINDS = (
    *("boolean", "byte", "short", "int", "long", "float", "double", "string", "binary", "timestamp", "list", "map"),
    *("struct", "union", "decimal", "date", "varchar", "char", "timestamp with time zone"),
)


def facts(data: Data) -> list[str]:
    """Return the rows, the compression and the columns. Raises: ValueError, IndexError, zlib.error."""
    end = data.size_bytes - 1
    size = data.at(end, 1)[0]
    closing = dict(_fields(data.at(end - size, size)))
    footer_bytes, number = closing.get(1, 0), closing.get(2, 0)
    if not isinstance(footer_bytes, int) or not isinstance(number, int) or footer_bytes > MAX_FOOTER_BYTES:
        return []
    name = _COMPRESSIONS[number] if number < len(_COMPRESSIONS) else f"number {number}"
    found = [f"compression {name}"]
    if number and name not in _UNPACK:
        return found
    footer = data.at(end - size - footer_bytes, footer_bytes)
    try:
        footer = _unpacked(footer, name) if number else footer
    except unpacking.NoCodec:
        return found
    types: list[bytes] = []
    for field, value in _fields(footer):
        if field == 6 and isinstance(value, int):
            found.insert(0, tabular.plural(value, "row"))
        elif field == 4 and isinstance(value, bytes) and len(types) < MAX_TYPES:
            types.append(value)
    columns = _columns(types)
    if columns:
        found.append(
            f"{tabular.plural(len(columns), 'column')}: {tabular.columns_line(columns[:MAX_SHOWN], len(columns))}"
        )
    return found


def _columns(types: list[bytes]) -> list[tuple[str, str]]:
    """Return names and types of the columns, which are the parts of the first type."""
    kinds: list[int] = []
    names: list[str] = []
    parts: list[int] = []
    for index, entry in enumerate(types):
        kind = 0
        for field, value in _fields(entry):
            if field == 1 and isinstance(value, int):
                kind = value
            elif index == 0 and field == 3 and isinstance(value, bytes):
                names.append(value.decode("utf-8", "replace"))
            elif index == 0 and field == 2:
                parts += [value] if isinstance(value, int) else _packed(value)
        kinds.append(kind)
    shown = [kinds[part] if part < len(kinds) else -1 for part in parts]
    return [
        (name, _KINDS[kind] if 0 <= kind < len(_KINDS) else "unknown") for name, kind in zip(names, shown, strict=False)
    ]


def _packed(data: bytes) -> list[int]:
    values, at = [], 0
    while at < len(data):
        value, at = read_varint(data, at)
        values.append(value)
    return values


def _unpacked(data: bytes, name: str) -> bytes:
    """Return the contents of blocks, each with a header of three bytes: its size, and 1 if it is not compressed."""
    made, at = b"", 0
    while at + 3 <= len(data) and len(made) < MAX_FOOTER_BYTES:
        header = int.from_bytes(data[at : at + 3], "little")
        block = data[at + 3 : at + 3 + header // 2]
        made += block if header & 1 else _UNPACK[name](block)
        at += 3 + header // 2
    return made


_UNPACK: dict[str, Callable[[bytes], bytes]] = {
    "zlib": lambda block: zlib.decompressobj(-15).decompress(block, MAX_FOOTER_BYTES),
    "snappy": lambda block: unpacking.snappy(block, MAX_FOOTER_BYTES),
    "lz4": lambda block: unpacking.lz4_block(block, MAX_FOOTER_BYTES),
    "zstd": lambda block: unpacking.zstd(block, MAX_FOOTER_BYTES),
}


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield the numbers and values of the fields of a message."""
    at = 0
    while at < len(data):
        key, at = read_varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = read_varint(data, at)
            yield key >> 3, value
        elif kind == 2:
            size, at = read_varint(data, at)
            yield key >> 3, data[at : at + size]
            at += size
        elif kind in (1, 5):
            at += 8 if kind == 1 else 4
        else:
            raise ValueError("an unknown kind of field")
