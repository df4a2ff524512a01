"""Work on file systems that may never answer, done in threads that can be left behind.

A system call on a dead network mount or a hung FUSE mount does not come back, and nothing takes it back. So whatever
may meet one is done in a thread of its own while the caller waits, no longer than its deadline. A thread that was left
behind is counted as stuck until it does come back; then it closes what it opened, and what it found is dropped.

    `MAX_STUCK` of one mount are stuck    the next one is answered `Stuck` at once; other mounts are not affected
    `MAX_AT_ONCE` of one mount run        the next one waits for its turn, and for its deadline
    `MAX_THREADS` in all                  the same; when all of them are stuck, `Stuck` at once
    `MAX_WAITING` wait for their turn     `Stuck` at once

Which mount is meant is guessed from the path (`mounts.mount_of`).

Not promised: that the process can end. A thread that waits for a FUSE server cannot be killed, and a process with such
a thread stays until the server answers or the mount is taken away (`mounts.before_waiting` is the way around that).
"""

from __future__ import annotations

import os
from _thread import allocate_lock, start_new_thread

from eyespan.context import CallContext
from eyespan.errors import Cancelled, Stuck, TimedOut
from eyespan.guard import mounts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Hashable
    from typing import Any, TypeVar

    T = TypeVar("T")

MAX_STUCK = MAX_AT_ONCE = 8
"""Of one mount: a thread each, 20 KB or so of memory, until the mount answers or is taken away."""
MAX_THREADS = 64
MAX_WAITING = 128
IDLE_SECONDS = 2.0
"""How long a thread waits for more work: starting one takes longer than waking it."""
_SLICE_SECONDS = 0.1
"""How often a caller that waits looks whether it was cancelled."""


class _Mount:
    """How many threads are at work on one mount, and how many of those nobody waits for any more."""

    __slots__ = ("running", "stuck")

    def __init__(self) -> None:
        self.running = 0
        self.stuck = 0


class _Job:
    __slots__ = ("done", "error", "finished", "given_up", "key", "late", "started", "value", "work")

    def __init__(self, key: Hashable, work: Callable[[], Any], late: Callable[[Any], None] | None) -> None:
        self.key = key
        self.work: Callable[[], Any] | None = work
        self.late = late
        self.value: Any = None
        self.error: BaseException | None = None
        self.started = self.finished = self.given_up = False
        self.done = allocate_lock()
        self.done.acquire()


class Relay(CallContext):
    """The caller's context, felt from another thread: the caller itself is told of progress, while it waits."""

    def __init__(self, outer: CallContext) -> None:
        super().__init__()
        self._outer = outer
        self.progress: tuple[int, int] | None = None

    def advance(self, done_bytes: int, total_bytes: int) -> None:
        self._outer.check()
        self.progress = (done_bytes, total_bytes)


class _Slot:
    """A thread that waits for its next job."""

    __slots__ = ("job", "wake")

    def __init__(self) -> None:
        self.wake = allocate_lock()
        self.wake.acquire()
        self.job: _Job | None = None


