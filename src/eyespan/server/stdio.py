"""The lean door: JSON-RPC lines on standard input and output.

Whichever thread reads a request does its work; before it starts, it leaves the reading to the next thread. So a slow
read blocks neither a ping nor its own cancellation, an answer never waits for a thread to wake up, and a second thread
exists only from the first call on. Input and output are taken over: what anything else prints goes to standard error.
"""

from __future__ import annotations

import os
import sys
import time
from _thread import allocate_lock, start_new_thread

from eyespan.context import DEADLINE_SECONDS, CallContext, WouldBlock
from eyespan.server import json_lines, protocol, sandboxing
from eyespan.server.protocol import Refused, Service, Session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from eyespan.server import WorkspaceFactory
    from eyespan.server.options import ServeOptions

MAX_LINE_BYTES = 4 * 1024 * 1024
"""The longest message taken: the SDK's limit for a request's body."""
MAX_THREADS = 9
"""One that reads messages and eight that read files."""
MAX_WAITING = 256
PROGRESS_SECONDS = 0.2
_PIPE_BYTES = 1 << 20
_F_SETPIPE_SZ = 1031


def serve(workspace_factory: WorkspaceFactory, options: ServeOptions) -> int:
    """Serves the process's own standard streams until the host closes them."""
    fd_in, fd_out = claim()
    audit = None
    if options.audit is not None:
        from eyespan.server.audit import Audit

        audit = Audit(options.audit, options.audit_bytes)
    service = Service(
        workspace_factory(None),
        options.dialects,
        settings=options.settings,
        rich=options.rich,
        audit=audit,
        audit_required=options.audit_required,
    )
    told = sandboxing.confine(options, service.workspace.roots, audit)
    sys.stderr.write(f"eyespan serve: standard input and output; {told}\n")
    if options.no_sandbox:
        sys.stderr.write(f"eyespan serve: {sandboxing.OFF_LINE}\n")
    sys.stderr.flush()
    try:
        return Door(service, fd_in, fd_out, options.timeout_seconds).run()
    except KeyboardInterrupt:
        return 130


def claim() -> tuple[int, int]:
    """Takes standard input and output over: private copies of them, /dev/null and standard error in their place."""
    fd_in, fd_out = _copy(0), _copy(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    try:
        os.dup2(2, 1)
    except OSError:  # started without standard error
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, 1)
        os.close(nothing)
    return fd_in, fd_out


def _copy(fd: int) -> int:
    if sys.platform == "win32":
        import msvcrt

        made = os.dup(fd)
        msvcrt.setmode(made, os.O_BINARY)
        return made
    import fcntl

    made = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3)
    if sys.platform == "linux":
        try:
            # An answer of 100 KB then goes out in one write, instead of waiting twice for the host to read.
            fcntl.fcntl(made, _F_SETPIPE_SZ, _PIPE_BYTES)
        except OSError:
            pass  # a socket, a file, or a user who holds too many pipes
    return made


class Job:
    """One message that has to look at the disk: a request, or a batch of them."""

    __slots__ = ("batch", "requests")

    def __init__(self, requests: list[tuple[str | int, str, dict[str, Any], CallContext]], batch: bool) -> None:
        self.requests = requests
        self.batch = batch


