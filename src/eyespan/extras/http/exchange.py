"""One request and its answer: a call in a thread or an answer at once, as one body or as a stream of events."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeVar

from eyespan.context import CallContext
from eyespan.extras.http import streamable
from eyespan.extras.http.call_pool import PendingCall
from eyespan.extras.http.checks import Rejected
from eyespan.extras.http.inbox import no_memory
from eyespan.extras.http.page import api, served
from eyespan.server import json_messages, mcp_names, messages
from eyespan.server.mcp_names import RpcError
from eyespan.server.messages import Answering, Message
from eyespan.server.progress import throttle

if TYPE_CHECKING:
    from eyespan.extras.http.connection import Connection
    from eyespan.extras.http.http_server import HttpServer
    from eyespan.extras.http.incoming import Incoming

T = TypeVar("T")
Key = tuple[str, bytes, Any]
"""The caller, the session and the id of a request."""

MAX_SESSION_BYTES = 128

PING_SECONDS = 15.0
"""The time between two comments on an event stream, which keep proxies from closing it."""
_JSON = b"content-type: application/json\r\n"
_TEXT = b"content-type: text/plain; charset=utf-8\r\n"
_METRICS = b"content-type: text/plain; version=0.0.4; charset=utf-8\r\n"
_EVENTS = b"content-type: text/event-stream\r\ncache-control: no-cache, no-transform\r\nx-accel-buffering: no\r\n"
_STATUS_LINES = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus}


class Exchange:
    """One request of a connection from the time at which it may be answered to the end of its answer."""

    def __init__(self, connection: Connection, server: HttpServer, incoming: Incoming) -> None:
        self._connection = connection
        self._server = server
        self.incoming = incoming
        self._context: CallContext | None = None
        """The context of the running call."""
        self._has_events = False
        """The answer is a stream of events, and its header is sent."""
        self._ping: asyncio.TimerHandle | None = None

    def answer(self) -> None:
        """Send the answer, or start the call that it needs."""
        incoming, server = self.incoming, self._server
        try:
            if incoming.rejection is not None:
                raise incoming.rejection
            if incoming.route == "mcp":
                self._answer_message()
            elif incoming.route in ("view", "view call"):
                self._answer_page()
            elif incoming.route == "page":
                assert server.page is not None
                status, headers, body = server.page.find(incoming.target)
                self._send(status, headers, [body])
            elif incoming.route == "health":
                self._send(200, _TEXT, [b"ok\n"])
            elif incoming.route == "metrics":
                self._send(200, _METRICS, [server.metrics.text().encode()])
            else:
                self._send(200, _JSON, [server.admission.metadata])
        except Rejected as rejection:
            self._reject(rejection)

    def abandon(self) -> None:
        """End the exchange, because the client has disconnected. A running call returns its memory when it ends."""
        self._stop_ping()
        if self._context is None:
            self.incoming.release()
        else:
            self._context.cancelled = True

    # --- requests --------------------------------------------------------------------------------------------------

    def _answer_message(self) -> None:
        """Answer a message of MCP. Raises: Rejected."""
        incoming, server = self.incoming, self._server
        assert incoming.caller is not None
        try:
            received = self._parse(lambda values: streamable.receive(incoming.body, incoming.headers, values))
        except streamable.NotAccepted as refused:
            server.metrics.count_rejected("message")
            self._send(refused.status, _JSON, json_messages.dumps(refused.answer))
            return
        message, caller, is_modern = received.message, incoming.caller, received.is_modern
        if message.request_id is None:
            if message.method == "notifications/cancelled" and isinstance(message.params, dict):
                key = None if is_modern else self._key(message.params.get("requestId"))
                if key in server.cancellable:
                    server.cancellable[key].cancelled = True
            self._send(202, b"", [])
            return
        session = server.services.session(caller, received.version)
        if message.method not in mcp_names.READING_METHODS:
            answer = messages.answer(session, message, CallContext())
            pieces = json_messages.dumps(answer)
            self._hold(sum([len(piece) for piece in pieces]))
            headers = _JSON
            if message.method == "initialize" and "result" in answer:
                headers += b"mcp-session-id: %s\r\n" % os.urandom(16).hex().encode()
            self._send(streamable.status_of(answer, is_modern), headers, pieces)
            return
        self._call(
            message,
            session,
            headers=_JSON,
            encode=json_messages.dumps,
            status_of=lambda answer: streamable.status_of(answer, is_modern),
            key=None if is_modern else self._key(message.request_id),
            accepts_events=received.accepts_events,
        )

    def _key(self, request_id: Any) -> Key | None:
        """Return the caller, session and id of a request, or None if it belongs to no session.

        The answer to `initialize` names a session at random. It is not stored, and serves only to cancel a request.
        """
        names = self.incoming.headers.get(b"mcp-session-id", [])
        is_known = len(names) == 1 and 0 < len(names[0]) <= MAX_SESSION_BYTES and mcp_names.is_request_id(request_id)
        assert self.incoming.caller is not None
        return (self.incoming.caller.name, names[0], request_id) if is_known else None

    def _answer_page(self) -> None:
        """Answer a request of the page for data. Raises: Rejected."""
        incoming, server = self.incoming, self._server
        assert server.page is not None
        assert incoming.caller is not None
        headers = server.page.headers + _JSON
        try:
            address = incoming.target.decode("latin-1").removeprefix(served.DATA_PREFIX)
            message = self._parse(lambda values: api.message_of(address, incoming.body, values))
        except RpcError as error:
            self._send(400, headers, api.body_of(messages.error_answer(0, error)))
            return
        session = server.services.page(incoming.caller)
        self._call(message, session, headers=headers, encode=api.body_of, status_of=api.status_of)

    def _parse(self, parse: Callable[[int], T]) -> T:
        """Return what `parse(values)` makes of the body, which is then free. Raises: Rejected, and what it raises."""
        incoming = self.incoming
        values = json_messages.count_values(incoming.body)
        message_bytes = json_messages.memory_of(incoming.body, values)
        if values <= json_messages.MAX_VALUES:
            self._hold(len(incoming.body) + message_bytes)
        parsed = parse(values)
        incoming.body.clear()
        incoming.held.set(message_bytes)
        return parsed

    def _hold(self, size_bytes: int) -> None:
        if not self._connection.hold(self.incoming, size_bytes):
            raise no_memory()

    def _call(
        self,
        message: Message,
        session: Answering,
        *,
        headers: bytes,
        encode: Callable[[dict[str, Any]], list[bytes]],
        status_of: Callable[[Mapping[str, Any]], int],
        key: Key | None = None,
        accepts_events: bool = False,
    ) -> None:
        """Start a call in a thread. `key` is that of a notification which cancels it."""
        server, connection, incoming = self._server, self._connection, self.incoming
        on_progress = self._on_progress(message.params) if accepts_events else None
        context = self._context = CallContext(server.options.timeout_seconds, on_progress, may_block=False)
        if key is not None:
            server.cancellable[key] = context
        incoming.headers = {}  # they take more memory than all the rest of a call that waits

        def done(answer: dict[str, Any], pieces: list[bytes]) -> bool:
            incoming.held.release()
            self._context = None
            if key is not None and server.cancellable.get(key) is context:
                del server.cancellable[key]
            if not connection.is_open:
                return True
            if context.cancelled and accepts_events:
                self._send_event([], is_last=True)  # a cancelled request gets no answer
            elif self._has_events:
                event = streamable.event(pieces)
                pieces.clear()
                self._send_event(event, is_last=True)
            else:
                is_busy = answer.get("error", {}).get("code") == mcp_names.BUSY
                self._send(status_of(answer), headers + (b"retry-after: 1\r\n" if is_busy else b""), pieces)
            return connection.hold_unsent(context)

        server.calls.start(PendingCall(message, session, context, done, encode=encode))

    def _on_progress(self, params: dict[str, Any]) -> Callable[[int, int], None] | None:
        token = mcp_names.progress_token(params)
        if token is None:
            return None
        loop = self._server.loop

        def notify(done_bytes: int, total_bytes: int) -> None:
            loop.call_soon_threadsafe(self._send_progress, token, done_bytes, total_bytes)

        return throttle(notify)

    # --- answers ---------------------------------------------------------------------------------------------------

    def _send(self, status: int, headers: bytes, pieces: list[bytes]) -> None:
        """Send a whole answer, and take long pieces from the list."""
        if self.incoming.method == b"HEAD":
            pieces = []
        size = sum([len(piece) for piece in pieces])
        pieces.insert(0, self._header(status, headers + b"content-length: %d\r\n" % size))
        self._connection.write(pieces)
        self._connection.finish_answer()

    def _header(self, status: int, headers: bytes) -> bytes:
        incoming = self.incoming
        if incoming.rejection is not None or self._connection.is_ending():
            incoming.keeps_alive = False
        is_kept = incoming.keeps_alive and incoming.version == "1.0"
        last = b"connection: keep-alive\r\n" if is_kept else b"" if incoming.keeps_alive else b"connection: close\r\n"
        return b"%s%sdate: %s\r\n%s\r\n" % (_STATUS_LINES[status], headers, self._server.date, last)

    def _reject(self, rejection: Rejected) -> None:
        """Reject the request. No other request of the connection is read."""
        self.incoming.rejection = rejection
        self.incoming.release()
        self._connection.stop_reading()
        self._server.reject(rejection, self._connection.address)
        lines = "".join([f"{name}: {value}\r\n" for name, value in rejection.headers.items()])
        text = f"{HTTPStatus(rejection.status).phrase}\n"
        self._send(rejection.status, _TEXT + lines.encode(), [text.encode()])

    def _send_event(self, pieces: list[bytes], is_last: bool = False) -> None:
        """Send an event; begin the stream with the first one."""
        incoming = self.incoming
        is_chunked = incoming.version != "1.0"
        if not self._has_events:
            self._has_events = True
            incoming.keeps_alive = incoming.keeps_alive and is_chunked
            coding = b"transfer-encoding: chunked\r\n" if is_chunked else b""
            self._connection.write([self._header(200, _EVENTS + coding)])
            self._start_ping()
        if is_chunked:
            size = sum([len(piece) for piece in pieces])
            if size:
                pieces.insert(0, b"%x\r\n" % size)
                pieces.append(b"\r\n")
            if is_last:
                pieces.append(b"0\r\n\r\n")
        self._connection.write(pieces)
        if is_last:
            self._stop_ping()
            self._connection.finish_answer()

    def _send_progress(self, token: str | int, done_bytes: int, total_bytes: int) -> None:
        if self._context is not None and self._connection.can_write:
            notification = messages.progress(token, done_bytes, total_bytes)
            self._send_event(streamable.event(json_messages.dumps(notification)))

    def _start_ping(self) -> None:
        self._ping = self._server.loop.call_later(PING_SECONDS, self._send_ping)

    def _stop_ping(self) -> None:
        if self._ping is not None:
            self._ping.cancel()
            self._ping = None

    def _send_ping(self) -> None:
        if self._connection.can_write:
            self._send_event([b": ping\r\n\r\n"])
        self._start_ping()
