"""Access tokens of an OAuth issuer."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import re
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from eyespan.extras.http.auth import Caller, IssuerUnavailable, OAuthIssuer, oauth
from tests.server.clients import HttpServer

RESOURCE = "https://read.example/mcp"
ANN = Caller(f"sub:ann#{hashlib.sha256(b'ann').hexdigest()[:16]}")
UNKNOWN = "unknown"


def holder(issuer, token):
    """Return the holder of a token, None, or `UNKNOWN`."""
    try:
        return asyncio.run(issuer.caller(token))
    except IssuerUnavailable:
        return UNKNOWN


class Issuer:
    """An issuer on loopback, which publishes its metadata and the public keys of `keys`, by their ids."""

    def __init__(self):
        from cryptography.hazmat.primitives.asymmetric import ec

        self._new_key = lambda: ec.generate_private_key(ec.SECP256R1())
        self.keys = {"k1": self._new_key()}
        self.fetches = 0
        self.is_down = self.sends_single_bytes = False
        self.is_hanging = threading.Event()
        self.is_hanging.set()
        self.jwks_uri = ""
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                outer.fetches += self.path == "/keys"
                outer.is_hanging.wait(60)
                self.send_response(302 if self.path == "/redirect" else 500 if outer.is_down else 200)
                self.send_header("Location", "/keys")
                self.end_headers()
                for _ in range(100 if outer.sends_single_bytes else 0):
                    self.wfile.write(b" ")
                    time.sleep(0.02)
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
            return {"issuer": self.url, "jwks_uri": self.jwks_uri or f"{self.url}/keys"}
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

    assert holder(checked, issuer.sign()) == ANN


def encoded(value):
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


SCOPES = ("write", None, "", "reader", "READ", "x\u00a0read", "x\tread", {"read": 1}, 7, [["read"]])
"""Values of `scope` that do not grant `read`."""


def forged_tokens(issuer):
    """Return tokens that must be refused: of others, for others, of another time or shape, and such as confuse."""
    import jwt
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec, rsa
    from jwt.algorithms import ECAlgorithm

    now, other = time.time(), ec.generate_private_key(ec.SECP256R1())
    public = issuer.keys["k1"].public_key()
    pem = public.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    der = public.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    own = json.loads(ECAlgorithm.to_jwk(other.public_key()))
    good = issuer.sign()
    header, claims, signature = good.split(".")
    body = json.loads(base64.urlsafe_b64decode(claims + "=="))

    def by_hand(header, claims=body, signature=b"x" * 64):
        return f"{encoded(header)}.{encoded(claims)}.{encoded(signature)}"

    def hmac_of(key, algorithm="HS256"):
        start = f"{encoded({'alg': algorithm, 'kid': 'k1'})}.{claims}"
        return f"{start}.{encoded(hmac.digest(key, start.encode(), algorithm.replace('HS', 'sha')))}"

    def signed(**more):
        return jwt.encode(body, other, "ES256", headers={"kid": "k1", **more})

    yield from (issuer.sign(exp=value) for value in (now - 60, None, 0, -1, "soon", [now + 60], {}, now - 1e9))
    yield from (issuer.sign(nbf=value) for value in (now + 600, "later"))
    yield from (issuer.sign(iat=value) for value in (now + 600, "x"))
    yield from (
        issuer.sign(iss=value) for value in ("https://evil.example", None, issuer.url + "/", "", issuer.url + " ")
    )
    yield from (
        issuer.sign(aud=value) for value in ("https://other.example", None, [], "", RESOURCE + "/", [RESOURCE + "x"])
    )
    yield from (issuer.sign(scope=value) for value in SCOPES)
    yield from (issuer.sign(sub=value) for value in (None, ""))
    yield issuer.sign(signing=other)
    yield issuer.sign("other", signing=other)
    yield jwt.encode(body, rsa.generate_private_key(65537, 2048), "RS256", headers={"kid": "k1"})
    yield jwt.encode(body, ec.generate_private_key(ec.SECP384R1()), "ES384", headers={"kid": "k1"})
    yield from (hmac_of(key, name) for key in (pem, der, b"", b"k1") for name in ("HS256", "HS512"))
    yield from (by_hand({"alg": name, "kid": "k1"}, signature=b"") for name in ("none", "None", "NONE", "nOnE", ""))
    yield from (by_hand({"alg": name, "kid": "k1"}) for name in ("ES256", "ES256K", "RS256", 7, None, ["ES256"]))
    yield signed(jwk=own)
    yield from (signed(**{name: f"{issuer.url}/evil"}) for name in ("jku", "x5u"))
    yield signed(x5c=["AAAA"])
    yield signed(crit=["exp"])
    yield from (
        by_hand({"alg": "ES256", "kid": kid}) for kid in ("../k1", "k1\0", "", None, 7, ["k1"], {"k": 1}, "k" * 20_000)
    )
    yield f"{encoded({'alg': 'none'})}.{claims}.{signature}"
    yield f"{header}.{encoded({**body, 'sub': 'bob'})}.{signature}"
    yield from (
        good[:-4] + "AAAA",
        f"{header}.{claims}.",
        f"{header}.{claims}",
        f"{good}.{signature}",
        f".{claims}.{signature}",
    )
    yield from ("not.a.token", "", ".", "..", "a.b.c", "\u20ac.b.c", f"{encoded(b'[' * 5000)}.{claims}.{signature}")
    yield f"{header}.{encoded(b'[' * 50_000)}.{signature}"


def test_other_access_tokens_are_refused(issuer):
    checked = OAuthIssuer(issuer.url, RESOURCE, ("read",))
    assert holder(checked, issuer.sign()) == ANN
    fetches = issuer.fetches

    tokens = list(forged_tokens(issuer))

    assert len(tokens) >= 68
    assert [(place, token[:40]) for place, token in enumerate(tokens) if holder(checked, token) is not None] == []
    assert issuer.fetches == fetches  # no token causes a fetch


def test_a_withdrawn_key_is_refused_after_its_lifetime(issuer):
    clock = Clock()
    checked = OAuthIssuer(issuer.url, RESOURCE, (), clock=clock)
    token = issuer.sign()
    accepted = [holder(checked, token)]
    withdrawn = issuer.replace_key()
    clock.seconds = oauth.KEYS_SECONDS
    forged = issuer.sign("k1", signing=withdrawn, sub="mallory")

    assert accepted == [ANN]
    assert [holder(checked, each) for each in (token, forged)] == [None, None]
    assert holder(checked, issuer.sign("k2")) == ANN


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

    assert holders == [ANN, ANN, UNKNOWN]
    assert holder(checked, token) == ANN


def test_keys_in_use_are_fetched_again_before_they_expire(issuer):
    clock = Clock()
    checked = OAuthIssuer(issuer.url, RESOURCE, (), clock=clock)
    holders = []
    for clock.seconds in range(0, 1200, 10):
        holders.append(holder(checked, issuer.sign()))

    assert holders == [ANN] * 120
    assert issuer.fetches == 1200 / oauth.RENEWAL_SECONDS


def test_a_new_key_is_fetched_when_a_token_names_it(issuer):
    clock = Clock()
    checked = OAuthIssuer(issuer.url, RESOURCE, (), clock=clock)
    holder(checked, issuer.sign())
    issuer.replace_key()
    clock.seconds = oauth.PAUSE_SECONDS

    assert holder(checked, issuer.sign("k2")) == ANN


@pytest.mark.parametrize("is_down", [False, True])
def test_unknown_keys_cause_one_fetch_in_each_pause(issuer, is_down):
    clock = Clock()
    checked = OAuthIssuer(issuer.url, RESOURCE, (), f"{issuer.url}/keys", clock=clock)
    issuer.is_down = is_down
    key = issuer.keys["k1"]
    for clock.seconds in (0, oauth.PAUSE_SECONDS - 1, oauth.PAUSE_SECONDS):
        for number in range(10):
            assert holder(checked, issuer.sign(f"unknown {number}", signing=key)) == (UNKNOWN if is_down else None)

    assert issuer.fetches == 2


def test_without_the_keys_of_the_issuer_no_token_is_right_or_wrong(issuer):
    assert holder(OAuthIssuer("http://127.0.0.1:9", RESOURCE, ()), issuer.sign()) == UNKNOWN


def test_known_keys_are_used_while_the_issuer_hangs(issuer):
    """Tokens with unknown keys wait together for one fetch, and no more of them than the limit."""
    clock = Clock()
    checked = OAuthIssuer(issuer.url, RESOURCE, (), f"{issuer.url}/keys", clock=clock)
    holder(checked, issuer.sign())
    clock.seconds = oauth.PAUSE_SECONDS
    strange = issuer.sign("unknown", signing=issuer.keys["k1"])

    async def during_a_fetch():
        issuer.is_hanging.clear()
        waiting = [asyncio.ensure_future(checked.caller(strange)) for _ in range(oauth.MAX_WAITING)]
        await asyncio.sleep(0)
        known = await checked.caller(issuer.sign())
        with pytest.raises(IssuerUnavailable):
            await checked.caller(strange)
        issuer.is_hanging.set()
        return known, await asyncio.gather(*waiting)

    assert asyncio.run(during_a_fetch()) == (ANN, [None] * oauth.MAX_WAITING)
    assert issuer.fetches == 2


HOLDERS = [
    {"sub": "x" * 100 + "a"},
    {"sub": "x" * 100 + "b"},
    {"sub": "x"},
    {"sub": None, "client_id": "x"},
    {"sub": "oauth"},
    {"sub": "\x00"},
    {"sub": "\x01"},
]


def test_different_holders_are_different_callers(issuer):
    checked = OAuthIssuer(issuer.url, RESOURCE, ())

    assert len({holder(checked, issuer.sign(**claims)).name for claims in HOLDERS}) == len(HOLDERS)


@pytest.mark.parametrize("claims", [{"sub": None}, {"sub": ""}, {"scope": {"read": 1}}])
def test_a_token_without_a_holder_or_a_list_of_scopes_is_refused(issuer, claims):
    assert holder(OAuthIssuer(issuer.url, RESOURCE, ("read",)), issuer.sign(**claims)) is None


@pytest.mark.parametrize("url", ["http://issuer.example", "http://127.0.0.1.example", "ftp://127.0.0.1", "issuer", ""])
def test_an_issuer_without_tls_is_on_this_machine(url):
    with pytest.raises(ValueError, match="by https"):
        OAuthIssuer(url, RESOURCE, ())


def test_no_address_of_keys_without_tls_is_fetched(issuer):
    issuer.jwks_uri = "http://issuer.example/keys"
    checked = OAuthIssuer(issuer.url, RESOURCE, ())

    with pytest.raises(IssuerUnavailable, match="by https"):
        asyncio.run(checked.caller(issuer.sign()))


def test_no_redirect_is_followed_and_no_proxy_asked(issuer, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    answers = [holder(OAuthIssuer(issuer.url, RESOURCE, (), f"{issuer.url}/{path}"), issuer.sign()) for path in PATHS]

    assert answers == [ANN, UNKNOWN]


PATHS = ("keys", "redirect")


def test_an_issuer_that_sends_single_bytes_is_given_up(issuer, monkeypatch):
    monkeypatch.setattr(oauth, "FETCH_SECONDS", 0.2)
    issuer.sends_single_bytes = True

    assert holder(OAuthIssuer(issuer.url, RESOURCE, (), f"{issuer.url}/keys"), issuer.sign()) == UNKNOWN


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
