from __future__ import annotations

import pytest

from eyespan import Workspace
from eyespan.context import CallContext
from eyespan.memory import Ledger

LIB = '''\
"""A harbour."""
import os


class Harbour:
    """Ships come and go."""

    # Where ships lie.
    # Two lines of it.
    @property
    def berths(self):
        return 3

    def enter(self, ship):
        return ship


def close():
    pass
'''


@pytest.fixture
def root(tmp_path):
    """Return a directory with `a.py`, thirty numbered lines, and `src/lib.py`, a class and a function."""
    (tmp_path / "a.py").write_text("".join(f"line {n}\n" for n in range(1, 31)))
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "lib.py").write_text(LIB)
    return tmp_path


@pytest.fixture
def tool(root):
    """Return the native tool of that directory."""
    with Workspace(root) as workspace:
        yield workspace.tool("native")


@pytest.fixture
def call(tool):
    """Return a function that calls the tool with files and other arguments."""
    return lambda files, **more: tool.call({"files": files, **more})


@pytest.fixture
def call_within(tool):
    """Return a function that calls the tool with a limit of memory, files and other arguments."""

    def call(max_bytes, files, **more):
        return tool.call({"files": files, **more}, context=CallContext(ledger=Ledger(max_bytes=max_bytes)))

    return call


@pytest.fixture
def call_on(root, call):
    """Return a function that writes a file and calls the tool with its name and a selector."""

    def write_and_call(name, data, selector="", **more):
        (root / name).write_bytes(data)
        return call(f"{name}{selector}", **more)

    return write_and_call
