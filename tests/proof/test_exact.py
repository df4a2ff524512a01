"""A caller gets what is on disk: the proof `exact` on a small tree, and a check that it notices a difference."""

from __future__ import annotations

import pytest

from eyespan import Workspace
from proof.exact.callers import Server, Wrong, library
from proof.exact.command import WAYS, check
from proof.exact.rules import EXACT
from proof.exact.tree import SEED, make_tree
from tests.sizes import size

FILES = size(short=150, long=300)
MAX_FILE_BYTES = 12_000


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    root = tmp_path_factory.mktemp("exact")
    return root, make_tree(root, FILES, SEED, MAX_FILE_BYTES)


@pytest.mark.parametrize("dialect", WAYS)
def test_every_file_is_returned_whole(tree, dialect):
    root, names = tree
    with Workspace(root) as workspace:
        counts, failures = check(root, names, dialect, library(workspace, dialect, **WAYS[dialect][2]))

    assert failures == []
    assert sum(counts.values()) == FILES
    assert counts[EXACT] > FILES / 10


def test_every_file_is_returned_whole_over_mcp(tree):
    root, names = tree
    server = Server(root, "workspace")
    try:
        counts, failures = check(root, names, "workspace", server)
    finally:
        server.close()

    assert failures == []
    assert sum(counts.values()) == FILES


@pytest.mark.parametrize("dialect", WAYS)
@pytest.mark.parametrize("damage", ["a letter", "a line lost", "a line twice"])
def test_a_wrong_byte_is_noticed(tmp_path, dialect, damage):
    shown = b"".join(b"line %d\n" % n for n in range(1, 5001))
    (tmp_path / "file.txt").write_bytes(shown)
    on_disk = {
        "a letter": shown.replace(b"line 3210\n", b"lime 3210\n"),
        "a line lost": shown.replace(b"line 3210\n", b""),
        "a line twice": shown.replace(b"line 3210\n", b"line 3210\n" * 2),
    }[damage]
    read, judge, settings = WAYS[dialect]
    with Workspace(tmp_path) as workspace:
        got = read(library(workspace, dialect, **settings), tmp_path, "file.txt")

    assert judge("file.txt", shown, got) == EXACT
    with pytest.raises(Wrong):
        judge("file.txt", on_disk, got)
