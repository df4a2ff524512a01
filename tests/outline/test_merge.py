"""Broken source: the grammar's definitions corrected by the scanner of braces."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from eyespan.outline.merge import merged, nested
from eyespan.outline.model import Definition, build_outline
from tests.sizes import size

from .symbol_checks import SOURCE, check_shape, mutated, outline


def _function(name: str, line: int, last: int) -> Definition:
    return Definition(name=name, kind="function", line=line, first=line, last=last)


def _listed(found: list[Definition]) -> list[tuple[str, int, int, int]]:
    return [(one.name, one.line, one.last, one.doubt) for one in found]


def test_an_end_near_an_error_is_the_scanners_and_doubtful():
    parsed, scanned = [_function("f", 1, 90)], [_function("f", 1, 9), _function("g", 11, 20)]

    found = merged(parsed, scanned, [(5, 5)], is_balanced=True)

    assert _listed(found) == [("f", 1, 9, 5), ("g", 11, 20, 0)]


def test_an_end_away_from_errors_is_the_grammars():
    parsed, scanned = [_function("f", 1, 9)], [_function("f", 1, 7)]

    assert _listed(merged(parsed, scanned, [(50, 50)], is_balanced=True)) == [("f", 1, 9, 0)]


def test_a_scanner_that_lost_track_changes_nothing():
    parsed, scanned = [_function("f", 1, 9)], [_function("f", 1, 7)]

    assert _listed(merged(parsed, scanned, [(5, 5)], is_balanced=False)) == [("f", 1, 9, 5)]


def test_both_agree_without_doubt():
    parsed, scanned = [_function("f", 1, 9)], [_function("f", 1, 9)]

    assert _listed(merged(parsed, scanned, [(5, 5)], is_balanced=True)) == [("f", 1, 9, 0)]


@pytest.mark.parametrize("path", SOURCE, ids=lambda path: path.name)
def test_any_merged_outline_is_a_tree(path):
    pytest.importorskip("tree_sitter", reason="the extra `outline` is not installed")
    dice = Random(path.name)
    for _ in range(size(short=4, long=15)):
        data = mutated(path.read_bytes(), dice, dice.randrange(1, 9))
        check_shape(outline(data, path.name), data)


def test_definitions_of_any_ranges_become_a_tree():
    dice = Random("ranges")
    for _ in range(200):
        several = []
        for name in "abcdefgh":
            line = dice.randrange(1, 40)
            several.append(_function(name, line, line + dice.randrange(0, 12)))
        errors = [(line, line + dice.randrange(5)) for line in dice.sample(range(1, 40), 3)]
        found = merged(several[:4], several[4:], sorted(errors), is_balanced=dice.random() < 0.5)
        check_shape(build_outline(found, "shape"), b"\n" * 60)


def test_a_definition_begins_after_the_one_before_it():
    found = nested([_function("f", 2, 9), replace(_function("g", 12, 15), first=3)])

    assert [(one.name, one.first, one.last) for one in found] == [("f", 2, 9), ("g", 10, 15)]
