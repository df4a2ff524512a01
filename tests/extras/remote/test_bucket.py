"""Buckets, on our own server and on every real one that `make remote` has installed."""

from __future__ import annotations

import pytest

from eyespan import Workspace
from eyespan.errors import OutsideRoot
from eyespan.extras.remote import web
from eyespan.extras.remote.network import NetworkRoot

FILES = {
    "p/a.txt": b"one\ntwo\nthree\n",
    "p/empty": b"",
    "p/.env": b"KEY=1\n",
    "p/src/app.py": b"def f():\n    return 1\n",
    "p/src/%2e%2e/x": b"odd\n",
    "secret.txt": b"not for you\n",
}


@pytest.fixture
def bucket(store):
    for key, body in FILES.items():
        store.put(key, body)
    return store


@pytest.fixture
def workspace(bucket):
    with Workspace(f"/root={bucket.url}/p") as workspace:
        yield workspace


def test_every_dialect_reads_an_object_with_one_request(workspace):
    store = workspace.roots[0].store()
    calls = {
        "codex": {"file_path": "/root/a.txt"},
        "claude": {"file_path": "/root/a.txt"},
        "forge": {"path": "a.txt"},
        "workspace": {"path": "a.txt"},
        "native": {"files": ["a.txt"]},
    }
    for dialect, arguments in calls.items():
        before = store.server.requests
        assert "three" in workspace.tool(dialect).call(arguments).text
        assert store.server.requests == before + 1


def test_directories_are_listed_without_denied_names(workspace):
    tool = workspace.tool("native")

    text = tool.call({"files": ["."]}).text
    assert all(name in text for name in ("a.txt", "empty", "src/"))
    assert ".env" not in text
    assert "app.py" in tool.call({"files": ["src"]}).text
    assert "app.py" in tool.call({"files": ["src/ap.py"]}).text, "a suggestion"


@pytest.mark.parametrize("path", ["..", "../a", "src/../../a", "./../a"])
def test_a_path_above_the_prefix_has_no_key(path):
    with pytest.raises(OutsideRoot):
        NetworkRoot("s3://bucket/prefix").keys_of(path, path)


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

    bucket.put("p/big", b"a" * 300_000)
    with workspace.roots[0].open("big", "big", CallContext(5)) as source:
        bucket.put("p/big", b"b" * 300_000)
        with pytest.raises(Changed):
            source.read_at(200_000, 10)


def test_no_message_holds_credentials_or_addresses(bucket):
    for root in (f"{bucket.url}/p", f"{bucket.url.partition(':')[0]}://no-such-bucket/p"):
        with Workspace(root) as other:
            for path in ("nope", "a.txt", "src", "../x"):
                text = other.tool("native").call({"files": [path]}).text
                assert "word-of-the-host" not in text
                assert "127.0.0.1" not in text


def test_an_empty_object_is_empty(workspace):
    assert "empty" in workspace.tool("native").call({"files": ["empty"]}).text


@pytest.mark.parametrize("path", ["src/../a.txt", "./a.txt", "src/./../a.txt"])
def test_dots_lead_to_the_key_that_they_mean(path, workspace):
    assert "three" in workspace.tool("native").call({"files": [path]}).text


@pytest.mark.parametrize("path", ["src/../.env", "./.env", "src/../src/../.env", ".env/", ".env/."])
def test_dots_do_not_avoid_a_rule(path, workspace):
    store = workspace.roots[0].store()
    reply = workspace.tool("native").call({"files": [path]})

    assert reply.is_error
    assert "KEY" not in reply.text
    assert store.server.requests == 0


@pytest.mark.parametrize("path", ["a.txt/", "a.txt/.", "a.txt/x", "a.txt/x/y", "src/app.py/x"])
def test_nothing_is_below_an_object(path, workspace):
    reply = workspace.tool("codex").call({"file_path": f"/root/{path}"})

    assert reply.error.message == "failed to read file: Not a directory (os error 20)"


def test_a_marker_is_an_empty_directory(workspace, bucket):
    bucket.put("p/hollow/", b"")

    assert "directory, 0 names" in workspace.tool("native").call({"files": ["hollow"]}).text
    assert "hollow/" in workspace.tool("native").call({"files": ["."]}).text


def test_a_pattern_gives_a_map_of_a_bucket_without_denied_names(workspace):
    text = workspace.tool("native").call({"files": ["**"]}).text

    assert "src/app.py" in text
    assert "1 f" in text
    assert ".env" not in text
    assert "app.py" not in workspace.tool("native").call({"files": ["*.txt"]}).text


def test_what_is_below_a_denied_directory_is_in_no_map_search_or_export(bucket):
    with Workspace(f"{bucket.url}/p").excluding(["src"]) as narrow:
        native = narrow.tool("native")
        shown = native.call({"files": ["**"]}).text + native.call({"files": [".?return"]}).text
        exported = [record.source for record in narrow.read_many(".")]

    assert "app.py" not in shown
    assert "a.txt" in exported
    assert not any(source.startswith("src/") for source in exported)


def test_lines_of_a_bucket_are_searched(workspace):
    text = workspace.tool("native").call({"files": ["src?return"]}).text

    assert "return 1" in text


def test_files_and_directories_are_described_by_a_listing(workspace):
    tools = {tool.spec.name: tool for tool in workspace.toolset("filesystem")}
    store = workspace.roots[0].store()
    reply = tools["list_directory_with_sizes"].call({"path": "/root"})

    assert "a.txt                                14 B" in reply.text
    assert store.server.requests <= 2
    assert "isDirectory: true" in tools["get_file_info"].call({"path": "/root/src"}).text
    assert "size: 14" in tools["get_file_info"].call({"path": "/root/a.txt"}).text


def test_a_directory_of_many_pages_is_listed(own_store):
    own_store.page(3)
    for number in range(8):
        own_store.put(f"many/{number}.txt", b"x\n")
    with Workspace(f"{own_store.url}/many") as workspace:
        assert "8 names" in workspace.tool("native").call({"files": ["."]}).text
    own_store.page(1000)


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (400, "answered with status 400"),
        (403, "the credentials of this host do not allow it"),
        (404, "no such file"),
        (429, "is busy (429)"),
        (500, "answered with status 500"),
        (501, "answered with status 501"),
        (503, "is busy (503)"),
    ],
)
@pytest.mark.parametrize("scheme", ["s3", "gs", "az"])
def test_a_failure_is_explained_by_its_status(scheme, number, words, monkeypatch):
    from .bucket_server import BucketServer
    from .range_server import status as answers

    monkeypatch.setattr(web, "FIRST_PAUSE_SECONDS", 0.001)
    server = BucketServer(scheme)
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    for path in ("a.txt", "."):
        server.faults = [answers(number)] * 30
        with Workspace(server.root) as workspace:
            assert words in workspace.tool("native").call({"files": [path]}).text
    server.close()


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(status, own_store):
    from .bucket_server import BucketServer
    from .range_server import status as answers

    other = BucketServer()
    other.files["a.txt"] = b"stolen\n"
    own_store.put("a.txt", b"mine\n")
    own_store.fail_with(answers(status, Location=other.url.replace("/files", "/data/a.txt")))
    with Workspace(own_store.url) as workspace:
        reply = workspace.tool("native").call({"files": ["a.txt"]})

    assert reply.is_error
    assert "redirects" in reply.text
    assert other.requests == []
    other.close()
