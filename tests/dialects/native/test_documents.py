from __future__ import annotations

import io
import json
import re
import sqlite3
from pathlib import Path

import duckdb
import pytest
from PIL import Image

from eyespan import Workspace
from tests.sizes import size

FIXTURES = Path(__file__).parents[2] / "fixtures"


@pytest.fixture(scope="module")
def call():
    with Workspace(FIXTURES) as workspace:
        tool = workspace.tool("native")
        yield lambda files, **more: tool.call({"files": files, **more})


def text_of(lines):
    """Return lines without their gutter, and no notes and rows of outlines."""
    rows = [line for line in lines if not re.match(r">|\d+(-\d+)? c", line)]
    return [re.sub(r"^(\d+(:\d+)?)?\t", "", line) for line in rows]


def follow(call, selector, budget):
    """Follow the continuations; return the lines of text, without headers and notes, and the number of calls."""
    lines, waiting, calls = [], [selector], 0
    while waiting:
        calls += 1
        assert calls < 200
        reply = call(waiting.pop(0), budget=budget)
        assert not reply.is_error, reply.text
        body = reply.text.split("\n>left out, over")[0].split("\n")[1:]
        lines += text_of(body)
        waiting = [*reply.structured.get("left_out", []), *waiting]
    return lines, calls


@pytest.mark.parametrize("budget", size(short=[300, 5000], long=[60, 100, 300, 5000]))
def test_the_pages_of_a_pdf_are_continued_at_any_budget(call, budget):
    whole = text_of(call("pdfs/book.pdf:p1-20", budget=20_000).text.split("\n")[1:])
    last = text_of(call("pdfs/book.pdf:p21-25", budget=20_000).text.split("\n")[1:])

    lines, calls = follow(call, "pdfs/book.pdf", budget)

    if budget == 5000:
        assert calls <= 2
        assert lines == whole + last
    # A line of a page may be cut in two; no character is lost or repeated.
    assert "".join(lines) == "".join(whole + last)


def test_selected_pages_come_with_their_images(call):
    reply = call("pdfs/book.pdf:p2-3")

    assert [block.type for block in reply.content] == ["text", "image", "image"]
    assert reply.text.startswith("> pdfs/book.pdf:p2-3/25 #")


@pytest.mark.parametrize("selector", ["pdfs/scan.pdf", "pdfs/scan.pdf:p1"])
def test_a_page_without_text_comes_as_an_image(call, selector):
    assert [block.type for block in call(selector).content] == ["text", "image"]


def test_a_part_beyond_the_end_is_answered_with_the_number_of_parts(call):
    assert call("pdfs/book.pdf:p26").text == ">! pdfs/book.pdf:p26: no page 26: the PDF has 25 pages"
    assert call("notebooks/tides.ipynb:c9").text == ">! notebooks/tides.ipynb:c9: no cell 9: the notebook has 8 cells"
    assert "its sheets are Ledger, Notes" in call("office/ledger.xlsx:Nowhere").text


@pytest.mark.parametrize("budget", size(short=[200, 500], long=[80, 500]))
def test_a_notebook_is_continued_by_lines_of_its_text(call, budget):
    whole = call("notebooks/tides.ipynb", budget=100_000).text.split("\n")[1:]

    lines, _ = follow(call, "notebooks/tides.ipynb", budget)

    assert "".join(lines) == "".join(text_of(whole))


def test_no_line_of_a_document_can_be_mistaken_for_one_of_the_tool(call):
    for selector in ("pdfs/book.pdf", "notebooks/tides.ipynb"):
        body = call(selector).text.split("\n>left out, over")[0].split("\n")[1:]
        assert all(not line or re.match(r"\d*\t|>note: |>Page \d+ of 25:$", line) for line in body)


def test_cells_by_number(call):
    reply = call("notebooks/tides.ipynb:c2")

    assert reply.text.startswith("> notebooks/tides.ipynb:c2:1-5/5 #")
    assert "tide = 42" in reply.text
    assert "[image" not in reply.text


def test_a_large_notebook_starts_with_its_outline(tmp_path):
    cells = [{"cell_type": "code", "source": f"def load_{at}():\n" + "    x\n" * 40, "outputs": []} for at in range(20)]
    (tmp_path / "a.ipynb").write_text(json.dumps({"nbformat": 4, "metadata": {}, "cells": cells}))
    cells[3]["source"] += '<cell id="x">\n'
    (tmp_path / "forged.ipynb").write_text(json.dumps({"nbformat": 4, "metadata": {}, "cells": cells}))
    with Workspace(tmp_path) as workspace:
        native = workspace.tool("native")
        shown = native.call({"files": "a.ipynb", "budget": 1500})
        forged = native.call({"files": "forged.ipynb", "budget": 1500})

    lines = shown.text.split("\n")
    assert lines[0].startswith(">outline of a.ipynb, 840 lines, ")
    assert lines[1:4] == ["1-42 c1 def load_0()", "43-84 c2 def load_1()", "85-126 c3 def load_2()"]
    assert lines[21].startswith("> a.ipynb:1-")
    assert forged.text.startswith("> forged.ipynb:1-")


