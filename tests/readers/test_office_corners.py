"""The corners of office files and web pages: what few programs write, and what only damage or malice does."""

from __future__ import annotations

import importlib.util
import io
import re
import struct
import sys
import zipfile
from pathlib import Path

import pytest
from packing import DRAWING, OFFICE_RELATIONS, PPTX, packed, paragraph, relations, word

from eyespan.decoders import docx, html, markdown, ooxml, pptx, scan, sheet
from eyespan.errors import Missing, Unreadable

FIXTURES = Path(__file__).parent.parent / "fixtures" / "office"


# --- what is made ready ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("decoder", "name"), [(docx, "harbor.docx"), (pptx, "talk.pptx"), (pptx, "talk_office.pptx")])
def test_a_decoder_that_has_rehearsed_makes_no_expression_for_a_plain_document(decoder, name, monkeypatch):
    """Each takes milliseconds; made before the fork, they are made once for all jobs. (Notes take one more.)"""
    for tags in (docx._TAGS, pptx._TAGS, pptx._ORDER, ooxml._RELATIONS):
        monkeypatch.setattr(tags, "_plans", {})
    re.purge()
    decoder.rehearse()
    made = []
    compiler = re._compiler.compile
    monkeypatch.setattr(re._compiler, "compile", lambda *what: made.append(what) or compiler(*what))

    with (FIXTURES / name).open("rb") as file:
        decoder.decode(file, {"seconds": 10})

    assert made == []


@pytest.mark.parametrize(
    ("reader", "needs", "file"),
    [(sheet, "python_calamine", "ledger.xlsx"), (html, "selectolax.lexbor", "page.html")],
)
def test_a_reader_whose_package_is_not_installed_is_loaded_all_the_same_and_says_what_to_install(
    reader, needs, file, monkeypatch
):
    monkeypatch.setitem(sys.modules, needs, None)
    spec = importlib.util.spec_from_file_location("reader_without_its_package", reader.__file__)
    lacking = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(lacking)

    with (FIXTURES / file).open("rb") as opened, pytest.raises(Missing, match=re.escape("eyespan[docs]")):
        lacking.decode(opened, {})


# --- packages -------------------------------------------------------------------------------------------------------


def found_in(data: bytes) -> bytes:
    return ooxml.Package(io.BytesIO(data), "docx").read("a.xml")


def test_a_directory_that_only_the_library_knows_is_read_by_it(monkeypatch):
    plain = packed(**{"a.xml": "<a/>"})
    assert ooxml._directory(plain.getvalue())
    commented, named = packed(**{"a.xml": "<a/>"}), packed(**{"a.xml": "<a/>", "ä.xml": "<b/>"})
    with zipfile.ZipFile(commented, "a") as archive:
        archive.comment = b"made by hand"

    for other in (commented.getvalue(), named.getvalue()):
        assert ooxml._directory(other) == []
        assert found_in(other) == b"<a/>"
    monkeypatch.setattr(ooxml, "MAX_HELD_BYTES", 1)
    assert found_in(plain.getvalue()) == b"<a/>"


def test_a_directory_with_fewer_entries_than_it_says_is_the_library_s_too():
    data = bytearray(packed(**{"a.xml": "<a/>"}).getvalue())
    struct.pack_into("<2H", data, len(data) - 14, 2, 2)

    assert ooxml._directory(bytes(data)) == []
    assert found_in(bytes(data)) == b"<a/>"


def test_a_large_part_is_unpacked_no_further_than_it_says():
    text = "".join(f"<a>{number * 7919 % 99991}</a>" for number in range(9000))
    data = packed(**{"a.xml": text}).getvalue()
    assert ooxml._directory(data)[0].packed_bytes > ooxml.SMALL_BYTES
    assert found_in(data) == text.encode()
    lying = bytearray(data)
    struct.pack_into("<L", lying, data.rindex(b"PK\1\2") + 24, 10)

    with pytest.raises(Unreadable, match=r"its part a\.xml is damaged"):
        found_in(bytes(lying))


