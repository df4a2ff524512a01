"""One HTTP/1.1 connection: bytes to requests by httptools, answers and event streams back.

Requests of one connection are answered in their order. A request is checked when its headers are complete, so nothing
of a body is stored for a caller without a token. A rejected request is the last of its connection: the answer is sent,
and bytes that still arrive are read and dropped, since a reset would take the answer from the client.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import httptools

from eyespan.context import CallContext
from eyespan.extras.http import cancellation, checks, eviction, exchange
from eyespan.extras.http.auth import OAuthIssuer
from eyespan.extras.http.call_pool import Call
from eyespan.extras.http.checks import Head, Rejected
from eyespan.extras.http.inbox import Held
from eyespan.extras.http.incoming import Incoming
from eyespan.server import json_lines, messages, protocol
from eyespan.server.progress import throttle
from eyespan.server.protocol import RpcError

if TYPE_CHECKING:
    from eyespan.extras.http.auth import Caller
    from eyespan.extras.http.eviction import Candidate, Phase
    from eyespan.extras.http.http_server import HttpServer


MAX_RAW_BYTES = 8 * checks.MAX_BODY_BYTES
"""Bytes of one request after its headers: the body with the lines of its chunks, and trailers."""
MAX_DROPPED_BYTES = 4 * 1024 * 1024
"""Bytes after a rejected request that are read and dropped."""
SMALL_ANSWER_BYTES = 256 * 1024
"""The pieces of a smaller answer are joined, which saves system calls."""
PING_SECONDS = 15.0
"""The time between two comments on an event stream, which keep proxies from closing it."""
_JSON = b"content-type: application/json\r\n"
_TEXT = b"content-type: text/plain; charset=utf-8\r\n"
_METRICS = b"content-type: text/plain; version=0.0.4; charset=utf-8\r\n"
_EVENTS = b"content-type: text/event-stream\r\ncache-control: no-cache, no-transform\r\nx-accel-buffering: no\r\n"
_WITH_TOKEN = frozenset(("mcp", "metrics", "view", "view call"))
STATUS_LINES = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus}
_OVERLOADED = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
MAX_RECEIVED = 32
"""Requests of one connection that wait for the answer to an earlier one."""


def _no_memory() -> Rejected:
    return Rejected(503, "memory", "the requests of all clients take too much memory", retry_after=1)


class Connection(asyncio.BufferedProtocol):
    """The protocol of one connection. `server` has what all connections share."""

    __slots__ = (
        "_answering", "_cannot_write", "_context", "_dropped_bytes", "_has_answered", "_has_answered_now",
        "_has_events", "_has_token", "_incoming", "_is_deaf", "_is_taking_memory", "_is_upgrade", "_parser", "_ping",
        "_received", "_sending", "_server", "_transport", "address", "is_refused", "phase", "since",
    )  # fmt: skip

    def __init__(self, server: HttpServer) -> None:
        self._server = server
        self._transport: asyncio.Transport
        self._parser: Any = httptools.HttpRequestParser(self)
        self._incoming: Incoming | None = None
        """The request whose bytes arrive."""
        self._received: list[Incoming] = []
        """Requests that wait for the answer to an earlier one of this connection."""
        self._answering: Incoming | None = None
        self._context: CallContext | None = None
        """The context of the running call."""
        self._sending: CallContext | None = None
        """The context of a call whose answer the client has not received yet."""
        self._dropped_bytes = 0
        self._is_upgrade = False
        self._is_deaf = False
        """No further request is read."""
        self._has_events = False
        """The answer is a stream of events, and its header is sent."""
        self._cannot_write = False
        self._ping: asyncio.TimerHandle | None = None
        self._has_answered = False
        self._has_answered_now = False
        """One of the requests that arrived together is answered, or its answer is made."""
        self._is_taking_memory = False
        self._has_token = False
        self.is_refused = False
        self.address = "local"
        self.phase: Phase = "headers"
        self.since = 0.0

    # --- the transport ---------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.set_write_buffer_limits(high=0)
        peer = transport.get_extra_info("peername")
        if isinstance(peer, tuple):
            self.address = peer[0]
        self.since = self._server.now()
        self._server.admit(self)

    def connection_lost(self, error: Exception | None) -> None:
        self._is_deaf = True
        self._parser = None  # it refers to this object
        if self._context is not None:
            self._context.cancelled = True
        self._release_sent()
        self._stop_ping()
        self._release_requests()
        self._server.forget(self)

    def _release_requests(self) -> None:
        """Return the memory of requests; a running call returns that of its own when it ends."""
        running = self._answering if self._context is not None else None
        for incoming in (self._incoming, self._answering, *self._received):
            if incoming is not None and incoming is not running:
                incoming.body.clear()
                incoming.held.release()

    def get_buffer(self, sizehint: int) -> memoryview:
        # One buffer for all connections: it is empty again when `buffer_updated` returns. Without it asyncio allocates
        # 256 KB for each read, which are three system calls and a page fault.
        return self._server.receive_buffer

    def buffer_updated(self, nbytes: int) -> None:
        self.receive(self._server.receive_buffer[:nbytes])

    def receive(self, data: bytes | memoryview) -> None:
        """Take bytes of the client. They are not used after the return."""
        if self._is_deaf:
            self._dropped_bytes += len(data)
            if self._dropped_bytes > MAX_DROPPED_BYTES:
                self._transport.abort()
            return
        before = self._incoming
        self._has_answered_now = False
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._continue_without_upgrade(bytes(data[upgrade.args[0] :]))
            return
        except httptools.HttpParserCallbackError as error:
            self._break_off(error.__context__ or error)
            return
        except httptools.HttpParserError as error:
            self._fail(Rejected(400, "headers", f"not a valid HTTP request: {error}"))
            return
        incoming = self._incoming
        if incoming is None or incoming is not before:
            return
        # All of these bytes belong to one incomplete request. The parser stores headers and trailers that are not
        # complete, so their size is limited here.
        incoming.raw_bytes += len(data)
        if not incoming.has_headers and incoming.raw_bytes > checks.MAX_HEADER_BYTES:
            self._fail(Rejected(431, "headers", f"more than {checks.MAX_HEADER_BYTES} bytes of headers"))
        elif incoming.raw_bytes > MAX_RAW_BYTES:
            self._fail(checks.too_long())

    def pause_writing(self) -> None:
        self._cannot_write = True

    def resume_writing(self) -> None:
        self._cannot_write = False
        self._release_sent()
        if self.phase == "sending":
            self._finish_answer()

    # --- the parser ------------------------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        self._incoming = Incoming(Held(self._server.inbox))
        if self.phase == "idle":
            self._enter("headers")

    def on_url(self, part: bytes) -> None:
        assert self._incoming is not None
        self._incoming.target += part

    def on_header(self, name: bytes, value: bytes) -> None:
        incoming = self._incoming
        if incoming is None or self._is_deaf:
            return  # the rest of a rejected request
        if incoming.has_headers:
            incoming.trailer_bytes += len(name) + len(value) + 4
            if incoming.trailer_bytes > checks.MAX_HEADER_BYTES:
                self._fail(Rejected(431, "headers", f"more than {checks.MAX_HEADER_BYTES} bytes of trailers"))
            return
        incoming.add_header(name, value)

    def on_headers_complete(self) -> None:
        incoming = self._incoming
        if incoming is None or self._is_deaf:
            return
        parser = self._parser
        incoming.has_headers = True
        self._is_upgrade = parser.should_upgrade()
        if self._is_upgrade:
            return
        incoming.method = parser.get_method()
        incoming.version = parser.get_http_version()
        incoming.keeps_alive = parser.should_keep_alive()
        self._check(incoming)

    def on_body(self, part: bytes) -> None:
        incoming = self._incoming
        if incoming is None or self._is_deaf:
            return
        size_bytes = len(incoming.body) + len(part)
        if size_bytes > checks.MAX_BODY_BYTES:
            self._fail(checks.too_long())
        elif not self._hold(incoming, size_bytes):
            self._fail(_no_memory())
        else:
            incoming.body += part

    def on_message_complete(self) -> None:
        incoming = self._incoming
        if incoming is None or self._is_deaf or self._is_upgrade:
            return
        self._incoming = None
        incoming.is_complete = True
        if incoming is not self._answering:  # else its token is being verified
            self._accept(incoming)

    def _continue_without_upgrade(self, rest: bytes) -> None:
        """Parse a request again without its offer of another protocol, which a server may ignore.

        Java's client offers HTTP/2 with its first request. The parser stops after the headers of such a request.
        """
        incoming = self._incoming
        method = self._parser.get_method()
        version = self._parser.get_http_version()
        self._is_upgrade = False
        self._incoming = None
        if incoming is None or method == b"CONNECT" or self._is_deaf:
            self._fail(Rejected(400, "headers", "CONNECT is not supported"))
            return
        lines = [b"%s %s HTTP/%s" % (method, incoming.target, version.encode())]
        if incoming.header_bytes > checks.MAX_HEADER_BYTES:
            self._incoming = incoming
            self._fail(checks.too_many_headers(incoming.header_bytes))
            return
        for name, values in incoming.headers.items():
            if name == b"connection":
                options = [each.strip() for value in values for each in value.split(b",")]
                values = [each for each in options if each.lower() not in (b"upgrade", b"http2-settings")]
            if name not in (b"upgrade", b"http2-settings"):
                lines += [b"%s: %s" % (name, value) for value in values]
        self._parser = httptools.HttpRequestParser(self)
        self.receive(b"\r\n".join(lines) + b"\r\n\r\n" + rest)

    # --- checks ----------------------------------------------------------------------------------------------------

    def _check(self, incoming: Incoming) -> None:
        """Check the headers of a request."""
        server = self._server
        head = incoming.head()
        try:
            incoming.route = checks.check_head(head, server.rules)
            if incoming.route in _WITH_TOKEN:
                token = None if server.authenticator is None else checks.bearer_token(head.headers)
                if token is not None and isinstance(server.authenticator, OAuthIssuer):
                    incoming.unverified = token
                    if self._answering is None and not self._received:
                        self._verify(incoming)
                    return
                self._check_caller(incoming, head, server.caller_of(token))
        except Rejected as rejection:
            self._reject_later(incoming, rejection)
            return
        self._expect_body(incoming)

    def _verify(self, incoming: Incoming) -> None:
        """Check a token of the issuer in a thread, since the issuer's keys may have to be fetched.

        Until then nothing more is read, and later requests of the connection wait.
        """
        assert incoming.unverified is not None
        token, incoming.unverified = incoming.unverified, None
        self._answering = incoming
        self._enter("answering")
        self._transport.pause_reading()
        self._server.verify(token, lambda caller: self._verified(incoming, caller))

    def _verified(self, incoming: Incoming, caller: Caller | None) -> None:
        if self._transport.is_closing():
            return
        if not self._received:
            self._transport.resume_reading()
        try:
            self._check_caller(incoming, incoming.head(), caller)
        except Rejected as rejection:
            self._is_deaf = True
            self._incoming = None
            incoming.rejection = rejection
            incoming.is_complete = True
        if incoming.is_complete:
            self._answer(incoming)
        else:
            self._answering = None
            self._expect_body(incoming)

    def _check_caller(self, incoming: Incoming, head: Head, caller: Caller | None) -> None:
        """Check everything about the headers that depends on the caller. Raises: Rejected."""
        if caller is None:
            raise self._server.wrong_token(self.address, has_token=b"authorization" in head.headers)
        incoming.caller = caller
        self._has_token = True
        checks.check_method(head, incoming.route)
        if incoming.route in ("mcp", "view call"):
            checks.check_type(head.headers)
        if incoming.route != "metrics":
            self._server.check_rate(caller, is_page=incoming.route != "mcp")
            checks.check_length(head.headers)

    def _expect_body(self, incoming: Incoming) -> None:
        if self._answering is None and not self._received and self._incoming is incoming:
            self._enter("body")
            if any(value.lower() == b"100-continue" for value in incoming.headers.get(b"expect", ())):
                self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def _reject_later(self, incoming: Incoming, rejection: Rejected) -> None:
        """Reject a request after the earlier ones of the connection are answered."""
        self._is_deaf = True
        self._incoming = None
        incoming.rejection = rejection
        incoming.is_complete = True
        incoming.body.clear()
        incoming.held.release()
        self._accept(incoming)

    # --- requests --------------------------------------------------------------------------------------------------

    def _accept(self, incoming: Incoming) -> None:
        """Answer a request, after those that arrived before it."""
        if self._answering is None and not self._received and not self._has_answered_now:
            self._has_answered_now = True
            self._answer(incoming)
            return
        # At most one answer each time that bytes arrive: a client that sends many requests at once would keep the
        # event loop from all others.
        if len(self._received) >= MAX_RECEIVED and incoming.rejection is None:
            self._fail(Rejected(429, "rate", f"more than {MAX_RECEIVED} requests of a connection wait", retry_after=1))
            return
        if not self._received and self._answering is None:
            self._enter("answering")
            self._server.loop.call_soon(self._answer_next)
        self._received.append(incoming)
        self._transport.pause_reading()

    def _answer(self, incoming: Incoming) -> None:
        if incoming.unverified is not None:
            self._verify(incoming)
            return
        self._answering = incoming
        self._enter("answering")
        if incoming.rejection is not None:
            self._reject(incoming.rejection)
        elif incoming.route == "mcp":
            self._answer_message(incoming)
        elif incoming.route == "health":
            self._send(200, _TEXT, [b"ok\n"])
        elif incoming.route == "page":
            assert self._server.page is not None
            status, headers, body = self._server.page.find(incoming.target)
            self._send(status, headers, [body])
        elif incoming.route in ("view", "view call"):
            self._answer_page(incoming)
        elif incoming.route == "metrics":
            self._send(200, _METRICS, [self._server.metrics.text().encode()])
        else:
            self._send(200, _JSON, [self._server.metadata])

    def _answer_message(self, incoming: Incoming) -> None:
        server = self._server
        assert incoming.caller is not None
        values = json_lines.count_values(incoming.body)
        message_bytes = json_lines.memory_of(incoming.body, values)
        if values <= json_lines.MAX_VALUES and not self._hold(incoming, len(incoming.body) + message_bytes):
            self._reject_now(incoming, _no_memory())
            return
        try:
            received = exchange.receive(incoming.body, incoming.headers, values)
        except exchange.NotAccepted as refused:
            server.metrics.count_rejected("message")
            self._send(refused.status, _JSON, json_lines.dumps(refused.answer))
            return
        incoming.body.clear()
        incoming.held.set(message_bytes)
        message = received.message
        if server.options.otel and b"traceparent" in incoming.headers and isinstance(message.params, dict):
            meta = message.params.setdefault("_meta", {})
            if isinstance(meta, dict):
                meta.setdefault("traceparent", incoming.headers[b"traceparent"][0].decode("latin-1"))
        caller, is_modern = incoming.caller, received.is_modern
        if message.request_id is None:
            if message.method == "notifications/cancelled" and not is_modern and isinstance(message.params, dict):
                stopped = cancellation.key_of(caller.name, incoming.headers, message.params.get("requestId"))
                if stopped is not None:
                    server.cancellations.cancel(stopped)
            self._send(202, b"", [])
            return
        session = server.services.session(caller, received.version)
        if message.method not in protocol.READING_METHODS:
            answer = messages.answer(session, message, CallContext())
            headers = _JSON
            if message.method == "initialize" and "result" in answer:
                headers += b"mcp-session-id: %s\r\n" % cancellation.new_session()
            pieces = json_lines.dumps(answer)
            if not self._hold(incoming, sum([len(piece) for piece in pieces])):
                self._reject_now(incoming, _no_memory())
                return
            self._send(exchange.status_of(answer, is_modern), headers, pieces)
            return
        on_progress = self._on_progress(message.params) if received.accepts_events else None
        context = CallContext(server.options.timeout_seconds, on_progress, may_block=False)
        self._context = context
        key = None if is_modern else cancellation.key_of(caller.name, incoming.headers, message.request_id)
        if key is not None:
            server.cancellations.add(key, context)
        incoming.headers = {}  # they take more memory than all the rest of a call that waits

        def done(answer: dict[str, Any], pieces: list[bytes]) -> bool:
            incoming.held.release()
            if key is not None:
                server.cancellations.remove(key, context)
            if context.cancelled and received.accepts_events:
                pieces = []  # a cancelled request gets no answer
            return self._finish_call(context, exchange.status_of(answer, is_modern), answer, pieces)

        server.calls.start(Call(message, session, context, done))

    def _answer_page(self, incoming: Incoming) -> None:
        """Answer a request of the page for data."""
        from eyespan.extras.http.page import served

        server = self._server
        assert server.page is not None
        assert server.services.ring is not None
        assert incoming.caller is not None
        headers = server.page.headers + _JSON
        values = json_lines.count_values(incoming.body)
        message_bytes = json_lines.memory_of(incoming.body, values)
        if values <= json_lines.MAX_VALUES and not self._hold(incoming, len(incoming.body) + message_bytes):
            self._reject_now(incoming, _no_memory())
            return
        try:
            message = served.message_of(incoming.target, incoming.body, values)
        except RpcError as error:
            self._send(400, headers, served.body_of(messages.error_answer(0, error)))
            return
        incoming.body.clear()
        session = served.ViewSession(server.services.of(incoming.caller), incoming.caller.name, server.services.ring)
        context = CallContext(server.options.timeout_seconds, may_block=False)
        self._context = context

        def done(answer: dict[str, Any], pieces: list[bytes]) -> bool:
            incoming.held.release()
            if self._context is context and not self._transport.is_closing():
                self._context = None
                self._send(served.status_of(answer), headers, pieces)
            return self._is_sent(context)

        server.calls.start(Call(message, session, context, done, encode=served.body_of))

    def _finish_call(self, context: CallContext, status: int, answer: dict[str, Any], pieces: list[bytes]) -> bool:
        """Send an answer. Returns False if part of it waits for the client; all of `pieces` is taken."""
        if self._context is not context or self._transport.is_closing():
            return True  # the client has disconnected
        self._context = None
        if not pieces:
            self._send_event([], is_last=True)
        elif self._has_events:
            pieces.insert(0, b"event: message\r\ndata: ")
            pieces.append(b"\r\n\r\n")
            self._send_event(pieces, is_last=True)
        elif answer.get("error", {}).get("code") == protocol.BUSY:
            self._send(status, _JSON + b"retry-after: 1\r\n", pieces)
        else:
            self._send(status, _JSON, pieces)
        return self._is_sent(context)

    def _is_sent(self, context: CallContext) -> bool:
        """Return True if nothing waits for the client; otherwise the call pays for it until the client has it."""
        unsent_bytes = 0 if self._transport.is_closing() else self._transport.get_write_buffer_size()
        if not unsent_bytes:
            return True
        context.hold(unsent_bytes)
        self._sending = context
        return False

    def _release_sent(self) -> None:
        if self._sending is not None:
            self._sending.release()
            self._sending = None

    def _on_progress(self, params: dict[str, Any]) -> Callable[[int, int], None] | None:
        token = protocol.progress_token(params)
        if token is None:
            return None
        loop = self._server.loop

        def notify(done_bytes: int, total_bytes: int) -> None:
            loop.call_soon_threadsafe(self._send_progress, token, done_bytes, total_bytes)

        return throttle(notify)

    def _send_progress(self, token: str | int, done_bytes: int, total_bytes: int) -> None:
        if self._context is None or self._transport.is_closing() or self._cannot_write:
            return
        self._send_event(exchange.event(messages.progress(token, done_bytes, total_bytes)))

    # --- answers ---------------------------------------------------------------------------------------------------

    def _send(self, status: int, headers: bytes, pieces: list[bytes]) -> None:
        """Send a whole answer."""
        incoming = self._answering
        assert incoming is not None
        if incoming.method == b"HEAD":
            pieces = []
        size = sum([len(piece) for piece in pieces])
        header = b"%s%scontent-length: %d\r\ndate: %s\r\n%s\r\n" % (
            STATUS_LINES[status],
            headers,
            size,
            self._server.date,
            self._connection_header(incoming),
        )
        pieces.insert(0, header)
        self._write(pieces)
        self._finish_answer()

    def _connection_header(self, incoming: Incoming) -> bytes:
        is_last = incoming.rejection is not None or (self._server.is_stopping and not self._received)
        if is_last or not incoming.keeps_alive:
            incoming.keeps_alive = False
            return b"connection: close\r\n"
        return b"connection: keep-alive\r\n" if incoming.version == "1.0" else b""

    def _send_event(self, pieces: list[bytes], is_last: bool = False) -> None:
        """Send an event; begin the stream with the first one."""
        incoming = self._answering
        assert incoming is not None
        is_chunked = incoming.version != "1.0"
        if not self._has_events:
            self._has_events = True
            incoming.keeps_alive = incoming.keeps_alive and is_chunked
            header = b"%s%s%sdate: %s\r\n%s\r\n" % (
                STATUS_LINES[200],
                _EVENTS,
                b"transfer-encoding: chunked\r\n" if is_chunked else b"",
                self._server.date,
                self._connection_header(incoming),
            )
            self._transport.write(header)
            self._start_ping()
        if is_chunked:
            size = sum([len(piece) for piece in pieces])
            if size:
                pieces.insert(0, b"%x\r\n" % size)
                pieces.append(b"\r\n")
            if is_last:
                pieces.append(b"0\r\n\r\n")
        self._write(pieces)
        if is_last:
            self._stop_ping()
            self._has_events = False
            self._finish_answer()

    def _write(self, pieces: list[bytes]) -> None:
        """Write pieces, and take long ones from the list: the transport may copy them, and two copies are too many."""
        if sum([len(piece) for piece in pieces]) <= SMALL_ANSWER_BYTES:
            self._transport.writelines(pieces)
            return
        pieces.reverse()
        while pieces:
            self._transport.write(pieces.pop())

    def _start_ping(self) -> None:
        self._ping = self._server.loop.call_later(PING_SECONDS, self._send_ping)

    def _stop_ping(self) -> None:
        if self._ping is not None:
            self._ping.cancel()
            self._ping = None

    def _send_ping(self) -> None:
        if not self._transport.is_closing() and not self._cannot_write:
            self._send_event([b": ping\r\n\r\n"])
        self._start_ping()

    def _finish_answer(self) -> None:
        """Go on to the next request when the client has received the answer."""
        if self._transport.is_closing():
            return
        if self._cannot_write:
            self._enter("sending")
            return
        incoming, self._answering = self._answering, None
        self._has_answered = True
        if incoming is not None:
            incoming.held.release()
        if incoming is not None and not incoming.keeps_alive:
            self._close(has_unread=self._is_deaf)
        elif self._received:
            # Not a direct call: answers that take no thread would nest as deep as a client has sent requests.
            self._server.loop.call_soon(self._answer_next)
        elif self._server.is_stopping:
            self._close(has_unread=False)
        elif self._incoming is None:
            self._enter("idle")
        else:
            self._enter("body" if self._incoming.has_headers else "headers")

    def _answer_next(self) -> None:
        if self._answering is not None or not self._received or self._transport.is_closing():
            return
        incoming = self._received.pop(0)
        if not self._received:
            self._transport.resume_reading()
        try:
            self._answer(incoming)
        except Exception as error:
            self._break_off(error)

    def _break_off(self, error: BaseException) -> None:
        """Close the connection after an error of the server itself, such as no memory: its request has no answer."""
        messages.log(error)
        self._transport.abort()

    # --- refusals and the end --------------------------------------------------------------------------------------

    def _fail(self, rejection: Rejected) -> None:
        """Reject bytes that are no request, unless an answer to an earlier request is on its way."""
        if self._is_deaf:
            return
        self._reject_later(self._incoming or Incoming(Held(self._server.inbox)), rejection)

    def _reject_now(self, incoming: Incoming, rejection: Rejected) -> None:
        """Reject the request that is to be answered."""
        incoming.rejection = rejection
        incoming.body.clear()
        incoming.held.release()
        self._reject(rejection)

    def _reject(self, rejection: Rejected) -> None:
        self._is_deaf = True
        self._server.reject(rejection, self.address)
        status = rejection.status
        lines = "".join([f"{name}: {value}\r\n" for name, value in rejection.headers.items()])
        self._send(status, _TEXT + lines.encode(), [f"{HTTPStatus(status).phrase}\n".encode()])

    def _close(self, *, has_unread: bool) -> None:
        """Close after the answer. With `has_unread`, read and drop first what the client still sends."""
        self._is_deaf = True
        for incoming in self._received:
            incoming.held.release()
        self._received.clear()
        if has_unread and self._transport.can_write_eof():
            self._enter("closing")
            self._transport.write_eof()
            self._transport.resume_reading()
        else:
            self._enter("closing")
            self._transport.close()

    def refuse(self) -> None:
        """Answer with 503, because there is no place for this connection."""
        self.is_refused = True
        self._is_deaf = True
        self._server.reject(Rejected(503, "connections", "no place for another connection"), self.address)
        self._transport.write(_OVERLOADED)
        self._close(has_unread=True)

    def make_place(self) -> None:
        """Close an idle connection. A client that waits for its first answer gets 503; others see a usual close."""
        if self._has_answered:
            self._close(has_unread=False)
        else:
            self.refuse()

    def place(self) -> Candidate:
        """Return this connection as it is seen when all places are taken."""
        is_idle = self.phase in ("idle", "headers")
        return eviction.Candidate(
            key=self, address=self.address, idle_since=self.since if is_idle else None, has_token=self._has_token
        )

    def expire(self) -> None:
        """End a connection that was in its phase for too long."""
        if self.phase in ("headers", "body"):
            self._fail(Rejected(408, "slow", f"the {self.phase} took longer than 5 seconds"))
        elif self.phase == "idle":
            self._close(has_unread=False)
        else:
            if self.phase == "sending":
                self._server.metrics.count_rejected("slow")
            self._transport.abort()

    def stop(self, *, is_patient: bool = True) -> None:
        """Close the connection if no request is on its way. A patient stop waits for the first one."""
        is_new = not self._has_answered and self._incoming is None and is_patient
        if self.phase == "idle" or (self.phase == "headers" and self._incoming is None and not is_new):
            self._close(has_unread=False)

    def abort(self) -> None:
        """Close the connection at once."""
        self._transport.abort()

    def _hold(self, incoming: Incoming, size_bytes: int) -> bool:
        """Set the memory of a request. Other connections may be ended for it. Returns False if there is too little."""
        self._is_taking_memory = True
        is_held = incoming.held.set(size_bytes)
        self._is_taking_memory = False
        return is_held

    def waits_with(self) -> int:
        """Return the memory of a request whose body, or the receipt of whose answer, this connection waits for."""
        incoming = {"body": self._incoming, "sending": self._answering}.get(self.phase)
        return 0 if incoming is None or self._is_taking_memory else incoming.held.counted_bytes

    def make_memory(self) -> None:
        """End a connection that waits with much memory, since others need it."""
        if self.phase == "body":
            self._fail(_no_memory())
        else:
            self._server.metrics.count_rejected("slow")
            self._transport.abort()
            if self._answering is not None:
                self._answering.held.release()

    def unsent_bytes(self) -> int:
        """Return the size of the answer that the client has not received."""
        return self._transport.get_write_buffer_size()

    def _enter(self, phase: Phase) -> None:
        self.phase = phase
        self.since = self._server.now()
