"""The corners of the readers: what documents seldom hold, what decoders must not say, what systems lack."""

from __future__ import annotations

import email
import io
import zipfile

import pytest
from packing import DRAWING, OFFICE_RELATIONS, PPTX, packed, paragraph, relations, word

from eyespan import Workspace, worker
from eyespan.decoders import eml, epub, html, markdown, ooxml, pptx, scan, sheet, tabular
from eyespan.errors import Missing, Unreadable
from eyespan.model import ReadRequest


def read(folder, name, documents, *, context=None, **more):
    with Workspace(folder) as workspace:
        return workspace.engine.read(ReadRequest(name, documents=frozenset(documents), **more), context)


def fake_worker(monkeypatch, facts, blobs=()):
    monkeypatch.setattr(worker, "run", lambda *_, **__: (facts, list(blobs)))


# --- packages ------------------------------------------------------------------------------------------------------


def test_styles_say_what_a_paragraph_is():
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
    assert word(paragraph("x", "l", '<w:numPr><w:numId w:val="9"/></w:numPr>')) == "- x\n"  # neither part is there


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

    text = word(body)

    assert text.startswith("a\nb-\nc\n")
    assert "out\nbox" in text
    assert "no target" in text
    assert "| in | x\\|y |" in text


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED, zipfile.ZIP_BZIP2])
def test_parts_are_read_however_they_are_compressed(method):
    assert ooxml.Package(packed(method, **{"a.xml": "<a/>" * 50}), "docx").read("A.xml") == b"<a/>" * 50


def test_a_part_that_is_not_what_its_entry_says_is_damaged(monkeypatch):
    data = bytearray(packed(zipfile.ZIP_STORED, **{"a.xml": "<a/>"}).getvalue())
    moved = bytes(data).replace(b"PK\3\4", b"PK\0\0", 1)
    other = bytes(data).replace(b"<a/>", b"<b/>", 1)

    for broken in (moved, other):
        with pytest.raises(Unreadable):
            ooxml.Package(io.BytesIO(broken), "docx").read("a.xml")
    with pytest.raises(Unreadable, match="lacks the part b"):
        ooxml.Package(io.BytesIO(bytes(data)), "docx").read("b.xml")
    monkeypatch.setattr(ooxml, "MAX_READ_BYTES", 6)
    twice = ooxml.Package(io.BytesIO(bytes(data)), "docx")
    twice.read("a.xml")
    with pytest.raises(Unreadable, match="more than 6 bytes"):
        twice.read("a.xml")


@pytest.mark.parametrize("encoding", ["utf-7", "x-unknown", "shift_jis"])
def test_xml_in_an_encoding_that_nobody_takes_is_told_as_that(encoding):
    data = f'<?xml version="1.0" encoding="{encoding}"?><a>x</a>'.encode()

    with pytest.raises(Unreadable, match="its part a"):
        ooxml.walk_xml(data, "docx", "a.xml", lambda *_: None)


def test_comments_on_slides_old_and_new():
    old = (
        '<p:cmLst xmlns:p="urn:p"><p:cm authorId="0"><p:text>first  words</p:text></p:cm>'
        '<p:cm authorId="5"><p:text>nobody</p:text></p:cm><p:cm authorId="0"><p:text> </p:text></p:cm></p:cmLst>'
    )
    new = (
        '<n:cmLst xmlns:n="urn:n" xmlns:a="urn:a"><n:cm authorId="{1}"><a:p><a:r><a:t>one</a:t></a:r></a:p>'
        '<a:p><a:r><a:t>two</a:t></a:r></a:p><n:reply authorId="0"><a:t>back</a:t></n:reply></n:cm></n:cmLst>'
    )
    authors = '<p:cmAuthorLst xmlns:p="urn:p"><p:cmAuthor id="0" name="Ada"/><p:cmAuthor name="none"/></p:cmAuthorLst>'
    parts = ooxml.Package(packed(**{"old.xml": old, "new.xml": new, "authors.xml": authors}), "pptx")
    known = pptx._authors(
        parts, {"a": ("commentAuthors", "authors.xml"), "b": ("authors", "missing.xml"), "c": ("x", "y")}
    )

    assert known == {"0": "Ada"}
    assert pptx._comments(parts, "old.xml", known) == ["> Comment by Ada: first words", "> Comment: nobody"]
    assert pptx._comments(parts, "new.xml", known) == ["> Comment: one two", "> Comment by Ada: back"]


def book(spine="<itemref idref='a'/>", **more):
    container = '<container><rootfiles><rootfile full-path="book.opf"/></rootfiles></container>'
    opf = (
        '<package xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata><dc:creator>Ada</dc:creator></metadata>'
        '<manifest><item id="a" href="a.html"/><item id="b" href="gone.html"/></manifest>'
        f"<spine>{spine}</spine></package>"
    )
    files = {"META-INF/container.xml": container, "book.opf": opf, "a.html": "<p>chapter</p>", **more}
    return epub.decode(packed(**files), {"seconds": 10})


