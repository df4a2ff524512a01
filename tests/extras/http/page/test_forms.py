"""The arguments that the page makes: every tool of every dialect reads a file, its lines, and on to its end."""

from __future__ import annotations

import re

import pytest

from eyespan import Workspace
from eyespan.context import CallContext
from eyespan.dialects import dialect_names, forms
from eyespan.extras.http.page.activity import Activity
from eyespan.extras.http.page.api import Api, WorkspaceBackend

LINES = 2100


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    root = tmp_path_factory.mktemp("place")
    (root / "a b.txt").write_text("".join(f"row {n:04} here\n" for n in range(1, LINES + 1)))
    with Workspace(root) as workspace:
        yield Api(WorkspaceBackend(workspace, Activity())), workspace


READERS = {**dict.fromkeys(dialect_names()), "filesystem": "read_text_file", "gemini": "read_file"}
"""The tool of each dialect that reads the lines of one file; None is its only one."""


def rows(answer):
    text = "\n".join([block["text"] for block in answer["blocks"]])
    return [int(number) for number in re.findall(r"row (\d+) here", text)]


@pytest.mark.parametrize("name", READERS)
def test_reading_on_reaches_the_end_of_the_file(place, name):
    api, _ = place
    answer = api.call({"dialect": name, "tool": READERS[name], "file": {"path": "a b.txt"}}, CallContext())
    read = rows(answer)
    while answer["next"]:
        (following,) = answer["next"]
        assert following["arguments"] is not None, following
        answer = api.call({"dialect": name, "tool": READERS[name], "arguments": following["arguments"]}, CallContext())
        read += rows(answer)

    assert read == list(range(1, LINES + 1))


@pytest.mark.parametrize("name", [name for name in READERS if name not in ("filesystem", "continue")])
def test_the_same_lines_are_read_in_every_dialect(place, name):
    api, _ = place
    first = api.call({"dialect": "claude", "arguments": {**path_of(place), "offset": 19, "limit": 3}}, CallContext())
    answer = api.call({"dialect": name, "tool": READERS[name], "file": first["file"]}, CallContext())

    assert first["file"] == {"path": "a b.txt", "first": 20, "last": 22}
    assert rows(first) == [20, 21, 22]
    assert rows(answer) == ([20, 21, 22, 23] if name == "copilot" else rows(first))  # it counts the line after `limit`
    if name != "cline":  # the lines are in a list of files
        assert answer["file"] == first["file"]


def path_of(place):
    return {"file_path": f"{place[1].roots[0].path}/a b.txt"}


def test_every_tool_with_a_path_has_a_field_for_it(place):
    _, workspace = place
    without = [
        tool.spec.name
        for name in dialect_names()
        for tool in workspace.toolset(name)
        if forms.path_field(tool.spec.input_schema) is None
    ]

    assert without == ["list_allowed_directories"]


@pytest.mark.parametrize(
    "arguments",
    [
        {"start_line": 5, "end_line": 9},
        {"start_line": 5, "limit": 4},
        {"head": 4},
    ],
)
def test_reading_on_after_a_range_drops_what_contradicts_it(place, arguments):
    api, _ = place
    answer = api.call({"dialect": "forge", "arguments": {"path": "a b.txt", **arguments}}, CallContext())
    (following,) = answer["next"]
    on = api.call({"dialect": "forge", "arguments": following["arguments"]}, CallContext())

    assert rows(on)[0] == rows(answer)[-1] + 1


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        (None, (None, None)),
        ({"offset": True}, (None, None)),
        ({"offset": "7"}, (None, None)),
        ({"offset": 7}, (7, None)),
        ({"limit": 7}, (1, 7)),
        ({"offset": 7, "limit": 2}, (7, 8)),
    ],
)
def test_lines_that_arguments_name(place, arguments, lines):
    assert forms.lines_of(place[1].tool("claude-upstream").dialect, arguments) == lines


def test_a_selector_that_a_tool_cannot_name_has_no_arguments(place):
    tool = place[1].tool("codex")

    for selector in ("paper.pdf:p3-9", "a.py", "a.py::f", None, "a.py:x-", "a.py:²-", "a.py:1-³", "a.py:p²"):
        assert forms.following(tool.dialect, {"file_path": "/x"}, selector) is None
