"""The nouns of an outline, and how a flat list of finds becomes a tree."""

from __future__ import annotations

from eyespan.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_SYMBOLS = 20_000
"""A file with more is told by the first of them."""
MAX_DEPTH = 30
"""What lies deeper is not told: no person wrote it, and names would grow without end."""
_NAME_CHARS = 200
_QUALIFIED_CHARS = 1000
_SIGNATURE_CHARS = 200


@record
class Symbol:
    """One definition, heading or key.

    `first` to `last` is all that belongs to it, with decorators and the comment directly above; `line` is where it is
    defined. Children lie within their parents' lines.
    """

    name: str
    qualified: str
    """With the names around it: "Class.method"."""
    kind: str
    """class, function, method, constant, field, struct, interface, enum, trait, impl, type, namespace, macro, heading,
    key, table, section, target, stage, statement, rule."""
    line: int
    first: int
    last: int
    depth: int
    """How many symbols are around it."""
    signature: str = ""
    """How the file spells it, on one line, without its body."""


@record
class Outline:
    """The symbols of a file in file order, and how far they can be relied on."""

    symbols: tuple[Symbol, ...]
    how: str
    """ast, tree-sitter, shape or regex."""
    language: str
    complete: bool
    """False: the source is broken, too large or guessed at; what is listed is there, but more may be."""
    module: str = ""
    """The file's name without suffixes, which callers put before a symbol: `module.function`."""
    hint: str = ""
    """What would make a better outline: the command that installs the grammar."""


@record
class Find:
    """A symbol as a scanner finds it; `parent` is the index of the find around it, or -1."""

    name: str
    kind: str
    line: int
    first: int
    last: int
    parent: int = -1
    signature: str = ""
    owner: str = ""
    """What it belongs to without lying in it: the receiver of a Go method, the class before `::` in C++."""


def build(finds: Iterable[Find], how: str, complete: bool = True, hint: str = "") -> Outline:
    """The outline of finds in file order, parents before children."""
    symbols: list[Symbol] = []
    places: list[int] = []  # of each find: its symbol, or -1 where it lies too deep to be told
    for find in finds:
        around = symbols[places[find.parent]] if find.parent >= 0 and places[find.parent] >= 0 else None
        too_deep = find.parent >= 0 and (around is None or around.depth >= MAX_DEPTH)
        if len(symbols) == MAX_SYMBOLS:
            complete = False
            break
        places.append(-1 if too_deep else len(symbols))
        if too_deep:
            complete = False
            continue
        name = find.name[:_NAME_CHARS]
        qualified = f"{find.owner}.{name}" if find.owner else name
        if around is not None:
            qualified = f"{around.qualified}.{qualified}"[-_QUALIFIED_CHARS:]
        signature = find.signature.rstrip(" \\") or name
        if len(signature) > _SIGNATURE_CHARS:
            signature = signature[: _SIGNATURE_CHARS - 1] + "…"
        depth = around.depth + 1 if around is not None else 0
        symbols.append(Symbol(name, qualified, find.kind, find.line, find.first, find.last, depth, signature))
    return Outline(tuple(symbols), how, "", complete, "", hint)


class Rows:
    """On which line a character of a text stands."""

    __slots__ = ("_ends", "last")

    def __init__(self, text: str) -> None:
        from re import finditer

        self._ends = [found.start() for found in finditer("\n", text)]
        self.last = len(self._ends) + (not text.endswith("\n") or not text)
        """The last line that has anything on it."""

    def __call__(self, at: int) -> int:
        from bisect import bisect_left

        return bisect_left(self._ends, at) + 1


def ended(find: Find, last: int, signature: str = "") -> Find:
    """The same find, now that its end is known."""
    return Find(
        find.name,
        find.kind,
        find.line,
        find.first,
        max(last, find.line),
        find.parent,
        signature or find.signature,
        find.owner,
    )


def text_of(data: bytes) -> str:
    """The text of a file, whatever its bytes: marks honoured, mistakes replaced."""
    from eyespan.lines.encodings import by_mark

    encoding = by_mark(data)
    if encoding is not None:
        return data[len(encoding.bom) :].decode(encoding.name, "replace")
    return data.decode("utf-8-sig", "replace")
