"""Find symbols by name: by the spellings that people, traces and signatures use, or by similarity.

A name is looked up as it is written first, then without what languages and tools put around it: keywords, parameters,
generics, receivers, packages, quotes. A shorter name is accepted only if what was cut off cannot name another symbol: a
package or a module, never a class. Symbols that share a name differ by their number in the file (`name#2`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eyespan import suggest

if TYPE_CHECKING:
    from eyespan.outline.model import Outline, Symbol


_TYPES = frozenset(("class", "struct", "interface", "enum", "trait", "type"))
_SEPARATOR = re.compile(r"::|->|[#\\:/$](?=[^\W\d]|[$#~`])")
_KEYWORDS = re.compile(
    r"(?:(?:export|default|public|private|protected|internal|static|final|abstract|async|virtual|override|inline|const|"
    r"pub(?:\([^)]*\))?|unsafe|extern|suspend|open|data|sealed|local|declare|block in|rescue in|"
    r"class|def|defp|struct|union|enum|interface|trait|impl(?:<[^>]*>)?|module|mod|namespace|package|type|typedef|object|"
    r"record|protocol|extension|fn|func|fun|function|sub|proc|macro|message|service|rpc|resource|table|section)\s+)+"
)
_HASHES = re.compile(r"#{1,6}\s+|=+\s+|\*+\s+")
_ORDINAL = re.compile(r"(.+?)\s*#(\d{1,6})$", re.DOTALL)
_CALL = re.compile(r"([^()]*?)\s*\(([^()]*(?:\([^()]*\)[^()]*)*)\)(?!\.)[\s\w:{;&>.<\[\]?*|-]*$")
_RECEIVER = re.compile(r"\(\s*(?:\w+\s+)?\*?\s*([\w.\[\], ]+?)\s*\)(?=\.)")
_AS_TRAIT = re.compile(r"<\s*(?:impl\s+)?&?(?:'\w+\s+)?(?:mut\s+)?([\w:]+)[^>]*?\s+as\s+[^>]*(?:<[^>]*>)*>+(?=::|\.|$)")
_IMPL_FOR = re.compile(r"(?:impl(?:\s*<[^>]*>)?\s+)?([\w:]+)(?:<.*>)?\s+for\s+&?(?:mut\s+)?(?:\w+::)*(\w+)")
_NOISE = re.compile(
    r"(?:\.<locals>|\.?\{\{[^}]*\}\}|\.?\{closure[^}]*\}|\.h[0-9a-f]{16}$|\.func\d+(?:\.\d+)*$|\.lambda\$(?=\w)|\$\d+$)"
)
_PLAIN = re.compile(r"[$#`'\"@]")
_SLUG_NOISE = re.compile(r"[^\w\- ]")


@dataclass(frozen=True, slots=True)
class SymbolMatch:
    """The symbols that a name stands for."""

    symbols: tuple[Symbol, ...]
    """Those to show, in file order."""
    others: tuple[Symbol, ...] = ()
    """Those that belong to a type by the same name: its implementations and extensions."""


def find(outline: Outline, query: str) -> list[Symbol]:
    """Return the symbols of this name in file order; several may share it.

    Returns the matches of the first of these that has any: the whole qualified name; its last parts (`method`,
    `Class.method`, `Class::method`); the same after the file's own name (`module.func`); the spellings of traces and
    signatures; the same in any case.
    """
    match = look_up(outline, query)
    return [*match.symbols, *match.others]


def look_up(outline: Outline, query: str) -> SymbolMatch:
    """Return the symbols of this name; for a type, its definition apart from its implementations."""
    query = query.strip()
    exact = _matches(outline, query)
    if exact:
        return _with_others(exact)
    ordinal = _ORDINAL.fullmatch(query)
    if ordinal and int(ordinal[2]):
        several = _resolve(outline, ordinal[1])
        same = [one for one in several if one.qualified == several[0].qualified]
        number = int(ordinal[2])
        return SymbolMatch((same[number - 1],)) if number <= len(same) else SymbolMatch(())
    return _with_others(_resolve(outline, query))


def unique_names(outline: Outline, symbols: Iterable[Symbol]) -> list[str]:
    """Return for each symbol a name that stands for it alone."""
    wanted = list(symbols)
    names = {one.qualified for one in wanted}
    counts: dict[str, int] = {}
    numbers: dict[int, int] = {}
    for one in outline.symbols:
        if one.qualified in names:
            counts[one.qualified] = numbers[id(one)] = counts.get(one.qualified, 0) + 1
    unique = []
    for one in wanted:
        unique.append(one.qualified if counts[one.qualified] == 1 else f"{one.qualified}#{numbers[id(one)]}")
    return unique


def _with_others(found: list[Symbol]) -> SymbolMatch:
    """Return the definitions of a type, with its implementations as others."""
    types = [one for one in found if one.kind in _TYPES]
    impls = [one for one in found if one.kind == "impl"]
    if types and impls:
        return SymbolMatch(tuple([one for one in found if one.kind != "impl"]), tuple(impls))
    return SymbolMatch(tuple(found))


def _resolve(outline: Outline, query: str) -> list[Symbol]:
    """Return the symbols of the first spelling that names any."""
    for wanted in _spellings(query, outline.module):
        symbols = _matches(outline, wanted)
        if symbols:
            return symbols
    if impl := _IMPL_FOR.search(query):
        trait = impl[1].rpartition("::")[2]
        symbols = [
            one
            for one in _matches(outline, impl[2])
            if one.kind == "impl" and re.search(rf"\b{re.escape(trait)}\b.*\bfor\b", one.signature)
        ]
        if symbols:
            return symbols
    return _resolve_name(outline, query)


def _resolve_name(outline: Outline, query: str) -> list[Symbol]:
    bare = _bare(query)
    for wanted in dict.fromkeys((bare, *_without_package(bare))):
        symbols = _matches(outline, wanted)
        if "." not in wanted and wanted != bare:
            symbols = [one for one in symbols if one.qualified == wanted]  # a package is cut off, so no method
        if symbols:
            return symbols
    plain = _PLAIN.sub("", bare)
    if plain:
        for fold in (False, True):
            symbols = _plain_matches(outline, plain, folds_case=fold)
            if symbols:
                return symbols
    slug = _slug(query.lstrip("#"))
    return [one for one in outline.symbols if one.kind == "heading" and slug and _slug(one.name) == slug]


def _spellings(query: str, module: str) -> Iterator[str]:
    """Yield a name as it is written: dotted, then after the file's own name."""
    yield query
    dotted = _dotted(query)
    yield dotted
    before, _, after = dotted.rpartition(module + ".") if module else ("", "", "")
    if after and (not before or before.endswith(".")):
        yield after


