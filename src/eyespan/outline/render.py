"""An outline as text for a model: one short line a symbol, `12-40 class Harbour`, indented by depth."""

from __future__ import annotations

from eyespan.tokens import estimate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from eyespan.outline.model import Outline, Symbol

SIGNATURE_CHARS = 80


def render(outline: Outline, tokens: int | None = None, signature_chars: int = SIGNATURE_CHARS) -> str:
    """The symbols, one a line: first and last line, then how the file spells it.

    Over `tokens` (an estimate), what matters least is left out, in this order: fields, constants, all but the names,
    what lies deepest; at last the end of the list. A last line counts what was left out. "" where there is nothing.
    """
    total = len(outline.symbols)
    if not total:
        return ""
    fuller: list[str] = []
    for kept, chars in _choices(outline.symbols, signature_chars):
        rows = _rows(kept, chars)
        text = _listing(rows, total - len(kept))
        spent = estimate(text) if tokens is not None else 0
        if tokens is None or spent <= tokens:
            # One class with two hundred methods: the first of them say more than the class alone.
            return _cut(fuller, tokens, total) if fuller and tokens is not None and spent < tokens * 0.4 else text
        fuller = rows
    return _cut(fuller, tokens or 0, total)


def _choices(symbols: tuple[Symbol, ...], chars: int) -> Iterable[tuple[list[Symbol], int]]:
    """What can be shown and with how long signatures (0: names), from all to the topmost alone."""
    kept = list(symbols)
    yield kept, chars
    for kind in ("field", "constant"):
        fewer = [symbol for symbol in kept if symbol.kind != kind]
        if fewer and len(fewer) < len(kept):
            kept = fewer
            yield kept, chars
    yield kept, 0
    for depth in range(max(symbol.depth for symbol in kept), 0, -1):
        fewer = [symbol for symbol in kept if symbol.depth < depth]
        if fewer and len(fewer) < len(kept):
            kept = fewer
            yield kept, 0


def _rows(symbols: list[Symbol], chars: int) -> list[str]:
    """One for each symbol; "" for one that the row before says already (`a, b = 1, 2`)."""
    rows: list[str] = []
    before = ""
    for symbol in symbols:
        shown = symbol.signature if chars else symbol.name
        if chars and len(shown) > chars:
            shown = shown[: chars - 1] + "…"
        lines = str(symbol.first) if symbol.first == symbol.last else f"{symbol.first}-{symbol.last}"
        row = f"{'  ' * symbol.depth}{lines} {shown}"
        rows.append(row if row != before else "")
        before = row
    return rows


def _listing(rows: list[str], left_out: int) -> str:
    shown = [row for row in rows if row]
    return "\n".join([*shown, f"… {left_out} more"] if left_out else shown)


def _cut(rows: list[str], tokens: int, total: int) -> str:
    """As many rows from the start as fit, at least one."""
    low, high = 1, len(rows)
    while low < high:
        middle = (low + high + 1) // 2
        if estimate(_listing(rows[:middle], total - middle)) <= tokens:
            low = middle
        else:
            high = middle - 1
    return _listing(rows[:low], total - low)
