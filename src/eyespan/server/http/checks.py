"""What a request has to pass before the SDK sees a byte of it, and the socket rules below that.

The SDK's own checks match Host by prefix (`127.0.0.1:1@evil` passes), ask for no token and wait for slow headers
without end. So, in this order, each with its own answer:

    400  headers that cannot be parsed              408  headers not complete in 5 s, or the body in 5 more
    421  Host missing, twice, or not on the list    403  Origin not on the list
    431  more than 16 KB of headers (400 when they come in pieces)    404, 405  another path, another method
    401  no token or a wrong one; 429 after five wrong ones in a minute
    415  a body that is not application/json        413  a body of more than 1 MB
    429  more calls a minute than this caller may   503  too many connections

Host and Origin are compared whole, as they were sent. There are no CORS headers, so no page can read an answer.
"""

from __future__ import annotations

import asyncio
import contextlib
from http import HTTPStatus

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from eyespan.server.auth import FREE_FAILURES, Caller, Issuer, Meter, Tokens
from eyespan.server.http.metrics import Metrics
from eyespan.server.options import ServeOptions, is_loopback

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from starlette.applications import Starlette
    from starlette.types import Message, Receive, Scope, Send

    from eyespan.context import CallContext

MAX_HEADER_BYTES = 16 * 1024
HEADER_SECONDS = 5.0
MAX_BODY_BYTES = 1024 * 1024
BODY_SECONDS = 5.0
MAX_CONNECTIONS = 256
SEND_SECONDS = 30.0
"""How long a reader may take for its answer, beyond the time the read itself may take."""

NO_AUTH = Caller("anyone")
_MCP, _HEALTH, _METRICS = "/mcp", "/healthz", "/metrics"
_WELL_KNOWN = "/.well-known/oauth-protected-resource"


class Gate:
    """The ASGI application around the SDK's."""

    def __init__(
        self,
        app: Starlette,
        streaming: Starlette,
        tokens: Tokens | Issuer | None,
        options: ServeOptions,
        port: int,
        metrics: Metrics,
    ) -> None:
        """`app` answers in one piece, `streaming` as a stream of events, for calls that want to hear of progress."""
        assert options.http is not None
        self._app = app
        self._streaming = streaming
        self._tokens = tokens
        self._metrics = metrics
        self._hosts = frozenset(host.lower().encode() for host in hosts(options, port))
        self._origins = frozenset(origin.lower().encode() for origin in origins(options, port))
        self._failures = Meter(FREE_FAILURES, FREE_FAILURES)
        self._meters: dict[int, Meter] = {}
        self._options = options
        self._seconds = options.timeout_seconds + SEND_SECONDS

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            async with self._streaming.router.lifespan_context(self._streaming):
                await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        try:
            async with asyncio.timeout(self._seconds):
                body = await self._admit(scope, receive)
                if body is None:
                    await self._own(scope, send)
                    return
                # An event of more than 1 MB is refused by the SDK's own client, and a picture is soon as big; an answer
                # in one piece is not. So a stream only where there is something to stream.
                app = self._streaming if b'"progressToken"' in body else self._app
                link = _Link(body, receive)
                scope["eyespan.link"] = link
                watch = asyncio.create_task(link.watch())
                try:
                    await app(scope, link.receive, send)
                finally:
                    watch.cancel()
        except Turned as turned:
            self._metrics.turned_away(turned.reason)
            await _answer(send, turned.status, turned.headers)
        except TimeoutError:
            self._metrics.turned_away("slow")

    async def _admit(self, scope: Scope, receive: Receive) -> bytes | None:
        """The body of a request to the SDK; None for a path of our own.

        Raises: Turned.
        """
        headers: list[tuple[bytes, bytes]] = scope["headers"]
        if sum(len(name) + len(value) + 4 for name, value in headers) > MAX_HEADER_BYTES:
            raise Turned(431, "headers")
        host = _all(headers, b"host")
        if len(host) != 1 or host[0].lower() not in self._hosts:
            raise Turned(421, "host")
        origin = _all(headers, b"origin")
        if origin and (len(origin) != 1 or origin[0].lower() not in self._origins):
            raise Turned(403, "origin")
        path, method = scope["path"], scope["method"]
        if path == _HEALTH or (path.startswith(_WELL_KNOWN) and isinstance(self._tokens, Issuer)):
            if method not in ("GET", "HEAD"):
                raise Turned(405, "method", allow="GET, HEAD")
            return None if path == _HEALTH else b""
        if path not in (_MCP, _METRICS):
            raise Turned(404, "path")
        caller = await self._caller(scope, headers)
        scope["eyespan.caller"] = caller
        if path == _METRICS:
            if method not in ("GET", "HEAD"):
                raise Turned(405, "method", allow="GET, HEAD")
            return None
        if method != "POST":
            # A stateless server has nothing to say unasked and no session to end, so no GET and no DELETE.
            raise Turned(405, "method", allow="POST")
        kind = _all(headers, b"content-type")
        if len(kind) != 1 or kind[0].partition(b";")[0].strip().lower() != b"application/json":
            raise Turned(415, "type")
        wait = self._meter(caller).wait_seconds(caller.name)
        if wait:
            raise Turned(429, "rate", retry_after=wait)
        return await _body(headers, receive)

    async def _caller(self, scope: Scope, headers: list[tuple[bytes, bytes]]) -> Caller:
        if self._tokens is None:
            return NO_AUTH
        given = _all(headers, b"authorization")
        kind, _, token = given[0].decode("latin-1").partition(" ") if len(given) == 1 else ("", "", "")
        caller = await self._tokens.caller(token.strip()) if kind.lower() == "bearer" and token else None
        if caller is not None:
            return caller
        address = scope["client"][0] if scope.get("client") else "socket"
        wait = self._failures.wait_seconds(address)
        if wait:
            raise Turned(429, "token", retry_after=wait)
        raise Turned(401, "token", authenticate=self._challenge())

    def _challenge(self) -> str:
        if not isinstance(self._tokens, Issuer):
            return "Bearer"
        from mcp.server.auth.routes import build_resource_metadata_url
        from pydantic import AnyHttpUrl

        return f'Bearer resource_metadata="{build_resource_metadata_url(AnyHttpUrl(self._tokens.resource))}"'

    def _meter(self, caller: Caller) -> Meter:
        # Each worker counts for itself, so each gets its share.
        rate = caller.rate or self._options.rate
        if rate not in self._meters:
            share = rate / self._options.workers
            self._meters[rate] = Meter(share, max(1.0, share))
        return self._meters[rate]

    async def _own(self, scope: Scope, send: Send) -> None:
        text = "ok\n" if scope["path"] == _HEALTH else self._metrics.text()
        kind = "text/plain; charset=utf-8" if scope["path"] == _HEALTH else "text/plain; version=0.0.4; charset=utf-8"
        await _answer(send, 200, {"content-type": kind}, b"" if scope["method"] == "HEAD" else text.encode())


