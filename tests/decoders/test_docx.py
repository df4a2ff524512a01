"""Word documents as Markdown."""

from __future__ import annotations

import pytest

from eyespan.decoders import xml_tree

from .office_files import FIXTURES, expected, paragraph, text, word, words


@pytest.mark.parametrize("name", ["report.docx", "harbor.docx"])
def test_all_words_are_there_in_the_order_that_pandoc_gives_them(name):
    numbers = ("1", "¹")  # of notes: each program writes them in its own way
    comment = ["Ada", "a", "comment"] if name == "report.docx" else []  # pandoc leaves comments out
    known = [word for word in words(expected(f"{name}.expected.txt")) if word not in numbers]

    assert [word for word in words(text(FIXTURES / name)) if word not in numbers] == known + comment


def test_headings_lists_tables_links_notes_and_comments_are_converted():
    shown = text(FIXTURES / "report.docx")

    assert shown.startswith(
        "# Harbor report\n\nThe harbor was busy this week. See the [tide tables](https://example.org/"
    )
    assert "- Ferry Aurora\n- Trawler “Mönch”\n  - with ice damage\n  - under tow\n- Yacht 漢字丸\n\n" in shown
    assert "\n\n1. inspect\n2. repair\n3. release\n\n" in shown
    assert "| Ship | Days | Fee |\n| --- | --- | --- |\n| Aurora | 2 | 80.50 |" in shown
    assert "\n[^21]: Heights are in metres above chart datum.\n[comment 0]: Ada: a comment\n" in shown
    assert "deleted" not in shown
    assert "inserted" in shown


def test_styles_decide_on_headings_and_lists():
    styles = (
        '<w:style w:styleId="a"><w:name w:val="x"/><w:basedOn w:val="b"/></w:style>'
        '<w:style w:styleId="b"><w:name w:val="y"/><w:basedOn w:val="a"/></w:style>'
        '<w:style w:styleId="t"><w:name w:val="Title"/></w:style>'
        '<w:style w:styleId="o"><w:name w:val="z"/><w:outlineLvl w:val="2"/></w:style>'
        '<w:style w:styleId="l"><w:name w:val="List"/><w:numId w:val="1"/></w:style>'
        '<w:style w:styleId="m"><w:name w:val="More"/><w:basedOn w:val="l"/></w:style>'
    )
    numbering = (
        '<w:abstractNum w:abstractNumId="7"><w:lvl w:ilvl="0"><w:numFmt w:val="decimal"/></w:lvl>'
        '<w:lvl w:ilvl="1"><w:numFmt w:val="none"/></w:lvl></w:abstractNum>'
        '<w:num w:numId="1"><w:abstractNumId w:val="7"/></w:num>'
    )
    body = "".join(paragraph(style, style) for style in "abtolm") + paragraph("unknown", "q")
    body += paragraph("deep", "l", '<w:numPr><w:ilvl w:val="1"/></w:numPr>') + paragraph(
        "own", "", '<w:outlineLvl w:val="0"/>'
    )

    assert word(body, styles=styles, numbering=numbering) == (
        "a\n\nb\n\n# t\n\n### o\n\n1. l\n2. m\n\nunknown\n\ndeep\n\n# own\n"
    )
    assert (
        word(paragraph("x", "l", '<w:numPr><w:numId w:val="9"/></w:numPr>')) == "- x\n"
    )  # without styles and numbering


def test_breaks_hyphens_boxes_and_tables_in_tables():
    run = "<w:r><w:t>{}</w:t></w:r>"
    body = (
        f"<w:p>{run.format('a')}<w:r><w:tab/><w:br/></w:r>{run.format('b')}<w:r><w:noBreakHyphen/><w:cr/></w:r>"
        f'<w:r><w:br w:type="page"/></w:r>{run.format("c")}</w:p>'
        f"<w:p>{run.format('out')}<w:r><w:p>{run.format('box')}</w:p></w:r></w:p><w:p/>"
        f'<w:p><w:hyperlink r:id="none">{run.format("no target")}</w:hyperlink></w:p>'
        f"<w:tbl><w:tr><w:tc><w:tcPr><w:gridSpan w:val='2'/></w:tcPr>{paragraph('wide')}</w:tc></w:tr>"
        f"<w:tr><w:tc><w:tbl><w:tr><w:tc>{paragraph('in')}</w:tc></w:tr></w:tbl></w:tc><w:tc>{paragraph('x|y')}</w:tc>"
        "</w:tr></w:tbl><w:tbl></w:tbl>"
    )

    assert word(body) == ("a\nb-\nc\n\nout\nbox\n\nno target\n\n| wide |  |\n| --- | --- |\n| in | x\\|y |\n")


def test_a_cell_without_a_row_or_a_table_is_shown():
    cell = f"<w:tc>{paragraph('a')}</w:tc>"

    assert word(f"<w:tbl>{cell}{cell}</w:tbl>") == "| a | a |\n| --- | --- |\n"
    assert word(f"{cell}{paragraph('b')}") == "a\n\nb\n"


def test_an_image_is_shown_by_its_description():
    drawing = 'xmlns:d="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing"'

    assert word(f'<w:p><w:r><d:docPr {drawing} descr="a  boat"/></w:r></w:p>') == "![a boat]\n"


def test_a_table_in_a_text_box_is_shown_row_by_row():
    row = f"<w:tr><w:tc>{paragraph('a')}</w:tc><w:tc>{paragraph('b')}</w:tc></w:tr>"

    assert word(f"<w:p><w:r><w:t>before</w:t><w:tbl>{row}{row}</w:tbl></w:r></w:p>") == "before\na b\na b\n"


def test_deleted_moved_and_alternative_text_is_left_out():
    run = "<w:r><w:t>{}</w:t></w:r>"
    markup = 'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
    body = (
        f"<w:p>{run.format('kept')}<w:del><w:del>{run.format('x')}</w:del>{run.format('x')}</w:del>"
        f"<w:moveFrom>{run.format('x')}</w:moveFrom><w:ins>{run.format(' new')}</w:ins>"
        f"<mc:AlternateContent {markup}><mc:Choice>{run.format(' choice')}</mc:Choice>"
        f"<mc:Fallback>{run.format('x')}</mc:Fallback></mc:AlternateContent></w:p>"
    )

    assert word(body) == "kept new choice\n"


@pytest.mark.parametrize("piece_bytes", [1, 7, 100, 1000])
def test_a_document_is_the_same_in_pieces_of_any_size(monkeypatch, piece_bytes):
    row = f"<w:tr><w:tc>{paragraph('a')}<w:tbl><w:tr><w:tc>{paragraph('in')}</w:tc></w:tr></w:tbl></w:tc></w:tr>"
    body = f"{paragraph('first')}<w:tbl>{row * 3}</w:tbl><w:sdt>{paragraph('é')}</w:sdt><w:tbl>{row}</w:tbl><w:sectPr/>"
    whole = word(body)
    monkeypatch.setattr(xml_tree, "_PIECE_BYTES", piece_bytes)

    assert word(body) == whole
    assert whole == ("first\n\n| a<br>in |\n| --- |\n| a<br>in |\n| a<br>in |\n\né\n\n| a<br>in |\n| --- |\n")
