"""Documents in the native dialect: pictures as pictures, pages and cells as text with their pictures behind it.

Office files are text once they are converted, and read as any text is. The text of pages and cells is held, not read
by lines from the file; where it does not fit, the selector that goes on names the page and the line of its text.
"""

from __future__ import annotations

from eyespan import tokens
from eyespan.dialects.native.call import DOCUMENTS
from eyespan.dialects.native.gutter import Style
from eyespan.dialects.native.parts import LEAST_TOKENS, LEFT_TOKENS, Part, Shown, no_such_part
from eyespan.dialects.native.text import TextFile
from eyespan.errors import PastEnd
from eyespan.hashes import blake2b
from eyespan.model import (
    CHEAP_TOTAL,
    CharRange,
    Document,
    ImageContent,
    ImagePart,
    NotePart,
    ReadRequest,
    Tail,
    TextPart,
)
from eyespan.selectors import Area, Cells, Named, Pages, Ranges, Target, write_target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from eyespan.dialects.native.call import Call
    from eyespan.model import Content

IMAGE_TOKENS = 1600
"""What a picture of the largest size that models look at costs them, about."""
IMAGE_PAGES = 4
"""So many pages that are asked for by number come with their pictures; of more there is the text."""
MAX_PAGES = 20
TABLE_ROWS = 1000
"""Rows of a table that is asked for by its name; what does not fit is gone on with."""
CSV_TABLE = "table"
SHORT_BYTES = 2048
"""A CSV file of this size is shown as it is rather than described."""
HELD_EVERY = 1 << 60
"""A gutter without numbers, but for the first line: no line of a document can pass for one of eyespan's own."""


def open_document(call: Call, target: Target, document: Document, note: str) -> Part:
    """The part that a target of a document kind becomes.

    Raises: ReadError.
    """
    piece, kind = target.piece, document.kind
    if kind == "image":
        if piece is not None:
            raise no_such_part(target.path, piece, kind)
        return Picture(call, target)
    if kind == "pdf":
        return _pdf(call, target, document)
    if kind == "notebook":
        return _notebook(call, target, document)
    if kind in ("archive", "csv", "parquet", "sqlite"):
        return _table(call, target, document, note)
    within = piece.ranges if isinstance(piece, Ranges) else ()
    base = None
    if kind == "sheet" and isinstance(piece, (Area, Named)):
        base = Area(piece.sheet, piece.cells) if isinstance(piece, Area) else Named(piece.name)
        within = piece.within
    elif piece is not None and not isinstance(piece, Ranges):
        raise no_such_part(target.path, piece, kind)
    file = TextFile(call, Target(target.path, base, target.member, target.revision), document.facts, note)
    file.want(within)
    return file


