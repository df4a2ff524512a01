"""Directories that the client names, within those of the host."""

from __future__ import annotations

import os

import pytest

from eyespan import Workspace
from eyespan.policy import Policy
from eyespan.server.mcp_names import root_paths

from .clients import StdioServer


def narrowed(outer, *directories, policy=None):
    return Workspace(outer, policy=policy).narrowed(directories)


def code(workspace, path):
    reply = workspace.tool("claude").call({"file_path": str(path)})
    return None if reply.error is None else reply.error.code


@pytest.fixture
def nest(tmp_path):
    """Return a root with two directories, and a directory next to it."""
    for name in ("work/a", "work/b", "other"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "x.txt").write_text(f"{name}\n")
        (tmp_path / name / "private.txt").write_text("private\n")
    (tmp_path / "work" / "out").symlink_to(tmp_path / "other")
    return tmp_path


def test_a_directory_below_a_root_is_all_that_is_read(nest):
    workspace = narrowed(nest / "work", nest / "work" / "a")

    assert [root.path for root in workspace.roots] == [str(nest / "work" / "a")]
    assert code(workspace, nest / "work" / "a" / "x.txt") is None
    assert code(workspace, nest / "work" / "b" / "x.txt") == "outside_root"


@pytest.mark.parametrize("name", ["other", "work/out", "work/a/../../other", "none", "work/a/x.txt"])
def test_a_directory_outside_of_the_roots_is_left_out(nest, name):
    with pytest.raises(ValueError, match="none of the directories"):
        narrowed(nest / "work", nest / name)


def test_a_directory_above_a_root_stands_for_the_root(nest):
    workspace = narrowed(nest / "work", nest, nest / "other")

    assert [root.canonical for root in workspace.roots] == [str(nest / "work")]


@pytest.mark.parametrize("rule", ["a/private.txt", "**/private.txt", "a/**", "/a/private.txt"])
def test_rules_that_are_relative_to_the_outer_root_apply_below_it(nest, rule):
    workspace = narrowed(nest / "work", nest / "work" / "a", policy=Policy(deny=[rule]))

    assert code(workspace, nest / "work" / "a" / "private.txt") == "policy_denied"


def test_built_in_rules_apply_to_the_names_of_the_outer_root(nest):
    (nest / "work" / ".ssh" / "keys").mkdir(parents=True)
    (nest / "work" / ".ssh" / "keys" / "x.txt").write_text("x\n")
    workspace = narrowed(nest / "work", nest / "work" / ".ssh" / "keys")

    assert code(workspace, nest / "work" / ".ssh" / "keys" / "x.txt") == "policy_denied"


@pytest.mark.parametrize(
    ("result", "paths"),
    [
        ({"roots": [{"uri": "file:///work/a%20b", "name": "x"}]}, ["/work/a b"]),
        ({"roots": [{"uri": "file://localhost/work"}, {"uri": "file://host/x"}, {"uri": "https://x/y"}]}, ["/work"]),
        ({"roots": [{"uri": "file:///a%00b"}, {"uri": 7}, 7]}, []),
        ({"roots": {}}, []),
        ([], []),
    ],
)
def test_the_directories_in_an_answer_of_a_client(result, paths):
    assert root_paths(result) == paths


class RootsClient(StdioServer):
    """A client that answers `roots/list`."""

    def __init__(self, *arguments, root, capabilities):
        super().__init__(*arguments, root=root, version=None)
        hello = {"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": {"name": "r"}}
        self.ask("initialize", hello)

    def notify(self, method):
        self.send({"jsonrpc": "2.0", "method": method})

    def answer_roots(self, *paths):
        asked = self.read()
        assert asked["method"] == "roots/list"
        roots = [{"uri": f"file://{path}"} for path in paths]
        self.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": roots}})

    def reads(self, path):
        result = self.call("Read", file_path=str(path))
        return result.get("_meta", {}).get("eyespan/error", {}).get("code") if result["isError"] else None


def test_the_client_is_asked_and_asked_again_when_its_directories_change(nest):
    root = nest / "work"
    client = RootsClient("--dialect", "claude", "--client-roots", root=root, capabilities={"roots": {}})
    files = [root / "a" / "x.txt", root / "b" / "x.txt", nest / "other" / "x.txt"]
    try:
        client.notify("notifications/initialized")
        client.answer_roots(root / "a", nest / "other")
        first = [client.reads(path) for path in files]
        client.notify("notifications/roots/list_changed")
        client.answer_roots(root / "b")
        second = [client.reads(path) for path in files]
        client.notify("notifications/roots/list_changed")
        client.answer_roots(nest / "other")
        third = [client.reads(path) for path in files]
    finally:
        client.close()

    assert first == [None, "outside_root", "outside_root"]
    assert second == ["outside_root", None, "outside_root"]
    assert third == ["outside_root"] * 3


@pytest.mark.parametrize(("option", "capabilities"), [((), {"roots": {}}), (("--client-roots",), {})])
def test_a_client_is_not_asked_without_the_option_or_the_capability(nest, option, capabilities):
    client = RootsClient("--dialect", "claude", *option, root=nest / "work", capabilities=capabilities)
    try:
        client.notify("notifications/initialized")
        found = client.reads(nest / "work" / "b" / "x.txt")  # fails on any request in between
    finally:
        client.close()

    assert found is None


def test_directories_are_arguments_of_serve(nest, monkeypatch):
    monkeypatch.chdir(nest)
    client = StdioServer(str(nest / "work" / "b"), "--dialect", "claude", root=nest / "work" / "a")
    try:
        results = [client.call("Read", file_path=os.fspath(nest / "work" / name / "x.txt")) for name in ("a", "b")]
        outside = client.call("Read", file_path=os.fspath(nest / "other" / "x.txt"))
    finally:
        client.close()

    assert [result["isError"] for result in (*results, outside)] == [False, False, True]
