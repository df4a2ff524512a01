"""Workspaces: made, copied, pickled and closed."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
import stat
import subprocess
import sys

import pytest

from eyespan import Policy, Workspace
from eyespan.errors import Closed
from tests.backends import HANDLES


@pytest.fixture
def root(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"one\ntwo\n")
    (tmp_path / "secret.txt").write_bytes(b"hidden\n")
    return tmp_path


@pytest.fixture
def workspace(root):
    with Workspace(root, policy=Policy(["secret.txt"]), deadline_seconds=3.0) as made:
        yield made


def test_a_workspace_needs_a_root():
    with pytest.raises(ValueError, match="at least one root"):
        Workspace()


@pytest.mark.parametrize("seconds", [0, -1, float("nan")])
def test_a_deadline_is_more_than_nothing(seconds, root):
    with pytest.raises(ValueError, match="deadline_seconds must be more than 0"):
        Workspace(root, deadline_seconds=seconds)


def test_a_pickled_workspace_opens_the_same_roots_with_the_same_settings(workspace):
    with pickle.loads(pickle.dumps(workspace)) as again:
        assert repr(again) == repr(workspace)
        assert [root.fd for root in again.roots] != [root.fd for root in workspace.roots]
        assert again.policy.deny == workspace.policy.deny
        assert (again.backend, again.deadline_seconds) == ("auto", 3.0)
        assert again.engine.deadline_seconds == 3.0


def test_a_pickle_names_its_roots_by_absolute_paths(root, monkeypatch):
    monkeypatch.chdir(root)
    with Workspace(".") as workspace:
        data = pickle.dumps(workspace)
    monkeypatch.chdir("/")

    with pickle.loads(data) as again:
        assert again.tool("forge").call({"path": "a.txt"}).text == "1\tone\n2\ttwo\n"


def test_a_root_that_is_gone_is_an_error_where_the_workspace_is_unpickled(workspace, root):
    data = pickle.dumps(workspace)
    os.rename(root, f"{root}.moved")

    with pytest.raises(NotADirectoryError):
        pickle.loads(data)


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
def test_a_copy_is_the_workspace_itself(workspace, duplicate):
    assert duplicate(workspace) is workspace


def test_a_spawned_process_reads_with_a_workspace_it_was_sent(workspace):
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        tool = pool.apply(Workspace.tool, (workspace, "workspace"))

    with tool.workspace:
        assert tool.call({"path": "a.txt"}).structured["content"] == "one\ntwo\n"
        assert tool.call({"path": "secret.txt"}).is_error


ARGUMENTS = {
    "native": ("files", ">! a.txt: the workspace is closed"),
    "codex": ("file_path", "failed to read file: the workspace is closed"),
    "claude": ("file_path", "Error reading file: the workspace is closed"),
    "forge": ("path", "Read failed: the workspace is closed: {path}"),
    "workspace": ("path", "INTERNAL: the workspace is closed: {path}"),
}


@pytest.mark.parametrize("dialect", ARGUMENTS)
def test_a_closed_workspace_is_reported_by_every_dialect(dialect, root):
    key, text = ARGUMENTS[dialect]
    path = "a.txt" if dialect == "native" else str(root / "a.txt")
    workspace = Workspace(root)
    tool = workspace.tool(dialect)
    workspace.close()

    reply = tool.call({key: path})

    assert (reply.is_error, reply.text) == (True, text.format(path=path))


@pytest.mark.parametrize("act", ["list", "admit"])
def test_a_closed_workspace_lists_and_admits_nothing(act, root):
    workspace = Workspace(root)
    workspace.close()

    with pytest.raises(Closed):
        getattr(workspace.engine, act)("a.txt")


@pytest.mark.parametrize("backend", HANDLES)
def test_a_read_under_way_never_sees_a_directory_opened_after_the_close(backend, root, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    (other / "a.txt").write_text("of another directory\n")
    workspace = Workspace(root, backend=backend)
    number = workspace.roots[0].fd

    workspace.close()
    opened = [os.open(other, os.O_RDONLY) for _ in range(64)]
    try:
        assert number not in opened
        workspace.roots[0].is_closed = False  # as for a call that passed the check before the close
        reply = workspace.tool("forge").call({"path": "a.txt"})
    finally:
        for fd in opened:
            os.close(fd)

    assert reply.is_error
    assert "another" not in reply.text


def test_a_workspace_can_be_closed_twice_and_without_descriptors(root, monkeypatch):
    workspace = Workspace(root)
    monkeypatch.setattr(os, "pipe", lambda: (_ for _ in ()).throw(OSError(24, "Too many open files")))

    workspace.close()
    workspace.close()

    assert workspace.roots[0].fd == -1


def test_a_closed_workspace_holds_no_directory(root):
    workspace = Workspace(root)
    number = workspace.roots[0].fd
    workspace.close()

    assert not stat.S_ISDIR(os.fstat(number).st_mode)
    del workspace
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(number)


def test_the_first_read_of_a_text_loads_nothing(tmp_path):
    """Otherwise the first call of a process waits for modules."""
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    program = """if True:
        import sys
        from eyespan import Workspace

        with Workspace(sys.argv[1]) as workspace:
            tool = workspace.tool("codex")
            before = set(sys.modules)
            assert not tool.call({"file_path": sys.argv[1] + "/a.txt"}).is_error
            print(sorted(set(sys.modules) - before))
    """
    run = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True)

    assert (run.stdout, run.stderr) == ("[]\n", "")


def test_the_first_call_of_a_tool_loads_no_module_for_lines(tmp_path):
    (tmp_path / "log").write_bytes(b"line\n" * 1_000_000)
    code = (
        "import sys; from eyespan import Workspace; tool = Workspace('.').tool('codex'); old = set(sys.modules)\n"
        "reply = tool.call({'file_path': sys.argv[1], 'offset': 900_000, 'limit': 1})\n"
        "print(reply.text, sorted(name for name in set(sys.modules) - old if name.startswith('eyespan')))"
    )
    argv = [sys.executable, "-c", code, str(tmp_path / "log")]
    done = subprocess.run(argv, capture_output=True, text=True, cwd=tmp_path)

    assert done.stdout == "L900000: line []\n"
