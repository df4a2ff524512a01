"""This side of the worker: starts it on first need, hands jobs over, reads answers with a limit on time and size.

`Worker` is safe for threads and for forks (a forked process starts its own), and gets over the death of the other
side: a job that was not begun is given to a new one, a job that was is answered with an error. Nothing that comes back
is trusted: an answer is plain JSON and bytes, measured before it is looked at.
"""

from __future__ import annotations

import array
import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from typing import TYPE_CHECKING, Any

from eyespan.context import CallContext
from eyespan.decoders.table import DECODERS
from eyespan.errors import Internal, Missing, SystemFailure, TimedOut, Unreadable, shortage
from eyespan.model import MIB
from eyespan.record import record
from eyespan.sandbox.interpreter import module_path
from eyespan.source import close_fd
from eyespan.worker.fork_server import ENDED, STARTED

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from eyespan.errors import ReadError

START_SECONDS = 30.0
"""How long a job may wait for the other side to come up; a busy machine may take some seconds."""
_BEAT_SECONDS = 0.05
_MAX_HEAD_BYTES = 8 * MIB
_CHUNK_BYTES = 256 * 1024
BACKENDS = ("fork_server", "plain")


@record
class JobLimits:
    """What one job may use."""

    seconds: float = 10.0
    """Of wall time and, separately, of CPU time."""
    memory_bytes: int = 512 * MIB
    """Of address space, code and libraries included."""
    output_bytes: int = 64 * MIB
    jobs: int = max(2, min(4, os.cpu_count() or 2))
    """At once; more wait for their turn."""


class _GoneError(Exception):
    """The other side is gone and had not begun this job."""


class _HalfSentError(OSError):
    """The other side has got a part of a message and would take the next one for the rest of it."""


