"""Documents in the native dialect: images as images, pages and cells as text followed by their images.

Documents that are converted to lines are read like any text. The text of pages, cells, tables and listings is held
whole; the rest of what does not fit is offered as a selector that names the part and the lines of its text.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from eyespan import errors, plugins, tokens
from eyespan.context import CallContext
from eyespan.dialects.native import own_lines
from eyespan.dialects.native.holdings import digest
from eyespan.dialects.native.items import LEAST_TOKENS, LEFT_TOKENS, FixedItem, Shown, counted, image_tokens, part_shown
from eyespan.dialects.native.outline_items import outline_item
from eyespan.dialects.native.rows import Style
from eyespan.dialects.native.text import FileText, HeldText
from eyespan.dialects.native.text_items import TextPlan, make_item
from eyespan.dialects.native.wanted import WHOLE, Wanted, want_ranges
from eyespan.dialects.pieces import TABLE_ROWS, Choice, choose, pages_of, row_window, symbol_ranges
from eyespan.errors import Cancelled, NoSuchPart, NoSymbol, PastEnd, ReadError, TimedOut
from eyespan.escape import visible
from eyespan.model import Content, Document, DocumentOptions, ImageContent, ImagePart, NotebookOptions, NotePart
from eyespan.opened import Opened
from eyespan.selectors import Cells, Enclosing, Named, Pages, Ranges, SymbolPiece, Target, write_target

if TYPE_CHECKING:
    from eyespan.dialects.native.items import Item, View
    from eyespan.dialects.native.searches import Search
    from eyespan.outline import Outline


IMAGE_PAGES = 4
"""At most so many pages that are selected by number come with their images; of more there is the text."""
TEXTLESS_PAGES = 4
"""At most so many pages whose text cannot be read come with their images."""
LEAST_ROWS = 10
MAX_TABLE_ROWS = 10_000
"""The rows of a table that one call reads, at least and at most."""
SMALLEST_PX = 64
"""An image is not scaled down further."""
SCALED_TOKENS = 40
"""The words about the scaling."""
MAX_PAGES = 20
MAX_SEARCHED_PAGES = 100
NO_CONTENTS = "bookmarks, attachments and signatures do not fit; a larger budget shows them"
LEAST_WITH_NOTE = 80
"""A smaller share of the budget has no room for that note."""
ONE_NUMBER = Style(every=1 << 60)
"""The gutter of texts that are made from a document: a number on the first line of each range only."""


def plan_document(opened: Opened, target: Target, view: View, *, is_outline: bool = False) -> Item | TextPlan:
    """Return the item of a document, or the plan of its text.

    Raises: ReadError.
    """
    kind, piece = opened.kind, target.piece
    has_headings = kind.layout == "text" and not kind.parts
    if has_headings and is_outline:
        return outline_item(FileText(opened), target, view)
    if has_headings and isinstance(piece, SymbolPiece):
        bare = replace(target, piece=None)
        found, full_name, notes = symbol_ranges(opened, piece.name, write_target(bare))
        return TextPlan(bare, FileText(opened), Wanted(found, symbol=full_name, notes=notes), view.style)
    if kind.parts == "cells" and isinstance(piece, SymbolPiece):
        cell = _cell_of(opened, piece.name)
        return plan_document(opened, replace(target, piece=Cells(cell, cell)), view, is_outline=is_outline)
    is_source = piece is None and kind.is_text and opened.facts.size_bytes <= kind.source_bytes
    if piece is None and kind.parts == "table" and not is_source and not is_outline:
        piece = Named(f"rows 1-{_fitting_rows(opened, view)}")
    has_images = (
        isinstance(piece, Pages)
        and piece.last is not None
        and not piece.within
        and piece.last - piece.first < IMAGE_PAGES
    )
    choice = choose(
        target.path, kind, piece, max_pages=MAX_PAGES, has_images=has_images, textless_images=TEXTLESS_PAGES
    )
    if is_source:
        choice = Choice(as_text=True)
    bare = replace(target, piece=choice.base)
    if is_outline:
        return _outline_plan(opened, bare, choice)
    if kind.layout == "image":
        return ImageItem(opened, choice.options, target, view)
    if kind.layout == "drawing":
        blocks, drawn = _drawn(opened) if piece is None else ((), "")
        text = FileText(opened, None, as_text=True)
        wanted = want_ranges(text, choice.within)
        notes = tuple([one for one in (drawn, *wanted.notes) if one])
        return TextPlan(bare, text, replace(wanted, notes=notes), view.style, blocks, is_one_part=True)
    if kind.layout == "text" or choice.as_text:
        text = FileText(opened, choice.options, as_text=choice.as_text)
        return TextPlan(bare, text, want_ranges(text, choice.within), view.style)
    document = opened.read(options=choice.options)
    _check_range(target, choice, document)
    if kind.layout == "pages" and not choice.within:
        if "section" in document.extra:
            _, first, last = document.extra["section"]
            target = replace(target, piece=Pages(first, last))
        return PagesItem(document, target, view, opened.context)
    rows = document.extra.get("rows_returned")
    if target.piece is None and rows is not None:
        bare = replace(bare, piece=Named(f"rows {rows[0]}-{rows[1]}"))
    outline = partial(_cells_outline, opened) if kind.parts == "cells" and target.piece is None else None
    plan = _held_plan(document, bare, choice, opened.context, outline)
    return replace(plan, more=_rows_left(document, target))


def _fitting_rows(opened: Opened, view: View) -> int:
    """Return about how many rows of a table the budget can show."""
    first_bytes = opened.source.first_bytes
    if not opened.kind.is_text:
        return TABLE_ROWS
    row_bytes = max(1, len(first_bytes) // (first_bytes.count(b"\n") + 1))
    return max(LEAST_ROWS, min(2 * view.max_chars // row_bytes, MAX_TABLE_ROWS))


def _rows_left(document: Document, target: Target) -> tuple[str, ...]:
    """Return selectors of the rows of tables that were not asked for by number and are not in the text."""
    name = target.piece.name if isinstance(target.piece, Named) else ""
    if row_window(name):
        return ()
    found = []
    tables = document.extra.get("tables") or [{"name": name, **document.extra}]
    for table in tables:
        shown, total = table.get("rows_returned"), table.get("total_rows")
        last = shown[1] if shown else 0
        if "rows_returned" in table and (total is None or last < total):
            lead = f"{table['name']} " if document.extra.get("tables") else ""
            found.append(f"{lead}rows {last + 1}-{'' if total is None else total}")
    return tuple([write_target(replace(target, piece=Named(rows))) for rows in found])


def _outline_plan(opened: Opened, bare: Target, choice: Choice) -> TextPlan:
    """Return the plan of the outline of a notebook or a PDF: headings and definitions with their cells or pages.

    Raises: NoSuchPart, for documents that have no outline.
    """
    if opened.kind.parts not in ("cells", "pages"):
        raise NoSuchPart(bare.path, document=opened.kind.noun, part="outline; read it without `outline`")
    cells, pages = replace(choice.options.notebook, is_outline=True), replace(choice.options.pdf, is_outline=True)
    document = opened.read(options=replace(choice.options, notebook=cells, pdf=pages))
    note, nothing = "headings and definitions, each after its cell", "no headings or Python definitions in these cells"
    if opened.kind.parts == "pages":
        note, nothing = "headings with their pages", "no bookmarks or headings"
    else:
        _check_range(bare, choice, document)
    if not document.parts:
        document = replace(document, parts=(NotePart(nothing),))
    plan = _held_plan(document, bare, choice, opened.context)
    notes = (f"this is the outline: {note}", *document.extra.get("unread", ()), *plan.wanted.notes)
    return replace(plan, wanted=replace(plan.wanted, notes=notes))


def _cell_rows(opened: Opened) -> tuple[Document, list[tuple[int, str]]]:
    """Return the outline of a notebook, and its rows: the number of a cell, and a heading or a definition in it."""
    document = opened.read(options=DocumentOptions(notebook=NotebookOptions(is_outline=True)))
    rows = "".join([part.text for part in document.parts if isinstance(part, NotePart)]).split("\n")
    found = [(re.match(r"c([1-9][0-9]{0,8}) ", row), row) for row in rows]
    return document, [(int(match[1]), row) for match, row in found if match]


def _cell_of(opened: Opened, name: str) -> int:
    """Return the number of the first cell with a heading or a definition of this name. Raises: NoSymbol."""
    word = re.compile(rf"(?<!\w){re.escape(name.rpartition('.')[2])}(?!\w)")
    for cell, row in _cell_rows(opened)[1]:
        if word.search(row.partition(" ")[2]):
            return cell
    raise NoSymbol(opened.request.path, symbol=name, doubt="`outline` lists headings and definitions")


def _cells_outline(opened: Opened, text: str) -> Outline | None:
    """Return the headings and definitions of a notebook, each with the lines of its cell in the text of all cells."""
    from eyespan.outline import Outline, Symbol

    try:
        document, rows = _cell_rows(opened)
    except (errors.SystemFailure, errors.TooMuchMemory):
        return None
    starts = [number for number, line in enumerate(text.split("\n"), 1) if line.startswith('<cell id="')]
    if len(starts) != document.extra["total_cells"]:
        return None  # a line of a cell looks like the start of one
    starts.append(text.count("\n") + 1)
    symbols = []
    for cell, row in rows:
        if cell < len(starts):
            first, last = starts[cell - 1], starts[cell] - 1
            symbols.append(Symbol(row, row, "heading", line=first, first=first, last=last, depth=0, signature=row))
    return Outline(symbols=tuple(symbols), how="shape", language="", is_complete=True)


def _drawn(opened: Opened) -> tuple[tuple[Content, ...], str]:
    """Return the image of a drawing and a note; the note alone if there is no image."""
    try:
        document = opened.read()
    except (Cancelled, TimedOut):
        raise
    except ReadError as error:
        return (), f"no image: {error}"
    note = " ".join([part.text for part in document.parts if isinstance(part, NotePart)])
    images = [ImageContent(part.data, part.media_type) for part in document.parts if isinstance(part, ImagePart)]
    return tuple(images), f"image: {note}"


def _check_range(target: Target, choice: Choice, document: Document) -> None:
    """Raises: PastEnd, for pages and cells after the last one."""
    extra = document.extra
    match choice.base:
        case Cells(first) if first > extra["total_cells"]:
            total = extra["total_cells"]
            raise PastEnd(target.path, part="cell", wanted=str(first), document="the notebook", total=total)
    if "total_pages" in extra and not document.parts:
        first = choice.options.pdf.first
        raise PastEnd(target.path, part="page", wanted=str(first), document="the PDF", total=extra["total_pages"])


def _held_plan(
    document: Document,
    bare: Target,
    choice: Choice,
    context: CallContext,
    outline: Callable[[str], Outline | None] | None = None,
) -> TextPlan:
    context.charge(sum([sys.getsizeof(part.text) for part in document.parts if isinstance(part, NotePart)]))
    whole, images = joined(document, bare)
    text = HeldText(document, whole, context, outline)
    piece = bare.piece
    is_one_part = isinstance(piece, (Cells, Pages)) and piece.first == piece.last
    blocks = () if choice.within or document.kind == "pdf" else tuple(images)
    return TextPlan(bare, text, want_ranges(text, choice.within), ONE_NUMBER, blocks, is_one_part)


def joined(document: Document, target: Target) -> tuple[str, list[Content]]:
    """Return the notes of a document in order, with a line where each image belongs, and the images."""
    lines: list[str] = []
    images: list[Content] = []
    for part in document.parts:
        if isinstance(part, NotePart):
            lines.append(part.text)
        elif isinstance(part, ImagePart):
            images.append(ImageContent(part.data, part.media_type))
            lines.append(f"[image {len(images)} of {visible(target.path)}]")
    return "".join([line if line.endswith("\n") else line + "\n" for line in lines]), images


def search_pages(opened: Opened, target: Target, search: Search, view: View) -> Item:
    """Search the text of pages; each page with a match becomes a part of one item. Raises: ReadError."""
    from eyespan.dialects.native.searches import Coverage, SearchItem, no_match, search_text

    piece = target.piece if isinstance(target.piece, Pages) else None
    choice = choose(target.path, opened.kind, piece, max_pages=MAX_SEARCHED_PAGES, has_images=False)
    document = opened.read(options=choice.options)
    _check_range(target, choice, document)
    items = []
    numbers = list(document.extra["pages_returned"])
    for page in pages_of(document)[1]:
        held = HeldText(replace(document, parts=()), f"{page.note.text}\n", opened.context)
        plan = TextPlan(replace(target, piece=Pages(page.number, page.number)), held, Wanted(is_whole=True), ONE_NUMBER)
        found = search_text(plan, replace(search, note=""), view, view.max_chars)
        if isinstance(found, TextPlan):
            items.append(make_item([found], view, view.max_chars))
    asked = replace(target, pattern=search.text)
    last = document.extra["total_pages"] if piece is None or piece.last is None else piece.last
    notes = [search.note]
    if numbers and numbers[-1] < min(last, document.extra["total_pages"]):
        following = replace(asked, piece=Pages(numbers[-1] + 1, last))
        notes.append(f"pages after {numbers[-1]} are not searched; {write_target(following)} searches on")
    if not items:
        words = f"no line matches on {counted(len(numbers), 'page')}" + "".join([f"; {note}" for note in notes[1:]])
        return no_match(asked, search, words)
    return SearchItem(asked, items, Coverage(len(numbers), notes=notes), "page")


class ImageItem:
    """An image, with its facts; one that exceeds its share is scaled down."""

    def __init__(self, opened: Opened, options: DocumentOptions, target: Target, view: View) -> None:
        """Raises: ReadError."""
        self._opened = opened
        self._options = options
        self._path = target.path
        self._view = view
        self.selector = write_target(target)
        self._load(options)

    def _load(self, options: DocumentOptions) -> None:
        self._document = self._opened.read(options=options)
        self._image = next(part for part in self._document.parts if isinstance(part, ImagePart))
        value = blake2b(self._image.data, digest_size=8).digest()
        self._hash = f"{int.from_bytes(value, 'big') % 10**12:012}"
        self._is_known = self._hash in self._view.known
        self._cost = 0 if self._is_known else tokens.estimate_image(self._image.data)

    def need(self) -> int:
        return tokens.estimate(own_lines.write(self._lines())) + 1 + self._cost

    def _lines(self) -> tuple[str, ...]:
        facts = self._document.extra
        size = f" {facts['width']}x{facts['height']}" if "width" in facts else ""
        note = " ".join([part.text for part in self._document.parts if isinstance(part, NotePart)])
        is_first = facts.get("frames", 1) > 1 and "frame" not in facts
        frames = f"It has {facts['frames']} frames: {visible(self._path)}:f2 shows the second." if is_first else ""
        shown = " ".join([one for one in (note, frames) if one])
        header = f"{own_lines.quoted(self.selector)}: {facts.get('media_type', 'image')}{size} #{self._hash}"
        if self._is_known:
            return (own_lines.header(f"{header} unchanged"),)
        return (own_lines.header(header), *([own_lines.note(shown)] if shown else []))

    def show(self, max_tokens: int) -> Shown:
        if self.need() > max_tokens and not self._is_known:
            extra = self._document.extra
            width, height = extra.get("width", SMALLEST_PX), extra.get("height", SMALLEST_PX)
            side = max(extra.get("shown_width", width), extra.get("shown_height", height))
            room = max(1, max_tokens - (self.need() - self._cost) - SCALED_TOKENS)
            side = max(SMALLEST_PX, int(side * (room / self._cost) ** 0.5))
            self._load(replace(self._options, image=replace(self._options.image, max_px=side)))
        facts = {"path": self._path, "selector": self.selector, "hash": self._hash}
        if self._is_known:
            return part_shown(self._lines(), {**facts, "unchanged": True})
        return part_shown(self._lines(), facts, blocks=(ImageContent(self._image.data, self._image.media_type),))


class PagesItem:
    """Pages of a document: as many whole ones as fit, or the start of the first."""

    def __init__(self, document: Document, target: Target, view: View, context: CallContext) -> None:
        self._document = document
        self._target = target
        self._view = view
        self._context = context
        self.selector = write_target(target)
        total = document.extra["total_pages"]
        wanted_last = target.piece.last if isinstance(target.piece, Pages) else None
        self._last = total if wanted_last is None else min(total, wanted_last)
        self._contents, pages = pages_of(document)
        self._numbers = [page.number for page in pages]
        self._headings = [page.note.heading for page in pages]
        self._texts = [page.note.text for page in pages]
        self._images = [[ImageContent(image.data, image.media_type) for image in page.images] for page in pages]

    def _cost(self, count: int) -> int:
        images = [image for page in self._images[:count] for image in page]
        return tokens.estimate(own_lines.write(self._page_lines(count))) + image_tokens(images)

    def need(self) -> int:
        if self._numbers[-1] < self._last:
            return self._view.budget + 1
        return self._cost(len(self._texts)) + 32

    def show(self, max_tokens: int) -> Shown:
        room = max(LEAST_TOKENS, max_tokens - tokens.estimate(self.selector) - 2 * LEFT_TOKENS)
        count = len(self._texts)
        while count and self._cost(count) > room and self.need() > max_tokens:
            count -= 1
        if not count:
            return self._first_page(max_tokens)
        shown = self._numbers[:count]
        left = self._rest(shown[-1])
        text = "\n".join([*self._headings[:count], *self._texts[:count]])
        blocks = [block for page in self._images[:count] for block in page]
        pages = f"{shown[0]}-{shown[-1]}" if len(shown) > 1 else f"{shown[0]}"
        value = digest(self._document.facts.canonical, [f"{pages}\n{text}\n"])
        name = own_lines.base_name(replace(self._target, piece=None))
        header = f"{name}:p{pages}/{self._document.extra['total_pages']} #{value}"
        facts: dict[str, Any] = {
            "path": self._target.path,
            "selector": self._pages_selector(shown[0], shown[-1]),
            "hash": value,
            "total_pages": self._document.extra["total_pages"],
        }
        if value in self._view.known:
            return part_shown([own_lines.header(f"{header} unchanged")], {**facts, "unchanged": True}, left)
        lines = [own_lines.header(header), *self._page_lines(count), *self._pages_without_text(count)]
        return part_shown(lines, facts, left, blocks=tuple(blocks))

    def _page_lines(self, count: int) -> list[str]:
        """Return the lines of the first pages; the heading of each is a line of the tool itself."""
        lines: list[str] = []
        parts = list(zip(self._headings[:count], self._texts[:count], strict=True))
        if self._contents is not None:
            parts.insert(0, (self._contents.heading, self._contents.text))
        for heading, text in parts:
            lines.append(own_lines.words(heading))
            lines += [f"\t{row}" if row else "" for row in text.split("\n")] if text else []
        return lines

    def _pages_selector(self, first: int, last: int) -> str:
        return write_target(replace(self._target, piece=Pages(first, last)))

    def _pages_without_text(self, count: int) -> list[str]:
        """Return a note on how to see the first page that has no text."""
        pages = self._document.extra["pages"][:count]
        empty = [
            page["page"]
            for page, images in zip(pages, self._images, strict=False)
            if not images and not page.get("has_text", True)
        ]
        if not empty:
            return []
        selector = self._pages_selector(empty[0], empty[0])
        return [own_lines.note(f"no text on page {empty[0]}; {selector} shows it")]

    def _rest(self, shown: int) -> tuple[str, ...]:
        return () if shown >= self._last else (self._pages_selector(shown + 1, self._last),)

    def _first_page(self, max_tokens: int) -> Shown:
        """Return the start of a page that does not fit; the rest of it by lines, then the pages after it."""
        number = self._numbers[0]
        text = HeldText(replace(self._document, parts=()), self._texts[0] + "\n", self._context)
        plan = TextPlan(
            target=replace(self._target, piece=Pages(number, number)),
            text=text,
            wanted=Wanted(is_whole=True),
            style=ONE_NUMBER,
            blocks=tuple(self._images[0]),
            is_one_part=True,
        )
        note, room = "", max_tokens
        if self._contents is not None and max_tokens >= LEAST_WITH_NOTE:
            note = own_lines.note(NO_CONTENTS)
            room -= tokens.estimate(note) + 1
        shown = make_item([plan], self._view, self._view.max_chars).show(room)
        lines = (*shown.lines, note) if note else shown.lines
        return replace(shown, lines=lines, left=(*shown.left, *self._rest(number)))


def plan_difference(target: Target, open_file: Callable[[Target], Opened]) -> Item | TextPlan:
    """Return the plan of the difference that a target names. Lines of it are those of its text. Raises: ReadError."""
    if isinstance(target.piece, Enclosing):
        raise errors.NoSuchPart(target.path, document="a difference", part="symbols around lines")
    text, opened = plugins.load(plugins.own("DIFFERENCE")[0])(target, open_file)
    if not text:
        lines = [own_lines.header(f"{own_lines.base_name(target)}: no difference")]
        return FixedItem(write_target(target), lines, {"path": target.path, "selector": write_target(target)})
    held, wanted = HeldText(opened.document(()), text, opened.context), WHOLE
    if isinstance(piece := target.piece, Ranges):
        target, wanted = replace(target, piece=None), want_ranges(held, piece.ranges)
    return TextPlan(target, held, wanted, ONE_NUMBER)
