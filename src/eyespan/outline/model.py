"""The value types of outlines, and the way from the definitions that a scanner finds to a tree of symbols."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from eyespan.model import MAX_SYMBOLS

Method = Literal["ast", "tree-sitter", "shape", "regex"]

TYPE_KINDS = frozenset(("class", "struct", "interface", "enum", "trait", "impl"))
"""The kinds of definitions whose functions are methods."""
MAX_DEPTH = 30
"""Deeper symbols are left out: only generated files have them, and every level makes qualified names longer."""
_QUALIFIED_CHARS = 1000


@dataclass(frozen=True, slots=True)
class Symbol:
    """One definition, heading or key.

    `first` to `last` is all that belongs to it, with decorators and the comment directly above; `line` is where it is
    defined. Children lie within their parents' lines.
    """

    name: str
    qualified: str
    """The name after the names of the symbols around it: "Class.method"."""
    kind: str
    """class, function, method, test, constant, field, struct, interface, enum, trait, impl, type, namespace, macro,
    heading, key, table, section, target, stage, statement, rule."""
    line: int
    first: int
    last: int
    depth: int
    """The number of symbols around it."""
    signature: str = ""
    """Its spelling in the file, on one line, without its body."""
    doubt: int = 0
    """The line near which the parser lost track, so that the last line may be wrong; 0 if it did not."""


@dataclass(frozen=True, slots=True)
class Outline:
    """The symbols of a file in file order, and how reliable they are."""

    symbols: tuple[Symbol, ...]
    how: Method
    language: str
    is_complete: bool
    """False: the source is broken, too large, or parsed without its grammar, so symbols may be missing."""
    module: str = ""
    """The file's name without suffixes, which callers put before a symbol: `module.function`."""
    hint: str = ""
    """The command that installs the missing grammar."""


@dataclass(frozen=True, slots=True)
class Definition:
    """A symbol as a scanner finds it; `parent` is the index of the definition around it, or -1."""

    name: str
    kind: str
    line: int
    first: int
    last: int
    parent: int = -1
    signature: str = ""
    owner: str = ""
    """The name it belongs to without lying in it: the receiver of a Go method, the class before `::` in C++."""
    doubt: int = 0
    """The line near which the parser lost track; 0 if it did not."""


class Nesting:
    """Definitions in file order, and the stack of those whose last line is not known yet."""

    def __init__(self) -> None:
        self.definitions: list[Definition] = []
        self.open: list[tuple[int, int]] = []
        """The index of each open definition and its column; outermost first."""

    @property
    def parent(self) -> int:
        """Return the index of the innermost open definition, or -1."""
        return self.open[-1][0] if self.open else -1

    @property
    def parent_kind(self) -> str:
        """Return the kind of the innermost open definition, or ""."""
        return self.definitions[self.open[-1][0]].kind if self.open else ""

    @property
    def parent_line(self) -> int:
        """Return the line of the innermost open definition, or 0."""
        return self.definitions[self.open[-1][0]].line if self.open else 0

    @property
    def column(self) -> int:
        """Return the column of the innermost open definition, or -1."""
        return self.open[-1][1] if self.open else -1

    def add(self, name: str, kind: str, line: int, column: int = 0, *, first: int = 0, signature: str = "") -> None:
        """Append a definition in the innermost open one, and open it. Without `first` it begins with its line."""
        definition = Definition(name, kind, line, first or line, line, self.parent, signature)
        self.open.append((len(self.definitions), column))
        self.definitions.append(definition)

    def close(self, last: int, signature: str = "") -> None:
        """Close the innermost open definition at line `last`."""
        index, _ = self.open.pop()
        self.definitions[index] = ended(self.definitions[index], last, signature)

    def close_from(self, column: int, last: int) -> None:
        """Close all open definitions at this column or to the right of it."""
        while self.column >= column:
            self.close(last)

    def close_all(self, last: int) -> None:
        """Close all open definitions."""
        while self.open:
            self.close(last)


