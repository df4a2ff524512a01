"""Definitions that a query could overlook, one language after the other."""

from __future__ import annotations

import pytest

from eyespan.outline import find, language_of
from tests.outline.symbol_checks import outline

ROWS = [
    ("a.c", "DEFINE_TEST(x)\n{\n  a();\n}\n", ["x 1-4"]),
    ("a.c", "TEST_BEGIN(y) {\n}\nTEST_END\n", ["y 1-2"]),
    ("a.c", "LIB_API int (getn)(int a) {\n}\nint (*hook)(int);\n", ["getn 1-2", "hook 3-3"]),
    ("a.c", "typedef void *(*Fn)(int);\ntypedef tree(x) tree_t;\n", ["Fn 1-1", "tree_t 2-2"]),
    ("a.cc", "typedef tree(x) tree_t;\n", ["tree_t 1-1"]),
    ("a.cc", "class LIB_EXPORT A {\n  int f() LOCKED(mu_);\n};\n", ["A 1-3", "A.f 2-2"]),
    ("a.cc", "TEST_F(Fix, Name) {\n  Random rnd(seed());\n}\n", ["Fix.Name 1-3"]),
    ("a.cc", "struct A {\n  int (M::*run)(int x);\n  int f();\n};\nint (A::*p)(int);\n", ["A 1-4", "A.f 3-3"]),
    ("a.cc", "struct A {\n  operator bool() const;\n};\n", ["A 1-3", "A.operator bool 2-2"]),
    (
        "a.rs",
        "cfg_rt! {\n  pub fn a() {}\n  mod m {\n    cfg_x! { fn b() {} }\n  }\n}\n",
        ["a 2-2", "m 3-5", "m.b 4-4"],
    ),
    ("a.rs", "pin_project! {\n  pub struct S {\n    a: u8,\n  }\n}\n", ["S 2-4"]),
    ("a.rs", "impl T for &mut V<u8> {\n  type A;\n}\n", ["V 1-3", "V.A 2-2"]),
    ("a.js", "call(function named() {\n});\n", ["named 1-2"]),
    ("a.js", "const o = {\n  'a-b': () => {},\n  f() {},\n};\n", ["o 1-4", "o.a-b 2-2", "o.f 3-3"]),
    ("a.js", "export default function () {\n}\n", ["default 1-2"]),
    ("a.js", "// @flow\n\ntype T = {|\n  +a: ?string,\n|};\nclass C {}\n", ["T 3-5", "C 6-6"]),
    ("a.ts", "declare global {\n  interface W {}\n}\n", ["global 1-3", "global.W 2-2"]),
    ("a.ts", "class A {\n  [Symbol.iterator]() {}\n}\n", ["A 1-3", "A.[Symbol.iterator] 2-2"]),
    ("a.lua", "local t = {\n  GET = function()\n  end,\n}\n", ["t 1-4", "t.GET 2-3"]),
    (
        "a.swift",
        "class A {\n  deinit {\n  }\n  subscript(i: Int) -> Int { 1 }\n}\n",
        ["A 1-5", "A.deinit 2-3", "A.subscript 4-4"],
    ),
    ("a.swift", "extension A.B {\n  static func == (a: A, b: A) -> Bool { true }\n}\n", ["A.B 1-3", "A.B.== 2-2"]),
    ("A.java", "@interface A {\n  String value();\n}\n", ["A 1-3", "A.value 2-2"]),
    (
        "A.cs",
        'class A {\n  public static implicit operator string(A a) => "";\n}\n',
        ["A 1-3", "A.operator string 2-2"],
    ),
    (
        "A.kt",
        "class A {\n  companion object {\n    fun x() {}\n  }\n}\n",
        ["A 1-5", "A.Companion 2-4", "A.Companion.x 3-3"],
    ),
    (
        "A.cs",
        "interface A {\n  void F(int a)\n#if X\n  {\n    G();\n  }\n#else\n  ;\n#endif\n  void H();\n}\n",
        ["A 1-11", "A.F 2-6", "A.H 10-10"],
    ),
    ("a.c", "static my_inline int f(int a) {\n}\n", ["f 1-2"]),
    ("a.js", "describe('a b', () => {\n  it.only(`c`, async function () {\n  });\n});\n", ["a b 1-4", "a b.c 2-3"]),
    ("a.ts", "test.each([1])('n %d', (a) => {\n});\nfetch('x', () => {\n});\n", ["n %d 1-2"]),
    (
        "a.go",
        'package a\nfunc TestX(t *testing.T) {\n\tt.Run("b", func(t *testing.T) {\n\t})\n}\n',
        ["TestX 2-5", "TestX.b 3-4"],
    ),
    ("a.rb", 'RSpec.describe A::B do\n  it "does" do\n  end\nend\n', ["A.B 1-4", "A.B.does 2-3"]),
    ("a.t", "subtest 'a b' => sub {\n  ok 1;\n};\n", ["a b 1-3"]),
    ("a.php", "<?php\nit('does', function () {\n});\n", ["does 2-3"]),
    ("a.lua", 'describe("a", function()\n  it("b", function()\n  end)\nend)\n', ["a 1-4", "a.b 2-3"]),
    ("a.jl", '@testset "a b" begin\n  @test 1\nend\n', ["a b 1-3"]),
    ("a.swift", 'func f() {\n  describe("a") {\n  }\n}\n', ["f 1-4", "f.a 2-3"]),
    (
        "a.dart",
        "void main() {\n  group('g', () {\n    test('t', () async {\n    });\n  });\n}\n",
        ["main 1-6", "main.g 2-5", "main.g.t 3-4"],
    ),
    (
        "a.scala",
        'class A {\n  test("x y") {\n  }\n  "a" should {\n    "b" in {\n    }\n  }\n}\n',
        ["A 1-8", "A.x y 2-3", "A.a 4-7", "A.a.b 5-6"],
    ),
    ("a.scala", "package object p {\n  var a = 1\n}\nval top = 1\n", ["p 1-3", "top 4-4"]),
    ("a.scala", "class L {\n  def foreach(f: A => B): B = {\n  }\n}\n", ["L 1-4", "L.foreach 2-3"]),
    ("a.R", 'test_that("adds up", {\n  expect(1)\n})\n', ["adds up 1-3"]),
    ("a.ps1", "Describe \"adds\" {\n  It 'works' {\n  }\n}\n", ["adds 1-4", "adds.works 2-3"]),
    ("a.zig", "pub fn f(a: u8) error{OutOfMemory}!u8 {\n    return a;\n}\n", ["f 1-3"]),
    (
        "a.zig",
        "fn T(comptime A: type) type {\n    return struct {\n        fn m() void {}\n    };\n}\n",
        ["T 1-5", "T.m 3-3"],
    ),
    ("a.dart", "int f({int id = 0})\n    => id;\nvoid g() {}\n", ["f 1-2", "g 3-3"]),
    (
        "a.dart",
        "void runTests({bool a = false}) {\n  group('x', () {\n    setUp(() async {});\n  });\n}\n",
        ["runTests 1-5", "runTests.x 2-4"],
    ),
    (
        "a.dart",
        "class A {\n  /// Doc.\n  @override\n  T m<T>() => x;\n  operator [](i) => 1;\n  factory A.of() => A();\n}\n",
        ["A 1-7", "A.m 2-4", "A.[] 5-5", "A.of 6-6"],
    ),
    (
        "a.ex",
        "defmacro scope(path, do: context) do\n  quote do\n    x\n  end\nend\ndef a + b, do: a\n",
        ["scope 1-5", "+ 6-6"],
    ),
    ("a.ex", '@doc "x"\n@spec f(a) :: b when a: b\ndef f(x) when x > 1 do\nend\n', ["f 1-4"]),
    ("a.jl", "Base.:+(a::P, b) = 1\n@inline g(x)::Int where T = 2\n", ["Base.+ 1-1", "g 2-2"]),
    ("a.jl", '"doc"\nstruct P{T} <: Q\n  P(x) = new(x)\nend\n', ["P 1-4", "P.P 3-3"]),
    ("a.hs", "(<+>) :: a -> a\na <+> b = a\ninstance C (T a) where\n  m = A\n", ["<+> 1-2", "C (T a) 3-4"]),
    ("a.hs", "pattern P :: Int -> T\npattern P x = T x\n\nf = 1\n", ["P 1-2", "f 4-4"]),
    ("a.ml", "let f a =\n  let g b = b in\n  g a\nand h c = c\nlet ( + ) a b = a\n", ["f 1-3", "h 4-4", "+ 5-5"]),
    ("a.mli", "val f : int -> int\nmodule M : sig\n  type t\nend\n", ["f 1-1", "M 2-4", "M.t 3-3"]),
    (
        "a.ml",
        "module rec A : sig\n  type u\nend = struct\n  type u\nend\n\nand B : sig\n  type u\nend\n",
        ["A 1-5", "A.u 2-2", "A.u 4-4", "B 7-9", "B.u 8-8"],
    ),
    ("a.ml", "type r += T of t\n", ["r 1-1"]),
    ("a.ml", "type s =\n| A\n| B\n\nlet f = function\n| A -> 1\n| B -> 2\n", ["s 1-3", "f 5-7"]),
    ("a.pl", "sub a {\n  if (/{/) {\n  }\n}\npackage B {\n  sub m {}\n}\n", ["a 1-4", "B 5-7", "B.m 6-6"]),
    ("a.scala", "object A {\n  def f(x: Int) =\n    x + 1\n\n  def g = 2\n}\n", ["A 1-6", "A.f 2-3", "A.g 5-5"]),
    ("b.m", "%% One\nx = 1;\n\n%% Two\nfunction f()\n  a(end)\nend\n", ["One 1-2", "Two 4-4", "f 4-7"]),
    (
        "a.sql",
        "CREATE PROC [dbo].[p] AS\nBEGIN\n SELECT 1;\nEND\nGO\nALTER FUNCTION f() AS SELECT 1;\n SELECT 2;\ngo\n",
        ["dbo.p 1-4", "f 6-7"],
    ),
]


