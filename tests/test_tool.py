"""A tool answers whatever it is called with: no exception, no text that is not UTF-8, no wait that cannot be ended."""

from __future__ import annotations

import asyncio
import copy
import json
import multiprocessing
import os
import pickle
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from eyespan import CallContext, Policy, Tool, Workspace
from eyespan.dialects import dialect_names
from eyespan.dialects.base import CHANGED
from eyespan.lines.reader import LineReader
from eyespan.source import Source
from tests.backends import reads_in_place
from tests.dialects.asking import arguments_for
from tests.sizes import examples

from .descriptors import leaked, open_descriptors

NAMES = ["file_path", "path", "offset", "limit", "mode", "indentation", "start_line", "end_line", "max_lines", "head"]
NAMES += ["tail", "show_line_numbers", "anchor_line", "max_levels", "include_siblings", "include_header", "pages"]

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 50),
    st.integers(-(2**200), 2**200),
    st.floats(),
    st.text(max_size=20),
    st.text(st.characters(), max_size=5),  # lone surrogates among them
    st.sampled_from(
        ["slice", "indentation", "", " ", "\0", "\ud800", "~", "/", ".", "..", "file:///x", "C:\\", "\\\\x"]
    ),
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
)


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    directory = tmp_path_factory.mktemp("root")
    (directory / "a.txt").write_bytes("eins\nzwei\r\n  drei ü\n\n\tvier".encode())
    (directory / "binary").write_bytes(bytes(range(256)))
    (directory / "latin").write_bytes(b"caf\xe9\n" * 3)
    (directory / "empty").write_bytes(b"")
    (directory / os.fsdecode(b"bad-\xff-name")).write_bytes(b"text\n")
    (directory / "folder").mkdir()
    (directory / ".env").write_bytes(b"KEY=1")
    (directory / "link").symlink_to("/etc/passwd")
    os.mkfifo(directory / "pipe")
    return directory


@pytest.fixture(scope="module", params=dialect_names())
def tool(request, root):
    with Workspace(root) as workspace:
        yield workspace.toolset(request.param)[0]


def reading(tool, path):
    """Return the arguments that read a file in the dialect of a tool."""
    special = READS.get(tool.dialect.name)
    return arguments_for(tool, path) if special is None else special(path)


def check(reply):
    """Check the properties of every reply."""
    json.dumps([block.text for block in reply.content if block.type == "text"], ensure_ascii=False).encode("utf-8")
    json.dumps(reply.structured, ensure_ascii=False).encode("utf-8")
    for note in reply.notes:
        note.encode("utf-8")
    assert reply.content
    if reply.is_error:
        assert reply.error.code
        assert reply.error.message.encode("utf-8")
        assert reply.text == reply.error.message


known_paths = [
    "a.txt",
    "binary",
    "latin",
    "empty",
    "bad-\udcff-name",
    "folder",
    ".env",
    "link",
    "pipe",
    "none",
    "a.txt/",
]


@settings(deadline=None, max_examples=examples(150), suppress_health_check=[HealthCheck.too_slow])
@given(
    st.one_of(
        values,
        st.dictionaries(st.sampled_from(NAMES), values, max_size=6),
        st.fixed_dictionaries(
            {"name": st.sampled_from(known_paths), "rest": st.dictionaries(st.sampled_from(NAMES), scalars, max_size=3)}
        ),
    )
)
@example({"path": "x" * 10_000, "file_path": "/" + "x" * 10_000})
@example({"path": "a.txt", "file_path": "/x", "start_line": float("inf"), "offset": float("nan")})
@example({1: 2, None: 3, ("a",): b"bytes", "path": "a.txt"})
def test_no_arguments_make_a_call_raise(tool, root, arguments):
    if isinstance(arguments, dict) and set(arguments) == {"name", "rest"}:
        path = str(root / arguments["name"])
        arguments = {"path": path, "file_path": path, **arguments["rest"]}
        if tool.dialect.name == "forge":  # which refuses names it does not know
            arguments.pop("file_path", None)

    first = tool.call(arguments)

    check(first)
    assert tool.call(arguments) == first
    assert "internal error" not in first.text


def nested(depth: int) -> object:
    value: object = "x"
    for _ in range(depth):
        value = [value]
    return value


class Odd:
    """An object that no JSON has, but a Python caller can pass."""

    def __repr__(self) -> str:
        raise RuntimeError("no name")


