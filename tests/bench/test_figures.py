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
        "file": {
            "title": "first 2,000 lines",
            "contestants": {
                "eyespan": entry("eyespan", 0.05),
                "slow-peer (python)": entry("peer", 0.2, numbered=True),
                "wrong <peer> (MCP)": entry("peer", 0.001, ok=False),
                "coreutils": entry("command", 2.0),
            },
        },
        "many": {
            "title": "1,000 small files",
            "contestants": {
                "eyespan": entry("eyespan", 12),
                "eyespan serve (MCP)": entry("eyespan", 120),
                "few lines of Python": entry("floor", 13),
                "slow-peer (python)": entry("peer", 24),
                "quick-peer (MCP)": entry("peer", 100),
                "wrong <peer> (MCP)": entry("peer", 1, ok=False),
            },
        },
        "start": {"title": "start", "contestants": {"eyespan serve (MCP)": entry("eyespan", 50, peak_mb=25)}},
        "tail": {
            "title": "last 200 lines",
            "contestants": {"eyespan": entry("eyespan", 110), "bare pread": entry("floor", 100)},
        },
    }
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
        "load_before": 0.1,
        "quick": False,
        "passes": 1,
        "seconds": 100,
        "isolated": True,
        "peers": {"slow-peer": {"version": "2", "missing": ""}, "gone": {"version": "3", "missing": "no network"}},
        "missing": {},
        "goals": goals.judge(rows, is_quick=False),
        "rows": rows,
    }


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
    judged = [(goal["row"], goal["measured"], goal["held"], goal["against"]) for goal in results()["goals"]]

    assert judged == [
        ("many", 0.9231, True, "few lines of Python"),
        ("many", 1.2, False, "quick-peer (MCP)"),
        ("shell", None, None, "python -c pass"),
        ("start", 25.0, False, "eyespan serve (MCP)"),
        ("window", None, None, "bare pread"),
        ("tail", 1.1, True, "bare pread"),
    ]


def test_a_quick_run_does_not_judge_large_files():
    assert {goal["row"] for goal in goals.judge(results()["rows"], is_quick=True)} == {"many", "shell", "start"}


def test_wrong_answers_of_eyespan_are_named():
    found = results()
    found["rows"]["tail"]["contestants"]["eyespan"] = entry("eyespan", 1, ok=False)

    assert "WRONG  tail, eyespan: wrong: no lines of the file" in report.summary(found).split("\n")


def test_the_chart_is_well_formed_and_follows_the_colour_scheme():
    drawn = report.chart(results())

    assert ElementTree.fromstring(drawn).tag.endswith("svg")
    assert "prefers-color-scheme: dark" in drawn
    assert "wrong &lt;peer&gt; (MCP)" in drawn
