"""One connection to a client: the revision in use, and the results of its requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from eyespan.context import CallContext
from eyespan.server.mcp_names import (
    CAPABILITIES,
    CAPABILITIES_KEY,
    CLIENT_KEY,
    COMMON_METHODS,
    HANDSHAKE_VERSIONS,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    MODERN_VERSIONS,
    RESOURCE_NOT_FOUND,
    SERVER_KEY,
    TTL_MS,
    UNSUPPORTED_VERSION,
    VERSION_KEY,
    RpcError,
    client_name,
    server_info,
)

if TYPE_CHECKING:
    from eyespan.server.service import Handler, Service


class Session:
    """One connection. `caller` names the client in the audit log until the client names itself.

    `holder` is the holder of the token over HTTP, who is named before the client. Over HTTP a session lasts for one
    request, so its `version` is the one that the request names.
    """

    def __init__(self, service: Service, caller: str = "", *, holder: str = "", version: str | None = None) -> None:
        self.service = service
        self.version = version
        """The revision of the handshake, or None before it."""
        self.holder = holder
        self.caller = caller or holder
        self.capabilities = CAPABILITIES
        self.lasting: Mapping[str, Handler] = {}
        """Methods of a connection that outlasts its requests, with their handlers."""

    def answer(self, method: str, params: Mapping[str, Any], context: CallContext) -> dict[str, Any]:
        """Return the result of one request. Raises: RpcError, and WouldBlock if the context may not block."""
        meta = params.get("_meta")
        if method != "initialize" and isinstance(meta, dict) and VERSION_KEY in meta:
            return self._answer_modern(method, params, meta, context)
        if method == "initialize":
            if isinstance(meta, dict) and VERSION_KEY in meta and "protocolVersion" not in params:
                raise RpcError(METHOD_NOT_FOUND, "Method not found", method)  # the envelope's revision has no handshake
            return self._initialize(params)
        if method == "ping":
            return {}
        if method == "server/discover":
            raise RpcError(INVALID_PARAMS, f"params._meta lacks {VERSION_KEY} and {CAPABILITIES_KEY}")
        handler = self._handler(method, "resources/")
        if self.version is None:
            raise RpcError(INVALID_PARAMS, f"send initialize first, or {VERSION_KEY} in params._meta")
        return handler(params, self.caller, context)

    def _handler(self, method: str, lasting: str) -> Handler:
        """Return the handler of a method; `lasting` starts those that need a connection. Raises: RpcError."""
        if method in self.lasting and method.startswith(lasting):
            return self.lasting[method]
        if method not in COMMON_METHODS:
            raise RpcError(METHOD_NOT_FOUND, "Method not found", method)
        return self.service.handler(method)

    def named(self, text: str) -> str:
        """Return the name of a client of this session's holder. Transports with several holders replace this."""
        return text

    def _initialize(self, params: Mapping[str, Any]) -> dict[str, Any]:
        asked = params.get("protocolVersion")
        if not isinstance(asked, str):
            raise RpcError(INVALID_PARAMS, "protocolVersion must be a string")
        self.version = asked if asked in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1]
        self.caller = self._named(params.get("clientInfo"))
        return {
            "protocolVersion": self.version,
            "capabilities": self.capabilities,
            "serverInfo": server_info(),
            "instructions": self.service.instructions,
        }

    def _named(self, client_info: Any) -> str:
        """Return the name of the caller for the audit log."""
        name = client_name(client_info)
        if not name:
            return self.caller
        return self.named(f"{self.holder} ({name})") if self.holder else name

    def _answer_modern(
        self, method: str, params: Mapping[str, Any], meta: Mapping[str, Any], context: CallContext
    ) -> dict[str, Any]:
        """Answer a request that carries its own envelope."""
        version = meta[VERSION_KEY]
        if CAPABILITIES_KEY not in meta:
            raise RpcError(INVALID_PARAMS, f"params._meta lacks {CAPABILITIES_KEY}")
        if not isinstance(version, str):
            raise RpcError(INVALID_PARAMS, f"{VERSION_KEY} must be a string")
        if version not in MODERN_VERSIONS:
            data = {"supported": list(MODERN_VERSIONS), "requested": version}
            raise RpcError(UNSUPPORTED_VERSION, "Unsupported protocol version", data)
        if method == "server/discover":
            result: dict[str, Any] = {
                "supportedVersions": list(MODERN_VERSIONS),
                "capabilities": self.capabilities,
                "instructions": self.service.instructions,
            }
        else:
            handler = self._handler(method, "subscriptions/")
            try:
                result = handler(params, self._named(meta.get(CLIENT_KEY)), context)
            except RpcError as error:
                if error.code == RESOURCE_NOT_FOUND:  # this revision has no such code
                    error.code = INVALID_PARAMS
                raise
        return _as_modern(result, method)


def _as_modern(result: dict[str, Any], method: str) -> dict[str, Any]:
    """Add to a result what the revisions without a handshake have."""
    result["resultType"] = "complete"
    if method in TTL_MS:
        result |= {"ttlMs": TTL_MS[method], "cacheScope": "private"}
    result["_meta"] = {**result.get("_meta", {}), SERVER_KEY: server_info()}
    return result
