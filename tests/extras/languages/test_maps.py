"""Maps: files ranked by what they define and by how often that is used."""

from __future__ import annotations

import re
import tracemalloc
from random import Random

import pytest

from eyespan.extras.languages import maps
from eyespan.extras.languages.maps import FileSummary, MapCache
from eyespan.extras.languages.quick import defined_names, used_words
from eyespan.guard.tree import DirectoryFiles, Survey, key_of
from eyespan.outline import language_of
from eyespan.selectors.globs import PathGlob, split_glob
from tests.outline.symbol_checks import SOURCE, outline

FILES = {
    "core.py": b"class Engine:\n    def start(self):\n        pass\n\n\ndef make_engine():\n    return Engine()\n",
    "lonely.py": b"class Lonely:\n    pass\n\n\nclass Other_One:\n    pass\n",
    "a.py": b"from core import Engine, make_engine\n",
    "b.py": b"import core\nmake_engine()\nEngine\n",
    "tests/test_core.py": b"class TestEngine:\n    Engine\n    make_engine\n",
    "data.json": b'{"a": 1}\n',
}


def _survey_of(files, reads, versions=None):
    """Return a function that explores files in memory."""

    def survey_with(choose, take, max_bytes):
        directories = {}
        for path in sorted(files):
            directory, slash, name = path.rpartition("/")
            key = key_of(len(files[path]), hash(path), (versions or {}).get(path, 0), 0)
            directories.setdefault(directory + slash, []).append((name, key))
        survey = Survey(".", {path: DirectoryFiles(found) for path, found in directories.items()}, True, {})
        keys = {path + name: key for path, found in directories.items() for name, key in found}
        for directory, names in choose(survey).items():
            for name in names:
                reads.append(directory + name)
                take(directory + name, files[directory + name][:max_bytes], keys[directory + name])
        return survey

    return survey_with


def test_the_words_of_titles_are_no_names():
    files = {**FILES, "README.md": b"# Engine\n# make_engine\n# Lonely\n"}

    found = MapCache().make(_survey_of(files, []))

    assert [file.path for file in found.files][:2] == ["core.py", "README.md"]


def test_files_are_ranked_by_the_use_of_their_names():
    found = MapCache().make(_survey_of(FILES, []))

    assert [one.path for one in found.files][:3] == ["core.py", "lonely.py", "tests/test_core.py"]
    assert [name for name, _ in found.files[0].names][:2] == ["Engine", "make_engine"]
    assert [one.path for one in found.files][3:] == ["a.py", "b.py", "data.json"]
    sizes = sum(len(data) for data in FILES.values())
    assert (len(found.files), found.size_bytes) == (6, sizes)
    assert found.largest == (("tests/", 1, len(FILES["tests/test_core.py"])),)


@pytest.mark.parametrize("name", ["run", "Größe", "## A title with blanks", "a.b:c", "x\ty", "1 1 f"])
def test_a_summary_returns_the_names_it_was_given(name):
    names = [(name, 7, True), ("other", 12, False)]

    assert list(FileSummary(names).names()) == names


def test_the_oldest_maps_are_dropped_beyond_the_limit_of_memory(monkeypatch):
    cache = MapCache()
    cache.make(_survey_of(FILES, [], {"a.py": 0}))
    monkeypatch.setattr(cache.maps, "max_bytes", 2 * cache.maps.size_bytes)
    for version in range(1, 4):
        cache.make(_survey_of(FILES, [], {"a.py": version}))

    assert len(cache.maps) == 2


def test_a_scan_that_takes_too_long_ends_and_the_next_map_continues():
    cache = MapCache()
    answers = iter([False, False, True])
    first = cache.make(_survey_of(FILES, []), lambda: next(answers))
    reads = []
    second = cache.make(_survey_of(FILES, reads))

    assert (first.is_partial, first.scanned, len(first.files)) == (True, 2, 6)
    assert second == MapCache().make(_survey_of(FILES, []))
    assert len(reads) == second.scanned - 2


