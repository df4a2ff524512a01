"""Work on file systems that may never respond, done in threads that the caller can abandon.

A system call on a dead network mount or a hung FUSE mount does not return, and nothing can cancel it. So everything
that may touch one runs in a thread while the caller waits, at most until its deadline. An abandoned thread counts as
stuck until its call returns; then it closes what it opened and drops its result. Work is never started for a call that
has ended: neither in a thread that the system starts late, nor in one that becomes free after the deadline.

    `MAX_STUCK` threads stuck on one mount    the next call raises `Stuck` at once; other mounts are not affected
    `MAX_RUNNING` threads on one mount        the next call waits for its turn, or its deadline
    `MAX_THREADS` threads in all              the same; if all of them are stuck, `Stuck` at once
    `MAX_WAITING` calls waiting               `Stuck` at once

Closing a file is never refused (`close_within`): it waits for a thread without its caller.

The mount is guessed from the path (`mounts.mount_of`).

Not promised: that the process can end. A thread that waits for a FUSE server cannot be killed, and its process exists
until the server responds or the mount is removed (`mounts.before_waiting` is the way around that).
"""

from __future__ import annotations

import os
from _thread import LockType, allocate_lock, start_new_thread
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from eyespan.context import CallContext
from eyespan.errors import Cancelled, ReadError, Stuck, TimedOut
from eyespan.guard import mounts

T = TypeVar("T")

MAX_STUCK = MAX_RUNNING = 8
"""Per mount. A stuck thread holds about 20 KB of memory until the mount responds or is removed."""
MAX_THREADS = 64
MAX_WAITING = 128
_SILENT_SECONDS = 1.0
"""A thread that was at work within this time before the deadline is slow; any other waits for its file system."""
RETURN_SECONDS = 0.3
"""The time after the deadline for a thread at work to return, if it holds memory."""
_CHECK_SECONDS = 0.1
"""The time between two checks for cancellation while a caller waits."""


def _acquired_lock() -> LockType:
    lock = allocate_lock()
    lock.acquire()
    return lock


@dataclass(slots=True)
class _Mount:
    """The number of threads that run on one mount, and of those the number that were abandoned."""

    running: int = 0
    stuck: int = 0


@dataclass(slots=True, eq=False)
class _Job:
    """One piece of work, its state and its result."""

    key: Hashable
    work: Callable[[], Any] | None
    context: CallContext | None = None
    late: Callable[[Any], None] | None = None
    value: Any = None
    error: BaseException | None = None
    is_started: bool = False
    is_finished: bool = False
    is_abandoned: bool = False
    done: LockType = field(default_factory=_acquired_lock)

    def has_ended(self) -> bool:
        """Return True if no caller waits for the result: its deadline has passed, it was cancelled, or it gave up."""
        if self.is_abandoned:
            return True
        context = self.context
        return context is not None and (context.cancelled or ((left := context.left()) is not None and left <= 0))


class Relay(CallContext):
    """The context of a caller, for use in a thread. It stores progress, and the waiting caller reports it."""

    def __init__(self, outer: CallContext) -> None:
        super().__init__(ledger=outer.ledger)
        self._outer = self._caller = outer
        self.memory = outer.memory
        self.progress: tuple[int, int] | None = None
        self.signs = 0
        """The number of times that the thread was seen at work."""

    @property
    def is_half_over(self) -> bool:
        return self._caller.is_half_over

    def check(self) -> None:
        self.signs += 1
        self._caller.check()

    def advance(self, done_bytes: int, total_bytes: int) -> None:
        self.check()
        self.progress = (done_bytes, total_bytes)

    def charge(self, size_bytes: int) -> None:
        self._caller.check()  # a thread that was abandoned must not take memory for a call that has ended
        self._caller.charge(size_bytes)


