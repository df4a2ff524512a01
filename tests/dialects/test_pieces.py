from __future__ import annotations

import pytest

from eyespan import Workspace
from eyespan.dialects.pieces import _listed_symbols, cut_out, image_region
from eyespan.model import CharRange, ReadRequest, Tail
from eyespan.outline import Definition, build_outline


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


def test_only_an_implementation_is_listed_with_its_signature():
    definitions = [
        Definition(name="A", kind=kind, line=line, first=line, last=line + 1, signature=signature)
        for line, kind, signature in [(1, "struct", "struct A"), (3, "impl", "impl T for A")]
    ]

    listed = _listed_symbols(build_outline(definitions, "regex").symbols, ["A", "A#2"])

    assert listed == "::A (1-2), ::A#2 (impl T for A, 3-4)"


@pytest.mark.parametrize(
    ("name", "region"),
    [
        *(("1,2+3x4", (1, 2, 3, 4)), ("0,0+1x1", (0, 0, 1, 1)), ("1,2+0x4", None), ("1,2+3", None), ("1+3x4", None)),
        *(("a,2+3x4", None), ("1,2+\u0663x4", None), ("1,2+\u00b2x4", None), (f"1,2+{'9' * 10}x4", None)),
    ],
)
def test_a_region_of_an_image(name, region):
    assert image_region(name) == region
