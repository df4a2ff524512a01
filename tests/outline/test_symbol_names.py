from __future__ import annotations

import pytest

from eyespan.outline import find, look_up, nearest, unique_names

from .symbol_checks import FIXTURES, outline

HARBOUR = outline((FIXTURES / "harbour.py").read_bytes(), "src/harbour.py")


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("Boat", ["Boat"]),
        ("parse", ["Boat.parse"]),
        ("Boat.parse", ["Boat.parse"]),
        ("Boat::parse", ["Boat.parse"]),
        ("Boat#parse", ["Boat.parse"]),
        ("Boat->parse()", ["Boat.parse"]),
        ("harbour.Boat.parse", ["Boat.parse"]),
        ("package.harbour.ring", ["ring", "ring"]),
        ("Berth.__init__", ["Harbour.Berth.__init__"]),
        ("moor", ["Harbour.moor"] * 3),
        ("boat.PARSE", ["Boat.parse"]),
        (" main ", ["main"]),
        ("arse", []),
        ("Nope.parse", []),
        ("oat.parse", []),
        ("", []),
        (".", []),
        ("::", []),
    ],
)
def test_find_takes_the_names_that_people_write(query, wanted):
    assert [symbol.qualified for symbol in find(HARBOUR, query)] == wanted


def test_the_whole_name_comes_before_its_ending():
    found = outline(b"class A:\n    def run(self): pass\ndef run(): pass\n", "a.py")

    assert [symbol.line for symbol in find(found, "run")] == [3]
    assert [symbol.line for symbol in find(found, "A.run")] == [2]


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("prase", ["Boat.parse"]),
        ("Boat.prase", ["Boat.parse"]),
        ("mooring", ["Harbour.moor"]),
        ("HarborError", ["HarbourError", "Harbour"]),
        ("zzzz", []),
        ("", []),
    ],
)
def test_nearest_suggests_similar_names(query, wanted):
    assert [symbol.qualified for symbol in nearest(HARBOUR, query)][: len(wanted) or 3] == wanted


def test_nearest_gives_as_many_as_asked_for():
    found = outline(b"".join(b"def run_%d(): pass\n" % n for n in range(9)), "a.py")

    assert [len(nearest(found, "run", n)) for n in (1, 3, 5)] == [1, 3, 5]


GO = (
    b"package p\n\ntype T struct{}\n\n"
    b"func (t *T) Close() error {\n\treturn nil\n}\n\nfunc New() *T {\n\treturn nil\n}\n"
)
RUST = (
    b"pub struct Mutex<T> {\n}\nimpl<T> Mutex<T> {\n    fn lock(&self) {}\n}\n"
    b"impl<T> Drop for Mutex<T> {\n    fn drop(&mut self) {}\n}\n"
)
JAVA = b"class A {\n  void find(Class<?> c, String s) {}\n  void find(Object o) {}\n  A() {}\n}\n"
PHP = b"<?php\nnamespace Foo\\Bar;\nclass Event {\n  public $command;\n  function run() {}\n}\n"
SPELLINGS = [
    ("a.go", GO, "(*T).Close", [5]),
    ("a.go", GO, "p.T.Close", [5]),
    ("a.go", GO, "example.com/x/p.(*T).Close", [5]),
    ("a.go", GO, "p.New", [9]),
    ("a.go", GO, "p.(*T).Close.func1", [5]),
    ("a.go", GO, "func New() *T", [9]),
    ("a.go", GO, "Other.Close", []),
    ("a.rs", RUST, "Mutex<T>::lock", [4]),
    ("a.rs", RUST, "tokio::sync::Mutex::lock", [4]),
    ("a.rs", RUST, "<Mutex<T> as Drop>::drop", [7]),
    ("a.rs", RUST, "impl Drop for Mutex", [6]),
    ("a.rs", RUST, "tokio::sync::Mutex<T>::lock::{{closure}}", [4]),
    ("a.rs", RUST, "Mutex#2", [3]),
    ("a.rs", RUST, "Mutex#4", []),
    ("A.java", JAVA, "find", [2, 3]),
    ("A.java", JAVA, "find(Class, String)", [2, 3]),
    ("A.java", JAVA, "A.find(java.lang.Object)", [2, 3]),
    ("A.java", JAVA, "A.find#2", [3]),
    ("A.java", JAVA, "org.x.A.<init>", [4]),
    ("a.php", PHP, "Foo\\Bar\\Event::run", [5]),
    ("a.php", PHP, "Event.command", [4]),
    ("a.lua", b"function _M:f()\nend\n", "_M:f", [1]),
    ("a.js", b"class W {\n  #init() {}\n}\n", "W.init", [2]),
    ("A.kt", b"class U {\n  companion object {\n    fun x() {}\n  }\n}\n", "U.Companion.x", [3]),
    ("A.kt", b"class U {\n  companion object {\n    fun x() {}\n  }\n}\n", "U.x", [3]),
    ("A.kt", b"class U {\n  fun `a name`() {}\n}\n", "U.a name", [2]),
    ("a.c", b"struct client {\n  int a;\n};\nint run(struct client *c) {\n}\n", "struct client", [1]),
    ("a.c", b"int run(int c) {\n}\n", "static int run(client *c)", [1]),
    ("a.py", b"class Q:\n    def get(self): pass\n", "class Q", [1]),
    ("a.py", b"class Q:\n    def get(self): pass\n", "def get", [2]),
    ("a.py", b"class Q:\n    def get(self): pass\n", "Q.get[case-1]", [2]),
    ("a.py", b"def f():\n    def g(): pass\n", "f.<locals>.g", [2]),
    ("a.md", b"# A\n\n## Set up, first!\n", "## Set up, first!", [3]),
    ("a.md", b"# A\n\n## Set up, first!\n", "#set-up-first", [3]),
]


@pytest.mark.parametrize(
    ("name", "source", "query", "wanted"), SPELLINGS, ids=[f"{name}-{query}" for name, _, query, _ in SPELLINGS]
)
def test_find_takes_the_names_of_traces_and_signatures(name, source, query, wanted):
    pytest.importorskip("tree_sitter", reason="the extra `outline` is not installed")

    assert [one.line for one in look_up(outline(source, name), query).symbols] == wanted


def test_a_type_is_its_definition_and_lists_its_implementations():
    pytest.importorskip("tree_sitter", reason="the extra `outline` is not installed")
    found = look_up(outline(RUST, "a.rs"), "Mutex")

    assert [one.line for one in found.symbols] == [1]
    assert [one.line for one in found.others] == [3, 6]


def test_every_symbol_has_a_name_of_its_own():
    for symbol, name in zip(HARBOUR.symbols, unique_names(HARBOUR, HARBOUR.symbols), strict=True):
        assert look_up(HARBOUR, name).symbols == (symbol,)


def test_symbols_of_one_name_are_numbered_without_comparing_them_with_each_other(monkeypatch):
    """20,000 stages of one name took minutes, beyond the deadline of the call."""
    stages = outline(b"FROM x AS y\n" * 300, "Dockerfile")
    compared = []
    monkeypatch.setattr(type(stages.symbols[0]), "__eq__", lambda one, other: compared.append(1) or one is other)

    names = unique_names(stages, stages.symbols)

    assert (names, compared) == ([f"y#{number}" for number in range(1, 301)], [])