UNSHOWN = {
    "a deep list": lambda: nested(100_000),
    "a deep object": lambda: {"a": nested(5000)},
    "an odd object": Odd,
    "odd objects": lambda: [Odd()] * 3,
    "an odd name": lambda: {Odd(): 1},
    "bytes": lambda: b"\xff",
    "a large number": lambda: 10**5000,
    "a small number": lambda: -(10**5000),
}


@pytest.mark.parametrize("make", UNSHOWN)
def test_values_that_cannot_be_shown_are_refused_all_the_same(tool, root, make):
    value = UNSHOWN[make]()
    name = "path" if tool.dialect.name.startswith(("workspace", "forge")) else "file_path"

    for arguments in (
        value,
        {name: value},
        {name: str(root / "a.txt"), "offset": value, "start_line": value, "head": 1},
    ):
        reply = tool.call(arguments)
        check(reply)
        assert "internal error" not in reply.text


@pytest.mark.parametrize("path", known_paths)
def test_files_of_every_sort_get_an_answer_that_is_the_same_every_time(tool, root, path):
    name = "path" if tool.dialect.name.startswith(("workspace", "forge")) else "file_path"
    arguments = {name: str(root / path)}

    first, second = tool.call(arguments), tool.call(arguments)

    check(first)
    assert first == second
    assert first is not second


def test_a_name_that_is_not_unicode_is_shown_in_escapes(root):
    with Workspace(root) as workspace:
        reply = workspace.tool("forge").call({"path": "bad-\udcff-name"})

    assert reply.text == "1\ttext\n"
    assert reply.structured["path"] == "bad-\\udcff-name"


def test_a_tool_that_is_denied_reads_nothing(root):
    with Workspace(root) as workspace:
        for dialect in dialect_names():
            for tool in workspace.toolset(dialect, allowed=False):
                reply = tool.call({"path": "a.txt", "file_path": str(root / "a.txt")})

                assert reply.is_error
                assert "denied by policy" in reply.text


def test_a_fault_of_our_own_is_an_answer_and_a_line_in_the_log(tool, root, monkeypatch, caplog):
    for name in ("read", "open"):
        monkeypatch.setattr(type(tool.engine), name, lambda *_: 1 / 0)

    reply = tool.call(reading(tool, str(root / "a.txt")))

    check(reply)
    assert "ZeroDivisionError" in reply.text
    assert [record.name for record in caplog.records] == ["eyespan"]


# --- change --------------------------------------------------------------------------------------------------------

READS = {
    "codex": lambda path: {"file_path": path, "limit": 10**6},
    "codex-upstream": lambda path: {"file_path": path, "offset": 2},
    "claude": lambda path: {"file_path": path},
    "claude-upstream": lambda path: {"file_path": path, "offset": 3},
    "forge": lambda path: {"path": path, "tail": 3},
    "native": lambda path: {"files": [path], "budget": 100_000},
    "workspace": lambda path: {"path": path},
    "workspace-upstream": lambda path: {"path": path, "start_line": 4},
}


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(LineReader, "block_bytes", 4096)


def reports_change(reply) -> bool:
    """Return True if the reply reports that the file changed."""
    structured = reply.structured or {}
    return (
        any(note.endswith(CHANGED) for note in reply.notes)
        or "changed while it was read" in reply.text[-1000:]
        or bool(structured.get("changed_during_read") or structured.get("meta", {}).get("changed_during_read"))
    )


@reads_in_place
@pytest.mark.parametrize("how", ["grows", "is rewritten", "shrinks", "stays"])
@pytest.mark.parametrize("dialect", dialect_names())
def test_a_change_while_a_file_is_read_is_reported(dialect, how, tmp_path, small_blocks):
    file = tmp_path / "file"
    file.write_bytes(b"a line of text\n" * 10_000)
    os.utime(file, ns=(10**18, 10**18))
    changed = []

    def change(done, total):
        if changed or how == "stays":
            return
        changed.append(done)
        with file.open("r+b") as out:
            if how == "grows":
                out.seek(0, 2)
                out.write(b"one more\n")
            elif how == "is rewritten":
                out.write(b"A LINE")
            else:
                out.truncate(100_000)

    with Workspace(tmp_path) as workspace:
        tool = workspace.toolset(dialect)[0]
        reply = tool.call(reading(tool, str(file)), context=CallContext(on_progress=change))
        after = tool.call(reading(tool, str(file)))

    assert not reply.is_error
    assert not reports_change(after)
    if dialect == "native" and not reports_change(reply):
        assert reply == after  # it opens the file twice: all that it shows is of the new version
    else:
        assert reports_change(reply) is (how != "stays")


