"""MCP by name: error codes, revisions, methods and the keys of `_meta`.

Revisions up to 2025-11-25 open with a handshake. From 2026-07-28 on every request carries its own envelope in `_meta`,
and the server remembers nothing. A connection may use both; the request decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import eyespan
from eyespan.escape import valid_text, valid_tree

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602
INTERNAL_ERROR, BUSY, RESOURCE_NOT_FOUND, UNSUPPORTED_VERSION = -32603, -32000, -32002, -32022
HEADER_MISMATCH = -32020
CANCELLED = 0
"""The code that the official SDKs use. The specification has none, since a cancelled request needs no answer."""

HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN_VERSIONS = ("2026-07-28",)

MAX_ID_CHARS = 1024
"""The longest id of a request and token of its progress. Every answer and notification repeats it."""
MAX_ERROR_CHARS = 4096
"""The longest text in an error."""

_PREFIX = "io.modelcontextprotocol/"
VERSION_KEY, CAPABILITIES_KEY = f"{_PREFIX}protocolVersion", f"{_PREFIX}clientCapabilities"
CLIENT_KEY, SERVER_KEY = f"{_PREFIX}clientInfo", f"{_PREFIX}serverInfo"

COMMON_METHODS = frozenset(
    ("tools/list", "tools/call", "resources/list", "resources/templates/list", "resources/read", "completion/complete")
)
"""The methods of both kinds of revisions. `Service.handler` has a handler for each."""
SUBSCRIBE, UNSUBSCRIBE, LISTEN = "resources/subscribe", "resources/unsubscribe", "subscriptions/listen"
"""Methods of a connection that outlasts its requests: of the revisions with a handshake, and of those without."""
READING_METHODS = frozenset(("tools/call", "resources/read", "completion/complete", SUBSCRIBE, LISTEN))
"""The methods that access the file system and may therefore take long."""

TTL_MS = {
    "server/discover": 3_600_000,
    "tools/list": 3_600_000,
    "resources/list": 3_600_000,
    "resources/templates/list": 3_600_000,
    "resources/read": 0,
}
"""The time for which a client may cache a result (2026-07-28). Files change; lists stay while a server runs."""

CAPABILITIES: dict[str, Any] = {"tools": {}, "resources": {}, "completions": {}}


class RpcError(Exception):
    """A request that fails with a JSON-RPC error."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.data = data

    def as_json(self) -> dict[str, Any]:
        """Return the error as a JSON value. Texts of a request that it repeats are shortened."""
        error: dict[str, Any] = {"code": self.code, "message": _shortened(valid_text(self.message))}
        if self.data is not None:
            error["data"] = _shortened(valid_tree(self.data))
        return error


def _shortened(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) <= MAX_ERROR_CHARS else f"{value[:MAX_ERROR_CHARS]}..."
    return {key: _shortened(item) for key, item in value.items()} if isinstance(value, dict) else value


def server_info() -> dict[str, Any]:
    return {"name": "eyespan", "title": "eyespan", "version": eyespan.__version__}


def client_name(info: Any) -> str:
    """Return the name in a client's `clientInfo`, for the audit log; "" if there is none."""
    if not isinstance(info, dict) or not isinstance(info.get("name"), str):
        return ""
    version = info.get("version")
    name = f"{info['name']}/{version}" if isinstance(version, str) and version else info["name"]
    return valid_text(name)[:100]


def progress_token(params: Mapping[str, Any]) -> str | int | None:
    """Return the token for progress notifications, or None if the caller asked for none."""
    meta = params.get("_meta")
    token = meta.get("progressToken") if isinstance(meta, dict) else None
    return token if is_request_id(token) else None


def is_request_id(value: Any) -> bool:
    """Return True for a whole number and for a short string that can be written as UTF-8."""
    return type(value) is int or (isinstance(value, str) and len(value) <= MAX_ID_CHARS and valid_text(value) == value)
