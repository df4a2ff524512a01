"""Items of an answer: what one target, or several targets of one file, contribute within a share of the budget."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from sys import getsizeof
from typing import TYPE_CHECKING, Any, Protocol

from eyespan import errors, tokens
from eyespan.context import CallContext
from eyespan.dialects.native import own_lines
from eyespan.dialects.native.holdings import digest
from eyespan.dialects.native.rows import count_fitting
from eyespan.errors import ReadError
from eyespan.escape import short_name, visible
from eyespan.model import CharRange, Content, ImageContent, Lines, ReplyError
from eyespan.selectors import Ranges, Target, write_target

if TYPE_CHECKING:
    from eyespan.dialects.native.holdings import Holdings, ShownPart
    from eyespan.dialects.native.rows import Style
    from eyespan.guard.listing import Listing


class Item(Protocol):
    """One item of an answer."""

    @property
    def selector(self) -> str:
        """Return the selector that reads all of it, for an item that is left out."""
        ...

    def need(self) -> int:
        """Return the cost of all of it in tokens, or more than the budget if that is not known."""
        ...

    def show(self, max_tokens: int) -> Shown:
        """Return as much of it as `max_tokens` allow."""
        ...


MAX_SCALE = 4
"""The estimate is off by less than this factor."""
LEAST_TOKENS = 10
"""The least that the text of an item gets, so that reading on always makes progress."""
LEAST_SHARED_CHARS = 2 * 1024
"""The characters that are read of each text at least, if many of them share the budget."""
LEFT_TOKENS = 10
"""The cost of the line above the selectors of what is left out."""


@dataclass(frozen=True, slots=True)
class Shown:
    """An item as it goes into the answer."""

    lines: tuple[str, ...]
    facts: dict[str, Any]
    left: tuple[str, ...] = ()
    """Selectors of what did not fit."""
    error: ReplyError | None = None
    blocks: tuple[Content, ...] = ()
    folded: tuple[str, ...] = ()
    """Selectors of what is hidden, which the lines name."""
    seen: tuple[Hashable, str, ShownPart] | None = None
    """The text whose lines are shown, their hash, and the lines."""


@dataclass(frozen=True, slots=True)
class View:
    """The options of one call that items are shown by."""

    style: Style
    budget: int
    """The tokens of the answer, times `MAX_SCALE`."""
    max_chars: int
    """The text that is read for one file; more could not be shown within the budget."""
    known: Mapping[str, tuple[CharRange, ...]]
    """The hashes that the caller holds, each with the lines of its part if they are given."""
    holdings: Holdings
    redacts: bool
    remembers: bool
    """The caller holds what this tool has shown."""
    around_match: int
    """The lines shown before and after a line that matches a search."""
    folds: bool
    """Symbols that exceed their share are folded, not cut."""
    folds_symbols: bool
    """Long symbols are folded in any case."""


def part_shown(lines: Sequence[str], facts: Mapping[str, Any], left: Sequence[str] = (), **more: Any) -> Shown:
    """Return an item as it goes into the answer: its facts have the cost, and the selector that reads on."""
    cost = tokens.estimate(own_lines.write(lines)) + image_tokens(more.get("blocks", ()))
    following = next(iter((*left, *more.get("folded", ()))), None)
    return Shown(tuple(lines), {**facts, "tokens": cost, "next": following}, tuple(left), **more)


class FixedItem:
    """Lines that are shown whole, whatever the share: a failure, a search without a match."""

    def __init__(
        self,
        selector: str,
        lines: Sequence[str],
        facts: Mapping[str, Any],
        error: ReplyError | None = None,
        left: Sequence[str] = (),
    ) -> None:
        self.selector = selector
        self._shown = part_shown(lines, {"path": selector, **facts}, left, error=error)

    def need(self) -> int:
        cost: int = self._shown.facts["tokens"]
        return cost + 1

    def show(self, max_tokens: int) -> Shown:
        return self._shown


class NotedItem:
    """An item with a note after it."""

    def __init__(self, item: Item, note: str) -> None:
        self._item = item
        self._note = own_lines.note(note)
        self._cost = tokens.estimate(own_lines.write([self._note])) + 1
        self.selector = item.selector

    def need(self) -> int:
        return self._item.need() + self._cost

    def show(self, max_tokens: int) -> Shown:
        shown = self._item.show(max(1, max_tokens - self._cost))
        return replace(shown, lines=(*shown.lines, self._note))


@dataclass(frozen=True, slots=True)
class RowsItem:
    """Rows after a header: names, symbols, files. As many as fit are shown, and the selector of the others is left."""

    selector: str
    groups: Sequence[Sequence[str]]
    """Rows that stay together."""
    header: Callable[[int, int | None], Sequence[str]]
    """Returns the lines before so many groups, within so many tokens."""
    following: Callable[[int], str | None]
    """Returns the selector of what follows so many groups."""
    facts: Mapping[str, Any]
    view: View
    key: str = ""
    """A list with a key has a hash."""
    notes: Sequence[str] = ()

    def need(self) -> int:
        if self.following(len(self.groups)) is not None:
            return self.view.budget + 1
        return tokens.estimate(own_lines.write(self._lines(len(self.groups), None)[0])) + 1

    def _lines(self, count: int, max_tokens: int | None) -> tuple[Sequence[str], str]:
        """Return the lines of the first groups, and their hash; only the header, if the caller holds them."""
        title, *lead = self.header(count, max_tokens)
        rows = [row for group in self.groups[:count] for row in group]
        if not self.key or not rows:
            return (title, *lead, *rows), ""
        value = digest(self.key, [f"{row}\n" for row in (*lead, *rows)])
        title = own_lines.Own(f"{title} #{value}")
        if value in self.view.known:
            return (own_lines.Own(f"{title} unchanged"),), value
        return (title, *lead, *rows, *self.notes), value

    def show(self, max_tokens: int) -> Shown:
        count, room = len(self.groups), None
        if self.need() > max_tokens and count:
            room = max_tokens
            around = [*self.header(1, room), *self.notes, self.selector, "#000000000000" if self.key else ""]
            left = max(LEAST_TOKENS, max_tokens - tokens.estimate(own_lines.write(around)) - LEFT_TOKENS)
            count = max(1, count_fitting(["\n".join(group) for group in self.groups], left, tokens.estimate))
        lines, value = self._lines(count, room)
        following = self.following(count)
        facts = dict(self.facts)
        if value:
            facts["hash"] = value
            if value in self.view.known:
                facts["unchanged"] = True
        return part_shown(lines, facts, () if following is None else (following,))


LEAST_SUGGESTIONS = 10
"""So many suggestions are shown within any budget."""


def failure(written: str, error: ReadError, max_tokens: int | None = None) -> FixedItem:
    """Return the item of a target that cannot be shown, with what to do about it."""
    reason = describe(error)
    suggestions = error.suggestions
    if suggestions:
        names = [own_lines.quoted(name) for name in suggestions]
        count = len(names)
        if max_tokens is not None and count > LEAST_SUGGESTIONS:
            count = max(LEAST_SUGGESTIONS, count_fitting(names, max_tokens // 2, tokens.estimate))
        more = len(names) - count
        reason += f"; near: {', '.join(names[:count])}{f' and {more} more' if more else ''}"
        suggestions = suggestions[:count]
    text = f"{own_lines.quoted(short_name(written))}: {visible(reason)}"
    facts: dict[str, Any] = {"error": {"code": error.code, "message": text}}
    if suggestions:
        facts["near"] = list(suggestions)
    return FixedItem(written, [own_lines.failure(text)], facts, ReplyError(error.code, text))


def describe(error: ReadError) -> str:
    """Return why a file cannot be read, and what to do next."""
    match error:
        case errors.NoMember() | errors.NoRevision():
            return str(error)
        case errors.NotFound():
            return "no such file"
        case errors.OutsideRoot():
            return "outside the directories that may be read"
        case errors.PolicyDenied(rule=""):
            return "this tool is denied by policy"
        case errors.PolicyDenied():
            return f"reading it is forbidden by the rule {error.rule}"
        case errors.NotRegular():
            return f"not a file but a {error.what}"
        case errors.Binary():
            return f"binary{'' if error.kind == 'binary' else f' ({error.kind})'}, no text to show"
        case errors.PermissionRefused():
            return f"permission denied ({error})"
    return str(error)


NAME_COPIES = 4
"""The copies of the names of a directory: made visible, as one text, and encoded to count its tokens."""


def directory_item(target: Target, listing: Listing, view: View, context: CallContext) -> RowsItem:
    """Return the names in a directory, one per line; ranges of them as of the lines of a file. Raises: ReadError."""
    context.charge(NAME_COPIES * sum([getsizeof(entry.name) for entry in listing.entries]))
    total = len(listing.entries)
    first, last = row_range(target, total)
    names = [[own_lines.entry(entry.name + entry.suffix)] for entry in listing.entries[first - 1 : last]]
    title = f"{own_lines.base_name(Target(target.path.rstrip('/') or '/'))}: directory, {counted(total, 'name')}"
    title += " seen of more" if listing.partial else ""
    title += f", {listing.left_out} of which no path can contain" if listing.left_out else ""

    def header(count: int, _: int | None) -> Sequence[str]:
        shown = f", {first}-{first + count - 1} shown" if count != total else ""
        return [own_lines.header(title + shown)]

    facts = {"path": target.path, "kind": "directory", "names": total}
    following = partial(rows_after, target.path, first, len(names))
    return RowsItem(write_target(target), names, header, following, facts, view)


def row_range(target: Target, total: int) -> tuple[int, int]:
    """Return the first and the last row of a list that a target selects.

    Raises: NotRegular, for other parts; PastEnd.
    """
    match target.piece:
        case None:
            return 1, total
        case Ranges((Lines(first, count),)) if first <= max(1, total):
            return first, total if count is None else min(total, first + count - 1)
        case Ranges((Lines(first, _),)):
            raise errors.PastEnd(target.path, part="name", wanted=str(first), document="the list", total=total)
    raise errors.NotRegular(target.path, what="directory")


def rows_after(path: str, first: int, wanted: int | None, count: int) -> str | None:
    """Return the selector of the rows of a list after the first `count` of those that are wanted; None without any.

    `wanted=None`: all of them, and the list goes on after its last row.
    """
    if wanted is not None and count >= wanted:
        return None
    return write_target(Target(path, Ranges((Lines(first + count, wanted and wanted - count),))))


def counted(number: int, noun: str) -> str:
    """Return "1 line", "2 lines" and the like."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def image_tokens(blocks: Iterable[Content]) -> int:
    """Return the cost of the images among these blocks."""
    return sum([tokens.estimate_image(block.data) for block in blocks if isinstance(block, ImageContent)])
