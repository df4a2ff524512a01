"""Requests over HTTP: the same answers as over stdio, in both kinds of revisions; progress, cancellation, limits."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import socket
import threading
import time

import pytest
from mcp import types

from eyespan.server import mcp_names
from tests.server.clients import TEMPLATE, TOKEN, HttpServer, read_response

from .sdk import connect

MODERN = [False, True]
HANG_SECONDS = 60


@pytest.mark.parametrize("mode", ["legacy", "auto", "2026-07-28"])
def test_the_sdk_client_lists_calls_reads_and_completes(server, place, mode):
    async def talk():
        async with connect(server, mode) as client:
            listed = await client.list_tools()
            reply = await client.call_tool("read_file", {"file_path": str(place / "app.py"), "offset": 7, "limit": 1})
            contents = await client.read_resource("file:///app.py?start=2&limit=1")
            ref = types.ResourceTemplateReference(uri=TEMPLATE)
            found = await client.complete(ref, {"name": "path", "value": "hel"})
            return listed, reply, contents, found, await client.list_resource_templates()

    listed, reply, contents, found, templates = asyncio.run(talk())

    assert [tool.name for tool in listed.tools] == ["read_file"]
    assert listed.tools[0].annotations.read_only_hint is True
    assert reply.content[0].text == "L7: line 7"
    assert contents.contents[0].text == "line 2\n"
    assert found.completion.values == ["hello.txt"]
    assert len(templates.resource_templates) == 1


@pytest.mark.parametrize("modern", MODERN)
def test_answers_are_the_same_as_over_stdio(server, place, modern, lines):
    version = "2026-07-28" if modern else "2025-11-25"
    stdio = lines("--dialect", "codex", root=place, version=version)
    asked = [
        ("tools/list", {}),
        ("tools/call", {"name": "read_file", "arguments": {"file_path": str(place / "hello.txt")}}),
        ("tools/call", {"name": "read_file", "arguments": {"file_path": str(place / ".env")}}),
        ("tools/call", {"name": "read_file", "arguments": {"file_path": str(place / "pipe")}}),
        ("tools/call", {"name": "nothing", "arguments": {}}),
        ("resources/list", {}),
        ("resources/templates/list", {}),
        ("resources/read", {"uri": "file:///hello.txt"}),
        ("resources/read", {"uri": "file:///none.txt"}),
    ]

    for method, params in asked:
        over_http = server.rpc(method, params, modern=modern)[1]
        over_stdio = stdio.ask(method, params)
        assert over_http.get("result") == over_stdio.get("result")
        assert over_http.get("error") == over_stdio.get("error")


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_progress_arrives_and_cancelling_stops_the_read(server, place, mode):
    reported = asyncio.Queue()

    async def progress(done, total, message):
        reported.put_nowait((done, total))

    async def talk():
        async with connect(server, mode) as client:
            arguments = {"file_path": str(place / "endless.txt"), "offset": 2}
            call = asyncio.create_task(client.call_tool("read_file", arguments, progress_callback=progress))
            seen = await reported.get()
            call.cancel()
            await asyncio.wait([call])
            while "eyespan_calls_running 0" not in server.metrics():
                await asyncio.sleep(0.05)
            return seen, await client.call_tool("read_file", {"file_path": str(place / "hello.txt")})

    seen, reply = asyncio.run(talk())

    assert reply.content[0].text == "L1: hello\nL2: world"
    assert seen[1] == 1 << 40


def test_a_read_beyond_its_deadline_and_a_pipe_are_answered(place, slow_call):
    server = HttpServer(place, "--dialect", "codex", "--timeout", "1")
    pipe = {"name": "read_file", "arguments": {"file_path": str(place / "pipe")}}

    calls = [(params, modern) for params in (slow_call, pipe) for modern in MODERN]
    answers = [server.rpc("tools/call", params, modern=modern)[1] for params, modern in calls]
    health = server.request(method="GET", path="/healthz")[0]
    server.end()

    assert [answer["result"]["isError"] for answer in answers] == [True] * 4
    assert health == 200


def test_an_answer_that_is_too_large_is_an_error_the_model_understands(place):
    (place / "wide.txt").write_text(("x" * 99 + "\n") * 100_000)
    server = HttpServer(place, "--dialect", "claude", "--max-answer-tokens", "0")

    answer = server.rpc("tools/call", {"name": "Read", "arguments": {"file_path": f"{place}/wide.txt", "limit": 10**6}})
    server.end()

    assert answer[1]["result"]["isError"] is True
    assert "Ask for fewer lines or pages" in answer[1]["result"]["content"][0]["text"]


def test_deep_arguments_and_files_do_not_end_the_server(place):
    """The threads of calls have small stacks, and each level of a value may take some of it."""
    deep = {"list": "[" * 40_000, "object": '{"a":' * 9_000, "expression": "x=" + "(" * 5_000, "quote": ">" * 20_000}
    for name, text in deep.items():
        (place / f"{name}.json").write_text(text)
        (place / f"{name}.py").write_text(text)
        (place / f"{name}.md").write_text(text)
    nested = ["a"]
    for _ in range(900):
        nested = [nested]
    given = [*deep.values(), "[" * 40_000 + "]", nested, "**?" + "(" * 100 + ")" * 100, "{a," * 80 + "}" * 80]
    given += [each.name for each in sorted(place.glob("*.*")) if each.stem in deep]
    server = HttpServer(place, "--dialect", "native")

    statuses = {server.rpc("tools/call", {"name": "read", "arguments": {"files": files}})[0] for files in given}

    assert server.end() == 0
    assert statuses == {200}


@pytest.mark.parametrize("modern", MODERN)
def test_a_disconnect_stops_the_read(place, slow_call, modern):
    server = HttpServer(place, "--dialect", "codex", "--timeout", "3600")

    def running():
        return "eyespan_calls_running 1" in server.metrics()

    server.rpc("tools/call", slow_call, modern=modern, hang_up_when=running)
    for _ in range(2400):
        if "eyespan_calls_running 0" in server.metrics():
            break
        time.sleep(0.05)

    metrics = server.metrics()
    status = server.end(signal.SIGTERM if "eyespan_calls_running 0" in metrics else signal.SIGKILL)

    assert 'eyespan_calls_total{verdict="cancelled"} 1' in metrics
    assert status == 0


def test_requests_of_one_connection_are_answered_in_their_order(server, place):
    def request(number, method, params):
        body = json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode()
        header = f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {TOKEN}\r\n"
        return f"{header}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body

    read = {"name": "read_file", "arguments": {"file_path": str(place / "app.py"), "offset": 1, "limit": 1}}
    sent = [request(n, "tools/call" if n % 2 else "ping", read if n % 2 else {}) for n in range(20)]
    last = f"GET /none HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode()
    received = b""
    with socket.create_connection(("127.0.0.1", server.port), 30) as link:
        link.sendall(b"".join(sent) + last)
        while block := link.recv(65536):
            received += block

    assert [int(found) for found in re.findall(rb'"id":(\d+)', received)] == list(range(20))
    assert received.count(b"HTTP/1.1 200 OK") == 20
    assert received.count(b"HTTP/1.1 404 ") == 1


def test_an_http_1_0_client_is_answered_and_the_connection_closed(server):
    with socket.create_connection(("127.0.0.1", server.port), 30) as link:
        link.sendall(f"GET /healthz HTTP/1.0\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode())
        status, headers, body = read_response(link)

    assert (status, headers["connection"], body) == (200, "close", b"ok\n")


def test_more_calls_than_the_limit_wait(place, slow_call):
    server = HttpServer(place, "--dialect", "codex", "--calls", "1", "--timeout", "1")
    answers = []

    def call():
        answers.append(server.rpc("tools/call", slow_call)[1])

    threads = [threading.Thread(target=call) for _ in range(3)]
    for thread in threads:
        thread.start()
    listed = server.rpc("tools/list")[0]
    for thread in threads:
        thread.join()
    server.end()

    assert listed == 200
    late = [answer["error"] for answer in answers if "error" in answer]
    assert len(late) < 3
    assert [(error["code"], error["message"].endswith("; try again later")) for error in late] == [
        (mcp_names.BUSY, True)
    ] * len(late)
    assert all(answer["result"]["isError"] for answer in answers if "result" in answer)


def test_plain_reads_are_answered_while_sixty_four_others_hang(tree, mount, hostile_paths):
    server = HttpServer(tree, "--dialect", "codex", "--timeout", "4")
    answers = []

    def call(path):
        return server.rpc("tools/call", {"name": "read_file", "arguments": {"file_path": path}})

    hostile = [threading.Thread(target=lambda path=path: answers.append(call(path))) for path in hostile_paths]
    try:
        for thread in hostile:
            thread.start()
        time.sleep(0.5)
        plain = [call(str(tree / "hello.txt")) for _ in range(10)]
        waiting = sum(thread.is_alive() for thread in hostile)
        for thread in hostile:
            thread.join(HANG_SECONDS)
        with_progress = {"name": "read_file", "arguments": {"file_path": str(tree / "net" / "drip-1")}}
        late = server.rpc("tools/call", {**with_progress, "_meta": {"progressToken": "p"}})
    finally:
        mount.answer()
        status = server.end()

    assert [one["result"]["content"][0]["text"] for _, one in plain] == ["L1: hello\nL2: world"] * 10
    assert waiting >= 64, "the plain reads were answered before any read that hangs"
    codes = {one["result"]["_meta"]["eyespan/error"]["code"] for _, one in answers}
    assert {"timeout", "not_regular"} <= codes <= {"timeout", "busy", "not_regular"}
    assert late[1]["result"]["_meta"]["eyespan/error"]["code"] in ("timeout", "busy")
    assert status == 0
