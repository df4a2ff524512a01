"""Show what a selector names: the parts of `eyespan read` that a whole file in text form does not need.

A plain `eyespan read FILE` imports none of this, because start-up time is most of its time.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from eyespan import errors, kinds
from eyespan.context import CallContext
from eyespan.dialects import pieces
from eyespan.dialects.pieces import as_char_range, cut_out, rows_not_pattern
from eyespan.escape import visible
from eyespan.model import CharRange, Lines, NotePart, Part, Tail, TextPart
from eyespan.opened import Opened
from eyespan.readers.text import is_count_costly
from eyespan.selectors import (
    Enclosing,
    Named,
    Place,
    Range,
    Ranges,
    Symbol,
    Target,
    is_missing,
    readings,
    resolve,
    write_range,
    write_target,
)

if TYPE_CHECKING:
    from eyespan.cli.reader import Progress, Reader


MAX_PAGES = 10_000
MAX_NEAR = 20
"""The similar paths that are listed after an error."""


class Selected:
    """Shows what selectors name, with the files and the printer of a reader."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def forgive(
        self,
        text: str,
        label: str,
        failure: errors.ReadError,
        context: CallContext,
        progress: Progress,
        headed: bool,
    ) -> None:
        """Show what a text means that is no selector, after a note about it. Raises: ReadError."""
        from eyespan.dialects.native.suggestions import Suggestions
        from eyespan.selectors.forgive import (
            better_error,
            describe_reading,
            forgive,
            is_vague,
            likely_path,
            may_forgive,
        )

        if not may_forgive(failure):
            raise failure
        suggestions = Suggestions(self._reader.workspace.engine, context)
        opened: list[Opened] = []

        def take(target: Target) -> Callable[[bool], None]:
            name = write_target(target)
            try:
                one = self._open(target, context)
            except errors.NotRegular as failure:
                if failure.what != "directory" or target != Target(target.path):
                    raise
                return lambda headed: self._reader.list_names(target.path, name, context, headed)
            opened.append(one)
            parts = self._parts(one, target)
            # The first part shows that the file has what the target selects of it.
            first = next(parts, None)
            shown = iter(()) if first is None else _with_first(first, parts)
            return lambda headed: self._reader.write_parts(shown, name, progress, headed, one)

        try:
            try:
                found, missing = forgive(text, take, lambda path: suggestions.locate(path).certain)
            except (errors.TimedOut, errors.Cancelled):
                raise
            except errors.ReadError as error:
                better = better_error(failure, error, readings(text))
                if is_vague(better) and not isinstance(better, errors.OutsideRoot):
                    self._reader.near = tuple(suggestions.near(likely_path(readings(text)))[:MAX_NEAR])
                raise better from None
            progress.clear()
            sys.stdout.flush()
            note = describe_reading([target for target, _ in found], missing)
            print(f"eyespan: {visible(label)}: {visible(note)}", file=sys.stderr)
            for _, show in found:
                show(headed or len(found) > 1)
        finally:
            for one in opened:
                one.close()

    def resolve(
        self, text: str, missing: errors.ReadError, context: CallContext, progress: Progress, headed: bool
    ) -> None:
        """Show what a path followed by a selector names. Raises: ReadError."""
        if not is_missing(missing):
            raise missing
        targets = readings(text)[1:]
        if not targets:
            raise missing

        def take(target: Target) -> None:
            if ".." in target.revision:
                self._show_difference(target, text, context, progress, headed)
                return
            try:
                opened = self._open(target, context)
            except (errors.NotFound, errors.NotRegular) as failure:
                if not target.pattern or target.piece is not None or not _names_several(target.path, failure):
                    raise
                self._search(target, context, progress)
                return
            with opened:
                self.show(opened, target, text, progress, headed)

        def exists(path: str) -> bool:
            try:
                self._open(Target(path), context).close()
            except errors.TimedOut:
                raise
            except errors.ReadError:
                return False
            return True

        try:
            resolve(targets, take, exists)
        except (errors.NoMember, errors.NoRevision):
            raise
        except errors.ReadError as error:
            raise (missing if is_missing(error) else error) from None

    def _search(self, target: Target, context: CallContext, progress: Progress) -> None:
        """Show the lines that match in the files of a directory or of a pattern. Raises: ReadError."""
        from eyespan.dialects.native import searches

        path = target.path.rstrip("/") or "/"
        below = searches.files_like if "*" in path else searches.files_below
        end = context.now() + searches.MAX_SECONDS
        count = 0
        for searched, one in enumerate(below(path, self._reader.workspace.engine, context)):
            late = context.now() > end
            if late or searched >= searches.MAX_FILES or count >= searches.MAX_MATCHING_FILES:
                print(f"eyespan: {visible(write_target(target))}: stopped at {visible(one.path)}", file=sys.stderr)
                break
            context.check()
            try:
                with self._open(one, context) as opened:
                    if opened.kind.is_text:
                        self.show(opened, replace(one, pattern=target.pattern), one.path, progress, True)
                        count += 1
            except (errors.Cancelled, errors.TimedOut):
                raise
            except errors.ReadError:
                continue  # a file that cannot be read has no line that matches
        if not count:
            raise errors.NoMatch(target.path, pattern=target.pattern)

    def _show_difference(
        self, target: Target, text: str, context: CallContext, progress: Progress, headed: bool
    ) -> None:
        """Show the difference between two revisions, nothing if there is none. Raises: ReadError."""
        from eyespan.dialects.differences import difference, is_difference

        if not is_difference(target):
            raise errors.NoRevision(target.path, revision=target.revision, reason=f"no revision '{target.revision}'")
        opened: list[Opened] = []

        def open_file(side: Target) -> Opened:
            opened.append(self._open(side, context))
            return opened[-1]

        try:
            shown, _ = difference(target, open_file)
        finally:
            for one in opened:
                one.close()
        if not shown:
            return
        ranges = target.piece.ranges if isinstance(target.piece, Ranges) else (Lines(),)
        lines = [one for one in ranges if not isinstance(one, Place)]
        parts = [(write_range(one), cut_out(shown, as_char_range(one))) for one in lines]
        self._reader.write_parts(iter(parts), text, progress, headed)

    def _open(self, target: Target, context: CallContext) -> Opened:
        return self._reader.open_file(target.path, context, member=target.member, revision=target.revision)

    def show(self, opened: Opened, target: Target, text: str, progress: Progress, headed: bool) -> None:
        """Write what a target selects of an opened file. Raises: ReadError."""
        self._reader.write_parts(self._parts(opened, target), text, progress, headed, opened)

    def _parts(self, opened: Opened, target: Target) -> Iterator[tuple[str, Part]]:
        """Yield the parts that a target selects, each with the range it belongs to."""
        piece = target.piece
        if target.pattern:
            rows = rows_not_pattern(target, opened.kind)
            yield from _matching_parts(opened, target) if rows is None else self._parts(opened, rows)
            return
        if piece is None and opened.kind.layout in ("text", "notes"):
            for part in opened.stream():
                yield "", part
            return
        if opened.kind in (kinds.TEXT, kinds.BINARY):
            if opened.source.is_version and isinstance(piece, Ranges) and not self._reader.needs_numbers:
                target = replace(target, piece=_without_costly_numbers(opened, piece))
            yield from _text_parts(opened, target, pieces)
            return
        choice = pieces.choose(target.path, opened.kind, piece, max_pages=MAX_PAGES, has_images=False)
        if choice.as_text or opened.kind.layout == "text":
            for one in choice.within or (Lines(),):
                for selection in _selections(one, lambda wanted: _one(opened, wanted, choice), pieces):
                    document = opened.read(selection, options=choice.options, as_text=choice.as_text)
                    for part in document.parts:
                        yield write_range(one), part
            return
        document = opened.read(options=choice.options)
        if not document.parts and "total_pages" in document.extra:
            total, first = document.extra["total_pages"], choice.options.pdf.first
            raise errors.PastEnd("", part="page", wanted=str(first), document="the PDF", total=total)
        if not choice.within:
            for part in document.parts:
                yield "", part
            return
        notes = [part.text for part in document.parts if isinstance(part, NotePart)]
        whole = "".join([note if note.endswith("\n") else f"{note}\n" for note in notes])
        for one in choice.within:
            for selection in _selections(one, lambda wanted: pieces.cut_out(whole, wanted), pieces):
                yield write_range(one), pieces.cut_out(whole, pieces.as_char_range(selection))


