"""Make the text of an answer piece by piece, and pay for its memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from eyespan import _native
from eyespan.context import CallContext
from eyespan.errors import WindowTooLarge
from eyespan.lines.encodings import char_width
from eyespan.model import MIB, TextPart

PIECE_BYTES = 65536
MAX_TEXT_BYTES = 16 * MIB
"""The memory that the text of one answer may take; one wide character makes every other take four bytes."""
FEW_BYTES = 64 << 10
"""The memory of the answer for a text of this size is not counted."""
GUTTER_CHARS = 12
"""The number of a line and the separator after it."""
_WIDE_STARTS = bytes(range(0xF0, 0xF5))


def charge_text(part: TextPart, context: CallContext, *, has_numbers: bool = False) -> None:
    """Pay for the answer that is made of a large text, before it is made: its characters, and its largest piece.

    The reader has paid for the bytes of the text, and for as many again.

    Raises: TooMuchMemory, Cancelled, TimedOut.
    """
    if len(part.data) > FEW_BYTES:
        chars = len(part.data) + (GUTTER_CHARS * part.line_count if has_numbers else 0)
        width = text_width(part.data)
        text_bytes = width * chars
        if len(part.data) > PIECE_BYTES:
            text_bytes = min(text_bytes, MAX_TEXT_BYTES)
            chars = min(chars, (1 + width) * max(map(len, _pieces(part.data))))
        context.charge(max(0, text_bytes + chars - len(part.data)))


def rendered(part: TextPart, style: Mapping[str, Any] | None) -> tuple[str, int]:
    """Return the lines of a part, with numbers in the style of `_native.number`, and how many were shortened.

    A large text is made of pieces of some lines each, so that no more than one of them is held twice.

    Raises: WindowTooLarge.
    """
    if style is None:
        return joined(str(piece, "utf-8", "replace") for piece in _pieces(part.data)), 0
    separator = "" if style.get("keep_ends") else "\n"
    cut = 0

    def numbered() -> Iterator[str]:
        nonlocal cut
        line = part.first_line
        for piece in _pieces(part.data):
            text, cut_lines = _native.number(piece, line, totals=part.cuts, **style)
            yield text if line == part.first_line else separator + text
            cut += cut_lines
            line += _native.count(piece)

    return joined(numbered()), cut


def _pieces(data: bytes | bytearray) -> Iterator[memoryview]:
    """Yield a text in pieces of whole lines; a longer line is one piece."""
    start = 0
    while start < len(data):
        end = data.find(b"\n", start + PIECE_BYTES) + 1 or len(data)
        yield memoryview(data)[start:end]
        start = end


def text_width(data: bytes | bytearray) -> int:
    """Return the bytes per character that Python needs for a text in UTF-8, or more than that."""
    if data.isascii():
        return 1
    for at in range(0, len(data), PIECE_BYTES):  # at once it would be a copy of the text
        piece = data[at : at + PIECE_BYTES]
        if len(piece.translate(None, _WIDE_STARTS)) < len(piece):
            return 4
    return 2


def joined(pieces: Iterable[str]) -> str:
    """Join pieces into one text, which is never held twice. Raises: WindowTooLarge."""
    text, width = "", 1
    for piece in pieces:
        if not piece.isascii():
            width = max(width, char_width(piece))
        if (len(text) + len(piece)) * width > MAX_TEXT_BYTES:
            raise WindowTooLarge("", limit_bytes=MAX_TEXT_BYTES)
        text += piece  # CPython appends in place to a string with one reference; join() would hold all of it twice
    return text
