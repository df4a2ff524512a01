from __future__ import annotations

import pytest

from tests.outline.symbol_checks import outline


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('{"a": 1,\n"b": [1,\n2]}\n', [("a: 1", 1, 1), ("b [2]", 2, 3)]),
        ('{"a": {"b": {"c": {"d": 1}}}}', [("a {1}", 1, 1), ("b {1}", 1, 1), ("c {1}", 1, 1)]),
        ('[{"a": 1},\n{"b": 2}]', [("[0] {1}", 1, 1), ("a: 1", 1, 1), ("[1] {1}", 2, 2), ("b: 2", 2, 2)]),
        ('{// note\n"a": /* b */ 1}', [("a: 1", 2, 2)]),
    ],
    ids=["values", "depth", "outermost array", "comments"],
)
def test_keys_are_listed_with_their_values(text, wanted):
    found = outline(text.encode(), "a.json")

    assert found.is_complete
    assert [(symbol.signature, symbol.first, symbol.last) for symbol in found.symbols] == wanted


@pytest.mark.parametrize("text", ['{"a": {"b": 1', '{"a": {"b": 1}]', '{"a": {"b": 1}}]'])
def test_the_keys_of_a_broken_file_are_listed_as_not_complete(text):
    found = outline(text.encode(), "a.json")

    assert not found.is_complete
    assert [symbol.qualified for symbol in found.symbols] == ["a", "a.b"]
