from __future__ import annotations

import pytest

from eyespan import Workspace

from .answers import shown


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "files is required"),
        ({"files": []}, "files is required"),
        ({"files": [3]}, "each must be a path"),
        ({"files": "a.py", "colour": 3}, 'no argument "colour"; there are files, budget'),
        ({"files": "a.py", "outlines": True}, "Did you mean outline?"),
        ({"files": "a.py", "path": "b.py"}, "gives files a second time"),
        ({"files": "a.py", "offset": "x"}, "the first line must be a whole number"),
        ({"files": "a.py", "offset": "--3"}, "the first line must be a whole number"),
        ({"files": "a.py", "end_line": 9, "limit": 3}, "an end and a count exclude each other"),
        ({"files": "a.py", "lines": "3-4", "offset": 3}, "the lines are given twice"),
        ({"files": [{"path": "a.py", "lines": "3"}], "lines": "4"}, "has its own lines"),
        ({"files": [{"path": "a.py", "colour": 3}]}, 'a file has no "colour"; it has a path and perhaps lines'),
        ({"files": [{"lines": "3"}]}, "needs a path"),
        ({"files": "a.py", "budget": "much"}, "budget must be"),
        ({"files": "a.py", "known": ["xyz"]}, "known must be hashes"),
        ({"files": "a.py", "outline": "perhaps"}, "outline must be"),
        ({"files": [{"path": "a.py", "lines": "x"}]}, 'lines must be as in "10-20,40-60"'),
        ({"files": [{"path": "a.py", "lines": {"x": 3}}]}, 'lines must be as in "10-20,40-60"'),
        ({"files": ["a.py"] * 10_001}, "Send the others in further calls"),
        ([], "must be an object"),
    ],
)
def test_invalid_arguments_are_answered_with_the_valid_ones(root, arguments, words):
    with Workspace(root) as workspace:
        reply = workspace.tool("native").call(arguments)

    assert reply.error.code == "invalid_arguments"
    assert words in reply.text


@pytest.mark.parametrize(
    "arguments",
    [
        {"files": "a.py:3-4"},
        {"files": ["a.py:3-4"]},
        {"files": '["a.py:3-4"]'},
        {"files": [{"path": "a.py", "lines": "3-4"}]},
        {"files": [{"path": "a.py", "lines": [3, 4]}]},
        {"path": "a.py:3-4"},
        {"path": "a.py", "lines": "3-4"},
        {"path": "a.py", "lines": ["3", "4"]},
        {"path": "a.py", "lines": {"start": 3, "end": 4}},
        {"files": [{"path": "a.py", "lines": [[3, 3], [4, 4]]}]},
        {"file_path": "a.py:3+2"},
        "a.py:3-4",
    ],
)
def test_files_may_be_spelled_in_several_ways(root, arguments):
    with Workspace(root) as workspace:
        reply = workspace.tool("native").call(arguments)

    assert shown(reply.text) == [(3, 1, "line 3"), (4, 1, "line 4")]


@pytest.mark.parametrize(
    "arguments",
    [
        {"path": "a.py", "offset": 3, "limit": 2},
        {"file_path": "a.py", "offset": "3", "limit": 2.0},
        {"filePath": "a.py", "startLine": 3, "endLine": 4},
        {"absolute_path": "a.py", "start_line": 3, "end_line": 4},
        {"target_file": "a.py", "start_line_one_indexed": 3, "end_line_one_indexed_inclusive": 4},
        {"AbsolutePath": "a.py", "StartLine": 3, "EndLine": 4, "explanation": "to see"},
        {"path": "a.py", "view_range": [3, 4]},
        {"path": "a.py", "line_range": "L3-L4"},
        {"path": "a.py", "range": {"start": {"line": 2, "character": 0}, "end": {"line": 3, "character": 9}}},
        {"files": [{"file_path": "a.py", "offset": 3, "limit": 2}]},
        {"files": [{"file": "a.py", "lines": ["3-3", "4-4"]}]},
        {"files": [{"path": "a.py", "start": 3, "end": 4, "symbol": "", "pages": None}]},
        {"uri": "a.py", "offset": 3, "limit": 2, "max_tokens": 5000},
    ],
)
def test_the_words_of_other_tools_are_accepted_with_a_note(root, arguments):
    with Workspace(root) as workspace:
        reply = workspace.tool("native").call(arguments)

    assert shown(reply.text) == [(3, 1, "line 3"), (4, 1, "line 4")]
    assert ">note: read as a.py:3" in reply.text


@pytest.mark.parametrize(
    ("arguments", "selector"),
    [
        ({"path": "a.py", "offset": 0, "limit": 2}, "a.py:1-2"),
        ({"path": "a.py", "offset": 3, "limit": 1}, "a.py:3"),
        ({"path": "a.py", "head": 2}, "a.py:1-2"),
        ({"path": "a.py", "limit": 2}, "a.py:1-2"),
        ({"path": "a.py", "start_line": 3, "end_line": 3, "outline": "false"}, "a.py:3"),
        ({"path": "a.py", "line": 3}, "a.py:3"),
    ],
)
def test_lines_are_translated(root, arguments, selector):
    with Workspace(root) as workspace:
        reply = workspace.tool("native").call(arguments)

    assert reply.structured["parts"][0]["selector"] == selector