@pytest.mark.parametrize(("name", "source", "wanted"), ROWS, ids=[f"{name}-{wanted[-1]}" for name, _, wanted in ROWS])
def test_every_construct_is_a_symbol(name, source, wanted):
    pytest.importorskip("tree_sitter", reason="the extra `outline` is not installed")
    found = outline(source.encode(), name)

    assert [f"{one.qualified} {one.first}-{one.last}" for one in found.symbols if one.kind != "field"] == wanted


@pytest.mark.parametrize(
    ("name", "source", "wanted"),
    [
        (
            "a.h",
            "#import <X/X.h>\n\ntypedef void (^Done)(int a);\ntypedef NSString * Key NS_STRING_ENUM;\n@interface A\n"
            '- (void)go:(int)a API_DEPRECATED("Use go:to: instead", ios(1, 2));\n@end\nFOO_EXPORT id<B> make(int a);\n'
            "#define TWO(a) \\\n  a\n",
            ["Done 3-3", "Key 4-4", "A 5-7", "A.go: 6-6", "make 8-8", "TWO 9-10"],
        ),
        ("a.m", "static NSArray<X *> * _Nonnull f(void) CF_RETAINED {\n}\n", ["f 1-2"]),
        ("a.r", '"%||%" <- function(a, b) {\n}\n', ["%||% 1-2"]),
        ("a.adoc", "= A\n\n```ruby\ndef f\n```\n\n== B\n\ntext\n", ["A 1-9", "A.B 7-9"]),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 7 else "",
)
def test_every_construct_is_a_symbol_without_a_grammar(name, source, wanted):
    found = outline(source.encode(), name)

    assert [f"{one.qualified} {one.first}-{one.last}" for one in found.symbols if one.name != "t"] == wanted
    assert not any(one.doubt for one in found.symbols)


@pytest.mark.parametrize(
    ("name", "text", "language"),
    [
        ("a.h", "#import <X.h>\n@interface A\n@end\n", "objc"),
        ("a.h", "int f(void);\n", "cpp"),
        ("a.h", "#ifdef X\n#import <X.h>\n@interface A\n@end\n#endif\nnamespace n {\n}\n", "cpp"),
        ("a.hpp", "\n@interface A\n@end\n", "cpp"),
    ],
)
def test_a_header_is_read_in_its_language(name, text, language):
    assert language_of(name, text.encode()) == language


SIGNATURES = [
    ("a.scala", "class A {\n  @Param(x)\n  // a comment\n  var size: Int = 1\n}\n", "var size: Int = 1"),
    ("A.cs", "class A {\n#if DEBUG\n  [Obsolete]\n#endif\n  public void F() {\n  }\n}\n", "public void F()"),
    ("A.cs", f"class A {{\n  public ({'int a, ' * 40}int b) F() {{\n  }}\n}}\n", "F()"),
    ("A.java", "@Deprecated\n// a comment\npublic class A {\n}\n", "public class A"),
    ("A.java", "class A {\n  @Override /* a */ // b\n  public void f() {\n  }\n}\n", "public void f()"),
    ("a.cpp", "[[nodiscard]]\n// a comment\nint f(int a) {\n}\n", "int f(int a)"),
    ("a.js", "describe('a b', () => {\n});\n", "describe('a b')"),
    ("a.go", 'package a\nfunc f() {\n\tt.Run("b", func() {\n\t})\n}\n', 't.Run("b")'),
    ("a.scala", 'class A {\n  "a" should {\n  }\n}\n', '"a" should'),
]


@pytest.mark.parametrize(("name", "source", "wanted"), SIGNATURES, ids=[row[2] for row in SIGNATURES])
def test_a_signature_begins_with_code_and_has_the_name(name, source, wanted):
    pytest.importorskip("tree_sitter", reason="the extra `outline` is not installed")

    assert outline(source.encode(), name).symbols[-1].signature == wanted


@pytest.mark.parametrize("count", [1, 20, 60, 120])
def test_a_long_header_never_cuts_a_name(count):
    pytest.importorskip("tree_sitter", reason="the extra `outline` is not installed")
    parameters = ",\n".join([f"                    value parameter_{index}" for index in range(count)])
    found = outline(f"PREFIX_prim value spawn_unix({parameters})\n{{\n  a();\n}}\n".encode(), "a.c")

    assert [one.name for one in found.symbols] == ["spawn_unix"]


def test_a_call_in_a_broken_function_is_no_symbol():
    pytest.importorskip("tree_sitter", reason="the extra `outline` is not installed")
    found = outline(b"int f(int a) {\n  switch (a) {\n  default: abort();\n  }\n  x = ;\n}\nint g() {\n}\n", "a.c")

    assert [one.name for one in found.symbols] == ["f", "g"]


def test_a_broken_function_ends_at_its_brace_and_carries_the_line():
    pytest.importorskip("tree_sitter", reason="the extra `outline` is not installed")
    body = "\n".join([f"  x{n} = foo{n} bar{n} ({{ ;" if n == 3 else f"  x{n}();" for n in range(8)])
    found = outline(f"void f(void) {{\n{body}\n}}\n}}\nvoid g(void) {{\n}}\n".encode(), "a.c")

    assert all(one.doubt for one in find(found, "f"))
