"""The door for many: streamable HTTP on the official SDK, stateless, so that any worker answers any request.

`gate` lets requests in, the SDK speaks the protocol of both eras, `protocol` answers. With several workers a small
supervisor holds the socket, starts one process for each and replaces those that end.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import time

from eyespan.context import CallContext, WouldBlock
from eyespan.escape import valid_text
from eyespan.server import auth, protocol, sandboxing
from eyespan.server.http.memory import keep_little
from eyespan.server.options import ServeOptions, Usage
from eyespan.server.protocol import Refused, Service
from eyespan.workspace import Workspace

try:
    import anyio
    import mcp_types
    import uvicorn
    from mcp import MCPError
    from mcp.server.caching import CacheHint
    from mcp.server.lowlevel import Server

    from eyespan.server.http.checks import Gate, SteadyProtocol
    from eyespan.server.http.metrics import Metrics
except ImportError as error:
    raise Usage(f"HTTP needs a part that is not installed ({error.name}): pip install 'eyespan[mcp]'") from None

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from eyespan.guard import Root
    from eyespan.server import WorkspaceFactory
    from eyespan.server.audit import Audit
    from eyespan.server.auth import Caller, Issuer, Tokens

MAX_ANSWER_BYTES = 8 * 1024 * 1024
BUSY_SECONDS = 5.0
"""How long a call waits for its turn when as many run as may."""
PROGRESS_SECONDS = 0.2
KEEP_ALIVE_SECONDS = 15
BACKLOG = 128
QUICK_DEATHS = 5
"""A worker that ends this often within a second of its start will not get better."""


def serve(workspace_factory: WorkspaceFactory, options: ServeOptions) -> int:
    """Serves until the process is told to end; reads in flight are finished first.

    Raises: Usage, OSError, ValueError.
    """
    tokens, where = auth.load(options)
    desks = Desks(workspace_factory, options, tokens)
    listener = _listen(options)
    port = listener.getsockname()[1]
    metrics = Metrics(options.workers)
    host = options.http[0] if options.http is not None else ""
    shown = f"[{host}]" if ":" in host else host
    if options.workers > 1 and not hasattr(os, "fork"):
        raise Usage("--workers needs a system that can fork; start several servers instead")
    told = sandboxing.confine(options, desks.roots, desks.audit)
    sys.stderr.write(f"eyespan serve: http://{shown}:{port}/mcp ({where}); {told}\n")
    if options.no_sandbox:
        sys.stderr.write(f"eyespan serve: {sandboxing.OFF_LINE}\n")
    sys.stderr.flush()
    if options.workers == 1:
        metrics.take_row(0)
        return work(desks, tokens, options, listener, metrics, None)
    return Supervisor(desks, tokens, options, listener, metrics).run()


class Desks:
    """A `Service` for each caller: the common one, or one with the caller's own folders and dialects."""

    def __init__(
        self, workspace_factory: WorkspaceFactory, options: ServeOptions, tokens: Tokens | Issuer | None
    ) -> None:
        """Makes all of them, so that a folder that is not there is told at start."""
        self._options = options
        self.audit: Audit | None = None
        if options.audit is not None:
            from eyespan.server.audit import Audit

            self.audit = Audit(options.audit, options.audit_bytes)
        self._workspace_factory = workspace_factory
        self.common = self._service(workspace_factory(None), options.dialects)
        self._own: dict[str, Service] = {}
        for caller in tokens.callers if tokens is not None else []:
            if caller.roots or caller.dialects:
                workspace = workspace_factory(caller.roots) if caller.roots else self.common.workspace
                self._own[caller.name] = self._service(workspace, caller.dialects or options.dialects)

    @property
    def roots(self) -> list[Root]:
        """Every folder that some caller may read."""
        return [root for service in (self.common, *self._own.values()) for root in service.workspace.roots]

    @property
    def instructions(self) -> str:
        if not self._own:
            return self.common.instructions
        return (
            "Reads files of the folders this token is for; it never writes. Text comes by lines: of a large file ask "
            "for the range you need. Pictures, PDF pages and notebooks come as what they are."
        )

    def of(self, caller: Caller) -> Service:
        return self._own.get(caller.name, self.common)

    def _service(self, workspace: Workspace, dialects: tuple[str, ...]) -> Service:
        options = self._options
        return Service(
            workspace,
            dialects,
            settings=options.settings,
            rich=options.rich,
            audit=self.audit,
            audit_required=options.audit_required,
            max_answer_bytes=MAX_ANSWER_BYTES,
        )


