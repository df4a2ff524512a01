"""Read the parts of an opened file that a target selects, for `eyespan read`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from eyespan import errors, kinds
from eyespan.dialects import pieces
from eyespan.escape import visible
from eyespan.model import CharRange, Lines, NotePart, Part, Tail, TextPart
from eyespan.opened import Opened
from eyespan.readers.text import is_count_costly
from eyespan.selectors import Enclosing, Named, Place, Range, Ranges, SymbolPiece, Target, write_range, write_target

MAX_PAGES = 10_000


def print_note(name: str, note: str) -> None:
    """Print a note about a file on standard error, after what was written before."""
    sys.stdout.flush()
    print(f"eyespan: {visible(name)}: {visible(note)}", file=sys.stderr)


def selected_parts(opened: Opened, target: Target, *, needs_numbers: bool = False) -> Iterator[tuple[str, Part]]:
    """Yield the parts that a target selects, each with the range that it belongs to. Raises: ReadError.

    `needs_numbers`: lines are numbered, whatever that costs.
    """
    piece = target.piece
    if target.pattern:
        yield from _matching_parts(opened, target)
    elif piece is None and opened.kind.layout in ("text", "notes"):
        for part in opened.stream():
            yield "", part
    elif opened.kind in (kinds.TEXT, kinds.BINARY):
        if opened.source.is_version and isinstance(piece, Ranges) and not needs_numbers:
            target = replace(target, piece=_without_costly_numbers(opened, piece))
        yield from _text_parts(opened, target)
    else:
        yield from _document_parts(opened, target)


def _document_parts(opened: Opened, target: Target) -> Iterator[tuple[str, Part]]:
    """Yield the parts of a document, or lines of the text of a part. Raises: ReadError."""
    choice = pieces.choose(target.path, opened.kind, target.piece, max_pages=MAX_PAGES, has_images=False)
    cells = replace(choice.options.notebook, is_markdown=opened.request.options.notebook.is_markdown)
    choice = replace(choice, options=replace(choice.options, notebook=cells))
    if choice.as_text or opened.kind.layout == "text":

        def read(wanted: CharRange | Lines | Tail) -> tuple[Part, ...]:
            return opened.read(wanted, options=choice.options, as_text=choice.as_text).parts

        for one in choice.within or (Lines(),):
            for part in read(_selection(one, lambda wanted: _text_of(read(wanted)))):
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
        selection = _selection(one, lambda wanted: pieces.cut_out(whole, wanted))
        yield write_range(one), pieces.cut_out(whole, pieces.as_char_range(selection))


def _without_costly_numbers(opened: Opened, piece: Ranges) -> Ranges:
    """Return the ranges with last lines that are not numbered, if only many requests to a store could number them."""
    if not any(isinstance(one, Tail) for one in piece.ranges) or not is_count_costly(opened):
        return piece
    print("eyespan: the last lines are not numbered, because that reads all of the file; -n does", file=sys.stderr)
    return Ranges(tuple([Tail(one.count, numbered=False) if isinstance(one, Tail) else one for one in piece.ranges]))


def _text_parts(opened: Opened, target: Target) -> Iterator[tuple[str, Part]]:
    """Yield the parts of a text file that a piece selects. Raises: ReadError."""
    if isinstance(target.piece, Ranges):
        for one in target.piece.ranges:
            for part in opened.stream(_selection(one, lambda wanted: _text_of(opened.read(wanted).parts))):
                yield write_range(one), part
        return
    for span in _ranges_of_symbols(opened, target):
        assert span.last is not None
        for part in opened.stream(Lines(span.first, span.last - span.first + 1)):
            yield f"{span.first}-{span.last}", part


def _ranges_of_symbols(opened: Opened, target: Target) -> tuple[CharRange, ...]:
    """Return the lines of the symbols that a target names, and print the notes about them. Raises: ReadError."""
    base = write_target(Target(target.path, None, target.member, target.revision))
    match target.piece:
        case Enclosing(several):
            ranges, _, notes = pieces.enclosing_ranges(opened, several, base)
        case SymbolPiece(name) | Named(name, ()):
            ranges, _, notes = pieces.symbol_ranges(opened, name, base)
        case piece:
            raise pieces.no_such_part(target.path, opened.kind, piece or Ranges(()))
    for note in notes:  # such as an end that may be wrong
        print_note(write_target(target), note)
    return tuple(ranges)


def _matching_parts(opened: Opened, target: Target) -> Iterator[tuple[str, Part]]:
    """Yield the lines that match the pattern of a target, with the lines around them. Raises: ReadError."""
    from eyespan.dialects.native.searches import AROUND_MATCH, compile_search, matching_lines, windows
    from eyespan.dialects.native.text import FileText
    from eyespan.dialects.native.wanted import line_ranges

    if opened.kind.layout != "text":
        reason = "only texts are searched here; `eyespan call native` also searches pages and archives"
        raise errors.Unreadable(target.path, kind=opened.kind.name, reason=reason)
    text = FileText(opened)
    match target.piece:
        case None:
            ranges: tuple[CharRange, ...] = (CharRange(),)
        case Ranges(several):
            ranges = tuple(line_ranges(text, several))
        case _:
            ranges = _ranges_of_symbols(opened, target)
    search = compile_search(target.pattern, opened.context)
    stopped: list[int] = []
    matches = [number for number, _ in matching_lines(text, ranges, search, [], stopped)]
    if stopped:
        print_note(target.path, f"searched up to line {stopped[0] - 1}")
    if not matches:
        raise errors.NoMatch(target.path, pattern=target.pattern)
    for window in windows(matches, ranges, AROUND_MATCH):
        assert window.last is not None
        for part in opened.stream(Lines(window.first, window.last - window.first + 1)):
            yield f"{window.first}-{window.last}", part


def _selection(one: Range, read: Callable[[CharRange], TextPart]) -> Lines | Tail | CharRange:
    """Return the selection that a range of a selector means; the lines around a place."""
    if not isinstance(one, Place):
        return one
    around, _ = pieces.around_place(read, one.line, one.column)
    if around.max_chars is not None or around.last is None:
        return around
    return Lines(around.first, around.last - around.first + 1)


def _text_of(parts: Sequence[Part]) -> TextPart:
    part = parts[0]
    assert isinstance(part, TextPart)
    return part
