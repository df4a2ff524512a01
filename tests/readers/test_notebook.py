"""Read notebooks as nbconvert shows them, and hostile ones with a clear error."""

from __future__ import annotations

import base64
import io
import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyespan import Workspace, worker
from eyespan.decoders import notebook as decoder
from eyespan.errors import Cancelled, TimedOut, Unreadable, WindowTooLarge
from eyespan.model import DocumentOptions, ImagePart, Limits, Lines, NotebookOptions, ReadRequest
from eyespan.readers import notebook
from tests.sizes import examples

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


def read(path: Path, **request):
    with Workspace(path.parent) as workspace:
        return workspace.engine.read(ReadRequest(path.name, documents=frozenset(["notebook"]), **request))


def write(path: Path, *cells, **top) -> Path:
    path.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, **top}), encoding="utf-8")
    return path


@pytest.fixture
def shown(tmp_path):
    """Return a function that reads a notebook of the given cells."""

    def show(*cells, **top):
        return call(write(tmp_path / "a.ipynb", *cells, **top))

    return show


# --- made by Jupyter -------------------------------------------------------------------------------------------------


def expected_pieces() -> list[str]:
    """Return the text that nbconvert shows: fenced code, indented output, and the lines between."""
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
        if piece.startswith("![png]"):  # nbconvert's link to the image
            continue
        found = text.find(piece, at)
        assert found >= 0, piece
        at = found + len(piece)


@pytest.mark.parametrize("name", ["tides.ipynb", "tides_v3.ipynb"])
def test_the_image_is_in_its_place(name):
    blocks = call(FIXTURES / name).content
    stored = re.search(r'"(?:image/)?png": "([^"]+)"', (FIXTURES / name).read_text(encoding="utf-8"))[1]

    assert [block.type for block in blocks] == ["text", "image", "text"]
    assert blocks[1].data == base64.b64decode(stored.replace("\\n", ""))
    assert blocks[0].text.endswith("<IPython.core.display.Image object>")


def test_no_terminal_escapes_are_left():
    assert "\\u001b" in (FIXTURES / "tides.ipynb").read_text(encoding="utf-8")
    assert "\x1b" not in call(FIXTURES / "tides.ipynb").text


def test_an_output_over_the_limit_is_cut_with_a_command_for_the_rest():
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


# --- cells and outputs ------------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize(("level", "signs"), [(0, "#"), (1, "#"), (2, "##"), (6, "######"), (9, "######")])
def test_headings_of_old_notebooks_are_headings(shown, level, signs):
    assert f"</cell_type>{signs} Old</cell" in shown({"cell_type": "heading", "level": level, "source": "Old"}).text


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("!!!", "[image left out: invalid base64]"),
        (base64.b64encode(b"<html>").decode(), "[image left out: not a PNG, JPEG, GIF or WebP image]"),
        (base64.b64encode(PNG[:30] + b"\0" * 30).decode(), "[image left out: "),
        (12, "not a PNG"),
        ("é", "invalid base64"),
    ],
)
def test_an_invalid_image_is_a_note(shown, data, text):
    reply = shown(code("plot()", display(image_png=data)))

    assert [block.type for block in reply.content] == ["text"]
    assert text in reply.text


def test_images_over_the_limit_are_left_out_with_a_command(shown, monkeypatch):
    monkeypatch.setattr(notebook, "MAX_IMAGES", 2)
    reply = shown(*[code("", display(image_png=_base64(PNG)))] * 3)

    assert [block.type for block in reply.content].count("image") == 2
    assert "[image of" in reply.text
    assert """'.cells[2].outputs[0].data["image/png"]'""" in reply.text


def test_all_outputs_together_have_a_limit(shown):
    reply = shown(*[code("", stream("x" * 9000))] * 20)

    assert 100_000 < len(reply.text) < 110_000
    assert "output of 9000 characters left out; see: jq" in reply.text


@pytest.mark.parametrize(
    "text",
    ["\x1b[31mred\x1b[0m", "\x1b]0;title\x07red", "\x1b]8;;http://x\x1b\\red\x1b]8;;\x1b\\", "\x9b1mred", "\x1b(Bred"],
)
def test_terminal_escapes_are_removed(shown, text):
    assert shown(code("", stream(text))).text.endswith("\nred")


# --- images ----------------------------------------------------------------------------------------------------------

IMAGE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def plot():
    return code("plot()", display(image_png=base64.b64encode(IMAGE).decode()))


