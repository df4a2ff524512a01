"""A root owns an open descriptor: whoever copies a tool must not end up closing it twice."""

import copy
import os
import pickle

import pytest

from eyespan import Workspace
from eyespan.guard import blocking, choose_backend, mounts, openat


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


@pytest.mark.skipif(choose_backend() != "openat2", reason="only the kernel can be told to keep to one mount")
@pytest.mark.parametrize("path", ["a.txt", "folder/b.txt", "link", "missing.txt", "folder"])
def test_nothing_on_the_mount_of_the_root_needs_a_thread(tmp_path, monkeypatch, path):
    def no_thread(*_):
        raise AssertionError("a thread was started")

    (tmp_path / "folder").mkdir()
    (tmp_path / "a.txt").write_text("a\n")
    (tmp_path / "folder" / "b.txt").write_text("b\n")
    (tmp_path / "link").symlink_to("folder/b.txt")
    monkeypatch.setattr(blocking, "start_new_thread", no_thread)
    monkeypatch.setattr(blocking._crew, "idle", [])
    monkeypatch.setattr(openat, "PLAIN_TYPES", _any_type())
    monkeypatch.setattr(mounts, "PLAIN_NAMES", _any_type())

    with Workspace(tmp_path) as workspace:
        reply = workspace.tool("claude").call({"file_path": str(tmp_path / path)})

    assert reply.is_error == (path in ("missing.txt", "folder"))


def _any_type():
    """Whatever file system the tests run on counts as plain."""

    class Any:
        def __contains__(self, _kind):
            return True

    return Any()


@pytest.mark.parametrize("seconds", [0, -1, float("nan")])
def test_a_deadline_that_makes_no_sense_is_refused(tmp_path, seconds):
    with pytest.raises(ValueError, match="deadline_seconds"):
        Workspace(tmp_path, deadline_seconds=seconds)
