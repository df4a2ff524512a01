"""One small file of each language that has no fixture."""

from __future__ import annotations

from importlib.util import find_spec
from random import Random

import pytest

from eyespan.extras.languages.queries import QUERIES
from eyespan.outline import language_of, languages, outline_here
from tests.outline.symbol_checks import check_shape, mutated
from tests.sizes import size

FILES = {
    "a.tf": (
        "# web\n"
        'resource "aws_instance" "web" {\n'
        '  ami = "x"\n'
        "  tags = {\n"
        '    a = "}"\n'
        "  }\n"
        "}\n"
        'module "vpc" {\n'
        '  source = "x"\n'
        "}\n"
        'variable "n" {}\n'
        "locals {\n"
        " a = 1\n"
        "}\n",
        [
            "1-7 resource.aws_instance.web",
            "8-10 module.vpc",
            "11-11 variable.n",
            "12-14 locals",
        ],
    ),
    "a.proto": (
        'syntax = "proto3";\n'
        "// A\n"
        "message A {\n"
        "  string x = 1;\n"
        "  message B { int32 y = 1; }\n"
        "}\n"
        "service S {\n"
        "  rpc Get(A) returns (B);\n"
        "  rpc Put(A) returns (B) {\n"
        "    option x = 1;\n"
        "  }\n"
        "}\n"
        "extend google.protobuf.FileOptions {\n"
        "  string z = 5;\n"
        "}\n",
        [
            "2-6 A",
            "5-5 A.B",
            "7-12 S",
            "8-8 S.Get",
            "9-11 S.Put",
            "13-15 google.protobuf.FileOptions",
        ],
    ),
    "a.graphql": (
        "type Q {\n  a(x: Int): String\n}\nscalar D\nunion U = A | B\nquery Foo($a: Int) {\n  x\n}\n",
        [
            "1-3 Q",
            "2-2 Q.a",
            "4-4 D",
            "5-5 U",
            "6-8 Foo",
        ],
    ),
    "a.zig": (
        'const std = @import("std");\n'
        "pub fn main() !void {\n"
        "  x();\n"
        "}\n"
        "const S = struct {\n"
        "  a: u8,\n"
        "  fn f(self: S) void {\n"
        "  }\n"
        "};\n"
        'test "it" {\n'
        "}\n",
        [
            "1-1 std",
            "2-4 main",
            "5-9 S",
            "7-8 S.f",
            "10-11 it",
        ],
    ),
    "a.dart": (
        "class A extends B {\n"
        "  A(this.x);\n"
        "  A.named(this.x) : super();\n"
        "  void f() {\n"
        "    if (x) {\n"
        "    }\n"
        "  }\n"
        "  int get y => 1;\n"
        "}\n"
        "void main() async {\n"
        "  g();\n"
        "}\n",
        [
            "1-9 A",
            "2-2 A.A",
            "3-3 A.named",
            "4-7 A.f",
            "8-8 A.y",
            "10-12 main",
        ],
    ),
    "b.gradle": (
        "plugins {\n"
        '  id "x"\n'
        "}\n"
        "task foo(type: Copy) {\n"
        "}\n"
        "def f(a) {\n"
        "}\n"
        "class A {\n"
        "  void m() {\n"
        "  }\n"
        "}\n"
        'tasks.register("t") {\n'
        "}\n",
        [
            "1-3 plugins",
            "4-5 foo",
            "6-7 f",
            "8-11 A",
            "9-10 A.m",
            "12-13 t",
        ],
    ),
    "a.pl": (
        "package Foo::Bar;\n"
        "use strict;\n"
        "sub new {\n"
        "  my $x = shift; # }\n"
        "}\n"
        "sub Foo::other { 1 }\n"
        "package X;\n"
        "sub y {\n"
        "}\n",
        [
            "1-6 Foo.Bar",
            "3-5 Foo.Bar.new",
            "6-6 Foo.Bar.Foo.other",
            "7-9 X",
            "8-9 X.y",
        ],
    ),
    "a.ps1": (
        "function Get-X {\n  param($a)\n}\nclass C {\n  [string] Name() {\n  }\n}\n",
        [
            "1-3 Get-X",
            "4-7 C",
            "5-6 C.Name",
        ],
    ),
    "a.r": (
        'f <- function(x, y) {\n  x\n}\ng = function(x) x + 1\nsetClass("A", representation(x = "n"))\n',
        [
            "1-3 f",
            "4-4 g",
            "5-5 A",
        ],
    ),
    "a.m": (
        "#import <F.h>\n"
        "@interface A : NSObject\n"
        "- (void)doIt:(int)a with:(int)b;\n"
        "@end\n"
        "@implementation A\n"
        "- (void)doIt:(int)a with:(int)b {\n"
        "  if (a) {\n"
        "  }\n"
        "}\n"
        "+ (id)shared { return nil; }\n"
        "@end\n"
        "int main(int c) {\n"
        "}\n",
        [
            "2-4 A",
            "3-3 A.doIt:with:",
            "5-11 A",
            "6-9 A.doIt:with:",
            "10-10 A.shared",
            "12-13 main",
        ],
    ),
    "a.ex": (
        "defmodule A.B do\n"
        '  @doc "x"\n'
        "  def f(x) do\n"
        "    if x do\n"
        "      1\n"
        "    end\n"
        "  end\n"
        "  def g(x), do: x\n"
        "  defp h(y) when is_list(y) do\n"
        "    Enum.map(y, fn z -> z end)\n"
        "  end\n"
        "end\n",
        [
            "1-12 A.B",
            "2-7 A.B.f",
            "8-8 A.B.g",
            "9-11 A.B.h",
        ],
    ),
    "a.jl": (
        "module M\nstruct P\n  x::Int\nend\nfunction f(x)\n  if x[end] > 1\n    1\n  end\nend\ng(x) = x + 1\nend\n",
        [
            "1-11 M",
            "2-4 M.P",
            "5-9 M.f",
            "10-10 M.g",
        ],
    ),
    "b.m": (
        "function y = f(x)\n  if x\n  end\nend\nfunction g()\n  a(end)\nend\n",
        [
            "1-4 f",
            "5-7 g",
        ],
    ),
    "c.m": (
        "% doc\nfunction y = f(x)\n  y = 1;\n\nfunction g()\n  a(end)\n",
        [
            "1-3 f",
            "5-6 g",
        ],
    ),
    "a.zsh": (
        'f() {\n  local x=${y:-"}"} # }\n}\nfunction g:h {\n  print -- $#x\n}\n',
        [
            "1-3 f",
            "4-6 g:h",
        ],
    ),
    "a.hs": (
        "module A where\n"
        "import B\n"
        "data T = A\n"
        "  | B\n"
        "  deriving Show\n"
        "f :: Int -> Int\n"
        "f 0 = 1\n"
        "f n =\n"
        "  n\n"
        "\n"
        "class C a where\n"
        "  m :: a\n"
        "instance C T where\n"
        "  m = A\n"
        "main = do\n"
        "  x\n",
        [
            "3-5 T",
            "6-9 f",
            "11-12 C",
            "13-14 C T",
            "15-16 main",
        ],
    ),
    "a.ml": (
        "let x = 1\nlet rec f a =\n  a\nmodule M = struct\n  let g () =\n    1\nend\ntype t = A | B\n",
        [
            "1-1 x",
            "2-3 f",
            "4-7 M",
            "5-6 M.g",
            "8-8 t",
        ],
    ),
    "CMakeLists.txt": (
        "project(x)\nfunction(f a)\n  set(x y)\nendfunction()\nadd_library(lib STATIC\n  a.c)\n",
        [
            "1-1 x",
            "2-4 f",
            "5-6 lib",
        ],
    ),
    "defs.bzl": ("A = 1\n\ndef f(x):\n    return x\n", ["1-1 A", "3-4 f"]),
    "a.rst": (
        "Title\n=====\n\ntext\n\nSub\n---\n\n.. function:: foo(x)\n\n   doc\n\nOther\n=====\n",
        [
            "1-11 Title",
            "6-11 Title.Sub",
            "9-11 Title.Sub.foo(x)",
            "13-14 Other",
        ],
    ),
    "a.adoc": (
        "= Doc\n\n== One\n\n----\n== no\n----\n\n=== Two\n\n== Three\n",
        [
            "1-11 Doc",
            "3-9 Doc.One",
            "9-9 Doc.One.Two",
            "11-11 Doc.Three",
        ],
    ),
    "a.tex": (
        "\\documentclass{x}\n\\section{One}\nx\n\\subsection{Two {nested}}\n% \\section{no}\n\\section*{Three}\n",
        [
            "2-5 One",
            "4-5 One.Two {nested}",
            "6-6 Three",
        ],
    ),
    "a.html": (
        "<html><body>\n"
        "<h1>Title <b>x</b></h1>\n"
        '<div id="app">\n'
        " <p>x</p>\n"
        "</div>\n"
        "<script>\n"
        "function f() {\n"
        "}\n"
        "</script>\n"
        "</body></html>\n",
        [
            "1-10 body",
            "2-2 body.Title x",
            "3-5 body.#app",
            "6-9 body.script",
            "7-8 body.script.f",
        ],
    ),
    "a.vue": (
        "<template>\n"
        "  <div/>\n"
        "</template>\n"
        '<script setup lang="ts">\n'
        "const a = (x: number) => {\n"
        "  return x\n"
        "}\n"
        "function b() {\n"
        "}\n"
        "</script>\n"
        "<style>\n"
        ".a {}\n"
        "</style>\n",
        [
            "1-3 template",
            "4-10 script",
            "5-7 script.a",
            "8-9 script.b",
            "11-13 style",
        ],
    ),
    "a.svelte": (
        "<script>\n  export function f() {\n  }\n</script>\n<h1>Hi</h1>\n",
        [
            "1-4 script",
            "2-3 script.f",
            "5-5 Hi",
        ],
    ),
    "pom.xml": (
        '<?xml version="1.0"?>\n<project>\n  <deps>\n    <dep id="a">\n    </dep>\n  </deps>\n</project>\n',
        [
            "2-7 project",
            "3-6 project.deps",
            "4-5 project.deps.dep a",
        ],
    ),
}
"""The name of a file: its contents, and the lines and names of its symbols."""
NEEDS_GRAMMARS = pytest.mark.skipif(find_spec("tree_sitter") is None, reason="the extra `outline` is not installed")


