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
from typing import Any, BinaryIO, NamedTuple

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
        extras, crowded = self._extras(name, part)
        extras.is_hidden = extras.is_hidden or name in self._hidden
        if crowded is not None and self._package is not None:
            return self._sparse_blocks(name, area, extras, crowded)
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

    def _sparse_blocks(self, name: str, area: Area, extras: Extras, crowded: _Crowded) -> list[str]:
        """Return a sheet whose cells are far apart: only rows and columns with values. Raises: _SheetUnreadable."""
        assert self._package is not None
        try:
            book = _library_book(self._package.with_part(crowded.part, crowded.xml))
            sheet = book.get_sheet_by_name(name)
            start, rows = sheet.start or (0, 0), sheet.to_python() if sheet.start else []
            values = {
                (crowded.rows[start[0] + at], crowded.columns[start[1] + across]): value
                for at, row in enumerate(rows)
                for across, value in enumerate(row)
                if value != ""
            }
        except BaseException as error:
            _reraise_foreign(error)
            raise _SheetUnreadable("this sheet cannot be read: it is corrupt") from None
        return sparse_blocks(name, values, area, extras)

    def _extras(self, name: str, part: str) -> tuple[Extras, _Crowded | None]:
        """Return what a sheet has beside its values, and its cells moved together if they are far apart.

        Raises: Unreadable.
        """
        if self._ods is not None:
            return self._ods.get(name, cells.Extras()), None
        if self._xlsx is not None and self._package is not None and part in self._package:
            try:
                xml = xlsx.as_utf8(self._package.read(part))
            except Unreadable as error:
                raise _SheetUnreadable(error.reason) from None
            crowded = None if _is_small(xml) else _moved_together(part, xml)
            return self._xlsx.extras(name, xml), crowded
        return cells.Extras(), None


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
    """Return True if the rectangle around all cells of a sheet can be held in memory."""
    last = _FAR_CELL.match(xml, xml.rfind(b' r="'))
    rows = max(int(last[2]) if last else 1, xml.count(b"<row"))
    last_column = max(set(_LETTERS.findall(xml)), key=lambda letters: (len(letters), letters), default=b"A")
    return rows * (cells.column_number(last_column.decode()) + 1) <= cells.MAX_CELLS


class _Crowded(NamedTuple):
    """A sheet whose rows and columns without values were taken out, and the numbers of the others."""

    part: str
    xml: bytes
    rows: list[int]
    columns: list[int]


_EMPTY_CELL = re.compile(rb"<(?:\w{1,20}:)?c\b[^<>]{0,500}/>")
_CELL_PLACE = re.compile(rb'(<(?:\w{1,20}:)?c\b[^<>]{0,500}? r=")([A-Z]{1,3})(\d{1,7})"')
_ROW_PLACE = re.compile(rb'(<(?:\w{1,20}:)?row\b[^<>]{0,500}? r=")(\d{1,7})"')
_SPANS = re.compile(rb' spans="[^"]{0,500}"|<(?:\w{1,20}:)?dimension\b[^<>]{0,500}/>')


def _moved_together(part: str, xml: bytes) -> _Crowded:
    """Return a sheet with its cells moved together, for the library, which holds the rectangle around them.

    Raises: Unreadable, if the rectangle is still too large.
    """
    xml = _SPANS.sub(b"", _EMPTY_CELL.sub(b"", xml))
    filled = {(letters, int(digits)) for _, letters, digits in _CELL_PLACE.findall(xml)}
    rows = sorted({row for _, row in filled})
    columns = sorted({cells.column_number(letters.decode()) for letters in {letters for letters, _ in filled}})
    if len(rows) * len(columns) > cells.MAX_CELLS:
        wide, high = columns[-1] + 1, rows[-1]
        raise unreadable(f"a sheet spans {high} rows and {wide} columns, the limit is {cells.MAX_CELLS} cells")
    row_at = {row: at + 1 for at, row in enumerate(rows)}
    column_at = {number: cells.column_letters(at).encode() for at, number in enumerate(columns)}

    def cell(match: re.Match[bytes]) -> bytes:
        letters = column_at[cells.column_number(match[2].decode())]
        return b'%s%s%d"' % (match[1], letters, row_at[int(match[3])])

    moved = _CELL_PLACE.sub(cell, xml)
    # A row without values is put at the end, where it does not matter.
    moved = _ROW_PLACE.sub(lambda match: b'%s%d"' % (match[1], row_at.get(int(match[2]), len(rows) + 1)), moved)
    return _Crowded(part, moved, [row - 1 for row in rows], columns)


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


def sparse_blocks(name: str, values: Mapping[tuple[int, int], Any], area: Area, extras: Extras) -> list[str]:
    """Return a sheet with cells far apart as blocks: only the rows and columns that hold something."""
    top, left, bottom, right = area
    places = [
        (row, column) for row, column in {*values, *extras.places()} if top <= row <= bottom and left <= column <= right
    ]
    state = ", hidden" if extras.is_hidden else ""
    if not places:
        return [f"## {name}{' (hidden)' if state else ''}", *extras.header_lines(), "[no cells]", *extras.blocks]
    shown_rows, shown_columns = sorted({row for row, _ in places}), sorted({column for _, column in places})
    if len(shown_rows) * len(shown_columns) > cells.MAX_CELLS:
        raise _SheetUnreadable(f"this sheet has more than {cells.MAX_CELLS} cells; select an area, such as A1:Z1000")
    lines = [
        f"|   | {' | '.join([cells.column_letters(column) for column in shown_columns])} |",
        "|---|" + " --- |" * len(shown_columns),
    ]
    for row in shown_rows:
        shown = []
        for column in shown_columns:
            value = values.get((row, column), "")
            changed = _changed_cell([[value]], (row, column), extras, (row, column))
            shown.append(_cell(value) if changed is None else changed)
        lines.append(f"| {row + 1} | {' | '.join(shown)} |")
    bounds = (shown_rows[0], shown_columns[0], shown_rows[-1], shown_columns[-1])
    header = [f"## {name} ({cells.area_name(*bounds)}{state})", *extras.header_lines()]
    note = "[only rows and columns with values are shown]"
    return [*header, note, "\n".join(lines), *_formula_blocks(extras, bounds), *extras.blocks]


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
