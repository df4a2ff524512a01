from __future__ import annotations

import errno
import os
import signal
import socket
import sys
import threading
import time
from dataclasses import replace

import pytest

from eyespan.context import CallContext
from eyespan.errors import Cancelled, Internal, TimedOut, Unreadable
from eyespan.worker import fork_client
from tests.bad_worker import ECHOED, bad_worker, echo, fork_server_pid, script

linux = pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def test_a_response_that_never_ends_times_out(file):
    worker = bad_worker(seconds=1.5)
    try:
        with pytest.raises(TimedOut):
            worker.run("drip", file, {}, asked="data")

        assert echo(worker, file) == ECHOED
    finally:
        worker.stop()


def test_a_job_that_ignores_its_own_limits_times_out(worker, file, monkeypatch):
    """A job ends itself by its clock. The client does not depend on that, so its limit is lower here."""
    echo(worker, file)
    monkeypatch.setattr(fork_client, "START_SECONDS", 3600)
    monkeypatch.setattr(worker._client, "_limits", replace(worker.limits, seconds=0.2))

    with pytest.raises(TimedOut) as caught:
        worker.run("drip", file, {}, asked="data", context=CallContext(25))

    assert caught.value.seconds == 0.2


def test_descriptors_above_1023_work(worker, file):
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 1200:
        pytest.skip("this machine allows too few descriptors")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 1200), hard))
    taken = [os.dup(file) for _ in range(1100)]
    try:
        assert echo(worker, file) == ECHOED
    finally:
        for fd in taken:
            os.close(fd)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_the_process_serves_many_jobs_and_is_replaced_when_it_dies(worker, file):
    echo(worker, file)
    first = fork_server_pid(worker)
    echo(worker, file)
    assert fork_server_pid(worker) == first

    os.kill(first, signal.SIGKILL)

    assert echo(worker, file) == ECHOED
    assert fork_server_pid(worker) != first


def test_a_job_that_was_sent_but_not_started_goes_to_a_new_process(worker, file):
    echo(worker, file)
    first = fork_server_pid(worker)
    os.kill(first, signal.SIGSTOP)  # it cannot take the job...
    threading.Timer(0.3, os.kill, (first, signal.SIGKILL)).start()  # ...and never will

    assert echo(worker, file) == ECHOED


def test_a_job_whose_process_dies_is_one_error_and_the_next_job_works(worker, file):
    class Killing(CallContext):
        def advance(self, done_bytes, total_bytes):
            if done_bytes:
                os.kill(fork_server_pid(worker), signal.SIGKILL)

    echo(worker, file)
    with pytest.raises(Unreadable, match="decoding process was killed"):
        worker.run("drip", file, {}, asked="data", context=Killing())

    assert echo(worker, file) == ECHOED


def test_a_process_that_stops_responding_is_replaced(worker, file, monkeypatch):
    echo(worker, file)
    os.kill(fork_server_pid(worker), signal.SIGSTOP)
    monkeypatch.setattr(fork_client, "START_SECONDS", 0.5)

    with pytest.raises(TimedOut, match=r"0\.5 s"):
        echo(worker, file)

    monkeypatch.undo()
    assert echo(worker, file) == ECHOED


def test_a_process_that_stops_responding_is_replaced_although_no_call_waits_so_long(worker, file, monkeypatch):
    echo(worker, file)
    stopped = fork_server_pid(worker)
    os.kill(stopped, signal.SIGSTOP)
    with monkeypatch.context() as patch:
        patch.setattr(fork_client, "START_SECONDS", 0.3)
        for _ in range(10):  # so few that the socket has space for all
            with pytest.raises(TimedOut, match=r"0\.05 s"):
                worker.run("echo", file, {}, asked="data", context=CallContext(0.05))
            if fork_server_pid(worker) != stopped:
                break

    assert fork_server_pid(worker) is None
    assert echo(worker, file) == ECHOED


