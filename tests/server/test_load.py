"""The HTTP server under load, for a few seconds; `make soak` does it for ten minutes. And that the judge can judge."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mcp", reason="the HTTP door needs the extra [mcp]")

TOOL = Path(__file__).parents[2] / "tools" / "load.py"
spec = importlib.util.spec_from_file_location("load", TOOL)
load = importlib.util.module_from_spec(spec)
spec.loader.exec_module(load)

linux = pytest.mark.skipif(sys.platform != "linux", reason="what a process holds is counted in /proc")


def run(*arguments):
    done = subprocess.run([sys.executable, str(TOOL), *arguments], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[0])


@linux
def test_no_wrong_byte_and_no_growth_in_a_short_storm():
    told = run("--seconds", "5", "--clients", "16", "--processes", "2", "--hostile", "0.15", "--rest", "3")

    assert told["wrong"] == 0
    assert told["requests"] > told["hostile"] > 0


@linux
@pytest.mark.soak
def test_no_wrong_byte_and_no_growth_with_64_clients_and_two_workers():
    told = run("--seconds", "15", "--workers", "2")

    assert told["wrong"] == 0


# --- the judge --------------------------------------------------------------------------------------------------------

LINES = [f"line {n}" for n in range(1, 31)]
ANSWERS = {
    "codex": "L9: line 9\nL10: line 10\nL11: line 11",
    "claude": "     9\tline 9\n    10\tline 10\n    11\tline 11",
    "forge": " 9\tline 9\n10\tline 10\n11\tline 11\n",
    "workspace": "line 9\nline 10\nline 11",
    "native": "a.txt:9-11/30 #1\n9\tline 9\n10\tline 10\n\tline 11",
}


def result(text):
    return {"content": [{"type": "text", "text": text}], "structuredContent": {"content": text}}


@pytest.mark.parametrize("dialect", load.DIALECTS)
def test_the_right_answer_passes_and_one_wrong_byte_does_not(dialect):
    load.check_window(dialect, LINES, 9, 3, result(ANSWERS[dialect]))

    for right, wrong in (("line 10", "line 1O"), ("line 9", "line 9 "), ("line 11", "line 12")):
        with pytest.raises(load.Wrong):
            load.check_window(dialect, LINES, 9, 3, result(ANSWERS[dialect].replace(right, wrong)))


@pytest.mark.parametrize("dialect", [name for name in load.DIALECTS if name != "workspace"])
def test_a_wrong_number_does_not_pass(dialect):
    with pytest.raises(load.Wrong):
        load.check_window(dialect, LINES, 9, 3, result(ANSWERS[dialect].replace("10", "12", 1)))


def test_an_error_is_no_answer():
    with pytest.raises(load.Wrong):
        load.check_window("codex", LINES, 9, 3, {**result(ANSWERS["codex"]), "isError": True})


REST = {"descriptors": 20, "threads": 9, "children": 1, "rss_bytes": 90 << 20, "children_rss_bytes": 40 << 20}


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        ({}, []),
        ({"threads": 13, "rss_bytes": 99 << 20}, []),
        ({"descriptors": 21}, ["descriptors grew from 20 to 21"]),
        ({"threads": 14}, ["threads grew from 9 to 14"]),
        ({"children": 2}, ["processes grew from 1 to 2"]),
        ({"rss_bytes": 120 << 20}, ["rss_bytes grew from 90 to 120 MiB"]),
        ({"children_rss_bytes": 70 << 20}, ["children_rss_bytes grew from 40 to 70 MiB"]),
    ],
)
def test_growth_is_told(changed, found):
    assert load.broken(REST, {**REST, **changed}, 8) == found
