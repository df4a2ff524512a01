"""Reads in threads: at most `--calls` at once, others wait; the event loop never waits for a file.

Every read has a thread to itself, since a large file would keep all other connections waiting. A read that may
wait for a file system gives its place to another, so such reads do not delay others; the guard limits their number
(`guard.blocking`). A read that takes long, such as that of a PDF, gives its place up as well. Calls that wait get
places in the order in which they came.
"""

from __future__ import annotations

import time
from _thread import start_new_thread
from collections import Counter, deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from eyespan.context import DEADLINE_SECONDS, CallContext, WouldBlock
from eyespan.errors import log_failure
from eyespan.server import mcp_names, messages
from eyespan.server.json_messages import dumps
from eyespan.server.mcp_names import RpcError
from eyespan.server.messages import Answering, Message

if TYPE_CHECKING:
    import asyncio

    from eyespan.extras.http.metrics import Metrics

Done = Callable[[dict[str, Any], list[bytes]], bool]
Encode = Callable[[dict[str, Any]], list[bytes]]

BUSY_SECONDS = DEADLINE_SECONDS / 2
"""The longest time a call waits while `--calls` others run, if its deadline is not earlier."""

SLOW_SECONDS = 0.5
"""The time after which a call that runs gives its place to another. As many as there are places may do so."""


class PendingCall:
    """One request that reads files.

    `done(answer, pieces)` is called in the event loop. It returns False if part of the answer waits for the client; the
    memory of the call is then released when all of it was sent.
    """

    def __init__(
        self, message: Message, session: Answering, context: CallContext, done: Done, *, encode: Encode = dumps
    ) -> None:
        """`encode` turns an answer into the body of a response; it runs in the thread of the call."""
        self.encode = encode
        self.message = message
        self.session = session
        self.context = context
        context.memory.is_held = True
        self.done = done
        self.answer: dict[str, Any] | None = None
        """The answer; None after a run means that the call would block, or was cancelled before it ran."""
        self.pieces: list[bytes] = []
        self.is_pooled = True
        """The call has a place, or gave it up for being slow; False while it may wait for a file system."""
        self.start = 0.0
        self.waits_since = self.runs_since = 0.0

    def has_waited_too_long(self, now: float) -> bool:
        """Return True if a call that still waits at this time of the event loop is to be refused."""
        seconds = self.context.seconds
        return now - self.waits_since > (BUSY_SECONDS if seconds is None else min(BUSY_SECONDS, seconds))


