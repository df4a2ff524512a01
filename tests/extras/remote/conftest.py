from __future__ import annotations

import os

import pytest

from eyespan import Workspace

from .bucket_server import BucketServer
from .range_server import RangeServer
from .stores import REAL, STORES


@pytest.fixture
def server():
    server = RangeServer()
    server.files["a.txt"] = b"one\ntwo\nthree\n"
    yield server
    server.close()


@pytest.fixture
def workspace(server):
    with Workspace(f"/data={server.url}", deadline_seconds=60) as workspace:
        yield workspace


@pytest.fixture(scope="session")
def servers():
    """The servers of buckets that were started; each runs until the end."""
    started: dict = {}
    yield started
    for store in started.values():
        store.close()


def in_environment(servers, name):
    """Yield a server of buckets while the environment names it."""
    if name not in servers:
        servers[name] = STORES[name]()
    store = servers[name]
    before = {key: os.environ.get(key) for key in store.environment}
    os.environ.update(store.environment)
    yield store
    for key, value in before.items():
        if value is None:
            os.environ.pop(key, None)
        else:
            os.environ[key] = value


@pytest.fixture
def own_store(servers):
    yield from in_environment(servers, "own")


@pytest.fixture(params=STORES)
def store(servers, request):
    yield from in_environment(servers, request.param)


@pytest.fixture(params=REAL)
def real_store(servers, request):
    yield from in_environment(servers, request.param)


@pytest.fixture(scope="module", params=["web", "s3", "gs", "az"])
def place(request):
    """Our own server of one scheme and the root that leads to it, while the environment names it."""
    server = RangeServer() if request.param == "web" else BucketServer(request.param)
    with pytest.MonkeyPatch.context() as patch:
        if isinstance(server, BucketServer):
            for name, value in server.environment.items():
                patch.setenv(name, value)
        yield server, server.root if isinstance(server, BucketServer) else server.url
    server.close()
