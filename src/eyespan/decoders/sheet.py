"""Spreadsheets (xlsx, xlsb, xls, ods): each sheet as a table, columns with their letters and rows with their numbers.

Values, not formulas. `params["sheet"]` picks a sheet by name or number, `params["range"]` an area ("B2:D20",
"Sheet1!A1", "C:E", "5:9"). Cells come from calamine; the notes on cells of xlsx files are read from the package itself.
"""

from __future__ import annotations

import datetime
import io
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from eyespan.decoders import markdown
from eyespan.decoders.ooxml import Package
from eyespan.errors import Missing, Unreadable

try:
    import python_calamine as calamine
except ImportError:  # told by `decode`
    calamine = None  # type: ignore[assignment]  # there is no such module then

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import BinaryIO

KIND = "sheet"
MAX_FILE_BYTES = 64 * 1024 * 1024
MAX_CELLS = 4_000_000
"""Of the rectangle around all cells of a sheet: so much is held for it, whether there is anything in it or not."""
MAX_ROWS, MAX_COLUMNS = 1_048_576, 16_384
_AREA = re.compile(r"\$?([A-Za-z]{1,3})?\$?(\d{1,7})?(?::\$?([A-Za-z]{1,3})?\$?(\d{1,7})?)?")
_FAR_CELL = re.compile(rb' r="([A-Z]{1,3})(\d{1,7})"')


