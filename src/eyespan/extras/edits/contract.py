"""The contract between reads and edits: which lines that were shown have changed, and which were never shown.

`changed` and `unseen` compare what a tool has shown with the files as they are, and answer by selectors.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Literal

from eyespan import kinds
from eyespan.context import CallContext
from eyespan.dialects.base import Dialect
from eyespan.dialects.native import Native, own_lines
from eyespan.dialects.native.arguments import known_parts, parse_arguments
from eyespan.dialects.native.call import Files
from eyespan.dialects.native.holdings import as_hash, hash_row
from eyespan.dialects.native.rows import Row, as_selector_range, ranges_of, rows_of, split_runs
from eyespan.dialects.native.text import FileText
from eyespan.engine import Engine
from eyespan.errors import BadArguments, ReadError
from eyespan.model import CharRange, Lines, Reply, ReplyError, TextContent, ToolSpec
from eyespan.selectors import Range, Ranges, Target, parse_ranges, write_piece, write_target
from eyespan.workspace import Workspace


def changed(dialect: Dialect, engine: Engine) -> list[str]:
    """Return selectors of the lines of text files that were shown and are no longer so, by the numbers shown.

    A file that cannot be read any more is named without lines. Raises: TypeError for a dialect that does not remember.
    """
    native = _remembering(dialect)
    found: list[str] = []
    for key, target in native.holdings.texts().items():
        if target.piece is not None or target.revision:
            continue  # the text of a part of a document, or one that cannot change
        held = native.holdings.lines(key)
        now: dict[int, int] = {}
        try:
            with Files(engine, CallContext(engine.deadline_seconds), native, native.documents) as files:
                opened = files.open(target)
                if opened.kind is kinds.TEXT:
                    text = FileText(opened)
                    for run in _runs(held):
                        now |= {row.number: hash_row(row, row.text) for row in rows_of(text.read(run)[0])}
        except ReadError:
            found.append(write_target(target))
            continue
        numbers = [number for number, value in held.items() if now.get(number) != value]
        if numbers and opened.kind is kinds.TEXT:
            found.append(_selector(target, numbers))
    return found


def unseen(dialect: Dialect, engine: Engine, path: str, first: int, last: int) -> list[str]:
    """Return selectors of the lines of a text file that were never shown. Raises: ReadError, TypeError."""
    native = _remembering(dialect)
    target = Target(path)
    with Files(engine, CallContext(engine.deadline_seconds), native, native.documents) as files:
        key = (files.open(target).facts.canonical, None, "", "")
    held = native.holdings.lines(key)
    numbers = [number for number in range(first, last + 1) if number not in held]
    return [_selector(target, numbers)] if numbers else []


def _remembering(dialect: Dialect) -> Native:
    if not isinstance(dialect, Native):
        raise TypeError(f"{dialect.name} does not remember what it has shown; native does")
    return dialect


# `hash` is the public name of the argument.
def check_edit(path: str, lines: str, hash: str, *, root: str = ".") -> Literal["ok", "changed", "unseen"]:  # noqa: A002
    """Compare the lines that an edit replaces with the part of the file that the editor has seen.

    `hash` is that in the header of the part; with its lines, as in `10-40/340 #482913758201`, the edit may replace
    some of them. It may also be the anchors of the first and the last of the lines: `12:a3f 14:x0b`. Returns "ok" if
    the file still has the part, "changed" if not, "unseen" if the part lacks some lines.

    Raises: ValueError for lines that are no ranges and a hash that is none.
    """
    anchors = dict([one.split(":") for one in hash.replace(",", " ").split()]) if _has_anchors(hash) else {}
    seen = lines if anchors else _part_seen(lines, hash)
    if not seen or (anchors and not {*lines.split("-")} <= anchors.keys()):
        return "unseen"
    with Workspace(root) as workspace:
        arguments = {"files": [{"path": path, "lines": seen}], "known": [] if anchors else [hash], "budget": 200_000}
        reply = workspace.tool("native", anchors=bool(anchors)).call(arguments)
    if anchors:
        return "ok" if all(f"\n{line}:{one}\t" in reply.text for line, one in anchors.items()) else "changed"
    parts = (reply.structured or {"parts": [{}]})["parts"]
    return "ok" if parts[0].get("unchanged") else "changed"


def _part_seen(lines: str, header: str) -> str:
    """Return the selector of the part that a hash from a header covers: its lines, if given, or exactly `lines`.

    Returns "" if the part lacks some of the lines. Raises: ValueError for what are no lines and no hash.
    """
    wanted = parse_ranges(lines)
    if wanted is None or as_hash(header) is None:
        raise ValueError(f'lines are as in "10-20", a hash as in "482913758201", not {lines!r} and {header!r}')
    ((_, parts),) = known_parts([header]).items()
    seen = tuple([as_selector_range(part) for part in parts]) or wanted
    return write_piece(Ranges(seen)) if _numbers(wanted) <= _numbers(seen) else ""


def _has_anchors(text: str) -> bool:
    """Return True if a text is anchors of lines: `12:a3f 14:x0b`."""
    return re.fullmatch(r"\d+:[a-z][0-9a-z]{2}(?:[ ,]+\d+:[a-z][0-9a-z]{2})*", text) is not None


def _numbers(ranges: Iterable[Range]) -> set[int]:
    return {
        number
        for one in ranges
        if isinstance(one, Lines) and one.count
        for number in range(one.first, one.first + one.count)
    }


def _selector(target: Target, numbers: Iterable[int]) -> str:
    found = _runs(numbers)
    ranges = tuple([as_selector_range(CharRange(one.first, 1, one.last)) for one in found])
    return write_target(replace(target, piece=Ranges(ranges)))


def _runs(numbers: Iterable[int]) -> list[CharRange]:
    return ranges_of(split_runs([Row(number, 1, "") for number in sorted(numbers)]))


class Changes(Dialect):
    """A second tool: which lines that `read` has shown are no longer so, and which lines it has never shown."""

    name = "native"
    remembers = True
    """It belongs to one conversation."""

    def __init__(self, native: Native) -> None:
        self._native = native
        super().__init__()

    def __reduce__(self) -> tuple[Any, ...]:
        return Changes, (self._native,)

    def _spec(self) -> ToolSpec:
        text = "Files as selectors, a.py:10-20, whose lines are then returned that read has never shown"
        files = {"type": "array", "items": {"type": "string"}, "description": text}
        words = "Lists the lines that read has shown and that have changed since, as selectors."
        return ToolSpec("changes", words, {"type": "object", "properties": {"files": files}})

    def run(self, arguments: Any, engine: Engine, context: CallContext | None) -> Reply:
        asks = arguments.get("files") if isinstance(arguments, dict) else None
        if not asks:
            return _selectors_reply("changed", changed(self._native, engine))
        found: list[str] = []
        for ask in parse_arguments({"files": asks}, self._native.budget).asks:
            target = ask.readings[-1]
            ranges = target.piece.ranges if isinstance(target.piece, Ranges) else ()
            lines = [one for one in ranges if isinstance(one, Lines) and one.count]
            if not lines or len(lines) < len(ranges):
                raise BadArguments("invalid_arguments", f'{ask.written} names no lines, as in "a.py:10-20"')
            for one in lines:
                last = one.first + (one.count or 1) - 1
                found += unseen(self._native, engine, target.path, one.first, last)
        return _selectors_reply("unseen", found)

    def render_error(self, error: ReadError) -> ReplyError:
        return self._native.render_error(error)


def _selectors_reply(name: str, selectors: list[str]) -> Reply:
    lines = [own_lines.words(f"{name}: {len(selectors)}"), *map(own_lines.entry, selectors)]
    return Reply((TextContent(own_lines.write(lines)),), {name: selectors})
