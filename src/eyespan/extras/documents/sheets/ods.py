"""What OpenDocument spreadsheets hold beside values: errors, formulas, percentages and currencies, hidden and merged
cells, comments, images and charts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any
from xml.etree.ElementTree import Element

from eyespan.extras.documents.office import odf
from eyespan.extras.documents.office.odf import CONTENT
from eyespan.extras.documents.shared import number_formats
from eyespan.extras.documents.shared.embedded_images import Images
from eyespan.extras.documents.shared.ooxml import Package
from eyespan.extras.documents.shared.xml_tree import LOCAL_NAMES, local_name, text_of
from eyespan.extras.documents.sheets import cells

_GROUPS = frozenset(
    (
        *("table-row-group", "table-rows", "table-header-rows"),
        *("table-column-group", "table-columns", "table-header-columns"),
    )
)
_CONTAINERS = frozenset(("body", "spreadsheet", "table", "table-row-group", "table-rows", "table-header-rows"))
_OF_INTEREST = re.compile(
    rb'formula=|value-type="(?:percentage|currency|error)"|visibility=|<office:annotation|-spanned=|<draw:'
)
_ERROR = re.compile(r"#[A-Z0-9/]+[!?]?|Err:\d+")
_OF_REFERENCE = re.compile(r"\[([^\[\]]*)\]")
_MAX_REPEATED = 1000
"""A cell that is repeated more often than this is a rest of the sheet, not contents."""


def extras_by_sheet(package: Package, images: Images) -> dict[str, cells.Extras]:
    """Return what each sheet has beside its values, by name. Raises: Unreadable."""
    by_sheet: dict[str, cells.Extras] = {}
    if CONTENT not in package or not _OF_INTEREST.search(package.read(CONTENT)):
        return by_sheet
    for table in _tables(package.stream(CONTENT, _CONTAINERS)):
        sheet = _OdsSheet(package, images)
        sheet.add_rows(table)
        by_sheet[sheet.name] = sheet.extras()
    return by_sheet


def _tables(elements: Iterable[Any]) -> Iterator[Any]:
    for element in elements:
        if local_name(element) == "table":
            yield element
        elif local_name(element) in _CONTAINERS:
            yield from _tables(element)


class _OdsSheet:
    """One sheet while its rows are read."""

    def __init__(self, package: Package, images: Images) -> None:
        self.name = ""
        self._package = package
        self._images = images
        self._extras = cells.Extras()
        self._comments: list[str] = []
        self._row = self._column = self._next_column = 0

    def extras(self) -> cells.Extras:
        if self._comments:
            self._extras.blocks[:0] = ["Comments:", "\n".join(self._comments)]
        return self._extras

    def add_rows(self, table: Any) -> None:
        if not self.name:
            self.name = _facts(table).get("name", "")
        for element in table:
            name = local_name(element)
            if name == "table-row":
                self._add_row(element)
            elif name == "table-column":
                self._add_column(element)
            elif name == "shapes":
                self._add_images(element)
            elif name in _GROUPS:
                self.add_rows(element)

    def _add_column(self, element: Element) -> None:
        facts = _facts(element)
        count = _count(facts, "number-columns-repeated")
        if facts.get("visibility", "visible") != "visible":
            self._extras.hidden_columns.append((self._next_column, self._next_column + count - 1))
        self._next_column += count

    def _add_row(self, element: Element) -> None:
        facts = _facts(element)
        count = _count(facts, "number-rows-repeated")
        if facts.get("visibility", "visible") != "visible":
            self._extras.hidden_rows.append((self._row, self._row + count - 1))
        self._column = 0
        for cell in element:
            if local_name(cell) in ("table-cell", "covered-table-cell"):
                self._add_cell(cell, min(count, _MAX_REPEATED))
        self._row += count

    def _add_cell(self, cell: Element, rows: int) -> None:
        if not cell.attrib and not len(cell):
            self._column += 1
            return
        facts = _facts(cell)
        columns = _count(facts, "number-columns-repeated")
        text = "\n".join([text_of(child) for child in cell if local_name(child) == "p"])
        kind = facts.get("value-type", "")
        formula = _formula(facts.get("formula", ""))
        shown = ""
        if _ERROR.fullmatch(text) and (formula or kind == "error"):
            shown = text
        elif kind in ("percentage", "currency"):
            shown = _number(facts, kind)
        if not shown and not formula:
            rows = 0
        for row in range(self._row, self._row + rows):
            for column in range(self._column, self._column + min(columns, _MAX_REPEATED)):
                if shown:
                    self._extras.texts[row, column] = shown
                if formula:
                    self._extras.formulas[row, column] = formula
                    if kind == "string":
                        self._extras.empty_texts.add((row, column))
        self._add_span(facts)
        for child in cell:
            if local_name(child) == "annotation":
                self._add_comment(child)
            elif local_name(child) in ("frame", "g"):
                self._add_images(child)
        self._column += columns

    def _add_span(self, facts: dict[str, str]) -> None:
        down, right = _count(facts, "number-rows-spanned"), _count(facts, "number-columns-spanned")
        if down > 1 or right > 1:
            area = cells.area_name(self._row, self._column, self._row + down - 1, self._column + right - 1)
            self._extras.merged.append(area)

    def _add_comment(self, annotation: Element) -> None:
        author = " ".join([text_of(child) for child in annotation if local_name(child) == "creator"])
        text = " ".join(
            " ".join([text_of(child) for child in annotation if local_name(child) in ("p", "list")]).split()
        )
        name = cells.cell_name(self._row, self._column)
        self._comments.append(f"- {name} ({author}): {text}" if author else f"- {name}: {text}")

    def _add_images(self, element: Element) -> None:
        for child in element.iter():
            target = _facts(child).get("href", "")
            if local_name(child) == "image" and target:
                self._extras.blocks.append(self._images.line(target))
            elif local_name(child) == "object" and target:
                story = odf.OdfStory(self._package, self._images)
                self._extras.blocks += story.object_blocks(target.removeprefix("./"))


def _facts(element: Any) -> dict[str, str]:
    return {LOCAL_NAMES[name]: value for name, value in element.attrib.items()}


def _count(facts: dict[str, str], name: str) -> int:
    text = facts.get(name, "1")
    return max(1, min(int(text), cells.MAX_ROWS)) if text.isdecimal() and len(text) < 9 else 1


def _formula(text: str) -> str:
    """Return a formula in the notation of other spreadsheets: of:=SUM([.A1:.A3]) is SUM(A1:A3)."""
    if not text:
        return ""
    _, _, body = text.partition("=")
    return _OF_REFERENCE.sub(lambda found: found[1].removeprefix(".").replace(":.", ":"), body).strip()


def _number(facts: dict[str, str], kind: str) -> str:
    try:
        value = float(facts.get("value", ""))
    except ValueError:
        return ""
    if kind == "percentage":
        return number_formats.shown(value, "0%") or ""
    return f"{number_formats.plain(value)} {facts.get('currency', '')}".strip()
