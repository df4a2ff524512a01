"""The memory of an answer that is made of a text, and texts that are made of many pieces."""

from __future__ import annotations

from collections.abc import Iterable

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
    """Pay for the answer that is made of a large text, before it is made: its bytes with numbers, and its characters.

    The reader has paid for the bytes of the text, and for as many again.

    Raises: TooMuchMemory, Cancelled, TimedOut.
    """
    if len(part.data) > FEW_BYTES:
        chars = len(part.data) + (GUTTER_CHARS * part.line_count if has_numbers else 0)
        context.charge((1 + text_width(part.data)) * chars - len(part.data))


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
