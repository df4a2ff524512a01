"""No operation of any store follows a redirect: the other host gets no connection, so no credentials either."""

from __future__ import annotations

import base64
import http.client
import itertools
import shutil
import socket
import ssl
import subprocess

import pytest

from eyespan import Workspace
from eyespan.extras.remote import bucket, web
from eyespan.extras.remote.endpoints import endpoints_of
from eyespan.extras.remote.relay import MAX_BODY_BYTES, MAX_ERROR_BYTES, UNUSED
from tests.sizes import size

from .bucket_server import BUCKET, BucketServer
from .range_server import RangeServer, status

pytest.importorskip("obstore", reason="obstore is not installed")


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
    for module in (web, bucket):
        monkeypatch.setattr(module, "FIRST_PAUSE_SECONDS", 0.001)


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


def test_no_proxy_of_the_environment_avoids_the_relay(other, monkeypatch):
    store = BucketServer("gs")
    store.faults = [status(302, Location=f"{other.url}/{BUCKET}/a.txt")] * 9
    for name, value in {**store.environment, "NO_PROXY": "*", "no_proxy": "*", "HTTP_PROXY": other.url}.items():
        monkeypatch.setenv(name, value)
    before = other.connections
    with Workspace(store.root, deadline_seconds=60) as workspace:
        assert workspace.tool("native").call({"files": ["a.txt"]}).is_error
    store.close()

    assert other.connections == before


@pytest.fixture
def relay(monkeypatch):
    """A relay for a bucket of Google, and what it lets through."""
    store = BucketServer("gs")
    store.files = {"a.txt": b"mine\n"}
    for name, value in store.environment.items():
        monkeypatch.setenv(name, value)
    relay, _ = bucket.open_relay(store.root)
    yield relay, store
    relay.close()
    store.close()


def ask(relay, target, method="GET", password=None, **headers):
    """Return the status of one request to a relay."""
    address = relay.start()
    password = password or address.partition("//")[2].partition("@")[0]
    connection = http.client.HTTPConnection("127.0.0.1", relay.open(), timeout=30)
    word = base64.b64encode(password.encode()).decode()
    connection.putrequest(method, target, skip_host=True)
    for name, value in {"Proxy-Authorization": f"Basic {word}", **headers}.items():
        connection.putheader(name, value)
    connection.endheaders()
    found = connection.getresponse().status
    connection.close()
    return found


def test_a_relay_serves_one_store_and_only_who_knows_its_password(relay, other):
    relay, store = relay
    own = store.environment["GOOGLE_BASE_URL"]
    before = other.connections

    assert ask(relay, f"{own}/{BUCKET}/a.txt") == 200
    assert ask(relay, f"{own}/{BUCKET}/a.txt", password="eyespan:guess") == 407
    assert ask(relay, f"{other.url}/{BUCKET}/a.txt") == 403
    assert ask(relay, own.replace("127.0.0.1", "localhost") + "/x") == 403
    assert ask(relay, own.replace("http:", "https:") + "/x") == 403
    assert ask(relay, other.url.removeprefix("http://").removesuffix("/files"), "CONNECT") == 403
    assert ask(relay, "169.254.169.254:80", "CONNECT") == 403
    assert ask(relay, "/a.txt") == 403
    assert other.connections == before


def test_a_relay_passes_its_password_on_to_no_store(relay):
    relay, store = relay
    seen = []
    store.faults = [lambda handler: (seen.append(dict(handler.headers)), store.answer(handler))]

    assert ask(relay, f"{store.environment['GOOGLE_BASE_URL']}/{BUCKET}/a.txt") == 200
    assert [name for headers in seen for name in headers if name.lower().startswith("proxy")] == []
    assert len(seen) == 1


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ("bytes=0-9", UNUSED),
        (f"bytes=0-{MAX_ERROR_BYTES - 1}", UNUSED),
        (f"bytes=0-{MAX_ERROR_BYTES}", 200),
        ("bytes=9-0", UNUSED),
        ("bytes=0-", 200),
        ("", 200),
    ],
)
def test_a_relay_passes_no_more_on_than_was_asked_for(relay, asked, status):
    """Nor than the description of an error takes."""
    relay, store = relay
    store.has_ranges = False
    store.files["a.txt"] = bytes(MAX_ERROR_BYTES + 1)

    assert ask(relay, f"{store.environment['GOOGLE_BASE_URL']}/{BUCKET}/a.txt", Range=asked) == status


