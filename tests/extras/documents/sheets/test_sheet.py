"""Spreadsheets: the cells that other programs read, selections, limits and the library's failures."""

from __future__ import annotations

import csv
import datetime
import io
import re
import zipfile

import pytest

from eyespan.errors import Missing, Unreadable
from eyespan.extras.documents.shared import ooxml
from eyespan.extras.documents.shared.embedded_images import Images
from eyespan.extras.documents.sheets import cells, ods, sheet
from tests.extras.documents.office_files import (
    FIXTURES,
    OFFICE_RELATIONS,
    SHEET,
    biff,
    expected,
    load_without,
    packed,
    relations,
    repacked,
    text,
    workbook,
)


@pytest.mark.parametrize(
    "change",
    [
        lambda part: part,
        lambda part: part.replace('"', "'"),
        lambda part: part.replace("<cellXfs>", "<!-- <cellXfs><xf/></cellXfs> --><cellXfs>"),
        lambda part: part.replace("<xf ", "<xf applyNumberFormat='1' "),
    ],
)
def test_formats_are_the_same_however_styles_are_written(change):
    styles = (
        f'<styleSheet xmlns="{SHEET}"><numFmts><numFmt numFmtId="170" formatCode="[>1]0;0 t"/>'
        '<numFmt numFmtId="171" formatCode="0 &quot;kg&quot;"/></numFmts>'
        '<cellStyleXfs><xf numFmtId="9"/></cellStyleXfs><cellXfs>'
        '<xf numFmtId="171"/><xf numFmtId="9"/><xf fontId="170"/></cellXfs></styleSheet>'
    )
    row = '<row r="1"><c r="A1" s="0"><v>2</v></c><c r="B1" s="1"><v>0.5</v></c><c r="C1" s="2"><v>3</v></c></row>'

    assert "| 1 | 2kg | 50% | 3 |" in workbook({"A": row}, **{"xl/styles.xml": change(styles)})


@pytest.mark.parametrize(
    "change",
    [
        lambda part: part,
        lambda part: part.replace("r:", "q:").replace("xmlns:r=", "xmlns:q="),
        lambda part: part.replace('"', "'"),
        lambda part: part.replace("<sheets>", "<!-- <sheets></sheets> --><sheets>"),
        lambda part: part.replace("</sheets>", "</sheets><definedNames/>"),
    ],
)
def test_sheets_are_the_same_however_they_are_listed(change):
    part = change(
        f'<workbook xmlns="{SHEET}" xmlns:r="{OFFICE_RELATIONS}"><sheets><sheet name="A &amp; B" r:id="s0"/>'
        '<sheet name="C" state="hidden" r:id="s1"/></sheets></workbook>'
    )
    cell = '<row r="1"><c r="A1"><f>1+1</f><v>2</v></c></row>'

    made = workbook({"A": cell, "C": cell}, **{"xl/workbook.xml": part})

    assert re.findall("##.*|- A1.*", made) == ["## A & B (A1:A1)", "- A1: =1+1", "## C (A1:A1, hidden)", "- A1: =1+1"]


def test_a_sheet_of_many_rows_and_few_columns_is_small():
    row = b'<row r="%d"><c r="A%d"><v/></c></row>'
    xml = b"".join(row % (n, n) for n in range(1, 6001))

    assert sheet._is_small(xml)
    assert sheet._is_small(xml + b'<c r="AB1"><v/></c>')
    assert sheet._is_small(xml.replace(b"<row", b"<r") + b'<c r="ABC244"><v/></c>')
    assert not sheet._is_small(xml + b'<c r="ABC6000"><v/></c>')


@pytest.mark.parametrize("suffix", ["xlsx", "xls", "ods"])
@pytest.mark.parametrize(("name", "start"), [("Ledger", (1, "A")), ("Notes", (2, "B"))])
def test_each_cell_is_that_of_the_csv(suffix, name, start):
    known = list(csv.reader(io.StringIO(expected(f"ledger.{name}.expected.csv"))))
    lines = text(FIXTURES / f"ledger.{suffix}", sheet=name).split("\n")
    table = [line for line in lines if line.startswith("| ")]
    header = next(line for line in lines if line.startswith("|   |"))
    letters = [cell.strip() for cell in header.strip("|").split("|")][1:]
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


