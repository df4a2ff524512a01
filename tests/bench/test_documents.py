"""The benchmark of documents: a wrong answer has no time, and the report contains the measured values."""

import io
import json

import document_files as files
import documents
import pytest
from PIL import Image


def joined(pages):
    return "\n\f".join("\n".join(lines) for lines in pages)


def test_the_text_of_a_pdf_must_have_every_word_in_its_order():
    pages = files.pdf_pages(True)

    assert files.all_pages(joined(pages), None, True) == "ok"
    assert files.all_pages(joined(pages[:-1]), None, True).startswith("wrong")
    assert files.all_pages(joined([pages[1], pages[0], *pages[2:]]), None, True).startswith("wrong: word 3 of")
    assert files.page(5)(joined(pages[4:5]), None, True) == "ok"
    assert files.page(5)(joined(pages[5:6]), None, True).startswith("wrong")


def test_a_sheet_must_have_every_value_of_every_row():
    rows = [[str(value) for value in row] for row in files.sheet_rows(True)]

    def table(rows):
        return "\n".join(f"| {number} | {' | '.join(row)} |" for number, row in enumerate(rows, 1))

    changed = [*rows[:9], [*rows[9][:-1], "1.0"], *rows[10:]]
    assert files.all_rows(table(rows), None, True) == "ok"
    assert files.all_rows(table(rows[1:]), None, True) == "ok", "the first row is the head of the table"
    assert files.all_rows(table(rows[:-1]), None, True).startswith("wrong")
    assert files.all_rows(table(changed), None, True).startswith("wrong")


def test_slides_and_paragraphs_must_all_be_there():
    show = [line for title, lines, note in files.slides(True) for line in (title, *lines, note)]

    assert files.all_slides("\n".join(show), None, True) == "ok"
    assert files.all_slides("\n".join(show[:-1]), None, True).startswith("wrong: slide 10 lacks")
    assert files.paragraphs("\n".join(files.docx_paragraphs(True)), None, True) == "ok"
    assert files.paragraphs("\n".join(files.docx_paragraphs(True)[1:]), None, True).startswith("wrong: word")


def test_an_image_must_have_its_content_and_size(tmp_path):
    path = tmp_path / "a.png"
    whole = files.photo((1600, 1200))
    whole.save(path, compress_level=0)

    def shown(picture):
        out = io.BytesIO()
        picture.save(out, "PNG", compress_level=0)
        return files.picture(out.getvalue(), path, True)

    assert shown(whole.resize((1568, 1176))) == "ok"
    assert shown(whole.resize((1568, 1568))) == "wrong: 1568 x 1568 px"
    assert shown(Image.new("RGB", (1568, 1176))).startswith("wrong: another picture")


def entry(median_ms, role="peer", outcome="ok", peak_mb=10.0):
    return {
        "role": role,
        "ok": outcome == "ok",
        "outcome": outcome,
        "calls": 3,
        "median_ms": median_ms,
        "best_ms": median_ms,
        "cold_ms": None,
        "peak_mb": peak_mb,
        "size": 1,
    }


@pytest.mark.parametrize(
    ("theirs", "held"), [(entry(500), True), (entry(300), False), (entry(500, outcome="wrong: 3 rows"), None)]
)
def test_a_goal_is_compared_only_with_right_answers(theirs, held):
    rows = {"docx": {"title": "", "contestants": {"eyespan": entry(20, "eyespan"), "markitdown": theirs}}}

    goals = {(goal["row"], goal["goal"]): goal["held"] for goal in documents.judge(rows)}

    assert goals["docx", "20 times faster than markitdown"] is held
    assert goals["pptx", "20 times faster than markitdown"] is None


def test_the_report_contains_the_committed_results():
    results = json.loads((documents.HERE / "documents.json").read_text())

    assert not results["quick"]
    assert list(results["rows"]) == list(documents.CASES)
    assert results["goals"] == documents.judge(results["rows"])
    assert (documents.HERE / "DOCUMENTS.md").read_text() == documents.markdown(results)


def test_a_peer_that_cannot_be_installed_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(documents.PEERS, "pypdf", ("no such/name", "1", ""))

    assert documents.install_peer("pypdf", tmp_path).startswith("cannot be installed: ")
    assert not list(tmp_path.glob("documents/peers/pypdf-1"))
