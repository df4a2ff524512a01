"""The metadata by which clients find the OAuth issuer of this server (RFC 9728)."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from eyespan.extras.http.checks import WELL_KNOWN
from eyespan.server import json_messages

if TYPE_CHECKING:
    from eyespan.extras.http.auth import OAuthIssuer


def path(issuer: OAuthIssuer) -> str:
    """Return the path of the metadata: the well-known one, followed by the path of the resource."""
    resource_path = urlsplit(issuer.resource).path
    return WELL_KNOWN + (resource_path if resource_path != "/" else "")


def document(issuer: OAuthIssuer) -> bytes:
    """Return the metadata as JSON."""
    facts = {
        "resource": issuer.resource,
        "authorization_servers": [issuer.issuer],
        "scopes_supported": list(issuer.scopes),
        "bearer_methods_supported": ["header"],
    }
    return b"".join(json_messages.dumps(facts))


def challenge(issuer: OAuthIssuer) -> str:
    """Return the header WWW-Authenticate, which names the metadata."""
    parts = urlsplit(issuer.resource)
    return f'Bearer resource_metadata="{parts.scheme}://{parts.netloc}{path(issuer)}"'