def _with_first(first: tuple[str, Part], others: Iterator[tuple[str, Part]]) -> Iterator[tuple[str, Part]]:
    yield first
    yield from others


def _without_costly_numbers(opened: Opened, piece: Ranges) -> Ranges:
    """Return the ranges with last lines that are not numbered, if only many requests to a store could number them."""
    if not any(isinstance(one, Tail) for one in piece.ranges) or not is_count_costly(opened):
        return piece
    print("eyespan: the last lines are not numbered, because that reads all of the file; -n does", file=sys.stderr)
    return Ranges(tuple([Tail(one.count, numbered=False) if isinstance(one, Tail) else one for one in piece.ranges]))


def _text_parts(opened: Opened, target: Target, pieces: Any) -> Iterator[tuple[str, Part]]:
    """Yield the parts of a text file that a piece selects. Raises: ReadError."""
    match target.piece:
        case Ranges(ranges):
            for one in ranges:
                for selection in _selections(one, lambda wanted: _one(opened, wanted), pieces):
                    for part in opened.stream(selection):
                        yield write_range(one), part
        case Symbol() | Named(_, ()) | Enclosing():
            base = write_target(Target(target.path, None, target.member, target.revision))
            if isinstance(target.piece, Enclosing):
                symbols, _, notes = pieces.enclosing_ranges(opened, target.piece.ranges, base)
            else:
                symbols, _, notes = pieces.symbol_ranges(opened, target.piece.name, base)
            _print_notes(target, notes)
            for found in symbols:
                for part in opened.stream(Lines(found.first, found.last - found.first + 1)):
                    yield f"{found.first}-{found.last}", part
        case piece:
            raise pieces.no_such_part(target.path, opened.kind, piece)