def _bare(query: str) -> str:
    """Return a name without keywords, parameters, generics and what traces add."""
    text = _HASHES.sub("", query.strip(), count=1) if query.startswith(("#", "=", "*")) else query.strip()
    text = _AS_TRAIT.sub(r"\1", text)
    text = _RECEIVER.sub(r"\1", text)
    text = text.removesuffix("()").rstrip(" :{;")
    text = re.sub(r"\[[^\[\]]*\]$", "", text)  # the parameters of a pytest id
    if call := _CALL.fullmatch(text):
        text = call[1]
    text = _KEYWORDS.sub("", text, count=1) if _KEYWORDS.match(text) else text
    text = _without_brackets(text).replace("::.", ".")
    text = _NOISE.sub("", _dotted(text))
    text = text.strip("`'\" ")
    if " " in text and re.fullmatch(r"[\w\s*&:.~]+", text):
        text = text.split()[-1].lstrip("*&")  # the type before the name of a function
    return text.strip(".")


def _without_brackets(text: str) -> str:
    """Return a name without generics; `<init>` and operators stay."""
    if "operator" in text:
        return text
    text = text.replace("<init>", "\0").replace("<locals>", "\1")
    before = ""
    while before != text:
        before = text
        text = re.sub(r"(?:::)?<[^<>]*>|\[[^\[\]]*\]", "", text)
    return text.replace("\0", "<init>").replace("\1", "<locals>")


def _without_package(name: str) -> Iterator[str]:
    """Yield a dotted name without its first parts, as long as two are left or what was cut off is no class."""
    parts = name.split(".")
    if parts[-1] == "<init>" and len(parts) > 1:
        yield f"{parts[-2]}.{parts[-2]}"
        yield f"{parts[-2]}.constructor"
    for start in range(1, len(parts) - 1):
        yield ".".join(parts[start:])
    if len(parts) > 1 and all(part == part.lower() for part in parts[:-1]) and parts[0] not in ("self", "this"):
        yield parts[-1]


def nearest(outline: Outline, query: str, most: int = suggest.MAX_SUGGESTIONS) -> list[Symbol]:
    """Return up to `most` symbols with similar names, the most similar first, each qualified name once."""
    dotted = _bare(query) or _dotted(query)
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
    lead = len(query) - len(query.lstrip("#$~\\:"))
    query = query[:lead].rstrip("\\:") + _SEPARATOR.sub(".", query[lead:])
    return query.strip(".") or query


def _matches(outline: Outline, wanted: str) -> list[Symbol]:
    """Return the symbols with this qualified name; without any, those whose names end with it."""
    whole, ending = [], []
    suffix = "." + wanted
    for symbol in outline.symbols:
        qualified = symbol.qualified
        if qualified == wanted:
            whole.append(symbol)
        elif qualified.endswith(suffix):
            ending.append(symbol)
    return (whole or ending) if wanted else []


def _plain_matches(outline: Outline, wanted: str, *, folds_case: bool) -> list[Symbol]:
    """Return the symbols with this name without the characters that languages put before names."""
    whole, ending = [], []
    wanted = wanted.casefold() if folds_case else wanted
    suffix = "." + wanted
    for symbol in outline.symbols:
        qualified = _PLAIN.sub("", symbol.qualified)
        qualified = qualified.casefold() if folds_case else qualified
        shorter = re.sub(r"(?i)\.companion(?=\.)", "", qualified)
        if wanted in (qualified, shorter):
            whole.append(symbol)
        elif qualified.endswith(suffix) or shorter.endswith(suffix):
            ending.append(symbol)
    return whole or ending


def _slug(text: str) -> str:
    """Return the anchor of a heading."""
    return _SLUG_NOISE.sub("", text.strip().casefold()).strip().replace(" ", "-")
