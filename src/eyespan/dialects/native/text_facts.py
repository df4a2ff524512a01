"""What a reader cannot see in text but must know to edit it: line ends, hidden characters, mixed indentation.

Pure: lines in, short words out. Only what matters is said: of a file in UTF-8 whose lines all end in a line feed there
is nothing to say. The text itself is never altered; these facts stand beside it.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MAX_PLACES = 5
MAX_SPANS = 4

# Direction marks, characters without width, blanks that are none, fillers, tags, variation selectors beyond those of
# emoji. Controls are told by their number. U+2028, U+2029 and U+0085 look like line ends and are none here.
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


def hidden(lines: Iterable[tuple[int, int, str]]) -> list[tuple[int, int, int]]:
    """Code point, line and column of each hidden character of (line, first column, text)."""
    found: list[tuple[int, int, int]] = []
    for number, column, text in lines:
        if text.isprintable():  # none of these is, but for fillers and selectors
            if text.isascii() or not any(ord(c) in _HIDDEN for c in text):
                continue
        elif text.isascii() and text.replace("\t", "").isprintable():
            continue
        for at, character in enumerate(text):
            if _is_hidden(character) and not (character in _JOINERS and _joins(text, at)):
                found.append((ord(character), number, column + at))
    return found


def _is_hidden(character: str) -> bool:
    code = ord(character)
    return (code < 0x20 and code != 9) or 0x7F <= code < 0xA0 or code in _HIDDEN


def _joins(text: str, at: int) -> bool:
    """Whether a joiner stands between letters or pictures of scripts that need it."""
    return 0 < at < len(text) - 1 and not text[at - 1].isascii() and not text[at + 1].isascii()


def describe_hidden(found: Sequence[tuple[int, int, int]]) -> str:
    """`hidden U+200B at 3:14, U+202E at 7:2`, or ""."""
    if not found:
        return ""
    said = ", ".join([f"U+{code:04X} at {line}:{column}" for code, line, column in found[:MAX_PLACES]])
    more = f" and {len(found) - MAX_PLACES} more" if len(found) > MAX_PLACES else ""
    return f"hidden {said}{more}"


def describe_line_ends(with_cr: Sequence[int], without_cr: Sequence[int]) -> str:
    """What ends the lines, if it is not a plain line feed: given the numbers of those with and without a CR."""
    if not with_cr:
        return ""
    if not without_cr:
        return "CRLF"
    few, what = (with_cr, "CRLF") if len(with_cr) <= len(without_cr) else (without_cr, "LF")
    return f"mixed line ends, {what} on {number_runs(few)}"


def describe_indentation(lines: Iterable[tuple[int, str]]) -> str:
    """Which lines are indented by tabs where others are by blanks, or ""."""
    tabs: list[int] = []
    blanks: list[int] = []
    for number, text in lines:
        lead = text[: len(text) - len(text.lstrip(" \t"))]
        if "\t" in lead:
            tabs.append(number)
        elif len(lead) > 1 and len(lead) < len(text):  # a single blank leads the middle lines of many comments
            blanks.append(number)
    if not tabs or not blanks:
        return ""
    few, what = (tabs, "tabs") if len(tabs) <= len(blanks) else (blanks, "blanks")
    return f"mixed indentation, {what} on {number_runs(few)}"


def number_runs(numbers: Sequence[int]) -> str:
    """`3, 7-9, 12` for sorted numbers; the first few spans of many."""
    found: list[list[int]] = []
    for number in numbers:
        if found and found[-1][1] == number - 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    said = [f"{first}" if first == last else f"{first}-{last}" for first, last in found[:MAX_SPANS]]
    if len(found) > MAX_SPANS:
        said.append("...")
    return ", ".join(said)
