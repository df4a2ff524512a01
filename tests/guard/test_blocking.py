"""Threads that can be abandoned, with empty pipes in place of file systems that do not respond."""

from __future__ import annotations

import os
import threading
import time

import pytest

from eyespan.context import CallContext
from eyespan.errors import Cancelled, NotFound, Stuck, TimedOut
from eyespan.guard import blocking, mounts
from eyespan.memory import Ledger
from tests.clock import HANG_SECONDS, Clock, TickingClock, until


@pytest.fixture
def silent():
    """Make calls that do not return before the test is over, or before `answer()`."""

    class Silent:
        def __init__(self) -> None:
            self.ends: list[tuple[int, int]] = []
            self.clock = Clock()

        def call(self) -> CallContext:
            """Return the context of a call whose deadline passes when `hang` has begun."""
            return CallContext(10, ledger=Ledger(self.clock))

        def hang(self, value=None):
            return self.wait(value, passing_seconds=11)

        def wait(self, value=None, passing_seconds=0):
            def work(_context):
                here, there = os.pipe()
                self.ends.append((here, there))
                self.clock.now += passing_seconds
                os.read(here, 1)
                return value

            return work

        def answer(self) -> None:
            for _, there in self.ends:
                os.write(there, b"x")
            settle()
            for ends in self.ends:
                for end in ends:
                    os.close(end)
            self.ends.clear()

    settle()  # other tests may have left a read that hangs
    made = Silent()
    yield made
    made.answer()


def settle() -> None:
    until(lambda: blocking.stuck() == 0 and not blocking._pool.mounts)


def soon_late() -> CallContext:
    """Return the context of a call whose deadline passes while it waits."""
    return CallContext(10, ledger=Ledger(TickingClock()))


def _no_thread(*_):
    raise RuntimeError("can't start new thread")


def threads() -> int:
    return len(os.listdir("/proc/self/task"))


def test_the_result_of_the_work_is_returned():
    assert blocking.within(CallContext(HANG_SECONDS), lambda _: 6 * 7) == 42


def test_an_error_of_the_work_is_raised():
    def fail(_context):
        raise NotFound("a.txt")

    with pytest.raises(NotFound):
        blocking.within(CallContext(HANG_SECONDS), fail)


def test_without_a_deadline_the_work_takes_its_time():
    assert blocking.within(CallContext(), lambda _: time.sleep(0.3) or "late") == "late"


def test_the_caller_times_out_while_the_work_hangs(silent):
    with pytest.raises(TimedOut) as caught:
        blocking.within(silent.call(), silent.hang(), path="a.txt")

    assert (caught.value.path, caught.value.hangs, blocking.stuck()) == ("a.txt", True, 1)


def test_a_late_result_is_released_in_its_thread(silent):
    put_away = []

    with pytest.raises(TimedOut):
        blocking.within(silent.call(), silent.hang("an open file"), late=put_away.append)
    silent.answer()

    assert (put_away, blocking.stuck()) == (["an open file"], 0)


def test_a_cancelled_call_stops_waiting(silent):
    context = CallContext(HANG_SECONDS)
    threading.Timer(0.05, lambda: setattr(context, "cancelled", True)).start()

    with pytest.raises(Cancelled):
        blocking.within(context, silent.wait())


def test_a_passed_deadline_starts_nothing():
    ran = []

    with pytest.raises(TimedOut):
        blocking.within(CallContext(-1), ran.append)

    assert ran == []


def test_after_eight_stuck_reads_the_ninth_is_refused_until_they_return(silent, monkeypatch):
    for _ in range(8):
        with pytest.raises(TimedOut):
            blocking.within(silent.call(), silent.hang(), key="mount")

    with monkeypatch.context() as patch:
        patch.setattr(blocking, "_wait", lambda *_: pytest.fail("it waits"))
        with pytest.raises(Stuck) as caught:
            blocking.within(CallContext(HANG_SECONDS), lambda _: 1, key="mount")
    other = blocking.within(CallContext(HANG_SECONDS), lambda _: "fine", key="another mount")
    silent.answer()
    after = blocking.within(CallContext(HANG_SECONDS), lambda _: "fine again", key="mount")

    assert (caught.value.code, caught.value.count, other, after) == ("busy", 8, "fine", "fine again")


