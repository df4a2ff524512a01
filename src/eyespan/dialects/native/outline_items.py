"""Items of symbols: the outline of a file, of the lines of a range, or of a class, instead of their text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

from eyespan import tokens
from eyespan.dialects.native import own_lines
from eyespan.dialects.native.items import RowsItem
from eyespan.dialects.native.rows import count_fitting, rows_of
from eyespan.dialects.native.wanted import line_ranges
from eyespan.dialects.pieces import enclosing_ranges, incompleteness, symbol_ranges
from eyespan.escape import visible
from eyespan.model import CharRange, Lines
from eyespan.selectors import Enclosing, Named, Ranges, SymbolPiece, Target, write_symbol, write_target

if TYPE_CHECKING:
    from eyespan.dialects.native.items import View
    from eyespan.dialects.native.text import FileText
    from eyespan.outline import Symbol as OutlineSymbol


MAX_DOCUMENTED_CHARS = 1 << 20
MAX_DOC_CHARS = 100
MAX_HEADER_LINES = 40
_COMMENTS = ("///", "//!", "/**", "/*!", "//", "/*", "*/", "--[[", "--", ";;;", ";;", ";", "#:", "#", "*", "%")
_QUOTES = ('"""', "'''", '"', "'")
CROWDED = 3
"""More symbols than this within one line are listed by their names alone: the line is minified."""


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
    is_symbol = isinstance(target.piece, (SymbolPiece, Named, Enclosing))
    groups = _groups(symbols)
    docs = _docs(text, symbols, outline.language) if is_symbol else {}
    rows = [_rows(group, docs) for group in groups]
    last = found[-1].last if len(found) == 1 or not isinstance(target.piece, (SymbolPiece, Named)) else None

    def header(count: int, _: int | None) -> Sequence[str]:
        if not count:
            reason = incompleteness(outline, "?PATTERN")
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
        cut=lambda max_tokens: _names_that_fit(groups[0], rows[0], max_tokens),
    )


def _names_that_fit(group: Sequence[OutlineSymbol], rows: Sequence[str], max_tokens: int) -> Sequence[str]:
    """Return as many names of the symbols of one line as fit, at least one, and the number of the others."""
    if len(group) == 1:
        return rows
    names = [visible(symbol.name) for symbol in group]
    count = count_fitting([f"{own_lines.entry(name)}," for name in names], max_tokens, tokens.estimate) or 1
    row = own_lines.outline_rows(f"{group[0].first} {', '.join(names[:count])}")
    more = len(names) - count
    return [*row, own_lines.words(f"… {more} more on line {group[0].first}")] if more else row


def _docs(text: FileText, symbols: Sequence[OutlineSymbol], language: str) -> dict[int, str]:
    """Return the first line of the documentation of symbols, by the line of their definition. Raises: ReadError."""
    if not symbols:
        return {}
    first, last = min(one.first for one in symbols), max(one.last for one in symbols)
    part, _ = text.read(CharRange(first, 1, last, MAX_DOCUMENTED_CHARS))
    lines = {row.number: row.text for row in rows_of(part)}
    found = [(one.line, first_doc_line(one, lines, language)) for one in symbols]
    return {line: doc for line, doc in found if doc}


def _groups(symbols: Sequence[OutlineSymbol]) -> list[list[OutlineSymbol]]:
    """Return the symbols in groups that begin with the same line."""
    return [list(group) for _, group in groupby(symbols, key=lambda symbol: symbol.first)]


def _rows(group: Sequence[OutlineSymbol], docs: Mapping[int, str]) -> list[str]:
    """Return the rows of the symbols that begin with one line, with the documentation of a single one."""
    from eyespan.outline import Outline, render

    if len(group) > CROWDED and all(symbol.last == group[0].first for symbol in group):
        spelled = [f"{group[0].first} {', '.join([visible(symbol.name) for symbol in group])}"]
    else:
        single = [Outline(symbols=(symbol,), how="shape", language="", is_complete=True) for symbol in group]
        spelled = list(dict.fromkeys(map(render, single)))
    rows = [row for text in spelled for row in own_lines.outline_rows(text)]
    if len(group) == 1 and group[0].line in docs:
        rows.append(f'{"  " * (group[0].depth + 1)}"{visible(docs[group[0].line])}"')
    return rows


# --- documentation ---------------------------------------------------------------------------------------------------


def first_doc_line(symbol: OutlineSymbol, lines: Mapping[int, str], language: str) -> str:
    """Return the first line of a symbol's documentation, or "". `lines` holds the lines of the symbol by number."""
    found = _docstring(symbol, lines) if language == "python" else ""
    return _shortened(found or _comment(symbol, lines))


def _comment(symbol: OutlineSymbol, lines: Mapping[int, str]) -> str:
    for number in range(symbol.first, symbol.line):
        text = lines.get(number, "").strip()
        if text.startswith(("#[", "@")):
            continue
        for sign in _COMMENTS:
            if text.startswith(sign):
                words = text[len(sign) :].strip().removesuffix("*/").strip()
                if any(character.isalnum() for character in words):
                    return words
                break
    return ""


def _docstring(symbol: OutlineSymbol, lines: Mapping[int, str]) -> str:
    depth = 0
    for number in range(symbol.line, min(symbol.last, symbol.line + MAX_HEADER_LINES)):
        text = lines.get(number, "").partition("#")[0].rstrip()
        depth += sum(map(text.count, "([{")) - sum(map(text.count, ")]}"))
        if depth <= 0 and text.endswith(":"):
            return _string_start([lines.get(number + at, "").strip() for at in (1, 2)])
    return ""


def _string_start(following: list[str]) -> str:
    """Return the first line of a string that starts in the first of these lines; "" if there is none."""
    text = following[0].lstrip("rRuUbB")
    for quote in _QUOTES:
        if text.startswith(quote):
            words = text[len(quote) :].partition(quote)[0].strip()
            return words or (following[1].partition(quote)[0].strip() if len(quote) == 3 else "")
    return ""


def _shortened(text: str) -> str:
    return text if len(text) <= MAX_DOC_CHARS else f"{text[: MAX_DOC_CHARS - 1].rstrip()}…"
