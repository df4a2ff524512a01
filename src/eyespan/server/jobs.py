"""The threads of the stdio server.

The thread that reads a request also answers it; before it starts, it lets the next thread read. So a slow read blocks
neither a ping nor its own cancellation, an answer never waits for a thread to wake up, and a second thread exists only
after the first call.
"""

from __future__ import annotations

import time
from _thread import allocate_lock, start_new_thread
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eyespan.context import CallContext, WouldBlock
from eyespan.errors import log_failure
from eyespan.server import mcp_names, messages
from eyespan.server.mcp_names import RpcError
from eyespan.server.messages import Message

if TYPE_CHECKING:
    from eyespan.server.stdio import StdioServer


MAX_THREADS = 9
"""One that reads messages and eight that read files."""
MAX_BLOCKED = 80
"""Calls that wait for a file system in threads of their own. Each thread takes address space, which the server limits;
further calls wait in the thread that has them."""
MAX_WAITING = 256
"""Calls that wait for one of the threads; further calls are refused."""
MAX_HELD_BYTES = 24 << 20
"""The memory of all messages that wait or are answered; a message that needs more must be the only one."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request that reads files, with the context that can cancel it."""

    request_id: str | int
    message: Message
    context: CallContext


@dataclass(frozen=True, slots=True)
class Job:
    """The requests of one message: one request, or those of a batch."""

    requests: list[Request]
    is_batch: bool
    size_bytes: int
    """The memory of the message."""

    def release(self) -> None:
        """Return the memory of the answers: they were sent, or there are none."""
        for request in self.requests:
            request.context.memory.release()


class JobThreads:
    """Reads and answers the jobs of one connection."""

    def __init__(self, source: StdioServer) -> None:
        self._source = source
        self._reading = allocate_lock()
        self._counting = allocate_lock()
        self._threads = 1
        self._busy = 0
        self._blocked = 0
        """Calls that wait for a file system, each in a thread that does not count towards MAX_THREADS."""
        self._waiting: list[Job] = []
        self._has_ended = False
        self.held_bytes = 0
        """The memory of the messages of all jobs."""

    def run(self) -> None:
        """Run until the input ends and every job is answered."""
        self._run_thread()
        while (self._busy or self._blocked) and not self._source.is_broken:
            time.sleep(0.002)

    def _run_thread(self) -> None:
        """Read messages until one has to read files, answer it while the next thread reads, and start again."""
        while True:
            with self._reading:
                job = self.next_job()
                if job is None:
                    return
                with self._counting:
                    self._busy += 1
                    needs_thread = self._busy == self._threads
                    self._threads += needs_thread
                if needs_thread:
                    try:
                        start_new_thread(self._run_thread, ())
                    except RuntimeError:  # no memory for a thread: this one answers first, and then reads on
                        with self._counting:
                            self._threads -= 1
            while job is not None:
                self.run_job(job)
                with self._counting:
                    self.held_bytes -= job.size_bytes
                    if self._waiting:
                        job = self._waiting.pop(0)
                    else:
                        job = None
                        self._busy -= 1

    def next_job(self) -> Job | None:
        """Return a job for this thread; others wait, or are refused if too many do. Returns None at the end."""
        while not self._has_ended:
            job = self._source.read_job()
            if job is None:
                self._has_ended = True
                break
            with self._counting:
                is_full = len(self._waiting) >= MAX_WAITING
                if self.held_bytes and self.held_bytes + job.size_bytes > MAX_HELD_BYTES:
                    is_full = True
                if not is_full:
                    self.held_bytes += job.size_bytes
                    if self._busy < MAX_THREADS - 1:
                        return job
                    self._waiting.append(job)
            if is_full:
                self._source.fail_job(job, RpcError(mcp_names.BUSY, "too many calls are waiting; try again later"))
        return None

    def run_job(self, job: Job) -> None:
        """Answer a job, in another thread if it has to wait for a file system."""
        self._run_safely(job, self._run_or_move)

    def _run_or_move(self, job: Job) -> None:
        try:
            self._source.answer_job(job)
        except WouldBlock:
            # A thread of its own: reads that wait for a file system must not keep other reads waiting. The guard
            # limits their number (`guard.blocking`).
            job.release()
            for request in job.requests:
                request.context.memory.is_held = True
                request.context.may_block = True
            with self._counting:
                self.held_bytes += job.size_bytes  # the thread that returns from here counts it as free
                self._blocked += 1
                has_thread = self._blocked <= MAX_BLOCKED
            try:
                if has_thread:
                    start_new_thread(self._run_blocked, (job,))
            except RuntimeError:  # no more threads
                has_thread = False
            if not has_thread:
                self._run_blocked(job)

    def _run_blocked(self, job: Job) -> None:
        self._run_safely(job, self._source.answer_job)
        with self._counting:
            self.held_bytes -= job.size_bytes
            self._blocked -= 1

    def _run_safely(self, job: Job, run: Callable[[Job], None]) -> None:
        """Run a job. Whatever happens, its requests are answered and the thread goes on."""
        try:
            run(job)
            return
        except Exception as error:
            log_failure(error)
            failure = messages.internal_error(error)
        # The error and all that its frames held are free here, so there is memory for an answer again. A job sends its
        # answers in one piece and at its end, so none of them was sent.
        job.release()
        try:
            self._source.fail_job(job, failure)
        except Exception as error:
            log_failure(error)
