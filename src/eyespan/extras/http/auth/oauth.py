"""Access tokens of an OAuth issuer.

Tokens are checked with the keys that were fetched last, in the event loop. One fetch runs at a time, in a thread, and
only tokens whose key is not known wait for it. Without keys, a token is neither right nor wrong: `IssuerUnavailable`.
"""

from __future__ import annotations

import asyncio
import hashlib
import ipaddress
import json
import socket
import time
from collections.abc import Callable
from contextlib import closing
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from threading import Timer
from typing import Any
from urllib.parse import urlsplit

from eyespan.escape import visible
from eyespan.extras.http.auth.callers import Caller

FETCH_SECONDS = 5
KEYS_SECONDS = 300.0
"""The time for which fetched keys are accepted: a key that the issuer has withdrawn is refused after it."""
RENEWAL_SECONDS = 240.0
"""The age at which the keys are fetched again, so that a failed fetch can be repeated before they expire."""
PAUSE_SECONDS = 30.0
"""The least time between two fetches, also after one that failed: tokens with unknown key ids cause no more."""
MAX_METADATA_BYTES = 1 << 20
MAX_WAITING = 64
"""The tokens that wait for a fetch."""
SHOWN_CHARS = 60
"""The characters of a subject that are part of the name of its caller."""


class IssuerUnavailable(Exception):
    """The keys of the issuer are not known; the text is the cause."""


