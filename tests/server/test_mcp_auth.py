"""Tokens, the table of callers, OAuth access tokens and the meter."""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from eyespan.server import auth
from eyespan.server.auth import Caller, Issuer, Meter, Tokens, load
from eyespan.server.options import Usage, parse

TOKEN = "a-token-for-the-tests-0123456789"


def loaded(*arguments):
    return load(parse(["--http", "127.0.0.1:0", *arguments]))[0]


def who(tokens, token):
    return asyncio.run(tokens.caller(token))


def test_a_token_from_the_environment_is_taken_out_of_it(monkeypatch):
    import os

    monkeypatch.setenv("EYESPAN_TOKEN", TOKEN)
    tokens = loaded()

    assert who(tokens, TOKEN) == Caller("token")
    assert who(tokens, TOKEN + "x") is None
    assert who(tokens, "") is None
    assert who(tokens, "\udfff") is None
    assert "EYESPAN_TOKEN" not in os.environ


@pytest.mark.parametrize("token", ["", "short", "has a blank in the middle", "ünïcödé-tökén-ünïcödé"])
def test_a_weak_token_is_refused(monkeypatch, token):
    monkeypatch.setenv("EYESPAN_TOKEN", token)

    with pytest.raises(Usage, match="16 visible ASCII"):
        loaded()


def test_a_token_file_that_others_can_read_is_refused(tmp_path, monkeypatch):
    monkeypatch.delenv("EYESPAN_TOKEN", raising=False)
    path = tmp_path / "token.key"
    path.write_text(TOKEN)
    path.chmod(0o640)

    with pytest.raises(Usage, match="chmod 600"):
        loaded("--token-file", str(path))


def test_the_default_token_file_is_of_a_name_no_tool_may_read(monkeypatch, tmp_path):
    from eyespan import Workspace

    monkeypatch.delenv("EYESPAN_TOKEN", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    loaded()
    path = auth.default_token_file()

    reply = Workspace(tmp_path).tool("claude").call({"file_path": str(path)})

    assert path.is_file()
    assert reply.error.code == "policy_denied"


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("", "names no caller"),
        ("x = 1", "must be a table"),
        ("[a", "callers.toml"),
        ("[a]", "one of them"),
        ('[a]\nsha256 = "12"', "64 hex digits"),
        ("[a]\nsha256 = 7", "64 hex digits"),
        ('[a]\nsha256 = "{digest}"\ntoken = "x"', "unknown keys: token"),
        ('[a]\nsha256 = "{digest}"\n[b]\nsha256 = "{digest}"', "of another caller"),
        ('[a]\nsha256 = "{digest}"\nroots = "/"', "list of strings"),
        ('[a]\nsha256 = "{digest}"\nrate = 0', "whole number"),
        ('[a]\nsha256 = "{digest}"\ndialects = ["latin"]', "no dialect"),
    ],
)
def test_a_table_of_callers_that_makes_no_sense_is_said(tmp_path, table, words):
    path = tmp_path / "callers.toml"
    path.write_text(table.replace("{digest}", hashlib.sha256(TOKEN.encode()).hexdigest()))

    with pytest.raises(Usage, match=words):
        loaded("--tokens", str(path))


def test_a_table_of_callers(tmp_path):
    path = tmp_path / "callers.toml"
    digest = hashlib.sha256(TOKEN.encode()).hexdigest()
    path.write_text(f'[ann]\nsha256 = "{digest}"\nroots = ["/a"]\ndialects = ["codex"]\nrate = 5\n')

    assert who(loaded("--tokens", str(path)), TOKEN) == Caller("ann", ("/a",), ("codex",), 5)