class Worker:
    """The process in which files are decoded, as seen from here.

    `decoders` is the table of tasks, `path` what is added to the module path over there; both are for tests that bring
    decoders of their own. `backend` is "fork_server" where processes can be forked, "plain" (a new process for each
    job, fewer walls) elsewhere.
    """

    def __init__(
        self,
        limits: JobLimits | None = None,
        *,
        decoders: Mapping[str, str] | None = None,
        path: Sequence[str] = (),
        backend: str = "auto",
    ) -> None:
        self.limits = limits or JobLimits()
        self.backend = ("fork_server" if hasattr(os, "fork") else "plain") if backend == "auto" else backend
        self._decoders = dict(DECODERS if decoders is None else decoders)
        self._path = tuple(path)
        self._reset()
        _workers.add(self)

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._turn = threading.BoundedSemaphore(self.limits.jobs)
        self._process: subprocess.Popen[bytes] | None = None
        self._silent_since: float | None = None
        """When a job was handed over, if none has begun since."""
        self._control: socket.socket | None = None

    # --- what callers use ---

    def run(
        self, task: str, fd: int, params: Mapping[str, Any], *, asked: str, context: CallContext | None = None
    ) -> tuple[dict[str, Any], list[bytes]]:
        """What the decoder of `task` makes of the file behind `fd`, whose position is the decoder's while it runs.

        Raises: Unreadable, TimedOut, Missing, Cancelled.
        """
        context = context or CallContext()
        head, blobs = self._answer(task, fd, params, asked, context)
        if "error" in head:
            raise _error(head, asked, task)
        facts = head.get("facts")
        if not isinstance(facts, dict):
            raise _broken(asked, task)
        return facts, blobs

    def layers(self) -> dict[str, bool]:
        """Which walls stand around a job here, found out by running one."""
        names = ("limits", "no_new_privs", "landlock", "capabilities", "seccomp")
        found: dict[str, bool] = dict.fromkeys(("process", *names), False)
        here, there = os.pipe()
        try:
            head, _ = self._answer("", here, {}, "", CallContext())
        except (Unreadable, TimedOut, Internal, SystemFailure):
            return found
        finally:
            close_fd(here)
            close_fd(there)
        reported = head.get("layers")
        if isinstance(reported, dict):
            found.update({name: reported.get(name) is True for name in names}, process=True)
        return found

    def start(self, tasks: Sequence[str] | None = None) -> None:
        """Starts the process now and lets it import the decoders of `tasks` (all, without it), for a host that goes
        behind walls of its own afterwards. Does nothing where each job has its own process."""
        if self.backend == "plain":
            return
        with self._lock:
            _send(self._ready(), {"preload": list(self._decoders if tasks is None else tasks)}, ())

    def stop(self) -> None:
        """Ends the process; the next job starts another."""
        with self._lock:
            self._drop()

    # --- one job ---

    def _answer(
        self, task: str, fd: int, params: Mapping[str, Any], asked: str, context: CallContext
    ) -> tuple[dict[str, Any], list[bytes]]:
        while not self._turn.acquire(timeout=_BEAT_SECONDS):
            context.advance(0, 0)
        try:
            if self.backend == "plain":
                data = self._plain_job(task, fd, params, asked, context)
            else:
                data = self._forked_job(task, fd, params, asked, context)
        finally:
            self._turn.release()
        return _parse(data, asked, task)

    def _forked_job(self, task: str, fd: int, params: Mapping[str, Any], asked: str, context: CallContext) -> bytes:
        message = {"task": task, "params": {"seconds": self.limits.seconds, **params}}
        for last in (False, True):
            process = None
            ends: tuple[socket.socket, ...] = ()
            try:
                ends = here, there = socket.socketpair()
                with self._lock:
                    control, process = self._ready(), self._process
                    _send(control, message, (fd, there.fileno()))
                _let_go(there)  # else this process would be the one that holds it open for ever
                return self._collect(here, asked, task, context)
            except (_GoneError, BrokenPipeError, ConnectionResetError):
                with self._lock:
                    if process is not None and self._process is process:
                        self._drop()
                if last:
                    raise Internal(asked, "the decoding process cannot be started") from None
            except (OSError, subprocess.SubprocessError) as error:
                # The process itself is well, and others have their jobs in it: closing this job's socket ends this job.
                if isinstance(error, (_HalfSentError, TimeoutError)):
                    self._kill()
                raise _unusable(asked, error) from None
            finally:
                for end in ends:
                    _let_go(end)
        raise AssertionError("the second try always ends the loop")

    def _collect(self, here: socket.socket, asked: str, task: str, context: CallContext) -> bytes:
        """Everything the child writes, without the frame around it.

        Leaving this early closes the socket, which is what makes the other side kill the child.
        """
        here.setblocking(False)
        poll = select.poll()  # select() knows no descriptor above 1023
        poll.register(here, select.POLLIN)
        end = time.monotonic() + START_SECONDS
        if self._silent_since is None:
            self._silent_since = time.monotonic()
        begun = False
        data = bytearray()
        size = 0  # of a whole answer, once it is known
        most = self.limits.output_bytes + _MAX_HEAD_BYTES
        while True:
            ready = poll.poll(_BEAT_SECONDS * 1000)
            try:
                context.advance(len(data), 0)
            except BaseException:
                self._judge_silence(begun)
                raise
            if time.monotonic() > end:
                if not begun:  # not even told that it started: stopped, swapped out or worse
                    self._kill()
                raise TimedOut(asked, seconds=self.limits.seconds if begun else START_SECONDS)
            if ready:
                try:
                    chunk = here.recv(_CHUNK_BYTES)
                except BlockingIOError:
                    continue
                if not chunk:
                    break
                data += chunk
                if not begun:
                    begun = True
                    self._silent_since = None
                    end = time.monotonic() + self.limits.seconds
                if len(data) > most:
                    raise Unreadable(asked, kind=task, reason="what it decodes to is too large")
                if not size:
                    size = _size(data)
                if len(data) == size:  # all of it: how the child ends, which takes a while, is of no interest
                    return bytes(data[len(STARTED) :])
        if not begun:
            raise _GoneError
        tail = bytes(data[-8:])
        if tail[:4] != ENDED:
            raise Unreadable(asked, kind=task, reason="the process that decoded it was ended from outside")
        _judge_status(int.from_bytes(tail[4:], "big"), asked, task, self.limits.seconds)
        return bytes(data[len(STARTED) : -8])

    def _judge_silence(self, begun: bool) -> None:
        """Whoever gave up before its job began may have met a process that is stuck, which nobody waits out."""
        since = self._silent_since
        if not begun and since is not None and time.monotonic() - since > START_SECONDS:
            self._silent_since = None
            self._kill()

    # --- the process ---

    def _ready(self) -> socket.socket:
        """The control socket of a living process. Called with the lock held."""
        if self._process is not None and self._process.poll() is not None:
            self._drop()
        if self._control is None:
            self._launch()
        control = self._control
        assert control is not None
        return control

    def _launch(self) -> None:
        here, there = socket.socketpair()
        code = (
            "import sys; sys.path[:] = sys.argv[2:]; "
            "from eyespan.worker.fork_server import main; main(int(sys.argv[1]))"
        )
        try:
            here.settimeout(START_SECONDS)
            process = self._spawn(code, [str(there.fileno())], pass_fds=(there.fileno(),))
        except BaseException:
            _let_go(here)
            raise
        finally:
            _let_go(there)
        self._process, self._control = process, here
        config = {
            "decoders": self._decoders,
            "memory_bytes": self.limits.memory_bytes,
            "seconds": self.limits.seconds,
            "parent": os.getpid(),
        }
        try:
            _send(here, config, ())
        except OSError:
            self._drop()
            raise

    def _spawn(self, code: str, arguments: list[str], **streams: Any) -> subprocess.Popen[bytes]:
        """A Python of the same kind, with this module path and nothing else of this process.

        Its standard streams are dead ends made of pipes: /dev/null may be out of reach when this process is jailed.
        """
        if not sys.executable or getattr(sys, "frozen", False):
            raise OSError(0, "no Python interpreter is known")
        nothing_in, filler = os.pipe()
        close_fd(filler)
        nothing_out = -1
        try:
            sink, nothing_out = os.pipe()
            close_fd(sink)
            streams.setdefault("stdin", nothing_in)
            streams.setdefault("stdout", nothing_out)
            return subprocess.Popen(
                [sys.executable, "-I", "-S", "-X", "utf8", "-c", code, *arguments, *_module_path(self._path)],
                stderr=nothing_out,
                env=_environment(),
                close_fds=True,
                start_new_session=True,  # a Ctrl-C in the terminal is this process's affair
                **streams,
            )
        finally:
            close_fd(nothing_in)
            if nothing_out >= 0:
                close_fd(nothing_out)

    def _drop(self) -> None:
        """Lets the process end. Called with the lock held."""
        control, self._control = self._control, None
        process, self._process = self._process, None
        if control is not None:
            _let_go(control)
        if process is not None:
            _end(process)

    def _kill(self) -> None:
        with self._lock:
            if self._process is not None:
                self._process.kill()
            self._drop()

    def _forget(self) -> None:
        """In a forked process: the worker is the parent's."""
        process, control = self._process, self._control
        if process is not None:
            process.returncode = 0  # else its destructor warns about a process that is not ours to wait for
        self._reset()
        if control is not None:
            _let_go(control)

    # --- without fork ---

    def _plain_job(self, task: str, fd: int, params: Mapping[str, Any], asked: str, context: CallContext) -> bytes:
        job = {
            "task": task,
            "params": {"seconds": self.limits.seconds, **params},
            "decoders": self._decoders,
            "memory_bytes": self.limits.memory_bytes,
            "seconds": self.limits.seconds,
        }
        code = "import sys; sys.path[:] = sys.argv[2:]; from eyespan.worker.fork_server import once; once(sys.argv[1])"
        try:
            process = self._spawn(code, [json.dumps(job)], stdin=fd, stdout=subprocess.PIPE)
        except (OSError, subprocess.SubprocessError) as error:
            raise _unusable(asked, error) from None
        data = bytearray()
        most = self.limits.output_bytes + _MAX_HEAD_BYTES
        reader = threading.Thread(target=_drain, args=(process, data, most), daemon=True)
        reader.start()
        end = time.monotonic() + self.limits.seconds + START_SECONDS / 10  # one start is in it
        try:
            while reader.is_alive():
                reader.join(_BEAT_SECONDS)
                context.advance(len(data), 0)
                if time.monotonic() > end:
                    raise TimedOut(asked, seconds=self.limits.seconds)
            if len(data) > most:
                raise Unreadable(asked, kind=task, reason="what it decodes to is too large")
            _end(process)
        finally:
            process.kill()
            reader.join()
            status = process.wait()
            if process.stdout is not None:
                process.stdout.close()
        if not data:
            _judge_status(-status if status < 0 else status << 8, asked, task, self.limits.seconds)
        return bytes(data)


