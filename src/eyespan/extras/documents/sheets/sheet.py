"""Spreadsheets (xlsx, xlsb, xls, ods): each sheet as a table with the letters of columns and the numbers of rows.

A cell shows its value; a formula without a value is shown in its place. All formulas stand below the table. Numbers
have the sign, unit or zeros that their format gives them. `params["sheet"]` selects a sheet by name or number,
`params["range"]` an area ("B2:D20", "Sheet1!A1", "C:E", "5:9"). calamine reads the values of xlsx, xlsb and ods; the
modules `xlsx` and `ods` add the rest. The module `xls` reads workbooks from before 2007.
"""

from __future__ import annotations

import datetime
import io
import re
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO

from eyespan.decoders.files import read_whole, unreadable
from eyespan.errors import Missing, Unreadable
from eyespan.extras.documents.office import odf
from eyespan.extras.documents.shared import drawings, markdown_pieces, number_formats
from eyespan.extras.documents.shared.embedded_images import Images
from eyespan.extras.documents.shared.ooxml import ENCRYPTED, OLE, Package, is_encrypted_ole
from eyespan.extras.documents.sheets import biff, cells, ods, xls, xlsx
from eyespan.extras.documents.sheets.cells import Area, Extras

try:
    import python_calamine as calamine
except ImportError:  # reported by `decode`
    calamine = None  # type: ignore[assignment]  # there is no such module then


MAX_FILE_BYTES = 64 * 1024 * 1024
_FAR_CELL = re.compile(rb' r="([A-Z]{1,3})(\d{1,7})"')
_LETTERS = re.compile(rb' r="([A-Z]{1,3})\d')
_EMPTY_CELL = re.compile(rb"<(?:\w{1,20}:)?c\b[^<>]{0,500}/>")
_EMPTY_ROW = re.compile(rb"<(?:\w{1,20}:)?row\b[^<>]{0,500}(?:/>|>\s*</(?:\w{1,20}:)?row>)")
_BOOK_RELATIONS = "xl/_rels/workbook.xml.rels"
_MACROS = re.compile(rb"(?<=//schemas\.)microsoft\.com/office/2006/relationships/xl(?:Intl)?Macrosheet")
"""The type of sheets of macros of Excel 4, which calamine does not know; they have cells like others."""
_ONLY_VALUES = (
    "[an xlsb file: only values are shown; cells with errors are empty, and formulas, formats, comments, links and "
    "charts are left out; they are shown if it is saved as xlsx]"
)
_EVERYTHING: Area = (0, 0, cells.MAX_ROWS - 1, cells.MAX_COLUMNS - 1)


