"""Dialects of several tools, on the example of `filesystem`."""

from __future__ import annotations

import json
import os
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyespan import Workspace
from eyespan.cli.main import main
from eyespan.context import CallContext
from eyespan.errors import TimedOut
from eyespan.extras.families import filesystem
from eyespan.extras.families.minimatch import Glob, GlobLimits
from eyespan.hosts import from_tool_calls, to_openai
from eyespan.memory import Ledger
from eyespan.server.service import Service
from tests.clock import TickingClock

NAMES = [tool.tool for tool in filesystem.Filesystem.tools]


@pytest.fixture
def root(tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("one\ntwo\n")
    return tmp_path


@pytest.fixture
def workspace(root):
    with Workspace(root) as made:
        yield made


# --- toolsets --------------------------------------------------------------------------------------------------------


def test_a_toolset_holds_all_tools_and_finds_them_by_name(workspace):
    tools = workspace.toolset("filesystem")

    assert [tool.spec.name for tool in tools] == NAMES
    assert tools.named("read_file").call({"path": "src/a.py"}).text == "one\ntwo\n"
    with pytest.raises(KeyError):
        tools.named("write_file")


def test_the_toolset_of_a_dialect_with_one_tool_holds_that(workspace):
    assert [tool.spec.name for tool in workspace.toolset("forge")] == ["Read"]


def test_a_dialect_of_several_tools_has_no_single_tool(workspace):
    with pytest.raises(ValueError, match="filesystem has several tools"):
        workspace.tool("filesystem")


def test_settings_apply_to_every_tool(workspace):
    replies = [tool.call({}) for tool in workspace.toolset("filesystem", allowed=False)]

    assert {reply.error.code for reply in replies} == {"policy_denied"}


def test_a_tool_of_a_toolset_can_be_pickled(workspace):
    tool = pickle.loads(pickle.dumps(workspace.toolset("filesystem").named("list_directory")))

    with tool.workspace:
        assert tool.call({"path": "src"}).text == "[FILE] a.py"


def test_a_server_lists_all_tools_with_their_output_schema(workspace):
    listed = Service(workspace, ["filesystem"]).handler("tools/list")({}, "test", CallContext())["tools"]

    assert [tool["name"] for tool in listed] == NAMES
    assert [tool["name"] for tool in listed if "outputSchema" not in tool] == ["read_media_file"]


def test_a_server_prefixes_the_tools_of_several_dialects(workspace):
    listed = Service(workspace, ["codex", "filesystem"]).handler("tools/list")({}, "test", CallContext())["tools"]

    assert [tool["name"] for tool in listed] == ["codex_read_file", *[f"filesystem_{name}" for name in NAMES]]


def test_a_result_has_structured_content(workspace):
    params = {"name": "read_text_file", "arguments": {"path": "src/a.py"}}

    result = Service(workspace, ["filesystem"]).handler("tools/call")(params, "test", CallContext())

    assert result["structuredContent"] == {"content": "one\ntwo\n"}
    assert result["_meta"]["eyespan/facts"]["lines"] == 2


def test_model_apis_take_the_tools_of_a_toolset(workspace):
    tools = workspace.toolset("filesystem")
    arguments = json.dumps({"path": "src"})
    call = {"type": "function_call", "call_id": "c", "name": "list_directory", "arguments": arguments}

    (item,) = from_tool_calls(tools, [call])

    assert [to_openai(tool)["name"] for tool in tools] == NAMES
    assert item["output"] == "[FILE] a.py"


def test_the_command_line_calls_a_tool_by_name(root, capsysbinary):
    words = ["call", "--root", str(root), "filesystem"]

    assert main([*words, "list_directory", '{"path": "src"}']) == 0
    assert json.loads(capsysbinary.readouterr().out)["structured"] == {"content": "[FILE] a.py"}
    assert main([*words, "write_file", "{}"]) == 2
    assert main(words) == 2
    assert b"its tools are read_file, read_text_file" in capsysbinary.readouterr().err


def test_the_command_line_prints_the_definitions_as_a_list(capsys):
    assert main(["schema", "filesystem", "--for", "mcp"]) == 0

    assert [tool["name"] for tool in json.loads(capsys.readouterr().out)] == NAMES


# --- bounds ----------------------------------------------------------------------------------------------------------


def test_a_search_holds_the_names_of_the_directories_on_its_way_alone(workspace, root):
    for number in range(30):
        (root / f"{number}").mkdir()
        for name in range(20):
            (root / f"{number}/{name}.txt").write_text("")
    (root / "29" / "needle").write_text("")
    call = CallContext(ledger=Ledger(max_bytes=40 << 10, free_bytes=0))

    reply = (
        workspace.toolset("filesystem")
        .named("search_files")
        .call({"path": str(root), "pattern": "**/needle"}, context=call)
    )

    assert reply.text == str(root / "29" / "needle")


@pytest.mark.parametrize(("name", "args"), [("directory_tree", {}), ("search_files", {"pattern": "**"})])
def test_an_answer_that_takes_too_much_memory_is_an_error(workspace, root, name, args):
    for number in range(30):
        (root / f"{number}").write_text("")
    call = CallContext(ledger=Ledger(max_bytes=15 << 10, free_bytes=0))

    reply = workspace.toolset("filesystem").named(name).call({"path": str(root), **args}, context=call)

    assert reply.is_error
    assert "memory" in reply.text


def test_a_pipe_does_not_block(workspace, root):
    os.mkfifo(root / "pipe")
    tools = workspace.toolset("filesystem")

    assert "pipe" in tools.named("read_text_file").call({"path": "pipe"}).error.message
    assert "isFile: false" in tools.named("get_file_info").call({"path": "pipe"}).text


def test_denied_names_are_neither_listed_nor_described(workspace, root):
    (root / "key.pem").write_text("secret\n")
    tools = workspace.toolset("filesystem")

    texts = [
        tools.named("list_directory").call({"path": "."}).text,
        tools.named("directory_tree").call({"path": str(root)}).text,
        tools.named("search_files").call({"path": str(root), "pattern": "**"}).text,
    ]
    assert [text for text in texts if "key.pem" in text] == []
    assert tools.named("get_file_info").call({"path": "key.pem"}).error.code == "policy_denied"


def test_files_of_every_root_are_found_by_the_paths_of_a_search(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "b\udcff.txt").write_text(f"in {name}\n")

    with Workspace(tmp_path / "one", tmp_path / "two") as workspace:
        tools = workspace.toolset("filesystem")
        for name in ("one", "two"):
            found = tools.named("search_files").call({"path": str(tmp_path / name), "pattern": "*"}).text
            assert tools.named("read_text_file").call({"path": found}).text == f"in {name}\n"


# --- globs -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("*.py", ["a.py", ".py"], ["a/b.py", "a.pyc"]),
        ("**/*.py", ["a.py", "a/b.py", "a/.b/c.py"], ["a.txt"]),
        ("**", ["a", "a/b"], []),
        ("a/**", ["a/b", "a/b/c"], ["a", "b/a"]),
        ("a/**/z", ["a/z", "a/b/c/z"], ["z", "a/z/b"]),
        ("{a,b}/?", ["a/x", "b/y"], ["c/x", "a/xy"]),
        ("{a,{b,c}}d", ["ad", "bd", "cd"], ["d"]),
        ("[a-c]*", ["apple", "cat"], ["dog"]),
        ("[^a]x", ["bx"], ["ax"]),
        ("!*.py", ["a.txt"], ["a.py"]),
        ("#a", [], ["#a"]),
        ("a{b}", ["a{b}"], ["ab"]),
        ("{a", ["{a"], ["a"]),
    ],
)
def test_globs_match_as_those_of_the_original(pattern, matching, others):
    glob = Glob(pattern)

    assert [path for path in [*matching, *others] if glob.matches(path)] == matching


