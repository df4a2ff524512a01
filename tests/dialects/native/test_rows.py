from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyespan import Workspace, tokens
from eyespan.dialects.native.rows import (
    Row,
    Style,
    count_fitting,
    extent,
    ranges_of,
    rows_of,
    split_runs,
    starts_after_gap,
)
from eyespan.model import CharRange, TextPart


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({}, "4\tline 4\n5\tline 5\n6\tline 6"),
        ({"numbers": 5}, "4\tline 4\n5\tline 5\n\tline 6"),
    ],
)
def test_the_distance_of_numbers_is_a_setting(root, settings, text):
    with Workspace(root) as workspace:
        reply = workspace.tool("native", **settings).call({"files": "a.py:4-6"})

    assert reply.text.partition("\n")[2] == text


def test_a_row_after_a_gap_is_numbered():
    rows = [Row(1, 1, "a"), Row(2, 1, ""), Row(7, 3, "c")]

    assert Style(every=5).format(rows, [row.text for row in rows]) == ["1\ta", "", "7:3\tc"]
    assert starts_after_gap(rows) == [False, False, True]
    runs = split_runs(rows)

    assert (extent(runs), ranges_of(runs)) == ("1-2,7:3-7", [CharRange(1, 1, 2), CharRange(7, 3, 7)])


PARTS = st.builds(
    lambda lines, first, column, cut_short: TextPart(
        data="".join(lines).encode(),
        first_line=first,
        line_count=len("".join(lines).split("\n")) - (not "".join(lines) or "".join(lines).endswith("\n")),
        total_lines=None,
        more=cut_short,
        column=column,
        cut_short=cut_short and not "".join(lines).endswith("\n"),
    ),
    st.lists(st.sampled_from(["a", "", "\t", "  b", "\n", "\r\n", "\r", "é\u200b", "\ufeff"]), max_size=20),
    st.sampled_from([0, 1, 3, 9, 98]),
    st.sampled_from([1, 1, 7]),
    st.booleans(),
)


@given(PARTS)
def test_rows_are_the_lines_of_a_text_without_their_terminators(part):
    rows = list(rows_of(part))
    ends = ["\r\n" if row.has_cr else "\n" if row.has_newline else "" for row in rows]

    assert "".join([row.text + end for row, end in zip(rows, ends, strict=True)]).encode() == part.data
    assert [row.number for row in rows] == list(range(part.first_line, part.first_line + part.line_count))
    assert [row.column for row in rows] == [part.column, *[1] * len(rows)][: len(rows)]
    assert [row.is_cut for row in rows] == [False] * (len(rows) - 1) + [part.cut_short] * bool(rows)


@given(st.lists(st.text("ab c", max_size=12), max_size=30), st.integers(0, 60), st.booleans())
def test_as_many_lines_fit_as_their_estimate_allows(lines, max_tokens, at_end):
    count = count_fitting(lines, max_tokens, tokens.estimate, at_end=at_end)

    def cost(count):
        return tokens.estimate("\n".join(lines[len(lines) - count :] if at_end else lines[:count]))

    assert count == 0 or cost(count) <= max_tokens
    assert count == len(lines) or cost(count + 1) > max_tokens
