"""Items of an answer: what one target, or several targets of one file, contribute within a share of the budget."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from sys import getsizeof
from typing import TYPE_CHECKING, Any, Protocol

from eyespan import errors, tokens
from eyespan.context import CallContext
from eyespan.dialects.native import own_lines
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


LEAST_SUGGESTIONS = 10
"""So many suggestions are shown within any budget."""
MAX_NAMED_DIRECTORIES = 3
MAX_GROUP = 50
"""The directories of one group of suggestions."""


class Failure:
    """A target that cannot be shown, and what to do about it."""

    def __init__(
        self, written: str, error: ReadError, suggestions: Sequence[str] = (), max_tokens: int | None = None
    ) -> None:
        self.selector = written
        self._code = error.code
        self._suggestions = suggestions
        reason = describe(error)
        if suggestions:
            names = [own_lines.quoted(name) for name in suggestions]
            count = len(names)
            if max_tokens is not None and count > LEAST_SUGGESTIONS:
                count = max(LEAST_SUGGESTIONS, count_fitting(names, max_tokens // 2, tokens.estimate))
            self._suggestions = suggestions[:count]
            reason += f"; near: {', '.join(names[:count])}{_others(suggestions[count:], (max_tokens or 0) // 2)}"
        self._text = f"{own_lines.quoted(short_name(written))}: {visible(reason)}"
        self._lines = (own_lines.failure(self._text),)

    def need(self) -> int:
        return tokens.estimate(own_lines.write(self._lines)) + 1

    def show(self, max_tokens: int) -> Shown:
        facts: dict[str, Any] = {"path": self.selector, "error": {"code": self._code, "message": self._text}}
        if self._suggestions:
            facts["near"] = list(self._suggestions)
        return Shown(self._lines, facts, error=ReplyError(self._code, self._text))


def _others(paths: Sequence[str], max_tokens: int) -> str:
    """Return more paths that are near, those of neighbouring directories as `above/{one,other}/name`.

    What exceeds `max_tokens` is counted by directory.
    """
    if not paths:
        return ""
    directories: dict[tuple[str, str], list[str]] = {}
    for path in paths:
        directory, _, name = path.rpartition("/")
        above, _, directory = directory.rpartition("/")
        directories.setdefault((above, name), []).append(directory)
    groups = [
        (above, found[at : at + MAX_GROUP], name)
        for (above, name), found in directories.items()
        for at in range(0, len(found), MAX_GROUP)
    ]
    groups.sort(key=lambda group: -len(group[1]))
    written = [_grouped(*group) for group in groups]
    count = count_fitting(written, max_tokens, tokens.estimate)
    listed = ", ".join(map(own_lines.quoted, written[:count]))
    left: dict[str, int] = {}
    for above, found, _ in groups[count:]:
        below = "/".join(above.split("/")[:2]) or "."
        left[below] = left.get(below, 0) + len(found)
    if not left:
        return f" and {listed}"
    most = sorted(left, key=lambda name: (-left[name], name))[:MAX_NAMED_DIRECTORIES]
    counts = ", ".join([f"{left[name]} below {own_lines.quoted(name)}" for name in most])
    return f"{' and ' * bool(listed)}{listed} and {sum(left.values())} more: {counts}"


def _grouped(above: str, directories: Sequence[str], name: str) -> str:
    middle = directories[0] if len(directories) == 1 else f"{{{','.join(directories)}}}"
    return "/".join([part for part in (above, middle, name) if part])


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


class DirectoryItem:
    """The names in a directory, one per line; ranges of them as of the lines of a file."""

    def __init__(self, target: Target, listing: Listing, context: CallContext) -> None:
        """Raises: TooMuchMemory, Cancelled, TimedOut."""
        self._target = target
        self._listing = listing
        self.selector = write_target(target)
        context.charge(NAME_COPIES * sum([getsizeof(entry.name) for entry in listing.entries]))
        names = [own_lines.entry(entry.name + entry.suffix) for entry in listing.entries]
        first, last = 1, len(names)
        match target.piece:
            case None:
                pass
            case Ranges((Lines(start, count),)):
                first, last = start, last if count is None else min(last, start + count - 1)
            case _:
                raise errors.NotRegular(target.path, what="directory")
        self._first = first
        self._names = names[first - 1 : last]

    def need(self) -> int:
        return tokens.estimate(own_lines.write(self._lines(len(self._names)))) + 1

    def _lines(self, count: int) -> tuple[str, ...]:
        """Return the header and this many names."""
        total = len(self._listing.entries)
        name = own_lines.base_name(Target(self._target.path.rstrip("/") or "/"))
        header = f"{name}: directory, {counted(total, 'name')}"
        if self._listing.partial:
            header += " seen of more"
        if self._listing.left_out:
            header += f", {self._listing.left_out} of which no path can contain"
        if count != total:
            header += f", {self._first}-{self._first + count - 1} shown"
        return (own_lines.header(header), *self._names[:count])

    def show(self, max_tokens: int) -> Shown:
        header = own_lines.write(self._lines(0))
        room = max(LEAST_TOKENS, max_tokens - tokens.estimate(header + self.selector) - LEFT_TOKENS)
        count = len(self._names)
        if self.need() > max_tokens:
            count = count_fitting(self._names, room, tokens.estimate) or 1
        lines = self._lines(count)
        left = []
        if count < len(self._names):
            following = Ranges((Lines(self._first + count, len(self._names) - count),))
            left = [write_target(Target(self._target.path, following))]
        facts: dict[str, Any] = {
            "path": self._target.path,
            "kind": "directory",
            "names": len(self._listing.entries),
            "tokens": tokens.estimate(own_lines.write(lines)),
            "next": left[0] if left else None,
        }
        return Shown(lines, facts, tuple(left))


def counted(number: int, noun: str) -> str:
    """Return "1 line", "2 lines" and the like."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def image_tokens(blocks: Iterable[Content]) -> int:
    """Return the cost of the images among these blocks."""
    return sum([tokens.estimate_image(block.data) for block in blocks if isinstance(block, ImageContent)])