class Bridge:
    """The SDK's handlers: what the SDK has parsed and checked, answered by `protocol` in a thread."""

    def __init__(self, desks: Desks, options: ServeOptions, metrics: Metrics) -> None:
        self._desks = desks
        self._options = options
        self._metrics = metrics
        self._limiter = anyio.CapacityLimiter(options.calls)

    def server(self) -> Server[Any]:
        info = protocol.server_info()
        hints: Any = {method: CacheHint(ttl, "private") for method, ttl in protocol.TTL_MS.items()}
        server: Server[Any] = Server(
            info["name"],
            version=info["version"],
            title=info["title"],
            instructions=self._desks.instructions,
            cache_hints=hints,
        )
        params: dict[str, Any] = {
            "tools/list": mcp_types.PaginatedRequestParams,
            "tools/call": mcp_types.CallToolRequestParams,
            "resources/list": mcp_types.PaginatedRequestParams,
            "resources/templates/list": mcp_types.PaginatedRequestParams,
            "resources/read": mcp_types.ReadResourceRequestParams,
            "completion/complete": mcp_types.CompleteRequestParams,
        }
        for method, kind in params.items():
            server.add_request_handler(method, kind, self._handler(method))
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
        info = protocol.caller_of(meta.get(protocol.CLIENT_KEY)) if isinstance(meta, dict) else ""
        if info:
            name = f"{name} ({info})"
        handler = self._desks.of(caller).handler(method)
        context = CallContext(self._options.timeout_seconds, self._progress(ctx, params), may_block=False)
        ctx.request.scope["eyespan.link"].watch_over(context)
        try:
            if method in protocol.READING_METHODS:
                result = await self._read(lambda: handler(params, name, context), context)
            else:
                result = handler(params, name, context)
        except Refused as refused:
            code = refused.code
            if code == protocol.RESOURCE_NOT_FOUND and ctx.protocol_version in protocol.MODERN_VERSIONS:
                code = protocol.INVALID_PARAMS
            error = refused.as_error()
            raise MCPError(code, error["message"], error.get("data")) from None
        plain: dict[str, Any] = _plain(result)
        if ctx.protocol_version in protocol.MODERN_VERSIONS:
            plain["resultType"] = "complete"
        return plain

    async def _read(self, work: Any, context: CallContext) -> dict[str, Any]:
        """Runs a read in a thread, when it is its turn; giving up stops it at its next block.

        One that may wait for a file system gives its turn back first: no number of them keeps a plain read waiting.
        """
        with anyio.move_on_after(BUSY_SECONDS) as waiting:
            await self._limiter.acquire_on_behalf_of(context)
        if waiting.cancelled_caught:
            self._metrics.turned_away("busy")
            raise Refused(protocol.BUSY, "too many calls at once; try again later")
        start = time.perf_counter()
        verdict, size = "error", 0
        has_turn = True
        self._metrics.add("running", 1)

        def at_once() -> dict[str, Any] | None:
            try:
                found: dict[str, Any] = work()
            except WouldBlock:
                return None
            return found

        try:
            result: dict[str, Any] | None = await anyio.to_thread.run_sync(
                at_once, abandon_on_cancel=True, limiter=anyio.CapacityLimiter(1)
            )
            if result is None:
                self._limiter.release_on_behalf_of(context)
                has_turn = False
                context.may_block = True
                result = await anyio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=anyio.CapacityLimiter(1))
            assert result is not None
            if context.cancelled:  # the caller hung up
                verdict = "cancelled"
            else:
                verdict, size = ("refused", 0) if result.get("isError") else ("read", _size(result))
            return result
        except Refused:
            verdict = "refused"
            raise
        except anyio.get_cancelled_exc_class():
            context.cancelled = True
            verdict = "cancelled"
            raise
        finally:
            if has_turn:
                self._limiter.release_on_behalf_of(context)
            self._metrics.add("running", -1)
            self._metrics.called(verdict, time.perf_counter() - start, size)

    def _progress(self, ctx: Any, params: Mapping[str, Any]) -> Any:
        if protocol.progress_token(params) is None:
            return None
        last = [time.monotonic(), 0]

        def tell(done_bytes: int, total_bytes: int) -> None:
            now = time.monotonic()
            if now - last[0] < PROGRESS_SECONDS or done_bytes <= last[1]:
                return
            last[:] = [now, done_bytes]
            anyio.from_thread.run(ctx.session.report_progress, done_bytes, max(total_bytes, done_bytes))

        return tell


def _plain(value: Any) -> Any:
    """The same with base64 text for bytes, as the SDK wants it."""
    if isinstance(value, (bytes, bytearray)):
        from eyespan.server.json_lines import base64

        return base64(value).decode()
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


def _size(result: Mapping[str, Any]) -> int:
    """The contents in a result, about."""
    size = 0
    for block in [*result.get("content", ()), *result.get("contents", ())]:
        size += sum(len(block[key]) for key in ("text", "data", "blob") if key in block)
    return size


