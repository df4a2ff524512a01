"""The page at /view: off by default, checked like everything else, and limited to the rights of the caller."""

from __future__ import annotations

import hashlib
import json

import pytest

from eyespan.extras.http.page import api
from eyespan.extras.http.page.static_files import HEADERS
from eyespan.server.mcp_names import RpcError
from tests.server.clients import HttpServer

PAGES = ["/view/", "/view/page.js", "/view/page.css"]
DATA = ["/view/api/state", "/view/api/names?path=", "/view/api/activity?after="]


@pytest.fixture(scope="module")
def viewed(place):
    made = HttpServer(place, "--dialect", "codex", "--timeout", "3600", "--view")
    yield made
    assert made.end() == 0


def get(server, path, **options):
    status, headers, body = server.request(method="GET", path=path, **options)
    return status, headers, json.loads(body) if status == 200 else body


def call(server, dialect="codex", **arguments):
    body = json.dumps({"dialect": dialect, "arguments": arguments}).encode()
    status, _, data = server.request(body, path="/view/api/call")
    return status, json.loads(data)


@pytest.mark.parametrize("path", ["/view", *PAGES, *DATA])
def test_without_the_option_there_is_no_page(server, path):
    assert server.request(method="GET", path=path)[0] == 404


@pytest.mark.parametrize("path", PAGES)
def test_the_files_of_the_page_need_no_token_and_have_strict_headers(viewed, path):
    status, headers, body = viewed.request(method="GET", path=path, drop=("Authorization",))

    assert (status, bool(body)) == (200, True)
    assert {name: headers[name.lower()] for name in HEADERS} == HEADERS
    assert "access-control-allow-origin" not in headers


def test_the_address_without_its_slash_leads_to_the_page(viewed):
    status, headers, _ = viewed.request(method="GET", path="/view", drop=("Authorization",))

    assert (status, headers["location"]) == (308, "/view/")


@pytest.mark.parametrize("path", [*DATA, "/view/api/call"])
def test_data_needs_the_token(viewed, path):
    method = "POST" if path.endswith("call") else "GET"

    assert viewed.request(b"{}", method=method, path=path, Authorization="Bearer x" * 3)[0] in (401, 429)
    assert viewed.request(b"{}", method=method, path=path, drop=("Authorization",))[0] in (401, 429)


@pytest.mark.parametrize("path", [*PAGES, *DATA])
@pytest.mark.parametrize(
    ("headers", "status"), [({"Host": "evil.example"}, 421), ({"Origin": "https://evil.example"}, 403)]
)
def test_other_hosts_and_origins_are_refused(viewed, path, headers, status):
    assert viewed.request(method="GET", path=path, **headers)[0] == status


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("POST", "/view/api/state", {}, 405),
        ("GET", "/view/api/call", {}, 405),
        ("DELETE", "/view/", {}, 405),
        ("POST", "/view/api/call", {"Content_Type": "text/plain"}, 415),
        ("GET", "/view/api", {}, 404),
        ("GET", "/view/../mcp", {}, 404),
        ("GET", "/view/%70age.js", {}, 404),
        ("GET", "/view/page.js/", {}, 404),
        ("GET", "/view/index.html", {}, 404),
    ],
)
def test_other_methods_types_and_paths_are_refused(viewed, method, path, headers, status):
    assert viewed.request(b"{}", method=method, path=path, **headers)[0] == status


def test_the_page_has_the_tools_of_the_server(viewed, place):
    state = get(viewed, "/view/api/state")[2]

    assert state["roots"] == [str(place)]
    assert [each["name"] for each in state["dialects"]] == ["codex"]
    assert [tool["name"] for tool in state["dialects"][0]["tools"]] == ["read_file"]
    assert call(viewed, "claude", file_path="x") == (400, {"message": "no dialect 'claude'"})


def test_a_call_returns_the_blocks_that_a_model_receives(viewed, place):
    arguments = {"file_path": str(place / "hello.txt")}
    status, answer = call(viewed, **arguments)
    reply = viewed.rpc("tools/call", {"name": "read_file", "arguments": arguments})[1]["result"]

    assert status == 200
    assert [block["text"] for block in answer["blocks"]] == [block["text"] for block in reply["content"]]
    assert answer["tokens"] > 0
    assert answer["error"] is None


def test_the_rules_hold_for_the_page(viewed, place):
    denied = call(viewed, file_path=str(place / ".env"))[1]
    outside = call(viewed, file_path="/etc/passwd")[1]
    names = get(viewed, "/view/api/names?path=")[2]

    assert (denied["error"] is None, outside["error"] is None) == (False, False)
    assert "SECRET" not in json.dumps(denied)
    assert ".env" not in [entry["name"] for entry in names["entries"]]
    assert get(viewed, "/view/api/names?path=..")[2]["error"]["code"] == "outside_root"


