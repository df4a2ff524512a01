from __future__ import annotations

import os
from pathlib import Path

from eyespan.outline import Outline, Symbol, render
from eyespan.tokens import estimate

from .symbol_checks import ALL, FIXTURES, outline

HARBOUR = outline((FIXTURES / "harbour.py").read_bytes(), "src/harbour.py")


def test_a_listing_keeps_to_its_budget_and_counts_what_it_leaves_out():
    for path in ALL:
        found = outline(path.read_bytes(), path.name)
        for budget in (12, 30, 60, 120, 10_000):
            text = render(found, tokens=budget)
            rows = text.split("\n")
            shown = len(rows) - rows[-1].startswith("… ")

            assert estimate(text) <= budget or shown == 1
            if rows[-1].startswith("… "):
                assert shown + int(rows[-1].split()[1]) <= len(found.symbols)


def test_fields_and_constants_are_left_out_first_then_signatures_then_the_deepest_symbols():
    def shows(budget):
        text = render(HARBOUR, tokens=budget)
        return tuple(what in text for what in ("draught:", "CAPACITY", "def parse(cls", "clean", "parse"))

    full = estimate(render(HARBOUR))
    seen = list(dict.fromkeys(shows(budget) for budget in range(full, 90, -1)))

    assert seen[:4] == [
        (True, True, True, True, True),
        (False, True, True, True, True),
        (False, False, True, True, True),
        (False, False, False, True, True),
    ]
    assert not seen[4][3]


def test_one_large_class_is_listed_by_its_first_methods():
    source = b"class A:\n" + b"".join(b"    def method_%d(self): pass\n" % n for n in range(300))
    text = render(outline(source, "a.py"), tokens=100)

    assert text.startswith("1-301 A\n  2 method_0\n")
    assert text.split("\n")[-1].startswith("… 2")
    assert 60 < estimate(text) <= 100


def test_a_long_signature_is_cut_visibly():
    found = outline(b"def f(" + b", ".join(b"argument_%d" % n for n in range(50)) + b"): pass\n", "a.py")

    assert render(found) == "1 " + found.symbols[0].signature[:79] + "…"
    assert len(found.symbols[0].signature) == 200


def test_an_empty_outline_is_an_empty_listing():
    assert render(outline(b"", "a.py")) == ""


def test_a_listing_costs_a_fraction_of_the_file():
    path = Path(os.__file__)
    data = path.read_bytes()

    assert estimate(render(outline(data, path.name))) < estimate(data.decode()) / 4


def test_a_symbol_whose_end_may_be_wrong_is_marked():
    symbol = Symbol(
        name="f", qualified="f", kind="function", line=1, first=1, last=3, depth=0, signature="f()", doubt=2
    )

    assert render(Outline((symbol,), "shape", "c", is_complete=False)) == "1-3 f() (end uncertain)"
