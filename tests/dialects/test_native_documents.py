"""Documents in the native tool: pages, cells, sheets and pictures by the same selectors, within the same budget."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from eyespan import Workspace
from eyespan.dialects.pieces import cut_out
from eyespan.model import CharRange, Tail

FIXTURES = Path(__file__).parent.parent / "fixtures"


@pytest.fixture(scope="module")
def call():
    with Workspace(FIXTURES) as workspace:
        tool = workspace.tool("native")
        yield lambda files, **more: tool.call({"files": files, **more})


def text_of(lines):
    """Lines without their gutter; without notes."""
    return [re.sub(r"^(\d+(:\d+)?)?\t", "", line) for line in lines if not line.startswith("note: ")]


def follow(call, selector, budget):
    """The lines of text that following the continuations shows, without headers and notes."""
    lines, waiting, calls = [], [selector], 0
    while waiting:
        calls += 1
        assert calls < 200
        reply = call(waiting.pop(0), budget=budget)
        assert not reply.is_error, reply.text
        body = reply.text.split("\nleft out, over")[0].split("\n")[1:]
        lines += text_of(body)
        waiting = [*reply.structured.get("left_out", []), *waiting]
    return lines, calls


@pytest.mark.parametrize("budget", [60, 100, 300, 5000])
def test_the_pages_of_a_pdf_are_read_on_at_any_budget(call, budget):
    whole = text_of(call("pdfs/book.pdf:p1-20", budget=20_000).text.split("\n")[1:])
    last = text_of(call("pdfs/book.pdf:p21-25", budget=20_000).text.split("\n")[1:])

    lines, calls = follow(call, "pdfs/book.pdf", budget)

    if budget == 5000:
        assert calls <= 2
        assert lines == whole + last
    # Inside a page a line may be cut in two; no character is lost or doubled.
    assert "".join(lines) == "".join(whole + last)


def test_pages_asked_for_by_number_come_with_their_pictures(call):
    reply = call("pdfs/book.pdf:p2-3")

    assert [block.type for block in reply.content] == ["text", "image", "image"]
    assert reply.text.startswith("pdfs/book.pdf:p2-3/25 #")


def test_a_page_without_text_says_how_to_see_it(call):
    reply = call("pdfs/scan.pdf")

    assert "note: no text on page 1; pdfs/scan.pdf:p1 shows it" in reply.text
    assert [block.type for block in call("pdfs/scan.pdf:p1").content] == ["text", "image"]


def test_what_is_beyond_the_end_is_told_by_how_much_there_is(call):
    assert call("pdfs/book.pdf:p26").text == "pdfs/book.pdf:p26: no page 26: the PDF has 25 pages"
    assert call("notebooks/tides.ipynb:c9").text == "notebooks/tides.ipynb:c9: no cell 9: the notebook has 8 cells"
    assert "its sheets are Ledger, Notes" in call("office/ledger.xlsx:Nowhere").text


@pytest.mark.parametrize("budget", [80, 500])
def test_a_notebook_is_read_on_by_lines_of_its_text(call, budget):
    whole = call("notebooks/tides.ipynb", budget=100_000).text.split("\n")[1:]

    lines, _ = follow(call, "notebooks/tides.ipynb", budget)

    assert "".join(lines) == "".join(text_of(whole))


def test_no_line_of_a_document_can_pass_for_one_of_the_tool(call):
    for selector in ("pdfs/book.pdf", "notebooks/tides.ipynb"):
        body = call(selector).text.split("\nleft out, over")[0].split("\n")[1:]
        assert all(not line or re.match(r"\d*\t|note: ", line) for line in body)


def test_cells_by_number(call):
    reply = call("notebooks/tides.ipynb:c2")

    assert reply.text.startswith("notebooks/tides.ipynb:c2:1-5/5 #")
    assert "tide = 42" in reply.text
    assert "[image" not in reply.text


def test_a_sheet_and_an_area_of_it(call):
    assert "| 2 | Aurora |" in call("office/ledger.xlsx:Ledger!A1:A2").text
    assert "Notes" not in call("office/ledger.xlsx:Ledger").text
    assert call("office/ledger.xlsx:Ledger!A1:A2:1").text.count("\n") == 1


def test_an_office_text_is_read_like_any_text(call):
    assert "1\t# Harbor log" in call("office/harbor.docx:1-3").text
    assert call("office/harbor.docx:-1").structured["parts"][0]["total_lines"] == 19
    assert call("office/harbor.docx:p1").text == "office/harbor.docx:p1: a text document has no pages"


def test_a_picture_is_shown_and_known_again(call):
    reply = call("pictures/photo.jpg")
    value = reply.structured["parts"][0]["hash"]

    assert [block.type for block in reply.content] == ["text", "image"]
    assert reply.text == f"pictures/photo.jpg: image/jpeg 640x480 #{value}"
    again = call("pictures/photo.jpg", known=[value])
    assert again.text == f"{reply.text} unchanged"
    assert [block.type for block in again.content] == ["text"]


def test_html_is_source_code(call):
    assert call("office/page.html:1").text.endswith("1\t<!DOCTYPE html>")


def test_documents_and_texts_share_one_call(call):
    reply = call(["office/harbor.docx:1", "pdfs/book.pdf:p1", "pictures/plain.png", "pdfs/locked.pdf", "README.md:1"])

    assert [part["path"] for part in reply.structured["parts"]] == [
        "office/harbor.docx",
        "pdfs/book.pdf",
        "pictures/plain.png",
        "pdfs/locked.pdf",
        "README.md",
    ]
    assert [block.type for block in reply.content] == ["text", "image", "image"]
    assert "pdfs/locked.pdf: it is protected by a password" in reply.text


@pytest.mark.parametrize("text", ["", "a", "a\n", "a\nbc\n\nd", "a\nbc\n\nd\n"])
@pytest.mark.parametrize(
    "selection", [CharRange(), CharRange(2), CharRange(2, 2), CharRange(1, 1, 2), CharRange(1, 1, None, 3)]
)
def test_held_text_is_cut_as_a_file_is(tmp_path, text, selection):
    (tmp_path / "f").write_text(text)
    from eyespan.model import ReadRequest

    with Workspace(tmp_path) as workspace:
        read = workspace.engine.read(ReadRequest("f", selection)).parts[0]

    assert cut_out(text, selection) == read


@pytest.mark.parametrize(("count", "most", "lines"), [(2, None, 2), (9, None, 4), (9, 4, 2), (1, 1, 1)])
def test_the_end_of_held_text(count, most, lines):
    part = cut_out("one\ntwo\n\nx\n", Tail(count, max_bytes=most))

    assert (part.line_count, part.first_line) == (lines, 5 - lines)
