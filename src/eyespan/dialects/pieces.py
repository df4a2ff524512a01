"""From the piece that a selector names to what the engine reads, for `native` and the terminal alike."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from eyespan.errors import NoSuchPart, NoSymbol
from eyespan.escape import visible
from eyespan.kinds import Kind
from eyespan.model import (
    CharRange,
    Document,
    DocumentOptions,
    ImageOptions,
    ImagePart,
    Lines,
    NotebookOptions,
    NotePart,
    PdfOptions,
    SheetOptions,
    TableOptions,
    Tail,
    TextPart,
)
from eyespan.opened import Opened
from eyespan.selectors import (
    Area,
    Cells,
    Enclosing,
    Named,
    Pages,
    Piece,
    Place,
    Range,
    Ranges,
    SymbolPiece,
    parse_span,
    write_symbol,
)

if TYPE_CHECKING:
    from eyespan.outline.model import Outline
    from eyespan.outline.model import Symbol as OutlineSymbol


TABLE_ROWS = 1000
"""The rows of a table that is selected by its name; a continuation selector reads on."""
MAX_LISTED = 20
"""The symbols that a note lists."""
MAX_ENCLOSING_LINES = 200
AROUND_LINES = 5
AROUND_CHARS = 500
LONG_LINE_CHARS = 2000
"""A place in a longer line is shown with the characters around it, in any other with the lines around it."""
MAX_RANGE_LINES = 2000
"""The most lines that `first:last` selects, where `last` cannot be a column."""
_NOUNS = {Pages: "pages", Cells: "cells", Area: "sheets", SymbolPiece: "symbols", Enclosing: "symbols", Ranges: "lines"}


@dataclass(frozen=True, slots=True)
class Choice:
    """What a piece selects of a document."""

    base: Piece | None = None
    """The part of the document: pages, cells, a sheet, a table; None: all of it."""
    within: tuple[Range, ...] = ()
    """Lines of the text of that part; (): all of them."""
    options: DocumentOptions = field(default_factory=DocumentOptions)
    as_text: bool = False
    """The lines of the file itself are meant, not those of the document."""


def choose(
    path: str, kind: Kind, piece: Piece | None, *, max_pages: int, has_images: bool, textless_images: int = 0
) -> Choice:
    """Return what a piece selects of a document of this kind.

    `max_pages`, `has_images` and `textless_images` hold for PDFs.

    Raises: NoSuchPart.
    """
    pdf = PdfOptions(max_pages=max_pages, has_images=has_images, has_layout=True, textless_images=textless_images)
    if piece is None:
        return Choice(options=DocumentOptions(pdf=pdf, notebook=NotebookOptions(has_selectors=True)))
    if isinstance(piece, Ranges) and kind.parts != "pages" and kind.layout != "image":
        options = DocumentOptions(notebook=NotebookOptions(has_selectors=True))
        is_source = kind.is_text and kind.layout in ("notes", "drawing")
        return Choice(within=piece.ranges, options=options, as_text=is_source)
    match kind.parts, piece:
        case "pages", Pages(first, last, within):
            options = DocumentOptions(pdf=replace(pdf, first=first, last=last))
            return Choice(Pages(first, last), within, options)
        case "pages", SymbolPiece(name):
            return Choice(piece, options=DocumentOptions(pdf=replace(pdf, section=name)))
        case "cells", Cells(first, last, within):
            cells = NotebookOptions(first=first, last=last, has_long_outputs=True, has_selectors=True)
            return Choice(Cells(first, last), within, DocumentOptions(notebook=cells))
        case "sheets", Area(sheet, cells, within):
            return Choice(Area(sheet, cells), within, DocumentOptions(sheet=SheetOptions(sheet, cells)))
        case "sheets", Named(name, within):
            return Choice(Named(name), within, DocumentOptions(sheet=SheetOptions(name)))
        case "tables", Named(name, within):
            table, first, count = row_window(name) or ("", 1, TABLE_ROWS)
            options = DocumentOptions(table=TableOptions(table or name, first if table else 1, count))
            return Choice(Named(name), within, options)
        case "table", Named(name, within) if (window := row_window(name)) and window[0] in ("", "table"):
            return Choice(Named(name), within, DocumentOptions(table=TableOptions(None, *window[1:])))
        case "frames", Named(name, ()) if name[:1] == "f" and (frame := parse_span(name[1:])) and frame[0] == frame[1]:
            return Choice(Named(name), options=DocumentOptions(image=ImageOptions(frame=frame[0])))
        case "frames", Named(name, ()) if region := image_region(name):
            return Choice(Named(name), options=DocumentOptions(image=ImageOptions(crop=region)))
        case "table", Named("table", within):
            return Choice(Named("table"), within)
    raise no_such_part(path, kind, piece)


@dataclass(frozen=True, slots=True)
class PdfPage:
    """A page of a document: its number, its text with the heading, and its images."""

    number: int
    note: NotePart
    images: tuple[ImagePart, ...] = ()


def pages_of(document: Document) -> tuple[NotePart | None, list[PdfPage]]:
    """Return what a PDF has before its first page, such as bookmarks, and the pages that were read."""
    notes = [(at, part) for at, part in enumerate(document.parts) if isinstance(part, NotePart)]
    contents = notes.pop(0)[1] if document.extra.get("has_contents") else None
    ends = [*[at for at, _ in notes[1:]], len(document.parts)]
    pages = []
    for number, (at, note), end in zip(document.extra["pages_returned"], notes, ends, strict=True):
        images = [part for part in document.parts[at:end] if isinstance(part, ImagePart)]
        pages.append(PdfPage(number, note, tuple(images)))
    return contents, pages


def row_window(name: str) -> tuple[str, int, int] | None:
    """Return the table, the first row and the number of rows that a name selects; None if it selects no rows.

    Forms: `rows 10-20`, `users rows 10-20`.
    """
    table, separator, text = name.rpartition("rows ")
    if separator and (not table or table[-1] in " ?:"):
        span = parse_span(text.strip())
        return None if span is None else (table.rstrip(" ?:"), *_first_and_count(span))
    return None


def image_region(name: str) -> tuple[int, int, int, int] | None:
    """Return x, y, width and height of a region such as `100,200+640x480`; None if the text is none."""
    corner, plus, size = name.partition("+")
    x, comma, y = corner.partition(",")
    width, times, height = size.partition("x")
    texts = (x, y, width, height)
    if not (plus and comma and times) or not all(_is_number(text) and len(text) < 10 for text in texts):
        return None
    left, top, wide, high = map(int, texts)
    return (left, top, wide, high) if wide and high else None


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _first_and_count(span: tuple[int, int | None]) -> tuple[int, int]:
    first, last = span
    return first, TABLE_ROWS if last is None else last - first + 1


def no_such_part(path: str, kind: Kind, piece: Piece | None) -> NoSuchPart:
    """Return the error for a piece that files of this kind do not have."""
    return NoSuchPart(path, document=kind.noun, part=_NOUNS.get(type(piece), "such part"))


def symbol_ranges(opened: Opened, name: str, base: str) -> tuple[tuple[CharRange, ...], str, tuple[str, ...]]:
    """Return the lines of the symbols of this name, the full name if there is only one, and notes.

    The notes list the selectors of symbols that share the name, and state which ends may be wrong. `base` is the
    selector of the file, for suggestions.

    Raises: NoSymbol, Unreadable, and what reading raises.
    """
    from eyespan.outline import look_up, nearest, unique_names

    outline = opened.outline()
    matches = look_up(outline, name)
    if not matches.symbols and re.fullmatch(r".+/[0-9]{1,3}", name):  # with its arity, as Elixir writes it
        matches = look_up(outline, name.rpartition("/")[0])
    if not matches.symbols:
        suggestions = [base + write_symbol(symbol.qualified) for symbol in nearest(outline, name)]
        search = f"{base}?{_last_word(name)}"
        raise NoSymbol(
            opened.request.path,
            symbol=name,
            suggestions=suggestions,
            doubt=incompleteness(outline, search) or ("" if suggestions else f"search with {search}"),
        )
    names = unique_names(outline, [*matches.symbols, *matches.others])
    count = len(matches.symbols)
    notes = []
    if count > 1:
        notes.append(f"{count} symbols are named {name}: {_listed_symbols(matches.symbols, names)}")
    if matches.others:
        notes.append(f"implementations: {_listed_symbols(matches.others, names[count:])}")
    for symbol, unique in zip(matches.symbols, names, strict=False):
        if symbol.doubt:
            which = f"{unique}: " if count > 1 else ""
            notes.append(f"{which}parser lost track near line {symbol.doubt}; the end may be wrong")
    full_name = names[0] if count == 1 else name
    return tuple([CharRange(symbol.first, 1, symbol.last) for symbol in matches.symbols]), full_name, tuple(notes)


def _last_word(name: str) -> str:
    """Return the part of a qualified name that stands in the text of a definition, without parameters in brackets."""
    words: list[str] = re.findall(r"\w+", re.sub(r"(?<=\w)[\[<(][^\[<(]*[\])>]$", "", name))
    return words[-1] if words else name


def incompleteness(outline: Outline, search: str) -> str:
    """Return why an outline may lack symbols, and the search that finds them; "" for a complete outline."""
    if outline.is_complete:
        return ""
    if not outline.language:
        return f"files of this type have no outline; search with {search}"
    return f"the outline is incomplete{f' ({outline.hint})' if outline.hint else ''}; search with {search}"


def enclosing_ranges(
    opened: Opened, ranges: Sequence[Range], base: str
) -> tuple[tuple[CharRange, ...], str, tuple[str, ...]]:
    """Return the lines of the innermost symbol around each range, the full name if there is only one, and notes.

    A field or a constant of one line does not count as around itself. Where no symbol is around a line, or only one of
    more than `MAX_ENCLOSING_LINES` lines that is no function, the lines nearby are returned, with a note.

    Raises: NoSymbol, Unreadable, and what reading raises.
    """
    from eyespan.outline import unique_names

    outline = opened.outline()
    spans: list[CharRange] = []
    symbols: list[OutlineSymbol] = []
    notes: list[str] = []
    for one in ranges:
        first, last = _first_and_last(one)
        around = [
            symbol
            for symbol in outline.symbols
            if symbol.first <= first and last <= symbol.last and symbol.first < symbol.last
        ]
        inner = min(around, key=lambda symbol: (symbol.last - symbol.first, -symbol.depth), default=None)
        if inner is not None and (inner.last - inner.first < MAX_ENCLOSING_LINES or inner.kind in _FUNCTIONS):
            symbols.append(inner)
            spans.append(CharRange(inner.first, 1, inner.last))
            continue
        spans.append(CharRange(max(1, first - AROUND_LINES), 1, last + AROUND_LINES))
        if inner is None:
            notes.append(f"no symbol around line {first}")
        else:
            notes.append(f"line {first} is in {visible(inner.qualified)} ({inner.first}-{inner.last})")
    names = unique_names(outline, symbols)
    for symbol, name in zip(symbols, names, strict=True):
        if symbol.doubt:
            notes.append(f"{visible(name)}: parser lost track near line {symbol.doubt}; the end may be wrong")
    different = dict.fromkeys(names)
    if len(different) > 1:
        places = [f"({symbol.first}-{symbol.last})" for symbol in symbols]
        listed = [f"{write_symbol(name)} {place}" for name, place in zip(names, places, strict=True)]
        notes.append(f"in {visible(', '.join(list(dict.fromkeys(listed))[:MAX_LISTED]))}")
    full_name = names[0] if len(different) == 1 and len(symbols) == len(ranges) else ""
    return tuple(dict.fromkeys(spans)), full_name, tuple(dict.fromkeys(notes))


_FUNCTIONS = frozenset(("function", "method", "test"))


def _first_and_last(one: Range) -> tuple[int, int]:
    match one:
        case Lines(first, int(count)):
            return first, first + count - 1
        case Place(line, _):
            return line, line
    raise TypeError(one)  # the parser accepts no others


def _listed_symbols(symbols: Sequence[OutlineSymbol], names: Sequence[str]) -> str:
    """Return the name and the lines of each symbol; the signature of implementations."""
    listed = []
    for symbol, name in list(zip(symbols, names, strict=False))[:MAX_LISTED]:
        spelled = f" {symbol.signature}," if symbol.kind == "impl" else ""
        listed.append(f"{write_symbol(name)} ({spelled.strip()}{' ' if spelled else ''}{symbol.first}-{symbol.last})")
    rest = len(symbols) - len(listed)
    return visible(", ".join(listed)) + (f" and {rest} more" if rest else "")


def around_place(read: Callable[[CharRange], TextPart], line: int, column: int) -> tuple[CharRange, str]:
    """Return a few lines around a place, or a few characters of a long line, and a note if the line is shorter.

    `read` reads a range of the text.

    Raises: ReadError.
    """
    part = read(CharRange(line, 1, line, LONG_LINE_CHARS + 1))
    chars = len(part.data.decode("utf-8", "replace").rstrip("\r\n"))
    if chars > LONG_LINE_CHARS:
        return CharRange(line, max(1, column - AROUND_CHARS), line, 2 * AROUND_CHARS), ""
    if not part.line_count:
        return CharRange(line, 1, line), ""
    note = f"line {line} has {chars} character{'' if chars == 1 else 's'}" if column > chars + 1 else ""
    if note and line < column <= line + MAX_RANGE_LINES:
        # No such column: `303:310` means lines, as some tools write them.
        return CharRange(line, 1, column), f"{note}; read as lines {line}-{column}"
    return CharRange(max(1, line - AROUND_LINES), 1, line + AROUND_LINES), note


def as_char_range(selection: Lines | Tail | CharRange) -> CharRange | Tail:
    """Return a selection of lines as a range of characters."""
    if isinstance(selection, Lines):
        last = None if selection.count is None else selection.first + selection.count - 1
        return CharRange(selection.first, 1, last)
    return selection


def cut_out(text: str, selection: CharRange | Tail) -> TextPart:
    """Return what `lines.char_range` reads from a file with this text."""
    lines = text.split("\n")
    ends_open = bool(lines[-1])
    if not ends_open:
        lines.pop()
    total = len(lines)
    if isinstance(selection, Tail):
        room = len(text) + 1 if selection.max_bytes is None else selection.max_bytes
        first, size = total, len(lines[-1]) + 1 if lines else 0
        while first > max(1, total - selection.count + 1) and size + len(lines[first - 2]) + 1 <= room:
            first -= 1
            size += len(lines[first - 1]) + 1
        selection = CharRange(max(1, first), max_chars=room)
    wanted = lines[selection.first - 1 : selection.last]
    if not wanted:
        return TextPart(
            data=b"", first_line=selection.first, line_count=0, total_lines=total, more=False, ends_open=ends_open
        )
    last = selection.first + len(wanted) - 1
    whole = "\n".join([wanted[0][selection.column - 1 :], *wanted[1:]])
    if last < total or not ends_open:
        whole += "\n"
    cut = whole[: selection.max_chars]
    is_short = len(cut) < len(whole)
    return TextPart(
        data=cut.encode("utf-8", "replace"),
        first_line=selection.first,
        line_count=cut.count("\n") + (not cut.endswith("\n")),
        total_lines=total,
        more=is_short or last < total,
        ends_open=ends_open,
        column=selection.column,
        cut_short=is_short,
    )
