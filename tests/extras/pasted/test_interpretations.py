"""Readings of pasted text: bounded, never an error, and never another file than the note states."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyespan.extras.pasted import interpretations as pasted
from eyespan.extras.pasted.interpretations import interpretations
from eyespan.extras.pasted.loose import loose_ranges
from eyespan.extras.pasted.path_spellings import path_spellings
from eyespan.model import Lines, Tail
from eyespan.selectors import Place, Ranges, Target

MARKS = [
    *("a.py", "src/", ":3", ":", "::", "(3,7)", "#L3", " line 3", "\n", " ", '"', "`", "](", "http://x/blob/", "\\"),
    *("C:\\", "~/", "@", "!/", "-", "–", "..", "1", "é", "٣", "diff --git a b/", "+++ ", "@@ -1 +1 @@", "at ", "\t"),
]


@given(st.lists(st.sampled_from(MARKS), max_size=30).map("".join) | st.text(max_size=60))
def test_any_text_has_a_bounded_number_of_readings(text):
    for interpretation in interpretations(text):
        assert len(interpretation.places) <= pasted.MAX_PLACES
        assert all(len(place) <= pasted.MAX_READINGS for place in interpretation.places)
        assert all(target.path for place in interpretation.places for target in place)


@pytest.mark.parametrize("unit", [*MARKS, "a.py:1\n", "1-", ":1", "a.b.", "((", "x=1,", "M a ", "%41", " -> "])
def test_only_the_first_characters_of_a_long_text_are_read(unit):
    text = unit * (200_000 // len(unit))
    short = text[: pasted.MAX_TEXT_CHARS]

    assert [list(one.places) for one in interpretations(text)] == [list(one.places) for one in interpretations(short)]


@pytest.mark.parametrize(
    ("text", "ranges"),
    [
        ("L3-L9", (Lines(3, 7),)),
        ("l3:l9", (Lines(3, 7),)),
        ("lines 3 through 9", (Lines(3, 7),)),
        ("3…9", (Lines(3, 7),)),
        ("9-3", (Lines(3, 7),)),
        ("0-10", (Lines(1, 10),)),
        ("0", (Lines(1, 1),)),
        ("3-EOF", (Lines(3, None),)),
        ("3--1", (Lines(3, None),)),
        ("3+", (Lines(3, None),)),
        ("3-9; 12 & 14", (Lines(3, 7), Lines(12, 1), Lines(14, 1))),
        ("-5", (Tail(5),)),
        ("3:0", (Place(3, 1),)),
        ("3:5-9:2", (Lines(3, 7),)),
        ("3c5-9c2", (Lines(3, 7),)),
        ("1-" + "9" * 30, (Lines(1, 10**15),)),
        ("1-2-3", None),
        ("x", None),
        ("", None),
        ("3-9," * 100, None),
    ],
)
def test_ranges_have_many_spellings(text, ranges):
    assert loose_ranges(text) == ranges


@pytest.mark.parametrize(
    ("path", "spellings"),
    [
        ("a.py", ["a.py"]),
        ("a/x.py", ["a/x.py", "x.py"]),
        ("src\\x.py", ["src\\x.py", "src/x.py"]),
        ("C:/w/x.py", ["C:/w/x.py", "/w/x.py", "w/x.py", "x.py"]),
        ("/ci/src/x.py", ["/ci/src/x.py", "ci/src/x.py", "src/x.py"]),
        ("/etc/passwd", ["/etc/passwd", "etc/passwd"]),
        ("../x.py", ["../x.py"]),
        ("../src/x.py", ["../src/x.py", "src/x.py"]),
        ("webpack:///./src/x.js", ["webpack:///./src/x.js", "/./src/x.js", "src/x.js"]),
        ("package:app/core/x.dart", ["package:app/core/x.dart", "/app/core/x.dart", "app/core/x.dart", "core/x.dart"]),
        ("https://example.org/src/x.py", ["https://example.org/src/x.py"]),
        ("docs/\\303\\274.md", ["docs/\\303\\274.md", "docs/ü.md", "docs//303/274.md"]),
    ],
)
def test_a_path_that_may_exist_elsewhere_keeps_a_directory_and_a_name(path, spellings):
    assert path_spellings(path) == spellings


def test_hunks_and_numbered_lines_belong_to_the_file_above_them():
    diff, *_ = interpretations("--- a/x.py\n+++ b/x.py\n@@ -1,2 +5,3 @@\n a\n@@ -9 +20 @@\n b\n")
    found, *_ = interpretations("x.py\n5:a\n20-b\n")

    assert [place[-1] for place in diff.places] == [
        Target("x.py", Ranges((Lines(5, 3),))),
        Target("x.py", Ranges((Lines(20, 1),))),
    ]
    assert [place[0] for place in found.places] == [
        Target("x.py", Ranges((Lines(5, 1),))),
        Target("x.py", Ranges((Lines(20, 1),))),
    ]


def test_numbered_lines_after_a_place_do_not_repeat_it():
    found, *_ = interpretations("error: x\n  --> x.py:5:1\n   |\n4 | a\n5 | b\n")

    places = [place[-1] for place in found.places if place[-1].piece is not None]

    assert places == [Target("x.py", Ranges((Place(5, 1),)))]
