"""A server with remote roots reaches its stores, by a process outside of its sandbox, and nothing else."""

from __future__ import annotations

import json
import os
import socket
import time

import pytest

from eyespan import Workspace
from tests.extras.remote.bucket_server import BucketServer
from tests.extras.remote.range_server import RangeServer
from tests.sandbox.test_server import complete, inside

SCHEMES = ("http", "s3", "gs", "az")
READ = """
    def read(name):
        return workspace.tool("native").call({"files": [name]}).text
"""
ATTEMPTS = """
    other, store = json.loads(os.environ["PORTS"])
    def connect(address, family=socket.AF_INET, kind=socket.SOCK_STREAM):
        with socket.socket(family, kind) as link:
            link.settimeout(3)
            link.connect(address)
    def send(address):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
            link.sendto(b"x", address)
    def listen():
        with socket.socket() as link:
            link.bind(("127.0.0.1", 0))
    def look_up():
        try:
            socket.getaddrinfo("example.org", 80)
        except socket.gaierror:
            raise OSError(errno.EPERM, "")
    attempts = {
        "another port": lambda: connect(("127.0.0.1", other)),
        "another address": lambda: connect(("127.0.0.2", other)),
        "the store without the connector": lambda: connect(("127.0.0.1", store)),
        "HTTPS": lambda: connect(("127.0.0.1", 443)),
        "DNS over TCP": lambda: connect(("127.0.0.1", 53)),
        "cloud metadata": lambda: connect(("169.254.169.254", 80)),
        "IPv6": lambda: connect(("::1", other), socket.AF_INET6),
        "cloud metadata by IPv6": lambda: connect(("fd00:ec2::254", 80), socket.AF_INET6),
        "UDP": lambda: send(("127.0.0.1", 53)),
        "a socket in the file system": lambda: connect("/run/dbus/system_bus_socket", socket.AF_UNIX),
        "an abstract socket": lambda: connect("\\0eyespan", socket.AF_UNIX),
        "netlink": lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW).close(),
        "raw packets": lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1).close(),
        "a port of its own": listen,
        "a name": look_up,
    }
"""


@pytest.fixture
def other():
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture(params=SCHEMES)
def store(request):
    """A server of files, the text of a root that leads to it, and the variables for it."""
    if request.param == "http":
        server = RangeServer()
        root, environment = server.url, {}
    else:
        server = BucketServer(request.param)
        root, environment = server.root, server.environment
    server.files = {"a.txt": b"mine\n", "d/b.txt": b"x\n"}
    yield server, root, environment
    server.close()


def port_of(server):
    return int(server.url.rpartition(":")[2].partition("/")[0])


@complete
def test_the_store_is_read_and_nothing_else_is_reached(store, other):
    server, root, environment = store
    body = f"""{READ}{ATTEMPTS}
    found = {{name: tried(act) for name, act in attempts.items()}}
    print(json.dumps([report.missing, "mine" in read("a.txt"), found]))
    """
    missing, is_read, found = inside(body, root, PORTS=json.dumps([other, port_of(server)]), **environment)

    assert missing == {}
    assert is_read
    assert {name: code for name, code in found.items() if code not in ("EACCES", "EPERM")} == {}


@complete
def test_the_connector_refuses_other_hosts_and_ports(store, other):
    server, root, environment = store
    body = """
    from eyespan.extras.remote.web import _connected_by
    connector = workspace.roots[0]._connector
    store, other = json.loads(os.environ["PORTS"])
    places = [("127.0.0.1", store), ("127.0.0.1", other), ("localhost", store), ("127.0.0.2", store), ("::1", store),
        ("169.254.169.254", store), ("example.org", 443), ("", 0), ("x" * 2000, 1)]
    print(json.dumps([tried(lambda: _connected_by(connector, *place, "", "").close()) for place in places]))
    """
    found = inside(body, root, PORTS=json.dumps([port_of(server), other]), **environment)

    assert found == ["done"] + ["ECONNREFUSED"] * 8


CHANGING = """
    # The name of the store leads to it at first, then to the metadata service, then to it again.
    answers = [["127.0.0.1"], ["169.254.169.254"], ["127.0.0.1", "::ffff:169.254.169.254"], ["127.0.0.1"]]
    real = socket.getaddrinfo
    def changing(host, port, *rest, **options):
        if host != "store.test":
            return real(host, port, *rest, **options)
        return [(socket.AF_INET6 if ":" in each else socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, port))
            for each in (answers.pop(0) if len(answers) > 1 else answers[0])]
    socket.getaddrinfo = changing
"""


@complete
def test_a_name_is_looked_up_again_for_each_connection_and_checked():
    server = RangeServer()
    server.files = {f"{number}.txt": b"mine\n" for number in range(4)}
    body = f"""{READ}
    found = []
    for number in range(4):
        found.append(read(f"{{number}}.txt"))
        workspace.roots[0].store().close()
    print(json.dumps(found))
    """
    found = inside(body, server.url.replace("127.0.0.1", "store.test"), before=CHANGING)
    server.close()

    assert ["mine" in text for text in found] == [True, False, False, True]
    assert all("never read" in text for text in found[1:3])


@complete
def test_the_connector_ends_with_the_server(store):
    _, root, environment = store
    before = """
    children = open(f"/proc/self/task/{os.getpid()}/children")
    """
    body = f"""{READ}
    read("a.txt")
    print(json.dumps(int(children.read().split()[0])))
    """
    pid = inside(body, root, before=before, **environment)

    until = time.monotonic() + 60
    while os.path.exists(f"/proc/{pid}") and time.monotonic() < until:
        time.sleep(0.02)
    assert not os.path.exists(f"/proc/{pid}")


def test_without_a_sandbox_this_process_connects():
    with Workspace("http://127.0.0.1") as workspace:
        assert workspace.roots[0]._connector is None
