"""Office and web documents: what other programs say is in them, and what hostile ones are answered with."""

from __future__ import annotations

import csv
import io
import re
import struct
import zipfile
from pathlib import Path

import pytest

from eyespan import Workspace, kinds
from eyespan.decoders import ooxml, sheet
from eyespan.errors import Missing, Unreadable
from eyespan.model import DocumentOptions, Lines, ReadRequest, SheetOptions, Tail

FIXTURES = Path(__file__).parent.parent / "fixtures" / "office"
ENGINE = Workspace("/").engine


OFFICE = frozenset(kind.name for kind in kinds.KINDS if kind.reader == "eyespan.readers.converted")


def sheet_options(sheet="", range=""):  # noqa: A002  (as selectors name it)
    return DocumentOptions(sheet=SheetOptions(sheet, range))


def document(path, selection=None, **options):
    request = ReadRequest(str(path), selection or Lines(), documents=OFFICE, options=sheet_options(**options))
    return ENGINE.read(request)


def text(path, selection=None, **options) -> str:
    return bytes(document(path, selection, **options).parts[0].data).decode("utf-8")


def expected(name: str) -> str:
    return (FIXTURES / name).read_text(encoding="utf-8-sig")


def words(markup: str) -> list[str]:
    """The words of a text without the marks of Markdown, of lists and of tables."""
    markup = re.sub(r"\]\([^)]*\)", "", markup)  # where links lead
    markup = re.sub(r"\[\^?\d*\]:?|\[comment \d+\]|<br>|\\(?=\|)", " ", markup)
    return re.findall(r"[^\W_]+", re.sub(r"^\s*\d+\.\s", " ", markup, flags=re.MULTILINE))


# --- what other programs say is in them ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["report.docx", "harbor.docx", "page.html"])
def test_all_words_are_there_in_the_order_the_other_program_gives_them(name):
    got, told = words(text(FIXTURES / name)), words(expected(f"{name}.expected.txt"))
    comment = ["Ada", "a", "comment"] if name == "report.docx" else []  # pandoc leaves comments out
    numbers = ("1", "¹")  # of notes: each program writes them in its own way

    assert [word for word in got if word not in numbers] == [word for word in told if word not in numbers] + comment


def test_a_book_has_the_words_of_its_chapters():
    got, told = words(text(FIXTURES / "book.epub")), words(expected("book.epub.expected.txt"))
    inside = iter(word for word in got if word != "1")

    assert [word for word in told if word != "1" and word not in inside] == []
    assert document(FIXTURES / "book.epub").extra["title"] == "Two Chapters"


@pytest.mark.parametrize("name", ["talk.pptx", "talk_office.pptx"])
def test_each_slide_has_the_words_of_its_page(name):
    slides = re.split(r"^## Slide \d+", text(FIXTURES / name), flags=re.MULTILINE)[1:]
    pages = expected("talk.pptx.expected.txt").split("\f")[:-1]

    without_notes = [slide.partition("\nNotes:")[0] for slide in slides]
    assert [words(slide.casefold()) for slide in without_notes] == [words(page.casefold()) for page in pages]
    assert "Notes:\n\n> Say that ferries grew by a third." in slides[1]


@pytest.mark.parametrize("suffix", ["xlsx", "xls", "ods"])
@pytest.mark.parametrize(("name", "start"), [("Ledger", (1, "A")), ("Notes", (2, "B"))])
def test_each_cell_is_what_the_csv_says(suffix, name, start):
    told = list(csv.reader(io.StringIO(expected(f"ledger.{name}.expected.csv"))))
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
        for row, cells in enumerate(told, 1)
        for column, cell in enumerate(cells)
        if cell
    }
    assert got == want
    assert min(got) == start


def test_headings_lists_tables_links_notes_and_comments_are_marked():
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


