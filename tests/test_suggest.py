from __future__ import annotations

import pytest

from eyespan import suggest

NAMES = ["reader.py", "Reader.py", "readers", "writer.py", "read me.txt", "config_loader.py", "a.py"]


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("READER.PY", ["reader.py", "Reader.py", "readers"]),
        ("raeder.py", ["reader.py", "Reader.py", "writer.py"]),
        ("wirter.py", ["writer.py", "reader.py", "Reader.py"]),
        ("loader", ["readers", "config_loader.py"]),
        ("config", ["config_loader.py"]),
        ("xyz", []),
        ("", []),
        ("x" * 300, []),
    ],
)
def test_similar_names_come_with_the_most_similar_first(name, wanted):
    assert suggest.nearest(name, NAMES) == wanted


def test_as_many_names_are_suggested_as_asked_for():
    assert [len(suggest.nearest("reader.py", NAMES, most)) for most in (1, 2, 4)] == [1, 2, 4]


def test_names_that_look_the_same_are_lookalikes():
    names = ["caf\u00e9\u00a0menu", "cafe menu", "caf\u00e9 menu", "don\u2019t", "a\u200bb"]

    assert suggest.lookalikes("cafe\u0301 menu", names) == ["caf\u00e9\u00a0menu", "caf\u00e9 menu"]
    assert suggest.lookalikes("don't", names) == ["don\u2019t"]
    assert suggest.lookalikes("ab", names) == ["a\u200bb"]
    assert suggest.lookalikes("caf\u00e9 menu", ["caf\u00e9 menu"]) == []


def test_long_names_are_compared_in_small_numbers():
    """Comparing two thousand names of two hundred equal letters took seven seconds."""
    names = ["a" * 198 + f"{n:x}" for n in range(2000)]

    assert len(suggest.nearest("a" * 199, names)) == 3
