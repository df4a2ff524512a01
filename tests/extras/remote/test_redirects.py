"""No operation of any store follows a redirect: the other host gets no connection, so no credentials either."""

from __future__ import annotations

import itertools

import pytest

from eyespan import Workspace
from eyespan.extras.remote import web
from eyespan.extras.remote.endpoints import endpoint_of
from tests.sizes import size

from .bucket_server import BUCKET, BucketServer
from .range_server import RangeServer, status


def tool_named(workspace, name):
    return next(tool for tool in workspace.toolset("filesystem") if tool.spec.name == name)


STATUSES = size(short=(302, 308), long=(301, 302, 303, 307, 308))
OPERATIONS = {
    "read": lambda workspace: workspace.tool("native").call({"files": ["a.txt"]}),
    "read further": lambda workspace: workspace.tool("codex").call({"file_path": "/data/big.txt", "offset": 30_000}),
    "list": lambda workspace: workspace.tool("native").call({"files": ["d"]}),
    "map": lambda workspace: workspace.tool("native").call({"files": ["**"]}),
    "search": lambda workspace: workspace.tool("native").call({"files": ["d?x"]}),
    "suggest": lambda workspace: workspace.tool("native").call({"files": ["d/nope.txt"]}),
    "describe": lambda workspace: tool_named(workspace, "get_file_info").call({"path": "/data/a.txt"}),
    "export": lambda workspace: list(workspace.read_many(["."])),
}
FILES = {"a.txt": b"mine\n", "d/b.txt": b"x\n", "big.txt": b"a line of a large file\n" * 40_000}


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch):
    monkeypatch.setattr(web, "FIRST_PAUSE_SECONDS", 0.001)


@pytest.fixture(scope="module")
def other():
    server = BucketServer()
    server.files = {"a.txt": b"stolen\n", "stolen.txt": b"stolen\n"}
    yield server
    server.close()


def run(place, operation):
    server, root = place
    server.files = FILES
    with Workspace(f"/data={root}", deadline_seconds=60) as workspace:
        return OPERATIONS[operation](workspace)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_no_operation_follows_a_redirect(operation, place, other):
    server, _ = place
    before = other.connections
    at = f"http://localhost:{other.url.rpartition(':')[2].partition('/')[0]}/{BUCKET}"
    for number, (kind, path) in zip(
        itertools.count(), itertools.product(STATUSES, ("/a.txt", "?list-type=2&comp=list"))
    ):
        after = number % 2  # the first request, or the second
        server.faults = [None] * after + [status(kind, Location=at + path)] * 20
        assert "stolen" not in repr(run(place, operation))
    server.faults = []

    assert other.connections == before


def test_a_redirect_within_the_store_is_not_followed_either(place):
    server, _ = place
    server.requests.clear()
    # More than one: a request of an earlier call that ran out of time may still arrive.
    server.faults = [status(307, Location=f"{server.url}/elsewhere")] * 20
    reply = run(place, "read")
    server.faults = []

    assert not any("elsewhere" in path for path, _ in server.requests)
    assert "redirects to another place, which is not followed" in reply.text


def test_an_answer_of_the_service_of_credentials_is_not_followed(other, monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    service, store = RangeServer(), BucketServer()
    service.faults = [status(307, Location=f"{other.url}/latest")] * 20
    monkeypatch.setenv("AWS_ENDPOINT", store.environment["AWS_ENDPOINT"])
    monkeypatch.setenv("AWS_METADATA_ENDPOINT", service.url.removesuffix("/files"))
    monkeypatch.setenv("AWS_IMDSV1_FALLBACK", "true")
    before = other.connections
    with Workspace(store.root, deadline_seconds=60) as workspace:
        assert workspace.tool("native").call({"files": ["a.txt"]}).is_error
        assert workspace.tool("native").call({"files": ["."]}).is_error
    service.close()
    store.close()

    assert other.connections == before
    assert service.connections > 0


@pytest.mark.parametrize(
    ("url", "environ", "endpoint"),
    [
        ("s3://b/p", {}, "https://s3.us-east-1.amazonaws.com/b"),
        (
            "s3://b",
            {"AWS_REGION": "eu-west-1", "AWS_VIRTUAL_HOSTED_STYLE_REQUEST": "true"},
            "https://b.s3.eu-west-1.amazonaws.com",
        ),
        ("s3://b", {"AWS_ENDPOINT": "https://Host:9000/"}, "https://Host:9000/b"),
        ("s3://b", {"AWS_ENDPOINT": "http://[::1]:81"}, "http://[::1]:81/b"),
        ("s3://b", {"AWS_ENDPOINT_URL_S3": "http://s3", "AWS_ENDPOINT_URL": "http://all"}, "http://s3/b"),
        ("gs://b", {}, "https://storage.googleapis.com/b"),
        ("az://c", {"AZURE_STORAGE_ACCOUNT_NAME": "n"}, "https://n.blob.core.windows.net/c"),
    ],
)
def test_the_environment_names_the_address_of_a_store(url, environ, endpoint):
    assert endpoint_of(url, environ) == endpoint


@pytest.mark.parametrize("endpoint", ["ftp://host", "host", "http://", "http://host?x="])
def test_an_address_that_is_none_is_refused(endpoint):
    with pytest.raises(ValueError, match="address"):
        endpoint_of("s3://b", {"AWS_ENDPOINT": endpoint})
