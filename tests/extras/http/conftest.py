"""A workspace and a server over HTTP, shared by the tests of a module."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.server.clients import HttpServer
from tests.server.conftest import endless, hostile_paths, lines, mount, tree  # noqa: F401  (fixtures)

WITHOUT_EXTRA = ("test_log.py",)
"""The tests that do not need the package of the extra [http], besides those of the page."""
collect_ignore = []
if find_spec("httptools") is None:
    names = [path.name for path in Path(__file__).parent.glob("test_*.py")]
    collect_ignore = [*(name for name in names if name not in WITHOUT_EXTRA), "page/test_served.py"]


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
