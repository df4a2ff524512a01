"""Spreadsheets (xlsx, xlsb, xls, ods): each sheet as a table with the letters of columns and the numbers of rows.

Cells show values, not formulas. `params["sheet"]` selects a sheet by name or number, `params["range"]` an area
("B2:D20", "Sheet1!A1", "C:E", "5:9"). calamine reads the cells; notes on cells are read from the package itself.
"""

from __future__ import annotations

import datetime
import io
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from eyespan.decoders import markdown
from eyespan.decoders.files import read_whole
from eyespan.decoders.ooxml import Package
from eyespan.decoders.xml_tree import NAMES, attributes, text_of
from eyespan.errors import Missing, Unreadable

try:
    import python_calamine as calamine
except ImportError:  # reported by `decode`
    calamine = None  # type: ignore[assignment]  # there is no such module then

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import BinaryIO
    from xml.etree.ElementTree import Element

KIND = "sheet"
MAX_FILE_BYTES = 64 * 1024 * 1024
MAX_CELLS = 4_000_000
"""The limit for the rectangle around all cells of a sheet, which is held in memory, empty cells included."""
MAX_ROWS, MAX_COLUMNS = 1_048_576, 16_384
_AREA = re.compile(r"\$?([A-Za-z]{1,3})?\$?(\d{1,7})?(?::\$?([A-Za-z]{1,3})?\$?(\d{1,7})?)?")
_FAR_CELL = re.compile(rb' r="([A-Z]{1,3})(\d{1,7})"')