def test_a_file_that_is_replaced_is_read_in_one_version(tmp_path, small_blocks):
    file, other = tmp_path / "file", tmp_path / "other"
    file.write_bytes(b"old\n" * 30_000)
    other.write_bytes(b"new\n" * 30_000)

    def replace(done, total):
        if other.exists():
            other.rename(file)

    with Workspace(tmp_path) as workspace:
        tool = workspace.tool("codex")
        reply = tool.call({"file_path": str(file), "limit": 30_000}, context=CallContext(on_progress=replace))

    assert {line.partition(": ")[2] for line in reply.text.split("\n")} == {"old"}


# --- stopping ------------------------------------------------------------------------------------------------------


@pytest.fixture
def endless(tmp_path):
    """A terabyte of nothing: reading it through takes minutes."""
    file = tmp_path / "endless"
    with file.open("wb") as out:
        out.truncate(2**40)
    return file


ENDLESS_READS = [
    ("codex", {"offset": 2}, {}),
    ("codex", {"mode": "indentation", "offset": 2}, {}),
    ("codex", {"mode": "indentation", "offset": 1}, {}),
    ("forge", {"tail": 1}, {"max_scan_bytes": 2**50}),
    ("forge", {"start_line": 2, "end_line": 2}, {"max_scan_bytes": 2**50}),
]


@pytest.mark.parametrize(("dialect", "arguments", "options"), ENDLESS_READS)
def test_cancelling_a_task_stops_the_read_and_the_loop_goes_on_meanwhile(dialect, arguments, options, endless):
    if dialect == "forge":  # takes NULs for binary in the first bytes only
        with endless.open("r+b") as out:
            out.write(b"x" * 10_000)
    name = "path" if dialect == "forge" else "file_path"
    before = threading.active_count()

    async def run():
        with Workspace(endless.parent) as workspace:
            task = asyncio.create_task(workspace.tool(dialect, **options).acall({name: str(endless), **arguments}))
            for _ in range(5):
                await asyncio.sleep(0.001)
            assert not task.done()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        # asyncio.run waits for its threads: it comes back only if the read has ended.

    asyncio.run(run())

    assert threading.active_count() <= before + 1


def test_a_deadline_ends_a_read(endless):
    with Workspace(endless.parent) as workspace:
        reply = workspace.tool("codex").call(
            {"file_path": str(endless), "offset": 2}, context=CallContext(deadline_seconds=0.05)
        )

    assert reply.is_error
    assert "no answer within 0.05 s" in reply.text


def test_acall_and_call_return_the_same(tool, root):
    name = "path" if tool.dialect.name.startswith(("workspace", "forge")) else "file_path"
    arguments = {name: str(root / "a.txt")}

    assert asyncio.run(tool.acall(arguments)) == tool.call(arguments)


def test_calls_from_many_threads_do_not_meet(root, tmp_path):
    for n in range(8):
        (tmp_path / f"{n}").write_bytes(f"file {n}\n".encode() * 500)
    wrong = []
    with Workspace(tmp_path) as workspace:
        tool = workspace.tool("forge", show_line_numbers=False)

        def work(n):
            for _ in range(50):
                if set(tool.call({"path": str(n)}).text.split("\n")) != {f"file {n}", ""}:
                    wrong.append(n)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert wrong == []


# --- faults of the system ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [5, 11, 116])  # EIO, EAGAIN, ESTALE
@pytest.mark.parametrize("dialect", dialect_names())
def test_a_read_that_fails_half_way_is_an_error_not_half_an_answer(
    dialect, number, tmp_path, monkeypatch, small_blocks
):
    file = tmp_path / "file"
    file.write_bytes(b"a line of text\n" * 10_000)
    real = os.pread

    def fails(fd, size, offset):
        if offset > 70_000:
            raise OSError(number, os.strerror(number))
        return real(fd, size, offset)

    before = open_descriptors() if Path("/proc/self/fd").is_dir() else []
    with Workspace(tmp_path) as workspace:
        tool = workspace.toolset(dialect)[0]
        monkeypatch.setattr(os, "pread", fails)
        arguments = {"limit": 10**6} if dialect.startswith(("codex", "claude", "crush")) else {}
        if dialect == "vibe":
            arguments = {"offset": 5000}  # it shows 50 KB at most
        reply = tool.call({**reading(tool, str(file)), **arguments})
        monkeypatch.undo()
    del tool, workspace  # a closed root holds the number of its descriptor as long as it exists

    assert reply.is_error
    assert os.strerror(number).lower() in reply.text.lower()  # platforms differ in case
    if before:
        assert leaked(before) == []


