"""Fold texts: shown lines and gaps are the whole text, within the share; what is hidden can be read by its selector."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eyespan import Workspace, tokens
from eyespan.dialects.native.fold import fold
from eyespan.dialects.native.rows import Row
from eyespan.dialects.pieces import MAX_ENCLOSING_LINES
from eyespan.outline import outline_here
from tests.sizes import examples

from .answers import characters, follow, line_numbers

METHODS = st.lists(st.integers(1, 30), min_size=0, max_size=25)


def source(methods, before=0):
    """Return a module: lines before a class, and its methods, each with so many lines of a body."""
    lines = [f"NAME_{n} = {n}" for n in range(before)]
    lines += ["class Harbour:", '    """Ships come and go."""', "", "    berths = 3", ""]
    for at, count in enumerate(methods):
        lines += [f"    def method_{at}(self, ship: str) -> int:"]
        lines += [f"        self.value_{n} = ship + {n}" for n in range(count)]
        lines += [""]
    return "\n".join([*lines, "def after():", "    return 1", ""])


@given(METHODS, st.integers(1, 1500), st.lists(st.integers(1, 300), max_size=2))
def test_shown_lines_and_gaps_are_the_whole_text(methods, max_tokens, kept):
    text = source(methods)
    rows = [Row(number, 1, line) for number, line in enumerate(text.split("\n")[:-1], 1)]
    costs = [tokens.estimate(f"{row.number}\t{row.text}") + 1 for row in rows]

    is_shown, gaps = fold(rows, costs, outline_here(text.encode(), "a.py").symbols, max_tokens, kept)

    shown = [row.number for row, shows in zip(rows, is_shown, strict=True) if shows]
    hidden = [number for gap in gaps for number in range(gap.first, gap.last + 1)]
    assert sorted(shown + hidden) == [row.number for row in rows]
    assert {number for number in kept if number <= len(rows)} <= set(shown)
    if not kept:
        spent = sum(cost for cost, shows in zip(costs, is_shown, strict=True) if shows)
        spent += sum(tokens.estimate(gap.line()) for gap in gaps)
        assert spent <= max_tokens or shown[3:] == []


def test_gaps_name_what_they_hide(tmp_path):
    (tmp_path / "a.py").write_text(source([60] * 3))
    with Workspace(tmp_path) as workspace:
        reply = workspace.tool("native").call({"files": "a.py::Harbour"})

    lines = reply.text.split("\n")
    assert lines[0].startswith("> a.py::Harbour 1-")
    assert lines[-1].endswith(" def method_2(self, ship: str) -> int")
    assert lines[-1].startswith(">… 130-")
    assert reply.structured["left_out"] == [reply.structured["parts"][0]["next"]]
    assert reply.structured["left_out"][0] == f"a.py:{line_numbers(reply)[-1] + 1}-190"


@pytest.mark.parametrize(("selector", "least", "most"), [("::Harbour", 100, 210), ("::after", 400, 510)])
def test_more_is_shown_of_a_long_function_than_of_a_long_class(tmp_path, selector, least, most):
    body = "".join([f"    value_{n} = compute({n})\n" for n in range(300)])
    (tmp_path / "a.py").write_text(f"{source([60] * 3)}\n{body}")
    with Workspace(tmp_path) as workspace:
        reply = workspace.tool("native").call({"files": f"a.py{selector}"})

    assert least < tokens.estimate(reply.text) < most


@pytest.mark.parametrize("more", [{"budget": 100_000}, {}])
def test_a_budget_and_lines_are_never_folded_below_it(tmp_path, more):
    (tmp_path / "a.py").write_text(source([40] * 6))
    with Workspace(tmp_path) as workspace:
        tool = workspace.tool("native")
        whole = tool.call({"files": "a.py:1-257" if not more else "a.py::Harbour", **more})

    assert line_numbers(whole) == list(range(1, 258 if not more else 257))


def test_the_line_that_was_asked_for_is_not_hidden(tmp_path):
    (tmp_path / "a.py").write_text("def f():\n" + "".join(f"    value_{n} = {n} + {n}\n" for n in range(400)))
    with Workspace(tmp_path) as workspace:
        reply = workspace.tool("native").call({"files": "a.py:300::"})

    assert set(range(292, 309)) <= set(line_numbers(reply))
    assert 200 not in line_numbers(reply)


@settings(deadline=None, max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    METHODS.filter(len),
    st.sampled_from(["", "::Harbour", "::method_0", ":8::"]),
    st.sampled_from([80, 300, 2000, None]),
    st.booleans(),
)
def test_following_what_is_hidden_shows_every_line_once(tmp_path, methods, selector, budget, folds):
    text = source(methods, before=3)
    (tmp_path / "a.py").write_text(text)
    lines = text.split("\n")[:-1]
    with Workspace(tmp_path) as workspace:
        tool = workspace.tool("native", fold=folds)
        rows, _ = follow(tool, f"a.py{selector}", budget)

    end = len(lines) - 2
    wanted = {
        "": range(1, len(lines) + 1),
        "::Harbour": range(4, end if not lines[end - 1] else end + 1),
        "::method_0": range(9, 10 + methods[0]),
        ":8::": range(4, end if not lines[end - 1] else end + 1),
    }[selector]
    if selector == ":8::" and len(wanted) > MAX_ENCLOSING_LINES:
        wanted = range(3, 14)  # the lines nearby, and a note
    assert {number for number, _ in characters(rows)} == set(wanted)
