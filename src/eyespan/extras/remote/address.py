"""The text of a remote root: a URL, perhaps after a local name: `s3://bucket/prefix`, `/data=s3://bucket/prefix`."""

from __future__ import annotations


def split_address(text: str) -> tuple[str, str]:
    """Return the URL of a root and its local name.

    Raises: ValueError for a URL without a host, with credentials, a query, or a path that leads elsewhere.
    """
    name = ""
    if text.startswith("/"):
        name, _, text = text.partition("=")
    scheme, _, rest = text.partition("://")
    scheme = scheme.lower()
    host, _, path = rest.partition("/")
    if not host:
        raise ValueError(f"a root {scheme}:// needs a {'host' if scheme.startswith('http') else 'bucket'}: {text!r}")
    if "@" in host:
        raise ValueError(f"a root {scheme}:// must not hold credentials; they belong in the environment")
    if "?" in rest or "#" in rest:
        raise ValueError(f"a root {scheme}:// must not have a query or a fragment")
    parts = [part for part in path.split("/") if part]
    if any(part in (".", "..") for part in parts):
        raise ValueError(f"a root {scheme}:// must not contain '.' or '..'")
    url = "/".join([f"{scheme}://{host}", *parts])
    local = [part for part in name.split("/") if part] or [scheme, host, *parts]
    if any(part in (".", "..") for part in local):
        raise ValueError(f"the local name of a root must not contain '.' or '..': {name!r}")
    return url, "/" + "/".join(local)
