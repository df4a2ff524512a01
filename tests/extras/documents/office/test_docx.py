"""Word documents as Markdown."""

from __future__ import annotations

import re

import pytest

from eyespan.extras.documents.office import docx
from eyespan.extras.documents.shared import xml_tree
from tests.extras.documents.office_files import (
    FIXTURES,
    GIF,
    OFFICE_RELATIONS,
    WORD,
    expected,
    packed,
    paragraph,
    relations,
    text,
    word,
    words,
)


@pytest.mark.parametrize("name", ["report.docx", "harbor.docx"])
def test_all_words_are_there_in_the_order_that_pandoc_gives_them(name):
    numbers = ("1", "¹")  # of notes: each program writes them in its own way
    comment = ["Ada", "a", "comment"] if name == "report.docx" else []  # pandoc leaves comments out
    known = [word for word in words(expected(f"{name}.expected.txt")) if word not in numbers]
    shown = re.sub(r"\{--.*?--\}|^\[tracked.*\n|^\[footer\]\n\n.*", "", text(FIXTURES / name), flags=re.M)

    assert [word for word in words(shown) if word not in numbers] == known + comment


def test_headings_lists_tables_links_notes_and_comments_are_converted():
    shown = text(FIXTURES / "report.docx")

    assert shown.startswith(
        "[tracked changes by Ada: {++inserted++}, {--deleted--}]\n\n"
        "# Harbor report\n\nThe harbor was busy this week. See the [tide tables](https://example.org/"
    )
    assert "- Ferry Aurora\n- Trawler “Mönch”\n  - with ice damage\n  - under tow\n- Yacht 漢字丸\n\n" in shown
    assert "\n\n1. inspect\n2. repair\n3. release\n\n" in shown
    assert "| Ship | Days | Fee |\n| --- | --- | --- |\n| Aurora | 2 | 80.50 |" in shown
    assert "\n[^21]: Heights are in metres above chart datum.\n[comment 0]: Ada: a comment\n" in shown
    assert re.findall(r"\{(?:\+\+|--).*\}", shown.split("\n", 1)[1]) == [
        "{++inserted++} and text that was {--deleted--}"
    ]


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

    shape = f'<w:drawing><d:docPr {drawing} descr="a  boat"/></w:drawing>'

    assert word(f"<w:p><w:r>{shape}</w:r></w:p>") == "![a boat]\n"


def test_a_table_in_a_text_box_is_shown_row_by_row():
    row = f"<w:tr><w:tc>{paragraph('a')}</w:tc><w:tc>{paragraph('b')}</w:tc></w:tr>"

    assert word(f"<w:p><w:r><w:t>before</w:t><w:tbl>{row}{row}</w:tbl></w:r></w:p>") == "before\na | b\na | b\n"


def test_changes_are_marked_and_alternative_text_is_left_out():
    run = "<w:r><w:t>{}</w:t></w:r>"
    markup = 'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
    body = (
        f"<w:p>{run.format('kept')}<w:del w:author='Eve'><w:r><w:delText> old</w:delText></w:r></w:del>"
        f"<w:moveFrom>{run.format(' here')}</w:moveFrom><w:ins w:author='Ada  L'>{run.format(' new')}</w:ins>"
        f"<mc:AlternateContent {markup}><mc:Choice>{run.format(' choice')}</mc:Choice>"
        f"<mc:Fallback>{run.format('x')}</mc:Fallback></mc:AlternateContent><w:ins/></w:p>"
    )

    assert word(body) == (
        "[tracked changes by Ada L, Eve: {++inserted++}, {--deleted--}]\n\nkept{-- old--}{-- here--}{++ new++} choice\n"
    )


MATH = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
SCRIPT = "<m:sSup><m:e><m:r><m:t>10</m:t></m:r></m:e><m:sup><m:r><m:t>-4</m:t></m:r></m:sup></m:sSup>"
POWER = f"<m:oMath {MATH}>{SCRIPT}</m:oMath>"


def test_equations_are_latex():
    assert word(f"<w:p><w:r><w:t>about </w:t></w:r>{POWER}</w:p>") == "about ${10}^{-4}$\n"
    assert word(f"<w:p><m:oMathPara {MATH}>{POWER}</m:oMathPara></w:p>") == "$${10}^{-4}$$\n"
    assert word(f"<m:oMathPara {MATH}>{POWER}</m:oMathPara>") == "$${10}^{-4}$$\n"


def test_headers_and_footers_are_shown_once_with_their_pages():
    sections = (
        '<w:p><w:pPr><w:sectPr><w:headerReference w:type="first" r:id="header"/></w:sectPr></w:pPr></w:p>'
        '<w:sectPr><w:headerReference w:type="default" r:id="header"/><w:footerReference r:id="footer"/></w:sectPr>'
    )

    shown = word(paragraph("body") + sections, header=paragraph("top"), footer=paragraph("bottom"))

    assert shown == "body\n\n[header of the first page]\n\ntop\n\n[footer]\n\nbottom\n"
    assert word(paragraph("body"), footer=paragraph("bottom")) == "body\n\n[footer, of no section]\n\nbottom\n"


