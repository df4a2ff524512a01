"""The memory of requests: what they count, who is ended for whom, and floods of a real server."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyespan.extras.http import (
    admission,
    checks,
    connection,
    exchange,
    inbox,
    incoming,
    request_parser,
    streamable,
)
from eyespan.extras.http.inbox import FREE_BYTES, Held, Inbox
from eyespan.server import json_messages
from tests.server.clients import TOKEN, HttpServer, read_response

linux = pytest.mark.skipif(sys.platform != "linux", reason="the memory is read from /proc")
MB = 1 << 20


@given(st.lists(st.tuples(st.integers(0, 5), st.none() | st.integers(0, 100_000)), max_size=40))
def test_the_sum_of_all_requests_is_never_above_the_limit(steps):
    made = Inbox(lambda _: None, 200_000)
    requests = [Held(made) for _ in range(6)]
    held = [0] * 6
    for number, size_bytes in steps:
        if size_bytes is None:
            requests[number].release()
            held[number] = 0
        elif requests[number].set(size_bytes):
            held[number] = max(0, size_bytes - FREE_BYTES)

    assert [request.counted_bytes for request in requests] == held
    assert made.held_bytes == sum(held) <= 200_000


def test_a_small_request_is_accepted_however_much_others_hold():
    made = Inbox(lambda _: None, 100_000)

    assert Held(made).set(100_000 + FREE_BYTES)
    assert not Held(made).set(FREE_BYTES + 1)
    assert Held(made).set(FREE_BYTES)


def test_others_make_place_for_a_request():
    asked = []

    def make_place(size_bytes):
        asked.append(size_bytes)
        first.release()

    made = Inbox(make_place, 100_000)
    first = Held(made)
    first.set(90_000 + FREE_BYTES)

    assert Held(made).set(30_000 + FREE_BYTES)
    assert asked == [20_000]
    assert made.held_bytes == 30_000


# --- a running server -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def flooded(place):
    made = HttpServer(place, "--dialect", "codex", "--rate", "100000")
    yield made
    assert made.end() == 0


def start_of(server, length, *, more=""):
    return (
        f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {TOKEN}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {length}\r\n{more}\r\n"
    ).encode()


def link_to(server):
    return socket.create_connection(("127.0.0.1", server.port), 30)


def memory_of(server, name):
    with open(f"/proc/{server.process.pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(name))


@linux
def test_headers_that_no_check_needs_take_no_memory(flooded):
    before = memory_of(flooded, "VmRSS")
    many = "".join(f"{number:x}:\r\n" for number in range(0x1000, 0x1000 + 2000)).encode()
    links = []
    for _ in range(200):
        links.append(link_to(flooded))
        links[-1].sendall(b"POST /mcp HTTP/1.1\r\n" + many)
    assert flooded.rpc("ping")[0] == 200
    grown = memory_of(flooded, "VmRSS") - before
    for link in links:
        link.close()

    assert grown < 20 * MB, "80 MB if all of them are stored"


@linux
def test_bodies_that_never_end_make_place_for_those_that_do(flooded, place):
    before = memory_of(flooded, "VmRSS")
    links = []
    for _ in range(60):
        links.append(link_to(flooded))
        links[-1].sendall(start_of(flooded, MB) + b" " * (MB - 10))
    path = " " * 100_000 + str(place / "hello.txt")
    status, answer = flooded.rpc("tools/call", {"name": "read_file", "arguments": {"file_path": path}})
    grown = memory_of(flooded, "VmRSS") - before
    links[0].settimeout(30)
    first = read_response(links[0])
    for link in links:
        link.close()

    assert (status, answer["result"]["isError"]) == (200, True)
    assert grown < inbox.MAX_BYTES + 20 * MB
    assert first[0] == 503
    assert first[1]["retry-after"] == "2"


def test_a_message_of_many_values_is_not_read(flooded):
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"x": [[]] * 60_000}}).encode()
    status, _, data = flooded.request(body)

    assert (status, json.loads(data)["error"]["message"]) == (400, "Parse error: more than 50000 values")


def test_a_request_does_not_have_much_of_it_repeated(flooded):
    long_id = json.dumps({"jsonrpc": "2.0", "id": "i" * 2000, "method": "ping"}).encode()

    assert flooded.request(long_id)[0] == 400
    assert len(json.dumps(flooded.rpc("tools/call", {"name": "n" * 100_000}))) < 10_000
    assert len(json.dumps(flooded.rpc("m" * 100_000))) < 10_000


def test_requests_that_are_sent_at_once_are_answered_up_to_a_number(flooded):
    one = f"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{flooded.port}\r\n\r\n".encode()
    with link_to(flooded) as link:
        link.sendall(one * (connection.MAX_WAITING + 1))
        found = b""
        while found.count(b"ok\n") <= connection.MAX_WAITING:
            found += link.recv(65536)
    with link_to(flooded) as link:
        link.sendall(one * 500)
        data = b""
        while block := link.recv(65536):
            data += block

    assert found.count(b" 200 OK") == connection.MAX_WAITING + 1
    assert data.count(b" 200 OK") == connection.MAX_WAITING + 1
    assert data.count(b" 429 ") == 1


# --- one connection, without a server ---------------------------------------------------------------------------------


class Transport(asyncio.Transport):
    """A transport that stores what is sent."""

    def __init__(self):
        super().__init__()
        self.sent = b""
        self.is_aborted = False

    def set_write_buffer_limits(self, high=None, low=None):
        pass

    def pause_reading(self):
        pass

    def is_closing(self):
        return self.is_aborted

    def writelines(self, pieces):
        self.sent += b"".join(pieces)

    def abort(self):
        self.is_aborted = True


def connected(**server):
    """Return a connection to a server with these attributes, and its transport."""
    memory = inbox.Inbox(lambda size_bytes: None)
    made = connection.Connection(
        SimpleNamespace(inbox=memory, now=lambda: 0.0, admit=lambda made: None, forget=lambda made: None, **server)
    )
    made.connection_made(transport := Transport())
    return made, transport, memory


def test_an_error_of_the_server_itself_closes_the_connection(caplog):
    made, transport, _ = connected()  # every check fails

    made.receive(b"GET /healthz HTTP/1.1\r\n\r\n")

    assert transport.is_aborted
    assert "internal error" in caplog.text


def test_requests_that_are_not_answered_return_their_memory():
    class Admission:
        def check(self, incoming, address):
            incoming.route = "health"

    made, transport, memory = connected(
        admission=Admission(), loop=SimpleNamespace(call_soon=lambda run: None), date=b"", is_stopping=False
    )
    small, body = b"GET / HTTP/1.1\r\n\r\n", bytes(50_000)
    large = b"POST / HTTP/1.1\r\ncontent-length: %d\r\n\r\n" % len(body) + body

    made.receive(small * connection.MAX_WAITING + large + large[:-1])
    held_bytes = memory.held_bytes
    made.receive(large[-1:])
    made.connection_lost(None)

    assert (transport.sent.count(b" 200 OK"), held_bytes > len(body), memory.held_bytes) == (1, True, 0)


def test_every_header_that_is_read_is_stored():
    names = set()
    for module in (admission, checks, connection, exchange, request_parser, streamable):
        text = Path(module.__file__).read_text("utf-8")
        names |= set(re.findall(r'headers(?:\.get\(|\[)b"([a-z0-9-]+)"', text))
        names |= set(re.findall(r'b"(mcp-[a-z-]+)"', text))

    assert len(names) > 12
    assert {name.encode() for name in names} <= incoming.KNOWN_HEADERS


# --- the number of values in a text -----------------------------------------------------------------------------------

JSON = st.recursive(
    st.none() | st.integers() | st.text(alphabet='a",[{\\é'),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(alphabet='a",[{\\', max_size=5), inner),
)


def values_of(value):
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(values_of(item) for item in inner)


@given(JSON, st.integers(1, 40), st.booleans())
def test_the_number_of_values_is_known_before_they_are_made(value, most, is_ascii):
    text = json.dumps(value, ensure_ascii=is_ascii).encode()
    found, real = json_messages.count_values(text, most), values_of(value)

    assert found >= min(real, most + 1)
    assert found <= most or 2 * real > most


@pytest.mark.parametrize(
    "data",
    [
        b'["' + b"," * 1_000_000 + b'"]',
        b'["' + b'\\",' * 300_000 + b'"]',
        b'"' + b"\\" * 1_000_000,
        b'["' + b"\\\\" * 300_000 + b'",[],{}]',
    ],
)
def test_signs_within_a_string_are_no_values(data):
    assert json_messages.count_values(data) < 10
