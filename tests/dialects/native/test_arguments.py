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
        ({"files": "a.py", "offset": 3}, 'no argument "offset"'),
        ({"files": "a.py", "budget": "much"}, "budget must be"),
        ({"files": "a.py", "known": ["xyz"]}, "known must be hashes"),
        ({"files": "a.py", "outline": "yes"}, "outline must be"),
        ({"files": [{"path": "a.py", "lines": "x"}]}, 'lines must be as in "10-20,40-60"'),
        ({"files": [{"path": "a.py", "line": 3}]}, "a file given as an object has path"),
        ({"files": ["a.py"] * 101}, "at most 100"),
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
        {"file_path": "a.py:3+2"},
        "a.py:3-4",
    ],
)
def test_files_may_be_spelled_in_several_ways(root, arguments):
    with Workspace(root) as workspace:
        reply = workspace.tool("native").call(arguments)

    assert shown(reply.text) == [(3, 1, "line 3"), (4, 1, "line 4")]


def test_a_budget_is_kept_within_its_limits(tmp_path):
    (tmp_path / "f.txt").write_text("x\n")
    with Workspace(tmp_path) as workspace:
        tool = workspace.tool("native")

        assert tool.call({"files": "f.txt", "budget": 3}).structured["budget"] == 50
        assert tool.call({"files": "f.txt", "budget": 10**9}).structured["budget"] == 200_000
