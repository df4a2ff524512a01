"""JSON for the servers: the rules of `json`, but stricter.

No NaN or Infinity, no name twice in an object, nothing after the value, and a limit of values. Bytes in a value are
written as a base64 string. The output is always valid UTF-8 on one line.
"""

from __future__ import annotations

import json
from binascii import b2a_base64
from typing import Any

from eyespan.escape import QUOTED_CHARS, encode_json, quoted_bytes, quoted_pieces

BIG_CHARS = 4096
"""A string of this length becomes a separate piece, which saves a copy."""
_BLANKS = " \t\r\n"
MAX_VALUES = 50_000
"""The values of one message. A call of the native dialect names at most 10,000 files."""
VALUE_BYTES = 160
"""The memory of one value at most, without its text: a key with a short string, or half an object with one key."""
WIDE_BYTES = 4
"""The memory of one character, in a text with a character that needs so much."""


class Malformed(ValueError):
    """The text is not a JSON value."""


_CAUSES = {UnicodeDecodeError: "not UTF-8", RecursionError: "nested too deeply", ValueError: "a number is too long"}


def _constant(name: str) -> float:
    raise Malformed(f"{name} is not a JSON value")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object. Of a name that it has twice, a program in between may have read the other value."""
    made = dict(pairs)
    if len(made) < len(pairs):
        raise Malformed("an object has a name twice")
    return made


_decoder = json.JSONDecoder(parse_constant=_constant, object_pairs_hook=_unique)
_quote = json.encoder.encode_basestring


def loads(data: bytes | bytearray, values: int = 0) -> Any:
    """Return the value of one line of UTF-8. Raises: Malformed.

    `values` is the result of `count_values`, if it is known. The limit is for texts of others.
    """
    if (values or count_values(data)) > MAX_VALUES:
        raise Malformed(f"more than {MAX_VALUES} values")
    try:
        text = data.decode("utf-8").strip(_BLANKS)
        value, end = _decoder.raw_decode(text)
    except (ValueError, RecursionError) as error:
        raise Malformed(_CAUSES.get(type(error)) or str(error)) from None
    if end != len(text):
        raise Malformed(f"extra data after the JSON value, at character {end}")
    return value


def count_values(data: bytes | bytearray, max_values: int = MAX_VALUES) -> int:
    """Return the number of values in a JSON text, or more; for a text with more than `max_values`, a larger number."""
    count = _count_signs(data, 0, len(data))
    if count <= max_values:
        return count
    data = data.replace(b"\\\\", b"").replace(b'\\"', b"")  # every quote is then the start or the end of a string
    count, at = 1, 0
    for _ in range(2 * max_values):  # a value has at most two strings: its key and itself
        start = data.find(b'"', at)
        count += _count_signs(data, at, start if start >= 0 else len(data)) - 1
        at = data.find(b'"', start + 1) + 1
        if start < 0 or not at:
            return count
        if count > max_values:
            break
    return max_values + 1


def _count_signs(data: bytes | bytearray, start: int, end: int) -> int:
    return 1 + data.count(b",", start, end) + data.count(b"[", start, end) + data.count(b"{", start, end)


def memory_of(data: bytes | bytearray, values: int) -> int:
    """Return the memory that this number of values takes at most, with their text."""
    is_narrow = data.isascii() and b"\\u" not in data
    return values * VALUE_BYTES + len(data) * (1 if is_narrow else WIDE_BYTES)


def dumps(value: Any) -> list[bytes]:
    """Return the value as one line of JSON, in pieces."""
    pieces: list[bytes] = []
    small: list[str] = []
    _dump(value, small, pieces)
    _flush(small, pieces)
    return pieces


def large_bytes(value: Any) -> int:
    """Return the size of the long strings and of the bytes of a value in its JSON."""
    if isinstance(value, str):
        return quoted_bytes(value) if len(value) > QUOTED_CHARS else 0
    if isinstance(value, (bytes, bytearray)):
        return (len(value) + 2) // 3 * 4 if len(value) > QUOTED_CHARS else 0
    if isinstance(value, dict):
        return sum([large_bytes(item) for item in value.values()])
    return sum([large_bytes(item) for item in value]) if isinstance(value, (list, tuple)) else 0


def base64(data: bytes | bytearray) -> bytes:
    """Return the base64 text of the data."""
    return b2a_base64(data, newline=False)


def _dump(value: Any, small: list[str], pieces: list[bytes]) -> None:
    if value is None:
        small.append("null")
    elif value is True:
        small.append("true")
    elif value is False:
        small.append("false")
    elif isinstance(value, str):
        if len(value) < BIG_CHARS:
            small.append(_quote(value))
        elif len(value) > QUOTED_CHARS:
            _flush(small, pieces)
            pieces += quoted_pieces(value)
        else:
            _flush(small, pieces)
            pieces.append(encode_json(_quote(value)))
    elif isinstance(value, int):
        small.append(int.__repr__(value))
    elif isinstance(value, float):
        # JSON has no infinities and no NaN, and no value of this server is one.
        small.append(float.__repr__(value) if value - value == 0 else "null")
    elif isinstance(value, dict):
        separator = "{"
        for key, item in value.items():
            small.append(f"{separator}{_quote(key)}:")
            _dump(item, small, pieces)
            separator = ","
        small.append("{}" if separator == "{" else "}")
    elif isinstance(value, (bytes, bytearray)):
        _flush(small, pieces)
        pieces += (b'"', base64(value), b'"')
    else:
        separator = "["
        for item in value:
            small.append(separator)
            _dump(item, small, pieces)
            separator = ","
        small.append("[]" if separator == "[" else "]")


def _flush(small: list[str], pieces: list[bytes]) -> None:
    if small:
        pieces.append(encode_json("".join(small)))
        small.clear()
