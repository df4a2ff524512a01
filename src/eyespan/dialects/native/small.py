"""Small text files, many in one step: the ordinary case, in which there is nothing to note.

`read_batch` reads the files of a call that are plain texts, with one call of the accelerator for all of them. If those
are all files of the call and the budget holds them, `Batch.reply` is the answer; otherwise `SmallItem`s stand beside
the items of the other files. The result is that of the ordinary steps, byte for byte: a file that needs a decision is
left to them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from eyespan import _native, kinds, tokens
from eyespan.dialects.native import loaded, own_lines
from eyespan.dialects.native.items import Shown
from eyespan.dialects.native.versions import Version
from eyespan.engine import Engine
from eyespan.model import Reply, TextContent

if TYPE_CHECKING:
    from eyespan._native._fast import SmallPart
    from eyespan.dialects.native import Native
    from eyespan.dialects.native.items import Item


_SIGNS = frozenset("\"'@!?*#[]{}<>|`$~ :\\")
"""Signs of a path that mean something in a selector or a header."""
_PLAIN = bytes([sign for sign in range(33, 127) if chr(sign) not in _SIGNS] + [10])
"""The signs of other paths, and the one between two paths."""
FEW = 8
"""Fewer names are looked at one by one, which takes less time."""
MAX_BYTES = 1 << 20
"""The text of a batch, at most; a larger answer is made in the ordinary steps, which pay for memory as they go."""


class Batch:
    """The small texts of one call, by the places of their targets."""

    def __init__(self, dialect: Native, paths: Sequence[str | None], below: Sequence[str | None], found: Any) -> None:
        self._dialect = dialect
        self._paths = paths
        self._below = below
        self._parts: list[SmallPart | None]
        self.text, self._cost, self._parts = found

    def holds(self, canonical: str) -> bool:
        """Return True if this file is one of the batch."""
        return canonical in self._below and self._parts[self._below.index(canonical)] is not None

    def reply(self, budget: int, count: Callable[[str, int, int], int | None]) -> Reply | None:
        """Return the answer if these files are all of the call and fit into the budget; None otherwise.

        `count` is `count_unless_sure`.
        """
        parts: list[dict[str, Any]] = []
        needed = rows = 0
        for path, below, part in zip(self._paths, self._below, self._parts, strict=True):
            if part is None or path is None or below is None:
                return None
            facts = _facts(path, below, part)
            needed += facts["tokens"] + 1
            rows += part[2]
            parts.append(facts)
        cost = tokens.tokens_of_cost(self._cost)
        if needed > budget:
            return None
        counted = count(self.text, cost, budget)
        if counted is not None:
            cost = counted
            if cost > budget:
                return None
        for below, part in zip(self._below, self._parts, strict=True):
            if part is not None and below is not None:
                self._keep(below, part)
        structured = {"parts": parts, "tokens": cost, "budget": budget}
        return Reply((TextContent(self.text),), structured, None, (), {"lines": rows})

    def item(self, place: int, otherwise: Callable[[], Item]) -> SmallItem | None:
        """Return the item of the target at a place, if it is a small text; `otherwise` makes the ordinary one."""
        path, below, part = self._paths[place], self._below[place], self._parts[place]
        if path is None or below is None or part is None:
            return None
        written = self.text[part[0] : part[1]]
        return SmallItem(path, written, _facts(path, below, part), lambda: self._keep(below, part), otherwise)

    def _keep(self, below: str, part: SmallPart) -> None:
        """Remember the version that is shown."""
        versions = self._dialect.versions
        value = part[3]
        if (below, value) not in versions:
            versions.keep(below, value, Version.of_lines(1, part[7]))


class SmallItem:
    """All of one small text. A share that does not hold it is filled by the ordinary item of the file."""

    def __init__(
        self, path: str, written: str, facts: dict[str, Any], keep: Callable[[], None], otherwise: Callable[[], Item]
    ) -> None:
        self.selector = path
        self._written = written
        self._facts = facts
        self._keep = keep
        self._otherwise = otherwise
        self._ordinary: Item | None = None

    def need(self) -> int:
        tokens_needed: int = self._facts["tokens"] + 1
        return tokens_needed

    def show(self, max_tokens: int) -> Shown:
        if self.need() > max_tokens:
            if self._ordinary is None:
                self._ordinary = self._otherwise()
            return self._ordinary.show(max_tokens)
        self._keep()
        header, _, rows = self._written.partition("\n")
        lines = (own_lines.Own(header.removeprefix(own_lines.SIGN)), own_lines.Rows(rows))
        return Shown(lines, dict(self._facts), written=self._written)


def read_batch(dialect: Native, files: Sequence[Any], budget: int, max_chars: int, engine: Engine) -> Batch | None:
    """Read the small texts among the targets of a call; None if there is none, or too much of them.

    `max_chars` is the text that is read for one file.
    """
    if _native.read_batch is None:
        return None
    paths = _plain_paths(files, dialect.documents)
    if not [path for path in paths if path is not None]:
        return None
    signatures = kinds.text_rules(dialect.documents)[0]
    limits = max_chars, loaded.MAX_ROWS, MAX_BYTES, 1000 * budget
    style = dialect.style
    form = style.separator, style.every, tokens.weighing_scale(), signatures
    found = engine.read_batch(paths, limits, form)
    if found is None:
        return None
    below, parts = found
    return Batch(dialect, paths, below, parts) if parts[0] else None


def _plain_paths(files: Sequence[Any], documents: frozenset[str]) -> Sequence[str | None]:
    """Return the targets that can only be names of files, and of no documents; None for the others."""
    suffixes = kinds.text_rules(documents)[1]
    if len(files) >= FEW and _are_plain(files, suffixes):
        return files
    paths = [one if _is_plain(one) and not one.lower().endswith(suffixes) else None for one in files]
    if None not in paths:
        return paths
    # Another target may be a part of the same file; then both are one item.
    others = "\n".join([str(one) for one, path in zip(files, paths, strict=True) if path is None])
    return [None if path is None or path.rpartition("/")[2] in others else path for path in paths]


def _are_plain(files: Sequence[Any], suffixes: tuple[str, ...]) -> bool:
    """Return True if a look at all targets at once shows that they are names of files, and of no documents."""
    if set(map(type, files)) != {str} or "" in files:
        return False
    text = "\n".join(files)
    if not text.isascii() or text.encode().translate(None, _PLAIN) or text.count("\n") >= len(files):
        return False
    ends = {path[path.rfind(".") :] for path in text.lower().split("\n")}
    return not any(end.endswith(suffixes) for end in ends) and all("." not in suffix[1:] for suffix in suffixes)


def _is_plain(path: Any) -> bool:
    return type(path) is str and path.isascii() and path.isprintable() and _SIGNS.isdisjoint(path) and path != ""


def _facts(path: str, below: str, part: SmallPart) -> dict[str, Any]:
    rows = part[2]
    return {
        "path": below,
        "selector": f"{path}:1" if rows == 1 else f"{path}:1-{rows}",
        "hash": part[3],
        "lines": rows,
        "total_lines": rows,
        "tokens": tokens.tokens_of_cost(part[4]),
        "next": None,
    }
