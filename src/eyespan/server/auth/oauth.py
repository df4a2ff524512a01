"""Access tokens of an OAuth issuer."""

from __future__ import annotations

from eyespan.server.auth.tokens import Caller

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FETCH_SECONDS = 5
MAX_METADATA_BYTES = 1 << 20


class OAuthIssuer:
    """Accepts JWTs that this issuer signed with a published key, for this server (`resource`)."""

    ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
    """Only algorithms with a public key: with a shared secret, the published key would suffice to forge a token."""

    def __init__(self, issuer: str, resource: str, scopes: tuple[str, ...], jwks_url: str | None = None) -> None:
        self.issuer = issuer
        self.resource = resource
        self.scopes = scopes
        self._jwks_url = jwks_url
        self._keys: Any = None

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
            if self._keys is None:
                url = self._jwks_url or self._discover_jwks_url()
                self._keys = jwt.PyJWKClient(url, cache_keys=True, timeout=FETCH_SECONDS)
            claims = jwt.decode(
                token,
                self._keys.get_signing_key_from_jwt(token).key,
                algorithms=list(self.ALGORITHMS),
                audience=self.resource,
                issuer=self.issuer,
                options={"require": ["exp", "iss", "aud"]},
            )
        except (jwt.PyJWTError, OSError, ValueError):
            return None
        scope = claims.get("scope", "")
        granted = scope.split() if isinstance(scope, str) else list(scope)
        if not set(self.scopes) <= set(granted):
            return None
        return Caller(str(claims.get("sub") or claims.get("client_id") or "oauth")[:100])

    def _discover_jwks_url(self) -> str:
        """Find the URL of the issuer's keys in its metadata. Raises: OSError, ValueError."""
        import json
        from urllib.parse import urlsplit
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
