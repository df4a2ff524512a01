"""NumPy arrays (npy): shape, type and some rows.

The header of an array is a literal of Python, which is parsed and never run. Arrays of objects are pickles, which are
not read at all: reading one can run any code.
"""

from __future__ import annotations

import ast
import io
import math
import struct
from collections.abc import Mapping
from typing import Any, BinaryIO

from eyespan.decoders.files import read_up_to, unreadable
from eyespan.extras.documents.tables import tabular

SIGNATURE = b"\x93NUMPY"
MAX_HEADER_BYTES = 64 * 1024
_CODES = {"f2": "e", "f4": "f", "f8": "d", "b1": "?", **{f"i{n}": c for n, c in zip((1, 2, 4, 8), "bhiq", strict=True)}}
_CODES |= {f"u{n}": c for n, c in zip((1, 2, 4, 8), "BHIQ", strict=True)}
_NAMES = dict(zip("fiubcSUM", ["float", "int", "uint", "bool", "complex", "bytes", "text", "datetime"], strict=True))


def decode(file: BinaryIO, params: Mapping[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    """Decode the header and `count` rows from row `first` on. Raises: Unreadable."""
    array = _Array(file)
    text, facts = array.described(params["first"], params["count"], is_selected=params.get("windowed", False))
    return facts, [f"NumPy array, {text}".encode("utf-8", "replace")]


class _Array:
    """One array: its header, and rows that are read on demand."""

    def __init__(self, file: BinaryIO) -> None:
        """Read the header. Raises: Unreadable."""
        self._file = file
        start = read_up_to(file, 12)
        if not start.startswith(SIGNATURE) or len(start) < 12:
            raise unreadable("not a NumPy array")
        is_old = start[6] == 1
        size = int.from_bytes(start[8:10] if is_old else start[8:12], "little")
        if size > MAX_HEADER_BYTES:
            raise unreadable(f"its header has more than {MAX_HEADER_BYTES} bytes")
        header = (start[10:] if is_old else b"") + read_up_to(file, size - (2 if is_old else 0))
        self._data_start = (10 if is_old else 12) + size
        try:
            facts = ast.literal_eval(header.decode("utf-8" if start[6] > 2 else "latin-1").strip())
            self.shape = tuple(int(number) for number in facts["shape"])
            self._is_fortran = bool(facts["fortran_order"])
            self.fields = _fields(facts["descr"])
        except (ValueError, SyntaxError, KeyError, TypeError, MemoryError, RecursionError):
            raise unreadable("its header is corrupt") from None
        if any(number < 0 for number in self.shape):
            raise unreadable("its header is corrupt")

    @property
    def type_name(self) -> str:
        if len(self.fields) == 1 and not self.fields[0][0]:
            return _type_name(self.fields[0][1])
        return "{" + ", ".join([f"{name}: {_type_name(kind)}" for name, kind in self.fields]) + "}"

    def described(self, first: int, count: int, *, is_selected: bool) -> tuple[str, dict[str, Any]]:
        """Return the shape and rows as text, and facts."""
        total = self.shape[0] if self.shape else 1
        order = ", column by column" if self._is_fortran and len(self.shape) > 1 else ""
        shape = " x ".join(map(str, self.shape)) or "one value"
        lines = [f"{shape}, {self.type_name}{order}"]
        facts: dict[str, Any] = {"shape": list(self.shape), "type": self.type_name[:500], "total_rows": total}
        if any(kind[1:2] == "O" for _, kind in self.fields):
            facts["problem"] = "its values are pickled objects, which are not read"
            return "\n".join([*lines, facts["problem"]]), facts
        if not count or not total or 0 in self.shape:
            return "\n".join(lines), facts
        rows, problem = self._rows(first, min(count, max(0, total - first + 1)), is_selected)
        facts |= rows.facts(first)
        if problem:
            facts["problem"] = problem
        text = rows.text()
        lines += ["", tabular.rows_line(first, rows.row_count, total), *([text] if text else [])]
        return "\n".join([*lines, *([problem] if problem else [])]), facts

    def _rows(self, first: int, count: int, is_selected: bool) -> tuple[tabular.RowTable, str]:
        """Return rows, and the reason if some are missing."""
        if len(self.fields) > 1 or self.fields[0][0]:
            width, names = 1, [name for name, _ in self.fields]
        else:
            width = math.prod(self.shape[1:])
            names = [str(number) for number in range(min(width, tabular.MAX_COLUMNS))]
        item = sum(_size(kind) for _, kind in self.fields)
        shown = min(width, tabular.MAX_COLUMNS)
        rows = tabular.RowTable(names, max(width, len(names)), is_selected=is_selected)
        if not item:
            return rows, "its values have no bytes"
        if self._is_fortran and len(self.shape) > 1:
            return rows, "rows of an array that is stored column by column are not shown"
        for number in range(first - 1, first - 1 + count):
            self._file.seek(self._data_start + number * width * item)
            data = read_up_to(self._file, shown * item)
            if len(data) < shown * item:
                return rows, "the file ends before its last row"
            if len(self.fields) > 1 or self.fields[0][0]:
                row = _record(data, self.fields)
            else:
                row = [_value(data[at : at + item], self.fields[0][1]) for at in range(0, len(data), item)]
            if not rows.add(row):
                break
        return rows, ""


def _fields(description: Any) -> list[tuple[str, str]]:
    """Return the name and the type of each field; a plain array has one field without a name."""
    if isinstance(description, str):
        return [("", _checked(description))]
    fields = []
    for field in description:
        name, kind = field[0], field[1]
        shape = field[2] if len(field) > 2 else ()
        if not isinstance(name, str) or not isinstance(kind, str) or shape:
            raise ValueError("nested types")
        fields.append((name, _checked(kind)))
    if not fields:
        raise ValueError("no fields")
    return fields


def _checked(kind: str) -> str:
    if len(kind) < 2 or kind[0] not in "<>|=" or (kind[1] != "O" and not kind[2:].partition("[")[0].isdecimal()):
        raise ValueError(kind)
    return kind


def _size(kind: str) -> int:
    """Return the bytes of one value."""
    if kind[1] == "O":
        return 8
    count = int(kind[2:].partition("[")[0])
    return 4 * count if kind[1] == "U" else count


def _type_name(kind: str) -> str:
    if kind[1] == "O":
        return "objects"
    count = int(kind[2:].partition("[")[0])
    name = _NAMES.get(kind[1], kind[1:])
    unit = kind[2:].partition("[")[1] + kind[2:].partition("[")[2]
    if kind[1] in "SU":
        return f"{name} of {count}"
    return f"{name}{'' if kind[1] == 'b' else 8 * count}{unit}{' big-endian' if kind[0] == '>' and count > 1 else ''}"


def _record(data: bytes, fields: list[tuple[str, str]]) -> list[Any]:
    values, at = [], 0
    for _, kind in fields:
        size = _size(kind)
        values.append(_value(data[at : at + size], kind))
        at += size
    return values


def _value(data: bytes, kind: str) -> Any:
    order = ">" if kind[0] == ">" else "<"
    if kind[1] == "S":
        return data.rstrip(b"\0").decode("latin-1")
    if kind[1] == "U":
        return data.decode("utf-32-be" if order == ">" else "utf-32-le", "replace").rstrip("\0")
    code = _CODES.get(kind[1:])
    if code is not None:
        return struct.unpack(order + code, data)[0]
    if kind[1:] in ("c8", "c16"):
        real, imaginary = struct.unpack(order + ("ff" if kind[1:] == "c8" else "dd"), data)
        return complex(real, imaginary)
    if kind[1] in "Mm" and len(data) == 8:
        return struct.unpack(order + "q", data)[0]
    return data


def rehearse() -> None:
    """Decode a small array once, so that nothing is left to be imported."""
    header = b"{'descr': '<U1', 'fortran_order': False, 'shape': (1,), }\n"
    decode(
        io.BytesIO(SIGNATURE + b"\1\0" + len(header).to_bytes(2, "little") + header + "a".encode("utf-32-le")),
        {"first": 1, "count": 1},
    )
    "a".encode("utf-32-be").decode("utf-32-be")
