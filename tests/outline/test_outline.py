"""Every language by its fixture, and what holds whatever the file."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from eyespan.outline import MAX_BYTES, Outline, find, language_of, nearest, outline, render
from eyespan.tokens import estimate
from sizes import size

from .support import EXPECTED, FIXTURES, check_shape, listing, mutated

ALL = sorted(FIXTURES.iterdir())
SOURCE = [path for path in ALL if "tree-sitter" in (EXPECTED / f"{path.name}.txt").read_text().split("\n")[0]]
OTHERS = [path for path in ALL if path not in SOURCE]


@pytest.fixture(scope="module")
def _grammars():
    pytest.importorskip("tree_sitter", reason="the extra `outline` is not installed")


@pytest.mark.parametrize("path", OTHERS, ids=lambda path: path.name)
def test_a_file_is_outlined_to_the_line(path):
    assert listing(outline(path.read_bytes(), path.name)) == (EXPECTED / f"{path.name}.txt").read_text("utf-8")


@pytest.mark.usefixtures("_grammars")
@pytest.mark.parametrize("path", SOURCE, ids=lambda path: path.name)
def test_source_is_outlined_to_the_line_by_its_grammar(path):
    assert listing(outline(path.read_bytes(), path.name)) == (EXPECTED / f"{path.name}.txt").read_text("utf-8")


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.name)
def test_every_symbol_is_found_by_its_name(path):
    found = outline(path.read_bytes(), path.name)

    check_shape(found, path.read_bytes())
    for symbol in found.symbols:
        assert symbol in find(found, symbol.qualified)


@pytest.mark.parametrize("path", OTHERS, ids=lambda path: path.name)
def test_no_mutation_breaks_a_scanner(path):
    dice = Random(path.name)
    for _ in range(150):
        data = mutated(path.read_bytes(), dice, dice.randrange(1, 9))
        check_shape(outline(data, path.name), data)


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.name)
def test_line_ends_of_windows_change_no_line(path):
    data = path.read_bytes()
    wanted = [(s.qualified, s.first, s.line, s.last) for s in outline(data, path.name).symbols]

    found = outline(data.replace(b"\n", b"\r\n"), path.name)

    assert [(s.qualified, s.first, s.line, s.last) for s in found.symbols] == wanted
    assert not any("\r" in s.signature for s in found.symbols)


@pytest.mark.parametrize(
    ("name", "language"),
    [
        ("a/b.py", "python"),
        ("B.PY", "python"),
        ("x.tsx", "tsx"),
        ("dir.py/Makefile", "make"),
        ("Dockerfile.dev", "dockerfile"),
        ("a\\b.rs", "rust"),
        ("uv.lock", "toml"),
        (".bashrc", "bash"),
        ("notes.txt", ""),
        ("", ""),
        (".", ""),
    ],
)
def test_a_language_is_known_by_its_name(name, language):
    assert language_of(name) == language


@pytest.mark.parametrize(
    ("line", "language"),
    [
        (b"#!/bin/sh -eu\n", "bash"),
        (b"#!/usr/bin/env -S python3.11 -u\n", "python"),
        (b"#!/usr/bin/env node", "javascript"),
        (b"#!/usr/bin/perl\n", ""),
        (b"#! /usr/bin/ruby\n", "ruby"),
    ],
)
def test_a_script_without_suffix_is_known_by_its_first_line(line, language):
    assert language_of("tool", line) == language


def test_an_unknown_file_has_an_empty_outline_that_says_so():
    assert outline(b"some words\n", "notes.txt") == Outline((), "shape", "", complete=False)


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.name)
@pytest.mark.parametrize("data", [b"", b"\n", b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\r"])
def test_hardly_a_file_is_no_trouble(path, data):
    found = outline(data, path.name)

    check_shape(found, data)
    assert len(found.symbols) < 2


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("a.json", b"/*"),
        ("a.json", b'"\\"'),
        ("a.json", b"["),
        ("a.json", b'{"a":'),
        ("a.py", b'"""\\"""'),
        ("a.py", b"'''\\'''\n$"),
        ("a.py", b"@"),
        ("a.toml", b'"""\\'),
        ("a.toml", b"a.'"),
        ("a.toml", b"[["),
        ("a.yml", b"- "),
        ("a.yml", b"a "),
        ("a.yml", b"? \n"),
        ("a.ini", b"a \n\t"),
        ("a.md", b"# \t#"),
        ("a.md", b"- - *"),
        ("a.md", b"a\n==="),
        ("a.sql", b"$a$b$"),
        ("a.sql", b"create table "),
        ("a.sql", b"case /*"),
        ("a.css", b"a{/*"),
        ("a.css", b"{"),
        ("a.css", b"a{}"),
        ("Makefile", b"a \\\n"),
        ("Makefile", b"a b:"),
        ("Makefile", b"a:\n\n"),
        ("Dockerfile", b"FROM \n"),
    ],
)
def test_time_grows_with_the_size_and_not_with_its_square(name, unit):
    """Each of these made some pattern start over at every place; 300 KB of it would then take minutes."""
    length = size(short=150_000, long=300_000)
    data = (unit * (length // len(unit)))[:length]
    check = "import sys; from eyespan.outline import outline; outline(sys.stdin.buffer.read(), sys.argv[1])"

    done = subprocess.run([sys.executable, "-c", check, name], input=data, timeout=60, env={**os.environ})

    assert done.returncode == 0


# --- names ------------------------------------------------------------------------------------------------------------

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
def test_nearest_helps_after_a_miss(query, wanted):
    assert [symbol.qualified for symbol in nearest(HARBOUR, query)][: len(wanted) or 3] == wanted


def test_nearest_gives_as_many_as_asked_for():
    found = outline(b"".join(b"def run_%d(): pass\n" % n for n in range(9)), "a.py")

    assert [len(nearest(found, "run", n)) for n in (1, 3, 5)] == [1, 3, 5]


# --- listings ---------------------------------------------------------------------------------------------------------


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


def test_fields_and_constants_go_first_then_signatures_then_what_lies_deep():
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


def test_what_lies_deeper_than_anyone_writes_is_left_out():
    found = outline(b"a{" * 5000, "a.css")

    assert (len(found.symbols), found.complete) == (31, False)


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


def test_the_rest_of_a_huge_file_is_not_looked_at():
    data = b"# a\n" * (MAX_BYTES // 4) + b"# b\n"
    found = outline(data, "a.md")

    assert not found.complete
    assert all(symbol.name == "a" for symbol in found.symbols)


def test_a_rule_for_very_many_targets_is_read_once():
    """With a look at the whole rule for each of its targets, this took minutes."""
    found = outline(b"# All.\n" + b"a " * 100_000 + b": b\n\tc\n", "Makefile")

    assert (found.symbols[0].name, found.symbols[0].first, found.symbols[0].last) == ("a", 1, 3)
    assert len(found.symbols) == 20_000
    assert not found.complete
