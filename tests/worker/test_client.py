"""What callers are promised: one clear error for whatever a decoder does, and a next call that works."""

import errno
import json
import os
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from bad_worker import DECODERS, bad_worker
from eyespan import worker as shared
from eyespan.context import CallContext
from eyespan.errors import Cancelled, Internal, Missing, TimedOut, Unreadable
from eyespan.worker import client
from eyespan.worker.client import JobLimits, Worker

FIXTURES = Path(__file__).parent.parent / "fixtures"

posix = pytest.mark.skipif(not hasattr(os, "fork"), reason="one process a job is all there is without fork")
linux = pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")

ECHOED = ["some bytes", "", "second"]


def echo(worker, fd):
    facts, blobs = worker.run("echo", fd, {"word": "é"}, asked="data")
    assert facts["params"]["word"] == "é"
    return [blob.decode() for blob in blobs]


def test_facts_and_blobs_come_back_as_the_decoder_gave_them(worker, file):
    assert echo(worker, file) == ECHOED


def test_the_file_is_read_from_its_start_wherever_the_descriptor_stood(worker, file):
    os.lseek(file, 5, os.SEEK_SET)

    assert echo(worker, file) == ECHOED


@pytest.mark.parametrize("backend", client.BACKENDS)
@pytest.mark.parametrize(
    ("task", "error", "words"),
    [
        ("crash", Unreadable, f"signal {int(signal.SIGSEGV)}"),
        ("abort", Unreadable, "crashed"),
        ("leave", Unreadable, "gave up"),
        ("loop", TimedOut, "no answer within 1.5 s"),
        ("sleep", TimedOut, "no answer within 1.5 s"),
        ("eat", Unreadable, "more memory"),
        ("flood", Unreadable, "too large"),
        ("deep", Unreadable, "nested too deeply"),
        ("refuse", Unreadable, "not to my taste"),
        ("lacks", Missing, "pip install that"),
        ("odd", Unreadable, "KeyError"),
        ("absent", Unreadable, "no_such_module"),
        ("unknown", Unreadable, "KeyError"),
    ],
)
def test_a_decoder_that_misbehaves_is_one_error_and_the_next_job_works(backend, task, error, words, file):
    worker = bad_worker(backend, seconds=1.5 if error is TimedOut else 30)
    try:
        with pytest.raises(error) as caught:
            worker.run(task, file, {}, asked="data")

        assert type(caught.value) is error
        assert words in str(caught.value)
        assert caught.value.path == "data"
        assert echo(worker, file) == ECHOED
    finally:
        worker.stop()


def framed(text, extra=b""):
    return (len(text).to_bytes(4, "big") + text.encode() + extra).decode("latin-1")


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "\0",
        "\xff\xff\xff\xff{}",
        framed("{}"),
        framed("[]"),
        framed('{"blobs": [-1]}'),
        framed('{"blobs": [true]}', b"x"),
        framed('{"blobs": [10]}'),
        framed('{"blobs": []}', b"more"),
        framed('{"blobs": [10], "facts": {}}', b"less"),
        framed('{"blobs": [2], "facts": {}}', b"more"),
        framed('{"blobs": [], "facts": []}'),
        framed('{"blobs": [], "facts": NaN}'),
        framed("[" * 100_000),
        framed('{"blobs": [], "facts": {"n": ' + "9" * 5000 + "}}"),
    ],
)
def test_an_answer_that_makes_no_sense_is_not_believed(worker, file, answer):
    with pytest.raises(Unreadable, match="makes no sense"):
        worker.run("lie", file, {"answer": answer}, asked="data")

    assert echo(worker, file) == ECHOED


@posix
def test_an_answer_that_never_ends_is_not_waited_for(file):
    worker = bad_worker(seconds=1.5)
    try:
        with pytest.raises(TimedOut):
            worker.run("drip", file, {}, asked="data")

        assert echo(worker, file) == ECHOED
    finally:
        worker.stop()


@posix
def test_descriptors_of_a_busy_server_may_be_high(worker, file):
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


def test_words_of_a_lying_decoder_are_cut_to_a_length(worker, file):
    answer = framed('{"blobs": [], "error": "unreadable", "kind": 7, "reason": "' + "x" * 9000 + '"}')

    with pytest.raises(Unreadable) as caught:
        worker.run("lie", file, {"answer": answer}, asked="data")

    assert (caught.value.kind, len(caught.value.reason)) == ("7", 500)


@posix
def test_the_process_is_kept_between_jobs_and_replaced_when_it_dies(worker, file):
    echo(worker, file)
    first = worker._process.pid
    echo(worker, file)
    assert worker._process.pid == first

    os.kill(first, signal.SIGKILL)

    assert echo(worker, file) == ECHOED
    assert worker._process.pid != first


@posix
def test_a_job_that_was_handed_over_but_not_begun_is_given_to_a_new_process(worker, file):
    echo(worker, file)
    first = worker._process.pid
    os.kill(first, signal.SIGSTOP)  # it cannot take the job...
    threading.Timer(0.3, os.kill, (first, signal.SIGKILL)).start()  # ...and never will

    assert echo(worker, file) == ECHOED


