"""Fit answers into their budget: never an error, never a silent cut; continuations show every character once."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from eyespan import Workspace, tokens
from eyespan.guard.guarded_file import LocalFile
from tests.sizes import examples, size

from .answers import characters, follow, shown

LONG = size(short=400, long=3000)
pieces = st.one_of(
    st.text("abc xyz_(){}", max_size=30),
    st.text("語日本中文🙂éü", max_size=20),
    st.sampled_from(
        [
            "\n",
            "\r\n",
            "\n\n",
            "\r",
            "\t\t",
            "\u2028",
            "\x0c",
            "\u202e",
            "12\tx",
            "note: x",
            "...",
            ">note: x",
            ">",
            "> a:1-1/1 #000000000000",
        ]
    ),
    st.integers(50, LONG).map(lambda n: "endless " * n),
    st.integers(50, LONG).map(lambda n: " " * n),
)
texts = st.lists(pieces, max_size=30).map("".join)


def expected(text, first=1, column=1):
    """Return every character of a text from a place on, by line and column."""
    lines = text.split("\n")
    ends_open = bool(lines[-1])
    if not ends_open:
        lines.pop()
    found = {}
    for number, line in enumerate(lines, 1):
        if number < first:
            continue
        last = number == len(lines) and ends_open
        line = line if last else line.removesuffix("\r")
        start = column if number == first else 1
        for at, character in enumerate(line[start - 1 :], start):
            found[number, at] = character
        if not line[start - 1 :]:
            found[number, 0] = ""
    return found


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return tmp_path_factory.mktemp("budget")


@settings(deadline=None, max_examples=examples(120), suppress_health_check=[HealthCheck.too_slow])
@given(
    texts.filter(len), st.integers(50, 2000), st.sampled_from(["", ":1-", ":2-", ":1:3-", ":-3", ":-100", ":2-4,1-2"])
)
def test_following_the_continuations_shows_every_character_once(directory, text, budget, piece):
    (directory / "f.txt").write_text(text, encoding="utf-8", newline="")
    with Workspace(directory) as workspace:
        rows, _ = follow(workspace.tool("native"), f"f.txt{piece}", budget)

    total = text.count("\n") + (not text.endswith("\n"))
    wanted = expected(text, *{":2-": (2, 1), ":1:3-": (1, 3)}.get(piece, (1, 1)))
    if piece.startswith(":-"):
        wanted = expected(text, max(1, total - int(piece[2:]) + 1))
    elif "," in piece:
        wanted = {place: c for place, c in wanted.items() if place[0] <= 4}
    assert characters(rows) == wanted


@pytest.mark.parametrize("budget", [50, 120, 700, 3000])
def test_following_the_continuations_after_an_outline_shows_every_line_once(tmp_path, budget):
    text = "".join(f"def function_{n}(a):\n    # {'word ' * (n % 40)}\n    return a\n\n" for n in range(60))
    (tmp_path / "f.py").write_text(text)
    with Workspace(tmp_path) as workspace:
        rows, _ = follow(workspace.tool("native"), "f.py", budget)

    assert characters(rows) == expected(text)


@settings(deadline=None, max_examples=examples(60), suppress_health_check=[HealthCheck.too_slow])
@given(texts.filter(len), st.integers(50, 3000))
@example("\u2028" + " " * 116, 50)
def test_an_answer_stays_within_the_budget(directory, text, budget):
    (directory / "f.txt").write_text(text, encoding="utf-8", newline="")
    with Workspace(directory) as workspace:
        reply = workspace.tool("native").call({"files": "f.txt", "budget": budget})

    notes = "\n".join(line for line in reply.text.split("\n") if line.startswith(">note: "))
    beside = max(tokens.estimate(notes), tokens.estimate(notes) + 1)
    assert reply.structured["tokens"] in (tokens.estimate(reply.text), tokens.estimate(reply.text))
    # A few characters are always shown, so the smallest budgets are exceeded by a few tokens of Chinese text.
    assert reply.structured["tokens"] <= max(budget, 55) + beside


def test_a_long_line_that_does_not_fit_is_cut_and_continued(tmp_path):
    (tmp_path / "f.txt").write_text("short\n" + "long " * 2000 + "\nend\n")
    with Workspace(tmp_path) as workspace:
        tool = workspace.tool("native")
        first = tool.call({"files": "f.txt", "budget": 300})
        second = tool.call({"files": first.structured["left_out"], "budget": 300})

    [short, (number, column, text)] = shown(first.text)
    assert short == (1, 1, "short")
    assert (number, column) == (2, 1)
    assert first.structured["left_out"] == [f"f.txt:2:{len(text) + 1}-"]
    assert f"f.txt:1-2:{len(text)}/3 #" in first.text
    assert first.structured["tokens"] > 270
    assert shown(second.text)[0][:2] == (2, len(text) + 1)


def test_a_long_line_within_the_last_lines_is_cut_and_continued(tmp_path):
    text = "".join([f"line {number}\n" for number in range(1, 8)]) + "long " * 2000 + "\nline 9\nline 10\n"
    (tmp_path / "f.txt").write_text(text)
    with Workspace(tmp_path) as workspace:
        tool = workspace.tool("native")
        first = tool.call({"files": "f.txt:-5", "budget": 300})
        rows, waiting = shown(first.text), first.structured["left_out"]
        for _ in range(30):
            if not waiting:
                break
            reply = tool.call({"files": waiting, "budget": 2000})
            rows, waiting = rows + shown(reply.text), reply.structured.get("left_out", [])

    assert [number for number, _, _ in shown(first.text)] == [8, 9, 10]
    assert first.structured["tokens"] > 250
    assert first.structured["left_out"][0].startswith("f.txt:6-7,8:")
    assert characters(rows) == expected(text, first=6)


def test_a_short_line_that_does_not_fit_is_left_to_the_next_call(tmp_path):
    (tmp_path / "f.txt").write_text("some words on a line\n" * 100)
    with Workspace(tmp_path) as workspace:
        reply = workspace.tool("native").call({"files": "f.txt", "budget": 300})

    assert {text for _, _, text in shown(reply.text)} == {"some words on a line"}


def numbered_lines(count):
    return b"".join(b"this is line %d\n" % n for n in range(1, count + 1))


def test_numbers_are_those_of_the_file_wherever_an_answer_is_cut(call_on):
    for selector in ("", ":500-", ":-300", ":10-20,700-"):
        reply = call_on("f.txt", numbered_lines(1000), selector, budget=500)
        rows = shown(reply.text)
        assert len(rows) > 10
        assert all(text == f"this is line {number}" for number, _, text in rows)


def test_the_header_claims_exactly_the_lines_that_are_shown(call_on):
    for budget in (60, 100, 333, 5000):
        reply = call_on("f.txt", numbered_lines(1000), budget=budget)
        rows = shown(reply.text)
        assert reply.text.startswith(f"> f.txt:1-{rows[-1][0]}/1000 #")
        assert reply.structured["left_out"] == [f"f.txt:{rows[-1][0] + 1}-"]


def test_a_cut_line_is_marked_and_continued(call_on):
    reply = call_on("f.txt", b"word " * 4000 + b"\n", budget=200)

    [(number, _, text)] = shown(reply.text)
    assert reply.text.startswith(f"> f.txt:{number}-{number}:{len(text)}/1 #")
    assert reply.structured["left_out"] == [f"f.txt:1:{len(text) + 1}-"]


def test_following_the_continuations_in_a_file_of_one_line_makes_progress(call_on, tool):
    text = "word " * 4000
    call_on("f.txt", text.encode())
    rows, calls = follow(tool, "f.txt", 200)

    assert "".join(piece for _, _, piece in rows) == text
    assert calls < 60


# --- notes -----------------------------------------------------------------------------------------------------------


def test_hard_links_are_noted(root, call):
    os.link(root / "a.py", root / "twin.py")

    assert call("a.py:1").text.endswith(">note: 2 hard links")


def test_a_legacy_encoding_is_detected_and_noted(root, call):
    text = "Größe und Länge der Straße, für übliche Wörter geprüft.\n" * 40
    (root / "f.txt").write_bytes(text.encode("cp1252"))
    reply = call("f.txt")

    assert shown(reply.text)[0][2] == text.splitlines()[0]
    assert " by detected, " in reply.text


def test_a_change_during_the_read_is_noted(root, call, monkeypatch):
    monkeypatch.setattr(LocalFile, "changed", lambda self: True)

    assert ">note: changed while it was read, read it again" in call("a.py:1").text


def test_an_empty_file_an_empty_window_and_a_missing_file_have_different_answers(root, call):
    (root / "empty.txt").write_text("")

    assert call("empty.txt").text == "> empty.txt: the file is empty"
    assert call("empty.txt:5").text == "> empty.txt: the file is empty"
    assert call("empty.txt:-5").text == "> empty.txt: the file is empty"
    assert call("a.py:31-40").text == ">! a.py:31-40: no line 31: the file has 30 lines"
    assert call("a.py:99:1").text == ">! a.py:99: no line 99: the file has 30 lines"
    assert call("none.txt").text == ">! none.txt: no such file"
    assert [call(f).is_error for f in ("empty.txt", "a.py:31-40", "none.txt")] == [False, True, True]


def test_a_start_past_the_end_is_not_called_an_empty_file(call_on):
    reply = call_on("f.txt", b"one\ntwo\n", ":11-")

    assert reply.text == ">! f.txt:11-: no line 11: the file has 2 lines"
    assert "empty" not in reply.text
