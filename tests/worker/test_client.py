"""Every misbehaviour of a decoder is one clear error, and the next job works."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

import pytest

from eyespan import worker as shared
from eyespan.context import CallContext
from eyespan.errors import Cancelled, Internal, Missing, TimedOut, Unreadable
from eyespan.memory import FREE_BYTES, SHARED_BYTES
from eyespan.worker import client
from eyespan.worker.client import JobLimits, Worker
from tests.bad_worker import ECHOED, bad_worker, echo, fork_server_pid
from tests.descriptors import open_descriptors

posix = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
linux = pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")


def test_facts_and_blobs_arrive_unchanged(worker, file):
    assert echo(worker, file) == ECHOED


def test_the_file_is_read_from_its_start(worker, file):
    os.lseek(file, 5, os.SEEK_SET)

    assert echo(worker, file) == ECHOED


def test_a_job_that_fails_frees_its_place(worker, file, monkeypatch):
    freed = []
    monkeypatch.setattr(worker._turn, "release", lambda: freed.append(True))

    with pytest.raises(Unreadable):
        worker.run("refuse", file, {}, asked="data")
    with pytest.raises(Cancelled):
        worker.run("echo", file, {}, asked="data", context=cancelled_call())

    assert freed == [True, True]


def cancelled_call():
    call = CallContext()
    call.cancelled = True
    return call


@pytest.mark.parametrize("backend", client.BACKENDS)
def test_a_response_is_paid_for(backend, tmp_path):
    (tmp_path / "large").write_bytes(bytes(100_000))
    worker = bad_worker(backend)
    call = CallContext()
    try:
        with (tmp_path / "large").open("rb") as large:
            worker.run("echo", large.fileno(), {}, asked="large", context=call)
    finally:
        worker.stop()

    assert 100_000 <= call.memory.charged_bytes < 200_000


@pytest.mark.parametrize("backend", client.BACKENDS)
@pytest.mark.parametrize(
    ("task", "error", "words"),
    [
        ("crash", Unreadable, f"signal {int(signal.SIGSEGV)}"),
        ("abort", Unreadable, "crashed"),
        ("leave", Unreadable, "exited without a response"),
        ("loop", TimedOut, "no answer within 0.5 s"),
        ("sleep", TimedOut, "no answer within 0.5 s"),
        ("eat", Unreadable, "more memory"),
        ("nibble", Unreadable, "more memory|crashed"),  # Python itself may crash without any memory left
        ("flood", Unreadable, "too large"),
        ("deep", Unreadable, "nested too deeply"),
        ("refuse", Unreadable, "not to my taste"),
        ("lacks", Missing, "pip install that"),
        ("odd", Unreadable, "the decoder failed: '"),
        ("absent", Unreadable, "no_such_module"),
        ("unknown", Unreadable, "it has no decoder"),
    ],
)
def test_a_decoder_that_misbehaves_is_one_error_and_the_next_job_works(backend, task, error, words, file):
    worker = bad_worker(backend, seconds=0.5 if error is TimedOut else 30)
    try:
        with pytest.raises(error) as caught:
            worker.run(task, file, {}, asked="data")

        assert type(caught.value) is error
        assert any(each in str(caught.value) for each in words.split("|"))
        assert caught.value.path == "data"
        assert echo(worker, file) == ECHOED
    finally:
        worker.stop()


@pytest.mark.parametrize("backend", client.BACKENDS)
def test_a_process_that_cannot_be_started_is_one_error(file, monkeypatch, backend):
    monkeypatch.setattr(sys, "executable", "/nonexistent/python")
    worker = bad_worker(backend)

    with pytest.raises(Internal, match="cannot be"):
        worker.run("echo", file, {}, asked="data")

    assert set(worker.layers().values()) == {False}


def test_many_threads_share_one_worker(worker, tmp_path):
    (tmp_path / "data").write_bytes(b"some bytes")
    answers, failures = [], []

    def work(task):
        file = os.open(tmp_path / "data", os.O_RDONLY)
        for _ in range(4):
            try:
                answers.append(echo(worker, file) if task == "echo" else worker.run(task, file, {}, asked="data"))
            except Unreadable as error:
                failures.append(error)
        os.close(file)

    threads = [threading.Thread(target=work, args=(task,)) for task in ["echo"] * 6 + ["crash", "refuse"]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert answers == [ECHOED] * 24
    assert len(failures) == 8


@pytest.mark.parametrize("backend", client.BACKENDS)
def test_the_deadline_of_the_call_applies_too(backend, file):
    worker = bad_worker(backend, seconds=30)

    with pytest.raises(TimedOut, match=r"0\.2 s"):
        worker.run("sleep", file, {}, asked="data", context=CallContext(0.2))

    worker.stop()


@linux
def test_jobs_leave_no_descriptor_open(worker, file):
    echo(worker, file)
    before = len(open_descriptors())

    for task in ("echo", "crash", "flood", "refuse", "lacks", "loop"):
        try:
            worker.run(task, file, {}, asked="data", context=CallContext(0.2 if task == "loop" else None))
        except (Unreadable, Missing, TimedOut):
            pass

    assert len(open_descriptors()) <= before


def test_the_shared_worker_has_only_the_tasks_of_the_table(file):
    with pytest.raises(Unreadable, match="it has no decoder"):
        shared.run("bad_decoders:echo", file, {}, asked="data", context=CallContext())


def test_a_worker_without_jobs_starts_no_process():
    assert fork_server_pid(Worker()) is None


def test_threads_that_start_at_once_share_one_worker(monkeypatch):
    monkeypatch.setattr(shared, "_worker", None)
    made = []

    class Slow:
        def __init__(self):
            time.sleep(0.05)
            made.append(self)

    monkeypatch.setattr("eyespan.worker.client.Worker", Slow)
    threads = [threading.Thread(target=shared.shared) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert made == [shared._worker]


def test_a_call_that_has_the_turn_for_memory_never_waits_for_jobs(tmp_path, monkeypatch):
    """The jobs that it would wait for may wait for that turn."""
    busy = Worker(JobLimits(jobs=1))
    call = CallContext()
    call.charge(FREE_BYTES + SHARED_BYTES + 1)
    (tmp_path / "a.txt").write_bytes(b"text")
    try:
        with busy._turn, (tmp_path / "a.txt").open("rb") as file:
            with monkeypatch.context() as patch:
                patch.setattr(busy._client, "run", lambda *_, **__: pytest.fail("more jobs than may run at once"))
                with pytest.raises(TimedOut):
                    busy.run("html", file.fileno(), {}, asked="a", context=CallContext(0.2))
            facts, _ = busy.run("html", file.fileno(), {}, asked="a", context=call)
    finally:
        call.finish()
        busy.stop()

    assert call.memory.has_turn is False
    assert isinstance(facts, dict)
