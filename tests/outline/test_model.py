from __future__ import annotations

from dataclasses import replace
from random import Random

from eyespan.outline.model import Definition, build_outline, nested

from .symbol_checks import check_shape


def _function(name: str, line: int, last: int) -> Definition:
    return Definition(name=name, kind="function", line=line, first=line, last=last)


def test_definitions_of_any_ranges_become_a_tree():
    dice = Random("ranges")
    for _ in range(200):
        several = []
        for name in "abcdefgh":
            line = dice.randrange(1, 40)
            several.append(_function(name, line, line + dice.randrange(0, 12)))
        check_shape(build_outline(nested(several), "shape"), b"\n" * 60)


def test_a_child_that_ends_after_its_parent_is_cut_and_doubtful():
    found = nested([_function("f", 1, 9), _function("g", 5, 12)])

    assert [(one.name, one.last, one.parent, one.doubt) for one in found] == [("f", 9, -1, 0), ("g", 9, 0, 9)]


def test_a_definition_begins_after_the_one_before_it():
    found = nested([_function("f", 2, 9), replace(_function("g", 12, 15), first=3)])

    assert [(one.name, one.first, one.last) for one in found] == [("f", 2, 9), ("g", 10, 15)]
