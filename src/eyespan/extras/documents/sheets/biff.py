"""Workbooks of Excel 97 to 2003 (BIFF8): values, formats, hidden and merged cells, comments, links, text boxes and
headers, in one pass over the records of each sheet. Formulas, defined names and charts are counted.

A record that is damaged or cut ends the pass, or is left out; what was read before it stays.
"""

from __future__ import annotations

import datetime
import struct
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from eyespan.escape import plural
from eyespan.extras.documents.shared import number_formats
from eyespan.extras.documents.sheets import cells
from eyespan.extras.documents.sheets.cells import ERRORS

VERSION = 0x0600
_BOF, _EOF, _CONTINUE = 0x0809, 0x0A, 0x3C
FORMULAS = (0x06, 0x0206, 0x0406)
"""The codes of formulas; some programs write those of older versions."""
_NUMBER, _LABEL, _BOOL_OR_ERROR, _STRING, _RK = 0x0203, 0x0204, 0x0205, 0x0207, 0x027E
_MANY_RK, _SHARED_LABEL, _RICH_LABEL = 0xBD, 0xFD, 0xD6
_SHARED, _ARRAY, _TABLE = 0x04BC, 0x0221, 0x0236
_ROW, _COLUMNS, _MERGED, _LINK, _NOTE, _OBJECT, _TEXT = 0x0208, 0x7D, 0xE5, 0x01B8, 0x1C, 0x5D, 0x01B6
_HEADER, _FOOTER = 0x14, 0x15
_ENCRYPTED, _SHEET, _STRINGS, _FORMAT, _STYLE, _DATES = 0x2F, 0x85, 0xFC, 0x041E, 0xE0, 0x22
_NAME = 0x18
_OF_GLOBALS = frozenset((_ENCRYPTED, _SHEET, _STRINGS, _FORMAT, _STYLE, _DATES, _NAME))
_CHART_KIND = b"\x20\0"
SHOWN_KINDS = (0, 2)
"""Kinds of sheets: worksheets and charts. Macros and modules are left out."""
_EPOCHS = (datetime.datetime(1899, 12, 30), datetime.datetime(1904, 1, 1))
_FALSE_LEAP_DAY = 60
"""Day 60 is 29 February 1900 in Excel, which never was; the days before it count from the day after the epoch."""
_EAST_ASIAN_DATES = (*range(27, 37), *range(50, 59))
_URL_KIND = bytes.fromhex("e0c9ea79f9bace118c8200aa004ba90b")
_FILE_KIND = bytes.fromhex("0303000000000000c000000000000046")
_HEAD = struct.Struct("<HH")
_PLACE = struct.Struct("<HHH")
_NUMBER_CELL = struct.Struct("<HHHd")
_RK_CELL = struct.Struct("<HHHI")
_DOUBLE, _QUAD = struct.Struct("<d"), struct.Struct("<Q")


class Encrypted(Exception):
    """The records are encrypted."""


class NotThisVersion(Exception):
    """The workbook is of another version."""


class Corrupt(Exception):
    """A sheet does not begin where the workbook places it."""


class SparseSheet(Exception):
    """The cells of a sheet are too far apart."""