def _marks(name: str) -> tuple[pytest.MarkDecorator, ...]:
    language = language_of(name, FILES[name][0].encode())
    return (NEEDS_GRAMMARS,) if language in QUERIES or language in ("html", "svelte", "vue") else ()


by_file = pytest.mark.parametrize("name", [pytest.param(name, marks=_marks(name)) for name in FILES])
LENGTH = size(short=20_000, long=100_000)


@by_file
def test_the_symbols_have_their_lines(name):
    source, wanted = FILES[name]

    found = outline_here(source.encode(), name)

    assert [f"{one.first}-{one.last} {one.qualified}" for one in found.symbols] == wanted
    assert found.is_complete
    assert not any(one.doubt for one in found.symbols)


@by_file
def test_line_ends_of_windows_change_nothing(name):
    source, wanted = FILES[name]

    found = outline_here(source.replace("\n", "\r\n").encode(), name)

    assert [f"{one.first}-{one.last} {one.qualified}" for one in found.symbols] == wanted


@by_file
def test_no_mutation_breaks_the_scanner(name):
    dice = Random(name)
    for _ in range(40):
        data = mutated(FILES[name][0].encode(), dice, dice.randrange(1, 9))
        check_shape(outline_here(data, name), data)


@by_file
def test_a_text_without_end_is_scanned_in_linear_time(name):
    """The units repeat what could be searched for in vain from every place.

    Grammars are tried with a short text: some take time in proportion to its square, and only the end of their process
    limits that.
    """
    length = 1000 if language_of(name) in QUERIES else LENGTH
    for unit in ("{", "(", '"', "a(", "def f(", "<a ", "x = ", "/*", "do ", "- ", "=\n", "function f\n"):
        outline_here((unit * length)[:length].encode(), name)


@pytest.mark.parametrize(
    ("source", "wanted"),
    [(b"% comment\nfunction f\n", "matlab"), (b"#import <A.h>\n", "objc"), (b"@interface A\n", "objc")],
)
def test_two_languages_share_a_suffix(source, wanted):
    assert language_of("a.m", source) == wanted


def test_every_language_is_in_a_test():
    covered = {language_of(name, FILES[name][0].encode()) for name in FILES}

    assert len(covered & set(languages())) == len(covered) == 25


def test_an_end_in_a_text_whose_braces_do_not_match_is_doubtful_or_agreed_on():
    source = b"a <- function() {\n  if (x) {{\n  }\n}\n\nb <- function() {\n  1\n}\n"

    found = outline_here(source, "a.r")

    assert [(one.name, one.last) for one in found.symbols] == [("a", 4), ("b", 8)]
    assert [bool(one.doubt) for one in found.symbols] == [True, False]


def test_the_functions_of_cmake_may_contain_others():
    source = b"function(f)\n  macro(g)\n  endmacro()\nendfunction()\n"

    assert [(one.name, one.last) for one in outline_here(source, "a.cmake").symbols] == [("f", 4), ("g", 3)]
