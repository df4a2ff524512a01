"""Documents that are shown as text they were converted to."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from eyespan import Workspace, kinds
from eyespan.cli.main import main
from eyespan.model import Lines, ReadRequest, Tail

FIXTURES = Path(__file__).parents[1] / "fixtures" / "office"


def report(selection):
    request = ReadRequest("report.docx", selection, documents=frozenset(["docx"]))
    with Workspace(FIXTURES) as workspace:
        return workspace.engine.read(request).parts[0]


def test_the_lines_of_the_text_can_be_selected():
    whole = bytes(report(Lines()).data).decode().split("\n")
    part = report(Lines(5, 3))

    assert bytes(part.data).decode() == "\n".join(whole[4:7]) + "\n"
    assert (part.first_line, part.line_count, part.total_lines, part.more) == (5, 3, len(whole) - 1, True)
    assert bytes(report(Tail(2)).data).decode() == "\n".join(whole[-3:])


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
    assert kinds.detect((FIXTURES / name).read_bytes()[:65536], "noname").name == kind


def test_letters_in_compressed_data_make_no_kind():
    assert kinds.detect(b"PK\x03\x04" + b"\0" * 26 + b"x" * 9 + b"word/ xl/ ppt/", "a.zip").name == "archive"


def test_html_and_mails_are_text_to_dialects_that_do_not_convert_them(tmp_path):
    (tmp_path / "a.html").write_text("<p>hi</p>\n")
    (tmp_path / "a.eml").write_text("From: a\n")
    workspace = Workspace(tmp_path)

    assert workspace.tool("forge").call({"path": "a.html"}).structured["text"] == "1\t<p>hi</p>\n"
    assert "From: a" in workspace.tool("claude").call({"file_path": f"{tmp_path}/a.eml"}).text


def test_the_command_line_shows_the_lines_of_a_document(capsys):
    code = main(["read", "--root", str(FIXTURES), f"{FIXTURES}/harbor.docx:1-3"])

    assert (code, capsys.readouterr().out) == (0, "     1\t# Harbor log\n     2\t\n     3\tFirst day: calm & clear.\n")


def test_the_command_line_shows_the_source_of_a_page(capsys):
    main(["read", "--root", str(FIXTURES), "-N", f"{FIXTURES}/page.html:1"])

    assert capsys.readouterr().out == "<!DOCTYPE html>\n"


def test_an_office_file_is_listed_like_an_archive(tmp_path):
    (tmp_path / "deck.pptx").write_bytes((FIXTURES / "talk.pptx").read_bytes())
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.write(tmp_path / "deck.pptx", "deck.pptx")

    with Workspace(tmp_path) as workspace:
        native = workspace.tool("native")
        whole, part, nested = [
            native.call({"files": name}).text.split("\n")
            for name in ("deck.pptx!/", "deck.pptx!/ppt/slides", "a.zip!/deck.pptx!/")
        ]

    assert "zip archive, " in whole[1]
    assert any(line.endswith("ppt/slides/slide1.xml") for line in whole)
    assert part[1].endswith(" in ppt/slides")
    assert nested[1:] == whole[1:]