def test_the_same_tree_has_the_same_map():
    shuffled = dict(sorted(FILES.items(), reverse=True))

    assert MapCache().make(_survey_of(FILES, [])) == MapCache().make(_survey_of(shuffled, []))


def test_only_changed_files_are_read_again():
    cache = MapCache()
    cache.make(_survey_of(FILES, []))
    reads: list[str] = []
    cache.make(_survey_of(FILES, reads))
    assert reads == []

    changed = {**FILES, "b.py": b"class Engine_Two: pass\n"}
    found = cache.make(_survey_of(changed, reads, {"b.py": 1}))

    assert reads == ["b.py"]
    assert found == MapCache().make(_survey_of(changed, [], {"b.py": 1}))


def test_a_full_cache_holds_the_first_files_of_the_last_map(monkeypatch):
    monkeypatch.setattr(maps, "MAX_CACHED_BYTES", 800)
    monkeypatch.setattr(maps, "MAX_MAP_BYTES", 0)
    cache = MapCache()
    first = cache.make(_survey_of(FILES, []))
    reads: list[str] = []

    assert len(cache._summaries.get("")) == 2
    assert cache.make(_survey_of(FILES, reads)) == first
    assert reads == ["core.py", "lonely.py", "tests/test_core.py"]
    assert len(cache.maps) == 0


@pytest.mark.parametrize(
    ("name", "value", "scanned"), [("MAX_NAMES", 5, 4), ("MAX_NAMES", 3, 3), ("MAX_SUMMARY_BYTES", 700, 2)]
)
def test_no_more_files_are_scanned_than_the_memory_of_a_map_allows(monkeypatch, name, value, scanned):
    monkeypatch.setattr(maps, name, value)
    cache = MapCache()

    found = cache.make(_survey_of(FILES, []))

    assert (found.scanned, found.is_partial, len(found.files)) == (scanned, False, len(FILES))
    assert cache.make(_survey_of(FILES, [])) == found


def test_a_map_without_memory_for_names_lists_the_files():
    paid = []

    def pay(size_bytes):
        paid.append(size_bytes)
        return len(paid) < 3

    found = MapCache().make(_survey_of(FILES, []), pay=pay)

    assert (found.scanned, len(found.files)) == (2, len(FILES))


def test_maps_of_many_names_take_little_memory():
    """Files of 16 KB with 120 names each took 30 KB in the summaries, and as much in the map."""
    files = {
        f"m{n}.py": b"".join([b"def %s%d_%d(): pass\n" % (b"n" * 100, n, k) for k in range(120)]) for n in range(60)
    }
    tracemalloc.start()
    try:
        cache = MapCache()
        found = cache.make(_survey_of(files, []))
        held, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert len(found.files) == len(files)
    assert held < 60 * 20_000
    assert peak < 60 * 120 * 500


@pytest.mark.parametrize(
    ("name", "source", "wanted"),
    [
        ("python", b"class A:\n    def f(self): pass\nasync def g(): pass\n", ["A", "f", "g"]),
        ("go", b"func Run() {\n}\nfunc (t *T) Close() {\n}\ntype T struct {\n", ["Run", "Close", "T"]),
        ("rust", b"pub fn run() {}\npub(crate) struct S;\nimpl S {\n    fn f() {}\n}\n", ["run", "S", "f"]),
        ("c", b"static int run(int a)\n{\n}\nint declared(void);\nstruct point {\n", ["run", "point"]),
        ("typescript", b"export class A {}\nconst f = (x) => 1\nexport function g() {}\n", ["A", "f", "g"]),
        ("java", b"public class A {\n    public void run(int x) {\n        call(x);\n", ["A", "run"]),
        ("java", b"    throw new IllegalStateException(\n    return check(x\n", []),
        ("ruby", b"module M\n  class C\n    def self.run\n", ["M", "C", "run"]),
        ("kotlin", b"fun run() {\n    val a = 1\n}\n", ["run"]),
        ("rust", b"fn run() {\n    let a = 1;\n}\n", ["run"]),
        ("dart", b"void main() {\n    test('a', () {\n      if (a) {\n", ["main"]),
        ("csharp", b"namespace N {\n    class C {\n        void F() {\n            if (a) {\n", ["N", "C", "F"]),
        ("go", b"package gin\nfunc Run() {\n", ["Run"]),
        ("javascript", b"app.use = function use(fn) {\n  return 1\n}\n", ["use"]),
        ("zig", b"const A = struct {\n    pub fn f() void {}\n};\nconst b = 1;\n", ["A", "f"]),
        ("json", b'{"class A": 1}', []),
    ],
)
def test_names_are_found_by_a_quick_look(name, source, wanted):
    assert [one for one, _, _ in defined_names(source, name)] == wanted


