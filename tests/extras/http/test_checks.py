"""The checks of a request, with the status of each rejection."""

from __future__ import annotations

import hashlib
import re
import socket
from types import SimpleNamespace

import pytest

from eyespan.extras.http import checks
from eyespan.extras.http.checks import Rejected, RequestRules
from tests.server.clients import TOKEN, HttpServer, read_response

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
RULES = RequestRules(hosts=frozenset([b"a:1"]), origins=frozenset([b"http://a:1"]), metadata_path=b"/.well-known/x")


def head(method=b"POST", target=b"/mcp", version="1.1", header_bytes=100, **headers):
    named = {name.replace("_", "-").encode(): value for name, value in headers.items()}
    headers = {b"host": [b"a:1"], **named}
    return SimpleNamespace(method=method, target=target, version=version, headers=headers, header_bytes=header_bytes)


@pytest.mark.parametrize(
    ("start", "route"),
    [
        (head(), "mcp"),
        (head(target=b"/mcp?x=%6d"), "mcp"),
        (head(b"GET", b"/healthz", "1.0"), "health"),
        (head(b"HEAD", b"/metrics"), "metrics"),
        (head(b"GET", b"/.well-known/x"), "metadata"),
        (head(host=[b"A:1"], origin=[b"HTTP://A:1"]), "mcp"),
        (head(transfer_encoding=[b"Chunked"]), "mcp"),
    ],
)
def test_a_request_that_passes_has_a_route(start, route):
    assert checks.check_head(start, RULES) == route


@pytest.mark.parametrize(
    ("start", "status", "detail"),
    [
        (head(header_bytes=16381), 431, "16385 bytes of headers"),
        (head(target=b"/" + b"a" * 16300), 431, "16401 bytes of headers"),
        (head(version="0.9"), 400, "HTTP version 0.9"),
        (head(content_length=[b"2"], transfer_encoding=[b"chunked"]), 400, "given twice"),
        (head(content_length=[b"2", b"2"]), 400, "given twice"),
        (head(transfer_encoding=[b"gzip, chunked"]), 400, "only chunked"),
        (head(version="1.0", transfer_encoding=[b"chunked"]), 400, "HTTP 1.0, which has none"),
        (head(host=[]), 400, "no Host"),
        (head(host=[b"a:1", b"a:1"]), 421, "two Host"),
        (head(host=[b"b"]), 421, "Host b is not allowed; start with --allow-host b"),
        (head(host=[b"b\x1b[31m"]), 421, "Host b?[31m is not allowed"),
        (head(origin=[b"http://b"]), 403, "--allow-origin http://b"),
        (head(origin=[b"http://a:1"] * 2), 403, "two Origin"),
        (head(target=b"/%6dcp"), 404, "no path /%6dcp"),
        (head(target=b"http://a:1/mcp"), 404, "no path"),
        (head(target=b"/mcp/"), 404, "no path"),
        (head(target=b"//mcp"), 404, "no path"),
        (head(b"POST", b"/healthz"), 405, "allowed: GET, HEAD"),
    ],
)
def test_a_request_that_fails_a_check_has_a_status_and_a_remedy(start, status, detail):
    with pytest.raises(Rejected) as rejected:
        checks.check_head(start, RULES)

    assert rejected.value.status == status
    assert detail in rejected.value.detail


@pytest.mark.parametrize(
    ("values", "token"),
    [
        ([b"Bearer abc"], "abc"),
        ([b"bearer  abc "], "abc"),
        ([b"Bearer"], None),
        ([b"Bearer "], None),
        ([b"Basic abc"], None),
        ([b"Bearer a", b"Bearer a"], None),
        ([], None),
    ],
)
def test_the_token_of_a_request(values, token):
    assert checks.bearer_token({b"authorization": values}) == token


def test_nothing_but_blanks_and_tabs_around_a_token_is_left_out():
    for code in range(256):
        near = bytes([code])
        tokens = [checks.bearer_token({b"authorization": [b"Bearer " + each]}) for each in (near + b"t", b"t" + near)]

        assert [token == "t" for token in tokens] == [near in (b" ", b"\t")] * 2, near