class BiffWorkbook:
    """The sheets of a workbook, each read on demand."""

    def __init__(self, data: bytes) -> None:
        """Read the records before the sheets. Raises: NotThisVersion, Encrypted, struct.error, IndexError."""
        self._data = data
        if data[:2] != b"\x09\x08" or int.from_bytes(data[4:6], "little") != VERSION:
            raise NotThisVersion
        self.sheets: list[tuple[str, int, int, int]] = []
        """Name, position, state and kind of each sheet."""
        self.names: list[str] = []
        self._is_1904 = False
        self._strings: list[str] = []
        codes = dict(number_formats.BUILT_IN)
        codes.update(dict.fromkeys(_EAST_ASIAN_DATES, "yyyy-mm-dd"))
        styles: list[int] = []
        names = 0
        for code, blocks in self._globals():
            record = blocks[0]
            if code == _ENCRYPTED:
                raise Encrypted
            if code == _SHEET and len(record) > 8:
                self.sheets.append(
                    (_short_text(record, 6), int.from_bytes(record[:4], "little"), record[4] & 3, record[5])
                )
            elif code == _STRINGS:
                self._strings = _shared_strings(blocks)
            elif code == _FORMAT and len(record) > 5:
                codes[int.from_bytes(record[:2], "little")] = _long_text(record, 2)
            elif code == _STYLE and len(record) > 4:
                styles.append(int.from_bytes(record[2:4], "little"))
            elif code == _DATES and record[:1] == b"\1":
                self._is_1904 = True
            elif code == _NAME and len(record) > 14:
                names += not record[0] & 0x2B  # hidden, a function, a macro, or built in
        if names:
            self.names = [f"[{plural(names, 'defined name')} not shown: those of xls files are not decoded]"]
        self._codes = [codes.get(number, "") for number in styles]
        self._kinds = [_kind(code) for code in self._codes]

    def _globals(self) -> Iterator[tuple[int, list[bytes]]]:
        """Yield the records before the first sheet, each with the blocks that continue it."""
        data, at, end = self._data, 0, len(self._data)
        code: int = 0
        blocks: list[bytes] = []
        while at + 4 <= end:
            number, size = _HEAD.unpack_from(data, at)
            if number == _EOF:
                break
            if number == _CONTINUE:
                blocks.append(data[at + 4 : at + 4 + size])
            elif number in _OF_GLOBALS or code:
                if code:
                    yield code, blocks
                code, blocks = (number, [data[at + 4 : at + 4 + size]]) if number in _OF_GLOBALS else (0, [])
            at += 4 + size
        if code:
            yield code, blocks

    # --- one sheet ---------------------------------------------------------------------------------------------------

    def sheet(self, number: int) -> _BiffSheet:
        """Read a sheet. Raises: Corrupt, TooLarge."""
        _, position, state, _ = self.sheets[number]
        made = _BiffSheet(self, state != 0)
        made.read(self._data, position)
        return made

    def number(self, value: float, style: int, place: tuple[int, int], extras: cells.Extras) -> Any:
        """Return a number as the format of its cell means it. A format that adds a sign or unit is kept for later."""
        kind = self._kinds[style] if style < len(self._kinds) else ""
        if not kind:
            return value
        if kind == "number":
            extras.formats[place] = self._codes[style]
            return value
        return moment(value, kind, self._is_1904)


def moment(days: float, kind: str, is_1904: bool) -> Any:
    """Return a number of days as its format means it: an elapsed time, a time or a date; a number that is none."""
    if kind == "elapsed":
        return elapsed(days)
    shift = 1 if not is_1904 and 0 <= days < _FALSE_LEAP_DAY else 0
    try:
        instant = _EPOCHS[is_1904] + datetime.timedelta(days=shift, milliseconds=round(days * 86_400_000))
    except (OverflowError, ValueError):
        return days
    # Day 0 of 1900 is no date: such a number is a time, whatever its format.
    return instant.time() if 0 <= days < 1 and (kind == "time" or not is_1904) else instant


def elapsed(days: float) -> str:
    """Return a duration as hours, minutes and seconds."""
    seconds = round(abs(days) * 86_400)
    return f"{'-' if days < 0 else ''}{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"


@lru_cache(maxsize=1024)
def _kind(code: str) -> str:
    """Return "" for a format that shows digits only, "number" if it shows more, else what kind of date it is."""
    meaning = number_formats.meaning(code) if code else ""
    if meaning in ("date", "time", "datetime", "elapsed"):
        return meaning
    return "number" if code and number_formats.has_meaning(code) else ""