def test_a_relation_that_leads_nowhere_is_nothing():
    rows = relations(a=("slide", "one.xml"), b=("slide", "../two.xml"), c=("slide", ""), d=("slide", "/x/%41.xml"))
    found = ooxml.Package(packed(**{"ppt/_rels/show.xml.rels": rows}), "pptx").relations("ppt/show.xml")

    assert [target for _, target in found.values()] == ["ppt/one.xml", "two.xml", "", "x/A.xml"]


# --- a search instead of a parser -----------------------------------------------------------------------------------

WORD = "urn:wordprocessingml"


def part(body):
    return f'<w:document xmlns:w="{WORD}">{body}</w:document>'.encode()


def walked(walk, data, tags):
    told = []
    try:
        walk(data, "docx", "a.xml", lambda *what: told.append(what), told.append, told.append, tags)
    except Unreadable as error:
        return type(error)
    return told


def some_tags():
    return scan.Tags(("w:p", "w:tbl", "w:tab"), ended=("w:p", "w:tbl"), texts=("w:t",), skipped=("w:del", "w:moveFrom"))


@pytest.mark.parametrize(
    "body",
    [
        "<w:p><w:del><w:del><w:t>a</w:t></w:del><w:t>b</w:t></w:del><w:t>c</w:t></w:p>",
        "<w:del><w:moveFrom/></w:del><w:tab/>",
        "<w:del><w:moveFrom></w:moveFrom><w:del/></w:del><w:tab/>",
        "<w:t/><w:t></w:t><w:t /><w:p/><w:p></w:p>",
    ],
)
def test_what_is_left_out_or_empty_is_so_for_a_parser_too(body):
    assert scan.scan(part(body), some_tags(), ooxml._prefix)
    assert walked(ooxml.walk_xml, part(body), some_tags()) == walked(ooxml.parse_xml, part(body), some_tags())


@pytest.mark.parametrize(
    "body",
    [
        "<w:p></w:tbl>",
        "</w:p><w:p>",
        "<w:p><w:tbl></w:p></w:tbl>",
        "<w:tab/></w:del>",
        "<w:p></w:del></w:p>",
        "<w:del><w:p></w:del>",
    ],
)
def test_tags_that_do_not_pair_are_damage_and_told_as_that(body):
    """The first three once passed: as many ends as starts, but not of the same elements."""
    assert walked(ooxml.parse_xml, part(body), some_tags()) is Unreadable
    if body != "<w:del><w:p></w:del>":  # nobody looks into what is left out
        assert walked(ooxml.walk_xml, part(body), some_tags()) is Unreadable


def test_a_part_too_large_to_be_searched_at_once_is_parsed(monkeypatch):
    data = part("<w:p><w:t>a</w:t></w:p>")
    expected = walked(ooxml.walk_xml, data, some_tags())
    monkeypatch.setattr(scan, "MAX_BYTES", len(data) - 1)

    with pytest.raises(scan.Intricate):
        scan.scan(data, some_tags(), ooxml._prefix)
    assert walked(ooxml.walk_xml, data, some_tags()) == expected


def test_what_is_remembered_of_parts_is_bounded_and_changes_nothing(monkeypatch):
    monkeypatch.setattr(scan, "_MAX_KEPT", 2)
    tags = some_tags()

    for number in range(5):
        body = f'<w:p a="{number}" xmlns:w{number}="urn:x"/><w:tab b="{number}"/>'
        data = f'<w:document xmlns:w="{WORD}" n="{number}">{body}</w:document>'.encode()
        assert walked(ooxml.walk_xml, data, tags) == walked(ooxml.parse_xml, data, tags)
        same = f'<w:document xmlns:w="{WORD}">{"".join(f"<w:tab c={chr(34)}{n}{chr(34)}/>" for n in range(5))}'
        assert len(walked(ooxml.walk_xml, f"{same}</w:document>".encode(), tags)) == 5

    assert len(tags.heads) == len(tags._plans) == 2
    assert {len(plan.kept) for plan in tags._plans.values()} == {2}


# --- documents ------------------------------------------------------------------------------------------------------


def test_a_cell_without_a_row_or_a_table_is_shown_all_the_same():
    cell = f"<w:tc>{paragraph('a')}</w:tc>"

    assert word(f"<w:tbl>{cell}{cell}</w:tbl>") == "| a | a |\n| --- | --- |\n"
    assert word(f"{cell}{paragraph('b')}") == "a\n\nb\n"


