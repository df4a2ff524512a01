"""Spreadsheets: the cells that other programs read, selections, limits and the library's failures."""

from __future__ import annotations

import csv
import datetime
import io
import re
import zipfile

import pytest

from eyespan.decoders import ooxml, sheet
from eyespan.errors import Missing, Unreadable

from .office_files import FIXTURES, OFFICE_RELATIONS, expected, load_without, packed, relations, repacked, text


@pytest.mark.parametrize("suffix", ["xlsx", "xls", "ods"])
@pytest.mark.parametrize(("name", "start"), [("Ledger", (1, "A")), ("Notes", (2, "B"))])
def test_each_cell_is_that_of_the_csv(suffix, name, start):
    known = list(csv.reader(io.StringIO(expected(f"ledger.{name}.expected.csv"))))
    lines = text(FIXTURES / f"ledger.{suffix}", sheet=name).split("\n")
    table = [line for line in lines if line.startswith("| ")]
    letters = [cell.strip() for cell in lines[2].strip("|").split("|")][1:]
    got = {}
    for line in table:
        if re.match(r"\| \d", line):
            number, *cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            got.update({(int(number), letter): cell for letter, cell in zip(letters, cells, strict=True) if cell})
    want = {
        (row, chr(65 + column)): cell.replace("|", "\\|").replace("\n", "<br>")
        for row, cells in enumerate(known, 1)
        for column, cell in enumerate(cells)
        if cell
    }
    assert got == want
    assert min(got) == start


def test_comments_on_cells_are_shown():
    assert "Comments:\n\n- A2 (Ada): Came late" in text(FIXTURES / "ledger.xlsx")


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ({"cells": "Ledger!A2:B3"}, "(A2:B3)"),
        ({"cells": "A2:B3"}, "(A2:B3)"),
        ({"cells": "$b$3:$a$2"}, "(A2:B3)"),
        ({"sheet": "ledger", "cells": "C:D"}, "(C1:D4)"),
        ({"sheet": 1, "cells": "2:3"}, "(A2:D3)"),
        ({"sheet": "Ledger", "cells": "C4"}, "(C4:C4)"),
        ({"sheet": "2"}, "## Notes (B2:B3)"),
        ({"cells": "'Notes'!A1:Z99"}, "## Notes (B2:B3)"),
        ({"cells": "Ledger!X1:Z9"}, "[no cells]"),
    ],
)
@pytest.mark.parametrize("suffix", ["xlsx", "xls", "ods"])
def test_a_sheet_and_a_range_can_be_selected(suffix, options, shown):
    got = text(FIXTURES / f"ledger.{suffix}", **options)

    assert shown in got
    assert got.count("## ") == 1


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"sheet": "Nope"}, "it has no sheet 'Nope'; its sheets are Ledger, Notes"),
        ({"sheet": "3"}, "no sheet"),
        ({"cells": "eleven"}, "is not a range; examples are A1:D20"),
        ({"cells": ":"}, "is not a range"),
    ],
)
def test_a_selection_that_does_not_exist_is_refused(options, reason):
    with pytest.raises(Unreadable, match=re.escape(reason)):
        text(FIXTURES / "ledger.xlsx", **options)


def test_a_range_without_an_end_reaches_the_last_cell():
    assert "## Ledger (A1:D4)" in text(FIXTURES / "ledger.xlsx", cells="A1:")


def test_a_sheet_of_giant_extent_is_refused(tmp_path):
    with zipfile.ZipFile(FIXTURES / "ledger.xlsx") as book:
        xml = book.read("xl/worksheets/sheet1.xml")
    far = xml.replace(b"</sheetData>", b'<row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData>')
    path = repacked("ledger.xlsx", {"xl/worksheets/sheet1.xml": far}, tmp_path / "a.xlsx")

    with pytest.raises(Unreadable, match="spans 1048576 rows and 16384 columns"):
        text(path)


def test_a_row_without_cells_is_left_out_and_the_others_keep_their_numbers():
    assert sheet._sheet("One", [["a"], [""], [1.0]], (4, 0), (0, 0, 99, 99), []) == [
        "## One (A5:A7)",
        "|   | A |\n|---| --- |\n| 5 | a |\n| 7 | 1 |",
    ]