@pytest.mark.parametrize(
    ("arguments", "selector"),
    [
        (
            {"path": "a.py", "range": {"start": {"line": 1, "character": 0}, "end": {"line": 2, "character": 4}}},
            "a.py:2-3",
        ),
        ({"path": "a.py", "loc": {"start": {"line": 2, "column": 0}, "end": {"line": 3, "column": 4}}}, "a.py:2-3"),
        ({"path": "a.py", "offset": 2, "length": 2, "encoding": "utf-8"}, "a.py:2-3"),
        ({"relative_path": "src/lib.py", "name_path": "Harbour/berths", "include_body": True}, "src/lib.py:8-12"),
    ],
)
def test_positions_and_names_of_other_tools_are_translated(root, arguments, selector):
    with Workspace(root) as workspace:
        reply = workspace.tool("native").call(arguments)

    assert reply.structured["parts"][0]["selector"] == selector


def test_a_pattern_of_names_is_no_expression(root):
    with Workspace(root) as workspace:
        tool = workspace.tool("native")

        assert tool.call({"pattern": "**/*.py"}).text.startswith(">map of **/*.py: ")
        assert tool.call({"pattern": "*.py", "path": "src"}).text.startswith(">map of src/**/*.py: ")


def test_truth_may_be_written_as_text(root):
    with Workspace(root) as workspace:
        tool = workspace.tool("native")

        assert tool.call({"files": "src/lib.py", "outline": "true"}) == tool.call(
            {"files": "src/lib.py", "outline": True}
        )


def test_more_than_a_hundred_targets_are_refused(tmp_path):
    with Workspace(tmp_path) as workspace:
        reply = workspace.tool("native").call({"files": [f"f{number}.txt" for number in range(101)]})

    assert reply.text == "files names 101 targets; a call takes 100. Send the others in further calls"


def test_a_budget_is_kept_within_its_limits(tmp_path):
    (tmp_path / "f.txt").write_text("x\n")
    with Workspace(tmp_path) as workspace:
        tool = workspace.tool("native")

        assert tool.call({"files": "f.txt", "budget": 3}).structured["budget"] == 50
        assert tool.call({"files": "f.txt", "budget": 10**9}).structured["budget"] == 200_000


def test_deeply_nested_text_for_files_is_a_name(tmp_path):
    text = "[" * 100_000 + "]" * 100_000

    assert Workspace(tmp_path).tool("native").call({"files": text}).error.code != "internal"


@pytest.mark.parametrize(
    ("arguments", "same"),
    [
        ({"pattern": "def close", "path": "src"}, "src?def close"),
        ({"query": "def close", "files": ["src/lib.py"]}, "src/lib.py?def close"),
        ({"search": "def close"}, ".?def close"),
        ({"pattern": "return", "path": "src/lib.py:1-12"}, "src/lib.py:1-12?return"),
        ({"pattern": "return", "path": "src/lib.py", "start_line": 10, "end_line": 12}, "src/lib.py:10-12?return"),
        ({"pattern": "close", "path": "src", "include": "*.py"}, "src/**/*.py?close"),
        ({"pattern": "close", "glob": "*.py"}, "**/*.py?close"),
        ({"files": [{"path": "src/lib.py", "pattern": "close"}]}, "src/lib.py?close"),
        ({"path": "a.py", "start_line": 12, "end_line": 10}, "a.py:10-12"),
        ({"path": "a.py", "range": "4-5"}, "a.py:4-5"),
        ({"command": "view", "path": "a.py", "view_range": [4, 5]}, "a.py:4-5"),
        ({"path": "a.py:4-5", "numbers": 1}, "a.py:4-5"),
    ],
)
def test_calls_of_other_tools_are_read_as_meant(tool, arguments, same):
    rows = [line for line in tool.call(arguments).text.split("\n") if not line.startswith(">")]

    assert rows == [line for line in tool.call({"files": same}).text.split("\n") if not line.startswith(">")]
    assert rows


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"files": "a.py:10-12", "offset": 50, "limit": 5}, '{"files": "a.py:50+5"}'),
        ({"path": "a.py", "limit": -5}, "the last 5 lines are a.py:-5"),
        ({"command": "create", "path": "a.py"}, "this tool only reads"),
        ({"files": "a.py", "context": "many"}, "context must be a number of lines from 0 to 50"),
        ({"files": "a.py", "grepp": "x"}, "src?word"),
    ],
)
def test_a_refusal_names_the_call_to_make(tool, arguments, words):
    assert words in tool.call(arguments).error.message


def test_a_setting_is_no_argument(tool):
    assert "numbers is a setting of the tool" in tool.call({"path": "a.py:4-5", "numbers": 5}).text


def test_the_lines_around_matches_are_counted(tool):
    rows = {
        context: tool.call({"files": "a.py?line 15", "context": context}).text.split("\n")[1:] for context in (0, 1)
    }

    assert rows[0] == ["15*\tline 15", ">note: match: 15"]
    assert rows[1] == ["14\tline 14", "15*\tline 15", "16\tline 16", ">note: match: 15"]
