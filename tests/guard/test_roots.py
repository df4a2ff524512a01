"""A root owns an open descriptor: whoever copies a tool must not end up closing it twice."""

import copy
import os
import pickle

import pytest

from eyespan import Workspace


@pytest.fixture
def workspace(tmp_path):
    (tmp_path / "a").write_text("a\n")
    with Workspace(tmp_path) as workspace:
        yield workspace


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
def test_a_copy_that_dies_leaves_the_original_reading(workspace, duplicate):
    tool = workspace.tool("forge")

    twins = [duplicate(thing) for thing in (tool, workspace, workspace.roots[0])]
    del twins

    assert tool.call({"path": "a"}).text == "1\ta\n"


def test_a_pickled_root_opens_the_folder_again(workspace):
    (root,) = workspace.roots

    again = pickle.loads(pickle.dumps(root))

    assert again.fd != root.fd
    assert os.path.samestat(os.stat(again.fd), os.stat(root.fd))
    again.close()
