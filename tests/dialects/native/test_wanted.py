from __future__ import annotations

import pytest

from .answers import line_numbers, shown


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("a.py", list(range(1, 31))),
        ("a.py:10", [10]),
        ("a.py:29-", [29, 30]),
        ("a.py:29-99", [29, 30]),
        ("a.py:-2", [29, 30]),
        ("a.py:2-3,5,4", [2, 3, 4, 5]),
        ("a.py:1-3,20-21,3-4", [1, 2, 3, 4, 20, 21]),
        ("a.py:1,-1", [1, 30]),
        ("a.py:12:3", list(range(7, 18))),
        ("a.py:2:4-3", [2, 3]),
        ("src/lib.py::Harbour.enter", [14, 15]),
        ("src/lib.py::close", [18, 19]),
        ("src/lib.py:close", [18, 19]),
    ],
)
def test_a_selector_shows_the_lines_it_names(call, selector, expected):
    assert line_numbers(call(selector)) == expected


def test_a_cursor_starts_with_its_character(call):
    assert shown(call("a.py:2:4-2").text) == [(2, 4, "e 2")]


def test_a_place_in_a_long_line_is_shown_with_the_characters_around_it(root, call):
    (root / "min.js").write_text("first\n" + "".join(f"{n:07},"[:8] for n in range(5000)) + "\nlast\n")
    reply = call("min.js:2:20001")

    [(number, column, text)] = shown(reply.text)
    assert (number, column, len(text)) == (2, 19501, 1000)
    assert text[500:508] == "0002500,"
    assert "left_out" not in reply.structured


def test_a_column_after_the_end_of_its_line_is_noted(call):
    assert "note: line 3 has 6 characters" in call("a.py:3:50").text
    assert "line 3 has 6 characters" in call("a.py:3:50-3").text


@pytest.mark.parametrize("budget", [50, 60, 70, 80, 100, 120])
def test_a_place_is_in_the_middle_whatever_the_budget(call, budget):
    lines = line_numbers(call("a.py:15:2", budget=budget))

    assert 15 in lines
    assert lines == list(range(30 - lines[-1], lines[-1] + 1))


@pytest.mark.parametrize("budget", [1000, 10_000])
def test_a_place_in_a_long_line_is_in_the_middle_of_its_characters(root, call, budget):
    (root / "min.js").write_text("first\n" + "".join(f"{n:07},"[:8] for n in range(5000)) + "\nlast\n")
    reply = call("min.js:2:20001", budget=budget)

    [(number, column, text)] = shown(reply.text)
    assert number == 2
    assert abs(column + len(text) // 2 - 20001) <= 1
    assert f":2:{column}-2:{column + len(text) - 1}/3 #" in reply.text


def test_several_places_are_each_in_the_answer(call):
    lines = line_numbers(call("a.py:5:1,25:1", budget=70))

    assert {5, 25} <= set(lines)
