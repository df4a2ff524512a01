"""Where grammars run, what becomes of their failures, and the guess without them."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyespan import worker
from eyespan.context import CallContext
from eyespan.errors import Cancelled, Missing, TimedOut, Unreadable
from eyespan.opened import decode_bytes
from eyespan.outline import find, language_of, outline, source
from eyespan.outline.model import build
from eyespan.outline.shape import finds_by_shape
from sizes import examples, size

from .support import EXPECTED, FIXTURES, check_shape, mutated

SOURCE = [
    path
    for path in sorted(FIXTURES.iterdir())
    if "tree-sitter" in (EXPECTED / f"{path.name}.txt").read_text().split("\n")[0]
]
GO = (FIXTURES / "harbour.go").read_bytes()
by_file = pytest.mark.parametrize("path", SOURCE, ids=lambda path: path.name)


@pytest.fixture
def _grammars():
    pytest.importorskip("tree_sitter", reason="the extra `outline` is not installed")


@pytest.mark.usefixtures("_grammars")
@by_file
def test_behind_the_walls_or_not_it_is_the_same(path):
    data = path.read_bytes()

    assert outline(data, path.name, decode=decode_bytes) == outline(data, path.name)


@pytest.mark.usefixtures("_grammars")
@by_file
def test_no_mutation_breaks_a_grammar_or_only_its_own_outline(path):
    dice = Random(path.name)
    for _ in range(8):
        data = mutated(path.read_bytes(), dice, dice.randrange(1, 9))
        check_shape(outline(data, path.name, decode=decode_bytes), data)


@pytest.mark.usefixtures("_grammars")
def test_broken_source_gives_what_can_be_known():
    found = outline(GO + b"\nfunc Broken() {\n\tx := \n}\n\nfunc Whole() {}\n", "a.go")

    assert (found.how, found.complete) == ("tree-sitter", False)
    assert find(found, "Boat.Hail")[0].last == 38
    assert find(found, "Whole")


@pytest.mark.usefixtures("_grammars")
def test_other_encodings_are_parsed_too():
    assert outline(b"\xff\xfe" + GO.decode().encode("utf-16-le"), "a.go").symbols == outline(GO, "a.go").symbols


@pytest.mark.usefixtures("_grammars")
def test_columns_beyond_small_numbers_do_no_harm():
    data = b"function f(){return 1};" * 4000

    assert len(outline(data, "a.js").symbols) == 4000


# --- when it fails ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [Unreadable("", kind="x", reason="it crashed"), TimedOut("", seconds=1)])
def test_a_crash_or_a_hang_costs_only_exactness(monkeypatch, error):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(worker, "run", fail)
    found = outline(GO, "a.go", decode=decode_bytes)

    assert (found.how, found.complete, found.hint) == ("shape", False, "")
    assert find(found, "Boat.Hail")


def test_without_the_grammar_the_outline_says_how_to_get_it(monkeypatch):
    def fail(*_, **__):
        raise Missing("", what="the outline of go source", install="pip install 'eyespan[outline]'")

    monkeypatch.setattr(worker, "run", fail)
    found = outline(GO, "a.go", decode=decode_bytes)

    assert (found.how, found.complete, found.hint) == ("shape", False, "pip install 'eyespan[outline]'")


def test_a_wheel_that_is_not_there_is_missing(monkeypatch):
    from eyespan.decoders import grammars

    monkeypatch.setitem(grammars._WHEELS, "go", ("no_such_grammar", "language"))
    with pytest.raises(Missing, match="eyespan\\[outline\\]"):
        grammars.find_rows("go")


def test_cancelling_is_the_callers_affair(monkeypatch):
    context = CallContext()
    context.cancelled = True

    def run(task, fd, params, *, asked, context):
        context.advance(0, 0)
        raise AssertionError("it was cancelled")

    monkeypatch.setattr(worker, "run", run)
    with pytest.raises(Cancelled):
        outline(GO, "a.go", decode=decode_bytes, context=context)


def test_a_deadline_of_the_caller_is_kept(monkeypatch):
    def run(task, fd, params, *, asked, context):
        context.advance(0, 0)
        raise AssertionError("it is too late")

    monkeypatch.setattr(worker, "run", run)
    with pytest.raises(TimedOut):
        outline(GO, "a.go", decode=decode_bytes, context=CallContext(deadline_seconds=-1))


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 50) | st.text(max_size=4) | st.sampled_from(["function", "class"]),
    lambda inner: st.lists(inner, max_size=9),
    max_leaves=8,
)


@settings(max_examples=examples(50), deadline=None)
@given(JUNK | st.lists(st.lists(JUNK, min_size=8, max_size=8), max_size=4))
def test_an_answer_that_makes_no_sense_is_not_believed(rows):
    check_shape(build(source._checked(rows, 40), "tree-sitter"), b"\n" * 39)


def test_an_answer_outside_the_file_is_not_believed():
    row = ["f", "function", 3, 3, 4, -1, "f()", ""]

    assert len(source._checked([row], 4)) == 1
    assert source._checked([row], 3) == []
    assert source._checked([[*row[:5], 0, *row[6:]]], 4) == []


# --- the guess --------------------------------------------------------------------------------------------------------


@by_file
def test_by_its_shape_most_of_it_is_known(path):
    """Every definition with a body, to its last line; fields, constants and declarations need the grammar."""
    wanted = set()
    for row in (EXPECTED / f"{path.name}.txt").read_text("utf-8").split("\n")[1:-1]:
        kind, lines, _, name = row.split(" | ")[0].split(" ", 3)
        first, _, last = lines.split("/")
        if kind in ("class", "struct", "trait", "impl", "namespace", "function", "method") and first != last:
            wanted.add((name, int(last)))
    found = build(finds_by_shape(path.read_text("utf-8"), language_of(path.name)), "shape")

    known = {(symbol.qualified, symbol.last) for symbol in found.symbols}
    assert len(wanted & known) >= 0.75 * len(wanted), wanted - known
    check_shape(found, path.read_bytes())


@by_file
def test_no_mutation_breaks_the_guess(path):
    dice = Random(path.name)
    for _ in range(150):
        data = mutated(path.read_bytes(), dice, dice.randrange(1, 9))
        text = data.decode("utf-8", "replace")
        check_shape(build(finds_by_shape(text, language_of(path.name)), "shape"), data)


LENGTH = size(short=40_000, long=100_000)


@pytest.mark.parametrize("language", ["javascript", "go", "rust", "c", "cpp", "bash", "php", "ruby", "lua", "swift"])
@pytest.mark.parametrize("unit", ["{", "/*", '"\\"', "f(){", "a\n", "(", "'\\'", "`\\`", "f(\n", "#", "}\n", "class "])
def test_the_guess_takes_time_in_proportion(language, unit):
    """Some pattern starting over at every place would take minutes here."""
    finds_by_shape((unit * LENGTH)[:LENGTH], language)
