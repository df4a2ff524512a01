"""Selectors: printing and parsing agree, and the table of the documentation is true."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from eyespan import selectors
from eyespan.model import CharRange, Lines, Tail
from eyespan.selectors import (
    Area,
    Cells,
    Enclosing,
    Named,
    Pages,
    Place,
    Ranges,
    SymbolPiece,
    Target,
    readings,
    write_target,
)

DOC = Path(__file__).parent.parent / "docs" / "selectors.md"

numbers = st.integers(1, 10**15)
spans = st.tuples(numbers, st.none() | st.integers(0, 10**6)).map(
    lambda s: (s[0], None if s[1] is None else s[0] + s[1])
)
ranges = st.one_of(
    st.builds(Lines, numbers, st.none() | numbers),
    st.builds(Tail, numbers),
    st.builds(Place, numbers, numbers),
    st.tuples(spans, numbers).map(lambda s: CharRange(s[0][0], s[1], s[0][1])),
)
characters = st.characters(exclude_characters="\n", exclude_categories=["Cs"]) | st.sampled_from("?:!@,-+1a ")
names = st.text(characters, min_size=1, max_size=40)
columns = st.text("ABCXYZ", min_size=1, max_size=3)
corners = st.tuples(columns, st.integers(1, 999)).map(lambda c: f"{c[0]}{c[1]}")
areas = st.tuples(corners, corners).map(":".join) | st.tuples(columns, columns).map(":".join)
within = st.just(()) | st.lists(ranges, min_size=1, max_size=2).map(tuple)
pieces = st.one_of(
    st.lists(ranges, min_size=1, max_size=4).map(lambda r: Ranges(tuple(r))),
    names.filter(str.strip).map(SymbolPiece),
    st.lists(st.builds(Lines, numbers, numbers) | st.builds(Place, numbers, numbers), min_size=1, max_size=3).map(
        lambda r: Enclosing(tuple(r))
    ),
    st.tuples(spans, within).map(lambda s: Pages(*s[0], s[1])),
    st.tuples(spans, within).map(lambda s: Cells(*s[0], s[1])),
    # No spreadsheet lets a sheet's name begin with a colon, which would be read as the mark of a symbol.
    st.tuples(names.filter(lambda n: "/" not in n and n[0] != ":"), areas, within).map(lambda a: Area(*a)),
    st.tuples(names.filter(lambda n: selectors.parse_piece(n) == Named(n)), within).map(lambda n: Named(*n)),
)


@given(pieces)
def test_a_piece_is_read_as_it_is_written(piece):
    text = selectors.write_piece(piece).replace("??", "?")

    assert selectors.parse_piece(text) == piece


plain = st.text("abcXYZ019._-/ é", min_size=1, max_size=20)
revisions = st.text("abcdef0123.~^/", min_size=1, max_size=12).filter(lambda r: r[0] != "/")


@given(
    plain.filter(lambda p: p[-1] != "/"),
    st.none() | pieces,
    st.just("") | plain,
    st.just("") | revisions,
    st.just("") | names.filter(lambda pattern: pattern[0] != "?"),
)
@example("0", Named("1?", (Tail(1),)), "", "", "")
@example("0", Named("1?", ()), "", "", "")
@example("a.rb", SymbolPiece("empty??"), "", "", "")
@example("a.rb", SymbolPiece("empty?"), "", "", "x")
@example("a.md", SymbolPiece("What? And why"), "", "", "")
def test_of_the_readings_of_a_written_target_the_first_with_its_file_is_it(path, piece, member, revision, pattern):
    target = Target(path, piece, member, revision, pattern)
    text = write_target(target)
    assume(not pattern or text.count("?") <= selectors.MAX_SPLITS)
    found = readings(text)

    assert next(f for f in found if (f.path, f.member) == (path, member)) == target


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
def test_any_text_is_a_name_first_and_every_other_reading_writes_the_same_file(text):
    first, *others = readings(text)

    assert first == Target(text)
    for target in others:
        assert text.startswith(target.path)
        assert target in readings(write_target(target))


def test_a_text_of_a_thousand_colons_has_few_readings():
    assert len(readings(":1" * 1000 + "@x" * 1000 + "!/y" * 1000)) <= selectors.MAX_READINGS


@pytest.mark.parametrize(
    "text",
    ["", "0", "5-4", "1-2-3", "-", "+5", "1+", "1:0", "1:5-0", "3:1-2", "１", "1_0", "9" * 19, ",", "1,", "1,p2"],
)
def test_what_is_no_range_is_no_range(text):
    assert selectors.parse_ranges(text) is None


@pytest.mark.parametrize(
    ("text", "is_area"), [("A1", True), ("A", False), ("5", False), ("A1:B", False), ("A:C", True)]
)
def test_areas_have_two_corners_of_one_shape(text, is_area):
    assert selectors.is_area(text) is is_area


# --- the table of the documentation --------------------------------------------------------------------------------


def rows():
    for line in DOC.read_text("utf-8").partition("## What other tools print")[0].splitlines():
        if line.startswith("| `"):
            written, path, meant, printed = [cell.strip() for cell in line.strip("|").split(" | ")]
            yield written.strip("`"), path.strip("`"), meant, printed.strip("`")


def in_words(target):
    lead = f"revision {target.revision}, " if target.revision else ""
    lead += f"member {target.member}, " if target.member else ""
    if target.pattern:
        return f"lines that match {target.pattern} in {in_words(replace(target, pattern=''))}"
    match target.piece:
        case None:
            return lead + "all of it"
        case Ranges(several):
            return lead + "; ".join(map(range_in_words, several))
        case SymbolPiece(name):
            return lead + f"symbol {name}"
        case Enclosing(several):
            return lead + "; ".join(
                f"the symbol around {range_in_words(one).removeprefix('around ')}" for one in several
            )
        case Pages(first, last):
            said = f"page {first}" if first == last else f"pages {first} to {last}"
        case Cells(first, last):
            said = f"cells {first} to {last}"
        case Area(sheet, cells):
            said = f"cells {cells} of {f'sheet {sheet}' if sheet else 'the first sheet'}"
        case Named(name):
            said = f"what is named {name}"
    of = f"{'; '.join(map(range_in_words, target.piece.within))} of " if target.piece.within else ""
    return lead + of + said


def range_in_words(one):
    match one:
        case Tail(count):
            return f"the last {count} lines"
        case Place(line, column):
            return f"around character {column} of line {line}"
        case CharRange(first, column, _, int(chars)):
            return f"{chars} characters from character {column} of line {first}"
        case CharRange(first, column, last):
            return f"from character {column} of line {first} to {f'line {last}' if last else 'the end'}"
        case Lines(first, None):
            return f"lines {first} to the end"
        case Lines(first, 1):
            return f"line {first}"
    return f"lines {one.first} to {one.first + one.count - 1}"


def test_the_documentation_has_a_table():
    assert len(list(rows())) > 20


@pytest.mark.parametrize(("written", "path", "meant", "printed"), list(rows()))
def test_the_table_of_the_documentation_is_true(written, path, meant, printed):
    target = next(found for found in readings(written) if found.path == path)

    assert (in_words(target), write_target(target)) == (meant, printed)


@pytest.mark.parametrize("text", ["a:" * 200_000, ":1" * 200_000, "x!a:" * 100_000, "a!/b@c:1" * 50_000])
def test_a_text_longer_than_any_name_is_taken_for_one_name(text):
    """Splitting it at every colon would take minutes."""
    assert readings(text) == [Target(text)]


@pytest.mark.parametrize("unit", ["a:", ":1", "p1:", "a@b", "a!/b@c:1", "@"])
def test_however_many_marks_a_text_has_it_is_split_at_the_last_few(unit):
    text = unit * (selectors.MAX_TEXT_CHARS // len(unit))
    found = readings(text)

    assert found[0] == Target(text)
    assert len(found) <= selectors.MAX_READINGS
    assert all(len(text) - len(target.path) < 3 * selectors.MAX_COLONS for target in found)
    assert sum(bool(target.revision) for target in found) <= selectors.MAX_SPLITS**2