def test_a_mail_has_its_headers_text_and_attachments():
    source = FIXTURES / "source"

    assert text(FIXTURES / "mail.eml") == (
        "From: Ada <ada@example.org>\nTo: pilot@example.org\nDate: Tue, 14 Nov 2023 22:13:20 +0000\n"
        f"Subject: Tide table\n\n{(source / 'mail.txt').read_text()}\n"
        f"Attachments:\n\n- tides.csv (text/csv, {(source / 'tides.csv').stat().st_size} bytes)\n"
    )


def test_comments_on_cells_are_told():
    assert "Comments:\n\n- A2 (Ada): Came late" in text(FIXTURES / "ledger.xlsx")


# --- selections ------------------------------------------------------------------------------------------------------


def test_the_lines_of_the_text_can_be_selected():
    whole = text(FIXTURES / "report.docx").split("\n")
    part = document(FIXTURES / "report.docx", Lines(5, 3)).parts[0]
    last = document(FIXTURES / "report.docx", Tail(2)).parts[0]

    assert bytes(part.data).decode() == "\n".join(whole[4:7]) + "\n"
    assert (part.first_line, part.line_count, part.total_lines, part.more) == (5, 3, len(whole) - 1, True)
    assert bytes(last.data).decode() == "\n".join(whole[-3:])


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ({"range": "Ledger!A2:B3"}, "(A2:B3)"),
        ({"range": "A2:B3"}, "(A2:B3)"),
        ({"range": "$b$3:$a$2"}, "(A2:B3)"),
        ({"sheet": "ledger", "range": "C:D"}, "(C1:D4)"),
        ({"sheet": 1, "range": "2:3"}, "(A2:D3)"),
        ({"sheet": "Ledger", "range": "C4"}, "(C4:C4)"),
        ({"sheet": "2"}, "## Notes (B2:B3)"),
        ({"range": "'Notes'!A1:Z99"}, "## Notes (B2:B3)"),
        ({"range": "Ledger!X1:Z9"}, "[no cells]"),
    ],
)
@pytest.mark.parametrize("suffix", ["xlsx", "xls", "ods"])
def test_a_sheet_and_a_range_can_be_selected(suffix, options, shown):
    got = text(FIXTURES / f"ledger.{suffix}", **options)

    assert shown in got
    assert got.count("## ") == 1


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"sheet": "Nope"}, "it has no sheet 'Nope'; there are Ledger, Notes"),
        ({"sheet": "3"}, "no sheet"),
        ({"range": "A1:"}, None),
        ({"range": "eleven"}, "is no range; use one such as A1:D20"),
        ({"range": ":"}, "is no range"),
    ],
)
def test_what_is_not_there_is_told(options, says):
    if says is None:
        assert "## Ledger (A1:D4)" in text(FIXTURES / "ledger.xlsx", **options)
        return
    with pytest.raises(Unreadable, match=re.escape(says)):
        text(FIXTURES / "ledger.xlsx", **options)


# --- kinds -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("report.docx", "docx"),
        ("talk.pptx", "pptx"),
        ("ledger.xlsx", "sheet"),
        ("ledger.ods", "sheet"),
        ("book.epub", "epub"),
    ],
)
def test_the_kind_is_known_by_content_without_a_name(name, kind):
    head = (FIXTURES / name).read_bytes()[:65536]

    assert kinds.detect(head, "noname").name == kind


def test_letters_inside_compressed_data_make_no_kind():
    assert kinds.detect(b"PK\x03\x04" + b"\0" * 26 + b"x" * 9 + b"word/ xl/ ppt/", "a.zip").name == "archive"


def test_html_and_mails_are_text_to_dialects_that_do_not_ask_for_them(tmp_path):
    (tmp_path / "a.html").write_text("<p>hi</p>\n")
    (tmp_path / "a.eml").write_text("From: a\n")
    workspace = Workspace(tmp_path)

    assert workspace.tool("forge").call({"path": "a.html"}).structured["text"] == "1\t<p>hi</p>\n"
    assert "From: a" in workspace.tool("claude").call({"file_path": f"{tmp_path}/a.eml"}).text


