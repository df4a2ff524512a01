"""The summary of an audit log."""

from __future__ import annotations

import json

import pytest

from eyespan.cli.main import main

CALLS = [
    ("judge/1", "hello.txt", "read", None),
    ("judge/1", "hello.txt", "read", None),
    ("judge/1", "hello.txt", "read", None),
    ("judge/1", "src/app.py", "read", None),
    ("judge/1", ".env", "refused", "**/.env"),
]
START = {"time": "2026-11-15T10:00:00.000Z", "event": "start", "sandbox": "off"}


def line(caller, path, verdict, rule=None):
    return {
        "time": "2026-11-15T10:00:00.000Z",
        "caller": caller,
        "dialect": "claude",
        "path": path,
        "canonical": None,
        "rule": rule,
        "bytes": 12,
        "verdict": verdict,
        "code": None,
        "ms": 1.0,
    }


@pytest.fixture
def log(tmp_path):
    """Return a function that writes a log and returns its path."""

    def write(*lines):
        path = tmp_path / "audit.jsonl"
        path.write_text("".join(text if isinstance(text, str) else json.dumps(text) + "\n" for text in lines))
        return str(path)

    return write


@pytest.fixture
def summary(capsys):
    """Return a function that runs `eyespan audit` and returns its output."""

    def run(*words):
        assert main(["audit", *words]) == 0
        return capsys.readouterr().out

    return run


def test_the_summary_counts_reads_and_refusals_by_file_and_caller(log, summary):
    text = summary(log(*(line(*call) for call in CALLS), "no audit line\n"))

    assert text.startswith("5 calls from 2026-11-15 10:00:00 to 2026-11-15 10:00:00 UTC\n4 read (60 B), 1 refused, ")
    most_read = text[text.index("Most read") :].splitlines()
    assert most_read[1] == "      3       36 B  hello.txt"
    assert "      1  .env  (rule **/.env)\n" in text
    assert "      5  judge/1: 4 read, 1 refused\n" in text
    assert text.endswith("1 lines are not audit lines.\n")


def test_the_summary_as_json_has_the_same_counts(log, summary):
    found = json.loads(summary(log(*(line(*call) for call in CALLS)), "--json"))

    assert (found["calls"], found["verdicts"]) == (5, {"read": 4, "refused": 1})


def test_refused_calls_can_be_listed(log, summary):
    path = log(*(line(*call) for call in CALLS))

    assert summary(path, "--refused") == "2026-11-15T10:00:00.000Z  judge/1  .env  rule **/.env\n"


def test_callers_can_be_selected(log, summary):
    path = log(line("codex/1", "a", "read"), line("claude/2", "b", "read"))

    assert summary(path, "--caller", "codex").startswith("1 calls ")
    assert summary(path, "--caller=other").startswith("No calls.")


def test_rotated_files_are_counted_too(log, summary):
    path = log(line("a", "a", "read"))
    with open(f"{path}.2", "w") as file:
        file.write(json.dumps(line("a", "b", "read")) + "\n")

    assert summary(path).startswith("2 calls ")


def test_starts_without_the_sandbox_are_reported(log, summary):
    alone = summary(log(START, START, "[1]\n"))
    with_call = log(START, line("a", "a", "read"))

    assert alone.splitlines() == [
        "No calls. 1 lines are not audit lines.",
        "! started 2 times without the sandbox (--no-sandbox), last at 2026-11-15 10:00:00 UTC",
    ]
    assert "! started once without the sandbox (--no-sandbox)" in summary(with_call)
    assert json.loads(summary(with_call, "--json"))["starts_without_sandbox"] == 1


def test_a_name_in_the_log_cannot_move_the_cursor(log, summary):
    path = log(line("x\x1b[2J", "a\nb\x1b]0;x", "read"))

    assert "\x1b" not in summary(path)


@pytest.mark.parametrize(("words", "status"), [([], 2), (["--bad"], 2), (["/nowhere/at/all"], 1), (["--help"], 0)])
def test_wrong_usage_is_2_and_a_missing_file_1(words, status, capsys):
    assert main(["audit", *words]) == status


@pytest.mark.parametrize("text", ["9" * 5000, "[" * 100_000, json.dumps(line("a", "b", "read")).replace("12", "1e999")])
def test_a_line_that_no_server_wrote_is_counted_as_such(log, summary, text):
    assert summary(log(line("a", "b", "read"), f"{text}\n")).endswith("1 lines are not audit lines.\n")