def with_rows(tmp_path, rows):
    """Return a workbook with more rows in its first sheet."""
    with zipfile.ZipFile(FIXTURES / "ledger.xlsx") as book:
        xml = book.read("xl/worksheets/sheet1.xml")
    more = xml.replace(b"</sheetData>", rows + b"</sheetData>")
    return repacked("ledger.xlsx", {"xl/worksheets/sheet1.xml": more}, tmp_path / "a.xlsx")


LAST_ROW = b'<row r="1048576"><c r="XFC1048576" s="1"/><c r="XFD1048576"><f>A1+1</f><v>1.5</v></c></row>'


def test_a_sheet_with_cells_far_apart_is_refused_and_named(tmp_path):
    assert text(with_rows(tmp_path, LAST_ROW)).startswith(
        "## Ledger\n\n[its cells are too far apart, the limit is 4000000 cells]\n\n## "
    )


def test_formatted_cells_without_values_do_not_count(tmp_path):
    rows = b"".join([b'<row r="%d"><c r="XFD%d" s="1"/> </row>' % (row, row) for row in range(5, 1000)])
    path = with_rows(tmp_path, rows + b'<row r="1048576" s="1"/>')

    assert "(A1:D4)" in text(path).split("\n")[0]


def test_a_row_without_cells_is_left_out_and_the_others_keep_their_numbers():
    assert sheet.sheet_blocks("One", [["a"], [""], [1.0]], (4, 0), (0, 0, 99, 99)) == [
        "## One (A5:A7)",
        "|   | A |\n|---| --- |\n| 5 | a |\n| 7 | 1 |",
    ]


def test_a_sheet_that_only_might_be_too_wide_is_measured(monkeypatch):
    far = b'<row r="1"><c r="A1"><v>1</v></c></row><row r="%d"><c r="AB%d"><v>1</v></c></row>'
    monkeypatch.setattr(cells, "MAX_CELLS", 28 * 100)

    assert [sheet._is_small(far % (rows, rows)) for rows in (100, 101)] == [True, False]


def test_comments_belong_to_their_sheets():
    note = '<authors><author>Ada</author></authors><commentList><comment ref="B2" authorId="0"><text><t>hm</t></text>'
    made = workbook(
        {"0": "", "1": '<row r="1"><c r="A1"><v>7</v></c></row>', "2": ""},
        **{
            "xl/worksheets/_rels/0.xml.rels": relations(c=("comments", "../comments0.xml")),
            "xl/worksheets/_rels/1.xml.rels": relations(c=("comments", "../comments1.xml"), d=("drawing", "../d.xml")),
            "xl/worksheets/_rels/2.xml.rels": relations(c=("comments", "../gone.xml")),
            "xl/comments0.xml": f'<comments xmlns="{SHEET}"></comments>',
            "xl/comments1.xml": f'<comments xmlns="{SHEET}">{note}</comment></commentList></comments>',
        },
    )

    assert made == (
        "## 0\n\n[no cells]\n\n"
        "## 1 (A1:A1)\n\n|   | A |\n|---| --- |\n| 1 | 7 |\n\nComments:\n\n- B2 (Ada): hm\n\n"
        "## 2\n\n[no cells]\n"
    )


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
    assert b"[this sheet cannot be read: it is corrupt]" in sheet.decode(io.BytesIO(b"x"), {})[1][0]
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


# --- what a sheet has beside values -----------------------------------------------------------------------------------

ROWS = (
    '<row r="1"><c r="A1" t="e"><v>#N/A</v></c><c r="B1" t="e"><f>1/0</f><v>#DIV/0!</v></c></row>'
    '<row r="2"><c r="A2"><f>A1+1</f></c><c r="B2" t="str"><f>""</f><v></v></c><c r="C2"><f>2*3</f><v>6</v></c></row>'
)


def rows_of(made: str) -> list[str]:
    return [line for line in made.split("\n") if re.match(r"\| \d", line)]


def test_errors_are_shown_as_they_are_and_a_formula_without_a_value_in_its_cell():
    made = workbook({"One": ROWS})

    assert rows_of(made) == ["| 1 | #N/A | #DIV/0! |  |", "| 2 | =A1+1 |  | 6 |"]
    assert made.endswith('Formulas:\n\n- B1: =1/0\n- A2: =A1+1; B2: =""; C2: =2*3\n')


