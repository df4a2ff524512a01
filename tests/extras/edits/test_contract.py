from __future__ import annotations

import pytest

from eyespan import Workspace, check_edit
from eyespan.errors import ReadError


def test_lines_that_are_no_longer_as_shown_are_named(root, tool):
    tool.call({"files": ["a.py:5-10,20-22", "src/lib.py:1-4"]})
    assert tool.changed() == []

    lines = (root / "a.py").read_text().split("\n")
    lines[6], lines[7], lines[14], lines[20] = "seven", "eight", "not shown", "line 21\r"
    (root / "a.py").write_text("\n".join(lines))
    (root / "src" / "lib.py").unlink()

    assert tool.changed() == ["a.py:7-8,21", "src/lib.py"]


def test_lines_after_an_insertion_have_other_numbers(root, tool):
    tool.call({"files": "a.py:5-10"})
    (root / "a.py").write_text("new\n" + (root / "a.py").read_text())

    assert tool.changed() == ["a.py:5-10"]


def test_lines_that_were_never_shown_are_named(tool):
    assert tool.unseen("a.py", 8, 12) == ["a.py:8-12"]

    tool.call({"files": "a.py:9-10,20-"})

    assert tool.unseen("a.py", 8, 12) == ["a.py:8,11-12"]
    assert tool.unseen("a.py", 20, 30) == []
    with pytest.raises(ReadError):
        tool.unseen("missing.py", 1, 2)


def test_a_line_that_is_shown_in_part_is_not_seen(root, tool):
    (root / "long.txt").write_text("word " * 5000)
    tool.call({"files": "long.txt", "budget": 100})

    assert tool.unseen("long.txt", 1, 1) == ["long.txt:1"]


def test_other_dialects_do_not_remember(root):
    with Workspace(root) as workspace, pytest.raises(TypeError, match="claude does not remember"):
        workspace.tool("claude").changed()


@pytest.mark.parametrize(
    ("lines", "part", "verdict"),
    [
        ("10-20", "{}", "ok"),
        ("12-14", "10-20/30 #{}", "ok"),
        ("12-14", "a.py:10-20#{}", "ok"),
        ("9-14", "10-20 #{}", "unseen"),
        ("12-14", "{}", "changed"),
        ("10-20", "000000000001", "changed"),
    ],
)
def test_an_edit_is_compared_with_the_part_that_was_seen(root, tool, lines, part, verdict):
    value = tool.call({"files": "a.py:10-20"}).structured["parts"][0]["hash"]

    assert check_edit("a.py", lines, part.format(value), root=str(root)) == verdict


def test_an_edit_of_a_changed_part_is_reported(root, tool):
    value = tool.call({"files": "a.py:10-20"}).structured["parts"][0]["hash"]
    (root / "a.py").write_text((root / "a.py").read_text().replace("line 15", "line fifteen"))

    assert check_edit("a.py", "12-14", f"10-20 #{value}", root=str(root)) == "changed"
    with pytest.raises(ValueError, match="a hash as in"):
        check_edit("a.py", "12-14", "none", root=str(root))


def test_anchors_of_the_first_and_the_last_line_license_an_edit(tmp_path):
    (tmp_path / "a.py").write_text("one\ntwo\nthree\n")
    with Workspace(tmp_path) as workspace:
        shown = workspace.tool("native", anchors=True).call({"files": "a.py"}).text.split("\n")[1:]
    anchors = [line.partition("\t")[0] for line in shown]

    assert [line.partition("\t")[2] for line in shown] == ["one", "two", "three"]
    assert check_edit("a.py", "1-3", f"{anchors[0]} {anchors[2]}", root=str(tmp_path)) == "ok"
    assert check_edit("a.py", "1-3", anchors[0], root=str(tmp_path)) == "unseen"
    (tmp_path / "a.py").write_text("one\ntwo\nfour\n")
    assert check_edit("a.py", "1-3", f"{anchors[0]},{anchors[2]}", root=str(tmp_path)) == "changed"
    assert check_edit("a.py", "2", anchors[1], root=str(tmp_path)) == "ok"


def test_a_second_tool_lists_changed_and_unseen_lines(tmp_path):
    (tmp_path / "a.py").write_text("one\ntwo\nthree\nfour\n")
    with Workspace(tmp_path) as workspace:
        read, changes = workspace.toolset("native", changes=True)
        read.call({"files": "a.py:1-2"})
        (tmp_path / "a.py").write_text("one\n2\nthree\nfour\n")

        assert changes.call({}).structured == {"changed": ["a.py:2"]}
        assert changes.call({"files": ["a.py:1-3", "a.py:4"]}).text == ">unseen: 2\n a.py:3\n a.py:4"
        assert changes.call({"files": ["a.py"]}).error.code == "invalid_arguments"
        assert changes.call({"files": ["b.py:1"]}).error.code == "not_found"


def test_the_second_tool_is_off_by_default(tmp_path):
    with Workspace(tmp_path) as workspace:
        assert [tool.spec.name for tool in workspace.toolset("native")] == ["read"]
        assert [tool.spec.name for tool in workspace.toolset("native", changes=True)] == ["read", "changes"]
