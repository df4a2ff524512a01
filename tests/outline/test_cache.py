"""The cache of outlines: found again by other reads, and never of another version of the file."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import pytest

from eyespan import Workspace
from eyespan.outline import cache, isolated
from eyespan.outline.model import Outline, Symbol

SOURCE = "".join(f"def secret_name_{n}():\n    return {n}\n\n\n" for n in range(100))
OLD_NS = 1_000_000_000


@pytest.fixture
def stored():
    """Return the empty table of the cache."""
    cache._outlines.clear()
    return cache._outlines


@pytest.fixture
def call(tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    tool = Workspace(str(root)).tool("native")
    return lambda files, **more: tool.call({"files": files, **more})


def _write(path: Path, text: str) -> None:
    path.write_text(text)
    os.utime(path, ns=(OLD_NS, OLD_NS))


def test_an_unchanged_file_is_parsed_once(stored, call, tmp_path, monkeypatch):
    _write(tmp_path / "root/a.py", SOURCE)
    monkeypatch.setattr("eyespan.source.RACY_NS", -(2**62))
    first = call("a.py::secret_name_7")
    monkeypatch.setattr(isolated, "outline_in_worker", None)

    assert call("a.py::secret_name_7") == first


def test_a_changed_file_has_a_new_outline(stored, call, tmp_path):
    _write(tmp_path / "root/a.py", SOURCE)
    call("a.py::secret_name_7")
    _write(tmp_path / "root/a.py", SOURCE.replace("secret_name_7()", "secret_name_x()"))

    assert call("a.py::secret_name_7").is_error
    assert "secret_name_x" in call("a.py::secret_name_x").text


def test_the_memory_is_bounded(stored, call, tmp_path, monkeypatch):
    monkeypatch.setattr("eyespan.source.RACY_NS", -(2**62))
    for n in range(6):
        _write(tmp_path / f"root/{n}.py", SOURCE)
        call(f"{n}.py", outline=True)
        if n == 0:
            monkeypatch.setattr(stored, "max_bytes", 3 * stored.size_bytes)

    assert len(stored) == 3


@pytest.mark.parametrize("name", ["a", "x" * 300, "\U0001f600" * 300])
def test_the_size_of_an_outline_is_that_of_its_symbols(name):
    _symbol(name, 1)
    tracemalloc.start()
    symbols = tuple([_symbol(name, line) for line in range(1000, 2000)])
    taken = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    counted = cache.size_of(Outline(symbols=symbols, how="shape", language="", is_complete=True))

    assert 0.8 * taken < counted < 1.5 * taken


def _symbol(name, line):
    return Symbol(
        name=f"{name}.",
        qualified=f"a.{name}.",
        kind="key",
        line=line,
        first=line,
        last=line + 1,
        depth=0,
        signature=f"{name}:",
    )