def test_a_shared_formula_is_moved_to_each_of_its_cells():
    made = workbook(
        {
            "One": '<row r="1"><c r="B1"><f t="shared" ref="B1:B3" si="0">A1&amp;$C$1</f><v>1</v></c></row>'
            '<row r="2"><c r="B2"><f t="shared" si="0"/><v>1</v></c></row>'
            '<row r="3"><c r="B3"><f t="shared" si="9"/><v>1</v></c></row>'
        }
    )

    assert made.endswith("Formulas:\n\n- B1: =A1&$C$1\n- B2: =A2&$C$1\n")


def test_cells_without_names_are_counted():
    made = workbook({"One": '<row><c><v>1</v></c><c t="e"><v>#REF!</v></c></row><row r="4"><c><f>B1</f></c></row>'})

    assert rows_of(made) == ["| 1 | 1 | #REF! |", "| 4 | =B1 |  |"]


def test_hidden_sheets_rows_and_columns_and_merged_cells_are_marked():
    made = workbook(
        {
            "Open": '<row r="1"><c r="A1"><v>1</v></c></row>',
            "Secret": "<row r='2' hidden='1'><c r='A2'><v>2</v></c></row>",
        },
        states={"Secret": "veryHidden"},
        after={
            "Open": '<mergeCells><mergeCell ref="A1:B2"/></mergeCells>',
        },
        before={"Secret": '<cols><col min="2" max="4" hidden="1"/><col min="5" max="5" hidden="1"/></cols>'},
    )

    assert "## Open (A1:A1)\n\n[merged: A1:B2]\n" in made
    assert "## Secret (A2:A2, hidden)\n\n[hidden: rows 2; columns B-E]\n" in made


def test_formats_that_change_the_meaning_are_applied():
    styles = (
        f'<styleSheet xmlns="{SHEET}"><numFmts><numFmt numFmtId="170" formatCode="[$\u20ac-407] #,##0.00"/></numFmts>'
        '<cellStyleXfs><xf numFmtId="9"/></cellStyleXfs>'
        '<cellXfs><xf numFmtId="0"/><xf numFmtId="9"/><xf numFmtId="170"/></cellXfs></styleSheet>'
    )
    made = workbook(
        {
            "One": '<row r="1"><c r="A1" s="1"><v>0.125</v></c><c s="2" r="B1"><v>-3.5</v></c>'
            '<c r="C1" s="1" t="str"><v>x s="1"</v></c><c r="D1" s="0"><v>5</v></c></row>'
        },
        **{"xl/styles.xml": styles},
    )

    assert rows_of(made) == ['| 1 | 12.5% | \u20ac-3.5 | x s="1" | 5 |']


def test_links_headers_and_defined_names_are_listed():
    made = workbook(
        {"One": '<row r="1"><c r="A1"><v>1</v></c></row>'},
        names='<definedName name="Tax">One!$A$1</definedName><definedName name="_xlnm.Print_Area">One!$A$1'
        "</definedName>",
        after={
            "One": '<hyperlinks><hyperlink ref="A1" r:id="h"/><hyperlink ref="A2" location="Two!A1"/></hyperlinks>'
            '<headerFooter><oddHeader>&amp;L&amp;"Arial,Bold"Top &amp;&amp; secret</oddHeader>'
            "<oddFooter>Page &amp;P</oddFooter></headerFooter>"
        },
        **{
            "xl/worksheets/_rels/0.xml.rels": relations(h=("hyperlink", "https://a.example/")).replace(
                "Target=", 'TargetMode="External" Target='
            )
        },
    )

    assert "[header: Top & secret]" in made
    assert "Page" not in made
    assert "Links:\n\n- A1: https://a.example/\n- A2: #Two!A1\n" in made
    assert made.endswith("Defined names:\n\n- Tax = One!$A$1\n")