def test_without_the_extra_the_install_command_is_named(monkeypatch):
    from eyespan.decoders import html

    monkeypatch.setattr(sheet, "calamine", None)
    monkeypatch.setattr(html, "LexborHTMLParser", None)

    with (FIXTURES / "ledger.xlsx").open("rb") as file, pytest.raises(Missing) as error:
        sheet.decode(file, {})
    assert error.value.install == "pip install 'eyespan[docs]'"
    with (FIXTURES / "page.html").open("rb") as file, pytest.raises(Missing, match=re.escape("eyespan[docs]")):
        html.decode(file, {})


# --- hostile ---------------------------------------------------------------------------------------------------------


def rezipped(name: str, changes: dict[str, bytes], target: Path) -> Path:
    """A fixture with some of its parts replaced."""
    with zipfile.ZipFile(FIXTURES / name) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new:
        for part in old.namelist():
            new.writestr(part, changes.get(part, old.read(part)))
        for part, data in changes.items():
            if part not in old.namelist():
                new.writestr(part, data)
    return target


XXE = (
    b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>'
    b'<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:p><w:r><w:t>&e;'
    b"</w:t></w:r></w:p></w:body></w:document>"
)
LAUGHS = b'<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]><x>&b;</x>'


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("report.docx", "word/document.xml"),
        ("talk.pptx", "ppt/slides/slide1.xml"),
        ("book.epub", "META-INF/container.xml"),
    ],
)
@pytest.mark.parametrize("xml", [XXE, LAUGHS])
def test_a_document_type_is_refused(tmp_path, name, part, xml):
    path = rezipped(name, {part: xml}, tmp_path / name)

    with pytest.raises(Unreadable, match="document type"):
        text(path)


def test_an_entity_in_a_chapter_is_no_file(tmp_path):
    page = b'<!DOCTYPE html [<!ENTITY e SYSTEM "file:///etc/passwd">]><html><body><p>a&e;b</p></body></html>'
    with zipfile.ZipFile(FIXTURES / "book.epub") as book:
        chapter = next(part for part in book.namelist() if part.endswith("ch001.xhtml"))

    assert "root:" not in text(rezipped("book.epub", {chapter: page}, tmp_path / "a.epub"))


@pytest.mark.parametrize(
    ("name", "part"),
    [("report.docx", "word/document.xml"), ("talk.pptx", "ppt/presentation.xml"), ("ledger.xlsx", "xl/x.bin")],
)
def test_a_zip_bomb_is_refused_before_it_is_unpacked(tmp_path, name, part):
    path = rezipped(name, {part: b"\0" * (30 * 1024 * 1024)}, tmp_path / name)

    with pytest.raises(Unreadable, match="zip bomb"):
        text(path)


def test_parts_that_are_too_large_or_too_many_are_refused(tmp_path):
    many = tmp_path / "many.docx"
    with zipfile.ZipFile(many, "w") as parts:
        for number in range(10_001):
            parts.writestr(f"word/{number}", "")
    with pytest.raises(Unreadable, match="10001 parts"):
        text(many)


def test_all_parts_together_are_bounded(monkeypatch):
    monkeypatch.setattr(ooxml, "MAX_READ_BYTES", 1000)
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as parts:
        parts.writestr("a", "x" * 600)
        parts.writestr("b", "x" * 600)
    found = ooxml.Package(data, "docx")
    found.read("a")

    with pytest.raises(Unreadable, match="hold 1200 bytes, the limit is 1000"):
        found.check_whole()
    with pytest.raises(Unreadable, match="more than 1000 bytes"):
        found.read("b")


def test_a_sheet_of_giant_extent_is_refused(tmp_path):
    with zipfile.ZipFile(FIXTURES / "ledger.xlsx") as book:
        xml = book.read("xl/worksheets/sheet1.xml")
    far = xml.replace(b"</sheetData>", b'<row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData>')
    path = rezipped("ledger.xlsx", {"xl/worksheets/sheet1.xml": far}, tmp_path / "a.xlsx")

    with pytest.raises(Unreadable, match="spans 1048576 rows and 16384 columns"):
        text(path)


