"""Render the text of large windows, with or without numbers, without holding any of it twice."""

from __future__ import annotations

import codecs
from collections.abc import Generator, Iterable, Iterator, Mapping
from typing import Any

from eyespan import _native
from eyespan.context import CallContext
from eyespan.errors import WindowTooLarge
from eyespan.lines.encodings import char_width
from eyespan.model import MIB, TextPart, drained

PIECE_BYTES = 65536
MAX_TEXT_BYTES = 16 * MIB
"""The memory that the text of one answer may take; one wide character makes every other take four bytes."""


FEW_BYTES = 64 << 10
"""The memory of the answer for a text of this size is not counted."""
READ_COPIES = 2
"""The copies of a text that its reader was charged for: its bytes, and an answer as wide as they are."""
GUTTER_CHARS = 12
"""The number of a line and the separator after it."""


def text_memory(part: TextPart, *, has_numbers: bool = True) -> int:
    """Return the memory of the answer that is made of a text, beyond what its reader was charged for."""
    chars = len(part.data) + (GUTTER_CHARS * part.line_count if has_numbers else 0)
    answer_bytes = text_width(part.data) * chars
    if isinstance(part.data, bytearray) and len(part.data) > MIB:
        answer_bytes = min(answer_bytes, MAX_TEXT_BYTES)
    else:
        answer_bytes *= 2
    return max(0, len(part.data) + answer_bytes - READ_COPIES * len(part.data))


def charge_text(part: TextPart, context: CallContext) -> None:
    """Pay for the answer that is made of a text, without numbers. Raises: TooMuchMemory, Cancelled, TimedOut."""
    if len(part.data) > FEW_BYTES:
        context.charge(text_memory(part, has_numbers=False))


def text_width(data: bytes | bytearray) -> int:
    """Return the bytes per character that Python needs for a text in UTF-8, or more than that."""
    if data.isascii():
        return 1
    for at in range(0, len(data), PIECE_BYTES):  # at once it would be a copy of the text
        piece = data[at : at + PIECE_BYTES]
        if len(piece.translate(None, _WIDE_STARTS)) < len(piece):
            return 4
    return 2


_WIDE_STARTS = bytes(range(0xF0, 0xF5))
_CONTINUATIONS = bytes(range(0x80, 0xC0))


def _check_width(data: bytearray) -> None:
    """Refuse a text before it is decoded if its characters alone are too large. Raises: WindowTooLarge."""
    if len(data) > MAX_TEXT_BYTES // 4 and text_width(data) == 4:
        starts = range(0, len(data), PIECE_BYTES)
        chars = sum([len(data[at : at + PIECE_BYTES].translate(None, _CONTINUATIONS)) for at in starts])
        if 4 * chars > MAX_TEXT_BYTES:
            raise WindowTooLarge("", limit_bytes=MAX_TEXT_BYTES)


def numbered(part: TextPart, **style: Any) -> tuple[str, int]:
    """Return the lines of a part with numbers, and how many were shortened; `style` is that of `_native.number`.

    A large window is formatted piece by piece and its bytes are released on the way, so nothing is held twice.

    Raises: WindowTooLarge.
    """
    data = part.data
    if (len(data) <= MIB and part.line_count <= 20_000) or not isinstance(data, bytearray):
        return _native.number(data, part.first_line, totals=part.cuts, **style)
    if not style.get("max_chars") and not style.get("max_bytes"):  # no line is shortened
        _check_width(data)
    cut: list[int] = []
    return joined(_numbered_pieces(data, part, style, cut)), sum(cut)


def unnumbered(part: TextPart) -> str:
    """Return the lines of a part as they are, with the same guarantees. Raises: WindowTooLarge."""
    data = part.data
    if len(data) <= MIB or not isinstance(data, bytearray):
        return data.decode("utf-8", "replace")
    _check_width(data)
    return joined(_decoded(drained(data), one_line=False))


def joined(pieces: Iterable[str]) -> str:
    """Join pieces into one text, which is never held twice.

    Raises: WindowTooLarge.
    """
    text, width = "", 1
    for piece in pieces:
        if not piece.isascii():
            width = max(width, char_width(piece))
        if (len(text) + len(piece)) * width > MAX_TEXT_BYTES:
            raise WindowTooLarge("", limit_bytes=MAX_TEXT_BYTES)
        text += piece  # CPython appends in place to a string with one reference; join() would hold all of it twice
    return text


def _numbered_pieces(data: bytearray, part: TextPart, style: Mapping[str, Any], cut: list[int]) -> Iterator[str]:
    """Yield the text; add to `cut` how many lines of each piece were shortened."""
    line = part.first_line
    keeps_ends = bool(style.get("keep_ends"))
    shows_whole_lines = not style.get("max_chars") and not style.get("max_bytes")
    pieces = drained(data)
    held, at = pieces.pop(), 0
    before = ""
    while at < len(held) or pieces:
        end = held.rfind(b"\n", at, at + PIECE_BYTES) + 1 or held.find(b"\n", at + PIECE_BYTES) + 1
        if not end:
            if pieces and not (shows_whole_lines and len(held) - at > MIB):
                held, at = held[at:] + pieces.pop(), 0
                continue
            if pieces:
                # A line that is shown whole, however long: its number, then the line as it is.
                yield before + _native.number(b"\n", line, **style)[0].removesuffix("\n")
                pieces.append(held[at:])
                held = b""
                held = yield from _decoded(pieces, keeps_ends=keeps_ends)
                at = 0
                line += 1
                before = "" if keeps_ends else "\n"
                continue
            end = len(held)
        piece = held[at:end]
        at = end
        text, cut_lines = _native.number(piece, line, totals=part.cuts, **style)
        cut.append(cut_lines)
        yield before + text
        line += _native.count(piece)
        before = "" if keeps_ends else "\n"


def _decoded(pieces: list[bytes], *, one_line: bool = True, keeps_ends: bool = True) -> Generator[str, None, bytes]:
    """Yield the pieces as text up to the end of the first line; return what follows it in its piece."""
    decode = codecs.getincrementaldecoder("utf-8")("replace").decode
    held_back = ""  # a carriage return that may be part of the end of the line
    while pieces:
        piece = pieces.pop()
        end = piece.find(b"\n") + 1 if one_line else 0
        if end:
            text = held_back + decode(piece[:end], True)
            yield text if keeps_ends else text[:-1].removesuffix("\r")
            return piece[end:]
        text = held_back + decode(piece, not pieces)
        held_back = ""
        if not keeps_ends and pieces and text.endswith("\r"):
            text, held_back = text[:-1], "\r"
        yield text
    return b""
