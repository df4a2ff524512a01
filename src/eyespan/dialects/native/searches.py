"""Search in what a target names: `app.py?pattern` shows the lines that match, with the lines around them.

Expressions match in linear time (`eyespan.regex`); a text that is no expression is searched as it is. A search
of one text becomes a plan like any other, whose ranges surround the matches. A search of a directory or an archive is
one item that holds a text item for each file with a match.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from eyespan import errors, kinds, tokens
from eyespan.context import CallContext
from eyespan.dialects.native import own_lines
from eyespan.dialects.native.items import (
    LEAST_SHARED_CHARS,
    LEAST_TOKENS,
    LEFT_TOKENS,
    FixedItem,
    Shown,
    counted,
    part_shown,
    row_range,
)
from eyespan.dialects.native.rows import merged
from eyespan.dialects.native.text import FileText
from eyespan.dialects.native.text_items import TextItem, TextPlan, make_item
from eyespan.dialects.native.wanted import Wanted, line_ranges
from eyespan.engine import Engine
from eyespan.lines.detect import is_plain
from eyespan.model import CharRange, Document, Lines, Tail
from eyespan.regex import Pattern, PatternError
from eyespan.selectors import Ranges, Target, write_target
from eyespan.selectors.globs import PathGlob, split_glob

if TYPE_CHECKING:
    from eyespan.dialects.native.call import Files
    from eyespan.dialects.native.items import Item, View
    from eyespan.dialects.native.text import Text
    from eyespan.opened import Opened


AROUND_MATCH = 2
"""The lines shown before and after a line that matches, if the call gives no number."""
BLOCK_CHARS = 1 << 18
"""The text that is read at a time."""
CHUNK_CHARS = 1 << 20
"""The text that is read of a line that is longer; no more of it is searched."""
MAX_MEMBERS = 5000
"""The members of an archive that are searched."""
MAX_MATCHING_FILES = 100
"""The limits of a search, which also stops when half of the time is over. What they leave out is noted."""
MAX_UNREAD = 3
"""The paths that a note lists of what cannot be read."""
PLACE_FILES = 1000
"""The files between two places of a walk that are remembered."""


Inner = Callable[[int], Iterator[Target]]
"""The files that are searched, from a number on."""


@dataclass(frozen=True, slots=True)
class Search:
    """A pattern, compiled."""

    text: str
    pattern: Pattern
    context: CallContext
    """The context of the call, which pays for the text that is searched."""
    note: str = ""
    """How the text is searched, if that may surprise."""


def compile_search(text: str, context: CallContext) -> Search:
    """Return the search for an expression, or for the text itself if it is none. Raises: Missing."""
    try:
        return Search(text, Pattern(text), context, _note_on_ascii(text))
    except PatternError as error:
        note = f"searched as plain text: as an expression, {error}"
        return Search(text, Pattern(text, is_literal=True), context, note)


def _note_on_ascii(text: str) -> str:
    is_surprising = not text.isascii() and re.search(r"\\[bBdDsSwW]", text)
    return r"\b, \w, \d and \s know ASCII only; \pL is a letter of any script" if is_surprising else ""


# --- one text --------------------------------------------------------------------------------------------------------


def search_text(plan: TextPlan, search: Search, view: View, max_chars: int) -> TextPlan | int:
    """Return the plan of the lines that match; without any, the line before which a long search stopped, or 0.

    Raises: ReadError.
    """
    wanted = plan.wanted
    chosen = wanted.ranges if wanted.tail is None else line_ranges(plan.text, (Tail(wanted.tail),))
    ranges = (CharRange(),) if wanted.is_whole else merged(chosen)
    notes = list(wanted.notes)
    matches: list[int] = []
    following = 0
    chars = 0
    stopped: list[int] = []
    for number, line_bytes in matching_lines(plan.text, ranges, search, notes, stopped):
        matches.append(number)
        chars += line_bytes + 1
        if chars > max_chars:
            following = number + 1
            break
    if not matches:
        return stopped[0] if stopped else 0
    if search.note:
        notes.append(search.note)
    found = Wanted(
        ranges=tuple(windows(matches, ranges, view.around_match)),
        notes=tuple(notes),
        pattern=search.text,
        matches=tuple(matches),
        search_next=following or (stopped[0] if stopped else 0),
        search_last=ranges[-1].last,
    )
    return replace(plan, wanted=found)


def matching_lines(
    text: Text, ranges: Sequence[CharRange], search: Search, notes: list[str], stopped: list[int]
) -> Iterator[tuple[int, int]]:
    """Yield the number and the length of each line of these ranges that matches.

    A search that is not finished at its end stops, and adds the line before which it stopped to `stopped`.

    Raises: ReadError.
    """
    context = search.context
    for one in ranges:
        at = one.first
        while one.last is None or at <= one.last:
            before_bytes = context.memory.loan_start()
            data, line_count, is_cut, has_more = _block(text, at, one.last, search)
            if is_cut:
                notes.append(f"only the first {len(data.decode())} characters of line {at} were searched")
            try:
                for number, line_bytes in search.pattern.matching_lines(data) if line_count else ():
                    yield at + number, line_bytes
            finally:
                at += line_count
                del data
                context.memory.end_loan(before_bytes)
            if not has_more:
                break
            if context.is_half_over:
                stopped.append(at)
                return


def windows(matches: Sequence[int], ranges: Sequence[CharRange], around_match: int) -> list[CharRange]:
    """Return the lines around matches, within the first and the last line that were searched."""
    first, last = ranges[0].first, ranges[-1].last
    ends = [(number - around_match, number + around_match) for number in matches]
    return merged([CharRange(max(first, start), 1, min(end, last or end)) for start, end in ends])


def _block(text: Text, first: int, last: int | None, search: Search) -> tuple[bytes, int, bool, bool]:
    """Return whole lines from `first` on and their number; True if it is the start of one line, True if more follow.

    Raises: ReadError.
    """
    context = search.context
    most_chars = min(CHUNK_CHARS, search.pattern.max_chars)
    for max_chars in sorted({min(BLOCK_CHARS, most_chars), most_chars}):
        before_bytes = context.memory.loan_start()
        part, _ = text.read(CharRange(first, 1, last, max_chars))
        data = bytes(part.data)
        is_cut = part.cut_short and not data.endswith(b"\n")
        if is_cut and b"\n" in data:
            data, is_cut = data[: data.rfind(b"\n") + 1], False
        if not is_cut:
            break
        if max_chars < most_chars:
            del part, data
            context.memory.end_loan(before_bytes)
    count = data.count(b"\n") + (not data.endswith(b"\n")) if part.line_count else 0
    return data, count, is_cut, part.cut_short and count > 0


def no_match(target: Target, search: Search, words: str = "no line matches", following: str | None = None) -> FixedItem:
    """Return the item of a target without a line that matches."""
    selector = write_target(target)
    notes = [own_lines.note(search.note)] if search.note else []
    lines = [own_lines.header(f"{own_lines.quoted(selector)}: {words}"), *notes]
    facts = {"path": target.path, "selector": selector, "matches": 0}
    return FixedItem(selector, lines, facts, left=() if following is None else (following,))


# --- many files ------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Coverage:
    """The files that were searched."""

    searched: int = 0
    matching: int = 0
    notes: list[str] = field(default_factory=list)
    """What was left out."""
    stopped_at: str = ""
    """The file before which the search stopped."""
    following: str = ""
    """The selector that continues it."""


@dataclass(frozen=True, slots=True)
class SearchItem:
    """The matches in the files of a directory or an archive."""

    target: Target
    items: Sequence[TextItem]
    coverage: Coverage
    noun: str = "file"

    @property
    def selector(self) -> str:
        return write_target(self.target)

    def _lead(self) -> list[str]:
        files = f"{counted(len(self.items), self.noun)} of {self.coverage.searched}"
        header = f"{own_lines.quoted(self.selector)}: {files} {'matches' if len(self.items) == 1 else 'match'}"
        return [
            own_lines.header(header),
            *[own_lines.note(note) for note in dict.fromkeys(self.coverage.notes) if note],
        ]

    def need(self) -> int:
        return tokens.estimate(own_lines.write(self._lead())) + 1 + sum([item.need() for item in self.items])

    def show(self, max_tokens: int) -> Shown:
        lines = self._lead()
        left: list[str] = []
        parts: list[dict[str, Any]] = []
        room = max_tokens - tokens.estimate(own_lines.write(lines)) - 1
        if self.need() > max_tokens:
            room -= LEFT_TOKENS
        for at, item in enumerate(self.items):
            rest = self.items[at + 1 :]
            listing = sum([tokens.estimate(own_lines.entry(one.selector)) + 1 for one in rest])
            need = item.need()
            if need <= room - listing or (need <= room and not rest):
                shown = item.show(need)
            elif not parts or room - listing >= 8 * LEAST_TOKENS:
                shown = item.show(max(LEAST_TOKENS, room - listing))
            else:
                left.append(item.selector)
                continue
            lines += shown.lines
            left += shown.left
            parts.append(shown.facts)
            room -= tokens.estimate(own_lines.write(shown.lines)) + 1
        if self.coverage.following:
            left.append(self.coverage.following)
        facts: dict[str, Any] = {
            "path": self.target.path,
            "selector": self.selector,
            "matches": len(self.items),
            "parts": parts,
            "lines": sum([part.get("lines", 0) for part in parts]),
        }
        if self.coverage.stopped_at:
            facts["stopped_at"] = self.coverage.stopped_at
        return part_shown(lines, facts, left)


def search_files(
    target: Target, inner: Inner, read: Callable[[Target], bool], unread: list[str], context: CallContext
) -> Coverage:
    """Read the files that are searched, from the number of `target` on: `src:5001-?word` passes 5,000 files.

    `read` returns True for a file with a match. A search that stops names the number to continue with. `unread` are
    the paths of what cannot be read; `inner` may add to it.

    Raises: NotRegular for other parts, Cancelled, TimedOut, and what `inner` raises.
    """
    first, last = row_range(target, sys.maxsize)
    found = Coverage()
    documents: list[str] = []
    for number, one in enumerate(islice(inner(first), max(0, last - first + 1)), first):
        if number > first and (found.matching >= MAX_MATCHING_FILES or context.is_half_over):
            found.stopped_at = write_target(one)
            left = Lines(number, None if last == sys.maxsize else last - number + 1)
            found.following = "" if target.member else write_target(replace(target, piece=Ranges((left,))))
            goes_on = f"; {own_lines.quoted(found.following)} continues" if found.following else ""
            up_to = own_lines.quoted(found.stopped_at)
            found.notes.append(f"files {first}-{number - 1} were searched, up to {up_to}{goes_on}")
            break
        context.check()
        try:
            found.matching += read(one)
            found.searched += 1
        except (errors.Cancelled, errors.TimedOut):
            raise
        except (errors.ScanLimit, errors.TooMuchMemory):
            path = own_lines.quoted(write_target(one))
            found.notes.append(f"{path} is too large to be searched to its end with others")
        except (errors.NotFound, errors.PolicyDenied):
            pass  # removed in the meantime
        except errors.Binary as error:
            if error.kind not in ("binary", "data", "image"):
                documents.append(write_target(one))
        except errors.ReadError:
            unread.append(write_target(one))
    found.notes += _note_on(documents, "documents and archives are searched one by one") + _note_on(
        unread, "it cannot be read"
    )
    return found


def search_many(
    target: Target,
    inner: Inner,
    search: Search,
    view: View,
    files: Files,
    unread: list[str],
    more_notes: Sequence[str] = (),
) -> Item:
    """Search the texts that the targets name. Raises: what `search_files` raises."""
    items: list[TextItem] = []
    whole = replace(target, pattern=search.text)
    left_chars = view.max_chars

    def read(one: Target) -> bool:
        nonlocal left_chars
        # Files are shown in this order: of those after the budget is spent, little more than the names.
        item = _search_file(one, search, view, files, max(LEAST_SHARED_CHARS, left_chars))
        if item is not None:
            items.append(item)
            left_chars -= item.size_bytes
        return item is not None

    found = search_files(whole, inner, read, unread, files.context)
    found.notes[:0] = more_notes
    if not items:
        words = "; ".join([f"no line matches in {counted(found.searched, 'file')}", *found.notes])
        return no_match(whole, search, words, found.following or None)
    found.notes.insert(0, search.note)
    return SearchItem(whole, items, found)


def _search_file(target: Target, search: Search, view: View, files: Files, max_chars: int) -> TextItem | None:
    """Return the item of a file with matches; None without any. Raises: ReadError, also for what is not a text."""
    opened = files.open(target)
    plan: TextPlan | int = 0
    try:
        # The kind is not looked for if no other than a text is likely.
        if kinds.suffix_of(target.path) in kinds.TEXT_SUFFIXES and not _may_match(opened, search.pattern):
            return None
        if not opened.kind.is_text:
            raise errors.Binary(target.path, kind=opened.kind.name)
        quiet = replace(search, note="")
        text = FileText(opened, None, as_text=opened.kind is not kinds.TEXT)
        plan = search_text(TextPlan(target, text, Wanted(is_whole=True), view.style), quiet, view, max_chars)
    finally:
        if not isinstance(plan, TextPlan):
            files.close(opened)
    if isinstance(plan, TextPlan):
        return make_item([plan], view, max_chars)
    if plan:
        raise errors.ScanLimit(target.path, limit_bytes=opened.facts.size_bytes)
    return None


def _may_match(opened: Opened, pattern: Pattern) -> bool:
    """Return False if no line of a file matches: its bytes are its text, and the expression finds nothing in them.

    Most files of a search end here, without their lines.
    """
    size_bytes = opened.source.size_bytes
    if opened.request.encoding != "auto" or size_bytes > min(CHUNK_CHARS, pattern.max_chars):
        return True
    with opened.context.memory.loan():
        try:
            data = opened.raw(size_bytes + 1)
        except errors.TooMuchMemory:
            return True  # its lines take less, some at a time
        if len(data) != size_bytes or not is_plain(data):
            return True  # also if only a guess could find its encoding
        return next(pattern.matching_lines(data, is_valid=data[-1:].isascii()), None) is not None


def _note_on(paths: Sequence[str], reason: str) -> list[str]:
    """Return the note on files that were not searched."""
    more = f" and {len(paths) - MAX_UNREAD} more" if len(paths) > MAX_UNREAD else ""
    shown = ", ".join([own_lines.quoted(path) for path in paths[:MAX_UNREAD]])
    return [f"not searched, because {reason}: {shown}{more}"] if paths else []


def files_below(
    path: str, engine: Engine, context: CallContext, unread: list[str], first: int = 1, *, is_pattern: bool = False
) -> Iterator[Target]:
    """Yield the files below a directory, or those that a path with `*` matches, in the order of paths.

    The first one has the number `first`: the engine remembers where a walk has been, so that a call that continues does
    not walk there again. Ignored files are left out, directories that cannot be listed added to `unread`.

    Raises: ReadError.
    """
    base, pattern = split_glob(path) if is_pattern else (path, "")
    directory = base.rstrip("/") or ("/" if base.startswith("/") else ".")
    lead = "" if directory == "." else "/" if directory == "/" else f"{directory}/"
    matches = matcher(path, pattern, context) if pattern else None
    number, after = engine.places.get((path, pattern, (first - 1) // PLACE_FILES)) or (0, "")
    for below, error, _ in engine.walk(directory, context, after):
        if error is not None:
            if not isinstance(error, errors.NotRegular) or error.what == "directory":
                unread.append(f"{lead}{below}/")
        elif matches is None or matches(below):
            number += 1
            if number % PLACE_FILES == 0:
                engine.places.put((path, pattern, number // PLACE_FILES), (number, below), len(below))
            if number >= first:
                yield Target(lead + below)


def matcher(path: str, pattern: str, context: CallContext) -> Callable[[str], bool]:
    """Return the test of a path by a pattern. Raises: InvalidPath."""
    try:
        return PathGlob(pattern, context.check).matches
    except ValueError as error:
        raise errors.InvalidPath(path, str(error)) from None


def notes_on_members(archive: Document) -> list[str]:
    """Return which members of an archive are not searched because they are not listed."""
    facts = archive.extra
    notes = []
    if facts["truncated"]:
        notes.append(f"only the first {len(facts['members'])} of {facts['total_members']} members were searched")
    if "complaint" in facts:
        notes.append(f"the archive cannot be listed to its end: {facts['complaint']}")
    return notes


def members_of(target: Target, archive: Document, first: int) -> Iterator[Target]:
    """Yield the files in an archive, from the number `first` on."""
    inside = target.member.rstrip("/")
    names = [member["name"] for member in archive.extra["members"] if member.get("what") == "file"]
    for name in names[first - 1 :]:
        yield replace(target, piece=None, member=f"{inside}!/{name}" if inside else name)
