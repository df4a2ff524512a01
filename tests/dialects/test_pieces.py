from __future__ import annotations

import pytest

from eyespan import Workspace
from eyespan.dialects.pieces import cut_out
from eyespan.model import CharRange, ReadRequest, Tail


@pytest.mark.parametrize("text", ["", "a", "a\n", "a\nbc\n\nd", "a\nbc\n\nd\n"])
@pytest.mark.parametrize(
    "selection", [CharRange(), CharRange(2), CharRange(2, 2), CharRange(1, 1, 2), CharRange(1, 1, None, 3)]
)
def test_a_range_of_a_text_is_the_range_of_a_file_with_that_text(tmp_path, text, selection):
    (tmp_path / "f").write_text(text)

    with Workspace(tmp_path) as workspace:
        read = workspace.engine.read(ReadRequest("f", selection)).parts[0]

    assert cut_out(text, selection) == read


@pytest.mark.parametrize(("count", "most", "lines"), [(2, None, 2), (9, None, 4), (9, 4, 2), (1, 1, 1)])
def test_the_last_lines_of_a_text(count, most, lines):
    part = cut_out("one\ntwo\n\nx\n", Tail(count, max_bytes=most))

    assert (part.line_count, part.first_line) == (lines, 5 - lines)
