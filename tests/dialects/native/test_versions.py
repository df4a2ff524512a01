from __future__ import annotations

import pytest

from eyespan import Workspace
from eyespan.dialects.native.versions import Version, Versions, as_hash

from .answers import line_numbers, shown

TEXTS = [f"line {n}" for n in range(1, 11)]
OLD = Version.of(range(1, 11), TEXTS)


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
def test_the_changed_lines_are_named(change, words):
    versions = Versions()
    versions.keep("a", "1", OLD)
    now = change(TEXTS)

    assert versions.changes("a", "1", Version.of(range(1, len(now) + 1), now)) == words


def test_only_the_same_file_hash_and_start_are_compared():
    versions = Versions()
    versions.keep("a", "1", OLD)

    assert versions.changes("b", "1", OLD) is None
    assert versions.changes("a", "2", OLD) is None
    assert versions.changes("a", "1", Version.of(range(3, 11), TEXTS[2:])) is None


def test_the_oldest_versions_are_dropped():
    versions = Versions(max_bytes=1250)
    for value in "123":
        versions.keep("a", value, OLD)

    assert [versions.changes("a", value, OLD) is None for value in "123"] == [True, False, False]
    versions.keep("a", "4", Version.of(range(200), ["x"] * 200))
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
def test_a_hash_is_accepted_in_several_spellings(value, known):
    assert as_hash(value) == known


# --- in answers ------------------------------------------------------------------------------------------------------


def test_what_the_caller_has_already_is_one_line(call):
    first = call("a.py")
    value = first.structured["parts"][0]["hash"]

    again = call("a.py", known=[value])

    assert again.text == f"> a.py:1-30/30 #{value} unchanged"
    assert again.structured["parts"][0]["unchanged"] is True
    assert call("a.py", known=[f"#{value}"]) == again
    assert call("a.py", known=[int(value)]) == again


def test_a_hash_is_of_the_file_the_window_and_the_content(root, call):
    (root / "b.py").write_bytes((root / "a.py").read_bytes())
    values = [call(selector).structured["parts"][0]["hash"] for selector in ("a.py", "b.py", "a.py:1-29", "a.py:2-")]

    assert len(set(values)) == 4
    assert call("a.py").structured["parts"][0]["hash"] == values[0]
    with Workspace(root) as other:
        assert other.tool("native").call({"files": "a.py"}).structured["parts"][0]["hash"] == values[0]


def test_a_changed_file_is_shown_again_with_the_changed_lines_named(root, call):
    value = call("a.py").structured["parts"][0]["hash"]
    text = (root / "a.py").read_text().replace("line 7\n", "line seven\n").replace("line 20\n", "")
    (root / "a.py").write_text(text)

    reply = call("a.py", known=[value])

    assert (7, 1, "line seven") in shown(reply.text)
    assert f"changed since #{value}: 7, 1 removed before 20" in reply.text


def test_without_the_old_version_in_the_cache_only_the_hint_is_missing(root, call):
    value = call("a.py").structured["parts"][0]["hash"]
    (root / "a.py").write_text("new\n")
    with Workspace(root) as other:
        fresh = other.tool("native").call({"files": "a.py", "known": [value]})

    assert fresh.text == call("a.py").text
    assert call("a.py", known=[value]).text.startswith(fresh.text)


def test_a_caller_with_the_beginning_gets_the_rest(root, call):
    first = call("a.py", budget=100)
    part = first.structured["parts"][0]
    assert part["next"] is not None

    second = call("a.py", known=[part["hash"]])

    header, _, rest = second.text.partition("\n")
    assert header == f"> {part['selector']}/30 #{part['hash']} unchanged"
    assert line_numbers(first) + [number for number, _, _ in shown(rest)] == list(range(1, 31))


def test_a_caller_with_all_that_one_call_can_read_gets_what_follows(root, call):
    (root / "long.txt").write_text("word " * 40_000)
    first = call("long.txt", budget=2000)
    held = first.structured["parts"][0]["hash"]

    second = call("long.txt", budget=2000, known=[held])

    assert second.text != first.text
    assert second.structured["left_out"]
