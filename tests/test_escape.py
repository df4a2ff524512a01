from __future__ import annotations

import io
import zipfile

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from eyespan import Workspace, escape
from eyespan.cli.main import main
from tests.sizes import examples

HIDDEN = "\x00\x07\t\n\r\x0b\x1b\x7f\x85\xad\u034f\u061c\u180e\u200b\u200e\u2028\u2029\u202e\u2066\ufeff\U000e0041"
"""Controls, line separators, direction marks, characters without width, fillers and tags."""
ORDINARY = "aZ09 ._-äé日本語אבגдж😀€\u00a0\u3000"
texts = st.text(st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from(HIDDEN)), max_size=40)


@given(texts)
def test_a_visible_text_is_one_line_without_hidden_characters(text):
    shown = escape.visible(text)

    assert len(shown.splitlines()) <= 1
    assert not any(map(escape.is_hidden, shown))
    assert all(character.isprintable() or character in escape.BLANKS for character in shown)


@given(st.text(ORDINARY, max_size=40))
def test_ordinary_text_is_kept(text):
    assert escape.visible(text) == text


@pytest.mark.parametrize(
    ("character", "shown"),
    [
        ("\n", "\\x0a"),
        ("\x1b", "\\x1b"),
        ("\x85", "\\x85"),
        ("\u200b", "\\u200b"),
        ("\u2028", "\\u2028"),
        ("\u202e", "\\u202e"),
        ("\u3164", "\\u3164"),
        ("\ufe01", "\\ufe01"),
        ("\U000e0041", "\\U000e0041"),
    ],
)
def test_a_hidden_character_is_written_as_python_writes_it(character, shown):
    assert escape.visible(f"a{character}b") == f"a{shown}b"


@pytest.mark.parametrize("character", HIDDEN)
def test_a_text_with_any_hidden_character_is_changed(character):
    assert escape.visible(f"a{character}b") != f"a{character}b"


def test_tabs_are_kept_on_request():
    assert escape.visible("a\tb\n", keeps_tabs=True) == "a\tb\\x0a"


@given(texts, st.integers(1, 50))
def test_a_short_name_is_visible_and_cut_with_dots(text, limit):
    shown = escape.short_name(text, limit)

    assert len(shown) <= limit + 3 or len(text) <= limit
    assert shown.endswith("...") or len(text) <= limit
    assert not any(map(escape.is_hidden, shown))


# --- names of files --------------------------------------------------------------------------------------------------

NAMES = st.text(st.sampled_from("ab" + HIDDEN.replace("\0", "")), min_size=1, max_size=12)


def is_safe(text: str) -> bool:
    """Return True if a text has no hidden characters but line ends and tabs."""
    return not any(escape.is_hidden(character) for character in text if character not in "\n\t")


@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=NAMES)
def test_every_surface_prints_names_escaped(tmp_path_factory, capfdbinary, name):
    assume(name.strip() == name and escape.visible(name) != name)
    root = tmp_path_factory.mktemp("names")
    (root / name).write_text("text\n")
    (root / "other").write_text("text\n")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(name, "text")
    (root / "a.zip").write_bytes(packed.getvalue())
    shown = escape.visible(name)

    with Workspace(root) as workspace:
        call = workspace.tool("native").call
        directory = call({"files": "."}).text
        archive = call({"files": "a.zip"}).text
        header = call({"files": [{"path": name}]}).text
        failure = call({"files": [{"path": f"missing{name}missing"}]}).text
    status = main(["read", name, "other", f"missing{name}missing", "--root", str(root)])
    printed = capfdbinary.readouterr()
    output, errors = printed.out.decode(), printed.err.decode()

    assert status == 1
    assert [is_safe(text) for text in (directory, archive, header, failure, output, errors)] == [True] * 6
    assert f" {shown}" in directory.split("\n")
    assert archive.split("\n")[2].endswith(f" {shown}")
    assert header.startswith(f"> {shown}:1/1 #")
    assert failure.startswith(f">! missing{shown}missing: ")
    assert output.startswith(f"==> {shown} <==\n")
    assert f"missing{shown}missing" in errors


@pytest.mark.parametrize(
    ("numbers", "runs"),
    [([], ""), ([3], "3"), ([3, 7, 8, 9, 12], "3,7-9,12"), ([1, 3, 5, 7, 9], "1,3,5,7,...")],
)
def test_numbers_are_shown_in_runs_of_which_many_are_cut(numbers, runs):
    assert escape.number_runs(numbers, 4) == runs
