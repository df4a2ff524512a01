"""Threads that can be left behind, with pipes that nobody writes to for file systems that do not answer."""

from __future__ import annotations

import os
import threading
import time

import pytest

from eyespan.context import CallContext
from eyespan.errors import Cancelled, NotFound, Stuck, TimedOut
from eyespan.guard import blocking, mounts

HANG_SECONDS = 30
"""No test waits so long; whoever would is hung."""


@pytest.fixture
def silent():
    """Makes calls that do not return before the test is over, or before `answer()`."""

    class Silent:
        def __init__(self) -> None:
            self.ends: list[tuple[int, int]] = []

        def wait(self, value=None):
            def work(_context):
                here, there = os.pipe()
                self.ends.append((here, there))
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

    made = Silent()
    yield made
    made.answer()


def settle() -> None:
    until(lambda: blocking.stuck() == 0 and not blocking._crew.mounts)


def until(true) -> None:
    end = time.monotonic() + HANG_SECONDS
    while not true():
        assert time.monotonic() < end, "it hangs"
        time.sleep(0.005)


def threads() -> int:
    return len(os.listdir("/proc/self/task"))


def test_what_the_work_finds_is_the_answer():
    assert blocking.within(CallContext(HANG_SECONDS), lambda _: 6 * 7) == 42


def test_what_the_work_raises_is_raised():
    def fail(_context):
        raise NotFound("a.txt")

    with pytest.raises(NotFound):
        blocking.within(CallContext(HANG_SECONDS), fail)


def test_without_a_deadline_it_takes_as_long_as_it_takes():
    assert blocking.within(CallContext(), lambda _: time.sleep(0.3) or "late") == "late"


def test_the_caller_is_answered_while_the_work_still_waits(silent):
    with pytest.raises(TimedOut) as caught:
        blocking.within(CallContext(0.05), silent.wait(), path="a.txt")

    assert (caught.value.path, caught.value.hangs, blocking.stuck()) == ("a.txt", True, 1)


def test_what_comes_too_late_is_put_away_in_its_thread_and_counts_no_more(silent):
    put_away = []

    with pytest.raises(TimedOut):
        blocking.within(CallContext(0.05), silent.wait("an open file"), late=put_away.append)
    silent.answer()

    assert (put_away, blocking.stuck()) == (["an open file"], 0)


def test_a_cancelled_call_waits_no_longer(silent):
    context = CallContext(HANG_SECONDS)
    threading.Timer(0.05, lambda: setattr(context, "cancelled", True)).start()

    with pytest.raises(Cancelled):
        blocking.within(context, silent.wait())


def test_no_time_left_starts_nothing():
    ran = []

    with pytest.raises(TimedOut):
        blocking.within(CallContext(-1), ran.append)

    assert ran == []


def test_eight_stuck_ones_turn_the_ninth_away_until_they_come_back(silent):
    for _ in range(8):
        with pytest.raises(TimedOut):
            blocking.within(CallContext(0.02), silent.wait(), key="mount")

    with pytest.raises(Stuck) as caught:
        blocking.within(CallContext(HANG_SECONDS), lambda _: 1, key="mount")
    other = blocking.within(CallContext(HANG_SECONDS), lambda _: "fine", key="another mount")
    silent.answer()
    after = blocking.within(CallContext(HANG_SECONDS), lambda _: "fine again", key="mount")

    assert (caught.value.code, caught.value.count, other, after) == ("busy", 8, "fine", "fine again")


def test_what_waits_for_its_turn_is_turned_away_when_the_others_get_stuck(silent):
    errors = []

    def ask(seconds):
        try:
            blocking.within(CallContext(seconds), silent.wait(), key="mount")
        except (TimedOut, Stuck) as error:
            errors.append(type(error).__name__)

    running = [threading.Thread(target=ask, args=(1.0,)) for _ in range(8)]
    for thread in running:
        thread.start()
    until(lambda: len(silent.ends) == 8)
    last = threading.Thread(target=ask, args=(HANG_SECONDS,))
    last.start()
    for thread in [*running, last]:
        thread.join(HANG_SECONDS)

    assert sorted(errors) == ["Stuck", *["TimedOut"] * 8]


def test_more_than_eight_healthy_ones_are_all_done():
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


def test_progress_is_told_by_the_thread_that_asked():
    told = []
    context = CallContext(HANG_SECONDS, lambda done, total: told.append((done, total, threading.get_ident())))

    def work(inner):
        inner.advance(5, 10)
        until(lambda: told)
        return "done"

    assert blocking.within(context, work) == "done"
    assert told == [(5, 10, threading.get_ident())]


