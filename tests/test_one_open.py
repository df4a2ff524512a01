"""One open per file: every piece of an answer comes from one opened version."""

from __future__ import annotations

import subprocess

import pytest

from eyespan import Workspace
from eyespan.guard import Guard
from eyespan.model import CharRange, DocumentOptions, Lines, PdfOptions, ReadRequest

SOURCE = "".join(f"def f{n}():\n    return {n}\n\n\n" for n in range(1, 21))


@pytest.fixture
def opens(monkeypatch):
    """The paths that the guard has opened, in order."""
    seen = []
    whole = Guard.open

    def counted(self, path, **how):
        source = whole(self, path, **how)
        seen.append(path)
        return source

    monkeypatch.setattr(Guard, "open", counted)
    return seen


@pytest.fixture
def root(tmp_path):
    for name in ("a.py", "b.py", "c.txt"):
        (tmp_path / name).write_text(SOURCE)
    return tmp_path


@pytest.mark.parametrize(
    ("targets", "files"),
    [
        (["b.py"], ["b.py"]),
        (["b.py:3-9"], ["b.py"]),
        (["b.py:3:1"], ["b.py"]),
        (["b.py:-5"], ["b.py"]),
        (["b.py:-5", "b.py:1-3"], ["b.py"]),
        (["b.py::f7"], ["b.py"]),
        (["a.py:10-20", "b.py", "c.txt", "a.py::f7"], ["a.py", "b.py", "c.txt"]),
    ],
)
@pytest.mark.parametrize("budget", [10_000, 50])
def test_native_opens_each_file_once(root, opens, targets, files, budget):
    with Workspace(root) as workspace:
        workspace.engine.guard.admit("b.py")
        reply = workspace.tool("native").call({"files": targets, "budget": budget})

    assert not reply.is_error
    assert sorted([path for path in opens if path in files]) == files  # small files are read before the others


def test_a_revision_opens_each_file_of_the_repository_once(root, opens):
    git = ["git", "-C", str(root), "-c", "user.name=x", "-c", "user.email=x@example.org"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"], ["gc", "-q"]):
        subprocess.run([*git, *command], check=True)
    with Workspace(root) as workspace:
        reply = workspace.tool("native").call({"files": ["b.py@HEAD"]})

    assert not reply.is_error
    found = [path for path in opens if ".git/" in path]
    assert sorted(found) == sorted(set(found))


def test_all_reads_of_an_opened_file_see_the_version_that_was_opened(root):
    with Workspace(root) as workspace, workspace.engine.open(ReadRequest("a.py")) as opened:
        (root / "new").write_text("another file\n")
        (root / "new").rename(root / "a.py")
        first = opened.read(Lines(1, 2)).parts[0].data
        symbols = opened.outline().symbols

    assert bytes(first) == b"def f1():\n    return 1\n"
    assert len(symbols) == 20


def test_a_file_that_is_written_to_while_it_is_open_is_reported_as_changed(root):
    with Workspace(root) as workspace, workspace.engine.open(ReadRequest("a.py")) as opened:
        assert not opened.read(Lines(1, 1)).facts.changed
        with (root / "a.py").open("a") as file:
            file.write("more\n")

        assert opened.read(Lines(2, 1)).facts.changed


def test_a_stream_gives_the_parts_of_a_read(root):
    with Workspace(root) as workspace, workspace.engine.open(ReadRequest("a.py")) as opened:
        streamed = b"".join([bytes(part.data) for part in opened.stream()])
        read = opened.read(CharRange()).parts[0].data

    assert streamed == bytes(read) == SOURCE.encode()


def test_other_options_hold_for_one_read_only(root):
    from eyespan import kinds

    with Workspace(root) as workspace, workspace.engine.open(ReadRequest("a.py")) as opened:
        opened.read(options=DocumentOptions(pdf=PdfOptions(3)), as_text=True, total="exact")

    assert (opened.request.options, opened.request.total, opened.kind) == (DocumentOptions(), "cheap", kinds.TEXT)