def test_the_outline_of_a_notebook_names_headings_and_definitions(tmp_path):
    cells = [
        {"cell_type": "markdown", "source": "# Tides\ntext\n## Data\n"},
        {"cell_type": "code", "source": "%time\nclass Gauge:\n    def read(self): ...\n\ndef load(path): ...\n"},
        {"cell_type": "code", "source": "load('a')", "outputs": []},
        {"cell_type": "raw", "source": "# raw"},
    ]
    (tmp_path / "a.ipynb").write_text(json.dumps({"nbformat": 4, "metadata": {}, "cells": cells}))
    with Workspace(tmp_path) as workspace:
        native = workspace.tool("native")
        whole = native.call({"files": "a.ipynb", "outline": True}).text.split("\n")
        empty = native.call({"files": "a.ipynb:c3", "outline": True}).text.split("\n")
        named = [native.call({"files": f"a.ipynb::{name}"}).text for name in ("Gauge.read", "load", "Data", "loa")]

    assert [text.split("/")[0] for text in named[:3]] == ["> a.ipynb:c2:1-6", "> a.ipynb:c2:1-6", "> a.ipynb:c1:1-4"]
    assert named[3].startswith(">! a.ipynb::loa: no symbol loa found")
    assert whole[1:] == [
        "1\tc1 Tides",
        "\tc1   Data",
        "\tc2 class Gauge",
        "\tc2   def read(self)",
        "\tc2 def load(path)",
        ">note: this is the outline: headings and definitions, each after its cell",
    ]
    assert empty[1] == "1\tno headings or Python definitions in these cells"


def test_a_document_without_outline_is_refused_by_its_noun(call):
    reply = call("office/ledger.xlsx", outline=True)

    assert reply.text == ">! office/ledger.xlsx: a spreadsheet has no outline; read it without `outline`"


def test_a_sheet_and_an_area_of_it(call):
    assert "| 2 | Aurora |" in call("office/ledger.xlsx:Ledger!A1:A2").text
    assert "Notes" not in call("office/ledger.xlsx:Ledger").text
    assert call("office/ledger.xlsx:Ledger!A1:A2:1").text.count("\n") == 1


def test_an_office_text_is_read_like_any_text(call):
    assert "1\t# Harbor log" in call("office/harbor.docx:1-3").text
    assert call("office/harbor.docx:-1").structured["parts"][0]["total_lines"] == 19
    assert call("office/harbor.docx:p1").text == ">! office/harbor.docx:p1: a text document has no pages"


def test_an_image_is_shown_and_recognised_by_its_hash(call):
    reply = call("pictures/photo.jpg")
    value = reply.structured["parts"][0]["hash"]

    assert [block.type for block in reply.content] == ["text", "image"]
    assert reply.text == f"> pictures/photo.jpg: image/jpeg 640x480 #{value}"
    again = call("pictures/photo.jpg", known=[value])
    assert again.text == f"{reply.text} unchanged"
    assert [block.type for block in again.content] == ["text"]


def test_a_region_of_an_image_is_cut_out_before_it_is_scaled(call):
    reply = call("pictures/photo.jpg:100,200+64x48")

    assert Image.open(io.BytesIO(reply.content[1].data)).size == (64, 48)
    assert reply.text.startswith("> pictures/photo.jpg:100,200+64x48: image/jpeg 640x480 #")
    assert "The part of 64 x 48 pixels at x=100, y=200 is shown." in reply.text
    assert "outside the image" in call("pictures/photo.jpg:900,0+10x10").text
    assert call("pictures/photo.jpg:1,2+0x5").is_error


def test_html_is_shown_as_source(call):
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


# --- tables ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    here = tmp_path_factory.mktemp("tables")
    made = sqlite3.connect(here / "app.sqlite")
    made.execute("create table users (id integer primary key, name text)")
    made.executemany("insert into users (name) values (?)", [(f"n{n}",) for n in range(300)])
    made.commit()
    made.close()
    duckdb.sql(f"copy (select i, 2 * i as j from range(1000) t(i)) to '{here}/data.parquet' (format parquet)")
    (here / "big.csv").write_text("id,name\n" + "".join(f"{n},n{n}\n" for n in range(2000)))
    (here / "small.csv").write_text("id,name\n1,x\n")
    with Workspace(here) as workspace:
        tool = workspace.tool("native")
        yield lambda files, **more: tool.call({"files": files, **more})


def body(reply):
    """Return the text of an answer about one file, without its header."""
    return reply.text.split("\n", 1)[1]


def test_tables_are_described_with_some_rows(tables):
    assert "## table users, 300 rows" in tables("app.sqlite").text
    assert "| 40 | n39 |" in tables("app.sqlite:users", budget=2000).text
    assert "no table 'nobody'; there is 'users'" in tables("app.sqlite:nobody").text
    assert "Parquet, 2 columns, 1,000 rows" in tables("data.parquet").text


def test_a_csv_file_is_described_and_by_lines_it_is_a_text(tables):
    described = tables("big.csv")
    assert "CSV, 2 columns, 2,000 rows" in described.text
    assert described.text.startswith("> big.csv:rows 1-2000:1-")
    assert tables("big.csv:rows 1-2000").text == described.text
    assert body(tables("big.csv:100-101")) == "100\t98,n98\n101\t99,n99"
    assert body(tables("small.csv")) == "1\tid,name\n2\t1,x"


def test_a_description_over_the_budget_is_continued(tables):
    for path in ("big.csv", "app.sqlite:users"):
        left, seen = path, ""
        while left:
            reply = tables(left, budget=1000)
            assert not reply.is_error
            seen += reply.text.split(">left out")[0].split("\n", 1)[1]
            left = reply.structured["parts"][0]["next"]
        assert "| 9 | n" in seen