def test_encrypted_workbooks_are_called_encrypted():
    wrapped = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500) + "EncryptedPackage".encode("utf-16-le")
    manifest = "<manifest><file-entry><encryption-data/></file-entry></manifest>"
    opendocument = packed(**{"mimetype": "x", "META-INF/manifest.xml": manifest, "content.xml": "?"}).getvalue()
    for data in (wrapped, opendocument):
        with pytest.raises(Unreadable, match="it is encrypted; its password is needed"):
            sheet.decode(io.BytesIO(data), {})


@pytest.mark.parametrize(
    ("formula", "rows", "columns", "wanted"),
    [
        ("A1+$B$2", 1, 1, "B2+$B$2"),
        ("SUM(A:B)+SUM(1:2)", 1, 1, "SUM(B:C)+SUM(2:3)"),
        ('LOG10(A1)&"A1"', 2, 0, 'LOG10(A3)&"A1"'),
        ("'My A1'!A1+T1[A1]+AB1!C3", 1, 0, "'My A1'!A2+T1[A1]+AB1!C4"),
        ("A1", -1, 0, "#REF!"),
        ("XFD1", 0, 1, "#REF!"),
    ],
)
def test_a_formula_is_moved_as_spreadsheets_copy_it(formula, rows, columns, wanted):
    assert cells.moved(formula, rows, columns) == wanted


# --- xls -------------------------------------------------------------------------------------------------------------


def test_errors_of_an_old_workbook_are_shown_and_formulas_counted():
    one_divided = b"\x1e\x01\x00\x1e\x00\x00\x06"  # 1, 0, divide
    error = b"\x02\x00\x07\x00\x00\x00\xff\xff"
    made = biff(
        (0x0205, b"\0\0\0\0\0\0\x2a\x01"),
        (0x0006, b"\0\0\x01\0\0\0" + error + bytes(6) + len(one_divided).to_bytes(2, "little") + one_divided),
    )

    assert sheet.decode(made, {})[1][0].decode() == (
        "## Page (A1:B1)\n\n[1 formula not shown, only their values: xls]\n\n"
        "|   | A | B |\n|---| --- | --- |\n| 1 | #N/A | #DIV/0! |\n"
    )


def test_numbers_of_a_chart_in_a_sheet_are_not_cells():
    chart = ((0x0809, b"\0\6\x20\0" + bytes(12)), (0x0203, bytes(6) + b"\0\0\0\0\0\0\xf0?"), (0x0A, b""))
    made = biff((0x0203, bytes(6) + b"\0\0\0\0\0\0\x1c@"), *chart)

    answer = sheet.decode(made, {})[1][0].decode()

    assert rows_of(answer) == ["| 1 | 7 |"]
    assert "[1 chart left out: charts of xls files are not decoded]" in answer


# --- ods -------------------------------------------------------------------------------------------------------------


OPENDOCUMENT = "urn:oasis:names:tc:opendocument:xmlns"


def test_an_opendocument_sheet_has_errors_formulas_units_hidden_and_merged_cells_and_comments():
    table = (
        '<t:table t:name="Page"><t:table-column t:number-columns-repeated="2"/>'
        '<t:table-column t:visibility="collapse"/>'
        '<t:table-row t:number-rows-repeated="2"><t:table-cell/></t:table-row>'
        '<t:table-row t:visibility="filter">'
        '<t:table-cell t:formula="of:=NA()" o:value-type="string"><x:p>#N/A</x:p></t:table-cell>'
        '<t:table-cell o:value-type="percentage" o:value="0.125"><x:p>12.50%</x:p></t:table-cell>'
        '<t:table-cell t:number-columns-spanned="2" o:value-type="currency" o:currency="EUR" o:value="3"/>'
        '<t:table-cell t:formula="of:=SUM([.A1:.B2];[$Other.C3])" o:value-type="float" o:value="4">'
        "<o:annotation><d:creator>Ada</d:creator><x:p>so what</x:p></o:annotation></t:table-cell>"
        "</t:table-row></t:table>"
    )
    spaces = (("t", "table"), ("o", "office"), ("x", "text"), ("d", "dc"))
    names = " ".join(f'xmlns:{key}="{OPENDOCUMENT}:{name}:1.0"' for key, name in spaces)
    content = f"<o:document {names}><o:body><o:spreadsheet>{table}</o:spreadsheet></o:body></o:document>"
    package = ooxml.Package(packed(**{"content.xml": content}))

    extras = ods.extras_by_sheet(package, Images(package, {}))["Page"]

    assert extras.texts == {(2, 0): "#N/A", (2, 1): "12.5%", (2, 2): "3 EUR"}
    assert extras.formulas == {(2, 0): "NA()", (2, 3): "SUM(A1:B2;$Other.C3)"}
    assert extras.header_lines() == ["[hidden: rows 3; columns C]", "[merged: C3:D3]"]
    assert extras.blocks == ["Comments:", "- D3 (Ada): so what"]