@posix
def test_a_job_whose_process_dies_under_it_is_an_error_and_the_next_works(worker, file):
    echo(worker, file)
    threading.Timer(0.3, os.kill, (worker._process.pid, signal.SIGKILL)).start()

    with pytest.raises(Unreadable, match="ended from outside"):
        worker.run("sleep", file, {}, asked="data")

    assert echo(worker, file) == ECHOED


@posix
def test_a_process_that_no_longer_answers_is_given_up_and_replaced(worker, file, monkeypatch):
    echo(worker, file)
    os.kill(worker._process.pid, signal.SIGSTOP)
    monkeypatch.setattr(client, "START_SECONDS", 0.5)

    with pytest.raises(TimedOut, match=r"0\.5 s"):
        echo(worker, file)

    monkeypatch.undo()
    assert echo(worker, file) == ECHOED


@pytest.mark.parametrize("backend", client.BACKENDS)
def test_a_process_that_cannot_be_started_is_an_error_of_its_own(file, monkeypatch, backend):
    monkeypatch.setattr(sys, "executable", "/nonexistent/python")
    worker = bad_worker(backend)

    with pytest.raises(Internal, match="cannot be"):
        worker.run("echo", file, {}, asked="data")

    assert set(worker.layers().values()) == {False}


@posix
def test_a_python_that_does_not_come_up_is_tried_twice_and_told(file, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    worker = bad_worker()

    with pytest.raises(Internal, match="cannot be started"):
        worker.run("echo", file, {}, asked="data")


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


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as listed:
        return listed.read().split()


def gone(pid):
    """Whether a process ends within a while."""
    for _ in range(200):
        try:
            with open(f"/proc/{pid}/stat") as status:
                if status.read().rpartition(")")[2].split()[0] in "ZX":
                    return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.05)
    return False


def failing(*_):
    raise OSError(errno.EIO, os.strerror(errno.EIO))


class Failing:
    """A poll(2) that fails."""

    register = poll = failing


@linux
@pytest.mark.parametrize(
    "broken",
    [
        lambda patch: patch.setattr(client.select, "poll", Failing),
        lambda patch: patch.setattr(client.socket.socket, "sendmsg", failing),
    ],
    ids=["waiting", "sending"],
)
def test_a_job_that_fails_on_this_side_ends_neither_the_process_nor_the_jobs_of_others(
    worker, file, monkeypatch, broken
):
    begun = threading.Event()

    class Watched(CallContext):
        def advance(self, done_bytes, total_bytes):
            if done_bytes:
                begun.set()

    answers = []
    echo(worker, file)
    process = worker._process.pid
    other = threading.Thread(
        target=lambda: answers.append(worker.run("nap", file, {}, asked="data", context=Watched()))
    )
    other.start()
    begun.wait()
    with monkeypatch.context() as patch:
        broken(patch)
        with pytest.raises(Internal, match=f"cannot be used: {os.strerror(errno.EIO)}"):
            echo(worker, file)
    other.join()

    assert answers == [({"slept": 1}, [])]
    assert echo(worker, file) == ECHOED
    assert worker._process.pid == process


@linux
def test_after_half_a_message_the_process_is_replaced(worker, file, monkeypatch):
    echo(worker, file)
    process = worker._process.pid
    with monkeypatch.context() as patch:
        whole = socket.socket.sendmsg
        patch.setattr(socket.socket, "sendmsg", lambda end, data, rights: whole(end, [data[0][:7]], rights))
        patch.setattr(socket.socket, "sendall", failing)
        with pytest.raises(Internal, match=os.strerror(errno.EIO)):
            echo(worker, file)

    assert echo(worker, file) == ECHOED
    assert worker._process.pid != process


@linux
def test_cancelling_ends_the_job_at_once(worker, file):
    echo(worker, file)
    context = CallContext()
    threading.Timer(0.3, setattr, (context, "cancelled", True)).start()

    with pytest.raises(Cancelled):
        worker.run("loop", file, {}, asked="data", context=context)

    fork_server = worker._process.pid
    for _ in range(100):
        if not children(fork_server):
            break
        time.sleep(0.02)
    assert children(fork_server) == []


@pytest.mark.parametrize("backend", client.BACKENDS)
def test_a_deadline_of_the_call_counts_too(backend, file):
    worker = bad_worker(backend, seconds=30)

    with pytest.raises(TimedOut, match=r"0\.2 s"):
        worker.run("sleep", file, {}, asked="data", context=CallContext(0.2))

    worker.stop()


@linux
def test_no_descriptor_is_left_open_here(worker, file):
    echo(worker, file)
    before = len(os.listdir("/proc/self/fd"))

    for task in ("echo", "crash", "flood", "refuse", "lacks", "loop"):
        try:
            worker.run(task, file, {}, asked="data", context=CallContext(1 if task == "loop" else 30))
        except (Unreadable, Missing, TimedOut):
            pass

    assert len(os.listdir("/proc/self/fd")) == before


