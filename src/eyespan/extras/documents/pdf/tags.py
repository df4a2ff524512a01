"""Tables of a PDF page by its tags: the author's own rows and cells.

A tagged file has a tree of elements, whose leaves are numbers that the text of the page carries. A cell that spans
others stands in the first of them. A table counts only if all of its rows have the same number of columns then.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pypdfium2.raw as pdfium

from eyespan.extras.documents.pdf.tables import MAX_CELL_CHARS, Table
from eyespan.extras.documents.pdf.words import Word

if TYPE_CHECKING:
    import pypdfium2


MAX_DEPTH = 24
MAX_ELEMENTS = 20_000
MAX_SPAN = 50
LEAST_FILLED = 0.5
"""The share of cells with text."""


def tagged_tables(page: pypdfium2.PdfPage, layer: Any, words: list[Word], text: str) -> list[Table]:
    """Return the tables of a page whose rows and cells are tagged; none for a file without tags."""
    if page.pdf is None or not pdfium.FPDFCatalog_IsTagged(page.pdf.raw):
        return []
    tree = pdfium.FPDF_StructTree_GetForPage(page.raw)
    if not tree:
        return []
    try:
        grids = _Tree().grids(tree)
    finally:
        pdfium.FPDF_StructTree_Close(tree)
    if not grids:
        return []
    by_number = _words_by_number(layer, words)
    tables = [_table(grid, by_number, text) for grid in grids]
    return [table for table in tables if table is not None]


Grid = list[list[list[int]]]
"""The numbers of the text of each cell, by rows."""


class _Tree:
    """The elements of a page."""

    def __init__(self) -> None:
        self._left = MAX_ELEMENTS

    def grids(self, tree: Any) -> list[Grid]:
        """Return the tables whose rows have the same number of cells."""
        count = max(0, pdfium.FPDF_StructTree_CountChildren(tree))
        roots = [pdfium.FPDF_StructTree_GetChildAtIndex(tree, at) for at in range(min(count, MAX_ELEMENTS))]
        found = [table for root in roots if root for table in self._below(root, ("Table",), 0)]
        return [grid for table in found if (grid := self._grid(table)) and len({len(row) for row in grid}) == 1]

    def _grid(self, table: Any) -> Grid:
        places: dict[tuple[int, int], list[int]] = {}
        rows = list(self._below(table, ("TR",), 0, is_nested=True))
        widths = [0] * len(rows)
        for at, row in enumerate(rows):
            column = 0
            for cell in self._below(row, ("TH", "TD"), 0, is_nested=True):
                while (at, column) in places:
                    column += 1
                wide, high = _span(cell, b"ColSpan"), _span(cell, b"RowSpan")
                for below in range(min(high, len(rows) - at)):
                    places.update({(at + below, column + beside): [] for beside in range(wide)})
                places[at, column] = self._numbers(cell, 0)
        for at, column in places:
            widths[at] = max(widths[at], column + 1)
        return [[places.get((at, column), []) for column in range(width)] for at, width in enumerate(widths)]

    def _below(self, element: Any, kinds: tuple[str, ...], depth: int, is_nested: bool = False) -> Iterator[Any]:
        """Yield the next elements of these kinds; with `is_nested`, those below `element` itself."""
        if not is_nested and _kind(element) in kinds:
            yield element
        elif depth < MAX_DEPTH:
            for child in self._children(element):
                yield from self._below(child, kinds, depth + 1)

    def _children(self, element: Any) -> Iterator[Any]:
        for at in range(max(0, pdfium.FPDF_StructElement_CountChildren(element))):
            self._left -= 1
            if self._left < 0:
                return
            child = pdfium.FPDF_StructElement_GetChildAtIndex(element, at)
            if child:
                yield child

    def _numbers(self, element: Any, depth: int) -> list[int]:
        """Return the numbers of the text of an element and of all below it."""
        count = min(MAX_ELEMENTS, max(0, pdfium.FPDF_StructElement_GetMarkedContentIdCount(element)))
        found = [pdfium.FPDF_StructElement_GetMarkedContentIdAtIndex(element, at) for at in range(count)]
        if depth < MAX_DEPTH:
            for child in self._children(element):
                found += self._numbers(child, depth + 1)
        return [number for number in found if number >= 0]


def _span(cell: Any, name: bytes) -> int:
    """Return the number of columns or rows that a cell covers."""
    number = ctypes.c_float()
    for at in range(min(8, max(0, pdfium.FPDF_StructElement_GetAttributeCount(cell)))):
        attribute = pdfium.FPDF_StructElement_GetAttributeAtIndex(cell, at)
        value = pdfium.FPDF_StructElement_Attr_GetValue(attribute, name) if attribute else None
        if value and pdfium.FPDF_StructElement_Attr_GetNumberValue(value, number) and 1 < number.value <= MAX_SPAN:
            return int(number.value)
    return 1


def _kind(element: Any) -> str:
    buffer = ctypes.create_string_buffer(64)
    size = pdfium.FPDF_StructElement_GetType(element, buffer, 64)
    return buffer.raw[: max(0, size - 2)].decode("utf-16-le", "replace") if size <= 64 else ""


def _words_by_number(layer: Any, words: list[Word]) -> dict[int, list[Word]]:
    found: dict[int, list[Word]] = {}
    for word in words:
        item = pdfium.FPDFText_GetTextObject(layer, word[4])
        number = pdfium.FPDFPageObj_GetMarkedContentID(item) if item else -1
        found.setdefault(number, []).append(word)
    return found


def _table(grid: Grid, by_number: dict[int, list[Word]], text: str) -> Table | None:
    """Return the table of a grid; None if it has too little text, or is the layout of running text."""
    if len(grid) < 2 or len(grid[0]) < 2:
        return None
    held = [[[word for number in cell for word in by_number.get(number, ())] for cell in row] for row in grid]
    cells = [[_joined([text[word[4] : word[5]] for word in cell]) for cell in row] for row in held]
    filled = [cell for row in cells for cell in row if cell]
    if len(filled) < LEAST_FILLED * len(grid) * len(grid[0]) or sum(map(len, filled)) > MAX_CELL_CHARS * len(filled):
        return None
    if sum([sum(map(bool, row)) > 1 for row in cells]) < 2:
        return None
    every = [word for row in held for cell in row for word in cell]
    is_once = len({word[4] for word in every}) == len(every)
    return Table(cells, every) if is_once else None


def _joined(texts: list[str]) -> str:
    return " ".join(texts).replace("\ufffe", "-").replace("\x02", "-")
