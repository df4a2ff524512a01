from __future__ import annotations

from random import Random

import pytest

from eyespan.outline import language_of
from eyespan.outline.model import build_outline
from eyespan.outline.shape import scan_shape
from tests.sizes import size

from .symbol_checks import EXPECTED, SOURCE, check_shape, mutated

by_file = pytest.mark.parametrize("path", SOURCE, ids=lambda path: path.name)
LENGTH = size(short=15_000, long=100_000)


@by_file
def test_most_definitions_are_found_by_shape(path):
    """Every definition with a body, to its last line; fields, constants and declarations need the grammar."""
    wanted = set()
    for row in (EXPECTED / f"{path.name}.txt").read_text("utf-8").split("\n")[1:-1]:
        kind, lines, _, name = row.split(" | ")[0].split(" ", 3)
        first, _, last = lines.split("/")
        if kind in ("class", "struct", "trait", "impl", "namespace", "function", "method") and first != last:
            wanted.add((name, int(last)))
    found = build_outline(scan_shape(path.read_text("utf-8"), language_of(path.name)).definitions, "shape")

    known = {(symbol.qualified, symbol.last) for symbol in found.symbols}
    assert len(wanted & known) >= 0.75 * len(wanted), wanted - known
    check_shape(found, path.read_bytes())


@by_file
def test_no_mutation_breaks_the_scanner(path):
    dice = Random(path.name)
    for _ in range(150):
        data = mutated(path.read_bytes(), dice, dice.randrange(1, 9))
        text = data.decode("utf-8", "replace")
        check_shape(build_outline(scan_shape(text, language_of(path.name)).definitions, "shape"), data)


@pytest.mark.parametrize("language", ["javascript", "go", "rust", "c", "cpp", "bash", "php", "ruby", "lua", "swift"])
@pytest.mark.parametrize("unit", ["{", "/*", '"\\"', "f(){", "a\n", "(", "'\\'", "`\\`", "f(\n", "#", "}\n", "class "])
def test_the_time_is_proportional_to_the_length(language, unit):
    """A pattern that started over at every place would take minutes here."""
    scan_shape((unit * LENGTH)[:LENGTH], language)


def test_a_macro_with_a_block_in_a_function_is_no_definition():
    found = scan_shape('TEST_CASE("a") {\n  SECTION("b") {\n  }\n}\n', "cpp")

    assert [(one.name, one.last) for one in found.definitions] == [("a", 4)]


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("void operator()(U value)", "operator()"),
        ("operator Action<R(Args...)>() const", "operator Action<R(Args...)>"),
        ("bool operator==(const A& a) const", "operator=="),
        ("T& operator[](int i)", "operator[]"),
        ("A::operator bool() const", "operator bool"),
        ("void* operator new(size_t n)", "operator new"),
        ("int myoperator(int x)", "myoperator"),
        ("auto f(int operator_id)", "f"),
    ],
)
def test_operators_have_their_signs_as_names(header, name):
    found = scan_shape(f"struct S {{\n  {header} {{\n  }}\n}};\n", "cpp")

    assert [one.name for one in found.definitions] == ["S", name]


def test_a_condition_of_swift_is_no_definition():
    source = "class A {\n  #if !os(X)\n  func f() {\n  }\n  #elseif canImport(Y)\n  func g() {\n  }\n  #endif\n}\n"

    assert [one.name for one in scan_shape(source, "swift").definitions] == ["A", "f", "g"]