def decode(file: BinaryIO, params: Mapping[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    """Convert the selected sheets to Markdown tables. Raises: Missing, Unreadable."""
    if calamine is None:
        raise Missing("", what="reading spreadsheets", install="pip install 'eyespan[docs]'")
    data = read_whole(file, MAX_FILE_BYTES)
    book = _open(data, params)
    if not book.sheet_names:
        raise unreadable("no sheet is found in it: it is corrupt or cut off")
    chosen, area = _choice(book.sheet_names, params)
    blocks: list[str] = []
    for name in chosen:
        try:
            blocks += book.blocks(name, area)
        except _SheetUnreadable as error:
            blocks += [f"## {name}", f"[{error}]"]
    if book.names and len(chosen) == len(book.sheet_names):
        blocks += ["Defined names:", "\n".join(book.names)]
    blocks[:0] = book.notes()
    facts = {"sheets": book.sheet_names, "sheets_returned": chosen}
    return facts, [markdown_pieces.encode("\n\n".join(blocks) + "\n" if blocks else "")]


def _open(data: bytes, params: Mapping[str, Any]) -> _OldBook | _PackageBook:
    """Open a workbook by its first bytes. Raises: Unreadable, Missing."""
    if data.startswith(OLE):
        if is_encrypted_ole(data):
            raise unreadable(ENCRYPTED)
        return _OldBook(data)
    if data.startswith(xls.STARTS):
        return _OldBook(data)
    return _PackageBook(data, params)


class _SheetUnreadable(Exception):
    """One sheet cannot be read; the others may."""


# --- workbooks --------------------------------------------------------------------------------------------------------


class _OldBook(xls.Book):
    """A workbook of Excel 2003 or before."""

    def notes(self) -> list[str]:
        """Return nothing: damage is a note of its sheet."""
        return []

    def blocks(self, name: str, area: Area) -> list[str]:
        """Return a sheet as blocks. Raises: _SheetUnreadable."""
        try:
            rows, start, extras = self.sheet(name)
        except Unreadable as error:
            raise _SheetUnreadable(error.reason) from None
        return sheet_blocks(name, rows, start, area, extras)


class _PackageBook:
    """A workbook in a zip package: xlsx, xlsb or ods."""

    def __init__(self, data: bytes, params: Mapping[str, Any]) -> None:
        """Open the workbook; sizes of parts are checked before calamine unpacks them. Raises: Unreadable."""
        self._package: Package | None = None
        self._xlsx: xlsx.XlsxWorkbook | None = None
        self._ods: dict[str, Extras] | None = None
        self.names: list[str] = []
        self._notes: list[str] = []
        images: Images | None = None
        self._images: Images | None = None
        if data.startswith(b"PK"):
            package = self._package = Package(io.BytesIO(data))
            images = self._images = Images(package, params)
            package.check_all()
            if odf.is_encrypted(package):
                raise unreadable(ENCRYPTED)
            data = package.repaired(data)
            if _BOOK_RELATIONS in package and _MACROS.search(relations := package.read(_BOOK_RELATIONS)):
                data = package.with_part(
                    _BOOK_RELATIONS,
                    _MACROS.sub(b"openxmlformats.org/officeDocument/2006/relationships/worksheet", relations),
                )
        self._book = _library_book(data)
        self.sheet_names: list[str] = list(self._book.sheet_names)
        self._hidden = {
            sheet.name
            for sheet in getattr(self._book, "sheets_metadata", ())
            if sheet.visible != calamine.SheetVisibleEnum.Visible
        }
        if self._package is None or images is None:
            return
        if self._package.names("xl/workbook.bin"):
            self._notes = [_ONLY_VALUES]
        elif odf.CONTENT in self._package:
            self._ods = ods.extras_by_sheet(self._package, images)
        else:
            self._xlsx = xlsx.XlsxWorkbook(self._package, images)
            self.names = self._xlsx.names

    def notes(self) -> list[str]:
        """Return lines about damage of the package, and about what is not read of it."""
        return [*self._notes, *([] if self._package is None else self._package.notes())]

    def blocks(self, name: str, area: Area) -> list[str]:
        """Return a sheet as blocks. Raises: Unreadable, _SheetUnreadable."""
        part = self._part_of(name)
        if self._package is not None and self._images is not None and part.startswith("xl/chartsheets/"):
            relations = self._package.relations(part)
            return [f"## {name}", *drawings.sheet_blocks(self._package, self._images, relations)]
        extras = self._extras(name, part)
        extras.is_hidden = extras.is_hidden or name in self._hidden
        try:
            sheet = self._book.get_sheet_by_name(name)
            start = sheet.start or (0, 0)
            # `to_python` skips empty rows and columns before the first value; `iter_rows` skips only columns.
            rows = sheet.to_python(nrows=max(1, area[2] - start[0] + 1)) if sheet.start else []
        except BaseException as error:
            _reraise_foreign(error)
            raise _SheetUnreadable("this sheet cannot be read: it is corrupt") from None
        return sheet_blocks(name, rows, start, area, extras)

    def _part_of(self, name: str) -> str:
        return "" if self._xlsx is None else self._xlsx.parts.get(name, "")

    def _extras(self, name: str, part: str) -> Extras:
        """Return what a sheet has beside its values. Raises: _SheetUnreadable."""
        if self._ods is not None:
            return self._ods.get(name, cells.Extras())
        if self._xlsx is not None and self._package is not None and part in self._package:
            try:
                xml = xlsx.as_utf8(self._package.read(part))
            except Unreadable as error:
                raise _SheetUnreadable(error.reason) from None
            if not _is_small(xml):
                raise _SheetUnreadable(f"its cells are too far apart, the limit is {cells.MAX_CELLS} cells")
            return self._xlsx.extras(name, xml)
        return cells.Extras()


def _library_book(data: bytes) -> Any:
    try:
        return calamine.CalamineWorkbook.from_filelike(io.BytesIO(data))
    except calamine.PasswordError:
        raise unreadable(ENCRYPTED) from None
    except BaseException as error:
        _reraise_foreign(error)
        raise unreadable("not a spreadsheet, or a corrupt one") from None


def _reraise_foreign(error: BaseException) -> None:
    """Raise an error that the file did not cause. A panic of the library is no `Exception`, but the file caused it."""
    if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
        raise error
    if isinstance(error, MemoryError):
        raise error


def _is_small(xml: bytes) -> bool:
    """Return True if the rectangle around the filled cells, which the library makes, can be held in memory."""
    xml = _EMPTY_ROW.sub(b"", _EMPTY_CELL.sub(b"", xml))
    last = _FAR_CELL.match(xml, xml.rfind(b' r="'))
    rows = max(int(last[2]) if last else 1, xml.count(b"<row"))
    last_column = max(set(_LETTERS.findall(xml)), key=lambda letters: (len(letters), letters), default=b"A")
    return rows * (cells.column_number(last_column.decode()) + 1) <= cells.MAX_CELLS


# --- the selection ----------------------------------------------------------------------------------------------------


def _choice(names: list[str], params: Mapping[str, Any]) -> tuple[list[str], Area]:
    """Return the selected sheets, and the area of each."""
    sheet, area = params.get("sheet"), params.get("range")
    if isinstance(area, str) and "!" in area:
        named, _, area = area.rpartition("!")
        sheet = named.strip("'").replace("''", "'") or sheet
    chosen = names
    if sheet is not None:
        exact = [name for name in names if name == sheet]
        alike = [name for name in names if name.lower() == str(sheet).lower()]
        number = int(sheet) if str(sheet).isdecimal() and len(str(sheet)) < 6 else 0
        chosen = exact or alike or (names[number - 1 : number] if number else [])
        if not chosen:
            raise unreadable(f"it has no sheet {str(sheet)[:100]!r}; its sheets are {', '.join(names)[:300]}")
    elif area:
        chosen = names[:1]
    return chosen, _area(area)


def _area(text: Any) -> Area:
    if not text:
        return _EVERYTHING
    area = cells.area_of(str(text))
    if area is None:
        raise unreadable(f"{str(text)[:100]!r} is not a range; examples are A1:D20, C:E and 5:9")
    return area


# --- the output -------------------------------------------------------------------------------------------------------


def sheet_blocks(
    name: str, rows: list[list[Any]], start: tuple[int, int], area: Area, extras: Extras | None = None
) -> list[str]:
    """Return a sheet as blocks: a heading, lines about it, the table, and what follows it."""
    extras = extras or cells.Extras()
    state = ", hidden" if extras.is_hidden else ""
    bounds = _bounds(rows, start, area, extras)
    if bounds is None:
        return [f"## {name}{' (hidden)' if state else ''}", *extras.header_lines(), "[no cells]", *extras.blocks]
    first_row, first_column, last_row, last_column = bounds
    shown = cells.area_name(*bounds)
    letters = [cells.column_letters(column) for column in range(first_column, last_column + 1)]
    lines = [f"|   | {' | '.join(letters)} |", "|---|" + " --- |" * len(letters)]
    changes = _changes(rows, start, extras)
    row_at, column_at = start
    before = [""] * max(0, column_at - first_column)
    columns = slice(max(0, first_column - column_at), max(0, last_column - column_at + 1))
    width = last_column - first_column + 1
    for number in range(first_row, last_row + 1):
        at = number - row_at
        values = rows[at][columns] if 0 <= at < len(rows) else ()
        shown_cells = [_cell(value) for value in values]
        if before or len(shown_cells) < width:
            shown_cells = [*before, *shown_cells]
            shown_cells += [""] * (width - len(shown_cells))
        for column, text in changes.get(number, {}).items():
            if first_column <= column <= last_column:
                shown_cells[column - first_column] = text
        if any(shown_cells):
            lines.append(f"| {number + 1} | {' | '.join(shown_cells)} |")
    header = [f"## {name} ({shown}{state})", *extras.header_lines()]
    return [*header, "\n".join(lines), *_formula_blocks(extras, bounds), *extras.blocks]


def _bounds(rows: list[list[Any]], start: tuple[int, int], area: Area, extras: Extras) -> Area | None:
    """Return the part of the area that has cells; None if there is none."""
    top, left, bottom, right = area
    width = max(map(len, rows), default=0)
    places = list(extras.places())
    at_rows, at_columns = [row for row, _ in places], [column for _, column in places]
    if rows and width:
        at_rows += (start[0], start[0] + len(rows) - 1)
        at_columns += (start[1], start[1] + width - 1)
    if not at_rows:
        return None
    first_row, first_column = max(top, min(at_rows)), max(left, min(at_columns))
    last_row, last_column = min(bottom, max(at_rows)), min(right, max(at_columns))
    if first_row > last_row or first_column > last_column:
        return None
    rows_and_columns = (last_row - first_row + 1) * (last_column - first_column + 1)
    if rows_and_columns > cells.MAX_CELLS:
        raise unreadable(f"a sheet spans {rows_and_columns} cells, the limit is {cells.MAX_CELLS} cells")
    return first_row, first_column, last_row, last_column


def _changes(rows: list[list[Any]], start: tuple[int, int], extras: Extras) -> dict[int, dict[int, str]]:
    """Return the cells that show more than their values: by row and column."""
    made: dict[int, dict[int, str]] = {}
    first_row, first_column = start
    places = {*extras.texts, *extras.formats}
    for place in extras.formulas:  # most have a value, which is shown
        at, across = place[0] - first_row, place[1] - first_column
        if not (0 <= at < len(rows) and 0 <= across < len(rows[at]) and rows[at][across] != ""):
            places.add(place)
    for row, column in places:
        text = _changed_cell(rows, start, extras, (row, column))
        if text is not None:
            made.setdefault(row, {})[column] = text
    return made


def _changed_cell(rows: list[list[Any]], start: tuple[int, int], extras: Extras, place: tuple[int, int]) -> str | None:
    at, across = place[0] - start[0], place[1] - start[1]
    value: Any = ""
    if 0 <= at < len(rows) and 0 <= across < len(rows[at]):
        value = rows[at][across]
    text = extras.texts.get(place)
    code = extras.formats.get(place)
    if text is None and code is not None and type(value) in (int, float):
        text = number_formats.shown(value, code)
    if text is not None:
        text = markdown_pieces.cell(text)
    if text is None and place in extras.formulas and value == "" and place not in extras.empty_texts:
        return markdown_pieces.cell("=" + extras.formulas[place])
    return text


def _formula_blocks(extras: Extras, bounds: Area) -> list[str]:
    """Return the formulas of an area as a list, those of a row on one line."""
    rows: dict[int, list[int]] = {}
    for row, column in extras.formulas:
        if bounds[0] <= row <= bounds[2] and bounds[1] <= column <= bounds[3]:
            rows.setdefault(row, []).append(column)
    lines = []
    for row in sorted(rows):
        pieces = [f"{cells.cell_name(row, column)}: ={extras.formulas[row, column]}" for column in sorted(rows[row])]
        lines.append("- " + " ".join("; ".join(pieces).split()))
    return ["Formulas:", "\n".join(lines)] if lines else []


def _date(value: datetime.datetime) -> str:
    whole = (value.hour, value.minute, value.second, value.microsecond) == (0, 0, 0, 0)
    return value.date().isoformat() if whole else value.isoformat(" ")


def _duration(value: datetime.timedelta) -> str:
    return biff.elapsed(value.total_seconds() / 86_400)


_SHOWN: dict[type, Callable[[Any], str]] = {
    str: markdown_pieces.cell,
    bool: lambda value: "TRUE" if value else "FALSE",
    int: str,
    float: number_formats.plain,
    datetime.datetime: _date,
    datetime.timedelta: _duration,
}


def _cell(value: Any) -> str:
    show = _SHOWN.get(type(value))
    return markdown_pieces.cell(str(value)) if show is None else show(value)
