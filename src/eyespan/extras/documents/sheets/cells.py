"""Cells of spreadsheets: names of rows, columns and areas, copied formulas, and what a sheet has beside values.

Each format of spreadsheets has a module that fills `Extras`; `sheet` writes the answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from eyespan.escape import joined_spans

Area = tuple[int, int, int, int]
"""First row, first column, last row, last column, from 0."""

ERRORS = {
    0x00: "#NULL!",
    0x07: "#DIV/0!",
    0x0F: "#VALUE!",
    0x17: "#REF!",
    0x1D: "#NAME?",
    0x24: "#NUM!",
    0x2A: "#N/A",
    0x2B: "#GETTING_DATA",
}
"""The codes of errors in binary workbooks."""
MAX_ROWS, MAX_COLUMNS = 1_048_576, 16_384
MAX_CELLS = 4_000_000
"""The limit for the rectangle around all cells of a sheet, which is held in memory, empty cells included."""
MAX_LISTED = 200
"""The areas of one list, such as merged cells, that are named. The rest is counted."""
_AREA = re.compile(r"\$?([A-Za-z]{1,3})?\$?(\d{1,7})?(?::\$?([A-Za-z]{1,3})?\$?(\d{1,7})?)?")


class Extras:
    """What a sheet has beside the values of its cells. Places are (row, column) from 0."""

    def __init__(self) -> None:
        self.texts: dict[tuple[int, int], str] = {}
        """Errors, and values that are not shown as the library returns them."""
        self.formats: dict[tuple[int, int], str] = {}
        """Codes of number formats that change the meaning of a number."""
        self.formulas: dict[tuple[int, int], str] = {}
        """Formulas without the equals sign."""
        self.empty_texts: set[tuple[int, int]] = set()
        """Formulas whose value is a text without characters."""
        self.hidden_rows: list[tuple[int, int]] = []
        self.hidden_columns: list[tuple[int, int]] = []
        self.merged: list[str] = []
        self.is_hidden = False
        self.notes: list[str] = []
        """Lines in brackets before the table."""
        self.blocks: list[str] = []
        """Blocks after the table: comments, links, charts, images."""

    def places(self) -> Iterable[tuple[int, int]]:
        """Yield the places of cells that are shown even if the library returns no value for them."""
        yield from self.texts
        yield from self.formulas

    def header_lines(self) -> list[str]:
        """Return the lines about hidden and merged cells."""
        lines = list(self.notes)
        hidden = []
        if self.hidden_rows:
            hidden.append("rows " + listed([_rows_name(*rows) for rows in joined_spans(self.hidden_rows)]))
        if self.hidden_columns:
            hidden.append(
                "columns " + listed([_columns_name(*columns) for columns in joined_spans(self.hidden_columns)])
            )
        if hidden:
            lines.append(f"[hidden: {'; '.join(hidden)}]")
        if self.merged:
            lines.append(f"[merged: {listed(self.merged)}]")
        return lines


def listed(names: list[str]) -> str:
    """Return names in a row; those after `MAX_LISTED` are counted."""
    more = len(names) - MAX_LISTED
    return ", ".join(names[:MAX_LISTED]) + (f" and {more} more" if more > 0 else "")


_HEADER_CODE = re.compile(r'&(?:"[^"]*"|K[0-9A-Fa-f]{6}|K\d\d[+-]\d{3}|\d+|[A-Za-z&])')


def margin_line(text: str, noun: str) -> str:
    """Return a header or footer of the printed sheet without its codes; "" if it has hardly more than page numbers."""
    has_page = "&P" in text
    text = " ".join(_HEADER_CODE.sub(lambda code: "&" if code[0] == "&&" else " ", text).split())
    return f"[{noun}: {text}]" if text and not (has_page and len(text.split()) < 3) else ""


# --- names -----------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def column_number(letters: str) -> int:
    """Return the number of a column from 0."""
    number = 0
    for letter in letters.upper():
        number = number * 26 + ord(letter) - 64
    return number - 1


@lru_cache(maxsize=4096)
def column_letters(number: int) -> str:
    """Return the letters of a column that is counted from 0."""
    letters = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(65 + rest) + letters
    return letters


def cell_name(row: int, column: int) -> str:
    """Return the name of a cell: (0, 0) is A1."""
    return f"{column_letters(column)}{row + 1}"


def area_name(first_row: int, first_column: int, last_row: int, last_column: int) -> str:
    """Return the name of an area: A1:C3."""
    return f"{cell_name(first_row, first_column)}:{cell_name(last_row, last_column)}"


def _rows_name(first: int, last: int) -> str:
    return str(first + 1) if first == last else f"{first + 1}-{last + 1}"


def _columns_name(first: int, last: int) -> str:
    return column_letters(first) if first == last else f"{column_letters(first)}-{column_letters(last)}"


def area_of(text: str) -> Area | None:
    """Return the area that a name such as B2:D20, C:E or 5:9 stands for; None if it is no such name."""
    match = _AREA.fullmatch(text.strip())
    if match is None or not any(match.groups()):
        return None
    left, top, right, bottom = match.groups()
    if ":" not in text:
        right, bottom = left, top
    rows = sorted((int(top or 1) - 1, int(bottom or MAX_ROWS) - 1))
    columns = sorted((column_number(left or "A"), column_number(right or "XFD")))
    return max(0, rows[0]), columns[0], rows[1], columns[1]


def place_of(reference: str) -> tuple[int, int] | None:
    """Return the row and the column of a cell's name; None if it is no such name."""
    match = _CELL.fullmatch(reference)
    return (int(match[2]) - 1, column_number(match[1])) if match and match[2] != "0" else None


