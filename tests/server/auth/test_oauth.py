"""Access tokens of an OAuth issuer."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from eyespan.server.auth import Caller, OAuthIssuer
from tests.server.clients import HttpServer

RESOURCE = "https://read.example/mcp"


def holder(issuer, token):
    return asyncio.run(issuer.caller(token))


@pytest.fixture(scope="module")
def issuer():
    """Serve the metadata and keys of an issuer on loopback. Return its URL and a function that signs tokens."""
    jwt = pytest.importorskip("jwt", reason="comes with the extra [oauth]")
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    public = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(key.public_key())) | {"kid": "k1", "use": "sig"}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            documents = {
                "/.well-known/oauth-authorization-server": {"issuer": base, "jwks_uri": f"{base}/keys"},
                "/keys": {"keys": [public]},
            }
            body = json.dumps(documents.get(self.path, {})).encode()
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
            "aud": RESOURCE,
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


def test_an_access_token_of_the_issuer_is_accepted(issuer):
    base, sign = issuer
    checked = OAuthIssuer(base, RESOURCE, ("read",))

    assert holder(checked, sign()) == Caller("ann")


def test_other_access_tokens_are_refused(issuer):
    from cryptography.hazmat.primitives.asymmetric import ec

    base, sign = issuer
    checked = OAuthIssuer(base, RESOURCE, ("read",))
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

    assert [holder(checked, token) for token in forged] == [None] * len(forged)


def test_without_the_keys_of_the_issuer_no_token_is_accepted():
    assert holder(OAuthIssuer("http://127.0.0.1:9", RESOURCE, ()), "a.b.c") is None


def test_the_server_names_its_issuer_and_accepts_its_tokens(issuer, tmp_path):
    pytest.importorskip("httptools", reason="the HTTP server needs the extra [http]")
    base, sign = issuer
    (tmp_path / "a.txt").write_text("a\n")
    arguments = ["--oauth-issuer", base, "--oauth-resource", RESOURCE, "--oauth-scope", "read"]
    server = HttpServer(tmp_path, "--dialect", "codex", *arguments, token=None)
    status, headers, _ = server.request(b"{}")
    place = "/.well-known/oauth-protected-resource/mcp"
    metadata = server.request(method="GET", path=place, drop=("Content-Type",))
    server.token = sign()
    listed = server.rpc("tools/list")
    ping = b'{"jsonrpc":"2.0","id":7,"method":"ping"}'
    header = "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer {}\r\n"
    header += f"Content-Type: application/json\r\nContent-Length: {len(ping)}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", server.port), 30) as link:
        for token in (server.token, server.token, "wrong"):
            link.sendall(header.format(server.port, token).encode() + ping)
        pipelined = b""
        while block := link.recv(65536):
            pipelined += block
    server.end()

    assert status == 401
    assert headers["www-authenticate"] == f'Bearer resource_metadata="https://read.example{place}"'
    assert metadata[0] == 200
    assert json.loads(metadata[2])["authorization_servers"][0].rstrip("/") == base
    assert listed[0] == 200
    assert re.findall(rb"HTTP/1.1 (\d+)", pipelined) == [b"200", b"200", b"401"]
