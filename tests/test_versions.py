"""Versions: what changed since a hash, as long as it is remembered."""

from __future__ import annotations

import pytest

from eyespan.dialects.native.versions import Versions, as_hash

OLD = [(n, f"line {n}") for n in range(1, 11)]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda lines: lines, "none of these lines"),
        (lambda lines: [*lines[:3], "new", *lines[4:]], "4"),
        (lambda lines: [*lines[:3], "new", "newer", *lines[3:]], "4-5"),
        (lambda lines: [*lines[:3], *lines[5:]], "2 removed before 4"),
        (lambda lines: ["x", *lines[1:6], "y", *lines[7:]], "1, 7"),
    ],
)
def test_changes_in_words(change, words):
    versions = Versions()
    versions.keep("a", "1", OLD)
    now = list(enumerate(change([text for _, text in OLD]), 1))

    assert versions.changes("a", "1", now) == words


def test_only_the_same_file_hash_and_start_are_compared():
    versions = Versions()
    versions.keep("a", "1", OLD)

    assert versions.changes("b", "1", OLD) is None
    assert versions.changes("a", "2", OLD) is None
    assert versions.changes("a", "1", OLD[2:]) is None


def test_the_oldest_are_forgotten():
    versions = Versions(max_lines=25)
    for value in "123":
        versions.keep("a", value, OLD)

    assert [versions.changes("a", value, OLD) is None for value in "123"] == [True, False, False]
    versions.keep("a", "4", [(n, "x") for n in range(100)])
    assert versions.changes("a", "3", OLD) is not None


@pytest.mark.parametrize(
    ("value", "known"),
    [
        ("482913758201", "482913758201"),
        ("#000000000007", "000000000007"),
        (7, "000000000007"),
        ("abc", None),
        (-1, None),
        (1.5, None),
        (True, None),
        ("1" * 13, None),
    ],
)
def test_hashes_as_callers_spell_them(value, known):
    assert as_hash(value) == known