def test_books_without_a_title_without_chapters_and_under_lock():
    assert book()[1][0] == b"chapter\n"
    with pytest.raises(Unreadable, match="none of its chapters"):
        book("<itemref idref='b'/>")
    with pytest.raises(Unreadable, match="DRM"):
        book(**{"META-INF/encryption.xml": "<a/>", "META-INF/rights.xml": "<a/>"})


# --- mails, pages, text --------------------------------------------------------------------------------------------


def test_mails_of_every_shape(monkeypatch):
    def shown(text):
        return eml.decode(io.BytesIO(text), {"seconds": 10})[1][0].decode()

    assert shown(b"Subject: a\n\n") == "Subject: a\n"
    assert "two  lines" not in shown(b"Subject: two\n lines\nContent-Type: multipart/mixed; boundary=x\n\n--x--\n")
    attached = b"Subject: a\nContent-Type: application/octet-stream\nContent-Disposition: attachment\n\nxyz\n"
    assert "- unnamed (application/octet-stream" in shown(attached)
    assert shown(b"Subject: a\nContent-Type: text/html\n\n<p>b</p>") == "Subject: a\n\nb\n"
    with pytest.raises(Unreadable, match="none of the headers"):
        shown(b"nothing: here\n\n")
    monkeypatch.setattr(eml, "MAX_BYTES", 10)
    with pytest.raises(Unreadable, match="more than 10 bytes"):
        shown(b"Subject: long enough\n\n")


def test_a_header_that_the_standard_parser_fails_on_is_left_out(monkeypatch):
    def raises(self, name, failobj=None):
        raise IndexError("inside the parser")

    message = email.message_from_bytes(b"Subject: a\n\n", policy=email.policy.default)
    monkeypatch.setattr(type(message), "get_all", raises)

    assert eml._header(message, "Subject") == ""


def test_text_is_put_together_tidily_and_cut_where_it_is_too_much(monkeypatch):
    assert markdown.table([]) == markdown.table([[], []]) == ""
    assert markdown.finish(["a\r\nb\rc", "  \n", "d \n e\t\nf\n\n\n\ng"]) == b"a\nb\nc\n\nd\n e\nf\n\ng\n"
    assert markdown.finish([]) == b""
    monkeypatch.setattr(markdown, "MAX_TEXT_BYTES", 10)
    assert markdown.encode("12345\n1234567\n") == b"12345\n[the rest is left out: more than 0 MiB of text]\n"


def test_without_their_packages_sheets_and_pages_say_what_to_install(monkeypatch):
    monkeypatch.setattr(sheet, "calamine", None)
    with pytest.raises(Missing, match=r"eyespan\[docs\]"):
        sheet.decode(io.BytesIO(b"PK"), {})


def test_what_a_spreadsheet_library_may_do_to_a_file(monkeypatch):
    class PanicException(BaseException):
        """As the library's own, which is no `Exception`."""

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
    for error, words in (
        (Library.PasswordError(), "password"),
        (PanicException(), "damaged"),
        (ValueError(), "damaged"),
    ):
        monkeypatch.setattr(Library, "CalamineWorkbook", raising(error))
        with pytest.raises(Unreadable, match=words):
            sheet.decode(io.BytesIO(b"x"), {})
    for error in (MemoryError(), KeyboardInterrupt()):
        monkeypatch.setattr(Library, "CalamineWorkbook", raising(error))
        with pytest.raises(type(error)):
            sheet.decode(io.BytesIO(b"x"), {})
    monkeypatch.setattr(sheet, "MAX_FILE_BYTES", 1)
    with pytest.raises(Unreadable, match="more than 1 bytes"):
        sheet.decode(io.BytesIO(b"xx"), {})


def test_pages_with_odd_marks():
    title, blocks = html.convert(
        "<p>a<br>b</p><ul><li>x<ol><li>y</ol></ul><pre>  c\n</pre><table><tr><td>1</table><hr>"
    )

    assert title == ""
    assert "a\nb" in "\n".join(blocks)


# --- what a decoder answers ----------------------------------------------------------------------------------------


# --- tables of text ------------------------------------------------------------------------------------------------


def test_cells_of_every_kind_are_one_line(monkeypatch):
    assert tabular.cell(None) == "NULL"
    assert tabular.cell(b"\0\1") == "x'0001' (2 bytes)"
    assert tabular.cell(b"x" * 20).endswith("...' (20 bytes)")
    assert tabular.cell(1.5) == "1.5"
    monkeypatch.setattr(tabular, "MAX_TEXT_CHARS", 40)
    assert tabular.table(["a"], [["x" * 20]] * 9)[1] == 1


# --- notebooks -----------------------------------------------------------------------------------------------------

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


# --- pages ---------------------------------------------------------------------------------------------------------


def page(markup):
    return html.decode(io.BytesIO(markup.encode()), {})[1][0].decode()


