"""`eyespan read PATH:LINES` without the readers prints what the usual way prints."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyespan import _native, selectors
from eyespan.cli import reader, window
from eyespan.cli.main import main
from eyespan.lines import cache, index
from eyespan.lines.finder import CachedIndex
from eyespan.model import Lines, Tail
from eyespan.source import Source
from tests.cli.test_read import CONTENTS
from tests.sizes import examples

SELECTORS = [
    "1",
    "2",
    "1-2",
    "2-9",
    "1+1",
    "2+5",
    "9",
    "9-12",
    "2-1",
    "0",
    "0-3",
    "01",
    "1-",
    "-1",
    "1,2",
    "1:1",
    "x",
    "",
]

pytestmark = pytest.mark.skipif(_native.open_beneath is None, reason="needs the accelerator")


@pytest.fixture
def both_ways(capfdbinary, monkeypatch):
    """Run a command without the readers where that is possible, and in the usual way; return status and output."""

    def outcome(words):
        code = main(list(words))
        sys.stdout.flush()
        return code, *capfdbinary.readouterr()

    def run(*words):
        found = outcome(words)
        with monkeypatch.context() as patched:
            patched.setattr(window, "show_window", lambda *_: False)
            return found, outcome(words)

    return run


@pytest.mark.parametrize("name", [name for name in CONTENTS if name != " space"])
def test_lines_of_a_small_file_are_those_of_the_usual_way(name, directory, both_ways):
    (directory / name).write_bytes(CONTENTS[name])
    targets = [f"{name}:{selector}" for selector in SELECTORS] + [f"./{name}:1", f"{directory / name}:2"]

    for words in [["read", target] for target in targets] + [["read", "-N", f"{name}:1-2"]]:
        shown, usual = both_ways(*words)
        assert shown == usual, words


def test_a_file_of_the_whole_name_comes_first(directory, both_ways):
    (directory / "a").write_bytes(b"one\ntwo\n")
    (directory / "a:1").write_bytes(b"a name like a selector\n")
    os.symlink("nothing", directory / "a:2")

    shown, usual = both_ways("read", "a:1")

    assert shown == usual == (0, b"     1\ta name like a selector\n", b"")
    for name in ("a:2", "missing:1", "sub/../a:1", ".:1"):
        shown, usual = both_ways("read", name)
        assert shown == usual


@pytest.fixture
def small_index(monkeypatch, tmp_path_factory):
    """Index with sizes a thousand times smaller."""
    for module in (index, cache):
        monkeypatch.setattr(module, "STRIDE", 64)
    monkeypatch.setattr(index, "GROUP", 4)
    monkeypatch.setattr(CachedIndex, "min_bytes", 1)
    monkeypatch.setattr(Source, "max_first_bytes", 64)
    monkeypatch.setattr(cache, "DISK_MIN_BYTES", 256)
    monkeypatch.setattr(cache, "RACY_NS", 0)
    monkeypatch.setattr(cache, "_shared", cache.IndexCache(str(tmp_path_factory.mktemp("cache"))))
    monkeypatch.setattr(window, "MIN_INDEXED_BYTES", 1)
    monkeypatch.setattr("eyespan.guard.Guard.read_small", lambda *_, **__: None)


LATER = "\u00e9\udcff"
LARGE = {
    "plain": b"".join(b"line %d\n" % n for n in range(400)),
    "open": b"".join(b"line %d\n" % n for n in range(400)) + b"end",
    "crlf": b"line\r\n" * 400,
    "later": b"x" * 64 + b"\n" + LATER.encode("utf-8", "surrogateescape") * 200 + "\nend \u00e9\n".encode() * 40,
    "wide": "zählen\n".encode() * 200,
    "nul": b"a\0b\n" * 200,
    "bom": b"\xef\xbb\xbfone\n" * 200,
    "a.csv": b"a,b\n1,2\n" * 200,
    "pdf": b"%PDF-1.4\nnothing\n" * 200,
}


@pytest.mark.parametrize("name", LARGE)
def test_lines_of_an_indexed_file_are_those_of_the_usual_way(name, small_index, directory, both_ways):
    (directory / name).write_bytes(LARGE[name])
    os.utime(directory / name, (1_000_000_000, 1_000_000_000))

    for selector in (
        "390",
        "2-3",
        "100+50",
        "398-400",
        "399-401",
        "401",
        "402",
        "500",
        "1",
        "20",
        "3-90",
        "-3",
        "-500",
        "390-",
        "1-",
    ):
        for words in (["read", f"{name}:{selector}"], ["read", "-N", f"{name}:{selector}"]):
            shown, usual = both_ways(*words)
            assert shown == usual, words


def test_lines_of_an_indexed_file_are_shown_without_the_readers(small_index, directory, eyespan, monkeypatch):
    (directory / "log").write_bytes(LARGE["plain"])
    os.utime(directory / "log", (1_000_000_000, 1_000_000_000))
    eyespan("read", "log:390")
    monkeypatch.setattr(reader, "show", lambda *_, **__: pytest.fail("the readers are used"))

    assert eyespan("read", "log:101+2") == (0, "   101\tline 100\n   102\tline 101\n", "")
    assert eyespan("read", "-N", "log:1-2") == (0, "line 0\nline 1\n", "")


def test_the_last_lines_of_a_small_file_are_shown_without_the_readers(directory, eyespan, monkeypatch):
    monkeypatch.setattr(reader, "show", lambda *_, **__: pytest.fail("the readers are used"))

    assert eyespan("read", "poem.txt:-2") == (0, "     3\tthree\n     4\tfour\n", "")
    assert eyespan("read", "poem.txt:3-") == (0, "     3\tthree\n     4\tfour\n", "")
    assert eyespan("read", "-N", "open.txt:-1") == (0, "omega", "")


def test_lines_of_a_small_file_are_shown_without_slow_modules(directory):
    code = "import sys; old = set(sys.modules); from eyespan.cli.main import main; main(['read', 'poem.txt:2-3'])"
    code += "; print(*sorted(set(sys.modules) - old), sep='\\n', file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, cwd=directory, text=True)
    imported = set(done.stderr.split())

    assert done.stdout == "     2\ttwo\n     3\tthree\n"
    assert {"re", "typing", "eyespan.selectors", "eyespan.engine", "eyespan.model", "eyespan.lines"} & imported == set()


@settings(max_examples=examples(200))
@given(st.text(st.sampled_from("0123456789-+,: x\u0663"), max_size=8))
def test_ranges_are_those_of_the_selectors(text):
    found = window.parse_range(text)

    ranges = selectors.parse_ranges(text)
    if found is not None:
        first, count = found
        open_ended = Lines(first, None) if count == sys.maxsize - first else Lines(first, count)
        assert ranges == (open_ended if first else Tail(count),)
    elif ranges is not None and len(ranges) == 1 and type(ranges[0]) in (Lines, Tail):
        assert "0" in text  # a number that begins with it