class _BiffSheet:
    """One sheet while its records are read: `rows` by number, and `extras`."""

    def __init__(self, book: BiffWorkbook, is_hidden: bool) -> None:
        self.rows: dict[int, list[Any]] = {}
        self.extras = cells.Extras()
        self.extras.is_hidden = is_hidden
        self._book = book
        self._notes: list[tuple[int, int, int, str]] = []
        self._texts: dict[int, str] = {}
        self._object = -1
        self._links: list[str] = []
        self._formulas = 0
        self._count = 0

    def read(self, data: bytes, at: int) -> None:
        """Read the records from a position to the end of the sheet. Raises: Corrupt, TooLarge."""
        if data[at : at + 2] != _BOF.to_bytes(2, "little"):
            raise Corrupt
        end, depth, charts = len(data), 0, 0
        unpack, strings, rows = _HEAD.unpack_from, self._book._strings, self.rows
        is_in_cells = False
        while at + 4 <= end:
            code, size = unpack(data, at)
            at += 4
            if at + size > end:
                break
            if is_in_cells and code == _SHARED_LABEL and size >= 10:
                row, column, _, index = _RK_CELL.unpack_from(data, at)
                value = strings[index] if index < len(strings) else ""
                values = rows.get(row)
                if values is not None and len(values) == column:
                    values.append(value)  # the cell after the one before
                else:
                    self._put(row, column, value)
            elif is_in_cells and code == _RK and size >= 10:
                row, column, style, number = _RK_CELL.unpack_from(data, at)
                self._put_number(row, column, style, _rk(number))
            elif is_in_cells and code == _NUMBER and size >= 14:
                self._put_number(*_NUMBER_CELL.unpack_from(data, at))
            elif is_in_cells and code in _HANDLERS:
                try:
                    _HANDLERS[code](self, data[at : at + size], data, at + size)
                except (struct.error, IndexError):
                    pass  # a record that is cut
            elif code == _BOF:
                depth += 1
                is_chart = data[at + 2 : at + 4] == _CHART_KIND
                charts += is_chart
                is_in_cells = depth == 1 and not is_chart
            elif code == _EOF:
                depth -= 1
                is_in_cells = depth == 1
                if depth <= 0:
                    break
            at += size
        if charts:
            self.extras.notes.append(f"[{plural(charts, 'chart')} left out: charts of xls files are not decoded]")
        if depth > 0:
            self.extras.notes.append("[the sheet is damaged; what follows the damage is left out]")
        self._finish()

    def _put(self, row: int, column: int, value: Any) -> None:
        values = self.rows.get(row)
        if values is None:
            values = self.rows[row] = []
        gap = column - len(values)
        if gap > 0:
            self._count += gap
            if self._count > cells.MAX_CELLS:
                raise SparseSheet
            values.extend([""] * gap)
        if gap >= 0:
            values.append(value)
        else:
            values[column] = value

    def _put_number(self, row: int, column: int, style: int, value: float) -> None:
        kinds = self._book._kinds
        if style >= len(kinds) or kinds[style]:
            value = self._book.number(value, style, (row, column), self.extras)
        self._put(row, column, value)

    # --- cells -------------------------------------------------------------------------------------------------------

    def _add_many(self, record: bytes, data: bytes, after: int) -> None:
        row, column = struct.unpack_from("<HH", record)
        for style, number in struct.iter_unpack("<HI", record[4 : 4 + (len(record) - 6) // 6 * 6]):
            self._put_number(row, column, style, _rk(number))
            column += 1

    def _add_label(self, record: bytes, data: bytes, after: int) -> None:
        row, column, _ = _PLACE.unpack_from(record)
        self._put(row, column, _long_text(record, 6))

    def _add_bool(self, record: bytes, data: bytes, after: int) -> None:
        row, column, _ = _PLACE.unpack_from(record)
        if record[7]:
            self._put_error(row, column, record[6])
        else:
            self._put(row, column, bool(record[6]))

    def _put_error(self, row: int, column: int, code: int) -> None:
        self.extras.texts[row, column] = ERRORS.get(code, "#ERROR")
        self._put(row, column, "")

    def _add_formula(self, record: bytes, data: bytes, after: int) -> None:
        row, column, style = _PLACE.unpack_from(record)
        if record[12:14] != b"\xff\xff":
            self._put_number(row, column, style, struct.unpack_from("<d", record, 6)[0])
        elif record[6] == 0:
            self._put(row, column, _result(data, after))
        elif record[6] == 1:
            self._put(row, column, bool(record[8]))
        elif record[6] == 2:
            self._put_error(row, column, record[8])
        else:
            self._put(row, column, "")  # also for a formula that was never computed
        self._formulas += 1

    # --- the layout --------------------------------------------------------------------------------------------------

    def _add_row(self, record: bytes, data: bytes, after: int) -> None:
        if record[12] & 0x20:
            row = int.from_bytes(record[:2], "little")
            self.extras.hidden_rows.append((row, row))

    def _add_columns(self, record: bytes, data: bytes, after: int) -> None:
        if record[8] & 1:
            first, last = struct.unpack_from("<HH", record)
            if first <= last:
                self.extras.hidden_columns.append((first, min(last, 255)))

    def _add_merged(self, record: bytes, data: bytes, after: int) -> None:
        for first_row, last_row, first_column, last_column in struct.iter_unpack(
            "<HHHH", record[2 : 2 + (len(record) - 2) // 8 * 8]
        ):
            self.extras.merged.append(cells.area_name(first_row, first_column, last_row, last_column))

    def _add_margin(self, record: bytes, data: bytes, after: int) -> None:
        if len(record) > 3:
            noun = "header" if data[after - len(record) - 4] == _HEADER else "footer"
            line = cells.margin_line(_long_text(record, 0), noun)
            self.extras.notes += [line] if line else []

    # --- comments, text boxes and links ------------------------------------------------------------------------------

    def _add_object(self, record: bytes, data: bytes, after: int) -> None:
        self._object = int.from_bytes(record[6:8], "little")

    def _add_object_text(self, record: bytes, data: bytes, after: int) -> None:
        count = int.from_bytes(record[10:12], "little")
        pieces: list[str] = []
        for block in _continued(data, after):
            if count <= 0 or not block:
                break
            is_wide = block[0] & 1
            piece = block[1 : 1 + count * (1 + is_wide)].decode("utf-16-le" if is_wide else "latin-1", "replace")
            count -= len(piece)
            pieces.append(piece)
        text = " ".join("".join(pieces).split())
        if text:
            self._texts[self._object] = f"{self._texts[self._object]} {text}" if self._object in self._texts else text

    def _add_note(self, record: bytes, data: bytes, after: int) -> None:
        row, column, _, number = struct.unpack_from("<HHHH", record)
        self._notes.append((row, column, number, " ".join(_long_text(record, 8).split())))

    def _add_link(self, record: bytes, data: bytes, after: int) -> None:
        row, _, column, _ = struct.unpack_from("<HHHH", record)
        target = _link_target(record)
        if target:
            self._links.append(f"- {cells.cell_name(row, column)}: {target}")

    # --- the end -----------------------------------------------------------------------------------------------------

    def _finish(self) -> None:
        extras, blocks = self.extras, []
        lines = []
        for row, column, number, author in sorted(self._notes):
            text = self._texts.pop(number, "")
            lines.append(f"- {cells.cell_name(row, column)}" + (f" ({author}): {text}" if author else f": {text}"))
        if lines:
            blocks += ["Comments:", "\n".join(lines)]
        if self._links:
            blocks += ["Links:", "\n".join(self._links)]
        blocks += [f"[text box] {text}" for text in self._texts.values()]
        extras.blocks[:0] = blocks
        if self._formulas:
            extras.notes.append(f"[{plural(self._formulas, 'formula')} not shown, only their values: xls]")


_HANDLERS = {
    **dict.fromkeys(FORMULAS, _BiffSheet._add_formula),
    _MANY_RK: _BiffSheet._add_many,
    **dict.fromkeys((_LABEL, _RICH_LABEL), _BiffSheet._add_label),
    _BOOL_OR_ERROR: _BiffSheet._add_bool,
    _ROW: _BiffSheet._add_row,
    _COLUMNS: _BiffSheet._add_columns,
    _MERGED: _BiffSheet._add_merged,
    **dict.fromkeys((_HEADER, _FOOTER), _BiffSheet._add_margin),
    _OBJECT: _BiffSheet._add_object,
    _TEXT: _BiffSheet._add_object_text,
    _NOTE: _BiffSheet._add_note,
    _LINK: _BiffSheet._add_link,
}


# --- values ----------------------------------------------------------------------------------------------------------


def _rk(number: int) -> float:
    """Return a number that is packed into 30 bits."""
    if number & 2:
        value = float((number >> 2) - (0x40000000 if number & 0x80000000 else 0))
    else:
        (value,) = _DOUBLE.unpack(_QUAD.pack((number & 0xFFFFFFFC) << 32))
    return value / 100 if number & 1 else value


def _short_text(record: bytes, at: int) -> str:
    """Return a text whose length is one byte."""
    is_wide = record[at + 1] & 1
    text = record[at + 2 : at + 2 + record[at] * (1 + is_wide)]
    return text.decode("utf-16-le" if is_wide else "latin-1", "replace")


def _long_text(record: bytes, at: int) -> str:
    """Return a text whose length is two bytes."""
    count, flags = struct.unpack_from("<HB", record, at)
    at += 3 + (2 if flags & 8 else 0) + (4 if flags & 4 else 0)
    is_wide = flags & 1
    return record[at : at + count * (1 + is_wide)].decode("utf-16-le" if is_wide else "latin-1", "replace")


def _continued(data: bytes, at: int) -> Iterator[bytes]:
    """Yield the blocks that continue the record before this position."""
    while at + 4 <= len(data):
        code, size = _HEAD.unpack_from(data, at)
        if code != _CONTINUE:
            return
        yield data[at + 4 : at + 4 + size]
        at += 4 + size


def _result(data: bytes, at: int) -> str:
    """Return the text that a formula returned, from the record after it; between them may stand a shared formula."""
    for _ in range(3):
        if at + 4 > len(data):
            return ""
        code, size = _HEAD.unpack_from(data, at)
        if code == _STRING:
            blocks = [data[at + 4 : at + 4 + size], *_continued(data, at + 4 + size)]
            return _texts(blocks, 1, 0)[0] if size >= 3 else ""
        if code not in (_SHARED, _ARRAY, _TABLE):
            return ""
        at += 4 + size
    return ""


def _shared_strings(blocks: list[bytes]) -> list[str]:
    """Return the texts that cells refer to by number."""
    return _texts(blocks, int.from_bytes(blocks[0][4:8], "little"), 8)


def _texts(blocks: list[bytes], count: int, at: int) -> list[str]:
    """Return texts that are written one after the other. A block that continues one begins with flags of its own."""
    texts: list[str] = []
    number, data = 0, blocks[0]
    while len(texts) < count:
        if at + 3 > len(data):
            number, at = number + 1, 0
            if number >= len(blocks):
                break
            data = blocks[number]
            continue
        left, flags = data[at] | data[at + 1] << 8, data[at + 2]
        at += 3
        skipped = 0
        if flags & 8:
            skipped = 4 * int.from_bytes(data[at : at + 2], "little")
            at += 2
        if flags & 4:
            skipped += int.from_bytes(data[at : at + 4], "little")
            at += 4
        end = at + (left << (flags & 1))
        if end <= len(data):
            texts.append(data[at:end].decode("utf-16-le" if flags & 1 else "latin-1", "replace"))
            at = end + skipped
        else:
            pieces = []
            while left > 0:
                piece = data[at : at + (left << (flags & 1))]
                pieces.append(piece.decode("utf-16-le" if flags & 1 else "latin-1", "replace"))
                left -= len(piece) >> (flags & 1)
                at += len(piece)
                if left <= 0 or number + 1 >= len(blocks):
                    break
                number += 1
                data, at = blocks[number], 1
                flags = data[0] if data else 0
            texts.append("".join(pieces))
            at += skipped
        while at > len(data) and number + 1 < len(blocks):
            at -= len(data)
            number += 1
            data = blocks[number]
    return texts


# --- links -----------------------------------------------------------------------------------------------------------


def _link_target(record: bytes) -> str:
    """Return the address of a link, and the place in it after a number sign."""
    flags = int.from_bytes(record[28:32], "little")
    at = 32
    for bit in (0x10, 0x80):  # the text of the link, and the name of a frame
        if flags & bit:
            at += 4 + 2 * int.from_bytes(record[at : at + 4], "little")
    target = ""
    if flags & 0x100:
        target, at = _link_text(record, at)
    elif flags & 1:
        kind, at = record[at : at + 16], at + 16
        if kind == _URL_KIND:
            size = int.from_bytes(record[at : at + 4], "little")
            target = record[at + 4 : at + 4 + size].decode("utf-16-le", "replace").partition("\0")[0]
            at += 4 + size
        elif kind == _FILE_KIND:
            size = int.from_bytes(record[at + 2 : at + 6], "little")
            target = record[at + 6 : at + 6 + size].decode("latin-1").partition("\0")[0]
            at += 6 + size + 24
            wide = int.from_bytes(record[at : at + 4], "little")
            if wide > 6:
                target = record[at + 10 : at + 4 + wide].decode("utf-16-le", "replace")
            at += 4 + wide
    if flags & 8:
        place, at = _link_text(record, at)
        target += f"#{place}" if place else ""
    return " ".join(target.split())


def _link_text(record: bytes, at: int) -> tuple[str, int]:
    size = 2 * int.from_bytes(record[at : at + 4], "little")
    return record[at + 4 : at + 4 + size].decode("utf-16-le", "replace").partition("\0")[0], at + 4 + size
