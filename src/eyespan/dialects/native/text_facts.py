"""Describe invisible properties of text that matter for edits: line ends, hidden characters, mixed indentation.

Each function returns a short description, or "" in the usual case: for a file in UTF-8 whose lines all end in a line
feed there is none. The text itself is not changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from eyespan.escape import number_runs

MAX_PLACES = 5
MAX_RUNS = 4
MAX_COUNTED = 10_000
"""Hidden characters beyond these are not counted: a text can consist of them."""

# Direction marks, characters without width, fillers, tags, variation selectors other than those of emoji. Control
# characters are recognised by their code. U+2028, U+2029 and U+0085 look like line ends, but are not.
_HIDDEN = frozenset(
    [
        *range(0x200B, 0x2010),
        *range(0x202A, 0x202F),
        *range(0x2060, 0x2070),
        *range(0xE0000, 0xE0080),
        *range(0xE0100, 0xE01F0),
        0x00AD, 0x034F, 0x061C, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180E, 0x2028, 0x2029, 0x3164, 0xFEFF, 0xFFA0,
    ]
)  # fmt: skip
_JOINERS = "\u200c\u200d"
_SUSPECT = frozenset(map(chr, {*_HIDDEN, *range(0x20), *range(0x7F, 0xA0)} - {9, 10}))
"""All hidden characters: those above, and control characters other than tabs and line feeds."""


def hidden(lines: Sequence[tuple[int, int, str]]) -> Iterator[tuple[int, int, int]]:
    """Yield code point, line and column of each hidden character. `lines`: number, first column and text of each."""
    whole = "".join([text for _, _, text in lines])
    if whole.isascii() and whole.replace("\t", "").isprintable():
        return
    for number, column, text in lines:
        if _SUSPECT.isdisjoint(text):
            continue
        for at, character in enumerate(text):
            if character in _SUSPECT and not (character in _JOINERS and _joins(text, at)):
                yield ord(character), number, column + at


def _joins(text: str, at: int) -> bool:
    """Return True if a joiner stands between letters of a script that needs it, or between emoji."""
    return 0 < at < len(text) - 1 and not text[at - 1].isascii() and not text[at + 1].isascii()


def describe_hidden(found: Iterable[tuple[int, int, int]]) -> str:
    """Return a text such as `hidden U+200B at 3:14, U+202E at 7:2`, or ""."""
    places = []
    count = 0
    for code, line, column in found:  # never a list: a text can consist of them
        count += 1
        if count > MAX_COUNTED:
            break
        if count <= MAX_PLACES:
            places.append(f"U+{code:04X} at {line}:{column}")
    if not places:
        return ""
    more = f" and {count - MAX_PLACES} more" if count > MAX_PLACES else ""
    if count > MAX_COUNTED:
        more = f" and more than {MAX_COUNTED - MAX_PLACES} more"
    return f"hidden {', '.join(places)}{more}"


def describe_line_ends(with_cr: Sequence[int], without_cr: Sequence[int]) -> str:
    """Return the line ends of a text in which some lines have a CR. Arguments: the lines with and without one."""
    if not without_cr:
        return "CRLF"
    few, name = (with_cr, "CRLF") if len(with_cr) <= len(without_cr) else (without_cr, "LF")
    return f"mixed line ends, {name} on {number_runs(few, MAX_RUNS)}"


def describe_indentation(lines: Sequence[tuple[int, str]]) -> str:
    """Return the lines indented with tabs if others are indented with blanks, or the reverse; else ""."""
    tabs = [number for number, text in lines if "\t" in text and "\t" in _indent(text)]
    if not tabs:
        return ""
    indents = [(number, _indent(text), text) for number, text in lines if text.startswith("  ")]
    # One blank starts the middle lines of many comments.
    blanks = [number for number, indent, text in indents if "\t" not in indent and len(indent) < len(text)]
    if not blanks:
        return ""
    few, name = (tabs, "tabs") if len(tabs) <= len(blanks) else (blanks, "blanks")
    return f"mixed indentation, {name} on {number_runs(few, MAX_RUNS)}"


def _indent(text: str) -> str:
    return text[: len(text) - len(text.lstrip(" \t"))]
