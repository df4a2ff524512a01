from __future__ import annotations

import pytest

from tests.outline.symbol_checks import outline


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a:\n  b: 1\n  c:\n    d: 2\n", [("a", 1, 4), ("a.b", 2, 2), ("a.c", 3, 4), ("a.c.d", 4, 4)]),
        ("- a: 1\n  b: 2\n- c\n", [("[0]", 1, 2), ("[0].a", 1, 1), ("[0].b", 2, 2), ("[1]", 3, 3)]),
        ("a:\n- b: 1\n- c: 2\nd: 3\n", [("a", 1, 3), ("d", 4, 4)]),
        ("a: |\n  b: text\n\n  c: text\nd: 1\n", [("a", 1, 4), ("d", 5, 5)]),
        ("# note\na: 1\n---\na: 2\n", [("a", 1, 2), ("a", 4, 4)]),
        ('"[0]":\n- b\n- c\n', [("[0]", 1, 3)]),
    ],
    ids=["nested", "outermost list", "list of a key", "block scalar", "documents", "key named like an item"],
)
def test_keys_go_to_the_last_line_of_their_values(text, wanted):
    found = outline(text.encode(), "a.yml")

    assert [(symbol.qualified, symbol.first, symbol.last) for symbol in found.symbols] == wanted
