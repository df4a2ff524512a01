"""Find symbols by name: by the spelling that people write after `::`, or by similarity."""

from __future__ import annotations

from eyespan import suggest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from eyespan.outline.model import Outline, Symbol

_SEPARATORS = ("::", "->", "#")


def find(outline: Outline, query: str) -> list[Symbol]:
    """Return the symbols of this name in file order; several may share it.

    Returns the matches of the first of these that has any: the whole qualified name; its last parts (`method`,
    `Class.method`, `Class::method`); the same after the file's own name (`module.func`); the same in any case.
    """
    dotted = _dotted(query)
    for wanted in dict.fromkeys((query.strip(), dotted)):
        found = _matches(outline, wanted)
        if found:
            return found
    before, _, after = dotted.rpartition(outline.module + ".") if outline.module else ("", "", "")
    if after and (not before or before.endswith(".")):
        found = _matches(outline, after)
        if found:
            return found
    folded = dotted.casefold()
    return _matches(outline, folded, folds_case=True) if folded else []


def nearest(outline: Outline, query: str, most: int = suggest.MAX_SUGGESTIONS) -> list[Symbol]:
    """Return up to `most` symbols with similar names, the most similar first, each qualified name once."""
    dotted = _dotted(query)
    by_name: dict[str, list[Symbol]] = {}
    by_qualified: dict[str, Symbol] = {}
    for symbol in outline.symbols:
        by_name.setdefault(symbol.name, []).append(symbol)
        by_qualified.setdefault(symbol.qualified, symbol)
    qualified = suggest.nearest(dotted, by_qualified, most) if "." in dotted else []
    for name in suggest.nearest(dotted.rpartition(".")[2] or dotted, by_name, most):
        qualified += [symbol.qualified for symbol in by_name[name]]
    return [by_qualified[name] for name in dict.fromkeys(qualified)][:most]


def _dotted(query: str) -> str:
    """Return a query with dots for the separators of other languages and without call parentheses."""
    query = query.strip().removesuffix("()")
    for separator in _SEPARATORS:
        before, found, after = query.partition(separator)
        while found and before and after:
            query = f"{before}.{after}"
            before, found, after = query.partition(separator)
    return query.strip(".") or query


def _matches(outline: Outline, wanted: str, *, folds_case: bool = False) -> list[Symbol]:
    whole, ending = [], []
    suffix = "." + wanted
    for symbol in outline.symbols:
        qualified = symbol.qualified.casefold() if folds_case else symbol.qualified
        if qualified == wanted:
            whole.append(symbol)
        elif qualified.endswith(suffix):
            ending.append(symbol)
    return whole or ending