def decode(file: BinaryIO, params: Mapping[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    """The sheets asked for as Markdown tables.

    Raises: Missing, Unreadable.
    """
    if calamine is None:
        raise Missing("", what="reading spreadsheets", install="pip install 'eyespan[docs]'")
    data = file.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        raise _unreadable(f"it has more than {MAX_FILE_BYTES} bytes")
    package = _package(data)
    try:
        book = calamine.CalamineWorkbook.from_filelike(io.BytesIO(data))
        names = list(book.sheet_names)
    except calamine.PasswordError:
        raise _unreadable("it is protected by a password") from None
    except BaseException as error:
        _let_pass(error)
        raise _unreadable(f"it is damaged, or no spreadsheet ({type(error).__name__})") from None
    chosen, area = _choice(names, params)
    comments = _comments(package) if package is not None else {}
    blocks: list[str] = []
    for name in chosen:
        try:
            sheet = book.get_sheet_by_name(name)
            start = sheet.start or (0, 0)
            # What lies above and left of the first value is skipped here (`iter_rows` skips only what is left of it).
            rows = sheet.to_python(nrows=max(1, area[2] - start[0] + 1)) if sheet.start else []
        except BaseException as error:
            _let_pass(error)
            blocks += [f"## {name}", f"[this sheet cannot be read ({type(error).__name__})]"]
            continue
        blocks += _sheet(name, rows, start, area, comments.get(name, []))
    return {"sheets": names, "sheets_returned": chosen}, [markdown.encode("\n\n".join(blocks) + "\n" if blocks else "")]


def _unreadable(reason: str) -> Unreadable:
    return Unreadable("", kind=KIND, reason=reason)


# --- what is asked ----------------------------------------------------------------------------------------------------


def _choice(names: list[str], params: Mapping[str, Any]) -> tuple[list[str], tuple[int, int, int, int]]:
    """The sheets to show and the area of each: first row, first column, last row, last column, from 0."""
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
            raise _unreadable(f"it has no sheet {str(sheet)[:100]!r}; there are {', '.join(names)[:300]}")
    elif area:
        chosen = names[:1]
    return chosen, _area(area)


def _area(text: Any) -> tuple[int, int, int, int]:
    if not text:
        return 0, 0, MAX_ROWS - 1, MAX_COLUMNS - 1
    found = _AREA.fullmatch(str(text).strip())
    if found is None or not any(found.groups()):
        raise _unreadable(f"{str(text)[:100]!r} is no range; use one such as A1:D20, C:E or 5:9")
    left, top, right, bottom = found.groups()
    if ":" not in str(text):
        right, bottom = left, top
    first_row, last_row = int(top or 1) - 1, int(bottom or MAX_ROWS) - 1
    first_column, last_column = _number(left or "A"), _number(right or "XFD")
    rows, columns = sorted((first_row, last_row)), sorted((first_column, last_column))
    return max(0, rows[0]), columns[0], rows[1], columns[1]


def _number(letters: str) -> int:
    """The number of a column from 0."""
    number = 0
    for letter in letters.upper():
        number = number * 26 + ord(letter) - 64
    return number - 1


def _letters(number: int) -> str:
    letters = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(65 + rest) + letters
    return letters


# --- what is shown ----------------------------------------------------------------------------------------------------


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
    shown = f"{_letters(first_column)}{first_row + 1}:{_letters(last_column)}{last_row + 1}"
    columns = slice(first_column - column_at, last_column - column_at + 1)
    letters = [_letters(column) for column in range(first_column, last_column + 1)]
    lines = [f"|   | {' | '.join(letters)} |", "|---|" + " --- |" * len(letters)]
    for number, row in enumerate(rows[first_row - row_at : last_row - row_at + 1], first_row + 1):
        cells = [
            repr(value).removesuffix(".0") if type(value) is float else _cell(value) for value in row[columns]
        ]  # floats by themselves: most cells of large sheets are numbers
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


# --- what calamine does not look at -----------------------------------------------------------------------------------


def _let_pass(error: BaseException) -> None:
    """Raises what is not the file's fault. A panic of the library, which is no `Exception`, is."""
    if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
        raise error
    if isinstance(error, MemoryError):
        raise error


def _package(data: bytes) -> Package | None:
    """The zip package, measured before calamine unpacks it; None for a format that is none.

    Raises: Unreadable.
    """
    if not data.startswith(b"PK"):
        return None
    package = Package(io.BytesIO(data), KIND)
    package.check_whole()
    for part in package.names("xl/worksheets/"):
        if part.endswith(".xml"):
            _check_extent(package.read(part))
    return package


def _check_extent(xml: bytes) -> None:
    """Raises: Unreadable, if two cells lie so far apart that the rectangle between them cannot be held."""
    last = _FAR_CELL.match(xml, xml.rfind(b' r="'))
    rows = max(int(last[2]) if last else 1, xml.count(b"<row"))
    wide, wider = re.search(rb' r="[A-Z]{2,3}\d', xml), re.search(rb' r="[A-Z]{3}\d', xml)
    if rows * (MAX_COLUMNS if wider else 702 if wide else 26) <= MAX_CELLS:
        return  # so many at most, however the cells are spread; looking at each takes longer than reading them
    columns = 1
    for letters, digits in set(_FAR_CELL.findall(xml)):
        rows, columns = max(rows, int(digits)), max(columns, _number(letters.decode()) + 1)
    if rows * columns > MAX_CELLS:
        raise _unreadable(f"a sheet spans {rows} rows and {columns} columns, the limit is {MAX_CELLS} cells")


def _comments(package: Package) -> dict[str, list[str]]:
    """The notes on cells by sheet, as lines of a list."""
    book = next((target for kind, target in package.relations("").values() if kind == "officeDocument"), "")
    if not book.endswith(".xml") or book not in package or not package.names("xl/comments"):
        return {}
    relations = package.relations(book)
    sheets: dict[str, str] = {}

    def start(tag: str, attributes: dict[str, str]) -> None:
        if tag == "x:sheet" and attributes.get("r:id") in relations:
            sheets[attributes.get("name", "")] = relations[attributes["r:id"]][1]

    package.parse(book, start)
    found = {}
    for name, part in sheets.items():
        for kind, target in package.relations(part).values():
            if kind == "comments" and target in package:
                lines = _comment_lines(package, target)
                if lines:
                    found[name] = ["Comments:", "\n".join(lines)]
    return found


def _comment_lines(package: Package, part: str) -> list[str]:
    authors: list[str] = []
    lines: list[str] = []
    pieces: list[str] = []
    where = author = inside = ""

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal where, author, inside
        inside = tag
        if tag == "x:comment":
            where, number = attributes.get("ref", ""), attributes.get("authorId", "")
            author = authors[int(number)] if number.isdecimal() and int(number) < len(authors) else ""
        elif tag == "x:author":
            pieces.clear()

    def end(tag: str) -> None:
        nonlocal inside
        inside = ""
        if tag == "x:author":
            authors.append(" ".join("".join(pieces).split()))
            pieces.clear()
        elif tag == "x:comment":
            text = " ".join("".join(pieces).split())
            lines.append(f"- {where} ({author}): {text}" if author else f"- {where}: {text}")
            pieces.clear()

    def text(data: str) -> None:
        if inside in ("x:t", "x:author"):
            pieces.append(data)

    package.parse(part, start, end, text)
    return lines
