"""Pieces of Markdown that all converters share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

MAX_TEXT_BYTES = 32 * 1024 * 1024
_BLANK_LINES = re.compile(r"\n{3,}")
_LINE_ENDS = re.compile(r"(?<![ \t])[ \t]*+(?:\r\n|\r|\n)")  # possessive: one attempt for each run of blanks


def cell(text: str) -> str:
    """Return text as a cell of a table: on one line, with bars escaped."""
    if text.isalnum():
        return text
    text = text.strip()
    if "|" in text:
        text = text.replace("|", "\\|")
    return _LINE_ENDS.sub("<br>", text) if "\n" in text or "\r" in text else text


def table(rows: Sequence[Sequence[str]]) -> str:
    """Return rows as a table, the first as its header. Short rows are padded."""
    width = max((len(row) for row in rows), default=0)
    if not width:
        return ""
    lines = ["| " + " | ".join([*map(cell, row), *[""] * (width - len(row))]) + " |" for row in rows]
    lines.insert(1, "|" + " --- |" * width)
    return "\n".join(lines)


class ListItem(str):
    """A block that is an item of a list. There is no empty line between it and the items around it."""

    __slots__ = ()


def indented(text: str, label: str, level: int) -> str:
    """Return text as an item of a list, with further lines aligned below the first."""
    if not level and "\n" not in text:
        return f"{label} {text}"
    space = "  " * level
    return space + label + " " + text.replace("\n", "\n" + space + " " * (len(label) + 1))


_ROMAN = ((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x"))
_ROMAN_ONES = ("", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix")


def counted(number: int, style: str) -> str:
    """Return the number of a list's item in the style that an office file names: lowerLetter, upperRoman ..."""
    name = style.lower()
    if "roman" in name and 0 < number < 4000:
        text = ""
        for value, letters in _ROMAN:
            text += letters * (number // value)
            number %= value
        text += _ROMAN_ONES[number]
    elif ("letter" in name or "alpha" in name) and 0 < number < 26 * 30:
        text = chr(97 + (number - 1) % 26) * ((number - 1) // 26 + 1)
    else:
        return f"{number:02}" if name == "decimalzero" else str(number)
    return text.upper() if name.startswith(("upper", "alphauc", "romanuc")) else text


def finish(blocks: Iterable[str]) -> bytes:
    """Join blocks by empty lines and return UTF-8 with LF line ends, cut at `MAX_TEXT_BYTES`."""
    pieces: list[str] = []
    list_label = ""  # of the list that the block before belongs to
    is_tidy = True
    for block in blocks:
        if not block or block.isspace():
            continue
        label, space = "", "\n\n"
        if type(block) is ListItem:
            label = list_label if block[0] == " " else "-" if block[0] in "->" else "1"
            if label and label == list_label:
                space = "\n"
        list_label = label
        if "\n" in block or block[-1] in " \t\r":
            is_tidy = False
            block = block.strip("\n")
        pieces += (space, block)
    text = "".join(pieces[1:])
    # The searches run only if they may find something: over a whole text they cost more than parsing it.
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        is_tidy = False
    if not is_tidy:
        text = _LINE_ENDS.sub("\n", text) if " \n" in text or "\t\n" in text else text
        text = _BLANK_LINES.sub("\n\n", text) if "\n\n\n" in text else text
    return encode(text + "\n" if text else "")


def encode(text: str) -> bytes:
    """Return text as UTF-8, cut after a line at `MAX_TEXT_BYTES`."""
    data = text.encode("utf-8", "replace")
    if len(data) <= MAX_TEXT_BYTES:
        return data
    end = data.rfind(b"\n", 0, MAX_TEXT_BYTES) + 1
    return data[:end] + b"[the rest is left out: more than %d MiB of text]\n" % (MAX_TEXT_BYTES >> 20)