@pytest.mark.parametrize(
    ("length", "is_rejected"),
    [(b"0", False), (b"1048576", False), (b"1048577", True), (b"9" * 400, True), (b"x", True)],
)
def test_the_length_of_a_body(length, is_rejected):
    try:
        checks.check_length({b"content-length": [length]})
        status = 200
    except Rejected as rejected:
        status = rejected.status

    assert status == (413 if is_rejected else 200)


def test_health_needs_no_token_and_reveals_nothing(server):
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
    ("our Host with a suffix", 421, {"Host": "127.0.0.1:{port}@evil"}, ()),
    ("our Host with a domain", 421, {"Host": "127.0.0.1.evil.example:{port}"}, ()),
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
def test_a_rejected_request_gets_the_status_of_its_reason(server, status, headers, drop):
    filled = {name: value.replace("{port}", str(server.port)) for name, value in headers.items()}

    answer = server.request(PING, drop=drop, **filled)

    # After five wrong tokens an address has to wait. The parser rejects headers that arrive in pieces.
    also = {401: 429, 431: 400}.get(status)
    assert answer[0] in (status, also)
    assert not any(name.startswith("access-control") for name in answer[1])
    assert TOKEN.encode() not in answer[2]


def test_a_huge_body_in_chunks_is_rejected_before_it_is_complete(server):
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
            pass  # the server has closed the connection
        status, _, _ = read_response(link)

    assert status in (413, 0)  # 0: the reset of the connection overtook the answer
    assert server.request(PING)[0] != 401


@pytest.mark.parametrize(
    ("name", "start", "more"),
    [
        ("a header", "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nX: ", b"x" * 0x10000),
        ("a target", "GET /", b"x" * 0x10000),
        ("a trailer", "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: ",
         b"x" * 0x10000),
        ("an extension", "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nTransfer-Encoding: chunked\r\n\r\n1;",
         b"x" * 0x10000),
        ("tiny chunks", "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nTransfer-Encoding: chunked\r\n\r\n",
         b"1\r\nx\r\n" * 0x3000),
    ],
)  # fmt: skip
def test_no_part_of_a_request_is_endless(server, name, start, more):
    sent = 0
    with socket.create_connection(("127.0.0.1", server.port), 30) as link:
        link.sendall(start.replace("{port}", str(server.port)).encode())
        try:
            while sent < 64 << 20:
                link.sendall(more)
                sent += len(more)
        except OSError:
            pass  # the server has closed the connection

    assert sent < 64 << 20


def test_headers_are_refused_as_soon_as_they_are_too_large(server):
    with socket.create_connection(("127.0.0.1", server.port), 30) as link:
        link.sendall(f"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nX: ".encode())
        link.sendall(b"x" * (256 << 10))  # more than is received at once

        assert read_response(link)[0] == 431


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
        "half of a second request": f"{get}\r\n{get}",
        "half a request after a rejected one": f"GET /x HTTP/1.1\r\nHost: evil\r\n\r\n{get}",
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
        "half of a second request": 1,
        "half a request after a rejected one": 0,
    }
    assert answers["half of a second request"].startswith(b"HTTP/1.1 200 OK")
    assert answers["half a request after a rejected one"].startswith(b"HTTP/1.1 421")


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


def test_wrong_tokens_never_make_a_right_one_wait(place):
    server = HttpServer(place, "--dialect", "codex")
    wrong = [server.request(PING, Authorization="Bearer wrong") for _ in range(8)]
    right = server.rpc("tools/list")
    server.end()

    assert [answer[0] for answer in wrong[:5]] == [401] * 5
    assert wrong[-1][0] == 429
    assert int(wrong[-1][1]["retry-after"]) > 0
    assert right[0] == 200


def test_each_caller_has_its_own_rate_limit(place, tmp_path):
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


def headers(server, *more, end="\r\n"):
    lines = [f"Host: 127.0.0.1:{server.port}", f"Authorization: Bearer {TOKEN}", "Content-Type: application/json"]
    return end.join([*lines, "Accept: application/json, text/event-stream", "Connection: close", *more, "", ""])


LENGTH = f"Content-Length: {len(PING)}"
CHUNKS = f"{len(PING):x}\r\n{PING.decode()}\r\n0\r\n\r\n"
START = "POST /mcp HTTP/1.1\r\n"