class _Pool:
    """The threads of this process and the jobs that wait for one."""

    def __init__(self) -> None:
        self.lock = allocate_lock()
        self.mounts: dict[Hashable, _Mount] = {}
        self.waiting: list[_Job] = []
        self.closing: list[_Job] = []
        """The files to close for which no caller waits."""
        self.threads = 0
        self.stuck = 0

    def submit(self, job: _Job, path: str) -> None:
        """Start a job, or queue it. Raises: Stuck."""
        with self.lock:
            mount = self.mounts.get(job.key)
            if mount is not None and mount.stuck >= MAX_STUCK:
                raise Stuck(path, count=mount.stuck)
            if self.stuck >= MAX_THREADS or len(self.waiting) >= MAX_WAITING:
                raise Stuck(path, count=self.stuck or len(self.waiting), of="the file systems of this workspace")
            if not self._start(job):
                self.waiting.append(job)

    def submit_closing(self, job: _Job) -> bool:
        """Start a job that closes a file, or queue it. Return True if it was started."""
        with self.lock:
            try:
                if self._start(job):
                    return True
            except Stuck:
                pass  # the system has no thread; the next one that it has closes the file
            self.closing.append(job)
            return False

    def _start(self, job: _Job) -> bool:
        """Give a job to a thread, if it may run now. Called with the lock held."""
        mount = self.mounts.setdefault(job.key, _Mount())
        if mount.running >= MAX_RUNNING or self.threads >= MAX_THREADS:
            return False
        try:
            start_new_thread(self._serve, ([job],))
        except RuntimeError:  # the system has no more threads
            if not self.threads:
                self._forget_unused_mount(job.key)
                raise Stuck("", count=0) from None  # and none of ours will become free
            return False
        self.threads += 1
        mount.running += 1
        job.is_started = True
        return True

    def _forget_unused_mount(self, key: Hashable) -> None:
        mount = self.mounts.get(key)
        if mount is not None and not mount.running:
            del self.mounts[key]

    def _serve(self, first: list[_Job]) -> None:
        """Run a job in a thread, and those that wait for one after it."""
        # Python holds the arguments of a thread until it ends, so the job is not one of them.
        job: _Job | None = first.pop()
        while job is not None:
            self._run(job)
            job = self._next_job(job)

    def _run(self, job: _Job) -> None:
        work, job.work = job.work, None
        try:
            assert work is not None
            if job.context is not None:
                job.context.check()
            if not job.is_abandoned:  # else the caller gave up before the system started this thread
                job.value = work()
        except BaseException as error:
            job.error = error
        with self.lock:
            job.is_finished = True
        if job.is_abandoned and job.late is not None:
            try:
                job.late(job.value)
            except BaseException as error:
                job.error = error  # no caller is left to report it to
        job.done.release()

    def _next_job(self, finished: _Job) -> _Job | None:
        """Update the counts after a job and return the next one, or None if the thread is to end."""
        with self.lock:
            mount = self.mounts[finished.key]
            mount.running -= 1
            if finished.is_abandoned:
                mount.stuck -= 1
                self.stuck -= 1
            self._forget_unused_mount(finished.key)
            for queue in (self.closing, self.waiting):
                for at, job in enumerate(queue):
                    mount = self.mounts.setdefault(job.key, _Mount())
                    # The caller of a job that has ended takes it off the queue.
                    if mount.running < MAX_RUNNING and not job.has_ended():
                        mount.running += 1
                        job.is_started = True
                        return queue.pop(at)
                    self._forget_unused_mount(job.key)
            self.threads -= 1
            return None

    def abandon(self, job: _Job) -> str:
        """Stop waiting for a job. Return its state: "done" after all, "stuck", or "waiting" if it never started."""
        with self.lock:
            if job.is_finished:
                return "done"
            if not job.is_started:
                self.waiting.remove(job)
                self._forget_unused_mount(job.key)
                return "waiting"
            job.is_abandoned = True
            self.mounts[job.key].stuck += 1
            self.stuck += 1
            return "stuck"

    def hanging(self, key: Hashable) -> int:
        """Return the number of stuck threads of a mount that accepts no more, else 0."""
        mount = self.mounts.get(key)
        return 0 if mount is None or mount.stuck < MAX_STUCK else mount.stuck


_pool = _Pool()


def _renew_pool() -> None:
    """Start with an empty pool. In a forked process the threads are the parent's, and the lock may be held forever."""
    global _pool
    _pool = _Pool()


