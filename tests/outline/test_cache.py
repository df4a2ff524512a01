"""The cache of outlines: found again by other reads and processes, private, and never of another version."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import pytest

from eyespan import Workspace, __version__
from eyespan.context import CallContext
from eyespan.outline import cache, isolated
from eyespan.outline.cache import OutlineCache
from eyespan.outline.model import Outline, Symbol

SOURCE = "".join(f"def secret_name_{n}():\n    return {n}\n\n\n" for n in range(100))
OLD_NS = 1_000_000_000


@pytest.fixture
def stored(tmp_path, monkeypatch):
    """Return the cache of this process, with a directory of its own."""
    made = OutlineCache(str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "_shared", made)
    return made


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
    monkeypatch.setattr(cache, "RACY_NS", -(2**62))
    first = call("a.py::secret_name_7")
    monkeypatch.setattr(isolated, "outline_in_worker", None)

    assert call("a.py::secret_name_7") == first


def test_another_process_uses_the_outline_of_this_one(stored, call, tmp_path, monkeypatch):
    _write(tmp_path / "root/a.py", SOURCE)
    first = call("a.py::secret_name_7")
    monkeypatch.setattr(cache, "_shared", OutlineCache(stored.directory))
    monkeypatch.setattr(isolated, "outline_in_worker", None)

    assert call("a.py::secret_name_7") == first


def test_the_outlines_of_another_release_are_not_used(stored, call, tmp_path, monkeypatch):
    _write(tmp_path / "root/a.py", SOURCE)
    call("a.py::secret_name_7")
    assert cache.FORMAT.endswith(__version__.encode())
    monkeypatch.setattr(cache, "FORMAT", b"2 9.9.9")
    monkeypatch.setattr(cache, "_shared", OutlineCache(stored.directory))

    call("a.py::secret_name_8")

    assert len(list((tmp_path / "cache").rglob("*.outline"))) == 2


def test_a_changed_file_has_a_new_outline(stored, call, tmp_path):
    _write(tmp_path / "root/a.py", SOURCE)
    call("a.py::secret_name_7")
    _write(tmp_path / "root/a.py", SOURCE.replace("secret_name_7()", "secret_name_x()"))

    assert call("a.py::secret_name_7").is_error
    assert "secret_name_x" in call("a.py::secret_name_x").text


def test_the_cache_is_private_and_holds_neither_names_nor_contents(stored, call, tmp_path):
    _write(tmp_path / "root/secret.py", SOURCE)
    call("secret.py", outline=True)

    (file,) = os.scandir(stored.directory)
    assert os.stat(stored.directory).st_mode & 0o777 == 0o700
    assert file.stat().st_mode & 0o777 == 0o600
    assert "secret" not in file.name
    assert b"secret" not in Path(file.path).read_bytes()


@pytest.mark.parametrize("change", [lambda data: data[:-1], lambda data: data + b"\0", lambda data: b"\1" + data[1:]])
def test_a_damaged_file_is_ignored(stored, call, tmp_path, monkeypatch, change):
    _write(tmp_path / "root/a.py", SOURCE)
    first = call("a.py::secret_name_7")
    (file,) = Path(stored.directory).iterdir()
    file.write_bytes(change(file.read_bytes()))
    monkeypatch.setattr(cache, "_shared", OutlineCache(stored.directory))

    assert call("a.py::secret_name_7") == first


def test_the_memory_is_bounded(stored, call, tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "RACY_NS", -(2**62))
    for n in range(6):
        _write(tmp_path / f"root/{n}.py", SOURCE)
        call(f"{n}.py", outline=True)
        if n == 0:
            stored._by_file.max_bytes = 3 * stored._by_file.size_bytes

    assert len(stored._by_file) == 3


@pytest.mark.parametrize("name", ["a", "x" * 300, "\U0001f600" * 300])
def test_the_size_of_an_outline_is_that_of_its_symbols(name):
    _symbol(name, 1)
    tracemalloc.start()
    symbols = tuple([_symbol(name, line) for line in range(1000, 2000)])
    taken = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    counted = cache._size_bytes(Outline(symbols=symbols, how="shape", language="", is_complete=True))

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


def test_the_memory_of_an_outline_from_disk_is_charged(stored, tmp_path):
    """The values of the JSON take several times its size."""
    data = b"# heading\n" * 4000
    rows = tuple(
        Symbol(name="heading", qualified="heading", kind="h1", line=n, first=n, last=n, depth=0, signature="heading")
        for n in range(1, 4001)
    )
    found = Outline(symbols=rows, how="shape", language="markdown", is_complete=True)
    stored.save(data, "a.md", found)
    context = CallContext()
    tracemalloc.start()
    loaded = stored.load(data, "a.md", context)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    charged_bytes = context.memory.charged_bytes
    context.finish()

    assert loaded is not None
    assert len(loaded.symbols) == 4000
    assert peak_bytes < charged_bytes < 4 * peak_bytes