class _Crew:
    """The threads of this process."""

    def __init__(self) -> None:
        self.lock = allocate_lock()
        self.mounts: dict[Hashable, _Mount] = {}
        self.waiting: list[_Job] = []
        self.idle: list[_Slot] = []
        self.threads = 0
        self.stuck = 0

    def submit(self, job: _Job, path: str) -> None:
        """Raises: Stuck."""
        with self.lock:
            mount = self.mounts.get(job.key)
            if mount is not None and mount.stuck >= MAX_STUCK:
                raise Stuck(path, count=mount.stuck)
            if self.stuck >= MAX_THREADS or len(self.waiting) >= MAX_WAITING:
                raise Stuck(path, count=self.stuck or len(self.waiting), of="the file systems of this workspace")
            if not self._begin(job):
                self.waiting.append(job)

    def _begin(self, job: _Job) -> bool:
        """Gives a job to a thread, if it may run now. Called with the lock held."""
        mount = self.mounts.setdefault(job.key, _Mount())
        if mount.running >= MAX_AT_ONCE:
            return False
        if self.idle:
            slot = self.idle.pop()
            slot.job = job
            slot.wake.release()
        elif self.threads < MAX_THREADS:
            try:
                start_new_thread(self._work, (job,))
            except RuntimeError:  # the system gives no more threads
                if not self.threads:
                    self._tidy(job.key)
                    raise Stuck("", count=0) from None  # nor will one come free
                return False
            self.threads += 1
        else:
            return False
        mount.running += 1
        job.started = True
        return True

    def _tidy(self, key: Hashable) -> None:
        mount = self.mounts.get(key)
        if mount is not None and not mount.running:
            del self.mounts[key]

    def _work(self, job: _Job) -> None:
        """What a thread does: one job after another, until there was none for a while."""
        slot = _Slot()
        while True:
            self._run(job)
            next_job = self._finished(job, slot)
            del job  # with what it holds, now
            if next_job is None:
                slot.wake.acquire(timeout=IDLE_SECONDS)
                with self.lock:
                    next_job, slot.job = slot.job, None
                    if next_job is None:
                        self.idle.remove(slot)
                        self.threads -= 1
                        return
            job = next_job

    def _run(self, job: _Job) -> None:
        work, job.work = job.work, None
        try:
            assert work is not None
            job.value = work()
        except BaseException as error:
            job.error = error
        with self.lock:
            job.finished = True
        if job.given_up and job.late is not None:
            try:
                job.late(job.value)
            except BaseException as error:
                job.error = error  # nobody is there to be told
        job.done.release()

    def _finished(self, job: _Job, slot: _Slot) -> _Job | None:
        """Settles the account; the next job, or None when the thread is to wait in its slot."""
        with self.lock:
            mount = self.mounts[job.key]
            mount.running -= 1
            if job.given_up:
                mount.stuck -= 1
                self.stuck -= 1
            self._tidy(job.key)
            for at, other in enumerate(self.waiting):
                mount = self.mounts.setdefault(other.key, _Mount())
                if mount.running < MAX_AT_ONCE:
                    mount.running += 1
                    other.started = True
                    return self.waiting.pop(at)
            self.idle.append(slot)
            return None

    def give_up(self, job: _Job) -> str:
        """Leaves a job behind; what became of it: "done" after all, "stuck", or "waiting" if it was not begun."""
        with self.lock:
            if job.finished:
                return "done"
            if not job.started:
                self.waiting.remove(job)
                self._tidy(job.key)
                return "waiting"
            job.given_up = True
            self.mounts[job.key].stuck += 1
            self.stuck += 1
            return "stuck"

    def hangs(self, key: Hashable) -> int:
        mount = self.mounts.get(key)
        return 0 if mount is None or mount.stuck < MAX_STUCK else mount.stuck


_crew = _Crew()


def retire_threads() -> None:
    """Gives no more work to the threads there are, and lets those at rest end; the next job gets a new one.

    For a process that goes behind walls which only threads made afterwards stand behind.
    """
    old = _crew
    _forget()
    with old.lock:
        for slot in old.idle:
            slot.wake.release()


def _forget() -> None:
    """In a forked process: the threads are the parent's, and their lock may be held for ever."""
    global _crew
    _crew = _Crew()


if hasattr(os, "register_at_fork"):  # pragma: no branch  (only Windows lacks it: nothing forks there)
    os.register_at_fork(after_in_child=_forget)


def stuck() -> int:
    """How many threads were left behind and have not come back."""
    return _crew.stuck


def within(
    context: CallContext,
    work: Callable[[CallContext], T],
    *,
    key: Hashable = None,
    path: str = "",
    late: Callable[[Any], None] | None = None,
    relay: Relay | None = None,
) -> T:
    """What `work` makes of a context of its own, in a thread; no later than `context` allows.

    `key` is the mount that is meant. `late(value)` is called in the thread when it comes back too late, with None if it
    failed: for what must be put away. Progress is reported to `context` from the calling thread. `relay` is the
    context that the work holds already, where it continues earlier work.

    Raises: TimedOut, Stuck, Cancelled, and what `work` raises.
    """
    context.check()
    act, mounts.before_waiting = mounts.before_waiting, None
    if act is not None:
        act()
    crew = _crew
    felt = relay or Relay(context)
    job = _Job(key, lambda: work(felt), late)
    crew.submit(job, path)
    try:
        _wait(crew, job, context, felt, path)
    except BaseException as why:
        became = crew.give_up(job)
        if became == "waiting" and isinstance(why, TimedOut):
            raise Stuck(path, count=MAX_AT_ONCE) from None  # nothing was tried: others of this mount came first
        if became != "done" or isinstance(why, (KeyboardInterrupt, SystemExit)):
            raise
        job.done.acquire()
    if job.error is not None:
        raise job.error
    value: T = job.value
    return value


def _wait(crew: _Crew, job: _Job, context: CallContext, relay: Relay, path: str) -> None:
    """Raises: TimedOut, Stuck, Cancelled, what telling of progress raises, KeyboardInterrupt: then it is not done."""
    told = None
    while True:
        left = context.left()
        wait = _SLICE_SECONDS if left is None else min(_SLICE_SECONDS, left)
        if job.done.acquire(timeout=max(0.0, wait)):
            return
        if context.cancelled:
            raise Cancelled(path)
        if left is not None and left <= wait:
            raise TimedOut(path, seconds=context.seconds or 0.0, hangs=True)
        if not job.started and (count := crew.hangs(job.key)):
            raise Stuck(path, count=count)
        if relay.progress is not told and relay.progress is not None:
            told = relay.progress
            context.advance(*told)
