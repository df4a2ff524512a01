"""What a target can become: something to show, within a share of the budget, or the reason why not."""

from __future__ import annotations

from eyespan import errors, tokens
from eyespan.dialects.native.gutter import fitting
from eyespan.model import Lines, ReplyError
from eyespan.record import record
from eyespan.selectors import Area, Cells, Pages, Ranges, Symbol, Target, write_target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from eyespan.errors import ReadError
    from eyespan.guard.listing import Listing
    from eyespan.model import Content
    from eyespan.selectors import Piece

LEAST_TOKENS = 10
"""What a part's text gets at least, so that reading on always makes progress."""
LEFT_TOKENS = 10
"""What the line above the names of what is left out costs."""
NOTE = "note: "
KINDS = {
    "text": "a text",
    "image": "a picture",
    "pdf": "a PDF",
    "notebook": "a notebook",
    "sheet": "a spreadsheet",
    "archive": "an archive",
    "sqlite": "a database",
    "parquet": "a table",
    "csv": "a table",
}
FOLDER_MARKS = {"folder": "/", "file": "", "link": "@", "other": "|"}
MAX_NAME_CHARS = 300
"""A longer name that cannot be read is not repeated whole."""


@record
class Shown:
    """A part as it goes into the answer."""

    text: str
    facts: dict[str, Any]
    left: tuple[str, ...] = ()
    """Selectors of what did not fit."""
    error: ReplyError | None = None
    blocks: tuple[Content, ...] = ()


class Part:
    """What one target, or several of the same file, became."""

    def need(self) -> int:
        """What all of it costs, or at least more than the budget."""
        raise NotImplementedError

    def show(self, allotted: int) -> Shown:
        """As much as this many tokens allow."""
        raise NotImplementedError

    @property
    def selector(self) -> str:
        """What gets all of it, for a part that is left out whole."""
        raise NotImplementedError


class Failure(Part):
    """A target that cannot be shown, and what may be done about it."""

    def __init__(self, written: str, error: ReadError, near: Sequence[str] = ()) -> None:
        self._written = written
        self._code = error.code
        self._near = near
        said = in_words(error)
        if near:
            said += f"; near: {', '.join([visible(name) for name in near])}"
        name = visible(written)
        self._text = f"{name if len(name) <= MAX_NAME_CHARS else name[:MAX_NAME_CHARS] + '…'}: {said}"

    @property
    def selector(self) -> str:
        return self._written

    def need(self) -> int:
        return tokens.estimate(self._text) + 1

    def show(self, allotted: int) -> Shown:
        facts: dict[str, Any] = {"path": self._written, "error": {"code": self._code, "message": self._text}}
        if self._near:
            facts["near"] = list(self._near)
        return Shown(self._text, facts, (), ReplyError(self._code, self._text))


def in_words(error: ReadError) -> str:
    """Why a file cannot be read, and what can be done."""
    match error:
        case errors.NoMember() | errors.NoRevision():
            return str(error)
        case errors.NotFound():
            return "no such file"
        case errors.OutsideRoot():
            return "outside the folders that may be read"
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


def no_such_part(path: str, piece: Piece | None, kind: str) -> errors.NoSuchPart:
    """Return the error for a piece that files of this kind do not have."""
    parts = {Pages: "pages", Cells: "cells", Area: "sheets", Symbol: "symbols", Ranges: "lines"}
    document = KINDS.get(kind, f"a file of kind {kind}")
    return errors.NoSuchPart(path, document=document, part=parts.get(type(piece), "such part"))


class Folder(Part):
    """The names in a folder, one a line; ranges of them as of the lines of a file."""

    def __init__(self, target: Target, listing: Listing) -> None:
        self._target = target
        self._listing = listing
        names = [visible(entry.name) + FOLDER_MARKS[entry.what] for entry in listing.entries]
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

    @property
    def selector(self) -> str:
        return write_target(self._target)

    def need(self) -> int:
        return tokens.estimate("\n".join([self._head(len(self._names)), *self._names])) + 1

    def _head(self, count: int) -> str:
        total = len(self._listing.entries)
        said = f"{visible(self._target.path.rstrip('/') or '/')}: folder, {counted(total, 'name')}"
        if self._listing.partial:
            said += " seen of more"
        return said if count == total else f"{said}, {self._first}-{self._first + count - 1} shown"

    def show(self, allotted: int) -> Shown:
        room = max(LEAST_TOKENS, allotted - tokens.estimate(self._head(-1) + self.selector) - LEFT_TOKENS)
        count = len(self._names)
        if self.need() > allotted:
            count = fitting(self._names, room, tokens.estimate) or 1
        text = "\n".join([self._head(count), *self._names[:count]])
        left = []
        if count < len(self._names):
            following = Ranges((Lines(self._first + count, len(self._names) - count),))
            left = [write_target(Target(self._target.path, following))]
        facts: dict[str, Any] = {
            "path": self._target.path,
            "kind": "folder",
            "names": len(self._listing.entries),
            "tokens": tokens.estimate(text),
            "next": left[0] if left else None,
        }
        return Shown(text, facts, tuple(left))


def counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def visible(name: str) -> str:
    """A name that cannot be taken for several lines."""
    if name.isprintable():
        return name
    return "".join([c if c.isprintable() or c == "\xa0" else f"\\x{ord(c):02x}" if ord(c) < 256 else c for c in name])
