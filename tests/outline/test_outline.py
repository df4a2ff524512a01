"""Outline every language by its fixture, and check the invariants that hold for any file."""

from __future__ import annotations

import subprocess
import sys
from random import Random

import pytest

from eyespan.context import CallContext
from eyespan.outline import MAX_BYTES, Outline, find, isolated, language_of, parsed_part
from tests.sizes import size

from .symbol_checks import ALL, EXPECTED, SOURCE, check_shape, listing, mutated, outline

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
    for _ in range(size(short=50, long=150)):
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
        (b"#!/usr/bin/perl\n", "perl"),
        (b"#! /usr/bin/ruby\n", "ruby"),
    ],
)
def test_a_script_without_suffix_is_known_by_its_first_line(line, language):
    assert language_of("tool", line) == language


def test_an_unknown_file_has_an_empty_outline_that_is_not_complete():
    assert outline(b"some words\n", "notes.txt") == Outline((), "shape", "", is_complete=False)


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.name)
@pytest.mark.parametrize("data", [b"", b"\n", b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\r"])
def test_a_nearly_empty_file_has_at_most_one_symbol(path, data):
    found = outline(data, path.name)

    check_shape(found, data)
    assert len(found.symbols) < 2


REPEATED = {
    "a.json": [b"/*", b'"\\"', b"[", b'{"a":'],
    "a.py": [b'"""\\"""', b"'''\\'''\n$", b"@"],
    "a.toml": [b'"""\\', b"a.'", b"[["],
    "a.yml": [b"- ", b"a ", b"? \n"],
    "a.ini": [b"a \n\t"],
    "a.md": [b"# \t#", b"- - *", b"a\n==="],
    "a.sql": [b"$a$b$", b"create table ", b"case /*"],
    "a.css": [b"a{/*", b"{", b"a{}"],
    "Makefile": [b"a \\\n", b"a b:", b"a:\n\n"],
    "Dockerfile": [b"FROM \n"],
}
"""Texts by file name. Each made a pattern start over at every place, so that 300 KB took minutes."""
CHECK = """
import sys
from eyespan.outline import outline_here

name, length, *units = sys.argv[1:]
for unit in map(bytes.fromhex, units):
    outline_here((unit * (int(length) // len(unit))), name)
"""


@pytest.mark.parametrize("name", REPEATED)
def test_time_grows_with_the_size_and_not_with_its_square(name):
    length = size(short=30_000, long=300_000)
    units = [unit.hex() for unit in REPEATED[name]]

    done = subprocess.run([sys.executable, "-c", CHECK, name, str(length), *units], timeout=60 * len(units))

    assert done.returncode == 0


def test_symbols_that_are_nested_too_deep_are_left_out():
    found = outline(b"a{" * 5000, "a.css")

    assert (len(found.symbols), found.is_complete) == (31, False)


def test_the_rest_of_a_huge_file_is_not_parsed(monkeypatch):
    most_bytes = size(short=200_000, long=MAX_BYTES)
    monkeypatch.setattr("eyespan.outline.MAX_BYTES", most_bytes)
    data = b"# a\n" * (most_bytes // 4) + b"# b\n"
    found = outline(data, "a.md")

    assert not found.is_complete
    assert all(symbol.name == "a" for symbol in found.symbols)


@pytest.mark.parametrize(
    ("data", "part"), [(b"ab\ncd\nef", b"ab\ncd\n"), (b"abcdefghi", b"abcdefg"), (b"ab\ncd", b"ab\ncd")]
)
def test_the_part_of_a_huge_file_that_is_parsed_ends_with_a_line(monkeypatch, data, part):
    monkeypatch.setattr("eyespan.outline.MAX_BYTES", 7)

    assert parsed_part(data) == (part, len(data) <= 7)


@pytest.mark.parametrize(("doubt", "is_valid"), [(-1, False), (0, True), (3, True), (4, False)])
def test_a_symbol_of_the_worker_that_cannot_be_is_refused(doubt, is_valid):
    row = ["a", "a", "function", 1, 1, 2, 0, "", doubt]

    assert (isolated._checked_symbols([row], 3) is not None) is is_valid


def test_a_rule_for_very_many_targets_is_read_once():
    """Reading the whole rule for each of its targets took minutes."""
    found = outline(b"# All.\n" + b"a " * 100_000 + b": b\n\tc\n", "Makefile")

    assert (found.symbols[0].name, found.symbols[0].first, found.symbols[0].last) == ("a", 1, 3)
    assert len(found.symbols) == 20_000
    assert not found.is_complete


def test_a_grammar_is_loaded_before_its_first_courtesy_outline(monkeypatch):
    monkeypatch.setattr(isolated, "_loaded", set())
    parsed = []

    def decode(task, data, params, context):
        parsed.append(data)
        return {"symbols": [], "how": "ast", "complete": True}, []

    for is_courtesy in (False, True, True):
        isolated.outline_in_worker(b"x", "python", decode, CallContext(), 1, is_courtesy=is_courtesy)

    assert parsed == [b"x", b"", b"x", b"x"]
