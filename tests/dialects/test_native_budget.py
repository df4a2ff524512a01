"""The budget: never an error, never a silent cut; reading on shows every character once."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from native_answers import characters, follow, shown

from eyespan import Workspace, tokens
from sizes import examples

pieces = st.one_of(
    st.text("abc xyz_(){}", max_size=30),
    st.text("語日本中文🙂éü", max_size=20),
    st.sampled_from(["\n", "\r\n", "\n\n", "\r", "\t\t", "\u2028", "\x0c", "\u202e", "12\tx", "note: x", "..."]),
    st.integers(50, 3000).map(lambda n: "endless " * n),
    st.integers(50, 3000).map(lambda n: " " * n),
)
texts = st.lists(pieces, max_size=30).map("".join)


def expected(text, first=1, column=1):
    """Every character of a text from a place on, by line and column."""
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
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("budget")


@settings(deadline=None, max_examples=examples(120), suppress_health_check=[HealthCheck.too_slow])
@given(
    texts.filter(len), st.integers(50, 2000), st.sampled_from(["", ":1-", ":2-", ":1:3-", ":-3", ":-100", ":2-4,1-2"])
)
def test_following_the_continuations_shows_every_character_once(folder, text, budget, piece):
    (folder / "f.txt").write_text(text, encoding="utf-8", newline="")
    with Workspace(folder) as workspace:
        rows, _ = follow(workspace.tool("native"), f"f.txt{piece}", budget)

    total = text.count("\n") + (not text.endswith("\n"))
    wanted = expected(text, *{":2-": (2, 1), ":1:3-": (1, 3)}.get(piece, (1, 1)))
    if piece.startswith(":-"):
        wanted = expected(text, max(1, total - int(piece[2:]) + 1))
    elif "," in piece:
        wanted = {place: c for place, c in wanted.items() if place[0] <= 4}
    assert characters(rows) == wanted


@pytest.mark.parametrize("budget", [50, 120, 700, 3000])
def test_reading_on_behind_an_outline_shows_every_line_once(tmp_path, budget):
    text = "".join(f"def function_{n}(a):\n    # {'word ' * (n % 40)}\n    return a\n\n" for n in range(60))
    (tmp_path / "f.py").write_text(text)
    with Workspace(tmp_path) as workspace:
        rows, _ = follow(workspace.tool("native"), "f.py", budget)

    assert characters(rows) == expected(text)


@settings(deadline=None, max_examples=examples(60), suppress_health_check=[HealthCheck.too_slow])
@given(texts.filter(len), st.integers(50, 3000))
def test_an_answer_stays_within_the_budget(folder, text, budget):
    (folder / "f.txt").write_text(text, encoding="utf-8", newline="")
    with Workspace(folder) as workspace:
        reply = workspace.tool("native").call({"files": "f.txt", "budget": budget})

    beside = tokens.estimate("\n".join(line for line in reply.text.split("\n") if line.startswith("note: ")))
    assert reply.structured["tokens"] == tokens.estimate(reply.text)
    assert reply.structured["tokens"] <= budget + beside


def test_a_line_is_cut_only_where_nothing_else_would_be_shown(tmp_path):
    (tmp_path / "f.txt").write_text("short\n" + "long " * 2000 + "\nend\n")
    with Workspace(tmp_path) as workspace:
        tool = workspace.tool("native")
        first = tool.call({"files": "f.txt", "budget": 300})
        second = tool.call({"files": first.structured["left_out"], "budget": 300})

    assert shown(first.text) == [(1, 1, "short")]
    assert first.structured["left_out"] == ["f.txt:2-"]
    [(number, column, text)] = shown(second.text)
    assert (number, column) == (2, 1)
    assert second.structured["left_out"] == [f"f.txt:2:{len(text) + 1}-"]
    assert f"f.txt:2-2:{len(text)}/3 #" in second.text


def test_a_line_of_200_megabytes_and_a_file_of_a_gigabyte_answer_from_what_they_show(tmp_path, monkeypatch):
    with (tmp_path / "line.txt").open("wb") as file:
        file.write(b"x y " * (50 << 20))
    with (tmp_path / "big.txt").open("wb") as file:
        file.write(b"line\n" * 1_000_000)
        file.truncate(1 << 30)
    from eyespan.guard.source import LocalFile

    seen = []
    whole = LocalFile.read_at
    monkeypatch.setattr(LocalFile, "read_at", lambda self, at, size: seen.append(size) or whole(self, at, size))
    with Workspace(tmp_path) as workspace:
        tool = workspace.tool("native")
        for name in ("line.txt", "big.txt"):
            reply = tool.call({"files": name, "budget": 1000})
            assert reply.structured["left_out"][0].startswith(name)
            assert not reply.is_error

    # Eight megabytes each are looked through for the first byte that is not ASCII; no more of them is read.
    assert sum(seen) < 40 << 20


def test_several_files_share_one_budget_and_small_ones_come_whole(tmp_path):
    (tmp_path / "small.txt").write_text("one\ntwo\n")
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("".join(f"{name} line {n}\n" for n in range(1, 2000)))
    with Workspace(tmp_path) as workspace:
        reply = workspace.tool("native").call({"files": ["a.txt", "small.txt", "b.txt"], "budget": 1000})

    a, small, b = reply.structured["parts"]
    assert small["next"] is None
    assert (small["selector"], small["total_lines"]) == ("small.txt:1-2", 2)
    assert 0.8 < a["tokens"] / b["tokens"] < 1.25
    assert reply.structured["left_out"] == [a["next"], b["next"]]
    assert 800 < reply.structured["tokens"] <= 1000


def test_files_for_which_there_is_no_room_are_named(tmp_path):
    names = [f"file{n}.txt" for n in range(20)]
    for name in names:
        (tmp_path / name).write_text("some words on a line\n" * 100)
    with Workspace(tmp_path) as workspace:
        tool = workspace.tool("native")
        reply = tool.call({"files": names, "budget": 300})
        left = reply.structured["left_out"]

    assert left[-1] == "file19.txt"
    assert {name.partition(":")[0] for name in left} == set(names)
    assert reply.text.endswith("\n".join(left))


def test_a_budget_below_the_least_is_raised_and_one_above_the_highest_lowered(tmp_path):
    (tmp_path / "f.txt").write_text("x\n")
    with Workspace(tmp_path) as workspace:
        tool = workspace.tool("native")

        assert tool.call({"files": "f.txt", "budget": 3}).structured["budget"] == 50
        assert tool.call({"files": "f.txt", "budget": 10**9}).structured["budget"] == 200_000
