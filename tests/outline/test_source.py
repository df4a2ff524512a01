"""Run grammars in the worker and in this process, and replace those that fail."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyespan.context import CallContext
from eyespan.errors import Cancelled, Missing, TimedOut, Unreadable
from eyespan.opened import decode_bytes
from eyespan.outline import find, outline_here, source
from eyespan.outline import outline as isolated_outline
from eyespan.outline.model import build_outline
from tests.sizes import examples

from .symbol_checks import FIXTURES, SOURCE, check_shape, mutated, outline

GO = (FIXTURES / "harbour.go").read_bytes()
by_file = pytest.mark.parametrize("path", SOURCE, ids=lambda path: path.name)


@pytest.fixture
def _grammars():
    pytest.importorskip("tree_sitter", reason="the extra `outline` is not installed")


@pytest.mark.usefixtures("_grammars")
@by_file
def test_a_grammar_finds_the_same_in_the_sandbox(path):
    data = path.read_bytes()

    assert isolated_outline(data, path.name, decode=decode_bytes) == outline(data, path.name)


@pytest.mark.usefixtures("_grammars")
@by_file
def test_no_mutation_breaks_a_grammar_or_only_its_own_outline(path):
    dice = Random(path.name)
    for _ in range(8):
        data = mutated(path.read_bytes(), dice, dice.randrange(1, 9))
        check_shape(isolated_outline(data, path.name, decode=decode_bytes), data)


@pytest.mark.usefixtures("_grammars")
def test_broken_source_still_has_an_outline():
    found = outline(GO + b"\nfunc Broken() {\n\tx := \n}\n\nfunc Whole() {}\n", "a.go")

    assert (found.how, found.is_complete) == ("tree-sitter", False)
    assert find(found, "Boat.Hail")[0].last == 38
    assert find(found, "Whole")


@pytest.mark.usefixtures("_grammars")
def test_other_encodings_are_parsed_too():
    assert outline(b"\xff\xfe" + GO.decode().encode("utf-16-le"), "a.go").symbols == outline(GO, "a.go").symbols


@pytest.mark.usefixtures("_grammars")
def test_large_columns_do_no_harm():
    data = b"function f(){return 1};" * 4000

    assert len(outline(data, "a.js").symbols) == 4000


# --- when it fails ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [Unreadable("", kind="x", reason="it crashed"), Missing("", what="x", install="y")])
def test_after_a_crash_the_worker_outlines_by_shape(error):
    def decode(task, data, params, context):
        if task == "outline-go":
            raise error
        return decode_bytes(task, data, params, context)

    found = isolated_outline(GO, "a.go", decode=decode)

    assert (found.how, found.is_complete, found.hint) == ("shape", False, "the parser failed")
    assert find(found, "Boat.Hail")


@pytest.mark.parametrize("name", ["a.go", "a.py", "a.json"])
def test_a_worker_that_fails_costs_only_the_outline(name):
    def fail(*_, **__):
        raise Unreadable("", kind="x", reason="it crashed")

    found = isolated_outline(GO, name, decode=fail, is_courtesy=True)
    with pytest.raises(Unreadable, match="it crashed"):
        isolated_outline(GO, name, decode=fail)

    assert (found.symbols, found.is_complete, found.hint) == ((), False, "the parser failed")


def test_an_outline_that_takes_too_long_is_left_out_with_the_reason():
    def fail(*_, **__):
        raise TimedOut("", seconds=0.3)

    found = isolated_outline(GO, "a.go", decode=fail, deadline_seconds=0.3, is_courtesy=True)

    assert (found.symbols, found.hint) == ((), "the outline was not finished within 0.3 s")


def test_without_the_grammar_the_outline_says_how_to_get_it():
    def fail(language):
        raise Missing("", what="the outline of go source", install="pip install 'eyespan[outline]'")

    found = outline_here(GO, "a.go", fail)

    assert (found.how, found.is_complete, found.hint) == ("shape", False, "pip install 'eyespan[outline]'")


def test_a_wheel_that_is_not_there_is_missing(monkeypatch):
    from eyespan.decoders import grammars

    monkeypatch.setitem(grammars._WHEELS, "go", ("no_such_grammar", "language"))
    with pytest.raises(Missing, match="eyespan\\[outline\\]"):
        grammars.load_parser("go")


def test_the_caller_can_cancel_it():
    context = CallContext()
    context.cancelled = True

    with pytest.raises(Cancelled):
        isolated_outline(GO, "a.go", decode=decode_bytes, context=context)


def test_the_deadline_of_the_caller_holds():
    with pytest.raises(TimedOut):
        isolated_outline(GO, "a.go", decode=decode_bytes, context=CallContext(deadline_seconds=-1))


ROW = ["f", "f", "function", 3, 3, 4, 0, "f()"]


@pytest.mark.parametrize(
    "rows",
    [
        None,
        [None],
        [ROW[:7]],
        [[*ROW[:4], 0, *ROW[5:]]],
        [[*ROW[:5], 99, *ROW[6:]]],
        [[*ROW[:6], 1, ROW[7]]],
        [ROW, ["g", "f.g", "function", 9, 9, 9, 1, "g()"]],
        [[*ROW[:6], 0, 7]],
    ],
)
def test_a_response_with_invalid_rows_is_an_empty_outline(rows):
    def answer(*_):
        return {"symbols": rows, "how": "ast", "complete": True, "hint": ""}, []

    found = isolated_outline(b"\n" * 9, "a.py", decode=answer)

    assert (found.symbols, found.is_complete) == ((), False)


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 50) | st.text(max_size=4) | st.sampled_from(["function", "class"]),
    lambda inner: st.lists(inner, max_size=9),
    max_leaves=8,
)


@settings(max_examples=examples(50), deadline=None)
@given(JUNK | st.lists(st.lists(JUNK, min_size=8, max_size=8), max_size=4))
def test_an_invalid_response_is_not_used(rows):
    check_shape(build_outline(source._valid_definitions(rows, 40), "tree-sitter"), b"\n" * 39)


def test_a_response_with_lines_outside_the_file_is_not_used():
    row = ["f", "function", 3, 3, 4, -1, "f()", ""]

    assert len(source._valid_definitions([row], 4)) == 1
    assert source._valid_definitions([row], 3) == []
    assert source._valid_definitions([[*row[:5], 0, *row[6:]]], 4) == []