class HeldText(TextFile):
    """Text that was made from a document: known as a whole, its lines not those of a file, so hardly numbered."""

    def __init__(self, call: Call, target: Target, document: Document, text: str, blocks: Sequence[Content]) -> None:
        super().__init__(call, target, document.facts)
        if self.style.every:
            self.style = Style(self.style.separator, HELD_EVERY)
        self._document = Document(document.kind, document.facts, ())
        self._text = text
        self._blocks = tuple(blocks)

    def _get(self, selection: CharRange | Tail, total: str = CHEAP_TOTAL) -> tuple[TextPart, Document]:
        return cut_out(self._text, selection), self._document

    def need(self) -> int:
        return self.text_need() + IMAGE_TOKENS * len(self._blocks)

    def show(self, allotted: int) -> Shown:
        """Pictures come if there is room for them, or if a single cell or page was asked for and nothing less."""
        cost = IMAGE_TOKENS * len(self._blocks)
        piece = self.target.piece
        single = isinstance(piece, (Cells, Pages)) and piece.first == piece.last
        if not cost or self.need() <= allotted:
            shown = super().show(allotted - cost)
            return Shown(shown.text, shown.facts, shown.left, shown.error, self._blocks)
        shown = super().show(max(allotted - cost, allotted // 2) if single else allotted)
        if single:
            return Shown(shown.text, shown.facts, shown.left, shown.error, self._blocks)
        text = f"{shown.text}\nnote: {len(self._blocks)} pictures are not shown; a cell alone comes with its own"
        return Shown(text, shown.facts, shown.left, shown.error)


def cut_out(text: str, selection: CharRange | Tail) -> TextPart:
    """What `lines.stretch` would read of a file with this text."""
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
        selection = CharRange(max(1, first), 1, None, room)
    wanted = lines[selection.first - 1 : selection.last]
    if not wanted:
        return TextPart(b"", selection.first, 0, total, False, ends_open=ends_open)
    last = selection.first + len(wanted) - 1
    whole = "\n".join([wanted[0][selection.column - 1 :], *wanted[1:]]) + (
        "\n" if last < total or not ends_open else ""
    )
    cut = whole[: selection.max_chars]
    short = len(cut) < len(whole)
    count = cut.count("\n") + (not cut.endswith("\n"))
    more = short or last < total
    return TextPart(
        cut.encode("utf-8", "replace"),
        selection.first,
        count,
        total,
        more,
        {},
        "utf-8",
        ends_open,
        selection.column,
        short,
    )


def _request(call: Call, target: Target, options: Mapping[str, Any]) -> ReadRequest:
    return ReadRequest(
        target.path, documents=DOCUMENTS, options=options, member=target.member, revision=target.revision
    )


def _bare(target: Target, piece: Pages | Cells | Named | None) -> Target:
    return Target(target.path, piece, target.member, target.revision)


# --- pictures ------------------------------------------------------------------------------------------------------


class Picture(Part):
    """A picture, with what has to be said of it."""

    def __init__(self, call: Call, target: Target) -> None:
        self._target = target
        document = call.engine.read(_request(call, target, {}), call.context)
        self._document = document
        self._picture = next(part for part in document.parts if isinstance(part, ImagePart))
        self._said = " ".join([part.text for part in document.parts if isinstance(part, NotePart)])
        digest = blake2b()(self._picture.data, digest_size=8).digest()
        self._value = f"{int.from_bytes(digest, 'big') % 10**12:012}"
        self._known = self._value in call.args.known

    @property
    def selector(self) -> str:
        return write_target(self._target)

    def need(self) -> int:
        return tokens.estimate(self._text()) + 1 + IMAGE_TOKENS * (not self._known)

    def _text(self) -> str:
        facts = self._document.extra
        size = f" {facts['width']}x{facts['height']}" if "width" in facts else ""
        end = " unchanged" if self._known else f"\nnote: {self._said}" if self._said else ""
        return f"{self.selector}: {facts.get('media_type', 'picture')}{size} #{self._value}{end}"

    def show(self, allotted: int) -> Shown:
        text = self._text()
        facts: dict[str, Any] = {
            "path": self._target.path,
            "selector": self.selector,
            "hash": self._value,
            "next": None,
        }
        facts["tokens"] = self.need()
        if self._known:
            return Shown(text, {**facts, "unchanged": True})
        return Shown(text, facts, (), None, (ImageContent(self._picture.data, self._picture.media_type),))


# --- tables and archives -------------------------------------------------------------------------------------------


def _table(call: Call, target: Target, document: Document, note: str) -> Part:
    """Schema and rows of a table, or what an archive holds; lines selected are lines of that text.

    A CSV file is a text as well: by lines it is read as one, and a short one is shown as it is. What describes it has a
    name of its own, `a.csv:table`.
    """
    piece, kind = target.piece, document.kind
    if kind == "csv" and (isinstance(piece, Ranges) or (piece is None and document.facts.size_bytes <= SHORT_BYTES)):
        lines = CsvLines(call, _bare(target, None), document.facts, note)
        lines.want(piece.ranges if piece is not None else ())
        return lines
    options: dict[str, Any] = {}
    base: Named | None = None
    within = piece.ranges if isinstance(piece, Ranges) else ()
    if kind == "sqlite" and isinstance(piece, Named):
        base, within = Named(piece.name), piece.within
        options = {"table": piece.name, "rows": (1, TABLE_ROWS)}
    elif kind == "csv" and (piece is None or (isinstance(piece, Named) and piece.name == CSV_TABLE)):
        base, within = Named(CSV_TABLE), piece.within if piece is not None else ()
    elif piece is not None and not isinstance(piece, Ranges):
        raise no_such_part(target.path, piece, kind)
    found = call.engine.read(_request(call, target, options), call.context)
    text, _ = _joined(found, target)
    file = HeldText(call, _bare(target, base), found, text, ())
    file.want(within)
    return file


class CsvLines(TextFile):
    """The lines of a file of separated values, as they are written."""

    def _get(self, selection: CharRange | Tail, total: str = CHEAP_TOTAL) -> tuple[TextPart, Document]:
        request = self.call.request(self.target, selection, total, documents=DOCUMENTS - {"csv"})
        document = self.call.engine.read(request, self.call.context)
        part = document.parts[0]
        assert isinstance(part, TextPart)
        return part, document


# --- notebooks -----------------------------------------------------------------------------------------------------


def _notebook(call: Call, target: Target, document: Document) -> Part:
    piece = target.piece
    base = None
    within = piece.ranges if isinstance(piece, Ranges) else ()
    if isinstance(piece, Cells):
        base, within = Cells(piece.first, piece.last), piece.within
    elif piece is not None and not isinstance(piece, Ranges):
        raise no_such_part(target.path, piece, "notebook")
    options = {} if base is None else {"cells": (base.first, base.last if base.last is not None else 1 << 30)}
    found = call.engine.read(_request(call, target, options), call.context)
    total = found.extra["total_cells"]
    if base is not None and base.first > total:
        raise PastEnd(target.path, part="cell", wanted=str(base.first), document="the notebook", total=total)
    text, pictures = _joined(found, target)
    file = HeldText(call, _bare(target, base), found, text, pictures if not within else ())
    file.want(within)
    return file


def _joined(document: Document, target: Target) -> tuple[str, list[Content]]:
    """The notes of a document in order, with a mark where each picture belongs, and the pictures."""
    lines: list[str] = []
    pictures: list[Content] = []
    for part in document.parts:
        if isinstance(part, NotePart):
            lines.append(part.text)
        elif isinstance(part, ImagePart):
            pictures.append(ImageContent(part.data, part.media_type))
            lines.append(f"[picture {len(pictures)} of {target.path}]")
    return "".join([line if line.endswith("\n") else line + "\n" for line in lines]), pictures


# --- pages ---------------------------------------------------------------------------------------------------------


def _pdf(call: Call, target: Target, document: Document) -> Part:
    piece = target.piece
    if piece is not None and not isinstance(piece, Pages):
        raise no_such_part(target.path, piece, "pdf")
    first, last = (1, None) if piece is None else (piece.first, piece.last)
    asked = piece is not None and last is not None and not piece.within and last - first < IMAGE_PAGES
    options = {"pages": (first, last), "max_pages": MAX_PAGES, "pictures": asked}
    found = call.engine.read(_request(call, target, options), call.context)
    total = found.extra["total_pages"]
    if not found.parts:
        raise PastEnd(target.path, part="page", wanted=str(first), document="the PDF", total=total)
    if piece is not None and piece.within:
        text, _ = _joined(found, target)
        file = HeldText(call, _bare(target, Pages(first, last)), found, text, ())
        file.want(piece.within)
        return file
    return PdfPages(call, target, found, first, min(total, total if last is None else last))


class PdfPages(Part):
    """Pages of a PDF: as many whole ones as fit, or the start of the first."""

    def __init__(self, call: Call, target: Target, document: Document, first: int, last: int) -> None:
        self._call = call
        self._target = target
        self._document = document
        self._last = last
        self._texts: list[str] = []
        self._pictures: list[list[Content]] = []
        self._numbers: list[int] = list(document.extra["pages_returned"])
        for part in document.parts:
            if isinstance(part, NotePart):
                self._texts.append(part.text)
                self._pictures.append([])
            elif isinstance(part, ImagePart):
                self._pictures[-1].append(ImageContent(part.data, part.media_type))

    @property
    def selector(self) -> str:
        return write_target(self._target)

    def _costs(self, count: int) -> int:
        pictures = sum(map(len, self._pictures[:count]))
        text = "\n".join(self._guttered("\n".join(self._texts[:count])))
        return tokens.estimate(text) + IMAGE_TOKENS * pictures

    def need(self) -> int:
        if self._numbers[-1] < self._last:
            return self._call.args.budget + 1
        return self._costs(len(self._texts)) + 32

    def show(self, allotted: int) -> Shown:
        room = max(LEAST_TOKENS, allotted - tokens.estimate(self.selector) - 2 * LEFT_TOKENS)
        count = len(self._texts)
        while count and self._costs(count) > room and self.need() > allotted:
            count -= 1
        if not count:
            return self._start(allotted)
        shown = self._numbers[:count]
        left = self._rest(shown[-1])
        text = "\n".join(self._texts[:count])
        blocks = [block for page in self._pictures[:count] for block in page]
        of = f"{shown[0]}-{shown[-1]}" if len(shown) > 1 else f"{shown[0]}"
        value = _hash(self._document.facts.canonical, of, text)
        head = f"{self._target.path}:p{of}/{self._document.extra['total_pages']} #{value}"
        facts: dict[str, Any] = {
            "path": self._target.path,
            "selector": write_target(_bare(self._target, Pages(shown[0], shown[-1]))),
            "hash": value,
            "total_pages": self._document.extra["total_pages"],
            "next": left[0] if left else None,
        }
        if value in self._call.args.known:
            facts.update(unchanged=True, tokens=tokens.estimate(head) + 1)
            return Shown(f"{head} unchanged", facts, left)
        shown_text = "\n".join([head, *self._guttered(text), *self._unseen(count)])
        facts["tokens"] = tokens.estimate(shown_text) + IMAGE_TOKENS * len(blocks)
        return Shown(shown_text, facts, left, None, tuple(blocks))

    def _guttered(self, text: str) -> list[str]:
        style = self._call.dialect.style
        mark = style.separator if style.every else ""
        return [f"{mark}{line}" if line else "" for line in text.split("\n")]

    def _unseen(self, count: int) -> list[str]:
        """How to see pages that are only pictures."""
        pages = self._document.extra["pages"][:count]
        blank = [
            page["page"]
            for page, shown in zip(pages, self._pictures, strict=False)
            if not shown and not page.get("has_text", True)
        ]
        if not blank:
            return []
        return [
            f"note: no text on page {blank[0]}; {write_target(_bare(self._target, Pages(blank[0], blank[0])))} shows it"
        ]

    def _rest(self, shown: int) -> tuple[str, ...]:
        if shown >= self._last:
            return ()
        return (write_target(_bare(self._target, Pages(shown + 1, self._last))),)

    def _start(self, allotted: int) -> Shown:
        """The beginning of a page that does not fit; the rest of it by lines, then the pages behind."""
        page = Pages(self._numbers[0], self._numbers[0])
        file = HeldText(self._call, _bare(self._target, page), self._document, self._texts[0] + "\n", self._pictures[0])
        file.want(())
        file.load()
        shown = file.show(allotted)
        return Shown(shown.text, shown.facts, (*shown.left, *self._rest(page.first)), None, shown.blocks)


def _hash(*values: str) -> str:
    from eyespan.dialects.native.versions import Digest

    digest = Digest(values[0])
    for value in values[1:]:
        digest.add(value)
    return digest.value()
