"""Access tokens of an OAuth issuer."""

from __future__ import annotations

import json
import time
from _thread import allocate_lock
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from eyespan.extras.http.auth.callers import Caller

FETCH_SECONDS = 5
KEYS_SECONDS = 300.0
"""The time for which fetched keys are accepted: a key that the issuer has withdrawn is refused after it."""
RENEWAL_SECONDS = 240.0
"""The age at which the keys are fetched again, so that a failed fetch can be repeated before they expire."""
PAUSE_SECONDS = 30.0
"""The least time between two fetches, also after one that failed: tokens with unknown key ids cause no more."""
MAX_METADATA_BYTES = 1 << 20


class OAuthIssuer:
    """Accepts JWTs that this issuer signed with a published key, for this server (`resource`)."""

    ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
    """Only algorithms with a public key: with a shared secret, the published key would suffice to forge a token."""

    def __init__(
        self,
        issuer: str,
        resource: str,
        scopes: tuple[str, ...],
        jwks_url: str | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.issuer = issuer
        self.resource = resource
        self.scopes = scopes
        self._jwks_url = jwks_url
        self._clock = clock
        self._published: tuple[float, dict[str, Any]] = (float("-inf"), {})
        """The time of the last successful fetch, and the keys of the issuer by their ids."""
        self._fetch_time = float("-inf")
        self._fetching = allocate_lock()

    @property
    def callers(self) -> list[Caller]:
        """Callers with roots or dialects of their own: none."""
        return []

    async def caller(self, token: str) -> Caller | None:
        """Return the holder of a token, or None for a token that is not accepted."""
        import asyncio

        return await asyncio.to_thread(self.verify, token)

    def verify(self, token: str) -> Caller | None:
        """Check signature, issuer, audience, times and scopes. Fetches the issuer's keys if they are not known."""
        import jwt

        try:
            claims = jwt.decode(
                token,
                self._key(jwt.get_unverified_header(token).get("kid", "")),
                algorithms=list(self.ALGORITHMS),
                audience=self.resource,
                issuer=self.issuer,
                options={"require": ["exp", "iss", "aud"]},
            )
        except (jwt.PyJWTError, ValueError):
            return None
        scope = claims.get("scope", "")
        granted = scope.split() if isinstance(scope, str) else list(scope)
        if not set(self.scopes) <= set(granted):
            return None
        return Caller(str(claims.get("sub") or claims.get("client_id") or "oauth")[:100])

    def _key(self, key_id: str) -> Any:
        """Return a key that the issuer published less than `KEYS_SECONDS` ago. Raises: ValueError if it did not."""
        fetch_time, keys = self._published
        if key_id not in keys or self._clock() - fetch_time >= RENEWAL_SECONDS:
            self._fetch_keys()
            fetch_time, keys = self._published
        if key_id not in keys or self._clock() - fetch_time >= KEYS_SECONDS:
            raise ValueError("the issuer publishes no such key")
        return keys[key_id]

    def _fetch_keys(self) -> None:
        """Fetch the keys of the issuer, unless the last attempt was a moment ago. A failure changes nothing."""
        import jwt

        with self._fetching:
            now = self._clock()
            if now - self._fetch_time < PAUSE_SECONDS:
                return
            self._fetch_time = now
            try:
                self._jwks_url = self._jwks_url or self._discover_jwks_url()
                # Its own caches have no clock, and that of single keys never expires.
                client = jwt.PyJWKClient(self._jwks_url, cache_jwk_set=False, timeout=FETCH_SECONDS)
                self._published = (now, {key.key_id: key.key for key in client.get_signing_keys() if key.key_id})
            except (jwt.PyJWTError, OSError, ValueError, RecursionError):
                return

    def _discover_jwks_url(self) -> str:
        """Find the URL of the issuer's keys in its metadata. Raises: OSError, ValueError."""
        from urllib.request import urlopen

        parts = urlsplit(self.issuer)
        if parts.scheme not in ("https", "http"):
            raise ValueError("the issuer must be a URL")
        path = parts.path.rstrip("/")
        origin = f"{parts.scheme}://{parts.netloc}"
        last: Exception = ValueError("the issuer publishes no metadata")
        for url in (
            f"{origin}/.well-known/oauth-authorization-server{path}",
            f"{origin}{path}/.well-known/openid-configuration",
        ):
            try:
                with urlopen(url, timeout=FETCH_SECONDS) as response:
                    metadata = json.loads(response.read(MAX_METADATA_BYTES))
                if metadata.get("issuer") == self.issuer and isinstance(metadata.get("jwks_uri"), str):
                    return str(metadata["jwks_uri"])
            except (OSError, ValueError, RecursionError) as error:
                last = error
        raise ValueError(str(last))
