"""The threads of the stdio server, which answer the requests that read files.

One thread reads messages. Each request that reads files waits for one of a few threads, so a slow read blocks neither a
ping nor its own cancellation. A thread starts when all others are busy, and then stays: to start one takes as long as
to answer a small read.
"""

from __future__ import annotations

import time
from _thread import allocate_lock, start_new_thread
from dataclasses import dataclass
from queue import SimpleQueue
from typing import TYPE_CHECKING

from eyespan.context import CallContext, WouldBlock
from eyespan.errors import log_failure
from eyespan.server import mcp_names, messages
from eyespan.server.mcp_names import RpcError
from eyespan.server.messages import Message

if TYPE_CHECKING:
    from eyespan.server.stdio import StdioServer


MAX_THREADS = 8
MAX_BLOCKED = 80
"""Requests that wait for a file system in threads of their own. Each thread takes address space, which the server
limits; further requests wait in the thread that has them."""
MAX_WAITING = 256
"""Requests that wait for one of the threads; further requests are refused."""
MAX_HELD_BYTES = 24 << 20
"""The memory of all messages that wait or are answered; a message that needs more must be the only one."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request that reads files, with the context that can cancel it."""

    request_id: str | int
    message: Message
    context: CallContext
    size_bytes: int = 0
    """The memory of the message."""


class RequestThreads:
    """Answers the requests of one connection."""

    def __init__(self, source: StdioServer) -> None:
        self._source = source
        self._lock = allocate_lock()
        self._threads = 0
        self._unanswered = 0
        """Requests that wait for one of these threads, or have one."""
        self._blocked = 0
        """Requests that wait for a file system, each in a thread that does not count towards MAX_THREADS."""
        self._waiting: SimpleQueue[Request] = SimpleQueue()
        self.held_bytes = 0
        """The memory of the messages of all requests."""

    def run(self) -> None:
        """Run until the input ends and every request is answered."""
        while (request := self._source.read_request()) is not None:
            self.add(request)
        while (self._unanswered or self._blocked) and not self._source.is_broken:
            time.sleep(0.002)

    def add(self, request: Request) -> None:
        """Have a request answered; refuse it if too many wait."""
        with self._lock:
            is_full = bool(self.held_bytes) and self.held_bytes + request.size_bytes > MAX_HELD_BYTES
            is_full = is_full or self._waiting.qsize() >= MAX_WAITING
            needs_thread = not is_full and self._unanswered >= self._threads < MAX_THREADS
            self._threads += needs_thread
            if not is_full:
                self.held_bytes += request.size_bytes
                self._unanswered += 1
                self._waiting.put(request)
        if is_full:
            self._source.fail_request(request, RpcError(mcp_names.BUSY, "too many calls are waiting; try again later"))
        elif needs_thread:
            try:
                start_new_thread(self._answer_waiting, ())
            except RuntimeError:  # no memory for a thread
                with self._lock:
                    self._threads -= 1
                if not self._threads:  # this one answers first, and then reads on
                    self._answer_next()

    def _answer_waiting(self) -> None:
        while True:
            self._answer_next()

    def _answer_next(self) -> None:
        self.answer(self._waiting.get())
        with self._lock:
            self._unanswered -= 1

    def answer(self, request: Request) -> None:
        """Answer a request, in another thread if it has to wait for a file system; whatever happens, it is answered."""
        try:
            if not self._answer_or_move(request):
                return
            failure = None
        except Exception as error:
            log_failure(error)
            failure = messages.internal_error(error)
        if failure is not None:
            # The error and all that its frames held are free here, so there is memory for an answer again. An answer
            # is sent in one piece, so it was not sent.
            request.context.memory.release()
            try:
                self._source.fail_request(request, failure)
            except Exception as error:
                log_failure(error)
        with self._lock:
            self.held_bytes -= request.size_bytes

    def _answer_or_move(self, request: Request) -> bool:
        """Return False if another thread answers the request."""
        try:
            self._source.answer_request(request)
            return True
        except WouldBlock:
            pass
        # A thread of its own: reads that wait for a file system must not keep other reads waiting. The guard limits
        # their number (`guard.blocking`).
        request.context.memory.release()
        request.context.memory.is_held = True
        request.context.may_block = True
        with self._lock:
            has_thread = self._blocked < MAX_BLOCKED
            self._blocked += has_thread
        if has_thread:
            try:
                start_new_thread(self._answer_blocked, (request,))
                return False
            except RuntimeError:  # no more threads
                with self._lock:
                    self._blocked -= 1
        self._source.answer_request(request)
        return True

    def _answer_blocked(self, request: Request) -> None:
        self.answer(request)  # it may block, so it is not moved again
        with self._lock:
            self._blocked -= 1
