"""The handlers that the SDK calls: requests that the SDK parsed and checked, answered by a `Service` in a thread."""

from __future__ import annotations

import time

import anyio
import mcp_types
from mcp import MCPError
from mcp.server.caching import CacheHint
from mcp.server.lowlevel import Server

from eyespan.context import CallContext, WouldBlock
from eyespan.server import json_lines, protocol
from eyespan.server.progress import throttle
from eyespan.server.protocol import RpcError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from eyespan.server.auth import Caller
    from eyespan.server.http.metrics import Metrics
    from eyespan.server.http.services import CallerServices
    from eyespan.server.options import ServeOptions

BUSY_SECONDS = 5.0
"""The longest time a call waits while `--calls` others run."""
PARAMS: dict[str, Any] = {
    "tools/list": mcp_types.PaginatedRequestParams,
    "tools/call": mcp_types.CallToolRequestParams,
    "resources/list": mcp_types.PaginatedRequestParams,
    "resources/templates/list": mcp_types.PaginatedRequestParams,
    "resources/read": mcp_types.ReadResourceRequestParams,
    "completion/complete": mcp_types.CompleteRequestParams,
}
"""The SDK's type of a method's parameters."""


class SdkBridge:
    """Makes servers of the SDK that answer from the services."""

    def __init__(self, services: CallerServices, options: ServeOptions, metrics: Metrics) -> None:
        self._services = services
        self._options = options
        self._metrics = metrics
        self._limiter = anyio.CapacityLimiter(options.calls)

    def server(self) -> Server[Any]:
        """Return a server of the SDK with a handler for each method."""
        info = protocol.server_info()
        hints: Any = {method: CacheHint(ttl, "private") for method, ttl in protocol.TTL_MS.items()}
        server: Server[Any] = Server(
            info["name"],
            version=info["version"],
            title=info["title"],
            instructions=self._services.instructions,
            cache_hints=hints,
        )
        for method, params in PARAMS.items():
            server.add_request_handler(method, params, self._handler(method))
        return server

    def _handler(self, method: str) -> Any:
        async def handle(ctx: Any, _params: Any) -> Any:
            return await self._answer(ctx, method)

        return handle

    async def _answer(self, ctx: Any, method: str) -> dict[str, Any]:
        caller: Caller = ctx.request.scope["eyespan.caller"]
        params: Mapping[str, Any] = ctx.params or {}
        meta = params.get("_meta")
        name = caller.name
        client = protocol.client_name(meta.get(protocol.CLIENT_KEY)) if isinstance(meta, dict) else ""
        if client:
            name = f"{name} ({client})"
        handler = self._services.of(caller).handler(method)
        context = CallContext(self._options.timeout_seconds, self._on_progress(ctx, params), may_block=False)
        ctx.request.scope["eyespan.connection"].cancel_on_disconnect(context)
        try:
            if method in protocol.READING_METHODS:
                result = await self._read(lambda: handler(params, name, context), context)
            else:
                result = handler(params, name, context)
        except RpcError as error:
            code = error.code
            if code == protocol.RESOURCE_NOT_FOUND and ctx.protocol_version in protocol.MODERN_VERSIONS:
                code = protocol.INVALID_PARAMS
            shown = error.as_json()
            raise MCPError(code, shown["message"], shown.get("data")) from None
        answer: dict[str, Any] = _with_base64(result)
        if ctx.protocol_version in protocol.MODERN_VERSIONS:
            answer["resultType"] = "complete"
        return answer

    async def _read(self, read: Callable[[], dict[str, Any]], context: CallContext) -> dict[str, Any]:
        """Run a read in a thread, at most `--calls` at once. Cancelling stops it at its next block.

        A read that may wait for a file system does not count towards that limit while it waits, so such reads do not
        delay others.
        """
        with anyio.move_on_after(BUSY_SECONDS) as waiting:
            await self._limiter.acquire_on_behalf_of(context)
        if waiting.cancelled_caught:
            self._metrics.count_rejected("busy")
            raise RpcError(protocol.BUSY, "too many concurrent calls; try again later")
        start = time.perf_counter()
        verdict, size = "error", 0
        is_counted = True
        self._metrics.add("running", 1)

        def read_without_blocking() -> dict[str, Any] | None:
            try:
                return read()
            except WouldBlock:
                return None

        try:
            result: dict[str, Any] | None = await anyio.to_thread.run_sync(
                read_without_blocking, abandon_on_cancel=True, limiter=anyio.CapacityLimiter(1)
            )
            if result is None:
                self._limiter.release_on_behalf_of(context)
                is_counted = False
                context.may_block = True
                result = await anyio.to_thread.run_sync(read, abandon_on_cancel=True, limiter=anyio.CapacityLimiter(1))
            assert result is not None
            if context.cancelled:  # the caller has disconnected
                verdict = "cancelled"
            else:
                verdict, size = ("refused", 0) if result.get("isError") else ("read", _content_size(result))
            return result
        except RpcError:
            verdict = "refused"
            raise
        except anyio.get_cancelled_exc_class():
            context.cancelled = True
            verdict = "cancelled"
            raise
        finally:
            if is_counted:
                self._limiter.release_on_behalf_of(context)
            self._metrics.add("running", -1)
            self._metrics.count_call(verdict, time.perf_counter() - start, size)

    def _on_progress(self, ctx: Any, params: Mapping[str, Any]) -> Callable[[int, int], None] | None:
        if protocol.progress_token(params) is None:
            return None

        def notify(done_bytes: int, total_bytes: int) -> None:
            anyio.from_thread.run(ctx.session.report_progress, done_bytes, total_bytes)

        return throttle(notify)


def _with_base64(value: Any) -> Any:
    """Return a copy with base64 text in place of bytes, which the SDK cannot write."""
    if isinstance(value, (bytes, bytearray)):
        return json_lines.base64(value).decode()
    if isinstance(value, dict):
        return {key: _with_base64(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_with_base64(item) for item in value]
    return value


def _content_size(result: Mapping[str, Any]) -> int:
    """Return the length of the contents in a result."""
    size = 0
    for block in [*result.get("content", ()), *result.get("contents", ())]:
        size += sum(len(block[key]) for key in ("text", "data", "blob") if key in block)
    return size
