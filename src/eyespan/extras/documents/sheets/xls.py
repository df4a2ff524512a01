"""Workbooks of Excel 97 to 2003 (xls), whose records the module `biff` reads from their container.

Workbooks of Excel 95 and before are refused. Images and defined names of functions are left out.
"""

from __future__ import annotations

import struct
from typing import Any

from eyespan.decoders.files import unreadable
from eyespan.extras.documents.shared.ooxml import ENCRYPTED, OLE
from eyespan.extras.documents.sheets import biff, cells
from eyespan.extras.documents.sheets.ole import read_stream

STARTS = (b"\x09\x08", b"\x09\x04", b"\x09\x02", b"\x09\x00")
"""The first bytes of the records of a workbook; before 1993 they have no container."""
_CORRUPT = "not a spreadsheet, or a corrupt one"


class Book:
    """A workbook and its sheets."""

    def __init__(self, data: bytes) -> None:
        """Read the workbook. Raises: Missing, Unreadable."""
        if data.startswith(OLE):
            data = read_stream(data, "Workbook", "Book")
        try:
            self._book = biff.BiffWorkbook(data)
        except biff.NotThisVersion:
            old = "a workbook of Excel 95 or before, which is not read; LibreOffice converts it"
            raise unreadable(old if data.startswith(STARTS) else _CORRUPT) from None
        except biff.Encrypted:
            raise unreadable(ENCRYPTED) from None
        except (ValueError, LookupError, struct.error):
            raise unreadable(_CORRUPT) from None
        self._book.sheets = [sheet for sheet in self._book.sheets if sheet[3] in biff.SHOWN_KINDS]
        self.sheet_names = [name for name, *_ in self._book.sheets]
        self.names = self._book.names

    def sheet(self, name: str) -> tuple[list[list[Any]], tuple[int, int], cells.Extras]:
        """Return the values of a sheet, the place of the first of them, and what the sheet has beside them.

        Raises: Unreadable.
        """
        try:
            sheet = self._book.sheet(self.sheet_names.index(name))
        except biff.Corrupt:
            raise unreadable("this sheet is corrupt") from None
        except biff.SparseSheet:
            raise unreadable(_far_apart()) from None
        for values in sheet.rows.values():
            while values and values[-1] == "":
                values.pop()
        rows = {row: values for row, values in sheet.rows.items() if values}
        if not rows:
            return [], (0, 0), sheet.extras
        first_row, last_row = min(rows), max(rows)
        first_column = min([next(at for at, value in enumerate(row) if value != "") for row in rows.values()])
        width = max(map(len, rows.values())) - first_column
        if (last_row - first_row + 1) * width > cells.MAX_CELLS:
            raise unreadable(_far_apart())
        table = [rows.get(row, [])[first_column:] for row in range(first_row, last_row + 1)]
        return table, (first_row, first_column), sheet.extras


def _far_apart() -> str:
    return f"its cells are too far apart, the limit is {cells.MAX_CELLS} cells"
