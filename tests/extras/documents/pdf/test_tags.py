"""Tables of tagged PDFs: rows and cells are those of the tags."""

from __future__ import annotations

import pytest

from eyespan import Workspace
from tests.extras.documents.pdf.test_layout import markdown
from tests.readers.pdf_files import pages


def tagged(rows, spans=None, tags=("Table", "TR", "TD")) -> bytes:
    """Return a PDF with a table; its cells stand so close to each other that their places do not divide them."""
    content, cells, elements = [], [], {}
    numbers = iter(range(100, 1000))
    mcid = 0
    for row, texts in enumerate(rows):
        row_cells = []
        row_number = next(numbers)
        for column, text in enumerate(texts):
            place = f"{72 + 33 * column} {700 - 14 * row}"
            content.append(f"/{tags[2]} <</MCID {mcid}>> BDC BT /F1 10 Tf {place} Td ({text}) Tj ET EMC")
            number = next(numbers)
            extra = f"/A << /O /Table {spans[row, column]} >>" if spans and (row, column) in spans else ""
            elements[number] = f"<< /Type /StructElem /S /{tags[2]} /P {row_number} 0 R /Pg 10 0 R /K {mcid} {extra} >>"
            row_cells.append(number)
            mcid += 1
        cells.append((row_number, row_cells))
    for number, row_cells in cells:
        kids = " ".join(f"{cell} 0 R" for cell in row_cells)
        elements[number] = f"<< /Type /StructElem /S /{tags[1]} /P 51 0 R /K [{kids}] >>"
    kids = " ".join(f"{number} 0 R" for number, _ in cells)
    parents = " ".join(f"{cell} 0 R" for _, row_cells in cells for cell in row_cells)
    elements |= {
        50: "<< /Type /StructTreeRoot /K [51 0 R] /ParentTree 52 0 R >>",
        51: f"<< /Type /StructElem /S /{tags[0]} /P 50 0 R /K [{kids}] >>",
        52: f"<< /Nums [0 [{parents}]] >>",
    }
    catalog = "/MarkInfo << /Marked true >> /StructTreeRoot 50 0 R"
    data = pages(" ".join(content), catalog=catalog, more=elements)
    return data.replace(b"/MediaBox", b"/StructParents 0 /MediaBox", 1)


def shown(tmp_path, data):
    (tmp_path / "a.pdf").write_bytes(data)
    text = Workspace(tmp_path).tool("native").call({"files": "a.pdf"}).text
    return [line.partition("\t")[2] for line in text.split("\n") if "|" in line]


ROWS = (("Name", "Unit"), ("flow", "m3"), ("tide", "cm"))


def test_cells_are_those_of_the_tags(tmp_path):
    assert shown(tmp_path, tagged(ROWS)) == markdown(ROWS).split("\n")


def test_two_rows_are_enough(tmp_path):
    assert shown(tmp_path, tagged(ROWS[:2])) == markdown(ROWS[:2]).split("\n")


def test_a_cell_that_spans_others_stands_in_the_first(tmp_path):
    rows = (("Sizes",), ("low", "high"), ("1", "2"))

    found = shown(tmp_path, tagged(rows, {(0, 0): "/ColSpan 2"}))

    assert found == markdown((("Sizes", ""), *rows[1:])).split("\n")


def test_a_cell_that_spans_rows_leaves_those_below_empty(tmp_path):
    rows = (("A", "B"), ("x", "1"), ("2",), ("y", "3"))

    found = shown(tmp_path, tagged(rows, {(1, 0): "/RowSpan 2"}))

    assert found == markdown((("A", "B"), ("x", "1"), ("", "2"), ("y", "3"))).split("\n")


@pytest.mark.parametrize(
    "data",
    [
        tagged((("a", "b"), ("c",), ("d", "e"))),
        tagged((("a",), ("b",))),
        tagged((("long text " * 12, "more text " * 12), ("and text " * 12, "words " * 20))),
        tagged(ROWS, tags=("Div", "P", "Span")),
    ],
    ids=["uneven", "one column", "running text", "no table"],
)
def test_other_tags_make_no_table(tmp_path, data):
    assert shown(tmp_path, data) == []
