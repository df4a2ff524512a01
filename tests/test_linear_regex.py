from __future__ import annotations

import random
import re
import sys

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from eyespan import linear_regex
from eyespan.linear_regex import CHARGED_BYTES, MAX_TABLE_BYTES, Pattern, PatternError
from tests.sizes import examples

atoms = st.sampled_from(
    ["a", "b", "x", ".", "[ab]", "[^a]", "[a-x]", r"\d", r"\w", r"\s", r"\W", r"\b", r"\B", "^", "$", "é", r"\.", " "]
)
repeats = st.sampled_from(["", "", "", "*", "+", "?", "{2}", "{1,3}", "{2,}", "*?", "+?"])
expressions = st.recursive(
    st.lists(st.tuples(atoms, repeats).map("".join), max_size=4).map("".join),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("|".join),
        st.tuples(inner, repeats).map(lambda pair: f"({pair[0]}){pair[1]}"),
        st.tuples(inner, inner).map("".join),
    ),
    max_leaves=6,
)
lines = st.text("abx1. é_AB", min_size=1, max_size=12)  # `\B` does not match an empty text before Python 3.14


@settings(max_examples=examples(1500), deadline=None)
@given(expressions, st.lists(lines, min_size=1, max_size=5), st.booleans())
def test_the_same_lines_match_as_by_backtracking(expression, texts, ignores_case):
    if ignores_case:
        expression = f"(?i){expression}"
    try:
        expected = re.compile(expression)
    except (re.error, OverflowError):
        assume(False)
    try:
        pattern = Pattern(expression)
    except PatternError:
        assume(False)  # `a**` and the like

    assert [pattern.matches(text) for text in texts] == [expected.search(text) is not None for text in texts]


def test_a_negated_class_ignores_case_too():
    assert not Pattern("(?i)[^a]").matches("aA")
    assert Pattern("[^a]").matches("aA")


@given(st.text(max_size=30))
def test_any_text_is_an_expression_or_an_error(text):
    try:
        Pattern(text).matches("some text")
    except PatternError:
        pass


@pytest.mark.parametrize("expression", ["(a+)+b", "(a|aa)*c", "(a?){200}a{200}", "(.*)*(.*)*x", "(a|a|a)*$b"])
def test_expressions_that_backtrack_for_ever_are_matched(expression):
    assert Pattern(expression).matches("a" * 5000) is False or expression.startswith("(a?)")


def test_many_states_do_not_fill_the_memory(monkeypatch):
    monkeypatch.setattr(linear_regex, "MAX_TABLE_BYTES", 1 << 40)  # the number of states is a limit of its own
    pattern = Pattern("a[ab]{14}c")
    text = "".join(random.Random(1).choices("ab", k=5000))

    assert pattern.matches(text) is False
    assert len(pattern._states) <= linear_regex.MAX_STATES


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("[^x][yz]", "".join(map(chr, range(0x4E00, 0x4E00 + 20_000)))),
        ("a[ab]{300}c", "".join(random.Random(2).choices("ab", k=3000))),
    ],
)
def test_states_and_their_tables_are_charged_and_bounded(expression, text):
    charged: list[int] = []
    pattern = Pattern(expression)
    pattern.charge = charged.append

    assert pattern.matches(text) is False
    states = [pattern._first, *pattern._states.values()]
    held_bytes = sum(sys.getsizeof(one.nodes) + sys.getsizeof(one.table) for one in states)
    assert held_bytes <= sum(charged) <= MAX_TABLE_BYTES + CHARGED_BYTES


@pytest.mark.parametrize(
    "expression", ["(?=a)", "(?!a)", "(?<=a)b", r"(a)\1", "(", ")", "[", "a{2000}", "*a", r"\q", "a++"]
)
def test_what_no_automaton_matches_is_an_error(expression):
    with pytest.raises(PatternError):
        Pattern(expression)


@pytest.mark.parametrize(
    ("expression", "literal"), [("def open", "def open"), ("a|b", ""), (r"self\.\w+_name", "self."), ("(?i)abc", "")]
)
def test_a_text_that_every_match_contains_is_known(expression, literal):
    found = Pattern(expression).literal

    assert found == literal or (literal == "self." and found in ("self.", "_name"))
