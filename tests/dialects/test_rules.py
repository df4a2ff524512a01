"""The rules that hold in every dialect made of tables: paths, known kinds, numbers, system errors, definitions."""

from __future__ import annotations

import os

import pytest

from eyespan import Workspace
from eyespan.dialects import dialect_class, dialect_names
from eyespan.dialects.forms import arguments_of
from eyespan.dialects.table import TableDialect

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
        tool = workspace.tool(dialect)
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


@pytest.mark.parametrize("dialect", ["kimi@1.52", "deepagents"])
def test_numbers_in_strings_are_numbers_where_the_program_takes_them(root, dialect):
    field = dialect_class(dialect).window.first

    assert reply(root, dialect, str(root / "f.txt"), **{field: "1"}) == reply(
        root, dialect, str(root / "f.txt"), **{field: 1}
    )


def test_the_root_itself_is_a_dot_in_errors_of_workspace(root):
    with Workspace(root) as workspace:
        answer = workspace.tool("workspace").call({"path": str(root)})

    assert answer.error.message == "NOT_FILE: path is not a file: ."
