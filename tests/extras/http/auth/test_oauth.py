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

from eyespan.extras.http.auth import Caller, OAuthIssuer, oauth
from tests.server.clients import HttpServer

RESOURCE = "https://read.example/mcp"


def holder(issuer, token):
    return asyncio.run(issuer.caller(token))


class Issuer:
    """An issuer on loopback, which publishes its metadata and the public keys of `keys`, by their ids."""

    def __init__(self):
        from cryptography.hazmat.primitives.asymmetric import ec

        self._new_key = lambda: ec.generate_private_key(ec.SECP256R1())
        self.keys = {"k1": self._new_key()}
        self.fetches = 0
        self.is_down = False
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                outer.fetches += self.path == "/keys"
                self.send_response(500 if outer.is_down else 200)
                self.end_headers()
                self.wfile.write(json.dumps(outer._document(self.path)).encode())

            def log_message(self, *_):
                pass

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def _document(self, path):
        from jwt.algorithms import ECAlgorithm

        if path == "/.well-known/oauth-authorization-server":
            return {"issuer": self.url, "jwks_uri": f"{self.url}/keys"}
        if path != "/keys":
            return {}
        public = [(name, json.loads(ECAlgorithm.to_jwk(key.public_key()))) for name, key in self.keys.items()]
        return {"keys": [{**key, "kid": name, "use": "sig"} for name, key in public]}

    def replace_key(self):
        """Withdraw the key `k1` for a key `k2`, and return the withdrawn one."""
        withdrawn = self.keys.pop("k1")
        self.keys["k2"] = self._new_key()
        return withdrawn

    def sign(self, kid="k1", signing=None, algorithm="ES256", **claims):
        import jwt

        body = {
            "iss": self.url,
            "aud": RESOURCE,
            "exp": time.time() + 3600,
            "sub": "ann",
            "scope": "read x",
        }
        body = {name: value for name, value in (body | claims).items() if value is not None}
        return jwt.encode(body, signing or self.keys[kid], algorithm, headers={"kid": kid})

    def close(self):
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def issuer():
    pytest.importorskip("jwt", reason="comes with the extra [oauth]")
    issuer = Issuer()
    yield issuer
    issuer.close()


class Clock:
    """A clock that moves only by `seconds`."""

    seconds = 0.0

    def __call__(self):
        return self.seconds


def test_an_access_token_of_the_issuer_is_accepted(issuer):
    checked = OAuthIssuer(issuer.url, RESOURCE, ("read",))

    assert holder(checked, issuer.sign()) == Caller("ann")


def test_other_access_tokens_are_refused(issuer):
    from cryptography.hazmat.primitives.asymmetric import ec

    checked = OAuthIssuer(issuer.url, RESOURCE, ("read",))
    forged = [
        issuer.sign(exp=time.time() - 60),
        issuer.sign(exp=None),
        issuer.sign(iss="https://evil.example"),
        issuer.sign(aud="https://other.example"),
        issuer.sign(aud=None),
        issuer.sign(scope="write"),
        issuer.sign(scope=None),
        issuer.sign(signing=ec.generate_private_key(ec.SECP256R1())),
        issuer.sign("other", signing=ec.generate_private_key(ec.SECP256R1())),
        issuer.sign(signing="x" * 32, algorithm="HS256"),
        issuer.sign()[:-4] + "AAAA",
        "not.a.token",
        "",
    ]

    assert [holder(checked, token) for token in forged] == [None] * len(forged)


def test_a_withdrawn_key_is_refused_after_its_lifetime(issuer):
    clock = Clock()
    checked = OAuthIssuer(issuer.url, RESOURCE, (), clock=clock)
    token = issuer.sign()
    accepted = [holder(checked, token)]
    withdrawn = issuer.replace_key()
    clock.seconds = oauth.KEYS_SECONDS
    forged = issuer.sign("k1", signing=withdrawn, sub="mallory")

    assert accepted == [Caller("ann")]
    assert [holder(checked, each) for each in (token, forged)] == [None, None]
    assert holder(checked, issuer.sign("k2")) == Caller("ann")


def test_a_withdrawn_key_is_refused_after_its_lifetime_though_the_issuer_is_down(issuer):
    clock = Clock()
    checked = OAuthIssuer(issuer.url, RESOURCE, (), clock=clock)
    token = issuer.sign()
    holder(checked, token)
    issuer.is_down = True
    holders = []
    for clock.seconds in (oauth.RENEWAL_SECONDS, oauth.KEYS_SECONDS - 1, oauth.KEYS_SECONDS):
        holders.append(holder(checked, token))
    issuer.is_down = False
    clock.seconds += oauth.PAUSE_SECONDS

    assert holders == [Caller("ann"), Caller("ann"), None]
    assert holder(checked, token) == Caller("ann")


def test_keys_in_use_are_fetched_again_before_they_expire(issuer):
    clock = Clock()
    checked = OAuthIssuer(issuer.url, RESOURCE, (), clock=clock)
    holders = []
    for clock.seconds in range(0, 1200, 10):
        holders.append(holder(checked, issuer.sign()))

    assert holders == [Caller("ann")] * 120
    assert issuer.fetches == 1200 / oauth.RENEWAL_SECONDS


def test_a_new_key_is_fetched_when_a_token_names_it(issuer):
    clock = Clock()
    checked = OAuthIssuer(issuer.url, RESOURCE, (), clock=clock)
    holder(checked, issuer.sign())
    issuer.replace_key()
    clock.seconds = oauth.PAUSE_SECONDS

    assert holder(checked, issuer.sign("k2")) == Caller("ann")


@pytest.mark.parametrize("is_down", [False, True])
def test_unknown_keys_cause_one_fetch_in_each_pause(issuer, is_down):
    clock = Clock()
    checked = OAuthIssuer(issuer.url, RESOURCE, (), f"{issuer.url}/keys", clock=clock)
    issuer.is_down = is_down
    key = issuer.keys["k1"]
    for clock.seconds in (0, oauth.PAUSE_SECONDS - 1, oauth.PAUSE_SECONDS):
        for number in range(10):
            assert holder(checked, issuer.sign(f"unknown {number}", signing=key)) is None

    assert issuer.fetches == 2


def test_without_the_keys_of_the_issuer_no_token_is_accepted():
    assert holder(OAuthIssuer("http://127.0.0.1:9", RESOURCE, ()), "a.b.c") is None


def test_the_server_names_its_issuer_and_accepts_its_tokens(issuer, tmp_path):
    pytest.importorskip("httptools", reason="the HTTP server needs the extra [http]")
    (tmp_path / "a.txt").write_text("a\n")
    arguments = ["--oauth-issuer", issuer.url, "--oauth-resource", RESOURCE, "--oauth-scope", "read"]
    server = HttpServer(tmp_path, "--dialect", "codex", *arguments, token=None)
    status, headers, _ = server.request(b"{}")
    place = "/.well-known/oauth-protected-resource/mcp"
    metadata = server.request(method="GET", path=place, drop=("Content-Type",))
    server.token = issuer.sign()
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
    assert json.loads(metadata[2])["authorization_servers"][0].rstrip("/") == issuer.url
    assert listed[0] == 200
    assert re.findall(rb"HTTP/1.1 (\d+)", pipelined) == [b"200", b"200", b"401"]
