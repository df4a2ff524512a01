"""Workspaces: made, copied, pickled and closed."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle

import pytest

from eyespan import Policy, Workspace


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
