"""Items of symbols: the outline of a file, of the lines of a range, or of a class, instead of their text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

from eyespan.dialects.native import own_lines
from eyespan.dialects.native.items import RowsItem
from eyespan.dialects.native.wanted import line_ranges
from eyespan.dialects.pieces import enclosing_ranges, incompleteness, symbol_ranges
from eyespan.escape import visible
from eyespan.model import CharRange, Lines
from eyespan.selectors import Enclosing, Named, Ranges, SymbolPiece, Target, write_symbol, write_target

if TYPE_CHECKING:
    from eyespan.dialects.native.items import View
    from eyespan.dialects.native.text import FileText
    from eyespan.outline import Symbol as OutlineSymbol


CROWDED = 3
"""More symbols than this within one line are listed by their names alone: the line is minified."""
MAX_CROWDED = 40
"""The names that are listed of such a line; a search finds the others."""


def outline_item(text: FileText, target: Target, view: View) -> RowsItem:
    """Return symbols with their lines. What does not fit is continued by the lines that it begins with.

    Raises: ReadError.
    """
    opened = text.opened
    outline = opened.outline()
    base = target if target.piece is None else replace(target, piece=None)
    name = own_lines.base_name(base)
    notes: tuple[str, ...] = ()
    found: tuple[CharRange, ...] = (CharRange(),)
    match target.piece:
        case SymbolPiece(symbol) | Named(symbol, ()):
            found, full_name, notes = symbol_ranges(opened, symbol, write_target(base))
            name += write_symbol(full_name)
        case Enclosing(ranges):
            found, full_name, notes = enclosing_ranges(opened, ranges, write_target(base))
            name += write_symbol(full_name) if full_name else ""
        case Ranges(ranges):
            found = line_ranges(text, ranges)
            name += ":" + ",".join([f"{one.first}-{one.last or ''}" for one in found])
    symbols = [
        one
        for one in outline.symbols
        if any(part.first <= one.first and (part.last is None or one.first <= part.last) for part in found)
    ]
    groups = _groups(symbols)
    rows = [_rows(group) for group in groups]
    last = found[-1].last if len(found) == 1 or not isinstance(target.piece, (SymbolPiece, Named)) else None

    def header(count: int, _: int | None) -> Sequence[str]:
        if not count:
            reason = incompleteness(outline, f"{write_target(base)}?PATTERN")
            return [own_lines.header(f"{name}: no symbols found{f': {reason}' if reason else ''}")]
        title = f"outline of {name}, by {outline.how}{'' if outline.is_complete else ', incomplete'}"
        return [own_lines.words(f"{title} ({outline.hint})" if outline.hint else title)]

    def following(count: int) -> str | None:
        if count >= len(groups):
            return None
        first = groups[count][0].first
        rest = Ranges((Lines(first, None if last is None else last - first + 1),))
        return write_target(replace(base, piece=rest))

    facts = {"path": base.path, "selector": write_target(target), "outline": outline.how}
    return RowsItem(
        write_target(target),
        rows,
        header,
        following,
        facts,
        view,
        key=f"{opened.facts.canonical}\noutline",
        notes=[own_lines.note(note) for note in notes],
    )


def _groups(symbols: Sequence[OutlineSymbol]) -> list[list[OutlineSymbol]]:
    """Return the symbols in groups that begin with the same line."""
    return [list(group) for _, group in groupby(symbols, key=lambda symbol: symbol.first)]


def _rows(group: Sequence[OutlineSymbol]) -> list[str]:
    """Return the rows of the symbols that begin with one line."""
    from eyespan.outline import Outline, render

    if len(group) > CROWDED and all(symbol.last == group[0].first for symbol in group):
        names = [visible(symbol.name) for symbol in group[:MAX_CROWDED]]
        row = own_lines.outline_rows(f"{group[0].first} {', '.join(names)}")
        more = len(group) - len(names)
        return [*row, own_lines.words(f"… {more} more on line {group[0].first}")] if more else row
    single = [Outline(symbols=(symbol,), how="shape", language="", is_complete=True) for symbol in group]
    return [row for text in dict.fromkeys(map(render, single)) for row in own_lines.outline_rows(text)]
