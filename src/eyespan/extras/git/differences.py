"""The difference of a file between two revisions (`a.py@v1..v2`), or a revision and the file (`a.py@v1..`).

The result is text in the form of `diff -u`, for `native` and `eyespan read` alike. Files are compared line by line.
Parts that are too large to compare closely are shown as removed and added as a whole, so the work is bounded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from sys import getsizeof
from typing import Any

from eyespan.dialects.pieces import symbol_ranges
from eyespan.errors import NoRevision, NoSymbol, TooLarge
from eyespan.model import CharRange, TextPart
from eyespan.opened import Opened
from eyespan.selectors import Named, SymbolPiece, Target, write_target

MAX_CHARS = 4 * 1024 * 1024
"""Larger files are not compared."""
MAX_COMPARED = 5000
"""The lines between the common beginning and the common end that are compared closely."""
CONTEXT_LINES = 3
NO_NEWLINE = "\\ No newline at end of file"


def difference(target: Target, open_file: Callable[[Target], Opened]) -> tuple[str, Opened]:
    """Return the difference of a target as text, "" if there is none, and the newer file.

    Raises: ReadError, if one of the files cannot be read or is too large; NoRevision, if the target names no older one.
    """
    first, _, second = target.revision.partition("..")  # no revision of git contains two dots
    if not first:
        raise NoRevision(target.path, revision=target.revision, reason=f"no revision '{target.revision}'")
    piece = target.piece if _symbol_name(target) else None
    old = replace(target, revision=first, piece=piece)
    new = replace(target, revision=second.removeprefix("."), piece=piece)
    opened, older = open_file(replace(new, piece=None)), open_file(replace(old, piece=None))
    context = opened.context
    with context.memory.loan():
        text = _difference(old, older, new, opened)
        older.source.drop_buffers()
        opened.source.drop_buffers()
    context.charge(getsizeof(text))
    return text, opened


def _difference(old: Target, older: Opened, new: Target, newer: Opened) -> str:
    before_first, before = _lines_of_side(old, older)
    after_first, after = _lines_of_side(new, newer)
    if before == after:
        return ""
    hunks = _hunks(before, after)
    old_name, new_name = write_target(replace(old, piece=None)), write_target(replace(new, piece=None))
    lines = [f"--- {old_name}", f"+++ {new_name}"]
    for hunk in hunks:
        lines += _shown(hunk, before, after, before_first, after_first)
    return "".join([f"{line}\n" for line in lines])


def _symbol_name(target: Target) -> str:
    match target.piece:
        case SymbolPiece(name) | Named(name, ()):
            return name
    return ""


def _lines_of_side(target: Target, opened: Opened) -> tuple[int, list[str]]:
    """Return the number of the first line and the lines with their ends, of a file or of a symbol in it.

    A symbol that the file does not have has no lines. Raises: ReadError.
    """
    ranges: tuple[CharRange, ...] = (CharRange(max_chars=MAX_CHARS),)
    name = _symbol_name(target)
    if name:
        try:
            ranges = symbol_ranges(opened, name, write_target(replace(target, piece=None)))[0]
        except NoSymbol:
            return 1, []
    lines: list[str] = []
    for one in ranges:
        part: Any = opened.read(replace(one, max_chars=MAX_CHARS)).parts[0]
        assert isinstance(part, TextPart)
        if part.cut_short:
            raise TooLarge(target.path, size_bytes=opened.facts.size_bytes, limit_bytes=MAX_CHARS)
        lines += part.data.decode("utf-8", "replace").split("\n")
        if not lines[-1]:
            lines.pop()
        else:
            lines[-1] += f"\n{NO_NEWLINE}"
    return ranges[0].first, lines


Hunk = list[tuple[str, int, int, int, int]]
"""Operations: a name, and the first and the last place in the old and the new lines."""


def _hunks(before: Sequence[str], after: Sequence[str]) -> list[Hunk]:
    """Return groups of changes that lie close together, with the lines around them."""
    start = end = 0
    while start < min(len(before), len(after)) and before[start] == after[start]:
        start += 1
    while end < min(len(before), len(after)) - start and before[-1 - end] == after[-1 - end]:
        end += 1
    first, last = max(0, start - CONTEXT_LINES), max(0, end - CONTEXT_LINES)
    old, new = before[first : len(before) - last], after[first : len(after) - last]
    groups: Iterable[Hunk]
    if max(len(old), len(new)) > MAX_COMPARED:
        lead, old_end, new_end = start - first, len(old) - end + last, len(new) - end + last
        replaced = ("replace", lead, old_end, lead, new_end)
        groups = [[("equal", 0, lead, 0, lead), replaced, ("equal", old_end, len(old), new_end, len(new))]]
    else:
        groups = SequenceMatcher(None, old, new).get_grouped_opcodes(CONTEXT_LINES)
    return [
        [(tag, i1 + first, i2 + first, j1 + first, j2 + first) for tag, i1, i2, j1, j2 in group] for group in groups
    ]


def _shown(hunk: Hunk, before: Sequence[str], after: Sequence[str], before_first: int, after_first: int) -> list[str]:
    old_first, old_end = hunk[0][1], hunk[-1][2]
    new_first, new_end = hunk[0][3], hunk[-1][4]
    old, new = _span(before_first + old_first, old_end - old_first), _span(after_first + new_first, new_end - new_first)
    lines = [f"@@ -{old} +{new} @@"]
    for tag, i1, i2, j1, j2 in hunk:
        if tag == "equal":
            lines += [f" {line}" for line in before[i1:i2]]
        else:
            lines += [f"-{line}" for line in before[i1:i2]]
            lines += [f"+{line}" for line in after[j1:j2]]
    return lines


def _span(first: int, count: int) -> str:
    return f"{first if count else first - 1},{count}" if count != 1 else f"{first}"