def test_used_words_look_like_names():
    assert sorted(used_words(b"the QuerySet of get_it, and abc A 1234")) == [b"1234", b"QuerySet", b"get_it"]


@pytest.mark.parametrize(
    ("pattern", "path", "is_match"),
    [
        ("**/*.py", "a.py", True),
        ("**/*.py", "x/y/a.py", True),
        ("*.py", "x/a.py", False),
        ("**", "x/y/z", True),
        ("x/**/y.c", "x/y.c", True),
        ("x/**/y.c", "x/a/b/y.c", True),
        ("*.{ts,tsx}", "a.tsx", True),
        ("[ab].c", "a.c", True),
        ("[!ab].c", "a.c", False),
        ("[!ab].c", "/.c", False),
        ("**/tests/*.py", "a/tests/b.py", True),
        ("src/**/x/*.py", "src/a/x/b.py", True),
        ("**/a/**/b", "q/a/z/b", True),
        ("**/a/**/b", "q/a/z/c", False),
        ("x/**", "x/y/z", True),
        ("x/**", "x", False),
        ("x**", "xy/z", True),
        ("a.b*", "axb", False),
        ("[b-a]*", "a", False),
        ("[", "[", True),
    ],
)
def test_globs_match_whole_paths(pattern, path, is_match):
    assert PathGlob(pattern).matches(path) is is_match


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("src/**/*.py", ("src", "**/*.py")),
        ("**", ("", "**")),
        ("/a/*.c", ("/a", "*.c")),
        ("/*", ("/", "*")),
        ("a/b", ("a/b", "")),
    ],
)
def test_a_glob_has_a_directory_and_a_pattern(path, wanted):
    assert split_glob(path) == wanted


@pytest.mark.parametrize(
    "pattern", ["*a" * 200 + "c", "**/" * 100 + "*a*a*a*c", "{*a,*b}" * 9 + "c", "[a]*" * 100 + "c"]
)
def test_no_pattern_takes_exponential_time(pattern):
    assert not PathGlob(pattern).matches("a" * 250)
    assert not PathGlob(pattern).matches("/".join(["a" * 60] * 60))


def test_any_pattern_is_compared_or_refused():
    dice = Random("globs")
    for _ in range(300):
        pattern = "".join(dice.choices("*?[]{}!,/ab.-", k=dice.randrange(1, 30)))
        PathGlob(pattern).matches("a/b" * 20)
    with pytest.raises(ValueError, match="a pattern stands for at most 1000 others"):
        PathGlob("{a,b}" * 30)


@pytest.mark.parametrize("path", SOURCE, ids=lambda path: path.name)
def test_a_map_names_definitions_only(path):
    pytest.importorskip("tree_sitter", reason="the extra `outline` is not installed")
    data = path.read_bytes()
    symbols = {(symbol.name, symbol.line) for symbol in outline(data, path.name).symbols}
    names = {(re.split("[.:]", name)[-1], line) for name, line, _ in defined_names(data, language_of(path.name))}

    in_here_document = {("ring", 17)} if path.name == "harbour.sh" else set()
    assert names - symbols == in_here_document