# --- slides ---------------------------------------------------------------------------------------------------------


def slides(*trees, attributes="", notes="", ids=None):
    """What the decoder makes of slides with these shapes; all have the same attributes and notes."""
    names = f'xmlns:p="{PPTX}" xmlns:a="{DRAWING}" xmlns:r="{OFFICE_RELATIONS}"'
    numbers = range(len(trees))
    listed = "".join(f'<p:sldId id="{256 + n}" r:id="s{n}"/>' for n in (numbers if ids is None else ids))
    files = {
        "_rels/.rels": relations(a=("officeDocument", "ppt/presentation.xml")),
        "ppt/presentation.xml": f"<p:presentation {names}><p:sldIdLst>{listed}</p:sldIdLst></p:presentation>",
        "ppt/_rels/presentation.xml.rels": relations(**{f"s{n}": ("slide", f"slides/{n}.xml") for n in numbers}),
        "ppt/notes.xml": f"<p:notes {names}><p:sp>{notes}</p:sp></p:notes>",
        **{f"ppt/slides/_rels/{n}.xml.rels": relations(n=("notesSlide", "../notes.xml")) for n in numbers},
        **{f"ppt/slides/{n}.xml": f"<p:sld {names} {attributes}>{tree}</p:sld>" for n, tree in enumerate(trees)},
    }
    return pptx.decode(packed(**files), {"seconds": 10})[1][0].decode()


def line(text):
    return f"<a:p><a:r><a:rPr/><a:t>{text}</a:t></a:r></a:p>"


@pytest.mark.parametrize(
    ("attributes", "mark"), [('show="0"', " (hidden)"), ('show="false"', " (hidden)"), ('show="1"', ""), ("", "")]
)
def test_a_slide_that_is_not_shown_is_told_as_that(attributes, mark):
    assert slides(f"<p:sp>{line('text')}</p:sp>", attributes=attributes) == f"## Slide 1{mark}\n\ntext\n"


def test_slides_come_in_the_order_of_the_show_and_those_that_are_missing_are_passed_over():
    shown = slides(f"<p:sp>{line('one')}</p:sp>", f"<p:sp>{line('two')}</p:sp>", ids=[1, 7, 0])

    assert shown == "## Slide 1\n\ntwo\n\n## Slide 2\n\none\n"


def test_lines_of_one_run_and_of_more_are_told_alike():
    """The first are found by one search, the others piece by piece; both start anew, also after a list."""
    tree = (
        f'<p:sp><p:ph type="title"/>{line("The")}{line(" title ")}</p:sp>'
        f'<p:sp><p:ph/>{line("item")}<a:p><a:pPr lvl="1"/><a:r><a:t>in</a:t></a:r><a:r><a:t>ner</a:t></a:r></a:p>'
        f"{line('last')}{line(' ')}<a:p></a:p></p:sp>"
        f'<p:sp><p:ph type="ftr"/>{line("left out")}</p:sp><p:sp><p:cNvPr descr=""/>{line("plain")}</p:sp>'
    )

    assert slides(tree) == "## Slide 1: The title\n\n- item\n  - inner\n- last\n\nplain\n"


def test_notes_are_shown_if_there_are_any():
    assert slides("", notes=line("say this")) == "## Slide 1\n\nNotes:\n\n> say this\n"
    assert slides("", notes=line(" ")) == "## Slide 1\n"


def test_no_text_of_a_table_on_a_slide_is_lost():
    def cell(inside):
        return f"<a:tc>{inside}</a:tc>"

    table = f"<a:tbl><a:tr>{cell(line('a') + line('b'))}{cell('')}</a:tr></a:tbl>"
    no_row = f"<a:tbl>{cell(line('a'))}</a:tbl>"
    inside = f"<a:tbl><a:tr>{cell(line('x') + table + line('y'))}{cell(line('z'))}</a:tr></a:tbl>"

    assert slides(table) == "## Slide 1\n\n| a<br>b |  |\n| --- | --- |\n"
    assert slides(no_row + line("after")) == "## Slide 1\n\n| a |\n| --- |\n\nafter\n"
    assert slides(cell(line("a")) + line("after")) == "## Slide 1\n\na\n\nafter\n"
    assert slides(inside) == "## Slide 1\n\n| x |\n| --- |\n\n| a<br>b |  |\n| --- | --- |\n\ny\n\nz\n"


