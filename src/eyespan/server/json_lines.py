"""JSON both ways for the stdio door, on the C scanner and quoter that the standard `json` module is built on.

Used directly, because `json` brings `re` with it and that costs more than all of this server. Same rules as `json`,
but stricter where a peer could hurt: no NaN or Infinity, nothing behind the value. Bytes in a value are written as a
base64 string. What is written is always valid UTF-8 on one line.
"""

from __future__ import annotations

from eyespan import _native

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

BIG_CHARS = 4096
"""A string this long is written as a piece of its own, so that it is not copied once more to be joined."""
_BLANKS = " \t\r\n"


class Malformed(ValueError):
    """The text is no JSON value."""


def _constant(name: str) -> float:
    raise Malformed(f"{name} is not a JSON value")


class _Rules:
    """How the C scanner is to take things: the names are those of `json.JSONDecoder`."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = staticmethod(_constant)
    memo: dict[str, str] = {}


def _tools() -> tuple[Callable[[str, int], tuple[Any, int]], Callable[[str], str]]:
    """What reads a value at a position, and what writes a string."""
    try:
        import _json
    except ImportError:  # an interpreter without the C parts
        import json

        decoder: Any = json.JSONDecoder(parse_constant=_constant)
        return decoder.scan_once, lambda text: json.dumps(text, ensure_ascii=False)
    rules: Any = _Rules
    native: Any = _json
    return native.make_scanner(rules), native.encode_basestring


_scan, quote = _tools()


def loads(data: bytes) -> Any:
    """The value that one line of UTF-8 holds.

    Raises: Malformed.
    """
    try:
        text = data.decode("utf-8").strip(_BLANKS)
        value, end = _scan(text, 0)
    except SystemError:
        # The scanner of Python 3.11 takes the class of its errors from json.decoder, if that is there.
        import json.decoder

        try:
            json.loads(data)
        except ValueError as error:
            raise Malformed(str(error)) from None
        raise Malformed("no JSON value") from None
    except (ValueError, RecursionError) as error:
        raise Malformed(str(error)) from None
    except StopIteration as error:
        raise Malformed(f"no JSON value at character {error.value}") from None
    if end != len(text):
        raise Malformed(f"something follows the JSON value at character {end}")
    return value


def dumps(value: Any) -> list[bytes]:
    """The value as pieces of one line of JSON, to be written one behind the other."""
    pieces: list[bytes] = []
    small: list[str] = []
    _dump(value, small, pieces)
    _flush(small, pieces)
    return pieces


def dump(value: Any) -> str:
    """A small value as text."""
    return b"".join(dumps(value)).decode()


def base64(data: bytes | bytearray) -> bytes:
    from binascii import b2a_base64

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
            small.append(quote(value))
        else:
            _flush(small, pieces)
            quoted = None if _native.quote is None else _native.quote(value)
            pieces.append(_encode(quote(value)) if quoted is None else quoted)
    elif isinstance(value, int):
        small.append(int.__repr__(value))
    elif isinstance(value, float):
        # JSON has no word for them; none of ours is one.
        small.append(float.__repr__(value) if value - value == 0 else "null")
    elif isinstance(value, dict):
        mark = "{"
        for key, item in value.items():
            small.append(f"{mark}{quote(key)}:")
            _dump(item, small, pieces)
            mark = ","
        small.append("{}" if mark == "{" else "}")
    elif isinstance(value, (bytes, bytearray)):
        _flush(small, pieces)
        pieces += (b'"', base64(value), b'"')
    else:
        mark = "["
        for item in value:
            small.append(mark)
            _dump(item, small, pieces)
            mark = ","
        small.append("[]" if mark == "[" else "]")


def _flush(small: list[str], pieces: list[bytes]) -> None:
    if small:
        pieces.append(_encode("".join(small)))
        small.clear()


def _encode(quoted: str) -> bytes:
    try:
        return quoted.encode()
    except UnicodeEncodeError:
        # A lone surrogate is told as text; written as a JSON escape it would break the reader instead of us. The
        # backslash of that text has to be a JSON one in turn.
        return "".join([f"\\\\u{ord(c):04x}" if "\ud800" <= c <= "\udfff" else c for c in quoted]).encode()