def test_charts_of_an_opendocument_sheet_are_tables_or_ranges():
    spaces = (("t", "table"), ("o", "office"), ("x", "text"), ("c", "chart"), ("w", "drawing"))
    names = " ".join(f'xmlns:{key}="{OPENDOCUMENT}:{name}:1.0"' for key, name in spaces)
    names += ' xmlns:l="http://www.w3.org/1999/xlink"'
    table = (
        '<t:table t:name="Page"><t:shapes><w:draw:frame xmlns:draw="x"/></t:shapes><t:table-row><t:table-cell>'
        '<w:frame><w:object l:href="./Object 1"/></w:frame><w:frame><w:object l:href="./Object 2/"/></w:frame>'
        "</t:table-cell></t:table-row></t:table>"
    ).replace("<w:draw:frame", "<draw:frame")
    content = f"<o:document {names}><o:body><o:spreadsheet>{table}</o:spreadsheet></o:body></o:document>"
    series = '<c:series c:values-cell-range-address="Page.$A$1:.$A$3"/>'
    numbers = "<t:table><t:table-row><t:table-cell><x:p>7</x:p></t:table-cell></t:table-row></t:table>"
    part = f'<o:document {names}><o:body><c:chart c:class="c:bar">{{}}</c:chart></o:body></o:document>'
    package = ooxml.Package(
        packed(
            **{
                "content.xml": content,
                "Object 1/content.xml": part.format(series + numbers),
                "Object 2/content.xml": part.format(series),
            }
        )
    )

    extras = ods.extras_by_sheet(package, Images(package, {}))["Page"]

    assert extras.blocks == ["[chart: bar]", "| 7 |\n| --- |", "[chart: bar]", "[values: Page.$A$1:.$A$3]"]


def test_a_sheet_of_old_macros_is_shown_like_others():
    macros = "http://schemas.microsoft.com/office/2006/relationships/xlMacrosheet"
    space = f'xmlns="{SHEET}"'
    cell = '<sheetData><row r="1"><c r="A1"><v>{}</v></c></row></sheetData>'
    sheets = '<sheet name="One" sheetId="1" r:id="a"/><sheet name="Macros" sheetId="2" r:id="b"/>'
    made = packed(
        **{
            "_rels/.rels": relations(a=("officeDocument", "xl/workbook.xml")),
            "xl/workbook.xml": f'<workbook {space} xmlns:r="{OFFICE_RELATIONS}"><sheets>{sheets}</sheets></workbook>',
            "xl/_rels/workbook.xml.rels": relations(a=("worksheet", "a.xml"), b=("x", "b.xml")).replace(
                f"{OFFICE_RELATIONS}/x", macros
            ),
            "xl/a.xml": f"<worksheet {space}>{cell.format(7)}</worksheet>",
            "xl/b.xml": f'<m:macrosheet xmlns:m="urn:m" {space}>{cell.format(8)}</m:macrosheet>',
        }
    )

    made.seek(0)
    answer = sheet.decode(made, {})[1][0].decode()

    assert rows_of(answer) == ["| 1 | 7 |", "| 1 | 8 |"]


def test_further_names_of_a_list_are_counted():
    names = [f"A{number}" for number in range(cells.MAX_LISTED + 3)]

    assert cells.listed(names).endswith(f"{names[cells.MAX_LISTED - 1]} and 3 more")


def test_copies_of_a_missing_formula_are_counted():
    rows = '<row r="1"><c r="A1"><f t="shared" si="7"/><v>5</v></c></row>'

    made = workbook({"Page": rows})

    assert "[1 formula not shown: the one that they copy is missing]" in made
    assert "| 1 | 5 |" in made
