"""Show lines of one file by their numbers (`app.py:10-20`) as a pipe gets them, without the readers and the selectors.

Start-up time is most of the time of such a call. Small texts are read in one step, and large ones by an index that the
cache holds. Wherever something has to be decided (another form of a selector, a document, an encoding, an error), the
result is False, and the usual way starts from the beginning; `tests/cli/test_window.py` compares both.
"""

from __future__ import annotations

import sys
from typing import Any

from eyespan import _native, kinds
from eyespan.context import WouldBlock
from eyespan.errors import NotFound, ReadError
from eyespan.guard import Guard
from eyespan.source import Source

NUMBERED = ("", 6, "\t", True, 0, 0)
"""The style of a numbered line for `Guard.read_small`."""
MIN_INDEXED_BYTES = 64 << 20
"""The index of a smaller file is not on disk."""
MAX_WINDOW_BYTES = 4 << 20
MAX_DIGITS = 15
_SPECIAL = frozenset(":@?!#*\\")
"""Characters that a selector may consist of: a path with any of them has several readings."""


def show_window(guard: Guard, text: str, has_numbers: bool) -> bool:
    """Show the lines that a path with a range names; return False if the usual way has to do it."""
    path, colon, selected = text.rpartition(":")
    found = parse_range(selected)
    if not colon or found is None or path in ("", "-") or not _SPECIAL.isdisjoint(path):
        return False
    first, count = found
    try:
        if not _is_missing(guard, text):
            return False  # the whole text names a file
        if first == 0:
            return _show_last(guard, path, count, has_numbers)
        small: Any = None
        if small is not None:
            if kinds.is_document(small[8] or b"", small[7]):
                return False
            _write(small[0].encode())
            return True
        source = guard.open(path)
    except (ReadError, WouldBlock):
        return False
    with source:
        data = _indexed_lines(source, first, count)
    if data is None:
        return False
    _write_lines(data, first, has_numbers)
    return True


def _show_last(guard: Guard, path: str, count: int, has_numbers: bool) -> bool:
    """Show the last lines of a small text; return False for any other file."""
    small: Any = None
    data = None if small is None else small[8]
    if small is None or data is None or kinds.is_document(data, small[7]):
        return False
    first = max(1, small[3] - count + 1)
    _write_lines(data[_native.nth(data, first - 1) :] if first > 1 else data, first, has_numbers)
    return True


def parse_range(text: str) -> tuple[int, int] | None:
    """Return the first line and the number of lines of `10`, `10-20`, `10-` or `10+5`; None for anything else.

    The first line of `-50`, the last 50 lines, is 0.
    """
    left, plus, right = text.partition("+")
    dash = ""
    if not plus:
        left, dash, right = text.partition("-")
    first, last = _number(left), _number(right)
    if dash and not left and last is not None:
        return 0, last
    if first is None or (last is None and (plus or right)):
        return None
    if last is None:
        return first, sys.maxsize - first if dash else 1
    count = last if plus else last - first + 1
    return (first, count) if count > 0 else None


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS and text[0] != "0" else None


def _is_missing(guard: Guard, path: str) -> bool:
    """Return True if nothing has this name. Raises: ReadError, WouldBlock."""
    try:
        guard.open(path).close()
    except NotFound as error:
        return type(error) is NotFound
    return False


def _indexed_lines(source: Source, first: int, count: int) -> bytes | None:
    """Return lines of a large text whose index is in the cache; None if it has fewer, or for another file."""
    first_bytes = source.first_bytes
    is_plain = first_bytes.isascii() and b"\0" not in first_bytes
    if source.size_bytes < MIN_INDEXED_BYTES or not is_plain or kinds.is_document(first_bytes, source.name):
        return None
    from eyespan.lines.cache import shared

    index = shared().find(source, b"\n")
    last = None if index is None else index.locate(first + count - 1)
    start = None if index is None else index.locate(first - 1) if first > 1 else (0, 0)
    if index is None or start is None or last is None:
        return None
    size_bytes = last[0] + index.stride - start[0]
    if size_bytes > MAX_WINDOW_BYTES:
        return None
    block = source.read_fully(start[0], size_bytes)
    begin = _native.nth(block, first - 1 - start[1]) if first > 1 else 0
    end = _native.nth(block, count, begin) if begin >= 0 else -1
    return block[begin:end] if end >= 0 else None


def _write_lines(data: bytes, first: int, has_numbers: bool) -> None:
    _write(_native.number(data, first, width=6, keep_ends=True)[0].encode() if has_numbers else data)


def _write(data: bytes) -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
