"""Notebooks: what Jupyter says is in them, and what hostile ones are answered with."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyespan import Workspace
from eyespan.errors import Unreadable
from eyespan.model import DocumentOptions, Lines, NotebookOptions, ReadRequest
from eyespan.readers import notebook
from sizes import examples

FIXTURES = Path(__file__).parent.parent / "fixtures" / "notebooks"
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR42mMQsbkDRAwQCgAdvgSxwnlvpwAAAABJRU5ErkJggg=="
)


def call(path: Path, **settings):
    return Workspace("/").tool("claude", **settings).call({"file_path": str(path)})


def code(source="", *outputs, **more):
    return {"cell_type": "code", "source": source, "outputs": list(outputs), "metadata": {}, **more}


def stream(text):
    return {"output_type": "stream", "name": "stdout", "text": text}


def display(**forms):
    return {"output_type": "display_data", "metadata": {}, "data": {k.replace("_", "/"): v for k, v in forms.items()}}


@pytest.fixture
def shown(tmp_path):
    """The reply for a notebook of these cells."""

    def show(*cells, **top):
        path = tmp_path / "a.ipynb"
        path.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, **top}), encoding="utf-8")
        return call(path)

    return show


# --- made by Jupyter -------------------------------------------------------------------------------------------------


def expected_pieces() -> list[str]:
    """What nbconvert shows: code of each fenced block, text of each indented one, and the plain lines between."""
    text = (FIXTURES / "tides.expected.md").read_text(encoding="utf-8")
    pieces = []
    for fenced, plain in re.findall(r"```python\n(.*?)\n```|((?:(?!```python).)+)", text, re.DOTALL):
        if fenced:
            pieces.append(fenced)
        else:
            pieces += [line.removeprefix("    ") for line in plain.split("\n") if line.strip()]
    return pieces


@pytest.mark.parametrize("name", ["tides.ipynb", "tides_v3.ipynb"])
def test_every_cell_and_output_that_nbconvert_shows_is_there_in_order(name, monkeypatch):
    monkeypatch.setattr(notebook, "MAX_OUTPUT_CHARS", 100_000)
    text = call(FIXTURES / name).text
    at = 0
    for piece in expected_pieces():
        if piece.startswith("![png]"):  # nbconvert's link to the picture
            continue
        found = text.find(piece, at)
        assert found >= 0, piece
        at = found + len(piece)


@pytest.mark.parametrize("name", ["tides.ipynb", "tides_v3.ipynb"])
def test_the_picture_stands_at_its_place(name):
    blocks = call(FIXTURES / name).content
    stored = re.search(r'"(?:image/)?png": "([^"]+)"', (FIXTURES / name).read_text(encoding="utf-8"))[1]

    assert [block.type for block in blocks] == ["text", "image", "text"]
    assert blocks[1].data == base64.b64decode(stored.replace("\\n", ""))
    assert blocks[0].text.endswith("<IPython.core.display.Image object>")


def test_no_terminal_escapes_are_left():
    assert "\\u001b" in (FIXTURES / "tides.ipynb").read_text(encoding="utf-8")
    assert "\x1b" not in call(FIXTURES / "tides.ipynb").text


def test_an_output_over_the_cap_is_cut_with_a_pointer_to_the_rest():
    reply = call(FIXTURES / "tides.ipynb")

    assert (
        f"[output cut: 10000 of 27489 characters shown; see the rest: jq -r '.cells[5].outputs[0].text' {FIXTURES}"
        in (reply.text)
    )
    assert reply.structured["truncated"] is True


def test_cells_can_be_selected():
    engine = Workspace("/").engine
    path = str(FIXTURES / "tides.ipynb")
    options = DocumentOptions(notebook=NotebookOptions(2, 3))

    document = engine.read(ReadRequest(path, Lines(), documents=frozenset({"notebook"}), options=options))

    assert [part.text.partition(">")[2][:12] for part in document.parts] == ["tide = 42\npr", "", "import sys\np", ""]
    assert (document.extra["total_cells"], document.extra["cells_returned"]) == (8, 2)


# --- forms and oddities ----------------------------------------------------------------------------------------------


def test_cells_are_marked_with_id_type_and_language(shown):
    reply = shown(
        code("x <- 1", id="a-1"),
        {"cell_type": "markdown", "source": ["# T\n", "words"]},
        code("select 1", metadata={"vscode": {"languageId": "sql"}}),
        code("y", id='"><evil'),
        metadata={"language_info": {"name": "R"}},
    )

    assert reply.text == (
        '<cell id="a-1"><language>R</language>x <- 1</cell id="a-1">\n'
        '<cell id="cell-1"><cell_type>markdown</cell_type># T\nwords</cell id="cell-1">\n'
        '<cell id="cell-2"><language>sql</language>select 1</cell id="cell-2">\n'
        '<cell id="cell-3"><language>R</language>y</cell id="cell-3">'
    )


def test_an_output_is_shown_in_its_best_form(shown):
    reply = shown(
        code("", display(text_html="<b>x</b>", text_plain="x")),
        code("", display(text_html="<b>only</b>")),
        code("", display(application_json={"a": 1})),
        code("", display(application_x="?")),
    )

    outputs = [line for line in reply.text.split("\n") if not line.startswith("<cell")]
    assert outputs[:3] == ["x", "<b>only</b>", '{"a": 1}']
    assert outputs[3].startswith("[output not shown: application/x; see: jq -r '.cells[3].outputs[0].data'")


def test_attachments_of_a_cell_are_shown(shown):
    cell = {"cell_type": "markdown", "source": "see", "attachments": {"a.png": {"image/png": _base64(PNG)}}}

    assert [block.type for block in shown(cell).content] == ["text", "image"]


def test_headings_of_old_notebooks_are_headings(shown):
    assert "# Old</cell" in shown({"cell_type": "heading", "level": 2, "source": "Old"}).text


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ("!!!", "its base64 is damaged"),
        (base64.b64encode(b"<html>").decode(), "no PNG, JPEG, GIF or WebP"),
        (base64.b64encode(PNG[:30] + b"\0" * 30).decode(), "picture left out"),
        (12, "no PNG"),
        ("é", "base64 is damaged"),
    ],
)
def test_a_bad_picture_is_a_note(shown, data, says):
    reply = shown(code("plot()", display(image_png=data)))

    assert [block.type for block in reply.content] == ["text"]
    assert says in reply.text


def test_pictures_over_the_limit_are_left_out_with_a_pointer(shown, monkeypatch):
    monkeypatch.setattr(notebook, "MAX_PICTURES", 2)
    reply = shown(*[code("", display(image_png=_base64(PNG)))] * 3)

    assert [block.type for block in reply.content].count("image") == 2
    assert "[picture of" in reply.text
    assert """'.cells[2].outputs[0].data["image/png"]'""" in reply.text


def test_all_outputs_together_have_a_cap(shown):
    reply = shown(*[code("", stream("x" * 9000))] * 20)

    assert 100_000 < len(reply.text) < 110_000
    assert "output of 9000 characters left out; see: jq" in reply.text


@pytest.mark.parametrize(
    "text",
    ["\x1b[31mred\x1b[0m", "\x1b]0;title\x07red", "\x1b]8;;http://x\x1b\\red\x1b]8;;\x1b\\", "\x9b1mred", "\x1b(Bred"],
)
def test_terminal_escapes_are_removed(shown, text):
    assert shown(code("", stream(text))).text.endswith("\nred")


# --- hostile ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", None),
        (b"{", "not valid JSON"),
        (b"[]", "no list of cells"),
        (b'"cells"', "no list of cells"),
        (b'{"cells": {}}', "no list of cells"),
        (b'{"cells": [' + b"[" * 100_000, "nested more than 100 levels"),
        (b'{"cells":' + b'{"a":' * 200 + b"1" + b"}" * 201, "nested more than 100 levels"),
        (b'{"cells": [' + b"0," * 2_000_001 + b"0]}", "more than 2000000 values"),
        (b'{"cells": [' + b"[]," * 2_000_001 + b"0]}", "more than 2000000 values"),
        (b'{"a": "' + b'\\"' * 3_000_000, "not valid JSON"),
        (b'{"cells": [' + b"9" * 5000 + b"]}", "not valid JSON"),
        (b'\xff\xfe{"cells": []}', "not UTF-8"),
    ],
)
def test_a_file_that_is_no_notebook_is_one_clear_error(tmp_path, data, says):
    path = tmp_path / "a.ipynb"
    path.write_bytes(data)
    reply = call(path)

    if says is None:
        assert "contents are empty" in reply.text
    else:
        assert says in reply.error.message
        assert "notebook" in reply.error.message


def test_a_notebook_over_the_size_limit_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "a.ipynb"
    with path.open("wb") as file:
        file.truncate(notebook.MAX_BYTES + 1)

    assert "the limit for notebooks is 33554432" in call(path).error.message


def test_brackets_inside_strings_are_no_depth():
    deep = "[" * 1000 + '{"' * 100
    assert notebook.parse(json.dumps({"cells": [deep, '\\"[[']}).encode()) == {"cells": [deep, '\\"[[']}


@pytest.mark.parametrize("where", ["source", "stream", "title", "language", "id", "ename", "form"])
def test_lone_surrogates_never_leave(tmp_path, where):
    lone = "\\ud800x"
    cell = {
        "source": '{"cell_type": "code", "source": "%s", "outputs": []}',
        "stream": '{"cell_type": "code", "outputs": [{"output_type": "stream", "text": ["%s"]}]}',
        "title": '{"cell_type": "markdown", "attachments": {"%s": {"image/png": "eA=="}}}',
        "language": '{"cell_type": "code", "language": "%s", "source": ""}',
        "id": '{"cell_type": "code", "id": "%s", "source": ""}',
        "ename": '{"cell_type": "code", "outputs": [{"output_type": "error", "ename": "%s", "traceback": null}]}',
        "form": '{"cell_type": "code", "outputs": [{"output_type": "display_data", "data": {"%s": "x"}}]}',
    }[where] % lone
    path = tmp_path / "a.ipynb"
    path.write_text(f'{{"cells": [{cell}]}}', encoding="utf-8")

    reply = call(path)

    assert not reply.is_error
    reply.text.encode("utf-8")
    json.dumps(reply.structured).encode("utf-8")


def test_pairs_of_surrogates_are_the_character_they_spell(tmp_path):
    path = tmp_path / "a.ipynb"
    path.write_text('{"cells": [{"cell_type": "code", "source": "\\ud83d\\ude00"}]}', encoding="utf-8")

    assert "😀" in call(path).text


KEYS = ["cell_type", "source", "outputs", "output_type", "data", "text/plain", "image/png", "metadata", "id", "text"]
KEYS += [
    "attachments",
    "language",
    "level",
    "input",
    "traceback",
    "ename",
    "png",
    "kernelspec",
    "language_info",
    "name",
]
anything = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=5) | st.just("\ud800"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=examples(300), deadline=None)
@given(cells=st.lists(anything, max_size=4), top=st.dictionaries(st.sampled_from(["metadata", "worksheets"]), anything))
def test_any_tree_is_shown_or_refused(tmp_path_factory, cells, top):
    path = tmp_path_factory.getbasetemp() / "any.ipynb"
    path.write_text(json.dumps({**top, "cells": cells}), encoding="utf-8")
    reply = call(path)

    assert reply.error is None or reply.error.code == "unreadable"
    reply.text.encode("utf-8")


def _base64(data: bytes) -> str:
    return base64.encodebytes(data).decode()


def test_parse_raises_what_it_says():
    with pytest.raises(Unreadable):
        notebook.parse(b"nonsense")