def test_pictures_of_a_page_are_told_by_their_words_and_where_they_are():
    assert page('<p><img alt="a  b" src="x.png"></p>') == "![a b](x.png)\n"
    assert page('<p><img alt="a" src="data:image/png;base64,AAAA"></p>') == "![a]\n"
    assert page('<p>x<img src="y.png"><img></p>') == "x![](y.png)\n"


def test_code_in_a_table_rules_and_lists_that_start_late():
    shown = page(
        "<table><tr><td><pre>a\nb</pre></td><td>c</td></tr></table><hr><ol start=3><li>x</ol><ol start=z><li>y</ol>"
    )

    assert "| a<br>b | c |" in shown
    assert "---" in shown
    assert "3. x" in shown
    assert "1. y" in shown
    assert page("<pre> </pre><ul></ul></ul></td></table><p> </p>") == ""


@pytest.mark.parametrize("charset", ["x-unknown", "utf-8", "cp1252"])
def test_a_page_is_decoded_by_its_mark_its_word_or_as_it_can_be(charset):
    assert html.text_of("é".encode(), charset) == ("Ã©" if charset == "cp1252" else "é")
    assert html.text_of(b"\xe9") == "é"
    assert html.text_of(b"\xff\xfea\0") == html.text_of(b"\xfe\xff\0a") == html.text_of(b"\xef\xbb\xbfa") == "a"


def test_a_page_too_large_or_without_its_library_says_so(monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(html, "LexborHTMLParser", None)
        with pytest.raises(Missing, match=r"eyespan\[docs\]"):
            page("<p>x")
    monkeypatch.setattr(html, "MAX_BYTES", 3)
    with pytest.raises(Unreadable, match="more than 3 bytes"):
        page("<p>x")


def test_a_part_larger_than_any_may_be_is_not_read(monkeypatch):
    monkeypatch.setattr(ooxml, "MAX_PART_BYTES", 3)

    with pytest.raises(Unreadable, match="the limit is 3"):
        ooxml.Package(packed(**{"a.xml": "<a/>"}), "docx").read("a.xml")


def test_slides_with_breaks_descriptions_and_comments(tmp_path):
    names = f'xmlns:p="{PPTX}" xmlns:a="{DRAWING}" xmlns:r="{OFFICE_RELATIONS}"'
    slide = (
        f'<p:sld {names}><p:cSld><p:spTree><p:pic><p:nvPicPr><p:cNvPr id="1" descr="a  boat"/></p:nvPicPr></p:pic>'
        "<p:sp><p:txBody><a:p><a:r><a:t>one</a:t></a:r><a:br/><a:r><a:t>two</a:t></a:r></a:p></p:txBody></p:sp>"
        "</p:spTree></p:cSld></p:sld>"
    )
    deck = f'<p:presentation {names}><p:sldIdLst><p:sldId id="256" r:id="s"/></p:sldIdLst></p:presentation>'
    comments = f'<p:cmLst {names}><p:cm authorId="0"><p:text>why</p:text></p:cm></p:cmLst>'
    files = {
        "_rels/.rels": relations(a=("officeDocument", "ppt/presentation.xml")),
        "ppt/presentation.xml": deck,
        "ppt/_rels/presentation.xml.rels": relations(s=("slide", "slides/one.xml")),
        "ppt/slides/one.xml": slide,
        "ppt/slides/_rels/one.xml.rels": relations(
            c=("comments", "../comments.xml"), n=("notesSlide", "../gone.xml"), o=("other", "../comments.xml")
        ),
        "ppt/comments.xml": comments,
    }

    text = pptx.decode(packed(**files), {"seconds": 10})[1][0].decode()

    assert "![a boat]" in text
    assert "one\ntwo" in text
    assert "> Comment: why" in text


def test_a_picture_in_a_document_is_told_by_its_description():
    drawing = 'xmlns:d="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing"'

    assert word(f'<w:p><w:r><d:docPr {drawing} descr="a  boat"/></w:r></w:p>') == "![a boat]\n"


def test_dates_with_and_without_a_time():
    import datetime

    assert sheet._date(datetime.datetime(2024, 5, 6)) == "2024-05-06"
    assert sheet._date(datetime.datetime(2024, 5, 6, 7, 8)) == "2024-05-06 07:08:00"


def test_a_header_is_looked_at_so_far_and_no_further():
    """Of this one the standard parser would make an object for every character, again and again."""
    shown = eml.decode(io.BytesIO(b"Subject: a\nTo: " + b"<" * 100_000 + b"\n\ntext\n"), {})[1][0].decode()

    assert shown.startswith("Subject: a\n") or "To: " in shown
    assert shown.endswith("text\n")
    assert len(shown) < 3 * eml.MAX_HEADER_CHARS


def test_a_slide_whose_usual_prefix_stands_for_something_else_goes_to_the_parser():
    data = b'<p:sld xmlns:p="urn:presentationml" xmlns:a="urn:other"><a:p>x</a:p></p:sld>'

    with pytest.raises(scan.Intricate):
        scan.scan(data, pptx._TAGS, ooxml._prefix)
