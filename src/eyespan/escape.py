"""Make names and other foreign text safe to print.

A name can hold anything but "/" and NUL: line feeds, control sequences of terminals, characters that reverse the
direction of a line or have no width. `visible` writes those out as escapes, so that a name stays on its line and shows
all of its characters. A name can also hold bytes that are not Unicode; `valid_text` writes those out, so that every
answer is valid UTF-8. `written_path` and `named_path` write and read such names, so that a path of an answer leads
back to its file. `quoted_pieces` writes a long text as a JSON string.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from typing import Any

BLANKS = "\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
"""Blanks of other widths: not printable to Python, harmless on a line."""
FILLERS = "\u115f\u1160\u17b4\u17b5\u3164\uffa0\u034f"
"""Letters and marks that are printable to Python and show nothing."""
MAX_NAME_CHARS = 300
_PIECE_CHARS = 1 << 20


def visible(text: str, *, keeps_tabs: bool = False) -> str:
    """Return the text with every character that is hidden, or moves what follows it, written as an escape."""
    if text.isprintable() and (text.isascii() or not any(map(is_hidden, text))):
        return text
    return "".join(
        [
            escaped(character) if is_hidden(character) and not (keeps_tabs and character == "\t") else character
            for character in text
        ]
    )


def short_name(name: str, max_chars: int = MAX_NAME_CHARS) -> str:
    """Return a visible name, cut at the end if it is very long."""
    shown = visible(name[: max_chars + 1])
    return shown if len(name) <= max_chars else f"{shown[:max_chars]}..."


def is_hidden(character: str) -> bool:
    """Return True for controls, line separators, direction marks, characters without width, fillers and tags."""
    if character.isprintable():
        return character in FILLERS or "\U000e0000" <= character <= "\U000e0fff" or "\ufe00" <= character <= "\ufe0e"
    return character not in BLANKS


def escaped(character: str) -> str:
    """Return the escape of one character, as Python writes it."""
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def is_valid(text: str) -> bool:
    """Return True if a string can be encoded as UTF-8."""
    if text.isascii():
        return True
    try:
        for at in range(0, len(text), _PIECE_CHARS):  # piece by piece, so that a large text is not held twice
            text[at : at + _PIECE_CHARS].encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def valid_text(text: str) -> str:
    """Return the text with lone surrogates, as in names of other encodings, written as escapes."""
    return text if text.isascii() or is_valid(text) else text.encode("utf-8", "backslashreplace").decode("utf-8")


_BYTE_ESCAPE = "\\udc"
"""The start of an escape for one byte of a name, as `valid_text` writes it: `\\udcff` is the byte ff."""


def written_path(path: str, *, escapes_backslashes: bool = False) -> str:
    """Return a path as valid text from which `named_path` makes the same path again.

    Bytes that are not Unicode become escapes; a backslash that would look like the start of one becomes `\\udc5c`, and
    with `escapes_backslashes` every other one too.
    """
    if escapes_backslashes:
        path = path.replace("\\", f"{_BYTE_ESCAPE}5c")
    elif _BYTE_ESCAPE in path:
        path = path.replace(_BYTE_ESCAPE, f"{_BYTE_ESCAPE}5cudc")
    return valid_text(path)


def named_path(text: str) -> str:
    """Return the path that a text of `written_path` names; any other text is returned as it is."""
    if _BYTE_ESCAPE not in text:
        return text
    first, *rest = text.split(_BYTE_ESCAPE)
    pieces = [first]
    for piece in rest:
        code = piece[:2]
        if code == "5c":
            pieces.append("\\" + piece[2:])
        elif len(code) == 2 and code[0] in "89abcdef" and code[1] in "0123456789abcdef":
            pieces.append(chr(0xDC00 + int(code, 16)) + piece[2:])
        else:
            pieces.append(_BYTE_ESCAPE + piece)
    path = "".join(pieces)
    try:
        # Escaped bytes that are valid UTF-8 together are characters, by which rules compare names.
        return os.fsdecode(os.fsencode(path))
    except UnicodeEncodeError:
        return text


def valid_tree(value: Any) -> Any:
    """Return a JSON value with `valid_text` applied to every string in it."""
    if value is None or isinstance(value, (int, float)):
        return value
    if isinstance(value, str):
        return valid_text(value)
    if isinstance(value, dict):
        return {valid_text(name): valid_tree(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [valid_tree(item) for item in value]
    return value


def in_plain_words(error: BaseException) -> str:
    """Return the reason of an error that ends a command, with the file it is about, without its number.

    For files that a command needs itself: configuration, tokens, certificates, logs. `str` of these errors shows an
    errno, or the words of a codec.
    """
    if isinstance(error, UnicodeDecodeError):
        return "not UTF-8 text"
    if isinstance(error, OSError) and error.strerror:
        name = error.filename
        if isinstance(name, bytes):
            name = name.decode("utf-8", "surrogateescape")
        return f"{visible(name)}: {error.strerror}" if isinstance(name, str) else error.strerror
    if isinstance(error, ValueError) and "embedded null" in str(error):
        return "a name contains a NUL byte"
    return visible(str(error))


QUOTED_CHARS = 1 << 16
"""A text of more characters is quoted in pieces."""


def quoted_pieces(text: str) -> Iterator[bytes]:
    """Yield a text as a JSON string in UTF-8, piece by piece.

    A str that has one wide character takes four bytes for every other one, and so do the escapes in it: six characters
    for a control character. Pieces are bytes, so nothing of the whole text is that wide.
    """
    yield b'"'
    for at in range(0, len(text), QUOTED_CHARS):
        yield _quoted(text[at : at + QUOTED_CHARS])[1:-1]
    yield b'"'


def quoted_bytes(text: str) -> int:
    """Return the size of a text as a JSON string."""
    return sum([len(piece) for piece in quoted_pieces(text)])


def _quoted(text: str) -> bytes:
    return encode_json(json.encoder.encode_basestring(text))


def encode_json(quoted: str) -> bytes:
    """Return JSON as UTF-8; a lone surrogate becomes the text of its escape."""
    try:
        return quoted.encode()
    except UnicodeEncodeError:
        # As a JSON escape it would break the reader. The backslash of that text is a JSON escape itself.
        return "".join([f"\\\\u{ord(c):04x}" if "\ud800" <= c <= "\udfff" else c for c in quoted]).encode()


def plural(count: int, noun: str, plural_noun: str = "") -> str:
    """Return a count with its noun."""
    return f"{count:,} {noun if count == 1 else plural_noun or f'{noun}s'}"


def joined_spans(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return spans of numbers in order, those that touch or overlap as one."""
    joined: list[tuple[int, int]] = []
    for first, last in sorted(spans):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(joined[-1][1], last))
        else:
            joined.append((first, last))
    return joined


def number_runs(numbers: Iterable[int], most: int = 1 << 30) -> str:
    """Return numbers as `3,7-9,12`; of more than `most` runs the first."""
    runs = joined_spans([(number, number) for number in numbers])
    names = [f"{first}-{last}" if last > first else f"{first}" for first, last in runs[:most]]
    return ",".join([*names, "..."] if len(runs) > most else names)
