"""Logs over the budget: first lines, last lines, errors between them, and selectors for everything else."""

from __future__ import annotations

import pytest

from eyespan import Workspace

from .answers import line_numbers


def log(count, failures):
    lines = [f"2024-01-02 12:00:{n % 60:02} INFO request {n} handled" for n in range(1, count + 1)]
    for number in failures:
        lines[number - 1] = f"2024-01-02 12:00:00 ERROR request {number} failed"
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("budget", [100, 500, 2000, 10_000])
def test_every_line_of_a_log_is_shown_or_named(tmp_path, budget):
    (tmp_path / "app.log").write_text(log(5000, [700, 2500, 2501]))
    with Workspace(tmp_path) as workspace:
        tool = workspace.tool("native")
        first = tool.call({"files": "app.log", "budget": budget})
        shown, left = line_numbers(first), list(first.structured["left_out"])
        while left:
            reply = tool.call({"files": left.pop(0), "budget": 100_000})
            shown += line_numbers(reply)
            left += reply.structured.get("left_out", [])

    assert first.facts["tokens"] <= budget
    assert sorted(shown) == list(range(1, 5001))
    assert budget < 500 or {1, 5000} <= set(line_numbers(first))
    assert budget < 2000 or {700, 2500, 2501} <= set(line_numbers(first))


@pytest.mark.parametrize(
    ("failures", "note"), [([], "0 of 0"), ([700, 2500, 2501], "3 of 3"), (range(1000, 1200), "4 of 200")]
)
def test_the_note_of_a_log_counts_the_lines_with_errors(tmp_path, failures, note):
    (tmp_path / "app.log").write_text(log(5000, failures))
    with Workspace(tmp_path) as workspace:
        reply = workspace.tool("native").call({"files": "app.log", "budget": 1000})

    assert f"a log: its first and last lines, and {note} lines with errors between them" in reply.text


@pytest.mark.parametrize(
    ("name", "settings", "count"), [("app.log", {}, 30), ("app.txt", {}, 5000), ("app.log", {"fold": False}, 5000)]
)
def test_short_logs_other_texts_and_unfolded_ones_start_at_the_first_line(tmp_path, name, settings, count):
    (tmp_path / name).write_text(log(count, [20]))
    with Workspace(tmp_path) as workspace:
        reply = workspace.tool("native", **settings).call({"files": name, "budget": 2000})

    shown = line_numbers(reply)
    assert shown == list(range(1, len(shown) + 1))
    assert "a log:" not in reply.text


@pytest.mark.parametrize("files", ["app.log?needle", ".?needle", "*.log?needle"])
def test_a_search_covers_all_lines_of_a_long_log(tmp_path, files):
    lines = log(5000, [700]).split("\n")
    lines[2499] = "a needle"
    (tmp_path / "app.log").write_text("\n".join(lines))
    with Workspace(tmp_path) as workspace:
        reply = workspace.tool("native").call({"files": files, "budget": 1000})

    assert "2500*\ta needle" in reply.text
    assert "a log:" not in reply.text