def decode(file: BinaryIO, params: Mapping[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    """Convert the selected sheets to Markdown tables. Raises: Missing, Unreadable."""
    if calamine is None:
        raise Missing("", what="reading spreadsheets", install="pip install 'eyespan[docs]'")
    data = read_whole(file, MAX_FILE_BYTES, kind=KIND)
    package = _package(data)
    try:
        book = calamine.CalamineWorkbook.from_filelike(io.BytesIO(data))
        names = list(book.sheet_names)
    except calamine.PasswordError:
        raise _unreadable("it is protected by a password") from None
    except BaseException as error:
        _reraise_foreign(error)
        raise _unreadable(f"not a spreadsheet, or a corrupt one ({type(error).__name__})") from None
    chosen, area = _choice(names, params)
    comments = _comments(package) if package is not None else {}
    blocks: list[str] = []
    for name in chosen:
        try:
            sheet = book.get_sheet_by_name(name)
            start = sheet.start or (0, 0)
            # `to_python` skips empty rows and columns before the first value; `iter_rows` skips only columns.
            rows = sheet.to_python(nrows=max(1, area[2] - start[0] + 1)) if sheet.start else []
        except BaseException as error:
            _reraise_foreign(error)
            blocks += [f"## {name}", f"[this sheet cannot be read ({type(error).__name__})]"]
            continue
        blocks += _sheet(name, rows, start, area, comments.get(name, []))
    return {"sheets": names, "sheets_returned": chosen}, [markdown.encode("\n\n".join(blocks) + "\n" if blocks else "")]


def _unreadable(reason: str) -> Unreadable:
    return Unreadable("", kind=KIND, reason=reason)


# --- the selection ----------------------------------------------------------------------------------------------------


def _choice(names: list[str], params: Mapping[str, Any]) -> tuple[list[str], tuple[int, int, int, int]]:
    """Return the selected sheets, and the area of each: first row, first column, last row, last column, from 0."""
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
            raise _unreadable(f"it has no sheet {str(sheet)[:100]!r}; its sheets are {', '.join(names)[:300]}")
    elif area:
        chosen = names[:1]
    return chosen, _area(area)


def _area(text: Any) -> tuple[int, int, int, int]:
    if not text:
        return 0, 0, MAX_ROWS - 1, MAX_COLUMNS - 1
    found = _AREA.fullmatch(str(text).strip())
    if found is None or not any(found.groups()):
        raise _unreadable(f"{str(text)[:100]!r} is not a range; examples are A1:D20, C:E and 5:9")
    left, top, right, bottom = found.groups()
    if ":" not in str(text):
        right, bottom = left, top
    first_row, last_row = int(top or 1) - 1, int(bottom or MAX_ROWS) - 1
    first_column, last_column = _column_number(left or "A"), _column_number(right or "XFD")
    rows, columns = sorted((first_row, last_row)), sorted((first_column, last_column))
    return max(0, rows[0]), columns[0], rows[1], columns[1]


def _column_number(letters: str) -> int:
    """Return the number of a column from 0."""
    number = 0
    for letter in letters.upper():
        number = number * 26 + ord(letter) - 64
    return number - 1


def _column_letters(number: int) -> str:
    letters = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(65 + rest) + letters
    return letters


# --- the output -------------------------------------------------------------------------------------------------------


def _sheet(
    name: str, rows: list[list[Any]], start: tuple[int, int], area: tuple[int, int, int, int], comments: list[str]
) -> list[str]:
    top, left, bottom, right = area
    row_at, column_at = start
    width = max(map(len, rows), default=0)
    first_row, last_row = max(top, row_at), min(bottom, row_at + len(rows) - 1)
    first_column, last_column = max(left, column_at), min(right, column_at + width - 1)
    if first_row > last_row or first_column > last_column:
        return [f"## {name}", "[no cells]", *comments]
    shown = f"{_column_letters(first_column)}{first_row + 1}:{_column_letters(last_column)}{last_row + 1}"
    columns = slice(first_column - column_at, last_column - column_at + 1)
    letters = [_column_letters(column) for column in range(first_column, last_column + 1)]
    lines = [f"|   | {' | '.join(letters)} |", "|---|" + " --- |" * len(letters)]
    for number, row in enumerate(rows[first_row - row_at : last_row - row_at + 1], first_row + 1):
        cells = [
            repr(value).removesuffix(".0") if type(value) is float else _cell(value) for value in row[columns]
        ]  # floats inline: most cells of large sheets are numbers, and a call for each takes longer
        if any(cells):
            lines.append(f"| {number} | {' | '.join(cells)} |")
    return [f"## {name} ({shown})", "\n".join(lines), *comments]


def _date(value: datetime.datetime) -> str:
    whole = (value.hour, value.minute, value.second, value.microsecond) == (0, 0, 0, 0)
    return value.date().isoformat() if whole else value.isoformat(" ")


_SHOWN: dict[type, Callable[[Any], str]] = {
    str: markdown.cell,
    bool: lambda value: "TRUE" if value else "FALSE",
    int: str,
    datetime.datetime: _date,
}


def _cell(value: Any) -> str:
    show = _SHOWN.get(type(value))
    return markdown.cell(str(value)) if show is None else show(value)


# --- checks and notes, which calamine does not have -------------------------------------------------------------------


def _reraise_foreign(error: BaseException) -> None:
    """Raise an error that the file did not cause. A panic of the library is no `Exception`, but the file caused it."""
    if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
        raise error
    if isinstance(error, MemoryError):
        raise error


def _package(data: bytes) -> Package | None:
    """Return the zip package, with sizes checked before calamine unpacks it; None for other formats.

    Raises: Unreadable.
    """
    if not data.startswith(b"PK"):
        return None
    package = Package(io.BytesIO(data), KIND)
    package.check_all()
    for part in package.names("xl/worksheets/"):
        if part.endswith(".xml"):
            _check_extent(package.read(part))
    return package


def _check_extent(xml: bytes) -> None:
    """Refuse a sheet whose cells span a rectangle that is too large to be held. Raises: Unreadable."""
    last = _FAR_CELL.match(xml, xml.rfind(b' r="'))
    rows = max(int(last[2]) if last else 1, xml.count(b"<row"))
    wide, wider = re.search(rb' r="[A-Z]{2,3}\d', xml), re.search(rb' r="[A-Z]{3}\d', xml)
    if rows * (MAX_COLUMNS if wider else 702 if wide else 26) <= MAX_CELLS:
        return  # an upper bound, because examining every cell takes longer than reading it
    columns = 1
    for letters, digits in set(_FAR_CELL.findall(xml)):
        rows, columns = max(rows, int(digits)), max(columns, _column_number(letters.decode()) + 1)
    if rows * columns > MAX_CELLS:
        raise _unreadable(f"a sheet spans {rows} rows and {columns} columns, the limit is {MAX_CELLS} cells")


def _comments(package: Package) -> dict[str, list[str]]:
    """Return the notes on cells by sheet, as blocks."""
    book = next((target for kind, target in package.relations("").values() if kind == "officeDocument"), "")
    if not book.endswith(".xml") or book not in package or not package.names("xl/comments"):
        return {}
    relations = package.relations(book)
    found = {}
    for element in package.parse(book).iter():
        if NAMES[element.tag] != "x:sheet":
            continue
        _, part = relations.get(attributes(element).get("r:id", ""), ("", ""))
        for kind, target in package.relations(part).values() if part else ():
            if kind == "comments" and target in package:
                lines = _comment_lines(package.parse(target))
                if lines:
                    found[element.get("name", "")] = ["Comments:", "\n".join(lines)]
    return found


def _comment_lines(root: Element) -> list[str]:
    """Return the notes on the cells of a sheet as items of a list."""
    authors: list[str] = []
    lines: list[str] = []
    for element in root.iter():
        name = NAMES[element.tag]
        if name == "x:author":
            authors.append(" ".join(text_of(element).split()))
        elif name == "x:comment":
            cell, number = element.get("ref", ""), element.get("authorId", "")
            author = authors[int(number)] if number.isdecimal() and int(number) < len(authors) else ""
            text = " ".join("".join([text_of(run) for run in element.iter() if NAMES[run.tag] == "x:t"]).split())
            lines.append(f"- {cell} ({author}): {text}" if author else f"- {cell}: {text}")
    return lines
