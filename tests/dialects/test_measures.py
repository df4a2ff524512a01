"""`reply.facts`: the same counts in every dialect."""

from __future__ import annotations

import pytest

from eyespan import Workspace

PATH_NAMES = {"codex": "file_path", "claude": "file_path", "native": "files"}
DIALECTS = (
    "codex",
    "codex-upstream",
    "workspace",
    "workspace-upstream",
    "forge",
    "claude",
    "claude-upstream",
    "native",
)


def call(tmp_path, dialect, name, **arguments):
    key = PATH_NAMES.get(dialect.removesuffix("-upstream"), "path")
    with Workspace(tmp_path) as workspace:
        return workspace.tool(dialect).call({key: f"{tmp_path}/{name}", **arguments})


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_counts_tokens_bytes_and_lines(dialect, tmp_path):
    (tmp_path / "a.txt").write_text("one\ntwo é\n")

    reply = call(tmp_path, dialect, "a.txt")

    assert reply.facts["bytes"] == len(reply.text.encode())
    assert reply.facts["lines"] == 2
    assert 4 <= reply.facts["tokens"] < 100
    assert "left_out" not in reply.facts


@pytest.mark.parametrize(
    ("dialect", "arguments"),
    [
        ("codex", {"limit": 3}),
        ("workspace", {"max_lines": 3}),
        ("forge", {"head": 3}),
        ("claude", {"limit": 3}),
    ],
)
def test_the_lines_after_a_window_are_left_out(dialect, arguments, tmp_path):
    (tmp_path / "a.txt").write_text("line\n" * 9)

    reply = call(tmp_path, dialect, "a.txt", **arguments)

    assert reply.facts["lines"] == 3
    assert reply.facts["left_out"] == [f"{tmp_path}/a.txt:4-"]


def test_native_leaves_out_what_exceeds_its_budget(tmp_path):
    (tmp_path / "a.txt").write_text("some words on a line\n" * 900)

    reply = call(tmp_path, "native", "a.txt", budget=500)

    assert reply.facts["left_out"] == reply.structured["left_out"]
    assert 0 < reply.facts["lines"] < 900


@pytest.mark.parametrize(
    ("dialect", "longest", "line"),
    [
        ("codex", 500, b"x"),
        ("codex", 500, "é".encode()),
        ("codex", 500, b"\xff"),
        ("claude", 2000, b"x"),
        ("claude", 2000, "é".encode()),
    ],
)
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_shortened_lines_are_counted(dialect, longest, line, end, tmp_path):
    size = {b"\xff": 3}.get(line, len(line)) if dialect == "codex" else 1
    fitting, cut = line * (longest // size), line * (longest // size + 1)
    (tmp_path / "a.txt").write_bytes(end.join([fitting, cut, b"short", cut * 40, fitting, cut]))

    assert call(tmp_path, dialect, "a.txt").facts["cut_lines"] == 3


def test_shortened_lines_of_a_block_are_counted(tmp_path):
    (tmp_path / "a.py").write_text("def f():\n    " + "x" * 600 + "\n    y\n")

    reply = call(tmp_path, "codex", "a.py", mode="indentation", indentation={"anchor_line": 3})

    assert (reply.facts["lines"], reply.facts["cut_lines"]) == (3, 1)


def test_an_error_has_facts_too(tmp_path):
    assert call(tmp_path, "codex", "none").facts == {"tokens": 17, "bytes": 59}
