"""C and C++ with macros that no grammar can parse."""

from __future__ import annotations

from random import Random

import pytest

from eyespan.extras.languages.rewrite import macro_symbol, rewrite
from tests.outline.symbol_checks import FIXTURES, mutated


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        (b"class LIB_EXPORT Table {", b"class            Table {"),
        (b"struct ALIGNED(8) A : B {", b"struct            A : B {"),
        (b"int f() LOCKED(mu_) {", b"int f()             {"),
        (b"LUA_API int f (int a) {", b"        int f (int a) {"),
        (b"}\nTEST_END\n", b"}\n        \n"),
        (b"int NAME(int a) {", b"int NAME(int a) {"),
        (b"static int NAME() {", b"static int NAME() {"),
        (b"struct FILE_T *f(void);", b"struct FILE_T *f(void);"),
        (b"DWORD\nf(void) {", b"DWORD\nf(void) {"),
        (b"/* class LIB_EXPORT A { */", b"/* class LIB_EXPORT A { */"),
        (b'"class LIB_EXPORT A {"', b'"class LIB_EXPORT A {"'),
        (b"namespace FOO {", b"namespace FOO {"),
        (b"enum KIND {", b"enum KIND {"),
        (b"#define A do { /* no */ } while (0)\n", b"#define A do {          } while (0)\n"),
        (b"#define A /* nothing */\n", b"#define A /* nothing */\n"),
        (b'#define A "a/*b"\nint x;\n', b'#define A "    "\nint x;\n'),
    ],
)
def test_macros_around_a_definition_become_blanks(source, wanted):
    assert rewrite(source).source == wanted


def test_of_unbalanced_branches_one_is_left():
    source = b"#if A\nif (a) {\n#else\nif (b) {\n#endif\n}\n"

    assert rewrite(source).source.split() == [b"if", b"(a)", b"{", b"}"]


def test_balanced_branches_stay():
    source = b"#if A\nint f() { }\n#else\nint g() { }\n#endif\n"

    assert rewrite(source).source == source


@pytest.mark.parametrize(
    ("macro", "arguments", "wanted"),
    [
        ("TEST_F", "Fixture, Name", ("Name", "Fixture")),
        ("TEST", "Suite, Name", ("Name", "Suite")),
        ("DEFINE_TEST", "name", ("name", "")),
        ("TEST_CASE", '"a text, with a comma", "[tag]"', ("a text, with a comma", "")),
        ("SYSCALL_DEFINE1", "close, unsigned int, fd", ("close", "")),
        ("MAIN", "", ("MAIN", "")),
    ],
)
def test_a_function_that_a_macro_begins_has_the_name_that_people_use(macro, arguments, wanted):
    assert macro_symbol(macro, arguments) == wanted


@pytest.mark.parametrize("name", ["harbour.c", "harbour.cpp"])
def test_every_position_stays(name):
    dice = Random(name)
    for _ in range(60):
        data = mutated((FIXTURES / name).read_bytes(), dice, dice.randrange(0, 9))
        found = rewrite(data)
        assert [len(line) for line in found.source.split(b"\n")] == [len(line) for line in data.split(b"\n")]