def test_a_waiting_read_is_refused_when_the_others_get_stuck(silent):
    errors = []

    def ask(context):
        try:
            blocking.within(context, silent.wait(), key="mount")
        except (TimedOut, Stuck) as error:
            errors.append(type(error).__name__)

    running = [threading.Thread(target=ask, args=(silent.call(),)) for _ in range(8)]
    for thread in running:
        thread.start()
    until(lambda: len(silent.ends) == 8)
    last = threading.Thread(target=ask, args=(CallContext(HANG_SECONDS),))
    last.start()
    until(lambda: blocking._pool.waiting)
    silent.clock.now += 11
    for thread in [*running, last]:
        thread.join(HANG_SECONDS)

    assert sorted(errors) == ["Stuck", *["TimedOut"] * 8]


def test_forty_reads_of_one_mount_all_finish():
    found = []
    workers = [
        threading.Thread(
            target=lambda n=n: found.append(
                blocking.within(CallContext(HANG_SECONDS), lambda _: time.sleep(0.02) or n, key="mount")
            )
        )
        for n in range(40)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(HANG_SECONDS)

    assert sorted(found) == list(range(40))


def test_progress_is_reported_in_the_calling_thread():
    reported = []
    context = CallContext(HANG_SECONDS, lambda done, total: reported.append((done, total, threading.get_ident())))

    def work(inner):
        inner.advance(5, 10)
        until(lambda: reported)
        return "done"

    assert blocking.within(context, work) == "done"
    assert reported == [(5, 10, threading.get_ident())]


def test_abandoned_work_stops_at_its_next_report_of_progress():
    beats = []

    def work(inner):
        while True:
            inner.advance(0, 0)
            beats.append(1)
            time.sleep(0.01)

    with pytest.raises(TimedOut):
        blocking.within(CallContext(0.05), work)
    settle()


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="threads are counted in /proc")
def test_threads_end_with_their_work():
    until(lambda: blocking._pool.threads == 0)
    before = threads()

    blocking.within(CallContext(HANG_SECONDS), lambda _: None)

    until(lambda: threads() == before)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_starts_its_own_threads(silent):
    with pytest.raises(TimedOut):
        blocking.within(silent.call(), silent.hang())

    child = os.fork()
    if child == 0:
        os._exit(blocking.within(CallContext(HANG_SECONDS), lambda _: 7 + blocking.stuck()))

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_a_system_without_threads_is_reported(pool, monkeypatch):
    monkeypatch.setattr(blocking, "start_new_thread", _no_thread)

    with pytest.raises(Stuck, match="no thread"):
        blocking.within(CallContext(HANG_SECONDS), lambda _: None)
    assert pool.mounts == {}


class Asking:
    """A call in a thread, and its result."""

    def __init__(self, work, key, context=None):
        self.answer = None
        self._thread = threading.Thread(target=self._run, args=(work, key, context or CallContext(HANG_SECONDS)))
        self._thread.start()

    def _run(self, work, key, context):
        try:
            self.answer = blocking.within(context, work, key=key)
        except (TimedOut, Stuck) as error:
            self.answer = error

    def ended(self):
        self._thread.join(HANG_SECONDS)
        assert not self._thread.is_alive(), "it hangs"
        return self.answer


@pytest.fixture
def pool():
    """An empty pool. The threads of earlier tests end by themselves."""
    blocking._renew_pool()
    return blocking._pool


def test_a_read_whose_turn_never_comes_is_refused_and_forgotten(silent, pool, monkeypatch):
    monkeypatch.setattr(blocking, "MAX_RUNNING", 1)
    first = Asking(silent.wait("first"), "mount")
    until(lambda: silent.ends)

    with pytest.raises(Stuck) as caught:
        blocking.within(soon_late(), lambda _: "second", key="mount")
    silent.answer()

    assert (caught.value.count, first.ended(), pool.waiting, pool.mounts) == (1, "first", [], {})