def test_text_around_a_comment_is_none_of_it():
    comments = '<p:cmLst xmlns:p="urn:p">\n  <p:cm authorId="0">\n    <p:text>why</p:text>\n  </p:cm>\n</p:cmLst>'

    found = pptx._comments(ooxml.Package(packed(**{"a.xml": comments}), "pptx"), "a.xml", {"0": "Ada"})

    assert found == ["> Comment by Ada: why"]


# --- sheets ---------------------------------------------------------------------------------------------------------


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


def test_comments_of_sheets_are_told_where_there_are_any():
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


# --- pages ----------------------------------------------------------------------------------------------------------


def page(markup):
    return "\n\n".join(html.convert(markup)[1])


@pytest.mark.parametrize(
    "left_out",
    ["<script>x()</script>", "<style>x{}</style>", "<noscript>x</noscript>", "<svg><text>x</text></svg>", "<!-- x -->"],
)
def test_what_nobody_reads_on_a_page_is_left_out(left_out):
    assert page(f"<p>before {left_out}after</p>") == "before after"


def test_code_is_marked_and_what_is_preformatted_stays_as_it_is():
    assert page("<p>call <code>f( )</code> once</p><pre>a  <code>b\n c</code></pre>") == (
        "call `f( )` once\n\n```\na  b\n c\n```"
    )


def test_white_space_is_one_blank_and_none_at_a_line_s_start():
    assert page("<p>  <b>a</b>\n <i> b</i><br> \n c </p>") == "a b\nc"


def test_a_page_of_frames_has_no_text():
    assert html.convert("<title>t</title><frameset><frame src=a></frameset>") == ("t", [])


def test_paragraphs_of_a_cell_stay_apart():
    assert page("<table><tr><td><p>a</p><p>b</p></td><td><br><p>c</table>") == "| a<br>b | c |\n| --- | --- |"


def test_no_text_around_a_table_in_a_table_is_lost():
    """Mails are laid out so. All that stood before it in the cell was lost once."""
    inner = "<table><tr><td>x</td><td>y</td></tr><tr><td></td></tr><tr><td>z</td></tr></table>"

    assert page(f"<table><tr><td>before <a href=u>link</a>{inner}after</td><td>next</td></tr></table>") == (
        "| before [link](u)<br>x y<br>z<br>after | next |\n| --- | --- |"
    )
    assert page(f"<table><tr><td>{inner}</table>") == "| x y<br>z |\n| --- |"


def test_the_caption_of_a_table_stands_before_it():
    """It was lost once."""
    table = "<table><caption>{}</caption><tr><td>1</td></tr></table>"

    assert page(table.format("<b>Table</b> 1")) == "Table 1\n\n| 1 |\n| --- |"
    assert page(table.format(" ")) == "| 1 |\n| --- |"
    assert page(f"<table><tr><td>a{table.format('b')}c</table>") == "| a<br>b<br>1<br>c |\n| --- |"


def test_cells_that_belong_to_no_table_are_text():
    assert page("<math><tr><td>x</td></tr></math>") == "x"
    assert page("<table><caption>a <math><td>x</td></math></caption><tr><td>1</table>") == "a x\n\n| 1 |\n| --- |"


def test_text_goes_on_in_a_new_line_after_code_in_a_cell():
    assert page("<table><tr><td>a<pre>b\n c</pre>d<pre> </pre></td></tr></table>") == "| a<br>b<br> c<br>d |\n| --- |"


def test_blanks_at_the_end_of_lines_go_in_one_pass():
    """Tried from each blank of a long run, this took hours."""
    text = "a \t\nb" + 1_000_000 * " " + "c\t\n\n\n\nd\n"

    assert markdown.finish([text]) == b"a\nb" + 1_000_000 * b" " + b"c\n\nd\n"
    assert markdown.cell("a \r\nb\rc\t\nd" + 1_000_000 * " " + "e") == "a<br>b<br>c<br>d" + 1_000_000 * " " + "e"
