"""Decisions about connections: which one makes place, which has expired; and the same over the wire."""

from __future__ import annotations

import socket

import pytest

from eyespan.extras.http import eviction
from eyespan.extras.http.eviction import Candidate, capacity, has_expired, to_abort, to_drop
from tests.server.clients import TOKEN, HttpServer

SHARE = 4


def held(key, address="a", idle_since=1.0, has_token=False):
    return Candidate(key=key, address=address, idle_since=idle_since, has_token=has_token)


@pytest.mark.parametrize(
    ("places", "dropped"),
    [
        ([], None),
        ([held("busy", idle_since=None)], None),
        ([held("new", idle_since=9.0), held("old", idle_since=2.0)], "old"),
        ([held("token", idle_since=1.0, has_token=True), held("none", idle_since=9.0)], "none"),
        ([held("token", has_token=True), held("busy", idle_since=None)], "token"),
        ([held("alone", "b", 1.0), *[held(f"many {n}", "a", 5.0 + n) for n in range(SHARE + 1)]], "many 0"),
        ([held("alone", "b", 1.0), *[held(f"few {n}", "a", 5.0 + n) for n in range(SHARE)]], "alone"),
        ([held("alone", "b", 1.0), *[held(n, "a", 5.0, has_token=True) for n in range(SHARE + 1)]], "alone"),
    ],
)
def test_the_connection_that_makes_place(places, dropped):
    assert to_drop(places, SHARE) == dropped


@pytest.mark.parametrize(
    ("phase", "seconds", "expired"),
    [
        ("headers", 4.9, False),
        ("headers", 5.1, True),
        ("body", 5.1, True),
        ("idle", 14.9, False),
        ("idle", 15.1, True),
        ("sending", 29.9, False),
        ("sending", 30.1, True),
        ("closing", 2.1, True),
        ("answering", 1e9, False),
    ],
)
def test_a_phase_has_its_time(phase, seconds, expired):
    assert has_expired(phase, 100.0, 100.0 + seconds) is expired


@pytest.mark.parametrize(
    ("limit", "found"), [(60, []), (59, ["old"]), (40, ["old"]), (29, ["old", "middle"]), (0, ["old", "middle", "new"])]
)
def test_slow_receivers_are_closed_from_the_oldest_on(limit, found):
    unsent = [(3.0, 10, "new"), (1.0, 20, "old"), (2.0, 30, "middle")]

    assert to_abort(unsent, limit) == found


@pytest.mark.parametrize(
    ("descriptors", "places"), [(10**6, eviction.MAX_CONNECTIONS), (1024, 832), (256, 64), (10, 16)]
)
def test_places_depend_on_the_descriptors_that_the_system_allows(descriptors, places):
    assert capacity(descriptors) == places


# --- over the wire -------------------------------------------------------------------------------------------------

MAX_DESCRIPTORS = 256
PLACES = capacity(MAX_DESCRIPTORS)
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n"


@pytest.mark.parametrize("start", [b"", b"POST /mcp HTTP/1.1\r\n", HEALTH], ids=["nothing", "a line", "kept alive"])
def test_idle_connections_without_a_token_keep_no_client_out(place, start):
    server = HttpServer(place, max_descriptors=MAX_DESCRIPTORS)
    links = []
    try:
        for _ in range(PLACES + 20):
            links.append(socket.create_connection(("127.0.0.1", server.port), 30))
            links[-1].sendall(start.replace(b"PORT", str(server.port).encode()))

        assert [server.rpc("tools/list")[0] for _ in range(3)] == [200] * 3
        first = links[0].recv(4096)
    finally:
        for link in links:
            link.close()
        server.end()

    assert first.startswith(b"HTTP/1.1 200" if start is HEALTH else b"HTTP/1.1 503")


def test_a_connection_that_finds_no_place_is_answered_with_503(place):
    server = HttpServer(place, "--dialect", "codex", max_descriptors=MAX_DESCRIPTORS)
    busy = (
        f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {TOKEN}\r\n"
        "Content-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: 100\r\n\r\n"
    )
    links = []
    try:
        for _ in range(PLACES):
            links.append(socket.create_connection(("127.0.0.1", server.port), 30))
            links[-1].sendall(busy.encode())
            assert links[-1].recv(100).startswith(b"HTTP/1.1 100")  # its body is on its way

        status, headers, _ = server.request(b"{}")
    finally:
        for link in links:
            link.close()
        server.end()

    assert status == 503
    assert headers["retry-after"] == "1"


def test_512_connections_are_answered(place):
    server = HttpServer(place, "--dialect", "codex")
    health = HEALTH.replace(b"PORT", str(server.port).encode())
    links = []
    try:
        for _ in range(512):
            links.append(socket.create_connection(("127.0.0.1", server.port), 30))
            links[-1].sendall(health)
        answers = {link.recv(4096)[:15] for link in links}
    finally:
        for link in links:
            link.close()
        server.end()

    assert answers == {b"HTTP/1.1 200 OK"}