def test_when_every_thread_is_busy_the_next_job_waits_for_one(silent, pool, monkeypatch):
    """A job that waits in vain is forgotten with its mount, which had no other."""
    monkeypatch.setattr(blocking, "MAX_THREADS", 1)
    first = Asking(silent.wait("first"), "one")
    until(lambda: silent.ends)
    with pytest.raises(Stuck):
        blocking.within(soon_late(), lambda _: None, key="another")
    assert list(pool.mounts) == ["one"]

    second = Asking(lambda _: "second", "another")
    until(lambda: pool.waiting)
    silent.answer()

    assert (first.ended(), second.ended(), pool.mounts) == ("first", "second", {})


def test_without_new_threads_jobs_wait_for_the_running_ones(silent, pool, monkeypatch):
    first = Asking(silent.wait("first"), "one")
    until(lambda: silent.ends)
    monkeypatch.setattr(blocking, "start_new_thread", _no_thread)
    second = Asking(lambda _: "second", "another")
    until(lambda: pool.waiting)
    silent.answer()

    assert (first.ended(), second.ended()) == ("first", "second")


def test_a_job_of_a_busy_mount_does_not_delay_those_of_others(silent, pool, monkeypatch):
    monkeypatch.setattr(blocking, "MAX_RUNNING", 1)
    monkeypatch.setattr(blocking, "MAX_THREADS", 2)
    busy = Asking(silent.wait("busy"), "busy")
    until(lambda: len(silent.ends) == 1)
    here, there = os.pipe()
    quick = Asking(lambda _: os.read(here, 1), "quick")
    until(lambda: pool.threads == 2)
    second = Asking(lambda _: "second", "busy")
    until(lambda: len(pool.waiting) == 1)
    passing = Asking(lambda _: "passing", "other")
    until(lambda: len(pool.waiting) == 2)

    os.write(there, b"x")

    assert (quick.ended(), passing.ended(), second.answer) == (b"x", "passing", None)
    silent.answer()
    assert (busy.ended(), second.ended()) == ("busy", "second")
    os.close(here)
    os.close(there)


@pytest.mark.parametrize("full", ["MAX_THREADS", "MAX_WAITING"])
def test_when_no_thread_can_become_free_all_mounts_are_busy(full, silent, pool, monkeypatch):
    monkeypatch.setattr(blocking, "MAX_RUNNING", 1)
    monkeypatch.setattr(blocking, full, 1)
    first = Asking(silent.hang(), "one", silent.call() if full == "MAX_THREADS" else None)
    until(lambda: silent.ends)
    if full == "MAX_WAITING":
        waits = Asking(lambda _: None, "one")
        until(lambda: pool.waiting)
    else:
        assert isinstance(first.ended(), TimedOut)

    with pytest.raises(Stuck, match="the file systems of this workspace") as caught:
        blocking.within(CallContext(HANG_SECONDS), lambda _: None, key="another")
    silent.answer()

    assert caught.value.count == 1
    assert list(pool.mounts) == []
    if full == "MAX_WAITING":
        assert (first.ended(), waits.ended()) == (None, None)


def test_work_that_finishes_just_before_it_is_abandoned_is_returned(monkeypatch):
    def too_late(_pool, job, *_):
        until(lambda: job.is_finished)
        raise TimedOut("", seconds=1)

    monkeypatch.setattr(blocking, "_wait", too_late)

    assert blocking.within(CallContext(HANG_SECONDS), lambda _: "an open file") == "an open file"
    assert blocking.stuck() == 0


class Ended(CallContext):
    """The context of a call whose deadline passes when the test sets `has_passed`."""

    has_passed = False

    def left(self):
        return 0.0 if self.has_passed else None

    def check(self):
        if self.has_passed:
            raise TimedOut("", seconds=1)


