"""The names below a root: bounded, without links and mounts, and up to date."""

from __future__ import annotations

import functools
import os
import sys

import pytest

from eyespan import caches
from eyespan.guard import Guard, Root, names
from eyespan.guard.names import Names
from eyespan.policy import Policy


@pytest.fixture
def tree(tmp_path):
    for path in ("a.py", "src/b.py", "src/deep/c.py", "node_modules/x/d.js", ".git/config", ".hidden/e.py"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("x\n")
    (tmp_path / "outside").symlink_to("/")
    (tmp_path / "link.py").symlink_to("a.py")
    return tmp_path


def files(found: Names) -> set[str]:
    return {
        os.path.join(directory, name)
        for directory, joined in found.directories()
        for name in joined.strip("/").split("/")
        if name
    }


@pytest.fixture(params=["descriptors", "names"])
def found(tree, request, monkeypatch):
    """The names of the tree, walked through descriptors, or by names where a system cannot open directories."""
    root = Root(tree)
    guard = Guard([root], Policy(), "portable" if request.param == "names" else "auto")
    found = Names(root)
    monkeypatch.setattr(Names, "walk", functools.partialmethod(walk_with, Names.walk, guard))
    yield found
    monkeypatch.undo()
    root.close()


def walk_with(names, walk, guard, seconds):
    walk(names, guard, seconds)


def test_all_files_are_found_and_links_are_not_followed(found):
    found.walk(10)

    assert files(found) == {
        *("a.py", "src/b.py", "src/deep/c.py", ".hidden/e.py"),
    }
    assert found.is_complete


def test_new_and_removed_files_and_directories_are_noticed(found, tree):
    found.walk(10)
    (tree / "src" / "deep" / "c.py").unlink()
    (tree / "src" / "deep" / "new.py").write_text("x\n")
    (tree / ".hidden" / "e.py").unlink()
    (tree / ".hidden").rmdir()
    found.walk(10)

    assert "src/deep/new.py" in files(found)
    assert files(found).isdisjoint({"src/deep/c.py", ".hidden/e.py"})


def test_a_walk_whose_time_is_over_is_continued_by_the_next(found, monkeypatch):
    found.walk(-1)
    assert not found.is_complete
    assert files(found) == {".hidden/e.py"}

    found.walk(10)
    assert found.is_complete
    assert files(found) == {"a.py", "src/b.py", "src/deep/c.py", ".hidden/e.py"}


def test_memory_is_bounded(found, tree, monkeypatch):
    for number in range(10):
        directory = tree / f"directory{number}"
        directory.mkdir()
        for other in range(10):
            (directory / ("\U0001f600" * 50 + str(other))).write_text("x\n")
    monkeypatch.setattr(names, "MAX_BYTES", 8000)
    for _ in range(3):
        found.walk(10)

        assert 1000 < sum(sys.getsizeof(joined) for _, joined in found.directories()) <= 8000
        assert not found.is_complete


def test_names_that_are_not_unicode_are_found(found, tree):
    name = os.fsdecode(b"\xff\xc3\xa9\xf0\x9f\x98\x80.py")
    (tree / name).write_text("x\n")
    found.walk(10)

    assert name in files(found)


def test_names_that_were_dropped_are_found_again(found):
    found.walk(10)
    before = files(found)
    caches.drop_unused(-1)
    assert files(found) == set()

    found.walk(10)
    assert files(found) == before


def test_no_descriptor_stays_open(found, tree, monkeypatch):
    deep = tree
    for number in range(70):
        deep = deep / f"d{number}"
    deep.mkdir(parents=True)
    before = set(os.listdir("/proc/self/fd"))
    found.walk(10)

    assert set(os.listdir("/proc/self/fd")) == before
    assert not found.is_complete
