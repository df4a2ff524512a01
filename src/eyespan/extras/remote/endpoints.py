"""The addresses of a bucket's store and of the services that give credentials for it, from the host's environment.

obstore finds them by itself; they are found here as well, because the relay sends requests to these and to no others.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

METADATA_HOSTS = {
    "s3": ("169.254.169.254", "[fd00:ec2::254]", "169.254.170.2", "169.254.170.23", "[fd00:ec2::23]"),
    "gs": ("metadata.google.internal", "metadata", "169.254.169.254"),
    "az": ("169.254.169.254",),
}
"""The services of instances and containers that give credentials, without TLS."""
SERVICE_VARIABLES = {
    "s3": ("AWS_METADATA_ENDPOINT", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_ENDPOINT_URL_STS"),
    "gs": ("GCE_METADATA_HOST", "GCE_METADATA_ROOT", "GCE_METADATA_IP"),
    "az": (
        *("IDENTITY_ENDPOINT", "AZURE_MSI_ENDPOINT", "AZURE_IDENTITY_ENDPOINT", "AZURE_AUTHORITY_HOST"),
        *("AZURE_STORAGE_AUTHORITY_HOST", "AZURE_FABRIC_TOKEN_SERVICE_URL"),
    ),
}
"""Variables that name other such services, as addresses or as hosts."""
TOKEN_HOSTS = {
    "s3": (),
    "gs": ("accounts.google.com", "oauth2.googleapis.com", "iamcredentials.googleapis.com"),
    "az": (
        *("login.microsoftonline.com", "login.microsoftonline.us", "login.microsoftonline.de"),
        "login.chinacloudapi.cn",
    ),
}
"""The services that give tokens, over TLS."""
_TRUE = ("1", "true", "yes", "on", "t", "y")


@dataclass(frozen=True, slots=True)
class Endpoints:
    """The addresses of one bucket."""

    store: str
    """The URL of the store."""
    options: dict[str, Any]
    """The options by which obstore sends its requests to that host, without TLS, which the relay adds."""
    services: tuple[str, ...]
    """The hosts of services without TLS, each perhaps with a port."""
    tunnels: tuple[str, ...]
    """The hosts and ports of services with TLS."""

    @property
    def authority(self) -> str:
        """Return the host of the store in the requests of obstore, with its port unless that is the usual one."""
        return authority_of(self.store)


def authority_of(url: str) -> str:
    """Return the host and port of a URL as they stand in a request without TLS."""
    parts = urlsplit(url)
    host = (parts.hostname or "").lower()
    host = f"[{host}]" if ":" in host else host
    usual = 443 if parts.scheme == "https" else 80
    return host if parts.port in (None, usual) else f"{host}:{parts.port}"


def endpoints_of(url: str, environ: Mapping[str, str]) -> Endpoints:
    """Return the addresses of a bucket. Raises: ValueError for one that is not a URL."""
    scheme, _, rest = url.partition("://")
    bucket = rest.partition("/")[0]
    tunnels = [f"{host}:443" for host in TOKEN_HOSTS[scheme]]
    store, options = _STORES[scheme](bucket, environ)
    if scheme == "s3":
        region = _region(environ)
        tunnels += [f"sts.{region}.amazonaws.com:443", f"sts.{region}.amazonaws.com.cn:443"]
        if _is_true(environ, "AWS_S3_EXPRESS"):
            tunnels.append(f"{_zonal_host(bucket, region)}:443")  # a session is made there
        if environ.get("AWS_ENDPOINT_URL_S3", "").startswith("https:"):
            tunnels.append(f"{urlsplit(store).hostname}:{urlsplit(store).port or 443}")  # obstore takes no other
    services = list(METADATA_HOSTS[scheme])
    for name in SERVICE_VARIABLES[scheme]:
        value = environ.get(name, "")
        if value.startswith("https://"):
            tunnels.append(f"{urlsplit(value).hostname}:{urlsplit(value).port or 443}")
        elif value:
            services.append(authority_of(value if "://" in value else f"http://{value}"))
    if not urlsplit(store).hostname:
        raise ValueError(f"not the address of a store: {store!r}")
    return Endpoints(store=store, options=options, services=tuple(services), tunnels=tuple(tunnels))


def _is_true(environ: Mapping[str, str], name: str) -> bool:
    return environ.get(name, "").lower() in _TRUE


def _region(environ: Mapping[str, str]) -> str:
    return environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION") or "us-east-1"


def _zonal_host(bucket: str, region: str) -> str:
    """Return the host of a directory bucket, whose name ends with its zone: `name--usw2-az1--x-s3`."""
    return f"{bucket}.s3express-{bucket.removesuffix('--x-s3').rpartition('--')[2]}.{region}.amazonaws.com"


def _without_tls(url: str) -> str:
    parts = urlsplit(url)
    return f"http://{authority_of(url)}{parts.path.rstrip('/')}"


def _s3(bucket: str, environ: Mapping[str, str]) -> tuple[str, dict[str, Any]]:
    named = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT", "AWS_ENDPOINT_URL")
    endpoint = next((environ[name] for name in named if environ.get(name)), "").rstrip("/")
    is_virtual = _is_true(environ, "AWS_VIRTUAL_HOSTED_STYLE_REQUEST")
    region = _region(environ)
    if endpoint:
        store = endpoint if is_virtual else f"{endpoint}/{bucket}"
    elif _is_true(environ, "AWS_S3_EXPRESS"):
        store = f"https://{_zonal_host(bucket, region)}"
    else:
        store = (
            f"https://{bucket}.s3.{region}.amazonaws.com"
            if is_virtual
            else f"https://s3.{region}.amazonaws.com/{bucket}"
        )
    if environ.get("AWS_ENDPOINT_URL_S3"):
        return store, {}  # it takes precedence over an option
    return store, {"endpoint": _without_tls(store), "virtual_hosted_style_request": True}


def _google(_bucket: str, environ: Mapping[str, str]) -> tuple[str, dict[str, Any]]:
    store = environ.get("GOOGLE_BASE_URL") or _named_in_key(environ) or "https://storage.googleapis.com"
    return store, {"base_url": _without_tls(store)}


def _named_in_key(environ: Mapping[str, str]) -> str:
    """Return the address of a store that the key of a service account names; mostly ""."""
    try:
        text = environ.get("GOOGLE_SERVICE_ACCOUNT_KEY", "")
        for name in ("GOOGLE_SERVICE_ACCOUNT", "GOOGLE_SERVICE_ACCOUNT_PATH", "SERVICE_ACCOUNT"):
            if path := environ.get(name):
                with open(path, encoding="utf-8") as file:
                    text = file.read(1 << 20)
                break
        url = json.loads(text).get("gcs_base_url") if text else ""
        return url if isinstance(url, str) else ""
    except (OSError, ValueError, AttributeError, RecursionError):
        return ""  # obstore reports a key that cannot be used


def _azure(_bucket: str, environ: Mapping[str, str]) -> tuple[str, dict[str, Any]]:
    if _is_true(environ, "AZURE_STORAGE_USE_EMULATOR"):
        return environ.get("AZURITE_BLOB_STORAGE_URL") or "http://127.0.0.1:10000", {}
    account = environ.get("AZURE_STORAGE_ACCOUNT_NAME", "")
    domain = "blob.fabric.microsoft.com" if _is_true(environ, "AZURE_USE_FABRIC_ENDPOINT") else "blob.core.windows.net"
    named = environ.get("AZURE_STORAGE_ENDPOINT") or environ.get("AZURE_ENDPOINT")
    store = named or f"https://{account or 'account'}.{domain}"
    return store, {"endpoint": _without_tls(store)}


_STORES = {"s3": _s3, "gs": _google, "az": _azure}