def test_a_thread_that_becomes_free_does_not_start_work_for_a_call_that_has_ended(silent, pool, monkeypatch):
    """The caller of the second read has not yet noticed its deadline when the first one ends.

    Started all the same, the second read would be one more thread that hangs, and one more call that timed out.
    """
    monkeypatch.setattr(blocking, "MAX_RUNNING", 1)
    ran, context = [], Ended()
    first = Asking(silent.wait("slow"), "mount")
    until(lambda: silent.ends)
    second = blocking._Job("mount", lambda: ran.append("second"), context=context)
    third = blocking._Job("mount", lambda: ran.append("third"), context=CallContext(HANG_SECONDS))
    for job in (second, third):
        pool.submit(job, "")

    context.has_passed = True
    silent.answer()

    assert (first.ended(), third.done.acquire(timeout=HANG_SECONDS), ran) == ("slow", True, ["third"])
    assert (pool.abandon(second), pool.stuck, pool.mounts) == ("waiting", 0, {})


@pytest.mark.parametrize("gives_up", ["the caller", "the deadline"])
def test_a_thread_that_the_system_starts_late_does_not_work_for_a_call_that_has_ended(gives_up, pool, monkeypatch):
    started, ran, released, context = [], [], [], Ended()
    monkeypatch.setattr(blocking, "start_new_thread", lambda *call: started.append(call))
    job = blocking._Job("mount", lambda: ran.append("work"), context=context, late=released.append)
    pool.submit(job, "")
    if gives_up == "the caller":
        assert (pool.abandon(job), pool.stuck) == ("stuck", 1)
    else:
        context.has_passed = True

    (late_thread, arguments) = started[0]
    late_thread(*arguments)

    assert (ran, pool.stuck, pool.mounts) == ([], 0, {})
    assert released == ([None] if gives_up == "the caller" else [])


def test_every_order_of_ends_leaves_the_exact_count_of_threads_that_hang(silent, pool, monkeypatch):
    """Of eight reads two are slow and end by themselves: before or after their callers gave up, or one of each."""
    for before, after in ((2, 0), (1, 1), (0, 2)):
        slow = [threading.Event() for _ in range(2)]
        jobs = [blocking._Job("mount", lambda: silent.wait()(None), context=Ended()) for _ in range(6)]
        ends = [blocking._Job("mount", event.wait, context=Ended()) for event in slow]
        for job in (*jobs, *ends):
            pool.submit(job, "")
        until(lambda: len(silent.ends) == 6)
        queued = [blocking._Job("mount", lambda: None, context=Ended()) for _ in range(4)]
        for job in queued:
            pool.submit(job, "")
        for job in queued:
            job.context.has_passed = True

        for event, job in zip(slow[:before], ends[:before], strict=True):
            event.set()
            assert job.done.acquire(timeout=HANG_SECONDS)
        states = [pool.abandon(job) for job in (*jobs, *ends, *queued)]
        for event in slow[before:]:
            event.set()
        until(lambda: pool.mounts["mount"].running == 6)

        assert states == [*["stuck"] * 6, *["done"] * before, *["stuck"] * after, *["waiting"] * 4]
        assert (pool.stuck, pool.mounts["mount"].stuck, pool.waiting) == (6, 6, [])
        silent.answer()


def test_a_file_is_closed_although_its_mount_accepts_no_more_reads(silent, pool, monkeypatch):
    monkeypatch.setattr(blocking, "MAX_RUNNING", 1)
    monkeypatch.setattr(blocking, "MAX_STUCK", 1)
    closed = []
    with pytest.raises(TimedOut):
        blocking.within(silent.call(), silent.hang(), key="mount")

    blocking.close_within(HANG_SECONDS, lambda: closed.append("a file"), key="mount")

    assert (closed, len(pool.closing)) == ([], 1)
    silent.answer()
    assert (closed, pool.closing) == (["a file"], [])