@posix
def test_a_job_sees_two_descriptors_and_dead_ends_and_no_environment(worker, file, monkeypatch):
    monkeypatch.setenv("SECRET_TOKEN", "x")

    facts, _ = worker.run("environment", file, {}, asked="data")

    assert facts["files"] == [0, 1, 2, 3, 4]
    assert not {"SECRET_TOKEN", "HOME", "PATH"} & set(facts["names"])


@linux
def test_the_process_holds_nothing_of_the_one_that_started_it(worker, file):
    echo(worker, file)
    mine = {os.readlink(f"/proc/self/fd/{fd}") for fd in (0, 1, 2)}
    theirs = {
        os.readlink(f"/proc/{worker._process.pid}/fd/{fd}") for fd in os.listdir(f"/proc/{worker._process.pid}/fd")
    }

    assert not mine & theirs
    assert os.getsid(worker._process.pid) != os.getsid(0)


def script(body):
    """Runs a program of its own that has a worker of bad decoders; what it printed."""
    head = f"""
        import os, signal, sys, threading, time
        sys.path.insert(0, {str(DECODERS.parent)!r})
        from bad_worker import bad_worker
        worker = bad_worker()
        fd = os.open({str(DECODERS)!r}, os.O_RDONLY)
        def works(): return worker.run("echo", fd, {{}}, asked="")[1][2] == b"second"
    """
    code = textwrap.dedent(head) + textwrap.dedent(body)
    done = subprocess.run(
        [sys.executable, "-c", code], input=b"kept for the caller", capture_output=True, timeout=60, check=False
    )
    assert done.stderr == b""
    return done.stdout.decode()


@linux
def test_a_forked_process_has_a_worker_of_its_own_and_leaves_its_parents_alone():
    out = script("""
        assert works()
        first = worker._process.pid
        child = os.fork()
        if child == 0:
            print(works(), worker._process.pid != first, flush=True)
            worker.stop()
            os._exit(0)
        os.waitpid(child, 0)
        print(works(), worker._process.pid == first)
        worker.stop()
    """)

    assert out.split() == ["True", "True", "True", "True"]


@linux
@pytest.mark.parametrize("end", ["os._exit(0)", "os.kill(os.getpid(), signal.SIGKILL)", "sys.exit()"])
def test_the_process_and_its_jobs_end_with_the_one_that_started_it(end):
    out = script(f"""
        assert works()
        def busy():
            try:
                worker.run("sleep", fd, {{}}, asked="")
            except Exception:
                pass
        threading.Thread(target=busy, daemon=True).start()
        fork_server = worker._process.pid
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
        first = worker._process.pid
        time.sleep(0.2)
        print(works(), worker._process.pid == first)
        worker.stop()
    """)

    assert out.split() == ["True", "True"]


@posix
def test_standard_input_and_output_are_the_callers_alone():
    out = script("""
        assert works()
        try:
            worker.run("crash", fd, {}, asked="")
        except Exception as error:
            pass
        worker.stop()
        print(sys.stdin.read())
    """)

    assert out == "kept for the caller\n"


@linux
def test_a_started_worker_serves_a_process_that_has_gone_behind_walls():
    out = script("""
        from eyespan.sandbox import landlock, process
        worker.start(["echo"])
        walled = landlock.version() > 0 and process.no_new_privileges() and landlock.Ruleset().restrict()
        try:
            open("/etc/passwd")
        except PermissionError:
            walled = "no file opens"
        print(walled, works())
        worker.stop()
    """)

    assert out in ("no file opens True\n", "False True\n")  # the second on a kernel without Landlock


def test_the_shared_worker_takes_other_limits():
    limits = JobLimits(seconds=3)
    try:
        shared.configure(limits)

        assert shared.worker().limits is limits
    finally:
        shared.configure(JobLimits())


def test_the_tasks_of_the_shared_worker_are_those_of_the_table_alone(file):
    with pytest.raises(Unreadable, match="KeyError"):
        shared.run("bad_decoders:echo", file, {}, asked="data", context=CallContext())


def test_a_worker_without_jobs_starts_no_process():
    assert Worker()._process is None


def test_threads_that_come_at_once_share_one_worker(monkeypatch):
    monkeypatch.setattr(shared, "_worker", None)
    made = []

    class Slow:
        def __init__(self):
            time.sleep(0.05)
            made.append(self)

    monkeypatch.setattr("eyespan.worker.client.Worker", Slow)
    threads = [threading.Thread(target=shared.worker) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert made == [shared._worker]


def test_modules_of_the_folder_one_stands_in_are_not_imported(tmp_path):
    (tmp_path / "PIL").mkdir()
    (tmp_path / "PIL" / "__init__.py").write_text("open('planted', 'w')\n")
    picture = FIXTURES / "pictures" / "plain.png"
    argv = [sys.executable, "-m", "eyespan", "call", "claude", "--root", str(picture.parent)]
    asked = json.dumps({"file_path": str(picture)})
    done = subprocess.run([*argv, asked], cwd=tmp_path, capture_output=True, timeout=60)

    assert json.loads(done.stdout)["is_error"] is False
    assert not (tmp_path / "planted").exists()