def _names_several(path: str, failure: errors.ReadError) -> bool:
    """Return True if a path that is no file names several: a directory, or a pattern."""
    return "*" in path if isinstance(failure, errors.NotFound) else getattr(failure, "what", "") == "directory"


def _print_notes(target: Target, notes: Sequence[str]) -> None:
    """Print what matters about the symbols of a target, such as an end that may be wrong."""
    for note in notes:
        print(f"eyespan: {visible(write_target(target))}: {visible(note)}", file=sys.stderr)


def _matching_parts(opened: Opened, target: Target) -> Iterator[tuple[str, Part]]:
    """Yield the lines that match the pattern of a target, with the lines around them. Raises: ReadError."""
    from eyespan.dialects.native.searches import compile_search, matching_lines, windows
    from eyespan.dialects.native.text import FileText
    from eyespan.dialects.native.wanted import line_ranges

    if opened.kind.layout != "text":
        raise pieces.no_such_part(target.path, opened.kind, Ranges(()))
    text = FileText(opened)
    base = write_target(Target(target.path, None, target.member, target.revision))
    ranges: tuple[CharRange, ...]
    match target.piece:
        case None:
            ranges = (CharRange(),)
        case Ranges(several):
            ranges = line_ranges(text, several)
        case Symbol(name) | Named(name, ()):
            ranges, _, notes = pieces.symbol_ranges(opened, name, base)
            _print_notes(target, notes)
        case Enclosing(several):
            ranges, _, notes = pieces.enclosing_ranges(opened, several, base)
            _print_notes(target, notes)
        case piece:
            raise pieces.no_such_part(target.path, opened.kind, piece)
    search = compile_search(target.pattern, opened.context)
    stopped: list[int] = []
    matches = [number for number, _ in matching_lines(text, ranges, search, [], stopped)]
    if stopped:
        print(f"eyespan: {visible(target.path)}: searched up to line {stopped[0] - 1}", file=sys.stderr)
    if not matches:
        raise errors.NoMatch(target.path, pattern=target.pattern)
    for found in windows(matches, ranges):
        assert found.last is not None
        for part in opened.stream(Lines(found.first, found.last - found.first + 1)):
            yield f"{found.first}-{found.last}", part


def _selections(one: Range, read: Callable[[CharRange], TextPart], pieces: Any) -> Iterator[Lines | Tail | CharRange]:
    """Yield the selection that a range of a selector means; the lines around a place."""
    if isinstance(one, Place):
        around, _ = pieces.around_place(read, one.line, one.column)
        yield Lines(around.first, around.last - around.first + 1) if around.max_chars is None else around
    else:
        yield one


def _one(opened: Opened, wanted: CharRange, choice: Any = None) -> TextPart:
    if choice is None:
        part: Any = opened.read(wanted).parts[0]
    else:
        part = opened.read(wanted, options=choice.options, as_text=choice.as_text).parts[0]
    found: TextPart = part
    return found
