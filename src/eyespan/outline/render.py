"""Render an outline as text for a model: one short line for each symbol, `12-40 class Harbour`, indented by depth."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from eyespan.outline.model import Outline, Symbol, shortened
from eyespan.tokens import estimate

SIGNATURE_CHARS = 80
MIN_SHARE = 0.4
"""The share of the budget below which a listing without details gives way to the start of a more detailed one."""


def render(outline: Outline, tokens: int | None = None, signature_chars: int = SIGNATURE_CHARS) -> str:
    """Return the symbols, one per line: first and last line, then the signature, then a word of doubt.

    If they exceed `tokens` (an estimate), the least important details are left out, in this order: fields, constants,
    all of the signatures but the names, the deepest symbols, the end of the list. The last line counts the symbols that
    were left out. Returns "" if there are no symbols.
    """
    total = len(outline.symbols)
    if not total:
        return ""
    if tokens is None:
        return _listing(_rows(outline.symbols, signature_chars), 0)
    fuller: list[str] = []
    for symbols, chars in _choices(outline.symbols, signature_chars):
        rows = _rows(symbols, chars)
        text = _listing(rows, total - len(symbols))
        spent = estimate(text)
        if spent <= tokens:
            # For one class with two hundred methods, the first methods are worth more than the class alone.
            return _first_rows(fuller, tokens, total) if fuller and spent < tokens * MIN_SHARE else text
        fuller = rows
    return _first_rows(fuller, tokens, total)


def _choices(symbols: Sequence[Symbol], chars: int) -> Iterator[tuple[Sequence[Symbol], int]]:
    """Yield what can be shown, from all symbols to the topmost alone, and the length of signatures (0: names)."""
    yield symbols, chars
    for kind in ("field", "constant"):
        fewer = [symbol for symbol in symbols if symbol.kind != kind]
        if fewer and len(fewer) < len(symbols):
            symbols = fewer
            yield symbols, chars
    yield symbols, 0
    for depth in range(max(symbol.depth for symbol in symbols), 0, -1):
        fewer = [symbol for symbol in symbols if symbol.depth < depth]
        if fewer and len(fewer) < len(symbols):
            symbols = fewer
            yield symbols, 0


def _rows(symbols: Sequence[Symbol], chars: int) -> list[str]:
    """Return a row for each symbol; "" for one that would repeat the row before (`a, b = 1, 2`)."""
    rows: list[str] = []
    before = ""
    for symbol in symbols:
        spelled = shortened(symbol.signature, chars) if chars else symbol.name
        lines = str(symbol.first) if symbol.first == symbol.last else f"{symbol.first}-{symbol.last}"
        row = f"{'  ' * symbol.depth}{lines} {spelled}{' (end uncertain)' if symbol.doubt else ''}"
        rows.append(row if row != before else "")
        before = row
    return rows


def _listing(rows: Sequence[str], left_out: int) -> str:
    listed = [row for row in rows if row]
    return "\n".join([*listed, f"… {left_out} more"] if left_out else listed)


def _first_rows(rows: Sequence[str], tokens: int, total: int) -> str:
    """Return as many of the first rows as fit, at least one."""

    def exceeds(count: int) -> bool:
        return estimate(_listing(rows[:count], total - count)) > tokens

    count = bisect_left(range(2, len(rows) + 1), True, key=exceeds) + 1
    return _listing(rows[:count], total - count)