class CallPool:
    """The calls of one worker. All methods but `_run` run in the event loop."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, max_running: int, metrics: Metrics, *, max_share: int | None = None
    ) -> None:
        """`max_share` is the number of calls of one caller that run at once."""
        self._loop = loop
        self._max_share = max_running if max_share is None else max_share
        self._running_of: Counter[str] = Counter()
        """The running calls of each caller."""
        self._max_running = max_running
        self._metrics = metrics
        self._waiting: deque[PendingCall] = deque()
        """Calls for which there is no thread."""
        self._placed: dict[PendingCall, None] = {}
        """Calls with a place, which run in threads."""
        self._slow = 0
        """Calls that have given their place up, and still run."""
        self._unstarted: dict[PendingCall, None] = {}
        """Calls whose thread has not begun. One that gets no memory ends before its first line, and nothing tells."""
        self._idle = 0
        """Threads that wait for a call: to start one takes as long as a small read."""
        self._calls: SimpleQueue[PendingCall | None] = SimpleQueue()
        """What idle threads take; one that takes None ends."""

    def start(self, call: PendingCall) -> None:
        """Run a call in a thread, or let it wait for one."""
        call.waits_since = self._loop.time()
        self._metrics.add("running", 1)
        self._waiting.append(call)
        self._fill()

    def expire(self, now: float) -> None:
        """Answer the calls that have waited for too long, and try to start the others."""
        while self._waiting and self._waiting[0].has_waited_too_long(now):
            self._metrics.add("running", -1)
            self._refuse(self._waiting.popleft())
        for call in [call for call in self._placed if now - call.runs_since > SLOW_SECONDS]:
            if self._slow < self._max_running:
                self._slow += 1
                self._leave(call)
        for call in list(self._unstarted):
            if now - call.runs_since > BUSY_SECONDS and self._unstarted.pop(call, self) is not self:
                call.context.may_block = True  # it is not started again
                self._finish(call)
        self._fill()

    def _refuse(self, call: PendingCall) -> None:
        self._metrics.count_rejected("busy")
        busy = RpcError(mcp_names.BUSY, "too many concurrent calls; try again later")
        answer = messages.error_answer(call.message.request_id, busy)
        call.done(answer, call.encode(answer))

    def _fill(self) -> None:
        """Run calls that wait."""
        while len(self._placed) < self._max_running and (call := self._first_within_share()) is not None:
            if not self._start_thread(call):
                return  # the call waits for one that runs, or expires
            self._placed[call] = None
            self._running_of[call.session.caller] += 1
            self._waiting.remove(call)

    def _start_thread(self, call: PendingCall) -> bool:
        """Run a call in a thread of its own. Returns False if the system has none left."""
        call.runs_since = self._loop.time()
        self._unstarted[call] = None
        if self._idle:
            self._idle -= 1
            self._calls.put(call)
            return True
        try:
            start_new_thread(self._run, (call,))
        except RuntimeError:
            del self._unstarted[call]
            return False
        return True

    def _first_within_share(self) -> PendingCall | None:
        shares = self._running_of
        return next((call for call in self._waiting if shares[call.session.caller] < self._max_share), None)

    def _run(self, call: PendingCall | None) -> None:
        """Run calls in this thread, until it is not needed any more."""
        while call is not None:
            if self._unstarted.pop(call, self) is not self:  # else it was given up
                call.start = time.perf_counter()
                finish = self._finish
                try:
                    if not call.context.cancelled:
                        _compute(call)
                    finish = self._finish_and_rest
                finally:  # without memory not even the error has an answer
                    with suppress(RuntimeError):  # the loop has ended, and with it the process
                        self._loop.call_soon_threadsafe(finish, call)
            call = None  # an idle thread holds nothing
            call = self._calls.get()

    def _finish_and_rest(self, call: PendingCall) -> None:
        if self._idle < self._max_running:
            self._idle += 1
        else:
            self._calls.put(None)
        self._finish(call)

    def _finish(self, call: PendingCall) -> None:
        if call.is_pooled:
            if call in self._placed:
                self._leave(call)
            else:
                self._slow -= 1
            self._fill()
        if call.context.cancelled:
            call.answer = messages.cancelled(call.message.request_id)
            call.pieces = call.encode(call.answer)
        if call.answer is None:
            is_tried = call.context.may_block
            call.context.may_block = True
            call.is_pooled = False
            if is_tried or not self._start_thread(call):
                self._metrics.add("running", -1)
                self._refuse(call)
            return
        self._metrics.add("running", -1)
        if call.message.method in mcp_names.READING_METHODS:
            self._count(call, call.answer)
        is_sent = call.done(call.answer, call.pieces)
        call.answer, call.pieces = None, []
        if is_sent:
            call.context.memory.release()

    def _leave(self, call: PendingCall) -> None:
        del self._placed[call]
        caller = call.session.caller
        self._running_of[caller] -= 1
        if not self._running_of[caller]:
            del self._running_of[caller]

    def _count(self, call: PendingCall, answer: dict[str, Any]) -> None:
        verdict, size = _verdict(answer, call.context)
        seconds = time.perf_counter() - call.start
        self._metrics.count_call(verdict, seconds, size)
        if call.context.store_requests:
            self._metrics.count_store(call.context.store_requests, call.context.store_bytes)


def _compute(call: PendingCall) -> None:
    """Set the answer of a call and its JSON; nothing if the call would block."""
    try:
        call.answer = messages.answer(call.session, call.message, call.context)
        call.pieces = call.encode(call.answer)
    except WouldBlock:
        call.answer = None
    except Exception as error:  # for example no memory for the answer
        log_failure(error)
        call.answer = messages.error_answer(call.message.request_id, messages.internal_error(error))
        call.pieces = call.encode(call.answer)


def _verdict(answer: Mapping[str, Any], context: CallContext) -> tuple[str, int]:
    """Return the verdict on a call for the metrics, and the size of its contents."""
    if context.cancelled:
        return "cancelled", 0
    if "error" in answer:
        return ("error" if answer["error"]["code"] == mcp_names.INTERNAL_ERROR else "refused"), 0
    result = answer["result"]
    if result.get("isError") or result.get("error"):
        return "refused", 0
    size = 0
    for block in [*result.get("content", ()), *result.get("contents", ())]:
        size += sum([len(block[key]) for key in ("text", "data", "blob") if key in block])
    return "read", size
