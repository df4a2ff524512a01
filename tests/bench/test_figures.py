"""Every figure in docs/benchmarks.md is in the committed results."""

import json
from xml.etree import ElementTree

import goals
import pytest
import readme
import report


def entry(role, median_ms, *, ok=True, peak_mb=10.0, outcome=None, numbered=False):
    return {
        "role": role,
        "version": "",
        "ok": ok,
        "outcome": outcome or ("ok" if ok else "wrong: no lines of the file"),
        "calls": 60 if ok else 0,
        "median_ms": median_ms,
        "p99_ms": None,
        "best_ms": median_ms,
        "peak_mb": peak_mb,
        "chars": 100,
        "numbered": numbered,
    }


def results():
    rows = {
        "W1": {
            "title": "first 2,000 lines",
            "contestants": {
                "eyespan": entry("eyespan", 0.05),
                "bare read, numbered in C": entry("floor", 0.03),
                "slow-peer (python)": entry("peer", 0.2, numbered=True),
                "wrong <peer> (MCP)": entry("peer", 0.001, ok=False),
                "coreutils": entry("command", 2.0),
            },
        },
        "W5": {
            "title": "1,000 small files",
            "contestants": {"eyespan": entry("eyespan", 12, peak_mb=40), "bare system calls": entry("floor", 3.5)},
        },
    }
    judged, factor = goals.judge(rows, 10**9)
    return {
        "eyespan": {"version": "1", "commit": "abc"},
        "date": "2026-01-01",
        "machine": {
            "processor": "A & B",
            "cores": 2,
            "memory_gb": 8,
            "system": "Linux 6",
            "python": "3.11.7",
            "node": None,
            "coreutils": "9.1",
        },
        "machine_factor": factor,
        "load_before": 0.1,
        "quick": False,
        "passes": 1,
        "seconds": 100,
        "isolated": True,
        "peers": {"slow-peer": {"version": "2", "missing": ""}, "gone": {"version": "3", "missing": "no network"}},
        "missing": {},
        "goals": judged,
        "rows": rows,
    }


def held(found, row, start):
    return next(goal["held"] for goal in found["goals"] if goal["row"] == row and goal["goal"].startswith(start))


def test_the_readme_shows_the_committed_results():
    if not readme.RESULTS.exists():
        text = readme.README.read_text()
        assert readme.START not in text or not readme.section(text), "figures, and no bench/results.json"
        return
    committed = json.loads(readme.RESULTS.read_text())

    assert not committed["quick"], "bench/results.json is of a quick run"
    assert readme.section(readme.README.read_text()) == readme.render(committed), "run python bench/readme.py"


def test_the_table_and_the_chart_show_the_committed_results():
    if not readme.RESULTS.exists():
        assert not (readme.HERE / "chart.svg").exists()
        return
    committed = json.loads(readme.RESULTS.read_text())

    assert (readme.HERE / "RESULTS.md").read_text() == report.markdown(committed)
    assert (readme.HERE / "chart.svg").read_text() == report.chart(committed)


def test_a_readme_without_markers_is_an_error():
    with pytest.raises(readme.NoMarkersError, match="bench:start"):
        readme.section("# eyespan\n")


def test_only_the_text_between_the_markers_is_replaced():
    text = f"before\n{readme.START}\nold 1.23 ms\n{readme.END}\nafter\n"

    changed = readme.with_section(text, "new")

    assert changed == f"before\n{readme.START}\nnew\n{readme.END}\nafter\n"
    assert readme.section(changed) == "new"


def test_a_fast_wrong_answer_is_not_compared():
    shown = readme.render(results())

    assert "slow-peer (python): 0.200 ms, 10 MB" in shown
    assert "1 of 2" in shown
    assert "0.001" not in shown
    assert "Missing: gone." in shown


def test_goals_compare_medians_of_the_same_run():
    found = results()

    assert held(found, "W1", "eyespan: 2 times the bare read") is True
    assert held(found, "W1", "5 times faster than every peer") is False
    assert held(found, "W5", "3 times the bare system calls") is False
    assert held(found, "memory", "W5: at most 32 MB") is False
    assert held(found, "W2", "1.25 times") is None


def test_missed_goals_are_named():
    shown = report.markdown(results())

    assert "Missed, and why:" in shown
    assert "- W1, 5 times faster than every peer that numbers lines: 4.00 times faster" in shown


def test_the_chart_is_well_formed_and_follows_the_colour_scheme():
    drawn = report.chart(results())

    assert ElementTree.fromstring(drawn).tag.endswith("svg")
    assert "prefers-color-scheme: dark" in drawn
    assert "wrong &lt;peer&gt; (MCP)" in drawn
