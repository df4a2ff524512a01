"""Workbooks of Excel 2 to 2003 (xls), read by xlrd: values, errors, formats, formulas, hidden and merged cells, and
comments.

Charts, images and defined names of functions are left out.
"""

from __future__ import annotations

import datetime
import io
import re
import struct
from typing import TYPE_CHECKING, Any

from eyespan.decoders import cells, number_formats
from eyespan.errors import Missing, Unreadable

try:
    import xlrd
    from xlrd import formula as xlrd_formula
except ImportError:  # reported by `Book`
    xlrd = None

if TYPE_CHECKING:
    from collections.abc import Iterator

KIND = "sheet"
MAX_CELLS = 4_000_000
_FORMULA, _SHARED, _ARRAY, _TABLE, _STRING, _END = 0x06, 0x04BC, 0x0221, 0x0236, 0x0207, 0x0A
_START_OF_SHEET = (0x0809, 0x0409, 0x0209, 0x09)
_MAX_FORMULA_CHARS = 8192
_TIDY = re.compile(r'"[^"]*"|(?<![\w.])(\d+)\.0(?![\d.])|(\$?[A-Z]{1,3}\$?\d+):\2(?![\w])')
"""Parts of a formula that the library writes longer than they are: 1.0 for 1, A1:A1 for A1."""
_EPOCHS = (datetime.datetime(1899, 12, 30), datetime.datetime(1904, 1, 1))


def _unreadable(reason: str) -> Unreadable:
    return Unreadable("", kind=KIND, reason=reason)