class Door:
    """One connection over two descriptors."""

    def __init__(self, service: Service, fd_in: int, fd_out: int, timeout_seconds: float = DEADLINE_SECONDS) -> None:
        self._session = Session(service, "stdio")
        self._in = fd_in
        self._out = fd_out
        self._timeout = timeout_seconds
        self._reading = allocate_lock()
        self._writing = allocate_lock()
        self._counting = allocate_lock()
        self._threads = 1
        self._busy = 0
        self._parked = 0
        """Calls that wait for a file system, each in a thread that is not one of the eight."""
        self._waiting: list[Job] = []
        self._running: dict[str | int, CallContext] = {}
        self._buffer = bytearray()
        self._searched = 0
        self._ended = False

    def run(self) -> int:
        """Serves until the input ends and every call is answered."""
        try:
            self._loop()
            while (self._busy or self._parked) and not self._broken():
                time.sleep(0.002)
        except KeyboardInterrupt:
            for context in list(self._running.values()):
                context.cancelled = True
            raise
        return 0

    def _broken(self) -> bool:
        return self._out < 0

    # --- threads ---------------------------------------------------------------------------------------------------

    def _loop(self) -> None:
        """What every thread does: read until there is work, do it, while the next one reads."""
        while True:
            with self._reading:
                job = self._next_job()
                if job is None:
                    return
                with self._counting:
                    self._busy += 1
                    needs_thread = self._busy == self._threads
                    self._threads += needs_thread
                if needs_thread:
                    start_new_thread(self._loop, ())
            while job is not None:
                try:
                    self._do(job)
                except Exception as error:  # no memory for the answer; the thread has to go on
                    _log(error)
                with self._counting:
                    if self._waiting:
                        job = self._waiting.pop(0)
                    else:
                        job = None
                        self._busy -= 1

    def _next_job(self) -> Job | None:
        """Reads messages and answers the quick ones, until one needs the disk; None when the input has ended."""
        while not self._ended:
            line = self._line()
            if line is None:
                self._ended = True
                break
            job = self._take(line)
            if job is None:
                continue
            with self._counting:
                if self._busy < MAX_THREADS - 1:
                    return job
                full = len(self._waiting) >= MAX_WAITING
                if not full:
                    self._waiting.append(job)
            if full:
                busy = Refused(protocol.BUSY, f"{MAX_WAITING} calls are waiting already; try again later")
                for request_id, _, _, _ in job.requests:
                    self._running.pop(request_id, None)
                self._send_all([_error(request_id, busy) for request_id, _, _, _ in job.requests], job.batch)
        return None

    # --- messages --------------------------------------------------------------------------------------------------

    def _take(self, line: bytes) -> Job | None:
        """Answers a message, or gives the job that will."""
        try:
            message = json_lines.loads(line)
        except json_lines.Malformed as error:
            self._send(_error(None, Refused(protocol.PARSE_ERROR, f"Parse error: {error}")))
            return None
        if isinstance(message, list):
            return self._take_batch(message)
        answer, request = self._judge(message)
        if answer is not None:
            self._send(answer)
        return None if request is None else Job([request], False)

    def _take_batch(self, messages: list[Any]) -> Job | None:
        if self._session.version != protocol.BATCH_VERSION or not messages:
            text = "an empty batch" if not messages else "batches are not part of this revision"
            self._send(_error(None, Refused(protocol.INVALID_REQUEST, f"Invalid request: {text}")))
            return None
        answers = []
        requests = []
        for message in messages[:MAX_WAITING]:
            answer, request = self._judge(message)
            if answer is not None:
                answers.append(answer)
            if request is not None:
                requests.append(request)
        if answers:
            self._send_all(answers, True)
        return Job(requests, True) if requests else None

    def _judge(
        self, message: Any
    ) -> tuple[dict[str, Any] | None, tuple[str | int, str, dict[str, Any], CallContext] | None]:
        """The answer to a message, or the request that has to be worked on; neither for a notice."""
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            return _error(None, Refused(protocol.INVALID_REQUEST, "Invalid request: no JSON-RPC 2.0 message")), None
        method, request_id = message.get("method"), message.get("id")
        if not isinstance(method, str):
            if "result" in message or "error" in message:
                return None, None  # an answer; we never ask
            return _error(request_id, Refused(protocol.INVALID_REQUEST, "Invalid request: no method")), None
        params = message.get("params")
        if params is None:
            params = {}
        if "id" not in message:
            if method == "notifications/cancelled" and isinstance(params, dict):
                self._cancel(params.get("requestId"))
            return None, None
        if not protocol.is_id(request_id):
            refused = Refused(protocol.INVALID_REQUEST, "Invalid request: id must be a string or a whole number")
            return _error(None, refused), None
        assert isinstance(request_id, (str, int))
        if not isinstance(params, dict):
            return _error(request_id, Refused(protocol.INVALID_PARAMS, "params must be an object")), None
        context = CallContext(self._timeout, self._progress(params), may_block=False)
        if method in protocol.READING_METHODS:
            self._running[request_id] = context
            return None, (request_id, method, params, context)
        return self._answer(request_id, method, params, context), None

    def _cancel(self, request_id: Any) -> None:
        context = self._running.get(request_id) if protocol.is_id(request_id) else None
        if context is not None:
            context.cancelled = True

    def _do(self, job: Job) -> None:
        try:
            self._work(job)
        except WouldBlock:
            # Sixty of these must not keep a plain read waiting: each gets a thread of its own for as long as it takes.
            # How many there can be at once is patience's business, which turns the rest away.
            for _, _, _, context in job.requests:
                context.may_block = True
            with self._counting:
                self._parked += 1
            try:
                start_new_thread(self._wait_with, (job,))
            except RuntimeError:  # the system gives no more threads
                self._wait_with(job)

    def _wait_with(self, job: Job) -> None:
        try:
            self._work(job)
        except Exception as error:
            _log(error)
        finally:
            with self._counting:
                self._parked -= 1

    def _work(self, job: Job) -> None:
        answers = []
        for request_id, method, params, context in job.requests:
            if not context.cancelled:
                answers.append(self._answer(request_id, method, params, context))
            if self._running.get(request_id) is context:
                self._running.pop(request_id, None)
            if context.cancelled and answers and answers[-1]["id"] == request_id:
                answers.pop()  # whoever cancels waits for no answer
        self._send_all(answers, job.batch)

    def _answer(
        self, request_id: str | int, method: str, params: dict[str, Any], context: CallContext
    ) -> dict[str, Any]:
        try:
            result = self._session.answer(method, params, context)
        except Refused as refused:
            return _error(request_id, refused)
        except Exception as error:
            _log(error)
            return _error(request_id, Refused(protocol.INTERNAL_ERROR, f"Internal error ({type(error).__name__})"))
        return {"jsonrpc": "2.0", "id": request_id, "result": result}

    def _progress(self, params: dict[str, Any]) -> Callable[[int, int], None] | None:
        """Tells the caller how far a long scan is, if it asked to be told."""
        token = protocol.progress_token(params)
        if token is None:
            return None
        last = [time.monotonic(), 0]

        def tell(done_bytes: int, total_bytes: int) -> None:
            now = time.monotonic()
            if now - last[0] < PROGRESS_SECONDS or done_bytes <= last[1]:
                return
            last[:] = [now, done_bytes]
            notice = {"progressToken": token, "progress": done_bytes, "total": max(total_bytes, done_bytes)}
            self._send({"jsonrpc": "2.0", "method": "notifications/progress", "params": notice})

        return tell

    # --- bytes -----------------------------------------------------------------------------------------------------

    def _line(self) -> bytes | None:
        """The next line that is not blank; None at the end. A line that is too long is refused and passed over."""
        buffer = self._buffer
        while True:
            end = buffer.find(b"\n", self._searched)
            if end >= 0:
                line = bytes(buffer[:end])
                del buffer[: end + 1]
                self._searched = 0
                if line.strip():
                    return line
                continue
            self._searched = len(buffer)
            if len(buffer) > MAX_LINE_BYTES:
                self._pass_over()
                continue
            block = self._read()
            if block:
                buffer += block
                continue
            line = bytes(buffer)
            buffer.clear()
            self._searched = 0
            return line if line.strip() else None

    def _pass_over(self) -> None:
        self._buffer.clear()
        self._searched = 0
        while block := self._read():
            end = block.find(b"\n")
            if end >= 0:
                self._buffer += block[end + 1 :]
                break
        text = f"Invalid request: a message has at most {MAX_LINE_BYTES} bytes"
        self._send(_error(None, Refused(protocol.INVALID_REQUEST, text)))

    def _read(self) -> bytes:
        while True:
            try:
                return os.read(self._in, 65536)
            except BlockingIOError:
                # Some hosts hand over a pipe that does not wait.
                _wait(self._in, writing=False)
            except OSError:
                return b""

    def _send_all(self, answers: list[dict[str, Any]], batch: bool) -> None:
        if not batch:
            for answer in answers:
                self._send(answer)
        elif answers:
            self._send(answers)

    def _send(self, message: Any) -> None:
        pieces = json_lines.dumps(message)
        pieces.append(b"\n")
        with self._writing:
            if not self._broken():
                try:
                    _write(self._out, pieces)
                except OSError:
                    # Nobody listens any more: nothing to do but to stop what still runs.
                    self._out = -1
                    for context in list(self._running.values()):
                        context.cancelled = True


def _write(fd: int, pieces: list[bytes]) -> None:
    if not hasattr(os, "writev"):
        pieces = [b"".join(pieces)]
    views = [memoryview(piece) for piece in pieces]
    while views:
        try:
            done = os.writev(fd, views[:512]) if hasattr(os, "writev") else os.write(fd, views[0])
        except BlockingIOError:
            _wait(fd, writing=True)
            continue
        while views and done >= len(views[0]):
            done -= len(views.pop(0))
        if done:
            views[0] = views[0][done:]


def _wait(fd: int, *, writing: bool) -> None:
    import select

    select.select([] if writing else [fd], [fd] if writing else [], [])


def _error(request_id: Any, refused: Refused) -> dict[str, Any]:
    known = request_id if protocol.is_id(request_id) else None
    return {"jsonrpc": "2.0", "id": known, "error": refused.as_error()}


def _log(error: BaseException) -> None:
    import logging

    logging.getLogger("eyespan").error("internal error", exc_info=error)
