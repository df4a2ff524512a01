"""The finder of lines against offsets found in the whole text, with and without an index."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eyespan.context import CallContext
from eyespan.lines.encodings import choose
from eyespan.lines.finder import LineFinder, LineStart
from eyespan.lines.index import Indexer
from eyespan.lines.scan import Scan
from eyespan.model import CHEAP_TOTAL, EXACT_TOTAL, NO_TOTAL
from tests.sizes import examples

RULES = st.sampled_from(["utf-8", "utf-16", "utf-32"])
TEXTS = st.text(st.sampled_from("ab\n\n\n\r\u0a0aé😀"), max_size=300)


@pytest.fixture
def find_in(file, open_source):
    """Return a finder of the lines in some text."""

    def make(text, rule="utf-8", *, block_bytes=40, **limit):
        source = open_source(file(text.encode(rule)))
        encoding = choose(rule, source.first_bytes)
        context = CallContext()
        scan = Scan(source, encoding, context, block_bytes=block_bytes, **limit)
        return LineFinder(scan, Indexer(source, encoding, context)), encoding

    return make


def starts(text, encoding):
    """Return the offset of every line, and the end."""
    offset, found = len(encoding.bom), []
    for line in text.split("\n"):
        found.append(offset)
        offset += len((line + "\n").encode(encoding.name))
    end = offset - len("\n".encode(encoding.name))
    if found[-1] == end:
        found.pop()
    return found, end


any_text = settings(max_examples=examples(80), suppress_health_check=[HealthCheck.function_scoped_fixture])


@any_text
@given(TEXTS, RULES, st.integers(1, 40), st.integers(0, 40))
def test_every_line_is_found(small_index, find_in, text, rule, number, count):
    finder, encoding = find_in(text, rule)
    lines, end = starts(text, encoding)
    is_open = bool(text) and not text.endswith("\n")
    last = LineStart(end, len(lines) if is_open else len(lines) + 1, is_open)

    # An open last line is the line of the end; with its number, the end would be its start.
    assert finder.find(number) == (LineStart(lines[number - 1], number) if number <= len(lines) else last)
    assert finder.end() == finder.end(finder.find(number)) == last
    assert finder.end().line_count == len(lines)
    assert finder.go_back(end, count) == (
        [*lines, end][-count - 1] if count < len(lines) else lines[0] if lines else end
    )


def test_a_limit_hides_the_end(find_in):
    finder, _ = find_in("one\ntwo\nthree\n", end=8)

    assert finder.find(9) == LineStart(8, 3)
    assert finder.up_to(3).end() == LineStart(3, 1, True)


@pytest.mark.parametrize(
    ("rule", "cheap_bytes", "end", "is_known"),
    [
        (NO_TOTAL, 100, None, False),
        (CHEAP_TOTAL, 100, None, True),
        (CHEAP_TOTAL, 100, 90, False),
        (CHEAP_TOTAL, 5, None, False),
        (EXACT_TOTAL, 5, None, True),
    ],
)
def test_the_end_is_searched_by_the_rule_for_totals(find_in, monkeypatch, rule, cheap_bytes, end, is_known):
    monkeypatch.setattr(LineFinder, "cheap_bytes", cheap_bytes)
    finder, _ = find_in("line\n" * 10, end=end)

    assert finder.known_end(LineStart(5, 2), rule) == (LineStart(50, 11) if is_known else None)
