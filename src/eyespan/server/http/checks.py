"""The checks of every request before the SDK sees it, and the limits of every connection.

The SDK's own checks match Host by prefix (`127.0.0.1:1@evil` passes), require no token and wait for slow headers
without limit. The checks here, in their order, with the status of a rejected request:

    400  headers that cannot be parsed              408  headers not complete in 5 s, or the body in 5 more
    421  Host missing, twice, or not on the list    403  Origin not on the list
    431  more than 16 KB of headers (400 when they come in pieces)    404, 405  another path, another method
    401  no token or a wrong one; 429 after five wrong ones in a minute
    415  a body that is not application/json        413  a body of more than 1 MB
    429  more calls per minute than the caller's rate

A connection beyond the limit is closed. Host and Origin are compared as a whole, as they were sent. There are no CORS
headers, so no web page can read an answer.
"""

from __future__ import annotations

import asyncio
import contextlib
from http import HTTPStatus

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from eyespan.server.auth import Caller, OAuthIssuer
from eyespan.server.auth.rate import RateLimiter
from eyespan.server.http.metrics import Metrics
from eyespan.server.options import ServeOptions, is_loopback

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from starlette.applications import Starlette
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from eyespan.context import CallContext
    from eyespan.server.auth import Authenticator

MAX_HEADER_BYTES = 16 * 1024
HEADER_SECONDS = 5.0
MAX_BODY_BYTES = 1024 * 1024
BODY_SECONDS = 5.0
MAX_CONNECTIONS = 256
SEND_SECONDS = 30.0
"""The time that a client has to receive its answer, on top of the deadline of the read."""
MAX_FAILURES = 5
"""Wrong tokens that an address may send per minute before it must wait. A right token never waits."""

ANYONE = Caller("anyone")
"""The caller of every request if no token is required."""
_MCP, _HEALTH, _METRICS = "/mcp", "/healthz", "/metrics"
_WELL_KNOWN = "/.well-known/oauth-protected-resource"


