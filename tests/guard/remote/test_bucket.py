"""Buckets, with a real S3 server. `make remote` installs it."""

from __future__ import annotations

import logging

import pytest

from eyespan import Workspace

server_module = pytest.importorskip("moto.server", reason="no S3 server: `make remote` installs moto")
pytest.importorskip("obstore", reason="obstore is not installed")

FILES = {
    "p/a.txt": b"one\ntwo\nthree\n",
    "p/empty": b"",
    "p/.env": b"KEY=1\n",
    "p/src/app.py": b"def f():\n    return 1\n",
    "p/src/%2e%2e/x": b"odd\n",
    "secret.txt": b"not for you\n",
}


@pytest.fixture(scope="module")
def bucket():
    import os

    import boto3

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = server_module.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    names = {
        "AWS_ENDPOINT": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "word-of-the-host",
        "AWS_REGION": "us-east-1",
    }
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(names)
    client = boto3.client("s3", endpoint_url=names["AWS_ENDPOINT"], region_name="us-east-1")
    client.create_bucket(Bucket="data")
    for key, body in FILES.items():
        client.put_object(Bucket="data", Key=key, Body=body)
    yield client
    server.stop()
    for name, value in before.items():
        if value is None:
            del os.environ[name]
        else:
            os.environ[name] = value


@pytest.fixture
def workspace(bucket):
    with Workspace("s3://data/p") as workspace:
        yield workspace


def test_every_dialect_reads_an_object_with_one_request(workspace):
    store = workspace.roots[0].store()
    calls = {
        "codex": {"file_path": "/s3/data/p/a.txt"},
        "claude": {"file_path": "/s3/data/p/a.txt"},
        "forge": {"path": "a.txt"},
        "workspace": {"path": "a.txt"},
        "native": {"files": ["a.txt"]},
    }
    for dialect, arguments in calls.items():
        before = store.requests
        assert "three" in workspace.tool(dialect).call(arguments).text
        assert store.requests == before + 1


def test_directories_are_listed_without_denied_names(workspace):
    tool = workspace.tool("native")

    text = tool.call({"files": ["."]}).text
    assert all(name in text for name in ("a.txt", "empty", "src/"))
    assert ".env" not in text
    assert "app.py" in tool.call({"files": ["src"]}).text
    assert "app.py" in tool.call({"files": ["src/ap.py"]}).text, "a suggestion"


@pytest.mark.parametrize("path", ["../secret.txt", "src/../../secret.txt", "src//app.py", "%2e%2e/secret.txt"])
def test_nothing_above_the_prefix_is_reached(path, workspace):
    reply = workspace.tool("forge").call({"path": path})

    assert reply.is_error
    assert "not for you" not in reply.text


def test_an_object_with_an_odd_name_is_exact(workspace):
    assert "odd" in workspace.tool("forge").call({"path": "src/%2e%2e/x"}).text


def test_a_replaced_object_is_an_error(workspace, bucket):
    from eyespan.context import CallContext
    from eyespan.errors import Changed

    bucket.put_object(Bucket="data", Key="p/big", Body=b"a" * 300_000)
    with workspace.roots[0].open("big", "big", CallContext(5)) as source:
        bucket.put_object(Bucket="data", Key="p/big", Body=b"b" * 300_000)
        with pytest.raises(Changed):
            source.read_at(200_000, 10)


def test_no_message_holds_credentials_or_addresses(workspace):
    for root in ("s3://data/p", "s3://no-such-bucket/p"):
        with Workspace(root) as other:
            for path in ("nope", "a.txt", "src", "../x"):
                text = other.tool("native").call({"files": [path]}).text
                assert "word-of-the-host" not in text
                assert "127.0.0.1" not in text


def test_an_empty_object_is_empty(workspace):
    assert "empty" in workspace.tool("native").call({"files": ["empty"]}).text
