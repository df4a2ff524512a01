"""Cancellation by a notification: of the same caller, session and id, and of nothing else."""

from __future__ import annotations

import json
import threading
import time
from hashlib import sha256
from types import SimpleNamespace

import pytest

from eyespan.extras.http.auth import Caller
from eyespan.extras.http.exchange import Exchange
from tests.server.clients import HttpServer


@pytest.mark.parametrize(
    ("headers", "request_id", "key"),
    [
        ({b"mcp-session-id": [b"s1"]}, 7, ("ann", b"s1", 7)),
        ({b"mcp-session-id": [b"s1"]}, "7", ("ann", b"s1", "7")),
        ({}, 7, None),
        ({b"mcp-session-id": [b""]}, 7, None),
        ({b"mcp-session-id": [b"s1", b"s2"]}, 7, None),
        ({b"mcp-session-id": [b"s" * 129]}, 7, None),
        ({b"mcp-session-id": [b"s1"]}, None, None),
        ({b"mcp-session-id": [b"s1"]}, True, None),
        ({b"mcp-session-id": [b"s1"]}, [7], None),
    ],
)
def test_the_key_of_a_request(headers, request_id, key):
    incoming = SimpleNamespace(headers=headers, caller=Caller("ann"))

    assert Exchange(None, None, incoming)._key(request_id) == key


@pytest.mark.parametrize(
    ("accept", "body"),
    [
        ("application/json, text/event-stream", b""),
        ("application/json", b'{"jsonrpc":"2.0","id":7,"error":{"code":0,"message":"Request cancelled"}}'),
    ],
)
def test_a_notification_of_the_same_session_stops_a_running_read(place, slow_call, accept, body):
    server = HttpServer(place, "--dialect", "codex", "--timeout", "3600")
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "judge", "version": "1"}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
    _, headers, _ = server.request(json.dumps(message).encode())
    session = headers["mcp-session-id"]
    answers = []

    def read():
        call = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": slow_call}
        answers.append(server.request(json.dumps(call).encode(), Mcp_Session_Id=session, Accept=accept))

    def cancel(**sent):
        notice = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}
        return server.request(json.dumps(notice).encode(), **sent)[0]

    reading = threading.Thread(target=read)
    reading.start()
    while "eyespan_calls_running 1" not in server.metrics():
        time.sleep(0.05)
    statuses = [cancel(Mcp_Session_Id="another"), cancel()]
    is_running = "eyespan_calls_running 1" in server.metrics()
    while reading.is_alive():
        statuses.append(cancel(Mcp_Session_Id=session))
        reading.join(1)
    metrics = server.metrics()

    assert server.end() == 0
    assert is_running
    assert set(statuses) == {202}
    assert answers[0][0] == 200
    assert answers[0][2] == body
    assert 'eyespan_calls_total{verdict="cancelled"} 1' in metrics


def test_a_caller_cannot_stop_the_read_of_another(place, slow_call, tmp_path):
    table = tmp_path / "tokens.toml"
    keys = {name: name * 8 for name in ("ann", "bob")}
    table.write_text(
        "".join(f"[{name}]\nsha256 = '{sha256(key.encode()).hexdigest()}'\n" for name, key in keys.items())
    )
    arguments = ("--dialect", "codex", "--timeout", "3600", "--tokens", str(table))
    server = HttpServer(place, *arguments, token=None)
    ann, bob = ({"Authorization": f"Bearer {key}", "Mcp_Session_Id": "one"} for key in keys.values())
    answers = {}

    def read(number):
        call = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": slow_call}
        answers[number] = server.request(json.dumps(call).encode(), Accept="application/json", **ann)[2]

    def start(number):
        reading = threading.Thread(target=read, args=(number,))
        reading.start()
        return reading

    def cancel(caller, number):
        notice = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}}
        return server.request(json.dumps(notice).encode(), **caller)[0]

    def wait_for(running):
        while first.is_alive() and f"eyespan_calls_running {running}\n" not in server.metrics():
            time.sleep(0.05)

    server.token = keys["ann"]
    first = start(7)
    wait_for(1)
    statuses = {cancel(bob, 7) for _ in range(8)}
    for _ in range(3):  # reads that their own caller stops later end, so the first would have ended
        later = start(8)
        wait_for(2)
        while later.is_alive():
            statuses.add(cancel(ann, 8))
            later.join(1)
    is_running = first.is_alive()
    while first.is_alive():
        statuses.add(cancel(ann, 7))
        first.join(1)

    assert server.end() == 0
    assert is_running
    assert statuses == {202}
    assert answers[7] == b'{"jsonrpc":"2.0","id":7,"error":{"code":0,"message":"Request cancelled"}}'
