"""Symbols by name: what a person writes after `::`, and what they may have meant."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from eyespan.outline.model import Outline, Symbol

_COMPARED = 2000
_COMPARED_CHARS = 60
_SEPARATORS = ("::", "->", "#")


def _plain(query: str) -> str:
    query = query.strip()
    if query.endswith("()"):
        query = query[:-2]
    for separator in _SEPARATORS:
        head, found, tail = query.partition(separator)
        while found and head and tail:
            query = f"{head}.{tail}"
            head, found, tail = query.partition(separator)
    return query.strip(".") or query


def find(outline: Outline, query: str) -> list[Symbol]:
    """The symbols that this name can mean, in file order; none is a miss, several share the name.

    The first of these that finds anything: the whole qualified name; its last parts (`method`, `Class.method`,
    `Class::method`); the same behind the file's own name (`module.func`); the same without regard to case.
    """
    plain = _plain(query)
    for wanted in dict.fromkeys((query.strip(), plain)):
        found = _matches(outline, wanted)
        if found:
            return found
    head, _, tail = plain.rpartition(outline.module + ".") if outline.module else ("", "", "")
    if tail and (not head or head.endswith(".")):
        found = _matches(outline, tail)
        if found:
            return found
    folded = plain.casefold()
    return _matches(outline, folded, fold=True) if folded else []


def _matches(outline: Outline, wanted: str, fold: bool = False) -> list[Symbol]:
    exact, partly = [], []
    ending = "." + wanted
    for symbol in outline.symbols:
        qualified = symbol.qualified.casefold() if fold else symbol.qualified
        if qualified == wanted:
            exact.append(symbol)
        elif qualified.endswith(ending):
            partly.append(symbol)
    return exact or partly


def nearest(outline: Outline, query: str, n: int = 3) -> list[Symbol]:
    """Up to `n` symbols whose names look most like this one, best first, each name once."""
    from difflib import SequenceMatcher

    plain = _plain(query).casefold()[-_COMPARED_CHARS:]
    last = plain.rpartition(".")[2] or plain
    ranked: list[tuple[float, int, Symbol]] = []
    by_name, by_path = SequenceMatcher(), SequenceMatcher()
    by_name.set_seq2(last)
    by_path.set_seq2(plain)
    for position, symbol in enumerate(outline.symbols[:_COMPARED]):
        name = symbol.name.casefold()[:_COMPARED_CHARS]
        by_name.set_seq1(name)
        score = by_name.ratio() if by_name.quick_ratio() > 0.4 else 0.0
        if "." in plain:
            by_path.set_seq1(symbol.qualified.casefold()[-_COMPARED_CHARS:])
            score = max(score * 0.9, by_path.ratio() if by_path.quick_ratio() > 0.4 else 0.0)
        if len(last) > 2 and (last in name or (len(name) > 3 and name in last)):
            score = max(score, 0.7)
        if score > 0.5:
            ranked.append((-score, position, symbol))
    ranked.sort(key=lambda row: row[:2])
    chosen: dict[str, Symbol] = {}
    for _, _, symbol in ranked:
        chosen.setdefault(symbol.qualified, symbol)
        if len(chosen) == n:
            break
    return list(chosen.values())
