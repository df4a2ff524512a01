from __future__ import annotations

import pytest

from eyespan.outline import find, nearest

from .symbol_checks import FIXTURES, outline

HARBOUR = outline((FIXTURES / "harbour.py").read_bytes(), "src/harbour.py")


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("Boat", ["Boat"]),
        ("parse", ["Boat.parse"]),
        ("Boat.parse", ["Boat.parse"]),
        ("Boat::parse", ["Boat.parse"]),
        ("Boat#parse", ["Boat.parse"]),
        ("Boat->parse()", ["Boat.parse"]),
        ("harbour.Boat.parse", ["Boat.parse"]),
        ("package.harbour.ring", ["ring", "ring"]),
        ("Berth.__init__", ["Harbour.Berth.__init__"]),
        ("moor", ["Harbour.moor"] * 3),
        ("boat.PARSE", ["Boat.parse"]),
        (" main ", ["main"]),
        ("arse", []),
        ("Nope.parse", []),
        ("oat.parse", []),
        ("", []),
        (".", []),
        ("::", []),
    ],
)
def test_find_takes_the_names_that_people_write(query, wanted):
    assert [symbol.qualified for symbol in find(HARBOUR, query)] == wanted


def test_the_whole_name_comes_before_its_ending():
    found = outline(b"class A:\n    def run(self): pass\ndef run(): pass\n", "a.py")

    assert [symbol.line for symbol in find(found, "run")] == [3]
    assert [symbol.line for symbol in find(found, "A.run")] == [2]


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("prase", ["Boat.parse"]),
        ("Boat.prase", ["Boat.parse"]),
        ("mooring", ["Harbour.moor"]),
        ("HarborError", ["HarbourError", "Harbour"]),
        ("zzzz", []),
        ("", []),
    ],
)
def test_nearest_suggests_similar_names(query, wanted):
    assert [symbol.qualified for symbol in nearest(HARBOUR, query)][: len(wanted) or 3] == wanted


def test_nearest_gives_as_many_as_asked_for():
    found = outline(b"".join(b"def run_%d(): pass\n" % n for n in range(9)), "a.py")

    assert [len(nearest(found, "run", n)) for n in (1, 3, 5)] == [1, 3, 5]
