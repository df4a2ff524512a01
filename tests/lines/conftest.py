from __future__ import annotations

import os

import pytest

from eyespan import Workspace
from eyespan.guard.guarded_file import LocalFile
from eyespan.lines import index
from eyespan.lines.finder import LineFinder
from eyespan.lines.reader import LineReader
from eyespan.model import ANY_IS_TEXT, Lines, ReadRequest
from eyespan.source import Source


@pytest.fixture(autouse=True)
def fresh_cache():
    """An empty cache of indexes for every test."""
    index._indexes.clear()


@pytest.fixture
def file(tmp_path):
    """Write the file of the test."""

    def make(data: bytes):
        path = tmp_path / "file"
        path.write_bytes(data)
        return path

    return make


@pytest.fixture
def read(tmp_path):
    """Read the file of the test through an engine."""

    def run(selection=None, **more):
        with Workspace(tmp_path) as workspace:
            request = ReadRequest("file", selection or Lines(), text_rule=ANY_IS_TEXT, **more)
            return workspace.engine.read(request)

    return run


@pytest.fixture
def open_source():
    """Open files as sources, and close them after the test."""
    opened = []

    def run(path):
        fd = os.open(path, os.O_RDONLY)
        opened.append(LocalFile(fd, os.fstat(fd), asked="file", path="file", canonical="file"))
        return opened[-1]

    yield run
    for source in opened:
        source.close()


@pytest.fixture
def small_blocks(monkeypatch):
    """Read in small blocks, so that small files have every border that large ones have."""

    def use(*, block_bytes: int, first_bytes: int, squeeze_bytes: int) -> None:
        monkeypatch.setattr(LineReader, "block_bytes", block_bytes)
        monkeypatch.setattr(LineReader, "squeeze_bytes", squeeze_bytes)
        monkeypatch.setattr(Source, "max_first_bytes", first_bytes)

    return use


STRIDE = 64


@pytest.fixture(params=[1 << 18, 8], ids=["", "coarse"])
def small_index(request, monkeypatch):
    """Index with sizes a thousand times smaller; return the table of the cache."""
    monkeypatch.setattr(index, "MAX_BLOCKS", request.param)
    monkeypatch.setattr(index, "STRIDE", STRIDE)
    monkeypatch.setattr(index, "SCAN_BYTES", 4 * STRIDE)
    monkeypatch.setattr(index, "MIN_FILE_BYTES", 1)
    monkeypatch.setattr(LineReader, "block_bytes", 2 * STRIDE)
    monkeypatch.setattr(LineFinder, "cheap_bytes", STRIDE)
    monkeypatch.setattr(Source, "max_first_bytes", STRIDE)
    monkeypatch.setattr("eyespan.source.RACY_NS", 0)
    return index._indexes


@pytest.fixture
def forge(tmp_path):
    """Call the tool `forge` without numbers and without limits."""
    with Workspace(tmp_path) as workspace:
        yield lambda path, context=None, **arguments: workspace.tool(
            "forge", max_file_read_bytes=10**9, max_scan_bytes=10**9, show_line_numbers=False
        ).call({"path": path, **arguments}, context=context)
