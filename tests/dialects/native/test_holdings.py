from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eyespan import Workspace
from eyespan.dialects.native.holdings import HeldRun, Holdings, ShownPart, as_hash, hash_row, held_rows
from eyespan.dialects.native.rows import Row
from eyespan.selectors import Target

from .answers import line_numbers, shown

TARGET = Target("a.py")


def rows_of(texts, first=1):
    return [Row(number, 1, text) for number, text in enumerate(texts, first)]


def held_in(old, new):
    """Return the lines of a new version that a caller of the old one holds: number, former number, text."""
    before = {row.number: hash_row(row, row.text) for row in rows_of(old)}
    rows = rows_of(new)
    return [
        (rows[at].number, rows[at].number + run.shift, rows[at].text)
        for run in held_rows(rows, new, before)
        for at in range(run.start, run.end)
    ]


LINES = st.lists(st.sampled_from(["", "a", "b", "c", "}", *[f"line {n}" for n in range(12)]]), max_size=30)


@given(LINES, LINES)
def test_every_held_line_was_shown_with_that_text(old, new):
    for _, before, text in held_in(old, new):
        assert old[before - 1] == text


TEXTS = [f"line {n}" for n in range(1, 21)]


@pytest.mark.parametrize(
    ("new", "runs"),
    [
        (TEXTS, [HeldRun(0, 20)]),
        ([*TEXTS[:3], "new", *TEXTS[4:]], [HeldRun(0, 3), HeldRun(4, 20)]),
        ([*TEXTS[:3], "new", "newer", *TEXTS[3:]], [HeldRun(0, 3), HeldRun(5, 22, -2)]),
        ([*TEXTS[:3], *TEXTS[5:]], [HeldRun(0, 3), HeldRun(3, 18, 2)]),
        (TEXTS[17:], []),
    ],
)
def test_lines_are_held_at_their_place_or_moved_as_a_block(new, runs):
    held = {row.number: hash_row(row, row.text) for row in rows_of(TEXTS)}

    assert held_rows(rows_of(new), new, held) == runs


def test_another_line_end_is_another_line():
    held = {1: hash_row(Row(1, 1, "a"), "a")}

    assert held_rows([Row(1, 1, "a", has_cr=True)], ["a"], held) == []


def test_the_oldest_parts_are_dropped():
    memory = Holdings(max_bytes=16 * 25)
    for name in "abc":
        memory.add(name, "1", ShownPart.of(TARGET, rows_of(TEXTS[:10]), TEXTS[:10]))

    assert [len(memory.lines(name)) for name in "abc"] == [0, 10, 10]


@pytest.mark.parametrize(
    ("value", "known"),
    [
        ("482913758201", "482913758201"),
        ("#000000000007", "000000000007"),
        (7, "000000000007"),
        ("abc", None),
        (-1, None),
        (1.5, None),
        (True, None),
        ("1" * 13, None),
    ],
)
def test_a_hash_is_accepted_in_several_spellings(value, known):
    assert as_hash(value) == known


# --- in answers ------------------------------------------------------------------------------------------------------


def test_what_the_caller_has_already_is_one_line(call):
    first = call("a.py")
    value = first.structured["parts"][0]["hash"]

    again = call("a.py", known=[value])

    assert again.text == f"> a.py:1-30/30 #{value} unchanged"
    assert again.structured["parts"][0]["unchanged"] is True
    assert call("a.py", known=[f"#{value}"]) == again
    assert call("a.py", known=[int(value)]) == again


def test_a_hash_is_of_the_file_the_window_and_the_content(root, call):
    (root / "b.py").write_bytes((root / "a.py").read_bytes())
    values = [call(selector).structured["parts"][0]["hash"] for selector in ("a.py", "b.py", "a.py:1-29", "a.py:2-")]

    assert len(set(values)) == 4
    assert call("a.py").structured["parts"][0]["hash"] == values[0]
    with Workspace(root) as other:
        assert other.tool("native").call({"files": "a.py"}).structured["parts"][0]["hash"] == values[0]


def test_of_a_changed_file_only_the_changed_lines_are_sent(root, call):
    value = call("a.py").structured["parts"][0]["hash"]
    text = (root / "a.py").read_text().replace("line 7\n", "line seven\n").replace("line 20\n", "")
    (root / "a.py").write_text(text)

    reply = call("a.py", known=[value])

    assert reply.text.split("\n")[1:] == [">= 1-6", "7\tline seven", ">= 8-19", ">= 20-29 shown as 21-30"]
    assert call("a.py", known=[value], fresh=True).text == call("a.py").text


def test_without_the_old_version_in_the_cache_only_the_hint_is_missing(root, call):
    value = call("a.py").structured["parts"][0]["hash"]
    (root / "a.py").write_text("new\n")
    with Workspace(root) as other:
        fresh = other.tool("native").call({"files": "a.py", "known": [value]})

    assert fresh.text == call("a.py").text
    assert call("a.py", known=[value]).text.startswith(fresh.text)