class OAuthIssuer:
    """Accepts JWTs that this issuer signed with a published key, for this server (`resource`)."""

    ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
    """Only algorithms with a public key: with a shared secret, the published key would suffice to forge a token."""
    callers = ()
    """Callers with roots or dialects of their own: none."""

    def __init__(
        self,
        issuer: str,
        resource: str,
        scopes: tuple[str, ...],
        jwks_url: str | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Raises: ValueError, for an address without TLS on another machine."""
        for url in (issuer, jwks_url or issuer):
            _require_secure(url)
        self.issuer = issuer
        self.resource = resource
        self.scopes = scopes
        self._jwks_url = jwks_url
        self._clock = clock
        self._published: tuple[float, dict[str, Any]] = (float("-inf"), {})
        """The time of the last successful fetch, and the keys of the issuer by their ids."""
        self._failure = "its keys are not fetched yet"
        """The cause if the last fetch failed, otherwise ""."""
        self._fetch_time = float("-inf")
        self._fetching: asyncio.Future[None] | None = None
        self._waiting = 0

    @property
    def metadata_path(self) -> str:
        """The path of the metadata by which clients find the issuer: the well-known one, and that of the resource."""
        resource_path = urlsplit(self.resource).path
        return "/.well-known/oauth-protected-resource" + (resource_path if resource_path != "/" else "")

    def metadata(self) -> bytes:
        """Return the metadata as JSON (RFC 9728)."""
        facts = {
            "resource": self.resource,
            "authorization_servers": [self.issuer],
            "scopes_supported": list(self.scopes),
            "bearer_methods_supported": ["header"],
        }
        return json.dumps(facts).encode()

    def challenge(self) -> str:
        """Return the header WWW-Authenticate, which names the metadata."""
        parts = urlsplit(self.resource)
        return f'Bearer resource_metadata="{parts.scheme}://{parts.netloc}{self.metadata_path}"'

    async def caller(self, token: str) -> Caller | None:
        """Return the holder of a token, or None for a token that is not accepted. Raises: IssuerUnavailable."""
        import jwt

        try:
            key_id = jwt.get_unverified_header(token).get("kid", "")
        except (jwt.PyJWTError, ValueError):
            return None
        now = self._clock()
        is_known = self._key(key_id) is not None
        if not is_known or now - self._published[0] >= RENEWAL_SECONDS:
            is_idle = self._fetching is None or self._fetching.done()
            if is_idle and now - self._fetch_time >= PAUSE_SECONDS:
                self._fetch_time = now
                self._fetching = asyncio.ensure_future(asyncio.to_thread(self._fetch_keys, now))
        if not is_known and self._fetching is not None and not self._fetching.done():
            if self._waiting >= MAX_WAITING:
                raise IssuerUnavailable("too many tokens wait for its keys")
            self._waiting += 1
            try:
                await asyncio.shield(self._fetching)
            finally:
                self._waiting -= 1
        return self._verify(token, key_id)

    def _verify(self, token: str, key_id: str) -> Caller | None:
        """Check signature, issuer, audience, times, scopes and holder with the known keys."""
        import jwt

        key = self._key(key_id)
        if key is None:
            if self._failure:
                raise IssuerUnavailable(self._failure)
            return None
        try:
            claims = jwt.decode(
                token,
                key,
                algorithms=list(self.ALGORITHMS),
                audience=self.resource,
                issuer=self.issuer,
                options={"require": ["exp", "iss", "aud"]},
            )
        except (jwt.PyJWTError, ValueError, TypeError):  # TypeError: an algorithm for another kind of key
            return None
        scope = claims.get("scope", "")
        granted = scope.split(" ") if isinstance(scope, str) else scope if isinstance(scope, list) else []
        if not all(each in granted for each in self.scopes):
            return None
        for kind in ("sub", "client_id"):
            if isinstance(value := claims.get(kind), str) and value:
                digest = hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()[:16]
                return Caller(f"{kind}:{visible(value[:SHOWN_CHARS])}#{digest}")
        return None

    def _key(self, key_id: object) -> Any:
        """Return a key that the issuer published less than `KEYS_SECONDS` ago, or None."""
        fetch_time, keys = self._published
        return keys.get(key_id) if isinstance(key_id, str) and self._clock() - fetch_time < KEYS_SECONDS else None

    def _fetch_keys(self, now: float) -> None:
        """Fetch the keys of the issuer. After a failure, those that were fetched before stay."""
        import jwt

        try:
            self._jwks_url = self._jwks_url or self._discover_jwks_url()
            keys = jwt.PyJWKSet.from_dict(_fetch(self._jwks_url)).keys
        except (jwt.PyJWTError, OSError, HTTPException, ValueError, TypeError) as error:
            self._failure = visible(str(error))[:200] or type(error).__name__
            return
        signing = {key.key_id: key.key for key in keys if key.key_id and key.public_key_use in ("sig", None)}
        self._published, self._failure = (now, signing), ""

    def _discover_jwks_url(self) -> str:
        """Find the URL of the issuer's keys in its metadata. Raises: OSError, HTTPException, ValueError."""
        parts = urlsplit(self.issuer)
        path = parts.path.rstrip("/")
        origin = f"{parts.scheme}://{parts.netloc}"
        last: Exception = ValueError("the issuer publishes no metadata")
        for url in (
            f"{origin}/.well-known/oauth-authorization-server{path}",
            f"{origin}{path}/.well-known/openid-configuration",
        ):
            try:
                metadata = _fetch(url)
            except (OSError, HTTPException, ValueError) as error:
                last = error
                continue
            if metadata.get("issuer") == self.issuer and isinstance(metadata.get("jwks_uri"), str):
                return str(metadata["jwks_uri"])
        raise last


def _fetch(url: str) -> dict[str, Any]:
    """Return the JSON object at an address. No proxy is asked, and no redirect followed.

    Raises: OSError, HTTPException, ValueError.
    """
    _require_secure(url)
    parts = urlsplit(url)
    connect = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    with closing(connect(parts.hostname or "", parts.port, timeout=FETCH_SECONDS)) as connection:
        connection.connect()
        # The timeout of a socket is that of each byte.
        end = Timer(FETCH_SECONDS, socket.socket.shutdown, (connection.sock, socket.SHUT_RDWR))
        end.start()
        try:
            target = parts._replace(scheme="", netloc="", fragment="").geturl() or "/"
            connection.request("GET", target, headers={"User-Agent": "eyespan"})
            answer = connection.getresponse()
            data = answer.read(MAX_METADATA_BYTES)
        finally:
            end.cancel()
    if answer.status != 200:
        raise ValueError(f"{url} answered with {answer.status}")
    try:
        value = json.loads(data)
    except RecursionError:
        raise ValueError(f"{url} is nested too deeply") from None
    if not isinstance(value, dict):
        raise ValueError(f"{url} is not a JSON object")
    return value


def _require_secure(url: str) -> None:
    """Raises: ValueError, unless an address has TLS or is on this machine."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    try:
        is_local = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_local = False
    if not host or (parts.scheme != "https" and not (parts.scheme == "http" and is_local)):
        raise ValueError(f"{url}: the keys of an issuer are fetched by https, and by http on this machine only")
