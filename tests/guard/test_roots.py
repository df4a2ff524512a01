"""A root owns an open descriptor: a copy of a tool must not close it."""

from __future__ import annotations

import copy
import os
import pickle
import time

import pytest

import eyespan.guard as guards
from eyespan import Workspace
from eyespan.context import WouldBlock
from eyespan.guard import Root, blocking, choose_backend, mounts, openat, opening, roots
from eyespan.policy import Policy

from .any_type import AnyType
from .fake_os import FakeOs
from .guard_calls import answer, in_time


@pytest.fixture
def workspace(tmp_path):
    (tmp_path / "a").write_text("a\n")
    with Workspace(tmp_path) as workspace:
        yield workspace


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
def test_a_copy_that_is_deleted_leaves_the_original_open(workspace, duplicate):
    tool = workspace.tool("forge")

    twins = [duplicate(thing) for thing in (tool, workspace, workspace.roots[0])]
    del twins

    assert tool.call({"path": "a"}).text == "1\ta\n"


def test_a_pickled_root_opens_the_directory_again(workspace):
    (root,) = workspace.roots

    again = pickle.loads(pickle.dumps(root))

    assert again.fd != root.fd
    assert os.path.samestat(os.stat(again.fd), os.stat(root.fd))
    again.close()


def test_a_root_has_a_repr_and_is_copied_as_itself_and_pickled_by_path(tmp_path):
    root = Root(tmp_path)
    sent = pickle.loads(pickle.dumps(root))

    assert repr(root) == f"Root({str(tmp_path)!r})"
    assert copy.deepcopy(root) is root
    assert (sent.path, sent.fd != root.fd) == (root.path, True)
    os.close(root.fd)  # other code closes it first; closing it again is no error
    root.__del__()
    sent.close()
    sent.close()


def test_a_root_must_exist(tmp_path):
    with pytest.raises(NotADirectoryError, match="must be an existing directory"):
        Root(tmp_path / "missing")


def test_a_root_of_an_unknown_scheme_is_called_so():
    with pytest.raises(NotADirectoryError, match="no extra and no plugin opens memo://"):
        Root("memo://x")


def test_a_root_on_a_system_without_o_path(tmp_path, monkeypatch):
    (tmp_path / "file").write_bytes(b"text")
    monkeypatch.setattr(roots, "os", FakeOs("O_PATH"))

    root = Root(tmp_path)

    assert (root.canonical, root.never_hangs) == (os.path.realpath(tmp_path), False)
    assert answer(guards.Guard([root], Policy(), "walk-by-name"), "file") == b"text"
    root.close()
    with pytest.raises(WouldBlock):
        Root(tmp_path, may_block=False)


def test_a_root_that_may_block_is_opened_in_a_thread(tmp_path, monkeypatch):
    monkeypatch.setattr(openat, "open_local_directory", lambda path: None)

    (root,) = opening.open_roots([tmp_path], 60)

    assert os.path.samestat(os.stat(root.fd), os.stat(tmp_path))
    root.close()


def test_a_root_whose_file_system_does_not_respond_times_out(tmp_path, monkeypatch):
    here, there = os.pipe()
    monkeypatch.setattr(openat, "open_local_directory", lambda path: None)
    monkeypatch.setattr(opening, "_opener", lambda path: lambda _context: os.read(here, 1))

    with pytest.raises(TimeoutError, match=r"cannot be opened: no answer within 0\.05 s"):
        opening.open_roots([tmp_path], 0.05)
    os.write(there, b"x")
    in_time(lambda: wait_for(lambda: blocking.stuck() == 0))
    os.close(here)
    os.close(there)


def wait_for(true):
    while not true():
        time.sleep(0.005)


@pytest.mark.skipif(choose_backend() != "openat2", reason="only the kernel can resolve a path on one mount")
@pytest.mark.parametrize("path", ["a.txt", "directory/b.txt", "link", "missing.txt", "directory"])
def test_reads_on_the_mount_of_the_root_start_no_thread(tmp_path, monkeypatch, path):
    def no_thread(*_):
        raise AssertionError("a thread was started")

    (tmp_path / "directory").mkdir()
    (tmp_path / "a.txt").write_text("a\n")
    (tmp_path / "directory" / "b.txt").write_text("b\n")
    (tmp_path / "link").symlink_to("directory/b.txt")
    monkeypatch.setattr(openat, "LOCAL_TYPES", AnyType())
    monkeypatch.setattr(mounts, "LOCAL_NAMES", AnyType())

    with Workspace(tmp_path) as workspace:
        monkeypatch.setattr(blocking, "start_new_thread", no_thread)
        reply = workspace.tool("claude").call({"file_path": str(tmp_path / path)})

    assert reply.is_error == (path in ("missing.txt", "directory"))


@pytest.mark.parametrize("seconds", [0, -1, float("nan")])
def test_a_deadline_of_zero_or_less_is_refused(tmp_path, seconds):
    with pytest.raises(ValueError, match="deadline_seconds"):
        Workspace(tmp_path, deadline_seconds=seconds)
