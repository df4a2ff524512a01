"""Cancellation by a notification: of the same caller, session and id, in any worker, and of nothing else."""

from __future__ import annotations

import json
import threading
import time
from hashlib import sha256

import pytest

from eyespan.context import CallContext
from eyespan.extras.http import cancellation
from eyespan.extras.http.cancellation import Cancellations, Mailbox, key_of
from tests.server.clients import HttpServer

KEY = ("ann", "s1", 7)


@pytest.mark.parametrize(
    ("headers", "request_id", "key"),
    [
        ({b"mcp-session-id": [b"s1"]}, 7, ("ann", "s1", 7)),
        ({b"mcp-session-id": [b"s1"]}, "7", ("ann", "s1", "7")),
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
    assert key_of("ann", headers, request_id) == key


@pytest.mark.parametrize("other", [("bob", "s1", 7), ("ann", "s2", 7), ("ann", "s1", 8), ("ann", "s1", "7")])
def test_a_notification_stops_only_the_request_that_it_names(other):
    running = Cancellations(Mailbox())
    context = CallContext()
    running.add(KEY, context)

    running.cancel(other)
    before = context.cancelled
    running.cancel(KEY)

    assert (before, context.cancelled) == (False, True)


def test_a_request_that_has_ended_cannot_be_stopped_and_a_later_one_with_its_key_stays():
    running = Cancellations(Mailbox())
    first, second = CallContext(), CallContext()
    running.add(KEY, first)
    running.add(KEY, second)
    running.remove(KEY, first)
    running.cancel(KEY)
    running.remove(KEY, second)

    assert (first.cancelled, second.cancelled) == (False, True)


def workers(count):
    """Return mailboxes as the workers of one server have them: one memory, a row for each."""
    shared = Mailbox(count)
    boxes = []
    for row in range(count):
        box = object.__new__(Mailbox)
        box.__dict__.update(shared.__dict__, _seen=[])
        box.take_row(row)
        boxes.append(box)
    return boxes


def test_a_notification_reaches_the_worker_that_runs_the_request():
    first, second, third = (Cancellations(box) for box in workers(3))
    context, other = CallContext(), CallContext()
    third.add(KEY, context)
    third.add(("ann", "s1", 8), other)

    first.cancel(KEY)
    second.look()
    third.look()

    assert (context.cancelled, other.cancelled) == (True, False)


def test_a_request_that_starts_after_a_notification_runs():
    first, second = (Cancellations(box) for box in workers(2))
    context = CallContext()

    first.cancel(KEY)
    second.look()
    second.add(KEY, context)
    second.look()

    assert context.cancelled is False


def test_a_full_mailbox_keeps_the_newest_notifications():
    first, second = (Cancellations(box) for box in workers(2))
    contexts = {number: CallContext() for number in range(cancellation.SLOTS + 10)}
    for number, context in contexts.items():
        second.add(("ann", "s1", number), context)
        first.cancel(("ann", "s1", number))
    second.look()

    assert [number for number, context in contexts.items() if not context.cancelled] == list(range(10))


@pytest.mark.parametrize(
    ("workers", "accept", "body"),
    [
        ("1", "application/json, text/event-stream", b""),
        ("1", "application/json", b'{"jsonrpc":"2.0","id":7,"error":{"code":0,"message":"Request cancelled"}}'),
        ("2", "application/json, text/event-stream", b""),
    ],
)
def test_a_notification_of_the_same_session_stops_a_running_read(place, slow_call, workers, accept, body):
    server = HttpServer(place, "--dialect", "codex", "--timeout", "3600", "--workers", workers)
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
