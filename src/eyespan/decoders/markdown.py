"""Small pieces of Markdown that all converters write alike."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MAX_TEXT_BYTES = 32 * 1024 * 1024
_BLANK_LINES = re.compile(r"\n{3,}")
_LINE_ENDS = re.compile(r"(?<![ \t])[ \t]*+(?:\r\n|\r|\n)")  # tried once for each run of blanks, not from each


def cell(text: str) -> str:
    """One cell of a table: on one line, its bars escaped."""
    if text.isalnum():
        return text
    text = text.strip()
    if "|" in text:
        text = text.replace("|", "\\|")
    return _LINE_ENDS.sub("<br>", text) if "\n" in text or "\r" in text else text


def table(rows: Sequence[Sequence[str]]) -> str:
    """Rows as a table, the first of them as its head; rows that are shorter than others are filled up."""
    width = max((len(row) for row in rows), default=0)
    if not width:
        return ""
    lines = ["| " + " | ".join([*map(cell, row), *[""] * (width - len(row))]) + " |" for row in rows]
    lines.insert(1, "|" + " --- |" * width)
    return "\n".join(lines)


class Item(str):
    """A block that is an item of a list: it stands close to the items around it."""

    __slots__ = ()


def indented(text: str, mark: str, level: int) -> str:
    """An item of a list; what follows in further lines stands below its text."""
    if not level and "\n" not in text:
        return f"{mark} {text}"
    space = "  " * level
    return space + mark + " " + text.replace("\n", "\n" + space + " " * (len(mark) + 1))


def finish(blocks: Iterable[str]) -> bytes:
    """Blocks with empty lines between them as UTF-8, LF at every line's end, cut where it grows beyond bounds."""
    pieces: list[str] = []
    top = ""  # the mark of the list that goes on, or ""
    tidy = True
    for block in blocks:
        if not block or block.isspace():
            continue
        mark, space = "", "\n\n"
        if type(block) is Item:
            mark = top if block[0] == " " else "-" if block[0] in "->" else "1"
            if top and top == mark:
                space = "\n"
        top = mark
        if "\n" in block or block[-1] in " \t\r":
            tidy = False
            block = block.strip("\n")
        pieces += (space, block)
    text = "".join(pieces[1:])
    # Each search only where there may be something to find: over a whole text they cost more than parsing it.
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        tidy = False
    if not tidy:
        text = _LINE_ENDS.sub("\n", text) if " \n" in text or "\t\n" in text else text
        text = _BLANK_LINES.sub("\n\n", text) if "\n\n\n" in text else text
    return encode(text + "\n" if text else "")


def encode(text: str) -> bytes:
    data = text.encode("utf-8", "replace")
    if len(data) <= MAX_TEXT_BYTES:
        return data
    end = data.rfind(b"\n", 0, MAX_TEXT_BYTES) + 1
    return data[:end] + b"[the rest is left out: more than %d MiB of text]\n" % (MAX_TEXT_BYTES >> 20)
