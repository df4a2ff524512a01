"""The rules that hold in every dialect made of tables: paths, known kinds, numbers, system errors, definitions."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from eyespan import Workspace
from eyespan.dialects import dialect_class, dialect_names
from eyespan.dialects.forms import arguments_of
from eyespan.dialects.table import TableDialect, Window
from eyespan.model import Lines

PDFS = Path(__file__).parents[1] / "fixtures" / "pdfs"
TABLES = [
    name for name in dialect_names() if issubclass(dialect_class(name), TableDialect) and not name.startswith("forge")
]
"""The dialects of one tool that are tables; `forge` refuses every `..` by its document."""
LEXICAL = [name for name in TABLES if dialect_class(name).paths.is_lexical and name != "deepagents"]
"""Those that resolve `..` in the text; `deepagents` refuses it, as its program does."""
REFUSING = [name for name in TABLES if dialect_class(name).text_rule != "any" and dialect_class(name).refuses]


@pytest.fixture
def root(tmp_path):
    place = tmp_path / "root"
    place.mkdir()
    (place / "f.txt").write_text("first line\n")
    (place / "notes.pdf").write_text("plain notes\n")
    (place / "real.bin").write_bytes(b"%PDF-1.4\n1 0 obj\n<<>>\nendobj\n")
    (place / "loop").symlink_to("loop")
    return place


def reply(root, dialect, path, /, **more):
    with Workspace(root) as workspace:
        tool = workspace.toolset(dialect)[0]
        arguments = arguments_of(tool.dialect, path, str(root))
        return tool.call({**arguments, **more})


@pytest.mark.parametrize("dialect", LEXICAL)
@pytest.mark.parametrize("form", ["{root}/f.txt/", "{root}/../root/f.txt", "{root}/./x/../f.txt"])
def test_a_spelling_of_a_path_leads_to_its_file(root, dialect, form):
    answer = reply(root, dialect, form.format(root=root))

    assert (answer.error, "first line" in answer.text) == (None, True)


@pytest.mark.parametrize("dialect", ["codex", "codex-upstream", "claude", "claude-upstream", "claude@2.1"])
def test_a_path_that_leaves_the_root_and_comes_back_is_read(root, dialect):
    assert "first line" in reply(root, dialect, f"{root}/../root/f.txt").text


@pytest.mark.parametrize("dialect", ["gemini", "opencode"])
def test_a_pdf_comes_as_a_file_of_its_type(root, dialect):
    (root / "real.pdf").write_bytes((PDFS / "linear.pdf").read_bytes())

    assert reply(root, dialect, str(root / "real.pdf")).content[-1].media_type == "application/pdf"


@pytest.mark.parametrize("dialect", ["openhands", "grok", "text-editor", "opencode"])
def test_a_directory_is_listed_and_a_pipe_is_an_error(root, dialect):
    os.mkfifo(root / "pipe")

    assert "notes.pdf" in reply(root, dialect, str(root)).text
    assert reply(root, dialect, str(root / "pipe")).is_error


@pytest.mark.parametrize("dialect", [name for name in TABLES if name != "claude"])  # a shared case fixes its refusal
def test_a_text_is_a_text_whatever_its_name(root, dialect):
    assert "plain notes" in reply(root, dialect, str(root / "notes.pdf")).text


@pytest.mark.parametrize("dialect", REFUSING)
def test_the_source_of_a_binary_kind_is_never_shown_as_text(root, dialect):
    assert "endobj" not in reply(root, dialect, str(root / "real.bin")).text


@pytest.mark.parametrize("dialect", TABLES)
@pytest.mark.parametrize("name", ["loop", "n" * 300, "nul\0", "gone"])
def test_a_file_that_cannot_be_opened_is_an_error_without_a_traceback(root, dialect, name):
    answer = reply(root, dialect, os.path.join(str(root), name))

    assert (answer.is_error, "internal" in answer.text) == (True, False)


@pytest.mark.parametrize("dialect", TABLES)
@pytest.mark.parametrize("value", ["3", "x", True, 1.5, [1], {}, 2**60, -(2**60), 10**400, None])
def test_odd_values_of_every_field_are_answered(root, dialect, value):
    wrong = []
    for field in dialect_class(dialect)().spec.input_schema["properties"]:
        answer = reply(root, dialect, str(root / "f.txt"), **{field: value})
        if answer.error is not None and answer.error.code == "internal":
            wrong.append((field, answer.text))

    assert wrong == []


def numbers_of(name):
    """Return the fields of the first tool of a dialect that take a number, and how to put a value into a call."""
    found = dialect_class(name)()
    dialect = found.members[0]
    if name == "cline":
        return [(one, lambda path, one=one, **more: {"files": [{"path": path, **more}]}) for one in dialect.entry[1:]]
    numbers = [one for one in dialect.fields if one.type in ("integer", "number")]
    return [(one, lambda path, dialect=dialect, **more: {dialect.paths.field: path, **more}) for one in numbers]


NUMBERS = [
    pytest.param(name, one, made, id=f"{name}-{one.name}")
    for name in dialect_names()
    if all(isinstance(member, TableDialect) for member in dialect_class(name)().members)
    for one, made in numbers_of(name)
]
"""Every argument of every dialect that is a number."""


def answer(root, dialect, arguments):
    with Workspace(root) as workspace:
        return workspace.toolset(dialect)[0].call(arguments)


@pytest.mark.parametrize(("dialect", "field", "made"), NUMBERS)
@pytest.mark.parametrize(("form", "takes"), [("1", "text"), (1.0, "float"), (True, "bool")])
def test_another_form_of_a_number_is_taken_where_the_field_says_so(root, dialect, field, made, form, takes):
    path = str(root / "f.txt")
    usual = answer(root, dialect, made(path, **{field.name: 1}))
    other = answer(root, dialect, made(path, **{field.name: form}))

    if takes in field.takes or (takes == "float" and field.is_fraction):
        assert other.text == usual.text
    else:
        assert other.is_error


@pytest.mark.parametrize(("dialect", "field", "made"), NUMBERS)
def test_a_number_that_its_type_does_not_hold_is_refused_and_all_others_are_answered(root, dialect, field, made):
    path = str(root / "f.txt")
    for value in (2**53 - 1, 2**53, 2**64, -(2**53)):
        reply = answer(root, dialect, made(path, **{field.name: value}))

        assert reply.error is None or reply.error.code != "internal"
        if field.fits and not field.fits[0] <= value <= field.fits[1]:
            assert reply.is_error


@pytest.mark.parametrize(("dialect", "field", "made"), NUMBERS)
def test_null_is_an_absent_number_where_the_field_takes_it(root, dialect, field, made):
    path = str(root / "f.txt")
    absent = answer(root, dialect, made(path))
    null = answer(root, dialect, made(path, **{field.name: None}))

    if not field.required:
        assert (null.text == absent.text) is field.takes_null


@pytest.mark.parametrize("dialect", TABLES)
def test_a_mention_is_read_where_the_dialect_has_mentions(root, dialect):
    with Workspace(root) as workspace:
        tool = workspace.tool(dialect)
        arguments = arguments_of(tool.dialect, str(root / "f.txt"), str(root))
        text = json.dumps(arguments).replace(str(root / "f.txt"), "@f.txt")
        shown = "first line" in tool.call(json.loads(text)).text

    assert shown is dialect_class(dialect).paths.has_mentions


@pytest.mark.parametrize("dialect", dialect_names())
@pytest.mark.parametrize("arguments", [{}, None, 3, {"unknown": 1}])
def test_a_call_without_its_arguments_is_an_error_of_the_dialect(root, dialect, arguments):
    reply = answer(root, dialect, arguments)

    assert (reply.is_error, reply.error.code == "internal") == (True, False)


@pytest.mark.parametrize("dialect", dialect_names())
def test_a_file_of_a_bom_alone_is_answered_without_it_where_boms_are_hidden(root, dialect):
    (root / "bom.txt").write_bytes(b"\xef\xbb\xbf")
    member = dialect_class(dialect)().members[0]
    text = reply(root, dialect, str(root / "bom.txt")).text

    assert not (getattr(member, "hides_bom", False) and "\ufeff" in text)
    assert "internal" not in text


def test_the_root_itself_is_a_dot_in_errors_of_workspace(root):
    with Workspace(root) as workspace:
        answer = workspace.tool("workspace").call({"path": str(root)})

    assert answer.error.message == "NOT_FILE: path is not a file: ."


@pytest.mark.parametrize(("dialect", "field", "made"), NUMBERS)
def test_a_number_out_of_its_bounds_is_refused(root, dialect, field, made):
    path = str(root / "f.txt")

    for outside in (field.minimum is not None and field.minimum - 1, field.maximum is not None and field.maximum + 1):
        if outside is not False:
            assert answer(root, dialect, made(path, **{field.name: outside})).is_error, outside


def test_a_range_that_ends_before_it_starts_has_no_lines():
    window = Window(first="from", last="to", count="most", lines=10)

    assert window.selection({"from": 9, "to": 5}) == window.selection({"from": 9, "to": 5, "most": 3}) == Lines(9, 0)
    assert window.selection({"from": 5, "to": 9, "most": 3}) == Lines(5, 3)