def test_reads_over_mcp_are_shown_as_they_happen(viewed, place):
    last = get(viewed, "/view/api/activity?after=")[2]["last"]
    viewed.rpc("tools/call", {"name": "read_file", "arguments": {"file_path": str(place / "app.py"), "limit": 5}})
    viewed.rpc("tools/call", {"name": "read_file", "arguments": {"file_path": str(place / ".env")}}, modern=True)
    viewed.rpc("resources/read", {"uri": "file:///hello.txt"})
    found = get(viewed, f"/view/api/activity?after={last}")[2]

    assert [(event["dialect"], event["canonical"], event["verdict"]) for event in found["events"]] == [
        ("codex", "app.py", "read"),
        ("codex", None, "refused"),
        ("resource", "hello.txt", "read"),
    ]
    assert found["events"][0]["range"] == "1-5"
    assert found["events"][0]["tokens"] > 0
    assert {row["path"] for row in found["files"]} >= {"app.py", "hello.txt"}


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{", b"1" * 5000, b'{"dialect": 1}', b'{"dialect": "codex", "tool": 7e9}']
)
def test_a_request_that_is_none_is_a_message(viewed, body):
    status, headers, data = viewed.request(body, path="/view/api/call")

    assert status in (200, 400)
    assert json.loads(data)
    assert headers["content-security-policy"] == HEADERS["Content-Security-Policy"]


def test_callers_see_their_own_roots_and_reads(place, tmp_path):
    (place / "sub").mkdir(exist_ok=True)
    (place / "sub" / "own.txt").write_text("own\n")
    tokens = {name: f"token-of-{name}-0123456789" for name in ("ann", "bob")}
    rows = {
        name: f'[{name}]\nsha256 = "{hashlib.sha256(token.encode()).hexdigest()}"\n' for name, token in tokens.items()
    }
    rows["bob"] += f'roots = ["{place / "sub"}"]\ndialects = ["claude"]\n'
    (tmp_path / "tokens.toml").write_text("".join(rows.values()))
    server = HttpServer(place, "--tokens", str(tmp_path / "tokens.toml"), "--view", "--workers", "2", token=None)

    def ask(name, path):
        return get(server, path, Authorization=f"Bearer {tokens[name]}")[2]

    body = json.dumps({"dialect": "claude", "arguments": {"file_path": str(place / "sub" / "own.txt")}}).encode()
    server.request(body, path="/view/api/call", Authorization=f"Bearer {tokens['bob']}")
    states = {name: ask(name, "/view/api/state") for name in tokens}
    seen = {name: [event["canonical"] for event in ask(name, "/view/api/activity")["events"]] for name in tokens}

    assert server.end() == 0
    assert {name: state["roots"] for name, state in states.items()} == {"ann": [str(place)], "bob": [f"{place}/sub"]}
    assert [each["name"] for each in states["bob"]["dialects"]] == ["claude"]
    assert seen == {"ann": [], "bob": ["own.txt"]}


def test_reads_of_the_page_are_in_the_audit_log(place, tmp_path):
    log = tmp_path / "log" / "reads.jsonl"
    log.parent.mkdir()
    server = HttpServer(place, "--dialect", "codex", "--view", "--audit", str(log))
    call(server, file_path=str(place / "hello.txt"))
    get(server, "/view/api/names?path=")
    server.end()

    rows = [json.loads(row) for row in log.read_text().splitlines()]
    assert [(row["dialect"], row["path"], row["caller"].endswith("(view)")) for row in rows if "dialect" in row] == [
        ("codex", str(place / "hello.txt"), True),
        ("view", ".", True),
    ]


@pytest.mark.parametrize(
    ("address", "method", "params"),
    [
        ("names?path=a%20b&path=c", "names", {"path": "c", "after": ""}),
        ("names", "names", {"path": "", "after": ""}),
        ("activity?after=3.4", "activity", {"path": "", "after": "3.4"}),
        ("names?" + "&".join(["x=1"] * 99), "names", {"path": "", "after": ""}),
        ("names?path=\xff", "names", {"path": "\xff", "after": ""}),
    ],
)
def test_addresses_become_messages(address, method, params):
    message = api.message_of(address, b"")

    assert (message.method, message.params) == (method, params)


@pytest.mark.parametrize("body", [b"", b"null", b"[1]", b'{"a":'])
def test_a_body_that_is_no_object_is_refused(body):
    with pytest.raises(RpcError):
        api.message_of("call", body)
