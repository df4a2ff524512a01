"""Run grammars in the worker and in this process, and replace those that fail."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyespan import worker
from eyespan.context import CallContext
from eyespan.errors import Cancelled, Missing, TimedOut, Unreadable
from eyespan.opened import decode_bytes
from eyespan.outline import find, outline, source
from eyespan.outline.model import build_outline
from sizes import examples

from .support import FIXTURES, SOURCE, check_shape, mutated

GO = (FIXTURES / "harbour.go").read_bytes()
by_file = pytest.mark.parametrize("path", SOURCE, ids=lambda path: path.name)


@pytest.fixture
def _grammars():
    pytest.importorskip("tree_sitter", reason="the extra `outline` is not installed")


@pytest.mark.usefixtures("_grammars")
@by_file
def test_a_grammar_finds_the_same_in_the_sandbox(path):
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


@pytest.mark.parametrize("error", [Unreadable("", kind="x", reason="crashed"), TimedOut("", seconds=1)])
def test_after_a_crash_or_a_timeout_the_outline_is_by_shape(monkeypatch, error):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(worker, "run", fail)
    found = outline(GO, "a.go", decode=decode_bytes)

    assert (found.how, found.is_complete, found.hint) == ("shape", False, "")
    assert find(found, "Boat.Hail")


def test_without_the_grammar_the_outline_names_the_command_that_installs_it(monkeypatch):
    def fail(*_, **__):
        raise Missing("", what="the outline of go source", install="pip install 'eyespan[outline]'")

    monkeypatch.setattr(worker, "run", fail)
    found = outline(GO, "a.go", decode=decode_bytes)

    assert (found.how, found.is_complete, found.hint) == ("shape", False, "pip install 'eyespan[outline]'")


def test_a_wheel_that_is_not_installed_is_missing(monkeypatch):
    from eyespan.decoders import grammars

    monkeypatch.setitem(grammars._WHEELS, "go", ("no_such_grammar", "language"))
    with pytest.raises(Missing, match="eyespan\\[outline\\]"):
        grammars.load_parser("go")


def test_a_cancelled_call_gets_no_outline(monkeypatch):
    context = CallContext()
    context.cancelled = True

    def run(task, fd, params, *, asked, context):
        context.advance(0, 0)
        raise AssertionError("not cancelled")

    monkeypatch.setattr(worker, "run", run)
    with pytest.raises(Cancelled):
        outline(GO, "a.go", decode=decode_bytes, context=context)


def test_a_deadline_of_the_caller_is_kept(monkeypatch):
    def run(task, fd, params, *, asked, context):
        context.advance(0, 0)
        raise AssertionError("no deadline")

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
def test_an_invalid_response_is_not_used(rows):
    check_shape(build_outline(source._valid_definitions(rows, 40), "tree-sitter"), b"\n" * 39)


def test_a_response_with_lines_outside_the_file_is_not_used():
    row = ["f", "function", 3, 3, 4, -1, "f()", ""]

    assert len(source._valid_definitions([row], 4)) == 1
    assert source._valid_definitions([row], 3) == []
    assert source._valid_definitions([[*row[:5], 0, *row[6:]]], 4) == []