def test_a_file_whose_closing_hangs_counts_as_stuck_until_it_is_closed(silent, pool):
    job = blocking._Job("mount", lambda: silent.wait()(None))
    assert pool.submit_closing(job)
    until(lambda: silent.ends)
    pool.abandon(job)

    assert pool.mounts["mount"].stuck == 1
    silent.answer()
    assert pool.mounts == {}


def test_a_file_is_closed_when_the_system_has_threads_again(pool, monkeypatch):
    closed = []
    with monkeypatch.context() as patch:
        patch.setattr(blocking, "start_new_thread", _no_thread)
        blocking.close_within(HANG_SECONDS, lambda: closed.append("a file"), key="mount")
    assert (closed, pool.mounts) == ([], {})

    blocking.within(CallContext(HANG_SECONDS), lambda _: None, key="mount")
    settle()

    assert closed == ["a file"]


def test_an_interrupt_is_raised_even_if_the_work_is_done(monkeypatch):
    def interrupted(_pool, job, *_):
        until(lambda: job.is_finished)
        raise KeyboardInterrupt

    monkeypatch.setattr(blocking, "_wait", interrupted)

    with pytest.raises(KeyboardInterrupt):
        blocking.within(CallContext(HANG_SECONDS), lambda _: "an answer")


def test_a_thread_survives_a_failed_release(silent, pool):
    def fail(_value):
        raise OSError("close failed")

    with pytest.raises(TimedOut):
        blocking.within(silent.call(), silent.hang(), late=fail)
    silent.answer()

    assert (blocking.stuck(), blocking.within(CallContext(HANG_SECONDS), lambda _: "fine")) == (0, "fine")


def test_before_waiting_is_called_once_before_the_first_thread(monkeypatch):
    reported = []
    monkeypatch.setattr(mounts, "before_waiting", lambda: reported.append(threading.get_ident()))

    for _ in range(2):
        blocking.within(CallContext(HANG_SECONDS), lambda _: None)

    assert reported == [threading.get_ident()]


def test_a_thread_that_was_at_work_until_the_deadline_is_slow_and_does_not_hang():
    clock = Clock()

    def work(context):
        context.check()
        clock.now += 11
        while True:
            context.check()

    with pytest.raises(TimedOut) as raised:
        blocking.within(CallContext(10, ledger=Ledger(clock)), work, path="x")

    assert not raised.value.hangs
    settle()  # the thread ends by itself, because its caller's deadline has passed


@pytest.mark.parametrize("is_cancelled", [False, True])
@pytest.mark.parametrize("size_bytes", [0, 2 << 20])
def test_a_call_that_ends_waits_for_a_thread_at_work_that_holds_memory(size_bytes, is_cancelled, monkeypatch):
    monkeypatch.setattr(blocking, "RETURN_SECONDS", HANG_SECONDS)
    may_end = threading.Event()
    has_ended = []
    clock = Clock()
    call = CallContext(10, ledger=Ledger(clock))

    def work(context):
        context.advance(0, 0)
        if size_bytes:
            context.charge(size_bytes)
            threading.Timer(0.2, may_end.set).start()
        if is_cancelled:
            call.cancelled = True
        else:
            clock.now += 11
        try:
            while True:
                context.advance(0, 0)
        except (TimedOut, Cancelled):
            may_end.wait(HANG_SECONDS)  # as a thread that frees its memory
            has_ended.append(True)
            raise

    with pytest.raises(Cancelled if is_cancelled else TimedOut):
        blocking.within(call, work)
    ended_before = list(has_ended)
    call.finish()
    may_end.set()
    settle()

    assert ended_before == ([True] if size_bytes else [])


def test_a_call_does_not_wait_for_a_thread_that_hangs(silent, monkeypatch):
    monkeypatch.setattr(blocking, "RETURN_SECONDS", HANG_SECONDS)
    context = silent.call()
    context.charge(2 << 20)

    with pytest.raises(TimedOut) as raised:
        blocking.within(context, silent.hang())
    context.finish()

    assert raised.value.hangs
    assert blocking.stuck() == 1
