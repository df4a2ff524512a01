"""Chunks: within the limit, each character once, and read again by their selectors."""

from __future__ import annotations

import io
import json
import zipfile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eyespan import Workspace
from eyespan.cli.main import main
from eyespan.extras.bulk.chunks import cut, split_lines
from eyespan.extras.bulk.export import export_lines
from eyespan.extras.bulk.reading import Options
from eyespan.tokens import estimate
from tests.sizes import examples

PYTHON = "import os\n\n\n" + "".join(
    [
        f"class C{n}:\n    '''About {n}.'''\n\n    def first(self):\n        return {n}\n\n    def second(self):\n"
        f"        value = {n}\n        return value * 2\n\n\n"
        for n in range(12)
    ]
)
MARKDOWN = "".join(
    [f"# Part {n}\n\n" + "Words of a paragraph. " * 30 + f"\n\n## Below {n}\n\nMore.\n\n" for n in range(6)]
)


@pytest.fixture
def workspace(tmp_path):
    with Workspace(tmp_path, deadline_seconds=60) as workspace:
        yield workspace


def shown_by_native(workspace, selector):
    """Return the lines that `native` shows for a selector."""
    reply = workspace.tool("native", numbers=1).call({"files": [selector], "budget": 100_000})
    assert not reply.is_error, reply.text
    count = reply.structured["parts"][0]["lines"]
    return [line.partition("\t")[2] for line in reply.text.split("\n")[1 : 1 + count]]


def chunks(workspace, path, max_tokens):
    found = list(workspace.read_many(path, chunk_tokens=max_tokens))
    assert not any(record.error_code for record in found), found
    assert [record.part for record in found] == list(range(len(found)))
    return found


def check(workspace, path, text, max_tokens):
    found = chunks(workspace, path, max_tokens)
    assert "".join([record.text for record in found]) == text
    assert all(record.tokens <= max_tokens for record in found)
    assert len({record.selector for record in found}) == len(found)
    for record in found:
        lines = [line.removesuffix("\n").removesuffix("\r") for line in split_lines(record.text)]
        if lines:
            assert shown_by_native(workspace, record.selector) == lines, record.selector
    return found


CHARACTERS = st.sampled_from(["a", "b ", "word ", "é", "漢字", "😀", "{", ";", "\t", "0123", "# ", "def f():", "    "])
LINES = st.lists(
    st.tuples(st.lists(CHARACTERS, max_size=12).map("".join), st.sampled_from([1, 1, 1, 40])), min_size=0, max_size=60
)


@settings(max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    lines=LINES,
    name=st.sampled_from(["a.txt", "a.py", "a.md", "a.json", "a.csv", "odd:1-2"]),
    max_tokens=st.sampled_from([16, 50, 200]),
    ends_open=st.booleans(),
)
def test_any_text_is_covered_once_and_read_again(lines, name, max_tokens, ends_open, workspace, tmp_path):
    text = "\n".join([line * times for line, times in lines]) + ("" if ends_open else "\n")
    (tmp_path / name).write_bytes(text.encode())

    check(workspace, name, text, max_tokens)


@given(
    lines=st.lists(st.integers(0, 60)),
    max_tokens=st.sampled_from([16, 40]),
    cuts=st.dictionaries(st.integers(1, 40), st.integers(0, 3)),
)
@settings(max_examples=examples(300), deadline=None)
def test_cuts_cover_all_lines_in_order(lines, max_tokens, cuts):
    texts = ["x " * count + "\n" for count in lines]

    found = list(cut(texts, cuts, max_tokens))

    at = []
    for first, last, column, chars in found:
        at += (
            [(first, column - 1 + offset) for offset in range(chars)]
            if column
            else [(line, offset) for line in range(first, last + 1) for offset in range(len(texts[line - 1]))]
        )
    assert at == [(line, offset) for line, text in enumerate(texts, 1) for offset in range(len(text))]


def test_code_is_cut_between_symbols(workspace, tmp_path):
    (tmp_path / "a.py").write_text(PYTHON)

    found = check(workspace, "a.py", PYTHON, 120)

    assert all(record.text.lstrip("\n").startswith(("import", "class")) for record in found), "no class is cut"
    assert found[-1].selector == f"a.py:{PYTHON.count(chr(10)) - 21}-{PYTHON.count(chr(10))}"


def test_a_symbol_above_the_limit_is_cut_at_its_inner_ones(workspace, tmp_path):
    (tmp_path / "a.py").write_text(PYTHON)

    found = check(workspace, "a.py", PYTHON, 32)

    assert any(record.text.lstrip().startswith("def second") for record in found)
    assert {"symbol": "C3.second"} in [dict(record.facts) for record in found]


def test_a_page_of_text_is_cut_at_its_headings(workspace, tmp_path):
    (tmp_path / "a.md").write_text(MARKDOWN)

    found = check(workspace, "a.md", MARKDOWN, 200)

    assert all(record.text.startswith("#") for record in found)


def test_line_ends_are_exact(workspace, tmp_path, capfdbinary, monkeypatch):
    text = "one\r\ntwo " * 40 + "\r\n\r\n" + "long " * 200 + "\r\nlast"
    (tmp_path / "a.txt").write_bytes(text.encode())
    monkeypatch.chdir(tmp_path)

    for record in chunks(workspace, "a.txt", 20):
        assert main(["read", "-N", record.selector]) == 0
        assert capfdbinary.readouterr().out.decode() in (record.text, record.text + "\n")