@pytest.mark.parametrize(
    ("status", "start", "more", "end", "data"),
    [
        (200, START, [LENGTH], "\r\n", PING.decode()),
        (200, START, ["Transfer-Encoding: chunked"], "\r\n", CHUNKS),
        (200, START, ["Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABk", LENGTH],
         "\r\n", PING.decode()),
        (415, START, ["Connection: Upgrade", "Upgrade: h2c", "Content-Encoding: gzip", LENGTH], "\r\n", PING.decode()),
        (404, "POST /x HTTP/1.1\r\n", ["Connection: Upgrade", "Upgrade: h2c", LENGTH], "\r\n", PING.decode()),
        (400, START, [LENGTH, "Transfer-Encoding: chunked"], "\r\n", CHUNKS),
        (400, START, ["Transfer-Encoding: chunked", LENGTH], "\r\n", CHUNKS),
        (400, START, [LENGTH, LENGTH], "\r\n", PING.decode()),
        (400, START, [LENGTH], "\n", PING.decode()),
        (400, START, ["Transfer-Encoding: chunked"], "\r\n", CHUNKS.replace("\r\n", "\n")),
        (400, START, ["X: y\nY: z", LENGTH], "\r\n", PING.decode()),
        (400, START, ["X : y", LENGTH], "\r\n", PING.decode()),
        (400, START, ["X: y", " folded", LENGTH], "\r\n", PING.decode()),
        (404, "POST /%6dcp HTTP/1.1\r\n", [LENGTH], "\r\n", PING.decode()),
        (400, "POST /mcp\r\n", [LENGTH], "\r\n", PING.decode()),
        (400, "POST  /mcp HTTP/1.1\r\n", [LENGTH], "\r\n", PING.decode()),
        (400, "POST /mcp  HTTP/1.1\r\n", [LENGTH], "\r\n", PING.decode()),
        (400, "POST /mcp HTTP/2.0\r\n", [LENGTH], "\r\n", PING.decode()),
        (400, "CONNECT 127.0.0.1:80 HTTP/1.1\r\n", [], "\r\n", ""),
        (400, "POST /mcp HTTP/1.0\r\n", ["Transfer-Encoding: chunked"], "\r\n", CHUNKS),
        (415, START, ["Content-Encoding: gzip", LENGTH], "\r\n", PING.decode()),
        (200, START, ["Content-Encoding: identity", LENGTH], "\r\n", PING.decode()),
        (200, START, ["Transfer-Encoding: chunked"], "\r\n", CHUNKS[:-2] + "X: y\r\n" * 100 + "\r\n"),
        (431, START, ["Transfer-Encoding: chunked"], "\r\n", CHUNKS[:-2] + "X: y\r\n" * 4000 + "\r\n"),
    ],
)  # fmt: skip
def test_an_ambiguous_request_is_refused(server, status, start, more, end, data):
    with socket.create_connection(("127.0.0.1", server.port), 30) as link:
        link.sendall((start.replace("\r\n", end) + headers(server, *more, end=end) + data).encode())
        found = read_response(link)[0]

    assert found == status


@pytest.mark.parametrize(("old", "new"), [("\r\n\r\n", "\r\nX: y\n\r\n"), ("GET ", "GET  "), (" HTTP", "  HTTP")])
def test_a_bare_line_feed_or_two_blanks_in_a_later_request_of_a_connection_are_refused(server, old, new):
    get = f"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", server.port), 30) as link:
        link.sendall((get + get.replace(old, new)).encode())
        answers = b""
        while block := link.recv(4096):
            answers += block

    assert [answers.count(status) for status in (b"HTTP/1.1 200", b"HTTP/1.1 400")] == [1, 1]


def test_hundreds_of_offers_of_another_protocol_are_no_error_of_the_server(place):
    server = HttpServer(place)
    offer = f"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"
    with socket.create_connection(("127.0.0.1", server.port), 30) as link:
        link.sendall((offer * 600).encode())
        answers = b""
        while block := link.recv(65536):
            answers += block
    server.end()

    assert set(re.findall(rb"HTTP/1.1 (\d+)", answers)) <= {b"200", b"429"}
    assert "Traceback" not in server.errors


def test_a_refused_request_is_logged_with_its_remedy(place):
    server = HttpServer(place)
    server.request(PING, Host="reader.example")
    server.end()

    assert (
        "421: Host reader.example is not allowed; start with --allow-host reader.example [127.0.0.1]" in server.errors
    )