_CELL = re.compile(r"\$?([A-Za-z]{1,3})\$?(\d{1,7})")


# --- copied formulas -------------------------------------------------------------------------------------------------

_REFERENCE = re.compile(
    r'"(?:[^"]|"")*"'  # a text
    r"|'(?:[^']|'')*'"  # the name of a sheet
    r"|\[(?:[^\[\]]|\[[^\]]*\])*\]"  # columns of a table, or the number of another file
    r"|(?<![\w.$])(\$?)([A-Za-z]{1,3})(\$?)([0-9]{1,7})(?![\w(!.\[])"  # 1-4: a cell
    r"|(?<![\w.$])(\$?)([A-Za-z]{1,3}):(\$?)([A-Za-z]{1,3})(?![\w(!.$])"  # 5-8: columns
    r"|(?<![\w.$])(\$?)([0-9]{1,7}):(\$?)([0-9]{1,7})(?![\w(!.$])"  # 9-12: rows
)


def moved(formula: str, rows: int, columns: int) -> str:
    """Return a formula as it is copied to a cell so many rows down and columns to the right."""
    pieces = []
    for piece in _pieces(formula):
        if isinstance(piece, str):
            pieces.append(piece)
        else:
            pieces.append(_moved_reference(piece, rows, columns))
    return "".join(pieces)


@lru_cache(maxsize=64)
def _pieces(formula: str) -> list[str | tuple[tuple[int, str], ...]]:
    """Return a formula as texts and references. One formula is copied to many cells.

    A reference is a row of texts, each with what moves it: nothing (0), the columns (1) or the rows (2).
    """
    made: list[str | tuple[tuple[int, str], ...]] = []
    at = 0
    for match in _REFERENCE.finditer(formula):
        if match.lastindex is None:
            continue
        made.append(formula[at : match.start()])
        at = match.end()
        fixed, first, other_fixed, second = [group for group in match.groups() if group is not None]
        kinds = (1, 2) if match[4] else (1, 1) if match[6] else (2, 2)
        start, middle = (0, fixed), (0, other_fixed if match[4] else ":" + other_fixed)
        made.append((start, (0 if fixed else kinds[0], first), middle, (0 if other_fixed else kinds[1], second)))
    made.append(formula[at:])
    return made


def _moved_reference(reference: tuple[tuple[int, str], ...], rows: int, columns: int) -> str:
    pieces = []
    for kind, text in reference:
        if kind == 1:
            number = column_number(text) + columns
            if not 0 <= number < MAX_COLUMNS:
                return "#REF!"
            text = column_letters(number)
        elif kind == 2:
            number = int(text) + rows
            if not 0 < number <= MAX_ROWS:
                return "#REF!"
            text = str(number)
        pieces.append(text)
    return "".join(pieces)