def test_the_meter_fills_steadily(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(auth.time, "monotonic", lambda: now[0])
    meter = Meter(60, 2)

    first = [meter.wait_seconds("a") for _ in range(3)]
    other = meter.wait_seconds("b")
    now[0] = 1.0

    assert first == [0.0, 0.0, 1.0]
    assert other == 0.0
    assert meter.wait_seconds("a") == 0.0
    assert meter.wait_seconds("a") > 0


# --- OAuth ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def issuer():
    """An issuer on loopback: its metadata, its keys, and a way to sign."""
    jwt = pytest.importorskip("jwt", reason="comes with the extra [mcp]")
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    public = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(key.public_key())) | {"kid": "k1", "use": "sig"}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            places = {
                "/.well-known/oauth-authorization-server": {"issuer": base, "jwks_uri": f"{base}/keys"},
                "/keys": {"keys": [public]},
            }
            body = json.dumps(places.get(self.path, {})).encode()
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    base = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()

    def sign(headers=None, signing=key, algorithm="ES256", **claims):
        body = {
            "iss": base,
            "aud": "https://read.example/mcp",
            "exp": time.time() + 60,
            "sub": "ann",
            "scope": "read x",
        }
        body = {name: value for name, value in (body | claims).items() if value is not None}
        return jwt.encode(body, signing, algorithm, headers=headers or {"kid": "k1"})

    yield base, sign
    server.shutdown()
    thread.join()
    server.server_close()


def test_an_access_token_of_the_issuer_is_taken(issuer):
    base, sign = issuer
    judge = Issuer(base, "https://read.example/mcp", ("read",))

    assert who(judge, sign()) == Caller("ann")


def test_other_access_tokens_are_not(issuer):
    from cryptography.hazmat.primitives.asymmetric import ec

    base, sign = issuer
    judge = Issuer(base, "https://read.example/mcp", ("read",))
    forged = [
        sign(exp=time.time() - 60),
        sign(exp=None),
        sign(iss="https://evil.example"),
        sign(aud="https://other.example"),
        sign(aud=None),
        sign(scope="write"),
        sign(scope=None),
        sign(signing=ec.generate_private_key(ec.SECP256R1())),
        sign(headers={"kid": "other"}),
        sign(signing="x" * 32, algorithm="HS256"),
        sign()[:-4] + "AAAA",
        "not.a.token",
        "",
    ]

    assert [who(judge, token) for token in forged] == [None] * len(forged)


def test_an_issuer_that_cannot_be_reached_lets_nobody_in():
    assert who(Issuer("http://127.0.0.1:9", "https://read.example/mcp", ()), "a.b.c") is None


def test_the_door_points_to_the_issuer_and_takes_its_tokens(issuer, tmp_path):
    pytest.importorskip("mcp", reason="the HTTP door needs the extra [mcp]")
    from http_server import HttpServer

    base, sign = issuer
    (tmp_path / "a.txt").write_text("a\n")
    arguments = ["--oauth-issuer", base, "--oauth-resource", "https://read.example/mcp", "--oauth-scope", "read"]
    server = HttpServer(tmp_path, "--dialect", "codex", *arguments, token=None)
    status, headers, _ = server.request(b"{}")
    place = "/.well-known/oauth-protected-resource/mcp"
    metadata = server.request(method="GET", path=place, drop=("Content-Type",))
    server.token = sign()
    listed = server.rpc("tools/list")
    server.end()

    assert status == 401
    assert headers["www-authenticate"] == f'Bearer resource_metadata="https://read.example{place}"'
    assert metadata[0] == 200
    assert json.loads(metadata[2])["authorization_servers"][0].rstrip("/") == base
    assert listed[0] == 200


def test_tokens_compare_in_full():
    tokens = Tokens({hashlib.sha256(b"one").digest(): Caller("one"), hashlib.sha256(b"two").digest(): Caller("two")})

    assert [who(tokens, token) for token in ("one", "two", "three")] == [Caller("one"), Caller("two"), None]


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (b"[a]\nsha256 = \xff", "utf-8"),
        (b"a = " + b"[" * 5000, "nested too deeply"),
        (b'[a]\ntoken_file = "no/such/file"', "cannot be read"),
        (b'[a]\ntoken_file = "\\u0000"', "cannot be read"),
    ],
)
def test_a_table_that_is_no_text_or_names_no_token_is_told(table, words, tmp_path):
    (tmp_path / "callers.toml").write_bytes(table)

    with pytest.raises(Usage, match=words):
        loaded("--tokens", str(tmp_path / "callers.toml"))


def test_a_token_file_that_is_no_text_is_refused(tmp_path):
    (tmp_path / "token.key").write_bytes(b"\xff" * 40)
    (tmp_path / "token.key").chmod(0o600)

    with pytest.raises(Usage, match="visible ASCII"):
        loaded("--token-file", str(tmp_path / "token.key"))