class Book:
    """A workbook and its sheets."""

    def __init__(self, data: bytes) -> None:
        """Read the workbook. Raises: Missing, Unreadable."""
        if xlrd is None:
            raise Missing("", what="reading xls spreadsheets", install="pip install 'eyespan[docs]'")
        self._book = self._open(data)
        self.sheet_names: list[str] = list(self._book.sheet_names())
        self.names = self._defined_names()

    @staticmethod
    def _open(data: bytes) -> Any:
        """Open the workbook with formats, or without them if they are damaged. Raises: Unreadable."""
        failure = ""
        for has_formats in (True, False):
            try:
                return xlrd.open_workbook(
                    file_contents=data,
                    logfile=io.StringIO(),
                    formatting_info=has_formats,
                    on_demand=True,
                    ragged_rows=True,
                    ignore_workbook_corruption=True,
                )
            except MemoryError:
                raise
            except Exception as error:  # of any class: the library does not check what it reads
                failure = failure or str(error)
        if "encrypt" in failure.lower():
            raise _unreadable("it is encrypted; its password is needed to read it")
        raise _unreadable("not a spreadsheet, or a corrupt one")

    def _defined_names(self) -> list[str]:
        lines = []
        for name in self._book.name_obj_list:
            if name.builtin or name.hidden or name.macro or not name.result:
                continue
            text = name.result.text
            if text and not name.any_err:
                lines.append(f"- {name.name} = {text}")
        return lines

    def sheet(self, name: str) -> tuple[list[list[Any]], tuple[int, int], cells.Extras]:
        """Return the values of a sheet, the place of the first of them, and what the sheet has beside them.

        Raises: Unreadable.
        """
        number = self.sheet_names.index(name)
        try:
            sheet = self._book.sheet_by_index(number)
        except MemoryError:
            raise
        except Exception:  # as above
            raise _unreadable("this sheet is corrupt") from None
        if sheet.nrows * sheet.ncols > MAX_CELLS:
            reason = f"a sheet spans {sheet.nrows} rows and {sheet.ncols} columns, the limit is {MAX_CELLS} cells"
            raise _unreadable(reason)
        extras = cells.Extras()
        extras.is_hidden = sheet.visibility != 0
        rows = [self._row(sheet, row, extras) for row in range(sheet.nrows)]
        self._add_formulas(sheet, number, extras)
        _add_layout(sheet, extras)
        self._book.unload_sheet(number)
        first_row = next((at for at, row in enumerate(rows) if any(value != "" for value in row)), len(rows))
        rows = rows[first_row:]
        first_column = min(
            [next((at for at, value in enumerate(row) if value != ""), len(row)) for row in rows if row], default=0
        )
        return [row[first_column:] for row in rows], (first_row, first_column), extras

    def _row(self, sheet: Any, row: int, extras: cells.Extras) -> list[Any]:
        values: list[Any] = []
        has_formats = self._book.formatting_info
        for column, (kind, value) in enumerate(zip(sheet.row_types(row), sheet.row_values(row), strict=True)):
            if kind == xlrd.XL_CELL_NUMBER and has_formats:
                code = self._format_code(sheet, row, column)
                if code and number_formats.has_meaning(code):
                    extras.formats[row, column] = code
            elif kind == xlrd.XL_CELL_DATE:
                value = self._date(value, self._format_code(sheet, row, column) if has_formats else "")
            elif kind == xlrd.XL_CELL_BOOLEAN:
                value = bool(value)
            elif kind == xlrd.XL_CELL_ERROR:
                extras.texts[row, column] = xlrd.error_text_from_code.get(value, "#ERROR")
                value = ""
            values.append(value)
        return values

    def _format_code(self, sheet: Any, row: int, column: int) -> str:
        try:
            style = self._book.xf_list[sheet.cell_xf_index(row, column)]
            return str(self._book.format_map[style.format_key].format_str)
        except (KeyError, IndexError):
            return ""

    def _date(self, value: float, code: str) -> Any:
        meaning = number_formats.meaning(code) if code else "datetime"
        if meaning == "elapsed":
            return elapsed(value)
        try:
            moment = _EPOCHS[self._book.datemode] + datetime.timedelta(milliseconds=round(value * 86_400_000))
        except (OverflowError, ValueError):
            return value
        return moment.time() if meaning == "time" and 0 <= value < 1 else moment

    # --- formulas ----------------------------------------------------------------------------------------------------

    def _add_formulas(self, sheet: Any, number: int, extras: cells.Extras) -> None:
        """Add the formulas, which the library skips, from the records of the sheet. One that is damaged is left out."""
        book = self._book
        if book.biff_version < 80:
            count = sum(code == _FORMULA for code, _ in self._records(number))
            if count:
                extras.notes.append(f"[{count} formulas are left out: those of this version of Excel are not decoded]")
            return
        shared: dict[tuple[int, int], bytes] = {}
        copies: list[tuple[int, int, tuple[int, int]]] = []
        failed = 0
        last = (0, 0)
        charts = 0
        for code, data in self._records(number):
            charts += code in _START_OF_SHEET
            if code in (_SHARED, _ARRAY):
                start = 8 if code == _SHARED else 12
                shared[struct.unpack_from("<H", data)[0], data[4]] = data[start:]
                if code == _ARRAY:
                    copies = [copy for copy in copies if copy[:2] != last]
                    failed += not self._add_formula(extras, last, data[start:])
                continue
            if len(data) < 22:
                continue
            last = struct.unpack_from("<HH", data)
            if data[22:23] == b"\x01" and len(data) >= 27:  # a reference to a shared formula
                copies.append((*last, struct.unpack_from("<HH", data, 23)))
            else:
                failed += not self._add_formula(extras, last, data[20:])
        for row, column, master in copies:
            tokens = shared.get(master)
            is_shared = xlrd_formula.FMLA_TYPE_SHARED
            failed += tokens is not None and not self._add_formula(extras, (row, column), tokens, is_shared)
        if charts:
            extras.notes.append(f"[{charts} charts are left out: charts of xls files are not read]")
        if failed:
            extras.notes.append(f"[{failed} formulas cannot be shown]")

    def _records(self, number: int) -> Iterator[tuple[int, bytes]]:
        """Yield the records of formulas of a sheet, and the first record of each chart in it."""
        memory, end = self._book.mem, self._book.base + self._book.stream_len
        if memory is None:  # the library has read all sheets of an old version at once
            return
        at = self._book._sh_abs_posn[number]
        depth = 0
        while at + 4 <= end:
            code, size = struct.unpack_from("<HH", memory, at)
            if code in _START_OF_SHEET:
                depth += 1
                if depth == 2:
                    yield code, b""
            elif code == _END:
                depth -= 1
                if depth <= 0:
                    return
            elif depth == 1 and code in (_FORMULA, _SHARED, _ARRAY) and size >= 10:
                yield code, bytes(memory[at + 4 : at + 4 + size])
            at += 4 + size

    def _add_formula(self, extras: cells.Extras, place: tuple[int, int], data: bytes, kind: int | None = None) -> bool:
        """Add the formula whose size and tokens these are; return False if it cannot be written as text."""
        kind = xlrd_formula.FMLA_TYPE_CELL if kind is None else kind
        size = int.from_bytes(data[:2], "little")
        try:
            text = xlrd_formula.decompile_formula(
                self._book, data[2:], size, kind, browx=place[0], bcolx=place[1], blah=0
            )
        except MemoryError:
            raise
        except Exception:  # as above
            return False
        if not text or len(text) > _MAX_FORMULA_CHARS or "unknown" in text.lower():
            return False
        extras.formulas[place] = _TIDY.sub(lambda found: found[1] or found[2] or found[0], text.removeprefix("="))
        return True


def elapsed(days: float) -> str:
    """Return a duration as hours, minutes and seconds."""
    seconds = round(abs(days) * 86_400)
    return f"{'-' if days < 0 else ''}{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def _add_layout(sheet: Any, extras: cells.Extras) -> None:
    extras.hidden_rows = [(row, row) for row, facts in sheet.rowinfo_map.items() if facts.hidden]
    extras.hidden_columns = [(column, column) for column, facts in sheet.colinfo_map.items() if facts.hidden]
    for first_row, after_row, first_column, after_column in sheet.merged_cells:
        extras.merged.append(cells.area_name(first_row, first_column, after_row - 1, after_column - 1))
    lines = []
    for (row, column), note in sorted(sheet.cell_note_map.items()):
        author = " ".join((note.author or "").split())
        text = " ".join((note.text or "").split())
        lines.append(f"- {cells.cell_name(row, column)}" + (f" ({author}): {text}" if author else f": {text}"))
    if lines:
        extras.blocks += ["Comments:", "\n".join(lines)]
    links = []
    for link in sheet.hyperlink_list[:1000]:
        target = link.url_or_path
        target = target.decode("utf-8", "replace") if isinstance(target, bytes) else target or ""
        if link.textmark:
            target += f"#{link.textmark}"
        links.append(f"- {cells.cell_name(link.frowx, link.fcolx)}: {target}")
    if links:
        extras.blocks += ["Links:", "\n".join(links)]
