from __future__ import annotations

import pytest

from eyespan.extras.languages.alignment import Alignment
from eyespan.outline.model import Definition


def _doubt(
    text: str, last: int, *, line: int = 1, errors: tuple[tuple[int, int], ...] = (), kind: str = "method"
) -> int:
    one = Definition(name="f", kind=kind, line=line, first=line, last=last)
    return Alignment(text.split("\n")).with_doubts([one], errors)[0].doubt


@pytest.mark.parametrize(
    ("text", "line", "last"),
    [
        ("f() {\n  a\n}\ng", 1, 3),
        ("f() {\n  a\n}\n\n\n", 1, 3),
        ("  f()\n    = a {\n    }\n  g", 1, 3),
        ("\tf {\n        }\n", 1, 2),
        ("f() { a }\ng", 1, 1),
        ("f(\n  a\n) { b }", 1, 3),
    ],
)
def test_an_end_in_the_column_of_its_header_is_certain(text, line, last):
    assert _doubt(text, last, line=line) == 0


@pytest.mark.parametrize(
    ("text", "line", "last"),
    [
        ("f() error{A}!B {\n  a\n}\n", 1, 1),
        ("f() {\n  if {\n  }\n\n  b\n}\n", 1, 3),
        ("c {\n  f() {\n  a\n}\n", 2, 4),
    ],
)
def test_an_end_that_disagrees_with_the_indentation_is_doubtful(text, line, last):
    assert _doubt(text, last, line=line) == last


def test_only_definitions_with_a_body_are_doubtful():
    assert _doubt("a = 1\n  b", 1, kind="constant") == 0


def test_an_error_inside_makes_an_end_doubtful_unless_the_first_closing_line_agrees():
    text = "f() {\n  a ?? b\n}\ng() {\n}\n"

    assert _doubt(text, 3, errors=((2, 2),)) == 0
    assert _doubt(text, 5, errors=((2, 2),)) == 2
    assert _doubt(text, 5, errors=((9, 9),)) == 0


def test_an_error_that_began_before_makes_an_end_doubtful():
    assert _doubt("x (\nf() {\n  a\n}}\n}\n", 5, line=2, errors=((1, 3), (1, 1))) == 2
