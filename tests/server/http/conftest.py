"""A workspace and a server over HTTP, shared by the tests of a module."""

from __future__ import annotations

import os
from importlib.util import find_spec

import pytest

from tests.server.clients import HttpServer

HAS_EXTRA = find_spec("httptools") is not None
collect_ignore_glob = [] if HAS_EXTRA else ["test_*.py"]  # the HTTP server needs the extra [http]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    root = tmp_path_factory.mktemp("http") / "work"
    root.mkdir()
    (root / "hello.txt").write_text("hello\nworld\n")
    (root / "app.py").write_text("".join(f"line {n}\n" for n in range(1, 1001)))
    (root / ".env").write_text("SECRET=1\n")
    with (root / "endless.txt").open("wb") as file:
        file.truncate(1 << 40)
    os.mkfifo(root / "pipe")
    return root


@pytest.fixture(scope="module")
def server(place):
    made = HttpServer(place, "--dialect", "codex", "--timeout", "3600")
    yield made
    assert made.end() == 0


@pytest.fixture(scope="module")
def slow_call(place):
    """Return the parameters of a call that scans until its deadline."""
    return {"name": "read_file", "arguments": {"file_path": str(place / "endless.txt"), "offset": 2}}
