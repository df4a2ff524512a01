"""What callers get is what is on disk: the small version of tools/exact.py, and whether it would see a difference."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from eyespan import Workspace

sys.path.append(str(Path(__file__).resolve().parents[2] / "tools"))
import exact

FILES = 300


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    root = tmp_path_factory.mktemp("exact")
    return root, exact.make_tree(root, FILES, exact.SEED, 12_000)


@pytest.mark.parametrize("dialect", exact.WAYS)
def test_every_file_comes_back_whole(tree, dialect):
    root, names = tree
    with Workspace(root) as workspace:
        counts, failures = exact.check(
            root, names, dialect, exact.library(workspace, dialect, **exact.WAYS[dialect][2])
        )

    assert failures == []
    assert sum(counts.values()) == FILES
    assert counts[exact.EXACT] > FILES / 10


def test_the_same_over_mcp(tree):
    root, names = tree
    server = exact.Server(root, "workspace")
    try:
        counts, failures = exact.check(root, names, "workspace", server)
    finally:
        server.close()

    assert failures == []
    assert sum(counts.values()) == FILES


@pytest.mark.parametrize("dialect", exact.WAYS)
@pytest.mark.parametrize("harm", ["a letter", "a line lost", "a line twice"])
def test_a_wrong_byte_would_be_seen(tmp_path, dialect, harm):
    """The file on disk is another one than the one that was read."""
    said = b"".join(b"line %d\n" % n for n in range(1, 5001))
    (tmp_path / "file.txt").write_bytes(said)
    other = {
        "a letter": said.replace(b"line 3210\n", b"lime 3210\n"),
        "a line lost": said.replace(b"line 3210\n", b""),
        "a line twice": said.replace(b"line 3210\n", b"line 3210\n" * 2),
    }[harm]
    read, judge, settings = exact.WAYS[dialect]
    with Workspace(tmp_path) as workspace:
        got = read(exact.library(workspace, dialect, **settings), tmp_path, "file.txt")

    assert judge("file.txt", said, got) == exact.EXACT
    with pytest.raises(exact.Wrong):
        judge("file.txt", other, got)
