"""Every line of `pasted_lines.py` leads to its file and line, through `native` and through `eyespan read`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from eyespan import Workspace
from eyespan.cli.main import main

from .pasted_lines import PATHS, ROWS

MAX_LINES_AROUND = 41


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """A directory with the files that the lines name."""
    root = tmp_path_factory.mktemp("pasted")
    for path in PATHS:
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(f"row {number}\n" for number in range(1, 201)))
    return root


@pytest.fixture(scope="module")
def tool(place):
    with Workspace(place) as workspace:
        yield workspace.tool("native", budget=3000)


def shown_lines(selector: str) -> set[int]:
    """Return the lines that the ranges of a selector name."""
    ranges = re.findall(r"(\d+)(?::\d+)?(?:-(\d+))?", selector.rpartition(":")[2])
    return {line for first, last in ranges for line in range(int(first), int(last or first) + 1)}


@pytest.mark.parametrize(("program", "text", "meant"), ROWS, ids=[f"{n}-{row[0]}" for n, row in enumerate(ROWS)])
def test_a_line_of_another_program_leads_to_its_place(tool, place, program, text, meant, monkeypatch, capfd):
    reply = tool.call({"files": [text]})
    monkeypatch.chdir(place)
    status = main(["read", "-N", "--", text])
    printed = capfd.readouterr()

    if not meant:
        assert (reply.is_error, status) == (True, 1)
        return
    path, _, line = meant.partition(":")
    parts = [part for part in reply.structured["parts"] if part["path"].removeprefix("./") == path]
    assert (len(parts), status) == (1, 0)
    lines = shown_lines(parts[0]["selector"])
    assert int(line or "1") in lines
    assert len(lines) <= MAX_LINES_AROUND if line else len(lines) == 200
    rows = printed.out.split("\n")[:-1]
    assert f"row {line or '200'}" in rows


def test_the_table_has_many_programs():
    assert len({program for program, _, _ in ROWS}) > 150