@pytest.mark.parametrize("most", [1, 7, 1000])
@pytest.mark.parametrize("dialect", dialect_names())
def test_reads_that_bring_less_than_was_asked_for_change_nothing(dialect, most, tmp_path, monkeypatch):
    file = tmp_path / "file"
    file.write_bytes("    ein Stück Text\r\n\n\tnoch eins, länger\n".encode() * 60)
    real = os.pread
    with Workspace(tmp_path) as workspace:
        tool = workspace.toolset(dialect)[0]
        calls = [reading(tool, str(file))]
        if dialect.startswith("codex"):
            calls.append({"file_path": str(file), "mode": "indentation", "offset": 90})
        whole = [tool.call(arguments) for arguments in calls]
        monkeypatch.setattr(Source, "max_first_bytes", 100)
        monkeypatch.setattr("eyespan.lines.binary.SNIFF_BYTES", 100)
        monkeypatch.setattr(os, "pread", lambda fd, size, offset: real(fd, min(size, most), offset))

        assert [tool.call(arguments) for arguments in calls] == whole


@pytest.mark.parametrize("name", ["\ud800", "a\udfffb/x"])
def test_the_message_of_an_error_is_valid_text_too(tool, name):
    for arguments in ({"files": name}, {"path": name}, {"file_path": f"/{name}"}, {name: name}):
        reply = tool.call(arguments)

        assert reply.error.message.encode("utf-8")
        assert reply.text.encode("utf-8")


# --- copies and pickles --------------------------------------------------------------------------------------------

SETTINGS = {
    "forge": {"max_file_read_bytes": 10, "show_line_numbers": False},
    "claude": {"line_number_format": "arrow", "encoding": "auto"},
    "codex": {"allowed": False},
}


@pytest.mark.parametrize("dialect", dialect_names())
def test_a_pickled_tool_answers_as_the_tool_does(dialect, root):
    with Workspace(root) as workspace:
        tool = workspace.toolset(dialect, **SETTINGS.get(dialect, {}))[0]
        again = pickle.loads(pickle.dumps(tool))
        arguments = reading(tool, str(root / "a.txt"))

        with again.workspace:
            assert again.call(arguments) == tool.call(arguments)
            assert again.spec == tool.spec
            assert [r.path for r in again.workspace.roots] == [r.path for r in workspace.roots]


def test_tools_pickled_together_share_one_workspace(root):
    with Workspace(root) as workspace:
        first, second = pickle.loads(pickle.dumps([workspace.tool("forge"), workspace.tool("codex")]))

    with first.workspace:
        assert first.workspace is second.workspace


@pytest.mark.parametrize("dialect", dialect_names())
def test_a_deep_copy_reads_through_the_same_open_roots(dialect, root):
    with Workspace(root) as workspace:
        tool = workspace.toolset(dialect, **SETTINGS.get(dialect, {}))[0]
        again = copy.deepcopy(tool)
        arguments = reading(tool, str(root / "a.txt"))

        assert again.engine is tool.engine
        assert again.dialect is not tool.dialect
        assert again.call(arguments) == tool.call(arguments)


def test_a_tool_of_an_engine_alone_pickles_too(root):
    with Workspace(root) as workspace:
        tool = Tool(workspace.tool("forge").dialect, workspace.engine)
        again = pickle.loads(pickle.dumps(tool))

        assert again.call({"path": "a.txt"}) == tool.call({"path": "a.txt"})


def test_a_spawned_process_answers_with_a_tool_it_was_sent(root):
    """Ray, Dask and multiprocessing do this: the tool is sent, the reply is returned."""
    with Workspace(root, policy=Policy(["latin"])) as workspace:
        tool = workspace.tool("claude", line_number_format="arrow")
        calls = [(tool, {"file_path": str(root / name)}) for name in ("a.txt", "latin", "none")]
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            replies = pool.starmap(Tool.call, calls)

        assert replies == [tool.call(arguments) for _, arguments in calls]
