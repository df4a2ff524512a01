from __future__ import annotations

import pytest

from eyespan import Workspace

from .range_server import RangeServer


@pytest.fixture
def server():
    server = RangeServer()
    server.files["a.txt"] = b"one\ntwo\nthree\n"
    yield server
    server.close()


@pytest.fixture
def workspace(server):
    with Workspace(f"/data={server.url}", deadline_seconds=5) as workspace:
        yield workspace
