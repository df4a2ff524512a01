from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyespan import Workspace, tokens
from eyespan.dialects.native.gutter import Row, Style, count_fitting, starts_after_gap


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({}, "4\tline 4\n5\tline 5\n\tline 6"),
        ({"numbers": 1}, "4\tline 4\n5\tline 5\n6\tline 6"),
        ({"numbers": 0}, "line 4\nline 5\nline 6"),
        ({"numbers": 1, "separator": "colon"}, "4:line 4\n5:line 5\n6:line 6"),
        ({"separator": "pipe", "numbers": 2}, "4|line 4\n|line 5\n6|line 6"),
        ({"separator": "arrow", "numbers": 1}, "4→line 4\n5→line 5\n6→line 6"),
        ({"separator": "blank", "numbers": 1}, "4 line 4\n5 line 5\n6 line 6"),
    ],
)
def test_numbers_and_separators_are_settings(root, settings, text):
    with Workspace(root) as workspace:
        reply = workspace.tool("native", **settings).call({"files": "a.py:4-6"})

    assert reply.text.partition("\n")[2] == text


def test_a_row_after_a_gap_is_numbered():
    rows = [Row(1, 1, "a"), Row(2, 1, ""), Row(7, 3, "c")]

    assert Style().format(rows, [row.text for row in rows]) == ["1\ta", "", "7:3\tc"]
    assert starts_after_gap(rows) == [False, False, True]


@given(st.lists(st.text("ab c", max_size=12), max_size=30), st.integers(0, 60), st.booleans())
def test_as_many_lines_fit_as_their_estimate_allows(lines, max_tokens, at_end):
    count = count_fitting(lines, max_tokens, tokens.estimate, at_end=at_end)

    def cost(count):
        return tokens.estimate("\n".join(lines[len(lines) - count :] if at_end else lines[:count]))

    assert count == 0 or cost(count) <= max_tokens
    assert count == len(lines) or cost(count + 1) > max_tokens