@pytest.mark.parametrize(
    ("size_bytes", "answer"), [(MAX_BODY_BYTES, b"HTTP/1.1 200"), (MAX_BODY_BYTES + 1, b""), (-1, b"")]
)
def test_a_relay_takes_no_large_body(relay, size_bytes, answer):
    relay, store = relay
    word = base64.b64encode(relay.start().partition("//")[2].partition("@")[0].encode()).decode()
    lines = [
        f"GET {store.environment['GOOGLE_BASE_URL']}/{BUCKET}/a.txt HTTP/1.1",
        f"Proxy-Authorization: Basic {word}",
        f"Content-Length: {size_bytes}",
    ]
    with socket.create_connection(("127.0.0.1", relay.open()), 30) as link:
        link.sendall("\r\n".join([*lines, "", ""]).encode())
        link.shutdown(socket.SHUT_WR)  # the end of the body

        assert link.recv(12) == answer


def test_a_relay_ends_with_its_workspace(monkeypatch):
    store = BucketServer("gs")
    store.files = {"a.txt": b"mine\n"}
    for name, value in store.environment.items():
        monkeypatch.setenv(name, value)
    workspace = Workspace(store.root)
    assert "mine" in workspace.tool("native").call({"files": ["a.txt"]}).text
    port = workspace.roots[0].store()._relay.open()
    workspace.close()
    store.close()

    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate for localhost and its key, by the program openssl."""
    if shutil.which("openssl") is None:
        pytest.skip("the program openssl is not installed")
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    options = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=localhost"
    names = ["-addext", "subjectAltName=DNS:localhost"]
    files = ["-keyout", str(path.with_name("key.pem")), "-out", str(path)]
    subprocess.run(["openssl", *options.split(), *names, *files], check=True, capture_output=True)
    return path, path.with_name("key.pem")


@pytest.mark.parametrize("scheme", ["s3", "gs", "az"])
def test_a_store_with_tls_is_reached_with_tls_and_checked(scheme, certificate, other, monkeypatch):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    server = BucketServer(scheme, context)
    server.files = {"a.txt": b"mine\n", "d/b.txt": b"x\n"}
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    with Workspace(server.root, deadline_seconds=60) as workspace:
        for path in ("a.txt", "."):
            assert "is not accepted" in workspace.tool("native").call({"files": [path]}).text, "an unknown certificate"
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    with Workspace(server.root, deadline_seconds=60) as workspace:
        assert "mine" in workspace.tool("native").call({"files": ["a.txt"]}).text
        assert "b.txt" in workspace.tool("native").call({"files": ["d"]}).text
        server.faults = [status(302, Location=f"{other.url}/{BUCKET}/a.txt")] * 20
        before = other.connections
        assert workspace.tool("native").call({"files": ["a.txt"]}).is_error
        assert workspace.tool("native").call({"files": ["d"]}).is_error
    server.close()

    assert other.connections == before


@pytest.mark.parametrize(
    ("url", "environ", "store", "authority"),
    [
        ("s3://b/p", {}, "https://s3.us-east-1.amazonaws.com/b", "s3.us-east-1.amazonaws.com"),
        (
            "s3://b",
            {"AWS_REGION": "eu-west-1", "AWS_VIRTUAL_HOSTED_STYLE_REQUEST": "true"},
            *["https://b.s3.eu-west-1.amazonaws.com", "b.s3.eu-west-1.amazonaws.com"],
        ),
        ("s3://b", {"AWS_ENDPOINT": "https://Host:9000/"}, "https://Host:9000/b", "host:9000"),
        ("s3://b", {"AWS_ENDPOINT_URL": "https://host:443"}, "https://host:443/b", "host"),
        ("s3://b", {"AWS_ENDPOINT": "http://[::1]:81"}, "http://[::1]:81/b", "[::1]:81"),
        (
            "s3://b--usw2-az1--x-s3",
            {"AWS_S3_EXPRESS": "true", "AWS_REGION": "us-west-2"},
            *[
                "https://b--usw2-az1--x-s3.s3express-usw2-az1.us-west-2.amazonaws.com",
                "b--usw2-az1--x-s3.s3express-usw2-az1.us-west-2.amazonaws.com",
            ],
        ),
        ("gs://b", {}, "https://storage.googleapis.com", "storage.googleapis.com"),
        ("gs://b", {"GOOGLE_SERVICE_ACCOUNT_KEY": '{"gcs_base_url": "http://h:1"}'}, "http://h:1", "h:1"),
        ("az://c", {"AZURE_STORAGE_ACCOUNT_NAME": "n"}, "https://n.blob.core.windows.net", "n.blob.core.windows.net"),
        ("az://c", {"AZURE_STORAGE_USE_EMULATOR": "true"}, "http://127.0.0.1:10000", "127.0.0.1:10000"),
    ],
)
def test_the_address_of_a_store_is_the_one_that_obstore_uses(url, environ, store, authority):
    found = endpoints_of(url, environ)

    assert (found.store, found.authority) == (store, authority)
    assert not any("https" in str(value) for value in found.options.values())
