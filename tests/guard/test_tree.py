"""Exploring a directory: everything below it that may be read, and nothing else."""

from __future__ import annotations

import os
from random import Random

import pytest

from eyespan import Policy, Workspace
from eyespan.context import CallContext
from eyespan.errors import NotFound, NotRegular, OutsideRoot, PolicyDenied
from eyespan.guard import tree


@pytest.fixture
def root(tmp_path):
    for path in (
        "root/a.py",
        "root/sub/b.py",
        "root/sub/deep/c.py",
        "root/.git/config",
        "root/node_modules/x.js",
        "o.py",
    ):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(f"# {path}\n")
    return tmp_path / "root"


def _explore(root, path=".", *, wanted=None, policy=None, max_bytes=100):
    workspace = Workspace(str(root), policy=policy) if policy else Workspace(str(root))
    taken = {}

    def choose(survey):
        return (
            wanted
            if wanted is not None
            else {path: [one[0] for one in files] for path, files in survey.directories.items()}
        )

    survey = workspace.engine.explore(
        path, choose, lambda path, data, key: taken.update({path: data}), max_bytes, CallContext()
    )
    return survey, taken


def test_all_files_are_found_and_the_chosen_ones_read(root):
    survey, taken = _explore(root)

    assert {path: [name for name, _, _ in files] for path, files in survey.directories.items()} == {
        "": ["a.py"],
        "sub/": ["b.py"],
        "sub/deep/": ["c.py"],
    }
    assert taken == {
        "a.py": b"# root/a.py\n",
        "sub/b.py": b"# root/sub/b.py\n",
        "sub/deep/c.py": b"# root/sub/deep/c.py\n",
    }
    assert survey.is_complete


def test_only_the_first_bytes_are_read(root):
    assert _explore(root, wanted={"sub/deep/": ["c.py"]}, max_bytes=3)[1] == {"sub/deep/c.py": b"# r"}


def test_links_are_neither_listed_nor_followed(root):
    os.symlink("../o.py", root / "link.py")
    os.symlink("..", root / "up")

    survey, taken = _explore(root, wanted={"": ["link.py"], "up/": ["o.py"]})

    assert [name for name, _, _ in survey.directories[""]] == ["a.py"]
    assert taken == {}


def test_a_directory_that_becomes_a_link_is_not_entered(root, tmp_path):
    def swap(survey):
        os.rename(root / "sub", root / "moved")
        os.symlink(str(tmp_path), root / "sub")
        return {"sub/": ["o.py"]}

    taken = []
    Workspace(str(root)).engine.explore(".", swap, lambda *found: taken.append(found), 100, CallContext())

    assert taken == []


def test_forbidden_names_are_left_out(root):
    (root / "sub" / ".env").write_text("SECRET=1\n")

    survey, taken = _explore(root, policy=Policy(deny=["sub/deep/**"]))

    assert sorted(survey.directories) == ["", "sub/"]
    assert sorted(taken) == ["a.py", "sub/b.py"]


def test_other_types_are_not_read(root):
    os.mkfifo(root / "pipe.py")

    assert "pipe.py" not in _explore(root, wanted={"": ["pipe.py"]})[1]


@pytest.mark.parametrize(
    ("path", "error"), [("a.py", NotRegular), ("none", NotFound), ("..", OutsideRoot), (".env", PolicyDenied)]
)
def test_only_a_directory_of_the_workspace_is_explored(root, path, error):
    (root / ".env").mkdir()
    with pytest.raises(error):
        _explore(root, path)


def test_a_survey_counts_the_files_that_are_admitted(root, monkeypatch):
    monkeypatch.setattr(tree, "MAX_FILES", 1)
    with Workspace(str(root)) as workspace:
        surveys = [
            workspace.engine.explore(".", lambda _: {}, lambda *_: None, 0, CallContext(), accepts)
            for accepts in (lambda path: path == "sub/deep/c.py", lambda path: True)
        ]

    counts = [sum([len(files) for files in one.directories.values()]) for one in surveys]
    assert [*zip(counts, [one.is_complete for one in surveys], strict=True)] == [(1, True), (1, False)]


def test_the_number_of_files_is_bounded(root, monkeypatch):
    monkeypatch.setattr(tree, "MAX_FILES", 2)

    survey, _ = _explore(root)

    assert sum(len(files) for files in survey.directories.values()) == 2
    assert not survey.is_complete


@pytest.mark.parametrize("count", [0, 1, 2, 40])
def test_packed_files_are_those_that_were_packed(count):
    dice = Random(count)
    found = [
        (f"n{index}\udcff é", tree.key_of(index, dice.getrandbits(64), -dice.getrandbits(40), 5))
        for index in range(count)
    ]

    files = tree.DirectoryFiles(found)

    assert len(files) == count
    assert list(files) == [(name, index, key) for index, (name, key) in enumerate(found)]


def test_the_memory_of_a_survey_is_charged(root):
    context = CallContext()
    Workspace(str(root)).engine.explore(".", lambda survey: {}, lambda *found: None, 100, context)

    names = ("a.py", "\U0001f600" + "q" * 100, "sub.py")
    assert [tree.file_memory(name) - tree.FILE_BYTES for name in names] == [3 * 4, 3 * 4 * 101, 3 * 6]
    survey, _ = _explore(root)
    found = [name for files in survey.directories.values() for name, _, _ in files]
    assert context.memory.charged_bytes == sum(map(tree.file_memory, found))
    assert len(found) == 3


def test_the_memory_of_a_directory_is_charged_while_it_is_listed(root, monkeypatch):
    for number in range(200):
        (root / f"{number}.txt").touch()
    context = CallContext()
    most = []
    charge = context.charge
    monkeypatch.setattr(context, "charge", lambda size: charge(size) or most.append(context.memory.charged_bytes))

    Workspace(str(root)).engine.explore(".", lambda survey: {}, lambda *found: None, 1000, context)

    assert max(most) > 200 * (tree.FILE_BYTES)
    assert context.memory.charged_bytes < 210 * (tree.FILE_BYTES + 30)


def test_the_deadline_is_checked_where_no_name_is_a_file_that_may_be_read(root, monkeypatch):
    checks = []
    monkeypatch.setattr(CallContext, "check", lambda self: checks.append(1))
    _explore(root)
    before = len(checks)
    checks.clear()
    for number in range(1500):
        (root / f"{number}.pem").touch()
    for number in range(1500):
        (root / f"link-{number}").symlink_to("a.py")

    survey, _ = _explore(root)

    assert (len(survey.directories[""]), len(checks) >= before + 2) == (1, True)


def test_a_walk_passes_denied_names_in_directories_with_the_word_of_a_rule(tmp_path):
    for path in ("environment/.env", "environment/a.py", "environment/.ssh/id", "src/.aws/credentials", "src/key.py"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("x")
    os.mkfifo(tmp_path / "src" / "server.key")

    assert [path for path, *_ in Workspace(str(tmp_path)).engine.walk(".", CallContext())] == [
        "environment/a.py",
        "src/key.py",
    ]