def test_a_document_of_nothing_but_a_header_has_text():
    assert (
        word('<w:sectPr><w:headerReference r:id="header"/></w:sectPr>', header=paragraph("top")) == "[header]\n\ntop\n"
    )


def test_images_charts_and_embedded_files_are_shown_or_named():
    drawing = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
    chart = 'xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart"'
    body = (
        f'<w:p><w:r><w:t>see </w:t></w:r><w:r><w:drawing {drawing}><a:docPr descr="a boat"/><a:blip r:embed="image"/>'
        f'<c:chart {chart} r:id="chart"/></w:drawing></w:r><w:r><w:t>there</w:t></w:r></w:p>'
        '<w:p><w:r><w:pict><v:shape xmlns:v="urn:schemas-microsoft-com:vml"><v:imagedata r:id="far"/></v:shape>'
        "</w:pict></w:r></w:p>"
    )
    files = {
        "word/document.xml": f'<w:document xmlns:w="{WORD}" xmlns:r="{OFFICE_RELATIONS}">{body}</w:document>',
        "word/_rels/document.xml.rels": relations(image=("image", "media/a.gif"), chart=("chart", "charts/c.xml")),
        "word/media/a.gif": GIF,
        "word/media/b.gif": GIF,
        "word/charts/c.xml": f"<c:chartSpace {chart}><c:chart><c:pieChart/></c:chart></c:chartSpace>",
        "word/charts/_rels/c.xml.rels": relations(x=("package", "../embeddings/data.xlsx")),
        "word/embeddings/data.xlsx": "the numbers of the chart",
        "word/embeddings/other.bin": "?",
        "word/vbaProject.bin": "?",
    }

    assert docx.decode(packed(**files), {"name": "in/a.docx"})[1][0].decode() == (
        "see there\n\n![a boat](in/a.docx!/word/media/a.gif) (5x7)\n\n[chart: pie]\n\n---\n\n"
        "[embedded file: in/a.docx!/word/embeddings/other.bin]\n"
        "[media without a place in the text: in/a.docx!/word/media/b.gif]\n[macros are left out]\n"
    )


def test_links_of_fields_keep_their_targets():
    def mark(kind):
        return f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>'

    field = (
        f'{mark("begin")}<w:r><w:instrText> HYPERLINK "https://a.example/" \\o</w:instrText></w:r>{mark("separate")}'
        f"<w:r><w:t>there</w:t></w:r>{mark('end')}<w:r><w:t>!</w:t></w:r>"
    )
    simple = '<w:fldSimple w:instr="PAGE"><w:r><w:t>3</w:t></w:r></w:fldSimple>'

    assert word(f"<w:p>{field}{simple}</w:p>") == "[there](https://a.example/)!3\n"


def test_labels_of_lists_have_their_format_and_start():
    numbering = (
        '<w:abstractNum w:abstractNumId="7">'
        '<w:lvl w:ilvl="0"><w:start w:val="3"/><w:numFmt w:val="upperRoman"/><w:lvlText w:val="%1)"/></w:lvl>'
        '<w:lvl w:ilvl="1"><w:numFmt w:val="lowerLetter"/><w:lvlText w:val="%1.%2."/></w:lvl></w:abstractNum>'
        '<w:num w:numId="1"><w:abstractNumId w:val="7"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="7"/></w:num>'
        '<w:num w:numId="3"><w:abstractNumId w:val="7"/><w:lvlOverride w:ilvl="0"><w:startOverride w:val="1"/>'
        "</w:lvlOverride></w:num>"
    )

    def item(number, level=0):
        return paragraph("x", "", f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{number}"/></w:numPr>')

    body = (
        item(1)
        + item(1, 1)
        + item(2)
        + item(3)
        + paragraph("Head", "", '<w:outlineLvl w:val="0"/><w:numPr><w:numId w:val="3"/></w:numPr>')
    )

    assert word(body, numbering=numbering) == "III) x\n  III.a. x\nIV) x\nI) x\n\n# II) Head\n"


@pytest.mark.parametrize("piece_bytes", [1, 7, 100, 1000])
def test_a_document_is_the_same_in_pieces_of_any_size(monkeypatch, piece_bytes):
    row = f"<w:tr><w:tc>{paragraph('a')}<w:tbl><w:tr><w:tc>{paragraph('in')}</w:tc></w:tr></w:tbl></w:tc></w:tr>"
    body = f"{paragraph('first')}<w:tbl>{row * 3}</w:tbl><w:sdt>{paragraph('é')}</w:sdt><w:tbl>{row}</w:tbl><w:sectPr/>"
    whole = word(body)
    monkeypatch.setattr(xml_tree, "_PIECE_BYTES", piece_bytes)

    assert word(body) == whole
    assert whole == ("first\n\n| a<br>in |\n| --- |\n| a<br>in |\n| a<br>in |\n\né\n\n| a<br>in |\n| --- |\n")
