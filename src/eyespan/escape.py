"""Make names and other foreign text safe to print.

A name can hold anything but "/" and NUL: line feeds, control sequences of terminals, characters that reverse the
direction of a line or have no width. `visible` writes those out as escapes, so that a name stays on its line and shows
all of its characters.
"""

from __future__ import annotations

BLANKS = "\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
"""Blanks of other widths: not printable to Python, harmless on a line."""
FILLERS = "\u115f\u1160\u17b4\u17b5\u3164\uffa0\u034f"
"""Letters and marks that are printable to Python and show nothing."""
MAX_NAME_CHARS = 300


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
