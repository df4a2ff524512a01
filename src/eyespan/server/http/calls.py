"""Reads in threads: at most `--calls` at once, others wait; the event loop never waits for a file.

Every read runs in a thread. A read in the event loop would save 40 us, and would keep all other connections waiting if
its file is large. A read that may wait for a file system moves to a thread of its own and gives its place to another,
so such reads do not delay others; the guard limits their number (`guard.blocking`).
"""

from __future__ import annotations

import time
from _queue import SimpleQueue
from _thread import start_new_thread
from collections import deque

from eyespan.context import WouldBlock
from eyespan.server import json_lines, messages, protocol
from eyespan.server.protocol import RpcError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Mapping
    from typing import Any

    from eyespan.context import CallContext
    from eyespan.server.http.metrics import Metrics
    from eyespan.server.messages import Message
    from eyespan.server.session import Session
    from eyespan.server.telemetry import Telemetry

    Done = Callable[[dict[str, Any], list[bytes]], None]

BUSY_SECONDS = 5.0
"""The longest time a call waits while `--calls` others run."""


class Call:
    """One request that reads files. `done(answer, pieces)` is called in the event loop."""

    __slots__ = ("answer", "context", "done", "has_place", "message", "pieces", "session", "start", "waits_since")

    def __init__(self, message: Message, session: Session, context: CallContext, done: Done) -> None:
        self.message = message
        self.session = session
        self.context = context
        self.done = done
        self.answer: dict[str, Any] | None = None
        """The answer; None after a run means that the call would block."""
        self.pieces: list[bytes] = []
        self.has_place = False
        self.start = 0.0
        self.waits_since = 0.0


class Calls:
    """The calls of one worker. All methods but `_run_thread` and `_run_blocking` run in the event loop."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        max_running: int,
        metrics: Metrics,
        telemetry: Telemetry | None = None,
    ) -> None:
        self._loop = loop
        self._telemetry = telemetry
        self._max_running = max_running
        self._metrics = metrics
        self._waiting: deque[Call] = deque()
        self._running = 0
        self._threads = 0
        self._queue: SimpleQueue[Call] = SimpleQueue()
        self._finished: deque[Call] = deque()
        self._is_waking = False

    def start(self, call: Call) -> None:
        """Run a call in a thread, or let it wait for one."""
        if self._running < self._max_running:
            self._run(call)
        else:
            call.waits_since = self._loop.time()
            self._waiting.append(call)

    def expire(self, now: float) -> None:
        """Answer the calls that have waited for too long."""
        while self._waiting and now - self._waiting[0].waits_since > BUSY_SECONDS:
            call = self._waiting.popleft()
            if call.context.cancelled:
                continue
            self._metrics.count_rejected("busy")
            busy = RpcError(protocol.BUSY, "too many concurrent calls; try again later")
            answer = messages.error_answer(call.message.request_id, busy)
            call.done(answer, json_lines.dumps(answer))

    def _run(self, call: Call) -> None:
        self._running += 1
        call.has_place = True
        call.start = time.perf_counter()
        self._metrics.add("running", 1)
        if self._threads < self._running:
            self._threads += 1
            start_new_thread(self._run_thread, ())
        self._queue.put(call)

    def _run_thread(self) -> None:
        while True:
            call = self._queue.get()
            _compute(call)
            self._post(call)
            del call  # its answer may be large, and the next call may be far away

    def _run_blocking(self, call: Call) -> None:
        _compute(call)
        self._post(call)

    def _post(self, call: Call) -> None:
        """Pass a call back to the event loop, which is woken once for all calls that end in the meantime."""
        self._finished.append(call)
        if not self._is_waking:
            self._is_waking = True
            try:
                self._loop.call_soon_threadsafe(self._collect)
            except RuntimeError:
                pass  # the loop has ended, and with it the process

    def _collect(self) -> None:
        self._is_waking = False
        while self._finished:
            self._finish(self._finished.popleft())

    def _finish(self, call: Call) -> None:
        if call.has_place:
            call.has_place = False
            self._running -= 1
            while self._waiting and self._running < self._max_running:
                waiting = self._waiting.popleft()
                if not waiting.context.cancelled:
                    self._run(waiting)
        if call.answer is None:
            call.context.may_block = True
            try:
                start_new_thread(self._run_blocking, (call,))
                return
            except RuntimeError:  # no more threads
                busy = RpcError(protocol.BUSY, "too many concurrent calls; try again later")
                call.answer = messages.error_answer(call.message.request_id, busy)
                call.pieces = json_lines.dumps(call.answer)
        self._metrics.add("running", -1)
        verdict, size = _verdict(call.answer, call.context)
        seconds = time.perf_counter() - call.start
        self._metrics.count_call(verdict, seconds, size)
        if self._telemetry is not None:
            self._telemetry.record_call(
                call.message.method,
                call.message.params,
                call.session.caller,
                verdict=verdict,
                seconds=seconds,
                size_bytes=size,
            )
        call.done(call.answer, call.pieces)


def _compute(call: Call) -> None:
    """Set the answer of a call and its JSON; nothing if the call would block."""
    try:
        call.answer = messages.answer(call.session, call.message, call.context)
        call.pieces = json_lines.dumps(call.answer)
    except WouldBlock:
        call.answer = None
    except Exception as error:  # for example no memory for the answer
        messages.log(error)
        internal = RpcError(protocol.INTERNAL_ERROR, f"Internal error ({type(error).__name__})")
        call.answer = messages.error_answer(call.message.request_id, internal)
        call.pieces = json_lines.dumps(call.answer)


def _verdict(answer: Mapping[str, Any], context: CallContext) -> tuple[str, int]:
    """Return the verdict on a call for the metrics, and the size of its contents."""
    if context.cancelled:
        return "cancelled", 0
    if "error" in answer:
        return ("error" if answer["error"]["code"] == protocol.INTERNAL_ERROR else "refused"), 0
    result = answer["result"]
    if result.get("isError"):
        return "refused", 0
    size = 0
    for block in [*result.get("content", ()), *result.get("contents", ())]:
        size += sum([len(block[key]) for key in ("text", "data", "blob") if key in block])
    return "read", size