def test_a_python_that_does_not_start_is_tried_twice(file, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    worker = bad_worker()

    with pytest.raises(Internal, match="cannot be started"):
        worker.run("echo", file, {}, asked="data")


def ends(is_over):
    """Return whether something is over within two minutes."""
    for _ in range(6000):
        if is_over():
            return True
        time.sleep(0.02)
    return False


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as listed:
        return listed.read().split()


def gone(pid):
    """Return whether a process ends within two minutes."""

    def is_gone():
        try:
            with open(f"/proc/{pid}/stat") as status:
                return status.read().rpartition(")")[2].split()[0] in "ZX"
        except (FileNotFoundError, ProcessLookupError):
            return True

    return ends(is_gone)


def failing(*_):
    raise OSError(errno.EIO, os.strerror(errno.EIO))


class Failing:
    """A poll(2) that fails."""

    register = poll = failing


@linux
@pytest.mark.parametrize(
    "broken",
    [
        lambda patch: patch.setattr(fork_client.select, "poll", Failing),
        lambda patch: patch.setattr(fork_client.socket.socket, "sendmsg", failing),
    ],
    ids=["waiting", "sending"],
)
def test_a_job_that_fails_in_the_client_ends_neither_the_process_nor_other_jobs(worker, file, monkeypatch, broken):
    is_waiting = threading.Event()

    class Watched(CallContext):
        def advance(self, done_bytes, total_bytes):
            is_waiting.set()

    answers = []
    echo(worker, file)
    process = fork_server_pid(worker)
    other = threading.Thread(
        target=lambda: answers.append(worker.run("nap", file, {}, asked="data", context=Watched()))
    )
    other.start()
    is_waiting.wait()
    with monkeypatch.context() as patch:
        broken(patch)
        with pytest.raises(Internal, match=f"cannot be used: {os.strerror(errno.EIO)}"):
            echo(worker, file)
    other.join()

    assert answers == [({"slept": 1}, [])]
    assert echo(worker, file) == ECHOED
    assert fork_server_pid(worker) == process


@linux
def test_a_process_that_received_half_a_message_is_replaced(worker, file, monkeypatch):
    echo(worker, file)
    process = fork_server_pid(worker)
    with monkeypatch.context() as patch:
        whole = socket.socket.sendmsg
        patch.setattr(socket.socket, "sendmsg", lambda end, data, rights: whole(end, [data[0][:7]], rights))
        patch.setattr(socket.socket, "sendall", failing)
        with pytest.raises(Internal, match=os.strerror(errno.EIO)):
            echo(worker, file)

    assert echo(worker, file) == ECHOED
    assert fork_server_pid(worker) != process


@linux
def test_cancelling_a_call_kills_its_job(file):
    worker = bad_worker(seconds=3600)  # its limits do not end the job
    echo(worker, file)
    context = CallContext()
    threading.Timer(0.3, setattr, (context, "cancelled", True)).start()
    try:
        with pytest.raises(Cancelled):
            worker.run("loop", file, {}, asked="data", context=context)

        assert ends(lambda: not children(fork_server_pid(worker)))
    finally:
        worker.stop()


@linux
def test_a_forked_process_starts_its_own_and_leaves_its_parents_running():
    out = script("""
        assert works()
        first = fork_server_pid(worker)
        child = os.fork()
        if child == 0:
            print(works(), fork_server_pid(worker) != first, flush=True)
            worker.stop()
            os._exit(0)
        os.waitpid(child, 0)
        print(works(), fork_server_pid(worker) == first)
        worker.stop()
    """)

    assert out.split() == ["True", "True", "True", "True"]


@linux
@pytest.mark.parametrize("end", ["os._exit(0)", "os.kill(os.getpid(), signal.SIGKILL)", "sys.exit()"])
def test_the_process_and_its_jobs_end_with_their_parent(end):
    out = script(f"""
        assert works()
        def busy():
            try:
                worker.run("sleep", fd, {{}}, asked="")
            except Exception:
                pass
        threading.Thread(target=busy, daemon=True).start()
        fork_server = fork_server_pid(worker)
        while not (found := open(f"/proc/{{fork_server}}/task/{{fork_server}}/children").read().split()):
            time.sleep(0.01)
        print(fork_server, found[0], flush=True)
        {end}
    """)

    assert [gone(int(pid)) for pid in out.split()] == [True, True]


@linux
def test_the_process_outlives_the_thread_that_started_it():
    out = script("""
        thread = threading.Thread(target=works)
        thread.start(); thread.join()
        first = fork_server_pid(worker)
        time.sleep(0.2)
        print(works(), fork_server_pid(worker) == first)
        worker.stop()
    """)

    assert out.split() == ["True", "True"]


@linux
def test_a_running_process_serves_a_client_that_entered_a_sandbox():
    out = script("""
        from eyespan.sandbox import landlock, process
        assert works()
        restricted = landlock.version() > 0 and process.no_new_privileges() and landlock.Ruleset().restrict()
        try:
            open("/etc/passwd")
        except PermissionError:
            restricted = "no file opens"
        print(restricted, works())
        worker.stop()
    """)

    assert out in ("no file opens True\n", "False True\n")  # the second on a kernel without Landlock


def test_a_job_waits_for_another_that_is_passed_on_and_at_most_until_its_deadline(worker, file):
    echo(worker, file)
    with worker._client._lock, pytest.raises(TimedOut):
        worker.run("echo", file, {}, asked="data", context=CallContext(0.05))

    assert echo(worker, file) == ECHOED


def test_a_job_for_a_fork_server_that_takes_none_ends_at_its_deadline(worker, file):
    """The jobs of others go on: nothing of this one was sent."""
    echo(worker, file)
    before = fork_server_pid(worker)
    client = worker._client
    here, there = socket.socketpair()
    here.setblocking(False)
    try:
        while True:
            here.send(bytes(1 << 16))
    except BlockingIOError:
        pass
    control, client._control = client._control, here
    try:
        with pytest.raises(TimedOut):
            worker.run("echo", file, {}, asked="data", context=CallContext(0.1))
        waited_seconds = here.gettimeout()
    finally:
        client._control = control
        here.close()
        there.close()

    assert (waited_seconds <= 0.1, echo(worker, file), fork_server_pid(worker)) == (True, ECHOED, before)