def test_work_that_beats_stops_when_nobody_waits():
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
def test_idle_threads_go(monkeypatch):
    monkeypatch.setattr(blocking, "IDLE_SECONDS", 0.05)
    until(lambda: blocking._crew.threads == 0)
    before = threads()

    blocking.within(CallContext(HANG_SECONDS), lambda _: None)

    until(lambda: threads() == before)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_starts_threads_of_its_own():
    blocking.within(CallContext(HANG_SECONDS), lambda _: None)  # leaves an idle thread, which a fork does not copy

    child = os.fork()
    if child == 0:
        os._exit(blocking.within(CallContext(HANG_SECONDS), lambda _: 7))

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_work_after_a_renewal_is_done_by_new_threads():
    before = blocking.within(CallContext(HANG_SECONDS), lambda _: threading.get_ident())

    blocking.retire_threads()
    after = blocking.within(CallContext(HANG_SECONDS), lambda _: threading.get_ident())

    assert before != after


def test_a_system_without_threads_is_told(crew, monkeypatch):
    def no_thread(*_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(blocking, "start_new_thread", no_thread)

    with pytest.raises(Stuck, match="no thread"):
        blocking.within(CallContext(HANG_SECONDS), lambda _: None)
    assert crew.mounts == {}


# --- turns ------------------------------------------------------------------------------------------------------------


class Asking:
    """A call in a thread of its own, and what came of it."""

    def __init__(self, work, key, seconds=HANG_SECONDS):
        self.answer = None
        self._thread = threading.Thread(target=self._run, args=(work, key, seconds))
        self._thread.start()

    def _run(self, work, key, seconds):
        try:
            self.answer = blocking.within(CallContext(seconds), work, key=key)
        except (TimedOut, Stuck) as error:
            self.answer = error

    def ended(self):
        self._thread.join(HANG_SECONDS)
        assert not self._thread.is_alive(), "it hangs"
        return self.answer


@pytest.fixture
def crew(monkeypatch):
    """Threads of the test's own, none yet. Those of before end by themselves."""
    blocking.retire_threads()
    monkeypatch.setattr(blocking, "IDLE_SECONDS", 0.05)
    return blocking._crew


def test_what_waited_for_its_turn_in_vain_is_told_and_forgotten(silent, crew, monkeypatch):
    monkeypatch.setattr(blocking, "MAX_AT_ONCE", 1)
    first = Asking(silent.wait("first"), "mount")
    until(lambda: silent.ends)

    with pytest.raises(Stuck) as caught:
        blocking.within(CallContext(0.05), lambda _: "second", key="mount")
    silent.answer()

    assert (caught.value.count, first.ended(), crew.waiting, crew.mounts) == (1, "first", [], {})


def test_when_every_thread_is_at_work_the_next_job_waits_for_one(silent, crew, monkeypatch):
    """And leaves nothing behind if it waits in vain: its mount had no other job."""
    monkeypatch.setattr(blocking, "MAX_THREADS", 1)
    first = Asking(silent.wait("first"), "one")
    until(lambda: silent.ends)
    with pytest.raises(Stuck):
        blocking.within(CallContext(0.05), lambda _: None, key="another")
    assert list(crew.mounts) == ["one"]

    second = Asking(lambda _: "second", "another")
    until(lambda: crew.waiting)
    silent.answer()

    assert (first.ended(), second.ended(), crew.mounts) == ("first", "second", {})


def test_a_system_that_gives_no_more_threads_makes_jobs_wait_for_those_there_are(silent, crew, monkeypatch):
    def no_thread(*_):
        raise RuntimeError("can't start new thread")

    first = Asking(silent.wait("first"), "one")
    until(lambda: silent.ends)
    monkeypatch.setattr(blocking, "start_new_thread", no_thread)
    second = Asking(lambda _: "second", "another")
    until(lambda: crew.waiting)
    silent.answer()

    assert (first.ended(), second.ended()) == ("first", "second")


def test_a_job_of_a_busy_mount_lets_those_of_others_pass(silent, crew, monkeypatch):
    monkeypatch.setattr(blocking, "MAX_AT_ONCE", 1)
    monkeypatch.setattr(blocking, "MAX_THREADS", 2)
    busy = Asking(silent.wait("busy"), "busy")
    until(lambda: len(silent.ends) == 1)
    here, there = os.pipe()
    quick = Asking(lambda _: os.read(here, 1), "quick")
    until(lambda: crew.threads == 2)
    behind = Asking(lambda _: "behind", "busy")
    until(lambda: len(crew.waiting) == 1)
    passing = Asking(lambda _: "passing", "other")
    until(lambda: len(crew.waiting) == 2)

    os.write(there, b"x")

    assert (quick.ended(), passing.ended(), behind.answer) == (b"x", "passing", None)
    silent.answer()
    assert (busy.ended(), behind.ended()) == ("busy", "behind")
    os.close(here)
    os.close(there)


@pytest.mark.parametrize("full", ["MAX_THREADS", "MAX_WAITING"])
def test_when_nothing_can_come_free_soon_all_mounts_are_busy(full, silent, crew, monkeypatch):
    monkeypatch.setattr(blocking, "MAX_AT_ONCE", 1)
    monkeypatch.setattr(blocking, full, 1)
    first = Asking(silent.wait(), "one", seconds=0.05 if full == "MAX_THREADS" else HANG_SECONDS)
    until(lambda: silent.ends)
    if full == "MAX_WAITING":
        waits = Asking(lambda _: None, "one")
        until(lambda: crew.waiting)
    else:
        assert isinstance(first.ended(), TimedOut)

    with pytest.raises(Stuck, match="the file systems of this workspace") as caught:
        blocking.within(CallContext(HANG_SECONDS), lambda _: None, key="another")
    silent.answer()

    assert caught.value.count == 1
    assert list(crew.mounts) == []
    if full == "MAX_WAITING":
        assert (first.ended(), waits.ended()) == (None, None)


def test_what_is_done_at_the_very_moment_it_is_given_up_is_the_answer(monkeypatch):
    def too_late(_crew, job, *_):
        until(lambda: job.finished)
        raise TimedOut("", seconds=1)

    monkeypatch.setattr(blocking, "_wait", too_late)

    assert blocking.within(CallContext(HANG_SECONDS), lambda _: "an open file") == "an open file"
    assert blocking.stuck() == 0


def test_who_interrupts_is_obeyed_even_if_the_work_is_done(monkeypatch):
    def interrupted(_crew, job, *_):
        until(lambda: job.finished)
        raise KeyboardInterrupt

    monkeypatch.setattr(blocking, "_wait", interrupted)

    with pytest.raises(KeyboardInterrupt):
        blocking.within(CallContext(HANG_SECONDS), lambda _: "an answer")


def test_a_thread_outlives_what_cannot_be_put_away(silent, crew):
    def fail(_value):
        raise OSError("close failed")

    with pytest.raises(TimedOut):
        blocking.within(CallContext(0.05), silent.wait(), late=fail)
    silent.answer()

    assert (blocking.stuck(), blocking.within(CallContext(HANG_SECONDS), lambda _: "fine")) == (0, "fine")


def test_before_the_first_thread_the_program_is_told_once(monkeypatch):
    told = []
    monkeypatch.setattr(mounts, "before_waiting", lambda: told.append(threading.get_ident()))

    for _ in range(2):
        blocking.within(CallContext(HANG_SECONDS), lambda _: None)

    assert told == [threading.get_ident()]


# --- the table of mounts ----------------------------------------------------------------------------------------------


@pytest.fixture
def table(tmp_path, monkeypatch):
    """Writes the table that is read."""
    monkeypatch.setattr(mounts, "_table", (float("-inf"), []))
    monkeypatch.setattr(mounts, "_TABLE", str(tmp_path / "mountinfo"))
    monkeypatch.setattr(mounts, "_FRESH_SECONDS", -1.0)
    return tmp_path / "mountinfo"


def test_the_table_is_read_as_the_kernel_writes_it(table):
    table.write_bytes(
        b"22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
        b"36 22 0:50 / /net/a\\040b rw - nfs4 server:/a rw\n"
        b"cut off\n"
    )

    assert mounts._mounts() == [("/", "8:1", True), ("/net/a b", "0:50", False)]


def test_without_a_table_each_path_stands_for_itself_and_what_was_known_is_kept(table):
    """As on other systems, without /proc, and when no descriptor is left."""
    assert (mounts.mount_of("/net/x/../y"), mounts.plain_point("/net/x")) == ("/net/y", None)
    table.write_bytes(b"22 1 8:1 / / rw - ext4 /dev/sda1 rw\n")
    assert mounts.mount_of("/a") == ("8:1", "/a")
    table.unlink()

    assert (mounts.mount_of("/a"), mounts.plain_point("/a")) == (("8:1", "/a"), "/")


def test_mounts_are_told_apart_by_the_text_of_a_path(monkeypatch):
    table = [("/", "8:1", True), ("/net", "0:50", False), ("/net/a b", "0:51", False), ("/home", "8:2", True)]
    monkeypatch.setattr(mounts, "_mounts", lambda: table)

    asked = ["/net/x", "/net/a b/c", "/network", "/home/me", "/net", "/net/a b/../x", "/home/../net/x"]

    assert [mounts.mount_of(path) for path in asked] == [
        "0:50",
        "0:51",
        ("8:1", "/network"),
        ("8:2", "/home/me"),
        "0:50",
        "0:50",
        "0:50",
    ]
    assert [mounts.plain_point(path) for path in ("/home/me", "/x", "/net/x")] == ["/home", "/", None]


def test_what_lies_on_top_of_a_mount_counts(monkeypatch):
    monkeypatch.setattr(mounts, "_mounts", lambda: [("/", "8:1", True), ("/a", "8:2", True), ("/a", "0:9", False)])

    assert (mounts.mount_of("/a/b"), mounts.plain_point("/a/b")) == ("0:9", None)


@pytest.mark.skipif(not os.path.exists("/proc/self/mountinfo"), reason="no table of mounts here")
def test_the_table_of_this_machine_can_be_read():
    points = [point for point, _, _ in mounts._mounts()]

    assert "/" in points