def application(
    desks: Desks, tokens: Tokens | Issuer | None, options: ServeOptions, port: int, metrics: Metrics
) -> Gate:
    """The whole thing as an ASGI application, for those who run it under a server of their own."""
    from mcp.server.transport_security import TransportSecuritySettings

    routes: Any = []
    if isinstance(tokens, auth.Issuer):
        from mcp.server.auth.routes import create_protected_resource_routes
        from pydantic import AnyHttpUrl

        routes = create_protected_resource_routes(
            resource_url=AnyHttpUrl(tokens.resource),
            authorization_servers=[AnyHttpUrl(tokens.issuer)],
            scopes_supported=list(tokens.scopes),
        )
    bridge = Bridge(desks, options, metrics)
    # The gate has compared Host and Origin whole; the SDK would compare them less strictly a second time.
    security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    whole, streaming = [
        bridge.server().streamable_http_app(
            stateless_http=True, json_response=in_one, transport_security=security, custom_starlette_routes=routes
        )
        for in_one in (True, False)
    ]
    return Gate(whole, streaming, tokens, options, port, metrics)


def work(
    desks: Desks,
    tokens: Tokens | Issuer | None,
    options: ServeOptions,
    listener: socket.socket,
    metrics: Metrics,
    parent: int | None,
) -> int:
    """One worker: serves the socket until it is told to end, or until `parent` (a pipe) closes."""
    app = application(desks, tokens, options, listener.getsockname()[1], metrics)
    config = uvicorn.Config(
        app,
        http=SteadyProtocol,
        ws="none",
        lifespan="on",
        log_level="warning",
        access_log=False,
        server_header=False,
        h11_max_incomplete_event_size=16 * 1024,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=int(options.timeout_seconds) + 5,
    )
    server = uvicorn.Server(config)

    async def run() -> None:
        loop = asyncio.get_running_loop()
        keep_little(loop)
        if parent is not None:

            def orphaned() -> None:
                server.should_exit = True
                loop.remove_reader(parent)

            loop.add_reader(parent, orphaned)
        await server.serve(sockets=[listener])

    def end(*_: object) -> None:
        server.should_exit = True

    # Until uvicorn is up it does not listen to signals. When it has finished what was running it raises the signal once
    # more; by then there is nothing left to end.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    anyio.run(run)
    return 0 if server.started else 1


class Supervisor:
    """Holds the socket and the workers: starts them, replaces those that end, and ends them all when told to."""

    def __init__(
        self,
        desks: Desks,
        tokens: Tokens | Issuer | None,
        options: ServeOptions,
        listener: socket.socket,
        metrics: Metrics,
    ) -> None:
        self._work = (desks, tokens, options, listener, metrics)
        self._metrics = metrics
        self._options = options
        self._workers: dict[int, tuple[int, float]] = {}
        """Process id to row and time of start."""
        self._alive = os.pipe()
        self._stopping = False
        self._quick_deaths = 0

    def run(self) -> int:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)
        for row in range(self._options.workers):
            self._start(row)
        while self._workers:
            try:
                pid, status = os.wait()
            except ChildProcessError:
                break
            if pid not in self._workers:
                continue
            row, started = self._workers.pop(pid)
            self._metrics.leave_row(row)
            if self._stopping:
                continue
            sys.stderr.write(f"eyespan serve: worker {pid} ended ({status}); starting another\n")
            self._quick_deaths = self._quick_deaths + 1 if time.monotonic() - started < 1 else 0
            if self._quick_deaths >= QUICK_DEATHS:
                sys.stderr.write("eyespan serve: workers end as soon as they start; giving up\n")
                self._stop()
                continue
            self._start(row)
        return 1 if self._quick_deaths >= QUICK_DEATHS else 0

    def _start(self, row: int) -> None:
        pid = os.fork()
        if pid:
            self._workers[pid] = (row, time.monotonic())
            return
        status = 1
        try:
            os.close(self._alive[1])
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, signal.SIG_DFL)
            self._metrics.take_row(row)
            status = work(*self._work, self._alive[0])
        except BaseException as error:
            sys.stderr.write(f"eyespan serve: worker: {type(error).__name__}: {valid_text(str(error))}\n")
        finally:
            os._exit(status)

    def _stop(self, *_: object) -> None:
        self._stopping = True
        for pid in self._workers:
            try:
                os.kill(pid, signal.SIGTERM)
            except ProcessLookupError:
                pass  # it ended a moment ago


def _listen(options: ServeOptions) -> socket.socket:
    """Raises: OSError, in words that say which address."""
    assert options.http is not None
    host, port = options.http
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named as TCP, or asyncio does not take it for that and leaves out TCP_NODELAY: an answer goes out in two writes,
    # and the second would wait 40 ms for the client to acknowledge the first.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(BACKLOG)
        listener.setblocking(False)
    except OSError as error:
        listener.close()
        raise OSError(error.errno, f"cannot listen on {host}:{port}: {error.strerror or error}") from None
    return listener