# --- helpers ----------------------------------------------------------------------------------------------------------


def _send(control: socket.socket, message: Mapping[str, Any], fds: tuple[int, ...]) -> None:
    """Raises: OSError, and then nothing was sent, but for _HalfSentError and TimeoutError."""
    data = json.dumps(message).encode("ascii")
    data = len(data).to_bytes(4, "big") + data
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds).tobytes())] if fds else []
    sent = control.sendmsg([data], rights)
    if sent < len(data):
        try:
            control.sendall(data[sent:])
        except (BrokenPipeError, ConnectionResetError):
            raise
        except OSError as error:
            raise _HalfSentError(error.errno, error.strerror) from None


def _let_go(end: socket.socket) -> None:
    """Closes a socket, whatever the system says of it; twice does no harm."""
    fd = end.detach()
    if fd >= 0:
        close_fd(fd)


def _drain(process: subprocess.Popen[bytes], data: bytearray, most: int) -> None:
    assert process.stdout is not None
    while len(data) <= most:
        chunk = os.read(process.stdout.fileno(), _CHUNK_BYTES)
        if not chunk:
            return
        data += chunk


def _module_path(extra: Sequence[str]) -> list[str]:
    """What modules are found by over there: as here, but never by the folder one happens to stand in."""
    found = module_path()
    own = found.pop(0)
    return [*extra, *found, *([] if own in found else [own])]