if hasattr(os, "register_at_fork"):  # pragma: no branch  (only Windows lacks it: nothing forks there)
    os.register_at_fork(after_in_child=_renew_pool)


def stuck() -> int:
    """Return the number of abandoned threads that have not returned."""
    return _pool.stuck


def within(
    context: CallContext,
    work: Callable[[CallContext], T],
    *,
    key: Hashable = None,
    path: str = "",
    late: Callable[[Any], None] | None = None,
    relay: Relay | None = None,
) -> T:
    """Run `work` in a thread with a context of its own, and return its result within the limits of `context`.

    `key` is the mount. If the thread returns after the caller has given up, it calls `late(value)`, with None if the
    work failed, to release what was opened. Progress is reported to `context` from the calling thread. `relay` is the
    context that the work already uses, if it continues earlier work.

    Raises: TimedOut, Stuck, Cancelled, and what `work` raises.
    """
    context.check()
    act, mounts.before_waiting = mounts.before_waiting, None
    if act is not None:
        act()
    pool = _pool
    inner = relay or Relay(context)
    job = _Job(key, lambda: work(inner), context=context, late=late)
    pool.submit(job, path)
    try:
        _wait(pool, job, context, inner, path)
    except BaseException as reason:
        if isinstance(reason, ReadError):
            reason.path = reason.path or path
        has_returned = job.is_started and _holds_memory(reason, context) and job.done.acquire(timeout=RETURN_SECONDS)
        state = "done" if has_returned else pool.abandon(job)
        if state == "waiting" and isinstance(reason, TimedOut):
            raise Stuck(path, count=MAX_RUNNING) from None  # never started: other reads of this mount came first
        if state != "done" or isinstance(reason, (KeyboardInterrupt, SystemExit)):
            raise
        if not has_returned:
            job.done.acquire()
    error, job.error = job.error, None
    if error is not None:
        if isinstance(error, ReadError):
            error.path = error.path or path
        try:
            raise error
        finally:
            del error  # its traceback holds this frame, which would hold it in turn
    value: T = job.value
    return value


def _holds_memory(reason: BaseException, context: CallContext) -> bool:
    """Return True if a thread is at work for a call that ends here, and holds memory that another call may get.

    Such a thread ends at its next block. One that hangs is not waited for.
    """
    is_at_work = isinstance(reason, Cancelled) or (isinstance(reason, TimedOut) and not reason.hangs)
    return is_at_work and context.memory.charged_bytes > context.ledger.free_bytes


def close_within(seconds: float, work: Callable[[], None], *, key: Hashable) -> None:
    """Close a file in a thread of its mount. Return after that, or after `seconds`, or at once if no thread is free.

    The file is closed in any case, when its mount responds: `work` raises nothing and is never refused.
    """
    pool = _pool
    job = _Job(key, work)
    if pool.submit_closing(job) and not job.done.acquire(timeout=max(0.0, seconds)):
        pool.abandon(job)


def _wait(pool: _Pool, job: _Job, context: CallContext, relay: Relay, path: str) -> None:
    """Wait for a job. Raises: TimedOut, Stuck, Cancelled, KeyboardInterrupt, and what reporting progress raises."""
    reported = None
    signs, silent_seconds = relay.signs, 0.0
    while True:
        left = context.left()
        wait = _CHECK_SECONDS if left is None else min(_CHECK_SECONDS, left)
        if job.done.acquire(timeout=max(0.0, wait)):
            return
        if context.cancelled:
            raise Cancelled(path)
        silent_seconds = silent_seconds + wait if relay.signs == signs else 0.0
        signs = relay.signs
        if left is not None and left <= wait:
            seconds = context.seconds or 0.0
            hangs = not signs or silent_seconds > min(_SILENT_SECONDS, seconds / 4)
            raise TimedOut(path, seconds=seconds, hangs=hangs)
        if not job.is_started and (count := pool.hanging(job.key)):
            raise Stuck(path, count=count)
        if relay.progress is not reported and relay.progress is not None:
            reported = relay.progress
            context.advance(*reported)