def test_a_caller_with_the_beginning_gets_the_rest(root, call):
    first = call("a.py", budget=100)
    part = first.structured["parts"][0]
    assert part["next"] is not None

    second = call("a.py", known=[part["hash"]])

    held = line_numbers(first)
    assert second.text.split("\n")[1] == f">= 1-{held[-1]}"
    assert held + line_numbers(second) == list(range(1, 31))


def test_a_known_part_with_its_lines_needs_no_memory(root, call):
    value = call("a.py:5-25").structured["parts"][0]["hash"]
    with Workspace(root) as other:
        reply = other.tool("native").call({"files": "a.py:20-28", "known": [f"a.py:5-25/30 #{value}"]})

    assert reply.text.split("\n")[1:] == [">= 20-25", "26\tline 26", "27\tline 27", "28\tline 28"]


# --- remember --------------------------------------------------------------------------------------------------------


@pytest.fixture
def remembering(root):
    with Workspace(root) as workspace:
        tool = workspace.tool("native", remember=True)
        yield lambda files, **more: tool.call({"files": files, **more})


def test_a_part_within_a_shown_part_is_one_line(remembering):
    remembering("a.py:5-25")

    reply = remembering("a.py:10-20")

    assert reply.text == f"> a.py:10-20/30 #{reply.structured['parts'][0]['hash']} unchanged"
    assert reply.structured["parts"][0]["unchanged"] is True
    assert line_numbers(remembering("a.py:10-20", fresh=True)) == list(range(10, 21))


def test_of_an_overlapping_part_only_the_new_lines_are_sent(remembering):
    remembering("a.py:5-10")
    remembering("a.py:20-22")

    reply = remembering("a.py:8-24")

    assert reply.text.split("\n")[1] == ">= 8-10"
    assert line_numbers(reply) == [*range(11, 20), 23, 24]
    assert reply.structured["parts"][0]["held"] == "a.py:8-10,20-22"


def test_two_tools_remember_apart(root, remembering):
    remembering("a.py")
    with Workspace(root) as workspace:
        other = workspace.tool("native", remember=True)

        assert line_numbers(other.call({"files": "a.py"})) == list(range(1, 31))


EDITS = st.lists(
    st.tuples(
        st.sampled_from(["insert", "delete", "change"]), st.integers(0, 40), st.sampled_from(["", "x", "line 3", "}"])
    ),
    max_size=4,
)
READS = st.lists(st.tuples(st.integers(1, 30), st.integers(1, 40), st.sampled_from([60, 200, 10_000])), max_size=4)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.lists(st.tuples(EDITS, READS), min_size=1, max_size=4))
def test_what_is_shown_and_held_is_always_the_file(tmp_path, steps):
    """A caller that keeps every line it was shown has the text of the file, whatever is edited between the reads."""
    lines = [f"line {n}" for n in range(1, 31)]
    view = {}
    with Workspace(tmp_path) as workspace:
        tool = workspace.tool("native", remember=True)
        for edits, reads in steps:
            for kind, at, text in edits:
                at = min(at, len(lines))
                lines[at : at + (kind != "insert")] = [] if kind == "delete" else [text]
            lines = lines or ["only"]
            (tmp_path / "a.py").write_text("".join(f"{line}\n" for line in lines))
            for first, count, budget in reads:
                reply = tool.call({"files": f"a.py:{first}-{first + count}", "budget": budget})
                if reply.is_error:
                    assert first > len(lines)
                    continue
                answer = reply.text.split("\n")
                asked = set(range(first, min(first + count, len(lines)) + 1))
                for selector in reply.structured.get("left_out", []):
                    start, _, end = selector.rpartition(":")[2].partition("-")
                    asked -= set(range(int(start), int(end or start) + 1))
                now = dict(view)
                for line in answer:
                    if line.startswith(">= "):
                        new, _, old = line[3:].partition(" shown as ")
                        start, _, end = new.partition("-")
                        before = int((old or new).partition("-")[0])
                        for number in range(int(start), int(end or start) + 1):
                            now[number] = view[number - int(start) + before]
                for number, _, text in shown(reply.text) if "unchanged" not in answer[0] else []:
                    now[number] = text
                view = now
                assert {number: view.get(number) for number in asked} == {number: lines[number - 1] for number in asked}


def test_a_caller_with_all_that_one_call_can_read_gets_what_follows(root, call):
    (root / "long.txt").write_text("".join(f"{n}\n" for n in range(40_000)))
    first = call("long.txt", budget=2000)
    held = first.structured["parts"][0]["hash"]

    second = call("long.txt", budget=2000, known=[held])

    assert line_numbers(second)[0] == line_numbers(first)[-1] + 1
