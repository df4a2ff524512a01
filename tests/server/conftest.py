"""A workspace to serve, and servers over stdio."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.hung_fuse import hung_mount, why_not

from .clients import StdioServer


@pytest.fixture
def lines(tree: Path):
    """Return a function that starts servers over stdio. End them afterwards."""
    made: list[StdioServer] = []

    def make(*arguments: str, version: str | None = "2025-11-25", root: Path = tree) -> StdioServer:
        made.append(StdioServer(*arguments, root=root, version=version))
        return made[-1]

    yield make
    for server in made:
        assert server.process.stdin is not None
        if not server.process.stdin.closed:
            server.close()
        assert server.process.returncode == 0


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a small workspace with plain and hostile files."""
    root = tmp_path / "work"
    (root / "src").mkdir(parents=True)
    (root / "src" / "app.py").write_text("".join(f"line {n}\n" for n in range(1, 101)))
    (root / "hello.txt").write_text("hello\nworld\n")
    (root / "umlaut.txt").write_text("grün → €\n")
    (root / "blob.bin").write_bytes(bytes(range(256)))
    (root / ".env").write_text("SECRET=1\n")
    (root / "latin.txt").write_bytes(b"caf\xe9\n")
    os.mkfifo(root / "pipe")
    (root / "out").symlink_to("/etc/passwd")
    return root


@pytest.fixture
def endless(tree: Path) -> Path:
    """Return a sparse file of one terabyte in a single line: hours to scan, nothing to make."""
    path = tree / "endless.txt"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    return path


@pytest.fixture
def mount(tree: Path):
    """Mount a file system below `tree/net` on which reads hang until `mount.answer()`."""
    if why_not():
        pytest.skip(why_not())
    (tree / "net").mkdir()
    with hung_mount(tree / "net") as made:
        yield made


HOSTILE = ("open-1", "read-1", "lookup-1", "drip-1")


@pytest.fixture
def hostile_paths(tree: Path) -> list[str]:
    """Return 64 paths that hang, and eight pipes, which would hang if they were opened."""
    return [str(tree / "net" / HOSTILE[n % 4]) for n in range(64)] + [str(tree / "pipe")] * 8
