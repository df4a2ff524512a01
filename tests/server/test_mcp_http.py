"""The HTTP door: who is let in, who is not and with which status, both eras, several workers, an orderly end."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import signal
import socket
import threading
import time
from pathlib import Path

import pytest

pytest.importorskip("mcp", reason="the HTTP door needs the extra [mcp]")
pytest.importorskip("uvicorn", reason="the HTTP door needs the extra [mcp]")

import httpx2
from http_server import TOKEN, HttpServer, read_answer
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
ERAS = [False, True]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    root = tmp_path_factory.mktemp("http") / "work"
    root.mkdir()
    (root / "hello.txt").write_text("hello\nworld\n")
    (root / "app.py").write_text("".join(f"line {n}\n" for n in range(1, 1001)))
    (root / ".env").write_text("SECRET=1\n")
    with (root / "endless.txt").open("wb") as file:
        file.truncate(1 << 40)
    os.mkfifo(root / "pipe")
    return root


@pytest.fixture(scope="module")
def server(place):
    made = HttpServer(place, "--dialect", "codex", "--timeout", "3")
    yield made
    assert made.end() == 0


@contextlib.asynccontextmanager
async def connect(server, mode):
    headers = {"Authorization": f"Bearer {server.token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(streamable_http_client(server.url, http_client=http), mode=mode) as client,
    ):
        yield client


# --- who is let in -------------------------------------------------------------------------------------------------


def test_health_needs_no_token_and_tells_nothing(server):
    status, headers, body = server.request(method="GET", path="/healthz", drop=("Authorization", "Content-Type"))

    assert (status, body) == (200, b"ok\n")
    assert "server" not in headers


REFUSALS = [
    ("no token", 401, {}, ("Authorization",)),
    ("a wrong token", 401, {"Authorization": "Bearer nonsense"}, ()),
    ("the token's first half", 401, {"Authorization": f"Bearer {TOKEN[:16]}"}, ()),
    ("another scheme", 401, {"Authorization": f"Basic {TOKEN}"}, ()),
    ("an evil Host", 421, {"Host": "evil.example"}, ()),
    ("no Host", 400, {}, ("Host",)),
    ("a Host that only begins like ours", 421, {"Host": "127.0.0.1:1@evil"}, ()),
    ("our Host with more behind it", 421, {"Host": "127.0.0.1:{port}@evil"}, ()),
    ("our Host with more behind a dot", 421, {"Host": "127.0.0.1.evil.example:{port}"}, ()),
    ("another port", 421, {"Host": "127.0.0.1:1"}, ()),
    ("an evil Origin", 403, {"Origin": "http://evil.example"}, ()),
    ("an Origin that begins like ours", 403, {"Origin": "http://127.0.0.1:{port}.evil.example"}, ()),
    ("a null Origin", 403, {"Origin": "null"}, ()),
    ("plain text", 415, {"Content_Type": "text/plain"}, ()),
    ("no type", 415, {}, ("Content-Type",)),
    ("a form", 415, {"Content_Type": "application/x-www-form-urlencoded"}, ()),
    ("long headers", 431, {"X_Long": "x" * 16_384}, ()),
    ("headers past all bounds", 431, {"X_Long": "x" * 300_000}, ()),
    ("a body said to be huge", 413, {"Content_Length": str(5_000_000)}, ()),
    ("a body of senseless length", 400, {"Content_Length": "-1"}, ()),
]


@pytest.mark.parametrize(("status", "headers", "drop"), [row[1:] for row in REFUSALS], ids=[row[0] for row in REFUSALS])
def test_what_is_refused_and_how(server, status, headers, drop):
    filled = {name: value.replace("{port}", str(server.port)) for name, value in headers.items()}

    answer = server.request(PING, drop=drop, **filled)

    # After five wrong tokens the next are told to wait; headers that come in pieces are cut off by the parser.
    also = {401: 429, 431: 400}.get(status)
    assert answer[0] in (status, also)
    assert not any(name.startswith("access-control") for name in answer[1])
    assert TOKEN.encode() not in answer[2]


def test_a_huge_body_in_chunks_is_refused_before_it_is_whole(server):
    head = (
        f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {TOKEN}\r\n"
        "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", server.port), 30) as link:
        link.sendall(head.encode())
        try:
            for _ in range(100):
                link.sendall(b"10000\r\n" + b" " * 0x10000 + b"\r\n")
        except OSError:
            pass  # it did not wait for the rest
        status, _, _ = read_answer(link)

    assert status in (413, 0)  # 0: the refusal was lost with the reset that followed it
    assert server.request(PING)[0] != 401


def test_slow_headers_and_bodies_hold_no_connection(server):
    post = (
        f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {TOKEN}\r\n"
        "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
    )
    get = f"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
    starts = {
        "nothing": "",
        "a byte": "P",
        "half the headers": "POST /mcp HTTP/1.1\r\nHost: x\r\n",
        "half the body": post,
        "half a second request": f"{get}\r\n{get}",
        "half a second request behind a refused one": f"GET /x HTTP/1.1\r\nHost: evil\r\n\r\n{get}",
    }
    links = {}
    for name, start in starts.items():
        links[name] = socket.create_connection(("127.0.0.1", server.port), 14)  # keep-alive alone would take 15 s
        links[name].sendall(start.encode())
    answers = {}
    for name, link in links.items():
        with link:
            answers[name] = b""
            while block := link.recv(4096):
                answers[name] += block

    assert {name: answer.count(b"HTTP/1.1 408") for name, answer in answers.items()} == {
        "nothing": 1,
        "a byte": 1,
        "half the headers": 1,
        "half the body": 1,
        "half a second request": 1,
        "half a second request behind a refused one": 0,
    }
    assert answers["half a second request"].startswith(b"HTTP/1.1 200 OK")
    assert answers["half a second request behind a refused one"].startswith(b"HTTP/1.1 421")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/mcp", 405),
        ("DELETE", "/mcp", 405),
        ("PUT", "/mcp", 405),
        ("OPTIONS", "/mcp", 405),
        ("POST", "/", 404),
        ("POST", "/mcp/", 404),
        ("GET", "/.well-known/oauth-protected-resource/mcp", 404),
        ("POST", "/healthz", 405),
        ("POST", "/metrics", 405),
    ],
)
def test_other_paths_and_methods(server, method, path, status):
    assert server.request(method=method, path=path)[0] == status


def test_a_right_token_is_never_made_to_wait_by_wrong_ones(place):
    server = HttpServer(place, "--dialect", "codex")
    wrong = [server.request(PING, Authorization="Bearer wrong") for _ in range(8)]
    right = server.rpc("tools/list")
    server.end()

    assert [answer[0] for answer in wrong[:5]] == [401] * 5
    assert wrong[-1][0] == 429
    assert int(wrong[-1][1]["retry-after"]) > 0
    assert right[0] == 200


def test_the_token_is_made_once_and_kept_to_its_owner(place, tmp_path):
    first = HttpServer(place, token=None, XDG_STATE_HOME=str(tmp_path))
    path = tmp_path / "eyespan" / "token.key"
    token = path.read_text().strip()
    first.token = token
    status = first.rpc("tools/list")[0]
    first.end()
    second = HttpServer(place, token=None, XDG_STATE_HOME=str(tmp_path))
    second.end()

    assert status == 200
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert len(token) >= 43
    assert path.read_text().strip() == token
    assert str(path) in first.banner
    assert token not in first.banner


def test_the_token_is_not_on_the_command_line(server):
    assert TOKEN.encode() not in Path(f"/proc/{server.process.pid}/cmdline").read_bytes()


def test_metrics_need_the_token_and_count(server):
    server.rpc("tools/call", {"name": "read_file", "arguments": {"file_path": "/etc/passwd"}})
    refused = server.request(method="GET", path="/metrics", drop=("Authorization",))
    status, headers, body = server.request(method="GET", path="/metrics", drop=("Content-Type",))
    figures = dict(line.rsplit(" ", 1) for line in body.decode().splitlines() if not line.startswith("#"))

    assert refused[0] in (401, 429)
    assert status == 200
    assert headers["content-type"].startswith("text/plain; version=0.0.4")
    assert int(figures['eyespan_calls_total{verdict="refused"}']) >= 1
    assert int(figures['eyespan_turned_away_total{reason="token"}']) >= 1
    assert int(figures["eyespan_workers"]) == 1
    assert int(figures['eyespan_call_seconds_bucket{le="+Inf"}']) == int(figures["eyespan_call_seconds_count"])


def test_calls_a_minute_are_bounded_for_each_caller(place, tmp_path):
    table = tmp_path / "callers.toml"
    digest = {name: hashlib.sha256(f"the-token-of-{name}-here".encode()).hexdigest() for name in ("ann", "bob")}
    table.write_text(f'[ann]\nsha256 = "{digest["ann"]}"\nrate = 3\n[bob]\nsha256 = "{digest["bob"]}"\n')
    server = HttpServer(place, "--tokens", str(table), token="the-token-of-ann-here")

    ann = [server.rpc("tools/list")[0] for _ in range(5)]
    server.token = "the-token-of-bob-here"
    bob = [server.rpc("tools/list")[0] for _ in range(5)]
    server.end()

    assert ann == [200, 200, 200, 429, 429]
    assert bob == [200] * 5


@pytest.mark.parametrize("modern", ERAS)
def test_each_token_has_its_own_folders_and_dialects(place, tmp_path, modern):
    other = tmp_path / "other"
    other.mkdir()
    (other / "own.txt").write_text("own\n")
    (tmp_path / "bob.key").write_text("the-token-of-bob-here\n")
    (tmp_path / "bob.key").chmod(0o600)
    table = tmp_path / "callers.toml"
    digest = hashlib.sha256(TOKEN.encode()).hexdigest()
    table.write_text(
        f'[ann]\nsha256 = "{digest}"\n'
        f'[bob]\ntoken_file = "{tmp_path}/bob.key"\nroots = ["{other}"]\ndialects = ["workspace"]\n'
    )
    log = tmp_path / "audit.jsonl"
    server = HttpServer(place, "--dialect", "codex", "--tokens", str(table), "--audit", str(log))

    def read(path):
        answer = server.rpc("tools/call", {"name": "read_file", "arguments": path}, modern=modern)[1]
        return answer["result"]["isError"]

    ann = [read({"file_path": str(place / "hello.txt")}), read({"file_path": str(other / "own.txt")})]
    server.token = "the-token-of-bob-here"
    bob = [read({"path": str(place / "hello.txt")}), read({"path": "own.txt"})]
    server.end()
    lines = [json.loads(line) for line in log.read_text().splitlines()]

    assert ann == [False, True]
    assert bob == [True, False]
    assert [line["caller"].split()[0] for line in lines] == ["ann", "ann", "bob", "bob"]
    assert [line["verdict"] for line in lines] == ["read", "refused", "refused", "read"]


# --- what is served ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["legacy", "auto", "2026-07-28"])
def test_the_sdk_client_lists_calls_reads_and_completes(server, place, mode):
    from mcp import types

    async def talk():
        async with connect(server, mode) as client:
            listed = await client.list_tools()
            reply = await client.call_tool("read_file", {"file_path": str(place / "app.py"), "offset": 7, "limit": 1})
            contents = await client.read_resource("file:///app.py?start=2&limit=1")
            ref = types.ResourceTemplateReference(uri="file:///{+path}{?start,limit}")
            found = await client.complete(ref, {"name": "path", "value": "hel"})
            return listed, reply, contents, found, await client.list_resource_templates()

    listed, reply, contents, found, templates = asyncio.run(talk())

    assert [tool.name for tool in listed.tools] == ["read_file"]
    assert listed.tools[0].annotations.read_only_hint is True
    assert reply.content[0].text == "L7: line 7"
    assert contents.contents[0].text == "line 2\n"
    assert found.completion.values == ["hello.txt"]
    assert len(templates.resource_templates) == 1


@pytest.mark.parametrize("modern", ERAS)
def test_both_doors_answer_alike(server, place, modern, lines):
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
def test_progress_arrives_and_giving_up_stops_the_read(server, place, mode):
    told = asyncio.Queue()

    async def progress(done, total, message):
        told.put_nowait((done, total))

    async def talk():
        async with connect(server, mode) as client:
            arguments = {"file_path": str(place / "endless.txt"), "offset": 2}
            call = asyncio.create_task(client.call_tool("read_file", arguments, progress_callback=progress))
            seen = await told.get()
            call.cancel()
            await asyncio.wait([call])
            while "eyespan_calls_running 0" not in server.request(method="GET", path="/metrics")[2].decode():
                await asyncio.sleep(0.05)
            return seen, await client.call_tool("read_file", {"file_path": str(place / "hello.txt")})

    seen, reply = asyncio.run(talk())

    assert reply.content[0].text == "L1: hello\nL2: world"
    assert seen[1] == 1 << 40


@pytest.mark.parametrize("modern", ERAS)
def test_a_read_that_takes_too_long_and_a_pipe_are_answered(server, place, modern):
    slow = {"name": "read_file", "arguments": {"file_path": str(place / "endless.txt"), "offset": 2}}
    pipe = {"name": "read_file", "arguments": {"file_path": str(place / "pipe")}}

    assert server.rpc("tools/call", slow, modern=modern)[1]["result"]["isError"] is True
    assert server.rpc("tools/call", pipe, modern=modern)[1]["result"]["isError"] is True
    assert server.request(method="GET", path="/healthz")[0] == 200


def test_an_answer_that_is_too_big_is_an_error_the_model_understands(place):
    (place / "wide.txt").write_text(("x" * 99 + "\n") * 100_000)
    server = HttpServer(place, "--dialect", "claude")

    answer = server.rpc("tools/call", {"name": "Read", "arguments": {"file_path": f"{place}/wide.txt", "limit": 10**6}})
    server.end()

    assert answer[1]["result"]["isError"] is True
    assert "Ask for fewer lines" in answer[1]["result"]["content"][0]["text"]


@pytest.mark.parametrize("modern", ERAS)
def test_hanging_up_stops_the_read(place, modern):
    server = HttpServer(place, "--dialect", "codex", "--timeout", "3600")
    slow = {"name": "read_file", "arguments": {"file_path": str(place / "endless.txt"), "offset": 2}}

    def figures():
        return server.request(method="GET", path="/metrics")[2].decode()

    def running():
        return "eyespan_calls_running 1" in figures()

    server.rpc("tools/call", slow, modern=modern, hang_up_when=running)
    while "eyespan_calls_running 0" not in figures():
        time.sleep(0.05)

    assert 'eyespan_calls_total{verdict="cancelled"} 1' in figures()
    assert server.end() == 0


def test_more_calls_than_may_run_wait_their_turn(place):
    server = HttpServer(place, "--dialect", "codex", "--calls", "1", "--timeout", "1")
    slow = {"name": "read_file", "arguments": {"file_path": str(place / "endless.txt"), "offset": 2}}
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(server.rpc("tools/call", slow)[1])) for _ in range(3)]
    for thread in threads:
        thread.start()
    listed = server.rpc("tools/list")[0]
    for thread in threads:
        thread.join()
    server.end()

    assert listed == 200
    assert [answer["result"]["isError"] for answer in answers] == [True] * 3


def test_the_end_waits_for_reads_in_flight(place):
    server = HttpServer(place, "--dialect", "codex", "--timeout", "2")
    slow = {"name": "read_file", "arguments": {"file_path": str(place / "endless.txt"), "offset": 2}}
    answers = []
    thread = threading.Thread(target=lambda: answers.append(server.rpc("tools/call", slow)))
    thread.start()
    while "eyespan_calls_running 1" not in server.request(method="GET", path="/metrics")[2].decode():
        time.sleep(0.05)
    status = server.end(signal.SIGTERM)
    thread.join()

    assert status == 0
    assert answers[0][1]["result"]["isError"] is True  # the answer of the tool, not a connection cut off


def test_what_makes_no_sense_is_told_at_the_start(place, tmp_path):
    import subprocess
    import sys

    def start(*arguments, **environment):
        argv = [sys.executable, "-m", "eyespan.server", "--root", str(place), *arguments]
        done = subprocess.run(argv, capture_output=True, text=True, env={**os.environ, **environment})
        return done.returncode, done.stderr

    (tmp_path / "open.key").write_text("x" * 40)
    (tmp_path / "open.key").chmod(0o644)

    assert start("--http", "0.0.0.0:0")[0] == 2
    assert start("--http", "0.0.0.0:0", "--allow-remote", "--no-token")[0] == 2
    assert start("--http", "127.0.0.1:0", EYESPAN_TOKEN="short")[0] == 2
    code, text = start("--http", "127.0.0.1:0", "--token-file", str(tmp_path / "open.key"))
    assert (code, "chmod 600" in text) == (2, True)


# --- several workers -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("calls", [pytest.param(100, id="100"), pytest.param(1000, id="1000", marks=pytest.mark.soak)])
@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_a_worker_killed_on_the_way_makes_no_wrong_answer(place, mode, calls):
    server = HttpServer(place, "--dialect", "codex", "--workers", "2", "--rate", "1000000")
    children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children")
    killed = []
    wrong = []
    lost = []

    async def talk(numbers):
        """Calls one after the other over one connection; when its worker dies it connects again, as any client does."""
        left = list(numbers)
        for _ in range(20):
            try:
                async with connect(server, mode) as client:
                    while left:
                        line = left[0] % 1000 + 1
                        arguments = {"file_path": str(place / "app.py"), "offset": line, "limit": 1}
                        reply = await client.call_tool("read_file", arguments)
                        if reply.content[0].text != f"L{line}: line {line}":
                            wrong.append((line, reply))
                        if left.pop(0) == calls // 2:
                            killed.append(int(children.read_text().split()[0]))
                            os.kill(killed[0], signal.SIGKILL)
            except (BaseExceptionGroup, Exception) as error:
                lost.append(error)
            if not left:
                return
        wrong.append((left, "no answer"))

    async def all_of_them():
        await asyncio.gather(*(talk(range(start, calls, 4)) for start in range(4)))

    asyncio.run(all_of_them())
    alive = children.read_text().split()
    figures = server.request(method="GET", path="/metrics")[2].decode()
    status = server.end()

    assert wrong == []
    assert len(killed) == 1
    assert str(killed[0]) not in alive
    assert len(alive) == 2
    assert "eyespan_workers 2" in figures
    assert status == 0


def test_workers_end_with_their_supervisor(place):
    server = HttpServer(place, "--workers", "2")
    listed = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text()
    children = [int(pid) for pid in listed.split()]
    while "eyespan_workers 2" not in server.request(method="GET", path="/metrics")[2].decode():
        time.sleep(0.05)
    server.end(signal.SIGKILL)
    for _ in range(100):
        left = [pid for pid in children if os.path.exists(f"/proc/{pid}") and not _is_zombie(pid)]
        if not left:
            break
        time.sleep(0.1)

    assert left == []


def _is_zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_no_answer_waits_for_an_acknowledgement():
    from eyespan.server import parse
    from eyespan.server.http import app as http

    async def accepted():
        found = asyncio.Queue()
        with http._listen(parse(["--http", "127.0.0.1:0"])) as listener:
            async with await asyncio.start_server(lambda _, writer: found.put_nowait(writer), sock=listener):
                _, here = await asyncio.open_connection(*listener.getsockname())
                there = await found.get()
                link = there.get_extra_info("socket")
                nodelay = link.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
                for writer in (here, there):
                    writer.close()
                    await writer.wait_closed()
                return nodelay

    assert asyncio.run(accepted())


@pytest.mark.parametrize("late", [False, True])
def test_a_caller_who_has_gone_stops_reads_that_start_late_too(late):
    from eyespan.context import CallContext
    from eyespan.server.http.checks import _Link

    async def gone():
        async def disconnect():
            return {"type": "http.disconnect"}

        link, context = _Link(b"", disconnect), CallContext()
        if not late:
            link.watch_over(context)
        await link.watch()
        if late:
            link.watch_over(context)
        return context.cancelled

    assert asyncio.run(gone())