@pytest.mark.parametrize("pattern", ["{a,b}" * 30, "x" * 5000])
def test_a_pattern_that_costs_too_much_is_refused(pattern):
    with pytest.raises(ValueError, match="a pattern"):
        Glob(pattern)


@given(st.text(alphabet="a*/?[]{},!^-", max_size=30), st.text(alphabet="ab/", min_size=1, max_size=30))
def test_any_pattern_is_compared_or_refused(pattern, path):
    try:
        Glob(pattern).matches(path)
    except ValueError:
        pass


class CountedChecks:
    """A clock that ends the time of a call after so many looks at it."""

    def __init__(self, most):
        self.left = most

    def __call__(self):
        self.left -= 1
        if self.left < 0:
            raise TimedOut("", seconds=1)


@pytest.mark.parametrize("pattern", ["{a,b}" * 7, "{a,b}" * 7 + "{" * 1000, "{a,b}" * 4 + "/x?" * 500, "a{b}" * 100])
def test_the_clock_is_looked_at_for_each_alternative_of_a_pattern(pattern):
    clock = CountedChecks(100_000)
    glob = Glob(pattern, GlobLimits(clock))
    used = 100_000 - clock.left
    glob.matches("c")

    assert used >= pattern.count(",")
    assert 100_000 - clock.left - used == 2 ** pattern.count(",")


def test_the_patterns_of_a_call_are_bounded_together():
    limits = GlobLimits(lambda: None)
    for _ in range(49):
        Glob("a?/" * 1000, limits)
    with pytest.raises(ValueError, match="at most 50000 names"):
        Glob("a?/" * 1000, limits)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("search_files", {"pattern": "{a,b}" * 9, "excludePatterns": ["{c,d}" * 9] * 20}),
        ("directory_tree", {"excludePatterns": ["{c,d}" * 9] * 20}),
    ],
)
def test_a_search_by_many_patterns_ends_with_the_time_of_the_call(tmp_path, tool, arguments):
    for number in range(100):
        (tmp_path / f"{number}.txt").touch()
    with Workspace(tmp_path) as workspace:
        context = CallContext(10, ledger=Ledger(TickingClock()))
        reply = workspace.toolset("filesystem").named(tool).call({"path": str(tmp_path), **arguments}, context=context)

    assert reply.error.code == "timeout"


def test_many_stars_take_little_time():
    assert not Glob("**/" * 50 + "*a" * 50 + "b").matches("/".join(["a" * 60] * 60))


@pytest.mark.parametrize("path", ["~", "~/notes.md", "~/x/../.npmrc", "~/../etc/passwd"])
def test_an_error_does_not_name_the_home_directory(tmp_path, monkeypatch, path):
    monkeypatch.setenv("HOME", "/srv/people/ida")
    with Workspace(tmp_path) as workspace:
        for tool in workspace.toolset("filesystem"):
            text = tool.call({"path": path, "paths": [path], "pattern": "*"}).text
            assert "ida" not in text, tool.spec.name
            assert "Access denied" in text or tool.spec.name == "list_allowed_directories", tool.spec.name
