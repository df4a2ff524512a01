"""The HTTP server under load for some seconds, and a check that the proof notices a wrong answer.

`make proof` runs the load for ten minutes.
"""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from proof import REPOSITORY
from proof.load.answers import DIALECTS, Wrong, check_window
from proof.load.command import growth
from tests.sizes import size

pytest.importorskip("httptools", reason="the HTTP server needs the extra [http]")

STORM = size(
    short=("--seed=1", "--requests=8", "--fill=1", "--rest=1", "--clients=8", "--processes=1", "--hostile=0.3"),
    long=("--seconds=5", "--rest=3", "--clients=16", "--processes=2", "--hostile=0.15"),
)
linux = pytest.mark.skipif(sys.platform != "linux", reason="the resources of a process are counted in /proc")


def run(*arguments):
    command = [sys.executable, "-m", "proof", "load", *arguments]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[0])


@linux
@pytest.mark.soak
def test_a_short_storm_finds_no_wrong_byte_and_no_growth():
    report = run(*STORM)

    assert report["wrong"] == 0
    assert report["requests"] > report["hostile"] > 0


@linux
@pytest.mark.soak
def test_64_clients_and_two_workers_find_no_wrong_byte_and_no_growth():
    report = run("--seconds", "15", "--workers", "2")

    assert report["wrong"] == 0


LINES = [f"line {n}" for n in range(1, 31)]
ANSWERS = {
    "codex": "L9: line 9\nL10: line 10\nL11: line 11",
    "claude": "     9\tline 9\n    10\tline 10\n    11\tline 11",
    "forge": " 9\tline 9\n10\tline 10\n11\tline 11\n",
    "workspace": "line 9\nline 10\nline 11",
    "native": "a.txt:9-11/30 #1\n9\tline 9\n10\tline 10\n11\tline 11",
}


def result(text):
    return {"content": [{"type": "text", "text": text}], "structuredContent": {"content": text}}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_right_answer_passes_and_one_wrong_byte_does_not(dialect):
    check_window(dialect, LINES, 9, 3, result(ANSWERS[dialect]))

    for right, wrong in (("line 10", "line 1O"), ("line 9", "line 9 "), ("line 11", "line 12")):
        with pytest.raises(Wrong):
            check_window(dialect, LINES, 9, 3, result(ANSWERS[dialect].replace(right, wrong)))


@pytest.mark.parametrize("dialect", [name for name in DIALECTS if name != "workspace"])
def test_a_wrong_line_number_does_not_pass(dialect):
    with pytest.raises(Wrong):
        check_window(dialect, LINES, 9, 3, result(ANSWERS[dialect].replace("10", "12", 1)))


def test_an_error_does_not_pass():
    with pytest.raises(Wrong):
        check_window("codex", LINES, 9, 3, {**result(ANSWERS["codex"]), "isError": True})


AT_REST = {"descriptors": 20, "threads": 9, "children": 1, "rss_bytes": 90 << 20, "children_rss_bytes": 40 << 20}


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
def test_growth_is_reported(changed, found):
    assert growth(AT_REST, {**AT_REST, **changed}, 8) == found