@pytest.mark.parametrize("name", ["report.docx", "talk.pptx"])
def test_xml_that_is_nested_too_deeply_is_refused(tmp_path, name):
    part, tag = ("word/document.xml", b"w:tbl") if name == "report.docx" else ("ppt/slides/slide1.xml", b"a:tbl")
    space = b"wordprocessingml" if name == "report.docx" else b"drawingml"
    xml = b'<x xmlns:%s="%s">' % (tag[:1], space) + b"<%s>" % tag * 5000 + b"</%s>" % tag * 5000 + b"</x>"
    path = rezipped(name, {part: xml}, tmp_path / name)

    with pytest.raises(Unreadable, match="nested more than 256 levels"):
        text(path)


def test_a_page_that_is_nested_deeply_is_shown(tmp_path):
    path = tmp_path / "a.html"
    path.write_text("<div>" * 5000 + "inside")

    assert text(path) == "inside\n"


@pytest.mark.parametrize("page", ["<div>" * 50_000 + "inside", "<DIV a=b>" * 50_000 + "x" + "</div>" * 50_000])
def test_a_page_that_is_nested_beyond_reason_is_told(tmp_path, page):
    path = tmp_path / "a.html"
    path.write_text(page)

    with pytest.raises(Unreadable, match="nested more than 20000 levels"):
        text(path)


@pytest.mark.parametrize("piece", ["<p>word", "<li>word", "word<br>", "<span>word</span>\n<br/>"])
def test_a_long_page_is_not_a_deep_one(tmp_path, piece):
    path = tmp_path / "a.html"
    path.write_text("<html><body>" + piece * 25_000)

    assert text(path).count("word") == 25_000


@pytest.mark.parametrize("name", ["a.docx", "a.pptx", "a.xlsx", "a.epub", "a.ods"])
@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"plain text, no zip", "damaged"),
        (b"PK\x03\x04 cut off", "damaged"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600, "password|damaged"),
    ],
)
def test_what_is_no_such_document_is_told(tmp_path, name, data, says):
    path = tmp_path / name
    path.write_bytes(data)

    with pytest.raises(Unreadable, match=says):
        text(path)


def test_an_encrypted_part_is_told(tmp_path):
    data = bytearray((FIXTURES / "report.docx").read_bytes())
    at = 0
    while (at := data.find(b"PK\x01\x02", at + 1)) > 0:
        flags = struct.unpack_from("<H", data, at + 8)[0]
        struct.pack_into("<H", data, at + 8, flags | 1)
    path = tmp_path / "a.docx"
    path.write_bytes(data)

    with pytest.raises(Unreadable, match="encrypted"):
        text(path)


def test_a_mail_with_headers_that_are_no_text_is_valid_text(tmp_path):
    path = tmp_path / "a.eml"
    path.write_bytes(
        b"From: \xff\xfe <a@b>\nSubject: =?nope?q?=ff?= \xe9\nContent-Type: text/plain; charset=nope\n\n\xe9t\xe9\n"
    )

    assert "été" in text(path)


def test_a_page_in_a_code_page_is_decoded(tmp_path):
    path = tmp_path / "a.html"
    path.write_bytes('<meta charset="windows-1251"><p>Съешь ещё</p>'.encode("cp1251"))

    assert text(path) == "Съешь ещё\n"


# --- the command line ------------------------------------------------------------------------------------------------


def test_the_command_line_shows_the_lines_of_a_document(capsys):
    from eyespan.cli.main import main

    code = main(["read", "--root", str(FIXTURES), f"{FIXTURES}/harbor.docx:1-3"])

    assert (code, capsys.readouterr().out) == (0, "     1\t# Harbor log\n     2\t\n     3\tFirst day: calm & clear.\n")


def test_the_command_line_shows_a_page_as_it_is(capsys):
    from eyespan.cli.main import main

    main(["read", "--root", str(FIXTURES), "-n", f"{FIXTURES}/page.html:1"])

    assert capsys.readouterr().out == "<!DOCTYPE html>\n"
