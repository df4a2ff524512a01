"""The audit line of a call names every file that was read or refused."""

from __future__ import annotations

import gc
import tarfile

import pytest

from eyespan import Workspace
from eyespan.context import CallContext
from eyespan.errors import ReadError
from eyespan.guard import blocking
from eyespan.recorder import facts, watched


def test_every_file_of_a_call_is_recorded(tmp_path):
    (tmp_path / "a.py").write_text("1\n2\n3\n")
    (tmp_path / "b.py").write_text("x\n")
    (tmp_path / "link.py").symlink_to("b.py")
    (tmp_path / ".env").write_text("SECRET\n")
    with Workspace(tmp_path) as workspace:
        asked = {"files": ["a.py:2-3", ".env", "none.py", "link.py"]}
        reply, witness, _ = watched(workspace.tool("native"), asked, CallContext())
        line = facts(witness)

    assert not reply.is_error
    assert line["rule"] == "**/.env"
    times = {name: (tmp_path / name).stat().st_mtime_ns for name in ("a.py", "b.py")}
    assert line["files"] == [
        {"path": "a.py", "canonical": "a.py", "mtime_ns": times["a.py"], "range": "2-3", "rule": None},
        {"path": ".env", "canonical": None, "mtime_ns": None, "range": None, "rule": "**/.env"},
        {"path": "link.py", "canonical": "b.py", "mtime_ns": times["b.py"], "range": "1-1", "rule": None},
    ]


def test_lines_that_do_not_fit_are_not_recorded(tmp_path):
    (tmp_path / "a.log").write_text("".join([f"line {number} of a log\n" for number in range(9000)]))
    with Workspace(tmp_path) as workspace:
        asked = {"files": ["a.log:1-4,500-9000"], "budget": 400}
        reply, witness, _ = watched(workspace.tool("native"), asked, CallContext())

    shown = reply.structured["parts"][0]["selector"]
    assert facts(witness)["range"] == shown.removeprefix("a.log:")
    assert shown.startswith("a.log:1-4,500-5")


def test_of_a_search_of_many_files_all_that_are_shown_are_recorded(tmp_path, monkeypatch):
    monkeypatch.setattr("eyespan.recorder.MAX_OPENED", 3)
    for number in range(9):
        (tmp_path / f"{number}.txt").write_text("a word\n" if number in (0, 7) else "another\n")
    with Workspace(tmp_path) as workspace:
        _, witness, _ = watched(workspace.tool("native"), {"files": ".?a word"}, CallContext())

    ranges = {file["path"]: file["range"] for file in facts(witness)["files"]}
    assert list(ranges) == ["0.txt", "1.txt", "2.txt", "7.txt"]
    assert (ranges["0.txt"], ranges["7.txt"]) == ("1-1", "1-1")


def test_a_call_for_one_file_has_no_list(tmp_path):
    (tmp_path / "a.py").write_text("1\n2\n3\n")
    with Workspace(tmp_path) as workspace:
        _, witness, _ = watched(workspace.tool("native"), {"files": "a.py:1"}, CallContext())

    mtime_ns = (tmp_path / "a.py").stat().st_mtime_ns
    assert facts(witness) == {
        "path": "a.py",
        "canonical": "a.py",
        "mtime_ns": mtime_ns,
        "range": "1-1",
        "rule": None,
    }


@pytest.fixture
def failures(tmp_path):
    """A workspace, and paths of which each read ends with an error of another class."""
    (tmp_path / ".env").write_text("SECRET\n")
    (tmp_path / "binary").write_bytes(bytes(range(256)))
    (tmp_path / "a.txt").write_text("x\n")
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        archive.add(tmp_path / "a.txt", "a.txt")
    with Workspace(tmp_path) as workspace:
        names = ("none.txt", ".env", "binary", "../outside", "a.txt:900-", "a.tar!/none", "a.txt@none", "a\0b", ".")
        yield workspace, [tmp_path / name if name == "." else f"{tmp_path}/{name}" for name in names]


@pytest.mark.parametrize("dialect", ["native", "codex", "claude", "forge", "workspace"])
@pytest.mark.parametrize("is_watched", [True, False])
def test_no_error_outlives_its_call(dialect, is_watched, failures):
    workspace, paths = failures
    tool = workspace.tool(dialect)
    key = next(iter(tool.spec.input_schema["properties"]))
    key = "file_path" if "file_path" in tool.spec.input_schema["properties"] else key
    kept = []
    gc.collect()
    before = [found for found in gc.get_objects() if isinstance(found, ReadError)]  # of other tests
    gc.disable()
    try:
        for path in paths:
            arguments = {key: str(path)}
            if is_watched:
                kept.append(watched(tool, arguments, CallContext())[1])
            else:
                tool.call(arguments)
        alive = [repr(found) for found in gc.get_objects() if isinstance(found, ReadError) and found not in before]
    finally:
        gc.enable()

    assert alive == []


def test_no_error_of_a_thread_outlives_its_call():
    def fail(context):
        raise ReadError("a")

    gc.collect()
    before = sum(isinstance(found, ReadError) for found in gc.get_objects())  # of other tests
    gc.disable()
    try:
        with pytest.raises(ReadError):
            blocking.within(CallContext(), fail)
        alive = sum(isinstance(found, ReadError) for found in gc.get_objects())
    finally:
        gc.enable()

    assert alive == before
