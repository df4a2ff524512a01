from __future__ import annotations

import unicodedata

import pytest

from eyespan import Policy, Workspace
from eyespan.dialects import suggestions
from eyespan.dialects.suggestions import MAX_LOOKUPS
from eyespan.guard import Guard
from tests.sizes import size

from .answers import shown


@pytest.mark.parametrize(
    ("asked", "similar"),
    [
        ("src/libb.py", "src/lib.py"),
        ("src/lib.pt:3", "src/lib.py"),
        ("lbi.py", "src/lib.py"),
        ("one/two/three/lib.py", "src/lib.py"),
        ("src/lib.py/x", None),
        ("nothing/like/it.txt", None),
    ],
)
def test_a_wrong_name_is_answered_with_similar_ones(call, asked, similar):
    reply = call(asked)

    assert reply.error.code == "not_found"
    found = reply.text.partition("; near: ")[2].split(", ")
    assert (similar in found) if similar else found == [""]


def test_the_names_of_a_tree_count_and_the_answer_may_do_without_them(call, monkeypatch):
    assert "src/lib.py" in call("lbi.py").text
    monkeypatch.setattr(suggestions, "TREE_COPIES", 1 << 30)
    reply = call("lbi.py")

    assert (reply.error.code, "src/lib.py" in reply.text) == ("not_found", False)


@pytest.mark.parametrize(
    "asked",
    [
        "lib.py",
        "SRC/LIB.py",
        "src/LIB.PY",
        "scr/lib.py",
        "project/src/lib.py",
        "src/app/lib.py",
        "/elsewhere/src/lib.py",
    ],
)
def test_a_path_that_only_one_file_fits_is_opened_with_a_note(call, asked):
    reply = call(f"{asked}:1-2")

    assert reply.structured["parts"][0]["path"] == "src/lib.py"
    assert "note: read as src/lib.py:1-2" in reply.text


@pytest.mark.parametrize(
    ("real", "asked"),
    [
        (unicodedata.normalize("NFD", "Café.txt"), unicodedata.normalize("NFC", "Café.txt")),
        (unicodedata.normalize("NFC", "Café.txt"), unicodedata.normalize("NFD", "Café.txt")),
        ("Screen\u202fshot.txt", "Screen shot.txt"),
        ("It\u2019s.txt", "It's.txt"),
        ("a\xa0b.txt", "a b.txt"),
    ],
)
def test_a_name_that_looks_the_same_is_opened_with_a_note(root, call, real, asked):
    (root / real).write_text("found\n")

    for reply in (call(f"{asked}:1"), call({"path": asked, "lines": "1"})):
        assert shown(reply.text) == [(1, 1, "found")]
        assert "note: read as " in reply.text
        assert reply.structured["parts"][0]["path"] == real


def test_names_that_a_rule_forbids_are_not_suggested(root):
    (root / "secret.txt").write_text("x")
    (root / "It\u2019s.key").write_text("x")
    with Workspace(root, policy=Policy(["secret.*"])) as workspace:
        tool = workspace.tool("native")

        assert "near" not in tool.call({"files": "secret.tx"}).text
        assert tool.call({"files": "It's.key"}).is_error


def test_files_that_a_rule_forbids_are_neither_located_nor_named(root):
    (root / "hidden" / "deep").mkdir(parents=True)
    (root / "hidden" / "deep" / "plan.txt").write_text("x")
    (root / "src" / "server.pem").write_text("x")
    with Workspace(root, policy=Policy(["hidden/**"])) as workspace:
        tool = workspace.tool("native")
        replies = [tool.call({"files": name}) for name in ("plan.txt", "deep/plan.txt", "server.pem", "deep")]

    assert [reply.is_error for reply in replies] == [True] * 4
    assert "hidden" not in "".join(reply.text for reply in replies)
    assert "src/server" not in "".join(reply.text for reply in replies)


def test_a_file_of_another_root_is_located_by_its_absolute_path(root, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    (other / "sub").mkdir()
    (other / "sub" / "only_here.txt").write_text("there\n")
    with Workspace(root, other) as workspace:
        reply = workspace.tool("native").call({"files": "only_here.txt:1"})

    assert reply.structured["parts"][0]["path"] == str(other / "sub" / "only_here.txt")
    assert shown(reply.text) == [(1, 1, "there")]


def test_a_path_outside_the_roots_is_an_error_with_the_files_of_the_same_end(root):
    (root / "pkg" / "src").mkdir(parents=True)
    (root / "pkg" / "src" / "only.py").write_text("x = 1\n")
    with Workspace(root) as workspace:
        reply = workspace.tool("native").call({"files": "/elsewhere/src/only.py"})

    assert reply.error.code == "outside_root"
    assert reply.text.endswith("; near: pkg/src/only.py")


def test_a_located_file_without_the_part_is_named(call):
    reply = call("lib.py::zzzzzz")

    assert reply.error.code == "no_symbol"
    assert reply.text.endswith("; near: src/lib.py")


def test_names_outside_the_root_are_not_suggested(root):
    (root / "inside").mkdir()
    with Workspace(root / "inside") as workspace:
        reply = workspace.tool("native").call({"files": ["../a.pz", str(root / "a.pz"), "x/../../a.py"]})

    assert reply.error.code == "outside_root"
    assert [line.partition(": ")[2] for line in reply.text.split("\n")] == [
        "outside the directories that may be read",
        "outside the directories that may be read",
        "no such file",
    ]
    assert "a.py" not in reply.text.replace("x/../../a.py", "")


def test_a_wrong_symbol_is_answered_with_similar_ones(call):
    reply = call("src/lib.py::Harbour.entr")

    assert reply.error.code == "no_symbol"
    assert "near: src/lib.py::Harbour.enter" in reply.text


def test_a_hundred_wrong_names_are_answered_with_a_bounded_number_of_lookups(tool, monkeypatch):
    """Without a limit, the 32 directories above each would be listed six times."""
    asked = []
    listed = Guard.list_beneath
    monkeypatch.setattr(Guard, "list_beneath", lambda guard, path: asked.append(path) or listed(guard, path))
    reply = tool.call({"files": [f"{'é/' * 500}{number}" for number in range(100)]})

    assert reply.is_error
    assert len(asked) <= MAX_LOOKUPS


def test_nothing_is_listed_for_a_name_that_no_file_can_have(tool, monkeypatch):
    monkeypatch.setattr(Guard, "list_beneath", lambda guard, path: pytest.fail(f"listed {path[:50]}"))
    reply = tool.call({"files": "é/" * size(short=50_000, long=800_000)})

    assert "File name too long" in reply.text


def test_all_files_of_a_name_are_listed_as_far_as_half_of_the_budget_reaches(tmp_path):
    for number in range(200):
        (tmp_path / f"src/part{number}").mkdir(parents=True)
        (tmp_path / f"src/part{number}/__init__.py").write_text("x\n")
    with Workspace(tmp_path) as workspace:
        tool = workspace.tool("native")
        wide = tool.call({"files": "__init__.py", "budget": 5000})
        narrow = tool.call({"files": "__init__.py", "budget": 1200})
        least = tool.call({"files": "__init__.py", "budget": 50})

    assert "near: src/part0/__init__.py, src/part1/__init__.py, " in wide.text
    assert narrow.facts["tokens"] < 700 < wide.facts["tokens"] < 3000
    assert least.text.endswith("src/part9/__init__.py and 190 more")