def test_a_sheet_that_only_might_be_too_wide_is_measured(monkeypatch):
    far = b'<row r="1"><c r="A1"/></row><row r="%d"><c r="AB%d"/></row>'
    monkeypatch.setattr(sheet, "MAX_CELLS", 28 * 100)

    sheet._check_extent(far % (100, 100))
    with pytest.raises(Unreadable, match="spans 101 rows and 28 columns"):
        sheet._check_extent(far % (101, 101))


def test_comments_belong_to_their_sheets():
    space = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    names = "".join(f'<sheet name="{n}" r:id="s{n}"/>' for n in range(3))
    note = '<authors><author>Ada</author></authors><commentList><comment ref="B2" authorId="0"><text><t>hm</t></text>'
    files = {
        "_rels/.rels": relations(a=("officeDocument", "xl/workbook.xml")),
        "xl/workbook.xml": f'<workbook {space} xmlns:r="{OFFICE_RELATIONS}"><sheets>{names}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": relations(**{f"s{n}": ("worksheet", f"worksheets/{n}.xml") for n in range(3)}),
        "xl/worksheets/_rels/0.xml.rels": relations(c=("comments", "../comments0.xml")),
        "xl/worksheets/_rels/1.xml.rels": relations(c=("comments", "../comments1.xml"), d=("drawing", "../d.xml")),
        "xl/worksheets/_rels/2.xml.rels": relations(c=("comments", "../gone.xml")),
        "xl/comments0.xml": f"<comments {space}></comments>",
        "xl/comments1.xml": f"<comments {space}>{note}</comment></commentList></comments>",
    }

    assert sheet._comments(ooxml.Package(packed(**files), "sheet")) == {"1": ["Comments:", "- B2 (Ada): hm"]}


def test_failures_of_the_library_are_errors_of_the_file(monkeypatch):
    class PanicException(BaseException):
        """Like the library's own, which is no `Exception`."""

    class Broken:
        sheet_names = ("One",)

        @staticmethod
        def get_sheet_by_name(name):
            raise PanicException

    class Library:
        class CalamineWorkbook:
            from_filelike = staticmethod(lambda file: Broken)

        class PasswordError(Exception):
            pass

    def raising(error):
        def from_filelike(file):
            raise error

        return type("Workbook", (), {"from_filelike": staticmethod(from_filelike)})

    monkeypatch.setattr(sheet, "calamine", Library)
    assert b"[this sheet cannot be read (PanicException)]" in sheet.decode(io.BytesIO(b"x"), {})[1][0]
    for error, reason in (
        (Library.PasswordError(), "password"),
        (PanicException(), "corrupt"),
        (ValueError(), "corrupt"),
    ):
        monkeypatch.setattr(Library, "CalamineWorkbook", raising(error))
        with pytest.raises(Unreadable, match=reason):
            sheet.decode(io.BytesIO(b"x"), {})
    for error in (MemoryError(), KeyboardInterrupt()):
        monkeypatch.setattr(Library, "CalamineWorkbook", raising(error))
        with pytest.raises(type(error)):
            sheet.decode(io.BytesIO(b"x"), {})
    monkeypatch.setattr(sheet, "MAX_FILE_BYTES", 1)
    with pytest.raises(Unreadable, match="more than 1 bytes"):
        sheet.decode(io.BytesIO(b"xx"), {})


def test_dates_with_and_without_a_time():
    assert sheet._date(datetime.datetime(2024, 5, 6)) == "2024-05-06"
    assert sheet._date(datetime.datetime(2024, 5, 6, 7, 8)) == "2024-05-06 07:08:00"


def test_without_its_library_the_module_loads_and_names_the_install_command(monkeypatch):
    module = load_without("python_calamine", sheet, monkeypatch)

    with (FIXTURES / "ledger.xlsx").open("rb") as opened, pytest.raises(Missing) as error:
        module.decode(opened, {})
    assert error.value.install == "pip install 'eyespan[docs]'"
