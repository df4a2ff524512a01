"""The socket of one client: its requests in their order, its phase, and its end.

Requests of one connection are answered in their order. A request is checked when its headers are complete, so nothing
of a body is stored for a caller without a token. A rejected request is the last of its connection: the answer is sent,
and bytes that still arrive are read and dropped, since a reset would take the answer from the client.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from eyespan.context import CallContext
from eyespan.errors import log_failure
from eyespan.extras.http import eviction
from eyespan.extras.http.checks import Rejected
from eyespan.extras.http.eviction import Candidate, Phase
from eyespan.extras.http.exchange import Exchange
from eyespan.extras.http.inbox import no_memory
from eyespan.extras.http.incoming import Incoming
from eyespan.extras.http.request_parser import RequestParser

if TYPE_CHECKING:
    from eyespan.extras.http.admission import Verdict
    from eyespan.extras.http.http_server import HttpServer


MAX_DROPPED_BYTES = 4 * 1024 * 1024
"""Bytes after a rejected request that are read and dropped."""
SMALL_ANSWER_BYTES = 256 * 1024
"""The pieces of a smaller answer are joined, which saves system calls."""
MAX_WAITING = 32
"""Requests of one connection that wait for the answer to an earlier one."""
_OVERLOADED = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


class Connection(asyncio.BufferedProtocol):
    """The protocol of one connection. `server` has what all connections share."""

    def __init__(self, server: HttpServer, exchange_class: type[Exchange] = Exchange) -> None:
        self._server = server
        self._exchange_class = exchange_class
        self._transport: asyncio.Transport
        self._parser = RequestParser(self, server.inbox)
        self._exchange: Exchange | None = None
        """The request that is answered, or whose token is verified."""
        self._waiting: list[Incoming] = []
        """Requests that wait for the answer to an earlier one of this connection."""
        self._sending: CallContext | None = None
        """The context of a call whose answer the client has not received yet."""
        self._dropped_bytes = 0
        self._is_deaf = False
        """No further request is read."""
        self._cannot_write = False
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
        self._release_sent()
        if self._exchange is not None:
            self._exchange.abandon()
        for incoming in (self._parser.take(), *self._waiting):
            incoming.release()
        self._server.forget(self)

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
        self._has_answered_now = False
        try:
            self._parser.feed(data)
        except Rejected as rejection:
            self._reject_later(rejection)
        except Exception as error:
            self._break_off(error)

    def pause_writing(self) -> None:
        self._cannot_write = True

    def resume_writing(self) -> None:
        self._cannot_write = False
        self._release_sent()
        if self.phase == "sending":
            self.finish_answer()

    # --- requests --------------------------------------------------------------------------------------------------

    def begin_request(self) -> None:
        """Note the first byte of a request."""
        if self.phase == "idle":
            self._enter("headers")

    def check_headers(self, incoming: Incoming) -> None:
        """Check a request of which the headers are complete. Raises: Rejected."""
        if self._is_deaf:
            return
        self._server.admission.check(incoming, self.address)
        if incoming.unverified is None:
            self._expect_body(incoming)
        elif self._exchange is None and not self._waiting:
            self._verify(incoming)

    def take_request(self, incoming: Incoming) -> None:
        """Answer a complete request, after those that arrived before it. Raises: Rejected."""
        if self._is_deaf:
            incoming.release()
        elif self._exchange is None or incoming is not self._exchange.incoming:  # else its token is being verified
            if len(self._waiting) >= MAX_WAITING:
                incoming.release()
                raise Rejected(429, "rate", f"more than {MAX_WAITING} requests of a connection wait", retry_after=1)
            self._answer_in_order(incoming)

    def _answer_in_order(self, incoming: Incoming) -> None:
        if self._exchange is None and not self._waiting and not self._has_answered_now:
            self._has_answered_now = True
            self._answer(incoming)
            return
        # At most one answer each time that bytes arrive: a client that sends many requests at once would keep the
        # event loop from all others.
        if not self._waiting and self._exchange is None:
            self._enter("answering")
            self._server.loop.call_soon(self._answer_next)
        self._waiting.append(incoming)
        self._transport.pause_reading()

    def _answer_next(self) -> None:
        if self._exchange is not None or not self._waiting or not self.is_open:
            return
        incoming = self._waiting.pop(0)
        if not self._waiting:
            self._transport.resume_reading()
        try:
            self._answer(incoming)
        except Exception as error:
            self._break_off(error)

    def _answer(self, incoming: Incoming) -> None:
        if incoming.unverified is not None:
            self._verify(incoming)
            return
        self._exchange = self._exchange_class(self, self._server, incoming)
        self._enter("answering")
        self._exchange.answer()

    def _verify(self, incoming: Incoming) -> None:
        """Check a token of the issuer. Until then nothing more is read, and later requests of the connection wait."""
        assert incoming.unverified is not None
        token, incoming.unverified = incoming.unverified, None
        self._exchange = self._exchange_class(self, self._server, incoming)
        self._enter("answering")
        self._transport.pause_reading()
        self._server.admission.verify(token, self._server.loop, lambda caller: self._verified(incoming, caller))

    def _verified(self, incoming: Incoming, caller: Verdict) -> None:
        if not self.is_open:
            return
        if not self._waiting:
            self._transport.resume_reading()
        try:
            self._server.admission.check_caller(incoming, caller, self.address)
        except Rejected as rejection:
            self.stop_reading()
            incoming.rejection = rejection
            incoming.is_complete = True
        if incoming.is_complete:
            self._answer(incoming)
        else:
            self._exchange = None
            self._expect_body(incoming)

    def _expect_body(self, incoming: Incoming) -> None:
        self._has_token = self._has_token or incoming.caller is not None
        if self._exchange is None and not self._waiting and self._parser.incoming is incoming:
            self._enter("body")
            if any(value.lower() == b"100-continue" for value in incoming.headers.get(b"expect", ())):
                self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def _reject_later(self, rejection: Rejected) -> None:
        """Reject what arrives, after the earlier requests of the connection are answered."""
        if self._is_deaf:
            return
        incoming = self._parser.take()
        self._is_deaf = True
        incoming.rejection = rejection
        incoming.is_complete = True
        incoming.release()
        self._answer_in_order(incoming)

    def _break_off(self, error: BaseException) -> None:
        """Close the connection after an error of the server itself, such as no memory: its request has no answer."""
        log_failure(error)
        self._transport.abort()

    # --- for the exchange ------------------------------------------------------------------------------------------

    @property
    def is_open(self) -> bool:
        return not self._transport.is_closing()

    @property
    def can_write(self) -> bool:
        """True if the client has received all that was sent."""
        return self.is_open and not self._cannot_write

    def is_ending(self) -> bool:
        """Return True if the server stops and no other request of this connection waits."""
        return self._server.is_stopping and not self._waiting

    def write(self, pieces: list[bytes]) -> None:
        """Write pieces, and take long ones from the list: the transport may copy them, and two copies are too many."""
        if sum([len(piece) for piece in pieces]) <= SMALL_ANSWER_BYTES:
            self._transport.writelines(pieces)
            return
        pieces.reverse()
        while pieces:
            self._transport.write(pieces.pop())

    def hold_unsent(self, context: CallContext) -> bool:
        """Return True if nothing waits for the client; otherwise the call pays for it until the client has it."""
        unsent_bytes = self.unsent_bytes() if self.is_open else 0
        if not unsent_bytes:
            return True
        context.memory.hold(unsent_bytes)
        self._sending = context
        return False

    def _release_sent(self) -> None:
        if self._sending is not None:
            self._sending.memory.release()
            self._sending = None

    def stop_reading(self) -> None:
        """Read no further request."""
        self._is_deaf = True

    def finish_answer(self) -> None:
        """Go on to the next request when the client has received the answer."""
        if not self.is_open:
            return
        if self._cannot_write:
            self._enter("sending")
            return
        assert self._exchange is not None
        answered, self._exchange = self._exchange.incoming, None
        answered.held.release()
        self._has_answered = True
        if not answered.keeps_alive:
            self._close(has_unread=self._is_deaf)
        elif self._waiting:
            # Not a direct call: answers that take no thread would nest as deep as a client has sent requests.
            self._server.loop.call_soon(self._answer_next)
        elif self._server.is_stopping:
            self._close(has_unread=False)
        elif self._parser.incoming is None:
            self._enter("idle")
        else:
            self._enter("body" if self._parser.incoming.has_headers else "headers")

    def hold(self, incoming: Incoming, size_bytes: int) -> bool:
        """Set the memory of a request. Other connections may be ended for it. Returns False if there is too little."""
        self._is_taking_memory = True
        is_held = incoming.held.set(size_bytes)
        self._is_taking_memory = False
        return is_held

    # --- the end ---------------------------------------------------------------------------------------------------

    def _close(self, *, has_unread: bool) -> None:
        """Close after the answer. With `has_unread`, read and drop first what the client still sends."""
        self._is_deaf = True
        for incoming in self._waiting:
            incoming.held.release()
        self._waiting.clear()
        self._enter("closing")
        if has_unread and self._transport.can_write_eof():
            self._transport.write_eof()
            self._transport.resume_reading()
        else:
            self._transport.close()

    def refuse(self) -> None:
        """Answer with 503, because there is no place for this connection."""
        self.is_refused = True
        self._server.reject(Rejected(503, "connections", "no place for another connection"), self.address)
        self._transport.write(_OVERLOADED)
        self._close(has_unread=True)

    def make_place(self) -> None:
        """Close an idle connection. A client that waits for its first answer gets 503; others see a usual close."""
        if self._has_answered:
            self._close(has_unread=False)
        else:
            self.refuse()

    def candidate(self) -> Candidate:
        """Return this connection as it is seen when all places are taken."""
        is_idle = self.phase in ("idle", "headers")
        return eviction.Candidate(
            key=self, address=self.address, idle_since=self.since if is_idle else None, has_token=self._has_token
        )

    def expire(self) -> None:
        """End a connection that was in its phase for too long."""
        if self.phase in ("headers", "body"):
            self._reject_later(Rejected(408, "slow", f"the {self.phase} took longer than 5 seconds"))
        elif self.phase == "idle":
            self._close(has_unread=False)
        else:
            if self.phase == "sending":
                self._server.metrics.count_rejected("slow")
            self._transport.abort()

    def stop(self, *, is_patient: bool = True) -> None:
        """Close the connection if no request is on its way. A patient stop waits for the first one."""
        is_silent = self.phase == "headers" and self._parser.incoming is None
        if self.phase == "idle" or (is_silent and (self._has_answered or not is_patient)):
            self._close(has_unread=False)

    def abort(self) -> None:
        """Close the connection at once."""
        self._transport.abort()

    def waits_with(self) -> int:
        """Return the memory of a request whose body, or the receipt of whose answer, this connection waits for."""
        if self._is_taking_memory:
            return 0
        answered = None if self._exchange is None else self._exchange.incoming
        incoming = {"body": self._parser.incoming, "sending": answered}.get(self.phase)
        return 0 if incoming is None else incoming.held.counted_bytes

    def make_memory(self) -> None:
        """End a connection that waits with much memory, since others need it."""
        if self.phase == "body":
            self._reject_later(no_memory())
            return
        self._server.metrics.count_rejected("slow")
        self._transport.abort()
        if self._exchange is not None:
            self._exchange.incoming.held.release()

    def unsent_bytes(self) -> int:
        """Return the size of the answer that the client has not received."""
        return self._transport.get_write_buffer_size()

    def _enter(self, phase: Phase) -> None:
        self.phase = phase
        self.since = self._server.now()