class RequestChecks:
    """The ASGI application around those of the SDK."""

    def __init__(
        self,
        whole: ASGIApp,
        streaming: Starlette,
        *,
        authenticator: Authenticator | None,
        options: ServeOptions,
        port: int,
        metrics: Metrics,
    ) -> None:
        """`whole` answers in one piece, `streaming` with a stream of events, for calls with progress notifications."""
        assert options.http is not None
        self._whole = whole
        self._streaming = streaming
        self._authenticator = authenticator
        self._metrics = metrics
        self._hosts = frozenset(host.lower().encode() for host in allowed_hosts(options, port))
        self._origins = frozenset(origin.lower().encode() for origin in allowed_origins(options, port))
        self._failures = RateLimiter(MAX_FAILURES, MAX_FAILURES)
        self._limiters: dict[int, RateLimiter] = {}
        self._options = options
        self._seconds = options.timeout_seconds + SEND_SECONDS

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            async with self._streaming.router.lifespan_context(self._streaming):
                await self._whole(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        try:
            async with asyncio.timeout(self._seconds):
                body = await self._check(scope, receive)
                if body is None:
                    await self._answer_own_path(scope, send)
                    return
                # Stream only calls with progress: the SDK's client refuses an event of more than 1 MB, which an image
                # easily exceeds, but accepts an answer of that size in one piece.
                app = self._streaming if b'"progressToken"' in body else self._whole
                connection = _Connection(body, receive)
                scope["eyespan.connection"] = connection
                watch = asyncio.create_task(connection.watch())
                try:
                    await app(scope, connection.receive, send)
                finally:
                    watch.cancel()
        except Rejected as rejected:
            self._metrics.count_rejected(rejected.reason)
            await _answer(send, rejected.status, rejected.headers)
        except TimeoutError:
            self._metrics.count_rejected("slow")

    async def _check(self, scope: Scope, receive: Receive) -> bytes | None:
        """Return the body of a request for the SDK; None for a path that is answered here. Raises: Rejected."""
        headers: list[tuple[bytes, bytes]] = scope["headers"]
        if sum(len(name) + len(value) + 4 for name, value in headers) > MAX_HEADER_BYTES:
            raise Rejected(431, "headers")
        host = _values(headers, b"host")
        if len(host) != 1 or host[0].lower() not in self._hosts:
            raise Rejected(421, "host")
        origin = _values(headers, b"origin")
        if origin and (len(origin) != 1 or origin[0].lower() not in self._origins):
            raise Rejected(403, "origin")
        path, method = scope["path"], scope["method"]
        if path == _HEALTH or (path.startswith(_WELL_KNOWN) and isinstance(self._authenticator, OAuthIssuer)):
            if method not in ("GET", "HEAD"):
                raise Rejected(405, "method", allow="GET, HEAD")
            return None if path == _HEALTH else b""
        if path not in (_MCP, _METRICS):
            raise Rejected(404, "path")
        caller = await self._caller(scope, headers)
        scope["eyespan.caller"] = caller
        if path == _METRICS:
            if method not in ("GET", "HEAD"):
                raise Rejected(405, "method", allow="GET, HEAD")
            return None
        if method != "POST":
            # A stateless server sends nothing by itself (GET) and has no sessions to end (DELETE).
            raise Rejected(405, "method", allow="POST")
        kind = _values(headers, b"content-type")
        if len(kind) != 1 or kind[0].partition(b";")[0].strip().lower() != b"application/json":
            raise Rejected(415, "type")
        wait = self._limiter(caller).wait_seconds(caller.name)
        if wait:
            raise Rejected(429, "rate", retry_after=wait)
        return await _read_body(headers, receive)

    async def _caller(self, scope: Scope, headers: list[tuple[bytes, bytes]]) -> Caller:
        if self._authenticator is None:
            return ANYONE
        given = _values(headers, b"authorization")
        kind, _, token = given[0].decode("latin-1").partition(" ") if len(given) == 1 else ("", "", "")
        caller = await self._authenticator.caller(token.strip()) if kind.lower() == "bearer" and token else None
        if caller is not None:
            return caller
        address = scope["client"][0] if scope.get("client") else "socket"
        wait = self._failures.wait_seconds(address)
        if wait:
            raise Rejected(429, "token", retry_after=wait)
        raise Rejected(401, "token", authenticate=self._challenge())

    def _challenge(self) -> str:
        if not isinstance(self._authenticator, OAuthIssuer):
            return "Bearer"
        from mcp.server.auth.routes import build_resource_metadata_url
        from pydantic import AnyHttpUrl

        return f'Bearer resource_metadata="{build_resource_metadata_url(AnyHttpUrl(self._authenticator.resource))}"'

    def _limiter(self, caller: Caller) -> RateLimiter:
        # Workers count separately, so each gets its share of the rate.
        rate = caller.rate or self._options.rate
        if rate not in self._limiters:
            share = rate / self._options.workers
            self._limiters[rate] = RateLimiter(share, max(1.0, share))
        return self._limiters[rate]

    async def _answer_own_path(self, scope: Scope, send: Send) -> None:
        text = "ok\n" if scope["path"] == _HEALTH else self._metrics.text()
        kind = "text/plain; charset=utf-8" if scope["path"] == _HEALTH else "text/plain; version=0.0.4; charset=utf-8"
        await _answer(send, 200, {"content-type": kind}, b"" if scope["method"] == "HEAD" else text.encode())


class Rejected(Exception):
    """A request that fails a check: its status, the reason in the metrics, and headers of the answer."""

    def __init__(
        self, status: int, reason: str, *, allow: str = "", authenticate: str = "", retry_after: float = 0.0
    ) -> None:
        super().__init__(status, reason)
        self.status = status
        self.reason = reason
        self.headers: dict[str, str] = {}
        if allow:
            self.headers["allow"] = allow
        if authenticate:
            self.headers["www-authenticate"] = authenticate
        if retry_after:
            self.headers["retry-after"] = str(int(retry_after) + 1)


def allowed_hosts(options: ServeOptions, port: int) -> set[str]:
    """Return the Host headers that are accepted."""
    assert options.http is not None
    host = options.http[0]
    names = {f"[{host}]" if ":" in host else host}
    if is_loopback(host):
        names |= {"127.0.0.1", "localhost", "[::1]"}
    found = {f"{name}:{port}" for name in names} | set(options.allow_hosts)
    return found | names if port == 80 else found


def allowed_origins(options: ServeOptions, port: int) -> set[str]:
    """Return the Origin headers that are accepted: the configured ones and, on loopback, the server's own."""
    assert options.http is not None
    own = {f"http://{host}" for host in allowed_hosts(options, port)} if is_loopback(options.http[0]) else set()
    return own | {origin.rstrip("/") for origin in options.allow_origins}


def _values(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> list[bytes]:
    return [value for key, value in headers if key == name]


async def _read_body(headers: list[tuple[bytes, bytes]], receive: Receive) -> bytes:
    """Read the body. Raises: Rejected if it is too long or too slow."""
    length = _values(headers, b"content-length")
    if length and (not length[0].isdigit() or int(length[0]) > MAX_BODY_BYTES):
        raise Rejected(413, "length")
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Rejected(400, "slow")
                body += message.get("body", b"")
                if len(body) > MAX_BODY_BYTES:
                    raise Rejected(413, "length")
                if not message.get("more_body", False):
                    return bytes(body)
    except TimeoutError:
        raise Rejected(408, "slow") from None


class _Connection:
    """The receiving side of one request: its body, which was read already, and then the client's disconnect.

    A client that disconnects cancels its reads. The SDK notices this in some of its modes only.
    """

    def __init__(self, body: bytes, receive: Receive) -> None:
        self._body = body
        self._receive = receive
        self._is_body_sent = False
        self._disconnected = asyncio.Event()
        self._contexts: list[CallContext] = []

    def cancel_on_disconnect(self, context: CallContext) -> None:
        """Cancel this read when the client disconnects, or at once if it already has."""
        self._contexts.append(context)
        context.cancelled = context.cancelled or self._disconnected.is_set()

    async def watch(self) -> None:
        """Wait for the disconnect and cancel the reads."""
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._disconnected.set()
        for context in self._contexts:
            context.cancelled = True

    async def receive(self) -> Message:
        """Return the body, then wait for the disconnect. The `receive` of the SDK's application."""
        if not self._is_body_sent:
            self._is_body_sent = True
            return {"type": "http.request", "body": self._body, "more_body": False}
        await self._disconnected.wait()
        return {"type": "http.disconnect"}


async def _answer(send: Send, status: int, headers: dict[str, str], body: bytes | None = None) -> None:
    """Send a short answer. Without a body it is a rejection: the phrase of its status and nothing else."""
    data = f"{HTTPStatus(status).phrase}\n".encode() if body is None else body
    lines = {"content-type": "text/plain; charset=utf-8", **headers, "content-length": str(len(data))}
    if body is None:
        # Do not read what the client sent after a rejected request.
        lines["connection"] = "close"
    raw = [(name.encode(), value.encode()) for name, value in lines.items()]
    with contextlib.suppress(OSError):
        await send({"type": "http.response.start", "status": status, "headers": raw})
        await send({"type": "http.response.body", "body": data})


class LimitedProtocol(H11Protocol):
    """uvicorn's HTTP/1.1, with a deadline for the headers and a limit for the number of connections."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._header_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # uvicorn's signature
        super().connection_made(transport)
        if len(self.connections) > MAX_CONNECTIONS:
            transport.abort()
            return
        self._start_timer()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._update_timer()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._update_timer()

    def _update_timer(self) -> None:
        if self.conn.their_state is not h11.IDLE:
            self._stop_timer()
        elif self.conn.trailing_data[0]:
            # Part of the next request has arrived; the deadline for its headers starts.
            self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def _start_timer(self) -> None:
        if self._header_timer is None:
            self._header_timer = self.loop.call_later(HEADER_SECONDS, self._reject_slow)

    def _stop_timer(self) -> None:
        if self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None

    def _reject_slow(self) -> None:
        if not self.transport.is_closing():
            self.transport.write(b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n")
            self.transport.close()
