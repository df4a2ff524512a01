"""The address of a bucket's store, from the host's environment."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit


def region_of(environ: Mapping[str, str]) -> str:
    """Return the region that requests to S3 are signed for."""
    return environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION") or "us-east-1"


def endpoint_of(url: str, environ: Mapping[str, str]) -> str:
    """Return the URL of a bucket at its store, without a slash at its end. Raises: ValueError if it is none."""
    scheme, _, rest = url.partition("://")
    bucket = rest.partition("/")[0]
    endpoint = _ENDPOINTS[scheme](bucket, environ).rstrip("/")
    parts = urlsplit(endpoint)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query:
        raise ValueError("not the address of a store")
    return endpoint


def _s3(bucket: str, environ: Mapping[str, str]) -> str:
    named = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT", "AWS_ENDPOINT_URL")
    endpoint = next((environ[name] for name in named if environ.get(name)), "").rstrip("/")
    is_virtual = environ.get("AWS_VIRTUAL_HOSTED_STYLE_REQUEST", "").lower() in ("1", "true", "yes", "on")
    if endpoint:
        return endpoint if is_virtual else f"{endpoint}/{bucket}"
    host = f"s3.{region_of(environ)}.amazonaws.com"
    return f"https://{bucket}.{host}" if is_virtual else f"https://{host}/{bucket}"


def _google(bucket: str, environ: Mapping[str, str]) -> str:
    return f"{(environ.get('GOOGLE_BASE_URL') or 'https://storage.googleapis.com').rstrip('/')}/{bucket}"


def _azure(container: str, environ: Mapping[str, str]) -> str:
    account = environ.get("AZURE_STORAGE_ACCOUNT_NAME") or "account"
    named = environ.get("AZURE_STORAGE_ENDPOINT") or environ.get("AZURE_ENDPOINT")
    return f"{(named or f'https://{account}.blob.core.windows.net').rstrip('/')}/{container}"


_ENDPOINTS = {"s3": _s3, "gs": _google, "az": _azure}