def ended(definition: Definition, last: int, signature: str = "") -> Definition:
    """Return a definition with its last line, and another signature if one is given."""
    last = max(last, definition.line)
    if last == definition.last and not signature:
        return definition
    return replace(definition, last=last, signature=signature or definition.signature)


def nested(definitions: list[Definition]) -> list[Definition]:
    """Return definitions in file order, each with its parent; a child that ends after its parent is cut."""
    order = sorted(range(len(definitions)), key=lambda at: (definitions[at].line, -definitions[at].last, at))
    result: list[Definition] = []
    open_ones: list[int] = []
    floor = 0  # the last line of the definitions that end before this one
    for at in order:
        one = definitions[at]
        while open_ones and result[open_ones[-1]].last < one.line:
            floor = max(floor, result[open_ones.pop()].last)
        parent = open_ones[-1] if open_ones else -1
        first, last, doubt = one.first, one.last, one.doubt
        if parent >= 0:
            around = result[parent]
            first = max(first, around.first)
            if last > around.last:
                last = around.last
                doubt = doubt or around.doubt or last
        if result:
            first = max(first, result[-1].first, floor + 1)
        first = min(first, one.line)
        result.append(replace(one, first=first, last=max(last, one.line), parent=parent, doubt=doubt))
        open_ones.append(len(result) - 1)
    return result


def outline_of_headings(headings: Iterable[tuple[int, int, str]], lines: list[str]) -> Outline:
    """Return the outline of headings, each with its line, level and name, in file order.

    A heading goes to the line before the next of its level or of a higher one, without the blank lines at its end.
    """
    nesting = Nesting()
    for line, level, name in headings:
        nesting.close_from(level, line - 1)
        nesting.add(name, "heading", line, level)
    nesting.close_all(len(lines))
    return build_outline([_without_blank_end(heading, lines) for heading in nesting.definitions], "shape")


def _without_blank_end(heading: Definition, lines: list[str]) -> Definition:
    last = heading.last
    while last > heading.line and not lines[last - 1].strip():
        last -= 1
    return ended(heading, last)


def build_outline(
    definitions: Iterable[Definition], how: Method, *, is_complete: bool = True, hint: str = ""
) -> Outline:
    """Return the outline of definitions in file order, parents before children."""
    symbols: list[Symbol] = []
    places: list[int] = []  # for each definition the index of its symbol, or -1 if it is too deep
    for definition in definitions:
        parent = definition.parent
        around = symbols[places[parent]] if parent >= 0 and places[parent] >= 0 else None
        is_too_deep = parent >= 0 and (around is None or around.depth >= MAX_DEPTH)
        if len(symbols) == MAX_SYMBOLS:
            is_complete = False
            break
        places.append(-1 if is_too_deep else len(symbols))
        if is_too_deep:
            is_complete = False
        else:
            symbols.append(_symbol(definition, around))
    return Outline(symbols=tuple(symbols), how=how, language="", is_complete=is_complete, hint=hint)


def _symbol(definition: Definition, around: Symbol | None) -> Symbol:
    name = definition.name[:200]
    qualified = f"{definition.owner}.{name}" if definition.owner else name
    if around is not None:
        qualified = f"{around.qualified}.{qualified}"[-_QUALIFIED_CHARS:]
    return Symbol(
        name=name,
        qualified=qualified,
        kind=definition.kind,
        line=definition.line,
        first=definition.first,
        last=definition.last,
        depth=0 if around is None else around.depth + 1,
        signature=shortened(definition.signature.rstrip(" \\") or name, 200),
        doubt=definition.doubt,
    )


def shortened(text: str, max_chars: int) -> str:
    """Return a text of at most `max_chars` characters; an ellipsis replaces the rest."""
    return text if len(text) <= max_chars else text[: max_chars - 1] + "…"
