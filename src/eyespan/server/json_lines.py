"""JSON for the stdio server, on the C functions that the standard `json` module uses.

The `json` module itself imports `re`, which takes longer than all other imports of this server. Same rules as `json`,
but stricter: no NaN or Infinity, and nothing after the value. Bytes in a value are written as a base64 string. The
output is always valid UTF-8 on one line.
"""

from __future__ import annotations

from eyespan import _native
from eyespan.escape import QUOTED_CHARS, encode_json, quoted_bytes, quoted_pieces

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

BIG_CHARS = 4096 if _native.quote is None else 256
"""A string of this length becomes a separate piece: it saves a copy, and the accelerator quotes it much faster."""
_BLANKS = " \t\r\n"


class Malformed(ValueError):
    """The text is not a JSON value."""


def _constant(name: str) -> float:
    raise Malformed(f"{name} is not a JSON value")


class _ScannerSettings:
    """The settings of the C scanner, by the names they have in `json.JSONDecoder`."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = staticmethod(_constant)
    memo: dict[str, str] = {}


def _json_functions() -> tuple[Callable[[str, int], tuple[Any, int]], Callable[[str], str]]:
    """Return the function that reads a value at a position, and the one that writes a string."""
    try:
        import _json
    except ImportError:  # an interpreter without the C parts
        import json

        decoder: Any = json.JSONDecoder(parse_constant=_constant)
        return decoder.scan_once, lambda text: json.dumps(text, ensure_ascii=False)
    settings: Any = _ScannerSettings
    native: Any = _json
    return native.make_scanner(settings), native.encode_basestring


_scan, _quote = _json_functions()


def _whole_encoder() -> Callable[[Any, int], tuple[str, ...]] | None:
    """Return the C function that writes a whole value, but none with bytes, NaN or Infinity; None if there is none."""
    try:
        from _json import encode_basestring, make_encoder

        found: Callable[[Any, int], tuple[str, ...]] = make_encoder(
            None, _not_for_c, encode_basestring, None, ":", ",", False, False, False
        )
    except (ImportError, TypeError):  # an interpreter without the C parts, or with others
        return None
    return found


def _not_for_c(value: Any) -> Any:
    raise TypeError(type(value).__name__)


_write_whole = _whole_encoder()


def loads(data: bytes) -> Any:
    """Return the value of one line of UTF-8. Raises: Malformed."""
    try:
        text = data.decode("utf-8").strip(_BLANKS)
        value, end = _scan(text, 0)
    except SystemError:
        # The scanner of Python 3.11 takes the class of its errors from json.decoder, and fails if that is not loaded.
        import json.decoder

        try:
            json.loads(data)
        except ValueError as error:
            raise Malformed(str(error)) from None
        raise Malformed("not a JSON value") from None
    except (ValueError, RecursionError) as error:
        raise Malformed(str(error)) from None
    except StopIteration as error:
        raise Malformed(f"no JSON value at character {error.value}") from None
    if end != len(text):
        raise Malformed(f"extra data after the JSON value, at character {end}")
    return value


def dumps(value: Any) -> list[bytes]:
    """Return the value as one line of JSON, in pieces."""
    found = _dump_text_answer(value)
    if found is not None:
        return found
    pieces: list[bytes] = []
    small: list[str] = []
    _dump(value, small, pieces)
    _flush(small, pieces)
    return pieces


def _dump_text_answer(value: Any) -> list[bytes] | None:
    """Return the pieces of an answer whose content is one long text, the most frequent one; None for any other value.

    The accelerator quotes the text, and the C encoder writes what follows it.
    """
    if _write_whole is None or _native.quote is None or type(value) is not dict:
        return None
    result: Any = value.get("result")
    if type(result) is not dict or next(iter(result), None) != "content" or list(value) != _ANSWER_KEYS:
        return None
    content, request_id = result["content"], value["id"]
    if type(content) is not list or len(content) != 1 or type(content[0]) is not dict or len(result) < 2:
        return None
    if list(content[0]) != _TEXT_KEYS or content[0]["type"] != "text" or value["jsonrpc"] != "2.0":
        return None
    text = content[0]["text"]
    if type(text) is str and len(text) > QUOTED_CHARS:
        return None  # the rest of the answer may repeat it
    quoted = _native.quote(text) if type(text) is str and len(text) >= BIG_CHARS else None
    if quoted is None:
        return None
    if type(request_id) is int:
        shown = int.__repr__(request_id)
    elif type(request_id) is str:
        shown = _quote(request_id)
    else:
        return None
    rest = result.copy()
    del rest["content"]
    try:
        line = "".join(_write_whole(rest, 0))
        start = f'{{"jsonrpc":"2.0","id":{shown},"result":{{"content":[{{"type":"text","text":'
        return [start.encode(), quoted, f"}}],{line[1:]}}}".encode()]
    except (TypeError, ValueError, RecursionError):
        return None


_ANSWER_KEYS = ["jsonrpc", "id", "result"]
_TEXT_KEYS = ["type", "text"]


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
            small.append(_quote(value))
        elif len(value) > QUOTED_CHARS:
            _flush(small, pieces)
            pieces += quoted_pieces(value)
        else:
            _flush(small, pieces)
            quoted = None if _native.quote is None else _native.quote(value)
            pieces.append(encode_json(_quote(value)) if quoted is None else quoted)
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
