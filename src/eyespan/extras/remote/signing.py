"""Requests with the credentials of the host: signatures of S3 (version 4) and of Azure (Shared Key), and tokens."""

from __future__ import annotations

import base64
import hashlib
import hmac
import math
import time
from dataclasses import dataclass, field
from email.utils import formatdate
from typing import Literal
from urllib.parse import quote

AZURE_HEADERS = {"x-ms-version": "2021-08-06"}
"""The headers of every request to Azure."""
_EMPTY_SHA256 = hashlib.sha256(b"").hexdigest()


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a request is signed with. Secrets are in no `repr`."""

    kind: Literal["none", "aws", "azure", "bearer", "query"] = "none"
    name: str = field(default="", repr=False)
    """The access key of S3, or the account of Azure."""
    secret: str = field(default="", repr=False)
    """The key, the token or the query."""
    session: str = field(default="", repr=False)
    expires: float = math.inf
    """The time, in seconds of the epoch, after which they are not used."""


@dataclass(frozen=True, slots=True)
class StoreRequest:
    """A GET request of a store: the path is quoted, the values of the query are not."""

    host: str
    path: str
    query: dict[str, str] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def target(self) -> str:
        """Return path and query as they are sent."""
        return f"{self.path}?{quoted_query(self.query)}" if self.query else self.path


def quoted_key(key: str) -> str:
    """Return a key as it stands in the path of a request."""
    return quote(key, safe="/", errors="surrogateescape")


def quoted_query(query: dict[str, str]) -> str:
    pairs = [(quote(name, safe=""), quote(value, safe="", errors="surrogateescape")) for name, value in query.items()]
    return "&".join([f"{name}={value}" for name, value in sorted(pairs)])


def signed(
    request: StoreRequest, credentials: Credentials, region: str, now: float | None = None
) -> tuple[str, dict[str, str]]:
    """Return the target and the headers of a request with these credentials. Raises: ValueError, without a secret."""
    if any(not "!" <= char <= "~" for char in credentials.name + credentials.secret + credentials.session + region):
        raise ValueError("no request can hold this key")  # http.client would name it
    now = time.time() if now is None else now
    match credentials.kind:
        case "aws":
            return request.target, _signed_s3(request, credentials, region, now)
        case "azure":
            return request.target, _signed_azure(request, credentials, now)
        case "bearer":
            return request.target, {**request.headers, "Authorization": f"Bearer {credentials.secret}"}
        case "query":
            sign = "&" if request.query else "?"
            return f"{request.target}{sign}{credentials.secret.lstrip('?')}", request.headers
        case _:
            return request.target, request.headers


def _hmac(key: bytes, text: str) -> bytes:
    return hmac.digest(key, text.encode(), "sha256")


def _signed_s3(request: StoreRequest, credentials: Credentials, region: str, now: float) -> dict[str, str]:
    moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now))
    headers = {"host": request.host, "x-amz-content-sha256": _EMPTY_SHA256, "x-amz-date": moment}
    if credentials.session:
        headers["x-amz-security-token"] = credentials.session
    headers |= {name.lower(): value for name, value in request.headers.items()}
    names = ";".join(sorted(headers))
    lines = [f"{name}:{headers[name]}" for name in sorted(headers)]
    whole = ["GET", request.path, quoted_query(request.query), *lines, "", names, _EMPTY_SHA256]
    scope = f"{moment[:8]}/{region}/s3/aws4_request"
    digest = hashlib.sha256("\n".join(whole).encode()).hexdigest()
    key = f"AWS4{credentials.secret}".encode()
    for part in scope.split("/"):
        key = _hmac(key, part)
    signature = _hmac(key, f"AWS4-HMAC-SHA256\n{moment}\n{scope}\n{digest}").hex()
    place = f"Credential={credentials.name}/{scope},SignedHeaders={names},Signature={signature}"
    return {**headers, "authorization": f"AWS4-HMAC-SHA256 {place}"}


def _signed_azure(request: StoreRequest, credentials: Credentials, now: float) -> dict[str, str]:
    headers = {**request.headers, "x-ms-date": formatdate(now, usegmt=True)}
    fields = ["", "", "", "", "", "", "", headers.get("If-Match", ""), "", "", headers.get("Range", "")]
    lines = [f"{name}:{headers[name]}" for name in ("x-ms-date", "x-ms-version")]
    resource = [
        f"/{credentials.name}{request.path}",
        *[f"{name}:{text}" for name, text in sorted(request.query.items())],
    ]
    text = "\n".join(["GET", *fields, *lines, *resource])
    signature = base64.b64encode(_hmac(base64.b64decode(credentials.secret), text)).decode()
    return {**headers, "Authorization": f"SharedKey {credentials.name}:{signature}"}