class Turned(Exception):
    """A request that goes no further."""

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


def hosts(options: ServeOptions, port: int) -> set[str]:
    """The Host headers that are ours, whole."""
    assert options.http is not None
    host = options.http[0]
    names = {f"[{host}]" if ":" in host else host}
    if is_loopback(host):
        names |= {"127.0.0.1", "localhost", "[::1]"}
    found = {f"{name}:{port}" for name in names} | set(options.allow_hosts)
    return found | names if port == 80 else found


def origins(options: ServeOptions, port: int) -> set[str]:
    """The Origin headers that are taken: those asked for and, on loopback, the server's own."""
    assert options.http is not None
    own = {f"http://{host}" for host in hosts(options, port)} if is_loopback(options.http[0]) else set()
    return own | {origin.rstrip("/") for origin in options.allow_origins}


def _all(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> list[bytes]:
    return [value for key, value in headers if key == name]


async def _body(headers: list[tuple[bytes, bytes]], receive: Receive) -> bytes:
    """Raises: Turned, when it is too long or too slow."""
    length = _all(headers, b"content-length")
    if length and (not length[0].isdigit() or int(length[0]) > MAX_BODY_BYTES):
        raise Turned(413, "length")
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Turned(400, "slow")
                body += message.get("body", b"")
                if len(body) > MAX_BODY_BYTES:
                    raise Turned(413, "length")
                if not message.get("more_body", False):
                    return bytes(body)
    except TimeoutError:
        raise Turned(408, "slow") from None


class _Link:
    """The rest of one request: its body, given once more, and whether the caller is still there.

    A caller that hangs up cancels its reads. The SDK notices it in some of its ways to answer only, so it is done here.
    """

    def __init__(self, body: bytes, receive: Receive) -> None:
        self._body = body
        self._receive = receive
        self._given = False
        self._gone = asyncio.Event()
        self._pulses: list[CallContext] = []

    def watch_over(self, context: CallContext) -> None:
        """Takes the context of a read for this request, which may start after the caller has gone."""
        self._pulses.append(context)
        context.cancelled = context.cancelled or self._gone.is_set()

    async def watch(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._gone.set()
        for context in self._pulses:
            context.cancelled = True

    async def receive(self) -> Message:
        if not self._given:
            self._given = True
            return {"type": "http.request", "body": self._body, "more_body": False}
        await self._gone.wait()
        return {"type": "http.disconnect"}


async def _answer(send: Send, status: int, headers: dict[str, str], body: bytes | None = None) -> None:
    """A short answer. A refusal says no more than the words of its status."""
    data = f"{HTTPStatus(status).phrase}\n".encode() if body is None else body
    lines = {"content-type": "text/plain; charset=utf-8", **headers, "content-length": str(len(data))}
    if body is None:
        # What was sent behind a refused request is not worth reading.
        lines["connection"] = "close"
    raw = [(name.encode(), value.encode()) for name, value in lines.items()]
    with contextlib.suppress(OSError):
        await send({"type": "http.response.start", "status": status, "headers": raw})
        await send({"type": "http.response.body", "body": data})


class SteadyProtocol(H11Protocol):
    """uvicorn's HTTP/1.1 with a clock on the headers and an upper bound on connections."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._header_clock: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        if len(self.connections) > MAX_CONNECTIONS:
            transport.abort()
            return
        self._start_clock()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._set_clock()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._set_clock()

    def _set_clock(self) -> None:
        if self.conn.their_state is not h11.IDLE:
            self._stop_clock()
        elif self.conn.trailing_data[0]:
            # Part of the next request is here, and the rest may take no longer than the whole would have.
            self._start_clock()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_clock()
        super().connection_lost(exc)

    def _start_clock(self) -> None:
        if self._header_clock is None:
            self._header_clock = self.loop.call_later(HEADER_SECONDS, self._too_slow)

    def _stop_clock(self) -> None:
        if self._header_clock is not None:
            self._header_clock.cancel()
            self._header_clock = None

    def _too_slow(self) -> None:
        if not self.transport.is_closing():
            self.transport.write(b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n")
            self.transport.close()
