"""Items of symbols: the outline of a file, of the lines of a range, or of a class, instead of their text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from eyespan import tokens
from eyespan.dialects.native import own_lines
from eyespan.dialects.native.holdings import Digest
from eyespan.dialects.native.items import LEAST_TOKENS, LEFT_TOKENS, Shown
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


class OutlineItem:
    """Symbols with their lines. What does not fit is continued by the lines that it begins with."""

    def __init__(self, text: FileText, target: Target, view: View) -> None:
        """Raises: ReadError."""
        opened = text.opened
        self._outline = opened.outline()
        self._base = target if target.piece is None else replace(target, piece=None)
        self._name = own_lines.base_name(self._base)
        self._key = opened.facts.canonical
        self._known = view.known
        self.selector = write_target(target)
        self._last: int | None = None
        """The last line that is wanted; None: that of the file."""
        self._notes: tuple[str, ...] = ()
        symbols = self._outline.symbols
        match target.piece:
            case SymbolPiece(name) | Named(name, ()):
                found, full_name, self._notes = symbol_ranges(opened, name, write_target(self._base))
                self._name += write_symbol(full_name)
                symbols = self._within(symbols, found)
                self._last = found[-1].last if len(found) == 1 else None
            case Enclosing(ranges):
                found, full_name, self._notes = enclosing_ranges(opened, ranges, write_target(self._base))
                self._name += write_symbol(full_name) if full_name else ""
                symbols = self._within(symbols, found)
                self._last = found[-1].last
            case Ranges(ranges):
                found = line_ranges(text, ranges)
                symbols = self._within(symbols, found)
                self._name += f":{','.join([_spelled(one) for one in found])}"
                self._last = found[-1].last
        docs: dict[int, str] = {}
        if isinstance(target.piece, (SymbolPiece, Named, Enclosing)):
            docs = _docs(text, symbols, self._outline.language)
        self._groups = _groups(symbols, docs)

    def _within(self, symbols: Sequence[OutlineSymbol], ranges: Sequence[CharRange]) -> tuple[OutlineSymbol, ...]:
        """Return the symbols that begin in one of the ranges."""
        return tuple(
            [
                one
                for one in symbols
                if any(part.first <= one.first and (part.last is None or one.first <= part.last) for part in ranges)
            ]
        )

    def need(self) -> int:
        return tokens.estimate(own_lines.write(self._lines(_rows(self._groups)))) + 1

    def _lines(self, rows: Sequence[str]) -> tuple[str, ...]:
        """Return these rows after their header; without them, if the caller holds them."""
        outline = self._outline
        if not rows:
            reason = incompleteness(outline, "?PATTERN")
            return (own_lines.header(f"{self._name}: no symbols found{f': {reason}' if reason else ''}"),)
        header = f"outline of {self._name}, by {outline.how}"
        if not outline.is_complete:
            header += ", incomplete"
        if outline.hint:
            header += f" ({outline.hint})"
        value = self._hash(rows)
        if value in self._known:
            return (own_lines.words(f"{header} #{value} unchanged"),)
        return (own_lines.words(f"{header} #{value}"), *rows, *map(own_lines.note, self._notes))

    def _hash(self, rows: Sequence[str]) -> str:
        digest = Digest(self._key)
        digest.add("outline")
        for row in rows:
            digest.add(row)
        return digest.value()

    def show(self, max_tokens: int) -> Shown:
        groups = self._groups
        count, rows = len(groups), _rows(groups)
        if self.need() > max_tokens and rows:
            around = [*self._lines([""])[:1], *self._notes, self.selector]
            room = max(LEAST_TOKENS, max_tokens - tokens.estimate(own_lines.write(around)) - LEFT_TOKENS)
            count = count_fitting(["\n".join(group.rows) for group in groups], room, tokens.estimate)
            # All symbols of one line do not fit: some of them are shown, the others are in the line itself.
            rows = _rows(groups[:count]) if count else groups[0].cut(room)
            count = max(1, count)
        lines = self._lines(rows)
        left = None
        if count < len(groups):
            last = self._last
            first = groups[count].first
            rest = Ranges((Lines(first, None if last is None else last - first + 1),))
            left = write_target(replace(self._base, piece=rest))
        facts: dict[str, Any] = {
            "path": self._base.path,
            "selector": self.selector,
            "outline": self._outline.how,
            "tokens": tokens.estimate(own_lines.write(lines)),
            "next": left,
        }
        if rows:
            facts["hash"] = self._hash(rows)
            if facts["hash"] in self._known:
                facts["unchanged"] = True
        return Shown(lines, facts, () if left is None else (left,))


class _Group:
    """The rows of the symbols that begin with one line."""

    def __init__(self, symbols: Sequence[OutlineSymbol], rows: Sequence[str]) -> None:
        self.first = symbols[0].first
        self.rows = list(rows)
        self._names = [visible(symbol.name) for symbol in symbols]

    def cut(self, max_tokens: int) -> list[str]:
        """Return as many of the names as fit, at least one, and the number of the others."""
        if len(self._names) == 1:
            return self.rows
        count = count_fitting([f"{own_lines.entry(name)}," for name in self._names], max_tokens, tokens.estimate) or 1
        row = own_lines.outline_rows(f"{self.first} {', '.join(self._names[:count])}")
        more = len(self._names) - count
        return [*row, own_lines.words(f"… {more} more on line {self.first}")] if more else row


def _docs(text: FileText, symbols: Sequence[OutlineSymbol], language: str) -> dict[int, str]:
    """Return the first line of the documentation of symbols, by the line of their definition. Raises: ReadError."""
    if not symbols:
        return {}
    first, last = min(one.first for one in symbols), max(one.last for one in symbols)
    part, _ = text.read(CharRange(first, 1, last, MAX_DOCUMENTED_CHARS))
    lines = {row.number: row.text for row in rows_of(part)}
    found = [(one.line, first_doc_line(one, lines, language)) for one in symbols]
    return {line: doc for line, doc in found if doc}


def _groups(symbols: Sequence[OutlineSymbol], docs: Mapping[int, str]) -> list[_Group]:
    """Return the symbols in groups that begin with the same line, each with its documentation."""
    from eyespan.outline import Outline, render

    def row_of(symbol: OutlineSymbol) -> str:
        return render(Outline(symbols=(symbol,), how="shape", language="", is_complete=True))

    found: list[_Group] = []
    at = 0
    while at < len(symbols):
        end = at
        while end < len(symbols) and symbols[end].first == symbols[at].first:
            end += 1
        group = symbols[at:end]
        if len(group) > CROWDED and all(symbol.last == group[0].first for symbol in group):
            spelled = [f"{group[0].first} {', '.join([visible(symbol.name) for symbol in group])}"]
        else:
            spelled = list(dict.fromkeys(map(row_of, group)))
        rows = [row for text in spelled for row in own_lines.outline_rows(text)]
        if len(group) == 1 and group[0].line in docs:
            rows.append(f'{"  " * (group[0].depth + 1)}"{visible(docs[group[0].line])}"')
        found.append(_Group(group, rows))
        at = end
    return found


def _rows(groups: Sequence[_Group]) -> list[str]:
    return [row for group in groups for row in group.rows]


def _spelled(one: CharRange) -> str:
    return f"{one.first}-" if one.last is None else f"{one.first}-{one.last}"


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
