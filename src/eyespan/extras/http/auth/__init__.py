"""Authentication of the HTTP server: tokens of its own, or those of an OAuth issuer; rate limits.

callers   bearer tokens, and the table of their holders
oauth     access tokens of an issuer
rate      rate limits
"""

from __future__ import annotations

import os

from eyespan.extras.http.auth.callers import Caller, Tokens, load_tokens
from eyespan.extras.http.auth.oauth import IssuerUnavailable, OAuthIssuer
from eyespan.extras.http.http_options import HttpOptions
from eyespan.server.serve_options import InvalidOptions

Authenticator = Tokens | OAuthIssuer

__all__ = ["Caller", "IssuerUnavailable", "OAuthIssuer", "Tokens", "load"]


def load(options: HttpOptions) -> tuple[Authenticator | None, str]:
    """Return what checks the tokens (None: no token is required), and a note on where the tokens are.

    Raises: InvalidOptions, OSError.
    """
    if options.oauth_issuer is not None and options.oauth_resource is not None:
        jwks_url = os.environ.get("EYESPAN_OAUTH_JWKS")
        try:
            issuer = OAuthIssuer(options.oauth_issuer, options.oauth_resource, options.oauth_scopes, jwks_url)
        except ValueError as error:
            raise InvalidOptions(str(error)) from None
        return issuer, f"tokens of {options.oauth_issuer}"
    if options.tokens is None and options.no_token:
        return None, "no token"
    return load_tokens(options)
