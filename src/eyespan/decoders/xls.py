"""Workbooks of Excel 2 to 2003 (xls). The module `biff` reads those of Excel 97 and later, xlrd the older ones.

Images and defined names of functions are left out; of older workbooks also formulas and charts.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from typing import Any

from eyespan.decoders import biff, cells, number_formats
from eyespan.errors import Missing, Unreadable

try:
    import xlrd
    import xlrd.compdoc
except ImportError:  # reported by `Book`
    xlrd = None


KIND = "sheet"
MAX_CELLS = 4_000_000
_END = 0x0A
_FORMULA = 0x06
_START, _STARTS = 0x0809, (0x0809, 0x0409, 0x0209, 0x09)
_WORKBOOK = "workbook\0".encode("utf-16-le")
_END_OF_CHAIN, _DAMAGED = 0xFFFFFFFE, 0xFFFFFFFF


def _unreadable(reason: str) -> Unreadable:
    return Unreadable("", kind=KIND, reason=reason)


def _newer_book(data: bytes) -> biff.Workbook | None:
    """Return a workbook of Excel 97 or later; None if it is an older one, or its container is damaged.

    Raises: Unreadable.
    """
    try:
        stream = _stream(data) if data.startswith(xlrd.compdoc.SIGNATURE) else data
        book = biff.Workbook(stream)
        book.sheets = [sheet for sheet in book.sheets if sheet[3] in biff.SHOWN_KINDS]
    except biff.Encrypted:
        raise _unreadable("it is encrypted; its password is needed to read it") from None
    except MemoryError:
        raise
    except Exception:  # of any class: the library does not check what it reads
        return None
    return book if book.sheets else None


def _stream(data: bytes) -> bytes:
    """Return the stream of the workbook in its container. Raises: errors of any class."""
    found = _plain_stream(data)
    if found is not None:
        return found
    container = xlrd.compdoc.CompDoc(data, logfile=io.StringIO(), ignore_workbook_corruption=True)
    for name in ("Workbook", "Book"):
        memory, start, size = container.locate_named_stream(name)
        if memory:
            return bytes(memory[start : start + size])
    raise ValueError


def _plain_stream(data: bytes) -> bytes | None:
    """Return the stream of a workbook from a sound container of usual form; None for any other.

    The library checks the use of each sector, which takes longer than reading a small workbook.
    """
    if len(data) < 512 or data[0x1E] != 9:
        return None
    fat_count, directory = struct.unpack_from("<II", data, 0x2C)
    if not 0 < fat_count <= 109:
        return None
    fat: list[int] = []
    for sector in struct.unpack_from(f"<{fat_count}I", data, 0x4C):
        fat += struct.unpack_from("<128I", data, 512 + 512 * sector)
    directory_data = _chain(data, fat, directory)
    entries = [directory_data[at : at + 128] for at in range(0, len(directory_data), 128)]
    found = [entry for entry in entries if entry[:18].lower() == _WORKBOOK]
    if len(found) != 1:  # others are embedded workbooks
        return None
    start, size = struct.unpack_from("<II", found[0], 0x74)
    stream = _chain(data, fat, start) if size >= 4096 else b""
    return stream[:size] if 0 < size <= len(stream) else None


def _chain(data: bytes, fat: list[int], sector: int) -> bytes:
    """Return the contents of a chain of sectors; b"" if it is damaged."""
    pieces: list[bytes] = []
    count = 0
    while sector < len(fat):
        start = sector
        while sector < len(fat) and fat[sector] == sector + 1:
            sector += 1
        pieces.append(data[512 + 512 * start : 1024 + 512 * sector])
        count += sector - start + 1
        if count > len(fat):
            return b""
        sector = fat[sector] if sector < len(fat) else _DAMAGED
    return b"".join(pieces) if sector == _END_OF_CHAIN else b""


def _newer_sheet(book: biff.Workbook, number: int) -> tuple[list[list[Any]], tuple[int, int], cells.Extras]:
    """Return the values of a sheet, the place of the first of them, and the rest. Raises: Unreadable."""
    try:
        sheet = book.sheet(number)
    except biff.Corrupt:
        raise _unreadable("this sheet is corrupt") from None
    except biff.TooLarge:
        raise _unreadable(f"its cells are too far apart, the limit is {MAX_CELLS} cells") from None
    for values in sheet.rows.values():
        while values and values[-1] == "":
            values.pop()
    rows = {row: values for row, values in sheet.rows.items() if values}
    if not rows:
        return [], (0, 0), sheet.extras
    first_row, last_row = min(rows), max(rows)
    first_column = min([next(at for at, value in enumerate(row) if value != "") for row in rows.values()])
    width = max(map(len, rows.values())) - first_column
    if (last_row - first_row + 1) * width > MAX_CELLS:
        raise _unreadable(f"its cells are too far apart, the limit is {MAX_CELLS} cells")
    table = [rows.get(row, [])[first_column:] for row in range(first_row, last_row + 1)]
    return table, (first_row, first_column), sheet.extras


class Book:
    """A workbook and its sheets."""

    def __init__(self, data: bytes) -> None:
        """Read the workbook. Raises: Missing, Unreadable."""
        if xlrd is None:
            raise Missing("", what="reading xls spreadsheets", install="pip install 'eyespan[docs]'")
        self._newer = _newer_book(data)
        if self._newer is not None:
            self.sheet_names: list[str] = [name for name, *_ in self._newer.sheets]
            self.names = self._newer.names
            return
        self._book = self._open(data)
        self.sheet_names = list(self._book.sheet_names())
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
        if self._newer is not None:
            return _newer_sheet(self._newer, number)
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
        self._add_left_out(number, extras)
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
        return biff.moment(value, number_formats.meaning(code) if code else "datetime", self._book.datemode == 1)

    def _add_left_out(self, number: int, extras: cells.Extras) -> None:
        """Add a note about formulas and charts, which the library skips."""
        counts = {_FORMULA: 0, _START: 0}
        for code in self._records(number):
            counts[code] += 1
        for code, noun in ((_FORMULA, "formulas"), (_START, "charts")):
            if counts[code]:
                extras.notes.append(f"[{counts[code]} {noun} are left out: those of this version are not decoded]")

    def _records(self, number: int) -> Iterator[int]:
        """Yield `_FORMULA` for each formula of a sheet, and `_START` for each chart in it."""
        memory, end = self._book.mem, self._book.base + self._book.stream_len
        if memory is None:  # the library has read all sheets of an old version at once
            return
        at = self._book._sh_abs_posn[number]
        depth = 0
        while at + 4 <= end:
            code, size = struct.unpack_from("<HH", memory, at)
            if code in _STARTS:
                depth += 1
                if depth == 2:
                    yield _START
            elif code == _END:
                depth -= 1
                if depth <= 0:
                    return
            elif depth == 1 and code in biff.FORMULAS:
                yield _FORMULA
            at += 4 + size


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
