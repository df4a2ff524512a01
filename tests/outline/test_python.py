from __future__ import annotations

import ast
import random
import sysconfig
import warnings
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyespan.outline import find, render
from tests.sizes import examples, size

from .symbol_checks import check_shape, mutated, outline

FIXTURE = (Path(__file__).parent / "fixtures" / "harbour.py").read_bytes()
STDLIB = Path(sysconfig.get_paths()["stdlib"])
MODULES = sorted(path for path in STDLIB.glob(size(short="*.py", long="**/*.py")) if "site-packages" not in path.parts)
SAMPLE = random.Random(6).sample(MODULES, size(short=25, long=80))


def rows(found):
    return [(s.kind, s.qualified, s.first, s.line, s.last, s.depth) for s in found.symbols]


def test_the_fixture_symbol_by_symbol():
    found = outline(FIXTURE, "harbour.py")

    assert (found.how, found.language, found.is_complete, found.module) == ("ast", "python", True, "harbour")
    assert rows(found) == [
        ("constant", "CAPACITY", 10, 12, 12, 0),
        ("constant", "DEPTHS", 13, 13, 16, 0),
        ("constant", "_cache", 17, 17, 17, 0),
        ("constant", "first", 18, 18, 18, 0),
        ("constant", "others", 18, 18, 18, 0),
        ("class", "HarbourError", 21, 21, 22, 0),
        ("class", "Boat", 25, 28, 52, 0),
        ("field", "Boat.name", 31, 31, 31, 1),
        ("field", "Boat.draught", 32, 32, 32, 1),
        ("field", "Boat.crew", 33, 33, 33, 1),
        ("method", "Boat.is_deep", 35, 36, 37, 1),
        ("method", "Boat.parse", 39, 40, 52, 1),
        ("function", "Boat.parse.clean", 49, 49, 50, 2),
        ("class", "Harbour", 55, 55, 78, 0),
        ("field", "Harbour.berths", 56, 56, 56, 1),
        ("class", "Harbour.Berth", 58, 58, 63, 1),
        ("method", "Harbour.Berth.__init__", 59, 59, 60, 2),
        ("method", "Harbour.Berth.wait", 62, 62, 63, 2),
        ("method", "Harbour.moor", 65, 66, 66, 1),
        ("method", "Harbour.moor", 68, 69, 69, 1),
        ("method", "Harbour.moor", 71, 72, 75, 1),
        ("method", "Harbour.close", 77, 77, 78, 1),
        ("function", "ring", 83, 83, 84, 0),
        ("function", "ring", 88, 88, 89, 0),
        ("function", "tide", 96, 96, 97, 0),
        ("function", "main", 100, 100, 100, 0),
        ("constant", "lookup", 103, 103, 103, 0),
    ]


def test_signatures_are_spelled_as_in_the_file():
    listed = render(outline(FIXTURE, "harbour.py")).split("\n")

    assert listed[1] == "13-16 DEPTHS: dict[str, float]"
    assert listed[3:6] == ['18 first, *others = "abc"', "21-22 class HarbourError(Exception)", "25-52 class Boat"]
    assert '  39-52 def parse(cls, line: str, *, separator: str = ";") -> Boat' in listed
    assert "  77-78 async def close(self, *, quietly: bool = False) -> None" in listed


@pytest.mark.parametrize("path", SAMPLE, ids=lambda path: path.relative_to(STDLIB).as_posix())
def test_every_definition_of_the_standard_library_is_found_where_it_is(path):
    data = path.read_bytes()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(data)
    except (SyntaxError, ValueError):
        assert not outline(data, path.name).is_complete
        return
    definitions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)]
    wanted = {
        (n.name, min([n.lineno, *(d.lineno for d in n.decorator_list)]), n.lineno, n.end_lineno) for n in definitions
    }

    found = outline(data, path.name)

    assert (found.how, found.is_complete) == ("ast", True)
    check_shape(found, data)
    symbols = [s for s in found.symbols if s.kind not in ("constant", "field")]
    assert {(s.name, s.line, s.last) for s in symbols} == {(name, line, last) for name, _, line, last in wanted}
    lines = data.decode("utf-8", "replace").split("\n")
    tops = {(name, line): top for name, top, line, _ in wanted}
    for symbol in symbols:
        assert symbol in find(found, symbol.qualified)
        top = tops[symbol.name, symbol.line]
        assert symbol.first <= top
        assert all(line.lstrip().startswith("#") for line in lines[symbol.first - 1 : top - 1])


@pytest.mark.parametrize("path", SAMPLE[:25], ids=lambda path: path.relative_to(STDLIB).as_posix())
def test_a_module_with_a_broken_end_keeps_nearly_all_symbols(path):
    data = path.read_bytes()
    whole = outline(data, path.name)
    broken = outline(data + b"\n$\n", path.name)

    assert (broken.how, broken.is_complete) == ("shape", False)
    check_shape(broken, data + b"\n$\n")
    wanted = {(s.qualified, s.first, s.last) for s in whole.symbols if s.kind not in ("constant", "field")}
    found = {(s.qualified, s.first, s.last) for s in broken.symbols}
    assert len(wanted & found) >= 0.95 * len(wanted)


