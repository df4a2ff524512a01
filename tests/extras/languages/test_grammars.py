"""Run grammars in the worker and in this process, and report those that fail or are missing."""

from __future__ import annotations

from random import Random

import pytest

from eyespan.context import CallContext
from eyespan.errors import Cancelled, Missing, TimedOut, Unreadable
from eyespan.extras.languages import grammars
from eyespan.opened import decode_bytes
from eyespan.outline import find
from eyespan.outline import outline as isolated_outline
from tests.outline.symbol_checks import FIXTURES, SOURCE, check_shape, mutated, outline

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
    assert (find(found, "Boat.Hail")[0].last, find(found, "Boat.Hail")[0].doubt) == (38, 0)
    assert find(found, "Whole")


@pytest.mark.usefixtures("_grammars")
def test_an_unknown_version_of_a_grammar_is_missing(monkeypatch):
    monkeypatch.setattr(grammars, "_grammars", {})
    monkeypatch.setitem(grammars.QUERIES, "go", "(no_such_node) @name")

    with pytest.raises(Missing):
        outline(GO, "a.go")


@pytest.mark.usefixtures("_grammars")
def test_other_encodings_are_parsed_too():
    assert outline(b"\xff\xfe" + GO.decode().encode("utf-16-le"), "a.go").symbols == outline(GO, "a.go").symbols


@pytest.mark.usefixtures("_grammars")
def test_large_columns_do_no_harm():
    data = b"function f(){return 1};" * 4000

    assert len(outline(data, "a.js").symbols) == 4000


# --- when it fails ----------------------------------------------------------------------------------------------------


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


@pytest.fixture
def _no_go(monkeypatch):
    monkeypatch.setattr(grammars, "_grammars", {})
    monkeypatch.setitem(grammars._WHEELS, "go", ("no_such_grammar", "language"))


@pytest.mark.usefixtures("_no_go")
def test_a_grammar_that_is_not_installed_is_missing():
    with pytest.raises(Missing) as found:
        outline(GO, "a.go")

    assert (found.value.what, found.value.install) == ("the outline of go source", "pip install 'eyespan[outline]'")


@pytest.mark.usefixtures("_no_go")
def test_a_grammar_is_looked_for_once(monkeypatch):
    with pytest.raises(Missing):
        outline(GO, "a.go")
    monkeypatch.delitem(grammars._WHEELS, "go")

    with pytest.raises(Missing):
        outline(GO, "b.go")


def test_a_missing_grammar_is_reported_only_to_those_who_asked():
    def fail(*_, **__):
        raise Missing("", what="the outline of go source", install="pip install 'eyespan[outline]'")

    found = isolated_outline(GO, "a.go", decode=fail, is_courtesy=True)
    with pytest.raises(Missing):
        isolated_outline(GO, "a.go", decode=fail)

    assert (found.symbols, found.is_complete, found.hint) == ((), False, "pip install 'eyespan[outline]'")


def test_without_the_grammar_of_its_scripts_a_page_has_its_elements(monkeypatch):
    monkeypatch.setattr(grammars, "_grammars", {"javascript": None})

    found = outline(b'<div id="a">\n</div>\n<script>\nfunction f() {}\n</script>\n', "a.html")

    assert [one.name for one in found.symbols] == ["#a", "script"]
    assert (found.is_complete, found.hint) == (False, "pip install 'eyespan[outline]'")


def test_the_caller_can_cancel_it():
    context = CallContext()
    context.cancelled = True

    with pytest.raises(Cancelled):
        isolated_outline(GO, "a.go", decode=decode_bytes, context=context)


def test_the_deadline_of_the_caller_holds():
    with pytest.raises(TimedOut):
        isolated_outline(GO, "a.go", decode=decode_bytes, context=CallContext(deadline_seconds=-1))


ROW = ["f", "f", "function", 3, 3, 4, 0, "f()", 0]


def test_a_response_with_valid_rows_is_an_outline():
    def answer(*_):
        return {"symbols": [ROW], "how": "ast", "complete": True, "hint": ""}, []

    found = isolated_outline(b"\n" * 9, "a.py", decode=answer)

    assert [(one.name, one.last) for one in found.symbols] == [("f", 4)]


@pytest.mark.parametrize(
    "rows",
    [
        None,
        [None],
        [ROW[:8]],
        [[*ROW[:4], 0, *ROW[5:]]],
        [[*ROW[:5], 99, *ROW[6:]]],
        [[*ROW[:6], 1, *ROW[7:]]],
        [ROW, ["g", "f.g", "function", 9, 9, 9, 1, "g()", 0]],
        [[*ROW[:7], 7, 0]],
        [[*ROW[:8], 99]],
    ],
)
def test_a_response_with_invalid_rows_is_an_empty_outline(rows):
    def answer(*_):
        return {"symbols": rows, "how": "ast", "complete": True, "hint": ""}, []

    found = isolated_outline(b"\n" * 9, "a.py", decode=answer)

    assert (found.symbols, found.is_complete) == ((), False)