def replace_image_jobs(monkeypatch, act):
    """Let `act` take the place of jobs that decode images; the others run."""
    run = worker.run

    def chosen(task, *rest, **named):
        return act() if task == "image" else run(task, *rest, **named)

    monkeypatch.setattr(worker, "run", chosen)


@pytest.mark.parametrize("error", [TimedOut("", seconds=1), Unreadable("", kind="image", reason="bad")])
def test_an_image_that_cannot_be_decoded_is_a_note(error, tmp_path, monkeypatch):
    def fail():
        raise error

    replace_image_jobs(monkeypatch, fail)
    parts = read(write(tmp_path / "a.ipynb", plot(), plot())).parts

    assert not any(isinstance(part, ImagePart) for part in parts)
    assert any("image" in part.text and "left out" in part.text for part in parts)


def test_a_converted_image_comes_with_a_note_and_counts_once(tmp_path, monkeypatch):
    facts = {"media_type": "image/png", "width": 4, "height": 2, "shown_width": 2, "shown_height": 1, "scale": 0.5}
    replace_image_jobs(monkeypatch, lambda: ({**facts, "format": "PNG"}, [IMAGE]))
    monkeypatch.setattr(notebook, "MAX_IMAGES", 1)

    _, image, note, _, left_out = read(write(tmp_path / "a.ipynb", plot(), plot())).parts

    assert (image.data, image.media_type) == (IMAGE, "image/png")
    assert note.text.startswith("The original image has 4 x 2 pixels (PNG). It is shown at 2 x 1 pixels")
    assert left_out.text.startswith("[image of ")
    assert "left out" in left_out.text


def test_a_read_that_is_cancelled_at_an_image_is_cancelled(tmp_path, monkeypatch):
    def cancel():
        raise Cancelled("")

    replace_image_jobs(monkeypatch, cancel)
    with pytest.raises(Cancelled):
        read(write(tmp_path / "a.ipynb", plot()))


# --- hostile ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", None),
        (b"{", "invalid JSON"),
        (b"[]", "without a list of cells"),
        (b'"cells"', "without a list of cells"),
        (b'{"cells": {}}', "without a list of cells"),
        (b'{"cells": [' + b"[" * 100_000, "nested more than 100 levels"),
        (b'{"cells":' + b'{"a":' * 200 + b"1" + b"}" * 201, "nested more than 100 levels"),
        (b'{"cells": [' + b"0," * 2_000_001 + b"0]}", "more than 2000000 values"),
        (b'{"cells": [' + b"[]," * 2_000_001 + b"0]}", "more than 2000000 values"),
        (b'{"a": "' + b'\\"' * 3_000_000, "invalid JSON"),
        (b'{"cells": [' + b"9" * 5000 + b"]}", "invalid JSON"),
        (b'\xff\xfe{"cells": []}', "not UTF-8"),
    ],
)
def test_a_file_that_is_not_a_notebook_is_an_error(tmp_path, data, text):
    path = tmp_path / "a.ipynb"
    path.write_bytes(data)
    reply = call(path)

    if text is None:
        assert "contents are empty" in reply.text
    else:
        assert text in reply.error.message
        assert "notebook" in reply.error.message


def test_a_notebook_over_the_size_limit_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "a.ipynb"
    with path.open("wb") as file:
        file.truncate(notebook.MAX_BYTES + 1)

    assert "exceed the limit of 33554432 for notebooks" in call(path).error.message


def test_a_notebook_that_grows_while_it_is_read_is_too_large():
    params = {"max_bytes": 100, "asked": "a"}
    with pytest.raises(Unreadable, match="101 bytes exceed the limit of 100"):
        decoder.decode(io.BytesIO(b" " * 200), params)


@pytest.mark.parametrize(
    ("cells", "limits"),
    [
        pytest.param([{}] * 50_001, Limits(), id="cells"),
        pytest.param([{"outputs": [{"data": {"x": 1}}] * 50_001}], Limits(), id="outputs"),
        pytest.param(
            [{"attachments": {"x" * 100_000: {"image/png": "AAAA"}}}] * 12, Limits(max_window_bytes=100), id="titles"
        ),
    ],
)
def test_more_notes_than_an_answer_holds_are_an_error(tmp_path, monkeypatch, cells, limits):
    monkeypatch.setattr(notebook, "MAX_IMAGES_BYTES", 1)
    with pytest.raises(WindowTooLarge):
        read(write(tmp_path / "a.ipynb", *cells), limits=limits)


