from __future__ import annotations

import random
import re

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from eyespan.regex import MAX_STEPS, Pattern, PatternError
from tests.sizes import examples

atoms = st.sampled_from(
    ["a", "b", "x", ".", "[ab]", "[^a]", "[a-x]", r"\d", r"\w", r"\s", r"\W", r"\b", "^", "$", r"\A", r"\Z", "é", r"\."]
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
lines = st.text("abx1. é_AB\u2028", max_size=12)


def matching(pattern: Pattern, data: bytes) -> list[int]:
    return [number for number, _ in pattern.matching_lines(data)]


@settings(max_examples=examples(1500), deadline=None)
@given(
    expressions, st.lists(lines, min_size=1, max_size=5), st.booleans(), st.sampled_from(["\n", "\r\n"]), st.booleans()
)
def test_the_same_lines_match_as_by_backtracking(expression, texts, ignores_case, end, is_ended):
    if ignores_case:
        expression = f"(?i){expression}"
    try:
        expected = re.compile(expression, re.ASCII)
    except (re.error, OverflowError):
        assume(False)
    assume(is_ended or texts[-1])  # nothing after the last line feed is no line
    assume(not ignores_case or "é" not in expression)  # with re.ASCII, case is that of ASCII
    try:
        pattern = Pattern(expression)
    except PatternError:
        assume(False)  # `a**` and the like

    found = list(pattern.matching_lines((end.join(texts) + end * is_ended).encode()))

    assert found == [(at, len(text.encode())) for at, text in enumerate(texts) if expected.search(text)]


@pytest.mark.parametrize("expression", ["(?i)ÉTÉ", "(?i)é", "é", r"\pL\b|\p{Lu}", "."])
def test_letters_beyond_ascii_match_in_both_cases(expression):
    assert matching(Pattern(expression), "été".encode()) == [0]


def test_bytes_that_are_no_text_match_as_one_character_each():
    assert matching(Pattern("a.b"), b"a\xffb\na\xff\xfeb\n") == [0]


def test_no_match_leaves_its_line():
    data = b"a\nb\n"

    assert [matching(Pattern(one), data) for one in (r"a\sb", "(?s)a.b", "a[^c]b", "a\nb", r"a\W")] == [[]] * 5


@given(st.text(max_size=30))
def test_any_text_is_an_expression_or_an_error(text):
    try:
        matching(Pattern(text), b"some text")
    except PatternError:
        assert matching(Pattern(text, is_literal=True), f"a\n{text}".encode("utf-8", "replace")) == (
            [] if "\n" in text else [1]
        )


@pytest.mark.parametrize("expression", ["(a+)+b", "(a|aa)*c", "(.*)*(.*)*x", "(a|a|a)*$b", "a[ab]{300}c"])
def test_expressions_that_backtrack_for_ever_are_matched(expression):
    data = "".join(random.Random(1).choices("ab", k=3000)).encode() + b"\n" + b"a" * 5000

    assert 1 not in matching(Pattern(expression), data)


def test_a_large_expression_gets_less_text_at_once():
    small, large = Pattern("abc"), Pattern("a[ab]{900}c")

    assert small.max_chars > 1 << 20
    assert large.max_chars < MAX_STEPS // 900


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("(?=a)", "lookaround is not supported"),
        ("(?<!a)b", "lookaround is not supported"),
        (r"(a)\1", "back-references are not supported"),
        ("(", "missing ): ("),
        ("[", "missing ]: ["),
        ("a{2000}", "invalid repetition size: {2000}"),
        ("*a", "no argument for repetition operator: *"),
        ("a++", "bad repetition operator: ++"),
        (r"\q", r"invalid escape sequence: \q"),
        (r"a\Cb", r"\C is not supported"),
        ("(?i-m:^a)", "(?i-m is not supported"),
        (r"(\pL{400}){2}", "too large"),
        (r"\pL{90}", "too large"),
    ],
)
def test_what_cannot_be_matched_is_an_error_with_its_reason(expression, reason):
    with pytest.raises(PatternError) as caught:
        Pattern(expression)

    assert str(caught.value).replace("pattern too large - compile failed", "too large") == reason