def _environment() -> dict[str, str]:
    """Only what a Python needs to come up; nothing that is secret."""
    return {name: os.environ[name] for name in ("LD_LIBRARY_PATH", "SYSTEMROOT") if name in os.environ}


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(1)
    except (subprocess.TimeoutExpired, OSError):
        process.kill()
        # One that waits for a hung mount cannot be killed; or the system does not say what became of it.
        with contextlib.suppress(subprocess.TimeoutExpired, OSError):
            process.wait(1)


def _judge_status(status: int, asked: str, task: str, seconds: float) -> None:
    """Raises: TimedOut, Unreadable, unless the child ended as it should."""
    number = status & 0x7F
    if number in (getattr(signal, "SIGXCPU", -1), getattr(signal, "SIGALRM", -1)):
        raise TimedOut(asked, seconds=seconds)
    if number == getattr(signal, "SIGKILL", -1):
        raise Unreadable(asked, kind=task, reason="the process that decoded it was ended by the system")
    if number:
        reason = f"the decoder crashed on it (signal {number}); the file is damaged or made to do harm"
        raise Unreadable(asked, kind=task, reason=reason)
    if status:
        raise Unreadable(asked, kind=task, reason="the decoder gave up on it")


def _size(data: bytearray) -> int:
    """How much there is until an answer that starts so is whole; 0 if that cannot be told, yet or at all."""
    at = len(STARTED)
    head = int.from_bytes(data[at : at + 4], "big")
    if len(data) < at + 4 + head or not 0 < head <= _MAX_HEAD_BYTES:
        return 0
    try:
        told = json.loads(data[at + 4 : at + 4 + head], parse_constant=_refuse)
        blobs: int = sum(told["blobs"])
    except (ValueError, RecursionError, TypeError, KeyError):
        return 0  # judged when the child has ended
    return at + 4 + head + blobs


def _parse(data: bytes, asked: str, task: str) -> tuple[dict[str, Any], list[bytes]]:
    """An answer taken apart. Raises: Unreadable, for anything that is not one."""
    size = int.from_bytes(data[:4], "big")
    if len(data) < 4 or size > _MAX_HEAD_BYTES or 4 + size > len(data):
        raise _broken(asked, task)
    try:
        head = json.loads(data[4 : 4 + size], parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise _broken(asked, task) from None
    lengths = head.get("blobs") if isinstance(head, dict) else None
    if not isinstance(lengths, list) or any(type(length) is not int or length < 0 for length in lengths):
        raise _broken(asked, task)
    if 4 + size + sum(lengths) != len(data):
        raise _broken(asked, task)
    blobs, at = [], 4 + size
    for length in lengths:
        blobs.append(data[at : at + length])
        at += length
    return head, blobs


def _refuse(word: str) -> Any:
    raise ValueError(word)


def _broken(asked: str, task: str) -> Unreadable:
    return Unreadable(asked, kind=task, reason="the decoder's answer makes no sense; the file may be made to do harm")


def _unusable(asked: str, error: Exception) -> ReadError:
    """It cannot be started or spoken to: for want of descriptors or memory, as any read may be, or by our fault."""
    reason = f"the decoding process cannot be used: {getattr(error, 'strerror', None) or error}"
    number = shortage(error)
    return SystemFailure(asked, number, reason) if number else Internal(asked, reason)


def _error(head: Mapping[str, Any], asked: str, task: str) -> ReadError:
    fields = {name: str(head.get(name, ""))[:500] for name in ("kind", "reason", "what", "install")}
    match head["error"]:
        case "missing":
            return Missing(asked, what=fields["what"], install=fields["install"])
        case "memory":
            return Unreadable(asked, kind=task, reason="decoding it takes more memory than is allowed")
        case "process":
            return Internal(asked, f"the decoding process cannot be started: {fields['reason']}")
    return Unreadable(asked, kind=fields["kind"] or task, reason=fields["reason"] or "it cannot be decoded")


_workers: weakref.WeakSet[Worker] = weakref.WeakSet()


def _each(act: Callable[[Worker], None]) -> None:
    for worker in list(_workers):
        act(worker)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _each(Worker._forget))


def stop_all() -> None:
    """Ends every worker process of this one."""
    _each(Worker.stop)