def test_a_small_text_is_one_chunk(workspace, tmp_path):
    (tmp_path / "a.txt").write_text("one\n")
    (record,) = chunks(workspace, "a.txt", 100)

    assert (record.selector, record.text, record.facts["size_bytes"]) == ("a.txt", "one\n", 4)


def test_cells_of_a_notebook(workspace, tmp_path):
    cells = [
        {"cell_type": "code", "source": f"value = {n}\n" * 8, "metadata": {}, "outputs": [], "execution_count": n}
        for n in range(1, 8)
    ]
    (tmp_path / "a.ipynb").write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))

    found = chunks(workspace, "a.ipynb", 120)

    assert len(found) > 2
    assert all(record.tokens <= 120 for record in found)
    for record in found:
        assert shown_by_native(workspace, record.selector) == record.text.removesuffix("\n").split("\n")


def test_pages_of_a_pdf(workspace, tmp_path):
    made = _pdf([["first page", "with two lines"], ["second page"], [f"line {n} of a long page" for n in range(40)]])
    (tmp_path / "a.pdf").write_bytes(made)

    found = chunks(workspace, "a.pdf", 100)

    assert [record.selector for record in found][:2] == ["a.pdf:p1", "a.pdf:p2"]
    assert found[2].selector.startswith("a.pdf:p3:1")
    assert all(record.tokens <= 100 for record in found)
    for record in found[2:]:
        assert shown_by_native(workspace, record.selector) == record.text.removesuffix("\n").split("\n")
    assert "second page" in workspace.tool("native").call({"files": ["a.pdf:p2"]}).text


def _pdf(pages):
    objects = [b"<</Type/Catalog/Pages 2 0 R>>", b"", b"<</Type/Font/Subtype/Type1/BaseFont/Courier>>"]
    kids = []
    for lines in pages:
        stream = b"BT /F1 10 Tf 12 TL 50 750 Td " + b"".join([b"(%s) Tj T* " % line.encode() for line in lines]) + b"ET"
        objects.append(b"<</Length %d>>stream\n%s\nendstream" % (len(stream), stream))
        objects.append(
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents %d 0 R/Resources<</Font<</F1 3 0 R>>>>>>"
            % len(objects)
        )
        kids.append(len(objects))
    objects[1] = b"<</Type/Pages/Count %d/Kids[%s]>>" % (len(kids), b" ".join([b"%d 0 R" % kid for kid in kids]))
    made, places = b"%PDF-1.4\n", []
    for number, one in enumerate(objects, 1):
        places.append(len(made))
        made += b"%d 0 obj%s endobj\n" % (number, one)
    start = len(made)
    made += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    made += b"".join([b"%010d 00000 n \n" % place for place in places])
    return made + b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start)


def test_a_word_document(workspace, tmp_path):
    space = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    body = "".join([f"<w:p><w:r><w:t>Paragraph {n} with some words</w:t></w:r></w:p>" for n in range(60)])
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr(
            "[Content_Types].xml", "<Types xmlns='http://schemas.openxmlformats.org/package/2006/content-types'/>"
        )
        archive.writestr("word/document.xml", f"<w:document {space}><w:body>{body}</w:body></w:document>")
    (tmp_path / "a.docx").write_bytes(made.getvalue())

    found = chunks(workspace, "a.docx", 100)

    assert len(found) > 3
    for record in found:
        assert shown_by_native(workspace, record.selector) == record.text.removesuffix("\n").split("\n")


def test_what_has_no_text_and_what_is_too_large(workspace, tmp_path):
    (tmp_path / "a.gif").write_bytes(b"GIF89a\1\0\1\0\x80\0\0\0\0\0\xff\xff\xff,\0\0\0\0\1\0\1\0\0\2\2D\1\0;")
    (tmp_path / "a.txt").write_text("line of text\n" * 100_000)

    (image,) = workspace.read_many("a.gif", chunk_tokens=100)
    *_, last = workspace.read_many("a.txt", chunk_tokens=100, max_bytes=1_200_000)

    assert (image.kind, image.text, image.data[:3], image.error_code) == ("image", "", b"GIF", "")
    assert last.error_code == "too_large"
    with pytest.raises(ValueError, match="chunk_tokens"):
        workspace.read_many("a.txt", chunk_tokens=1)


def test_an_export_in_chunks_of_another_size_reads_again(workspace, tmp_path):
    (tmp_path / "a.py").write_text(PYTHON)
    out = str(tmp_path.parent / f"{tmp_path.name}.jsonl")
    first = export_lines(workspace, ["a.py"], out, options=Options(chunk_tokens=100))
    same = export_lines(workspace, ["a.py"], out, options=Options(chunk_tokens=100))
    other = export_lines(workspace, ["a.py"], out, options=Options(chunk_tokens=50))

    assert (first.kept, same.kept, other.kept) == (0, 1, 0)
    assert other.records > first.records


def test_the_estimate_of_a_part_of_a_line_is_within_the_limit(workspace, tmp_path):
    text = "(" * 3000 + "漢" * 3000 + "a" * 3000
    (tmp_path / "a.txt").write_text(text)

    found = check(workspace, "a.txt", text, 40)

    assert max([estimate(record.text) for record in found]) <= 40