def test_worksheets_without_cells_and_empty_outputs_are_skipped(tmp_path):
    sheet = {"cells": [{"cell_type": "code", "input": "x", "outputs": [{"output_type": "stream", "text": "\n"}]}]}
    path = tmp_path / "a.ipynb"
    path.write_text(json.dumps({"nbformat": 3, "worksheets": [sheet, {}, 1, {"cells": 7}]}))

    assert [part.text for part in read(path).parts] == ['<cell id="cell-0">x</cell id="cell-0">']


def test_source_that_exceeds_the_window_is_an_error(tmp_path):
    with pytest.raises(WindowTooLarge):
        read(write(tmp_path / "a.ipynb", code("x" * 1000)), limits=Limits(max_window_bytes=100))


def test_brackets_in_strings_do_not_count():
    deep = "[" * 1000 + '{"' * 100
    assert decoder.parse_json(json.dumps({"cells": [deep, '\\"[[']}).encode()) == {"cells": [deep, '\\"[[']}


@pytest.mark.parametrize("where", ["source", "stream", "title", "language", "id", "ename", "form"])
def test_lone_surrogates_are_replaced(tmp_path, where):
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


def test_a_pair_of_surrogates_is_one_character(tmp_path):
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


def test_invalid_json_is_unreadable():
    with pytest.raises(Unreadable, match="invalid JSON"):
        decoder.parse_json(b"nonsense")


# --- responses of a decoder that an attacker controls ----------------------------------------------------------------

RESPONSE = {"pieces": [1, [1, 1, 1]], "total_cells": 1, "cells_returned": 1, "language": "r", "truncated": False}


@pytest.mark.parametrize(
    ("changed", "blobs"),
    [
        ({"pieces": None}, [b"abc"]),
        ({"pieces": ["x"]}, [b"abc"]),
        ({"pieces": [[1, 2]]}, [b"abc"]),
        ({"pieces": [["a", "b", "c"]]}, [b"abc"]),
        ({"pieces": [1]}, [b"\xff"]),
        ({"total_cells": "many"}, [b"abc"]),
        ({"cells_returned": None}, [b"abc"]),
        ({}, []),
    ],
)
def test_an_invalid_response_is_an_error(tmp_path, monkeypatch, changed, blobs):
    path = write(tmp_path / "a.ipynb", code())
    monkeypatch.setattr(worker, "run", lambda *_, **__: ({**RESPONSE, **changed}, blobs))

    with pytest.raises(Unreadable, match="the decoder returned an invalid response"):
        read(path)


def test_a_valid_response_is_shown(tmp_path, monkeypatch):
    path = write(tmp_path / "a.ipynb", code())
    monkeypatch.setattr(worker, "run", lambda *_, **__: (RESPONSE, [b"abc"]))

    assert [part.text for part in read(path).parts] == ["a", "c"]


def test_an_output_of_an_unknown_type_is_named(shown):
    reply = shown(code("x", {"output_type": "hologram", "beam": 1}, stream("after")))

    assert "[output of the unknown type hologram not shown; see: " in reply.text
    assert reply.text.endswith("after")


# --- long outputs -----------------------------------------------------------------------------------------------------


def test_a_long_output_is_read_on_by_the_selector_of_its_cell(tmp_path):
    lines = [f"line {number}" for number in range(5000)]
    stream = {"output_type": "stream", "name": "stdout", "text": "\n".join(lines)}
    cells = [
        {"cell_type": "code", "source": "x", "outputs": []},
        {"cell_type": "code", "source": "y", "outputs": [stream]},
    ]
    (tmp_path / "a.ipynb").write_text(json.dumps({"cells": cells, "nbformat": 4, "metadata": {}}))

    with Workspace(tmp_path) as workspace:
        native = workspace.tool("native")
        short = native.call({"files": "a.ipynb", "budget": 100_000}).text
        whole = native.call({"files": "a.ipynb:c2", "budget": 100_000}).text

    size = len("\n".join(lines))
    assert f"[output cut: 10000 of {size} characters shown; see the rest: a.ipynb:c2]" in short
    assert all(f"\t{line}\n" in whole + "\n" for line in lines)


def test_the_deepest_json_that_is_parsed():
    deepest = b"[" * decoder.MAX_DEPTH + b"]" * decoder.MAX_DEPTH

    assert decoder.parse_json(deepest)
    with pytest.raises(Unreadable, match="nested more than"):
        decoder.parse_json(b"[" + deepest + b"]")