@settings(max_examples=examples(60), deadline=None)
@given(st.randoms(use_true_random=False), st.integers(1, 8))
def test_no_mutation_breaks_it(rnd, count):
    data = mutated(FIXTURE, rnd, count)
    check_shape(outline(data, "harbour.py"), data)


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("def f(:\n    return 1\n\n\ndef g():\n    pass\n", [("f", 1, 2), ("g", 5, 6)]),
        ("class A:\n    def f(self)\n        return (\n\n    def g(self):\n        pass\n", ["A", "A.f", "A.g"]),
        ('print "old"\ndef f():\n    """\n    def no(): pass\n    """\n    return 1\n', [("f", 2, 6)]),
        ("x = (\n# note\n@d\ndef f(\n    a,\n):\n    pass\n", [("x", 1, 1), ("f", 2, 7)]),
        ("LIMIT = 3\ndef f(): pass\n!\n", [("LIMIT", 1, 1), ("f", 2, 2)]),
        # A tab goes to the next of every eight columns, as for Python.
        ("class A:\n        def f(self):\n                x\n\tdef g(self):\n\t\ty\n(\n", ["A", "A.f", "A.g"]),
    ],
)
def test_broken_source_still_has_an_outline(source, wanted):
    found = outline(source.encode(), "a.py")

    assert (found.how, found.is_complete) == ("shape", False)
    seen = [(s.qualified, s.first, s.last) for s in found.symbols]
    assert ([name for name, _, _ in seen] if isinstance(wanted[0], str) else seen) == wanted


@pytest.mark.parametrize("data", [b"\xff\xfe" + FIXTURE.decode().encode("utf-16-le"), b"\xef\xbb\xbf" + FIXTURE])
def test_a_bom_changes_nothing(data):
    assert outline(data, "a.py").symbols == outline(FIXTURE, "a.py").symbols


def test_a_coding_line_is_obeyed():
    found = outline("# coding: latin-1\n\ndef grüße():\n    pass\n".encode("latin-1"), "a.py")

    assert rows(found) == [("function", "grüße", 3, 3, 4, 0)]


def test_only_a_line_feed_ends_a_line():
    found = outline(b"a = 1\rb = 2\r\nclass C:\r\n    x = '''\r'''\r\n\x0c\ndef f():\n    pass", "a.py")

    assert rows(found) == [
        ("constant", "a", 1, 1, 1, 0),
        ("constant", "b", 1, 1, 1, 0),
        ("class", "C", 2, 2, 3, 0),
        ("field", "C.x", 3, 3, 3, 1),
        ("function", "f", 5, 5, 6, 0),
    ]


def test_the_branches_of_a_statement_are_listed_in_file_order():
    source = b"try:\n    a = 1\nexcept E:\n    b = 1\nelse:\n    b = 2\n    c = 1\nfinally:\n    d = 1\n"

    found = outline(source, "a.py")

    assert [(s.name, s.line) for s in found.symbols] == [("a", 2), ("b", 4), ("c", 7), ("d", 9)]


def test_a_comment_is_taken_only_when_it_stands_directly_above_and_as_far_in():
    source = b"""s = '''
# no comment'''
def f():
    pass
    # of f
def g(): pass

# apart

def h(): pass
#!x
def i(): pass
"""

    assert [(s.name, s.first) for s in outline(source, "a.py").symbols[1:]] == [
        ("f", 3),
        ("g", 6),
        ("h", 10),
        ("i", 11),
    ]


def test_the_interpreter_line_is_not_a_comment():
    assert outline(b"#!/usr/bin/python\n# note\ndef f(): pass\n", "tool").symbols[0].first == 2


def test_warnings_about_the_source_are_not_shown():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert outline(b'def f():\n    return "\\d"\n', "a.py").is_complete


def test_nesting_beyond_the_parser_falls_back():
    found = outline(b"def f():\n    pass\nx = " + b"-" * 200_000 + b"1\n", "a.py")

    assert (found.how, found.is_complete) == ("shape", False)
    assert found.symbols[0].name == "f"


def test_the_first_part_of_a_huge_file_is_outlined():
    unit = b"def f():\n    return '" + b"x" * 1000 + b"'\n"
    found = outline(unit * 3000, "a.py")

    assert not found.is_complete
    assert 1900 < len(found.symbols) < 2100
    assert found.symbols[-1].last <= 2 * 3000


def test_a_file_of_definitions_alone_is_bounded():
    found = outline(b"def f(): pass\n" * 30_000, "a.py")

    assert (len(found.symbols), found.is_complete) == (20_000, False)
