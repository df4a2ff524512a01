"""The MCP server over standard input and output: one JSON-RPC message per line.

The thread that reads a request also answers it; before it starts, it lets the next thread read. So a slow read blocks
neither a ping nor its own cancellation, an answer never waits for a thread to wake up, and a second thread exists only
after the first call.
"""

from __future__ import annotations

import sys
import time
from _thread import allocate_lock, start_new_thread
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from eyespan.context import DEADLINE_SECONDS, CallContext, WouldBlock
from eyespan.server import json_lines, messages, protocol, sandboxing
from eyespan.server.line_stream import MAX_LINE_BYTES, LineStream, LineTooLong, take_standard_streams
from eyespan.server.messages import InvalidMessage, Message, error_answer
from eyespan.server.protocol import RpcError
from eyespan.server.service import Service
from eyespan.server.session import Session

if TYPE_CHECKING:
    from eyespan.server import WorkspaceFactory
    from eyespan.server.audit import Audit
    from eyespan.server.options import ServeOptions


MAX_THREADS = 9
"""One that reads messages and eight that read files."""
MAX_WAITING = 256
"""Calls that wait for one of the threads; further calls are refused."""
MAX_HELD_BYTES = 24 << 20
"""The memory of all messages that wait or are answered; a message that needs more must be the only one."""
MAX_BATCH_BYTES = 16 << 20
"""The size of all answers to a batch after which its other requests are refused."""


def serve(workspace_factory: WorkspaceFactory, options: ServeOptions) -> int:
    """Serve the standard streams of this process until the host closes them. Returns the exit status."""
    fd_in, fd_out = take_standard_streams()
    audit = None
    if options.audit is not None:
        from eyespan.server.audit import Audit

        audit = Audit(options.audit, options.audit_bytes)
    service = Service.from_options(workspace_factory(None), options, audit=audit)
    confinement = sandboxing.confine(options, service.workspace.roots, audit)
    sys.stderr.write(f"eyespan serve: standard input and output; {confinement}\n")
    if options.no_sandbox:
        sys.stderr.write(f"eyespan serve: {sandboxing.OFF_LINE}\n")
    sys.stderr.flush()
    try:
        narrow = client_narrowing(service, options, audit) if options.client_roots else None
        return StdioServer(service, fd_in, fd_out, options.timeout_seconds, narrow=narrow).run()
    except KeyboardInterrupt:
        return 130


def client_narrowing(service: Service, options: ServeOptions, audit: Audit | None) -> Callable[[list[str]], Service]:
    """Return a function from the directories of a client to a service for those of them that are below the roots."""

    def narrow(directories: list[str]) -> Service:
        try:
            workspace = service.workspace.narrowed(directories)
        except ValueError:
            refused = Service.from_options(service.workspace, options, audit=audit)
            refused.refusal = "None of the client's directories is below one that this server may read."
            return refused
        return Service.from_options(workspace, options, audit=audit)

    return narrow


class Request:
    """One request that reads files, with the context that can cancel it."""

    __slots__ = ("context", "message", "request_id")

    def __init__(self, request_id: str | int, message: Message, context: CallContext) -> None:
        self.request_id = request_id
        self.message = message
        self.context = context


class Job:
    """The requests of one message: one request, or those of a batch."""

    __slots__ = ("is_batch", "requests", "size_bytes")

    def __init__(self, requests: list[Request], is_batch: bool, size_bytes: int) -> None:
        self.requests = requests
        self.is_batch = is_batch
        self.size_bytes = size_bytes
        """The memory of the message."""

    def release(self) -> None:
        """Return the memory of the answers: they were sent, or there are none."""
        for request in self.requests:
            request.context.release()


class StdioServer:
    """One connection over two descriptors."""

    def __init__(
        self,
        service: Service,
        fd_in: int,
        fd_out: int,
        timeout_seconds: float = DEADLINE_SECONDS,
        *,
        narrow: Callable[[list[str]], Service] | None = None,
    ) -> None:
        """`narrow` makes the service for the client's own directories, which it is then asked for."""
        self._session = Session(service, "stdio")
        self._stream = LineStream(fd_in, fd_out)
        self._timeout_seconds = timeout_seconds
        self._reading = allocate_lock()
        self._counting = allocate_lock()
        self._threads = 1
        self._busy = 0
        self._held_bytes = 0
        """The memory of the messages of all jobs."""
        self._blocked = 0
        """Calls that wait for a file system, each in a thread that does not count towards MAX_THREADS."""
        self._narrow = narrow
        self._roots_asked = 0
        """Requests for the client's directories. The last one counts."""
        self._waiting: list[Job] = []
        self._running: dict[str | int, CallContext] = {}
        self._ended = False

    def run(self) -> int:
        """Serve until the input ends and every call is answered. Returns 0."""
        try:
            self._run_thread()
            while (self._busy or self._blocked) and not self._stream.is_broken:
                time.sleep(0.002)
        except KeyboardInterrupt:
            self._cancel_all()
            raise
        return 0

    # --- threads ---------------------------------------------------------------------------------------------------

    def _run_thread(self) -> None:
        """Read messages until one has to read files, answer it while the next thread reads, and start again."""
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
                    try:
                        start_new_thread(self._run_thread, ())
                    except RuntimeError:  # no memory for a thread: this one answers first, and then reads on
                        with self._counting:
                            self._threads -= 1
            while job is not None:
                self._run_safely(job, self._run_job)
                with self._counting:
                    self._held_bytes -= job.size_bytes
                    if self._waiting:
                        job = self._waiting.pop(0)
                    else:
                        job = None
                        self._busy -= 1

    def _next_job(self) -> Job | None:
        """Read messages, and answer those that read no files, until one does. Returns None at the end of the input."""
        while not self._ended:
            try:
                line = self._stream.read_line()
            except LineTooLong:
                text = f"Invalid request: a message has at most {MAX_LINE_BYTES} bytes"
                self._send(error_answer(None, RpcError(protocol.INVALID_REQUEST, text)))
                continue
            if line is None:
                self._ended = True
                break
            job = self._receive(line)
            if job is None:
                continue
            with self._counting:
                is_full = len(self._waiting) >= MAX_WAITING
                if self._held_bytes and self._held_bytes + job.size_bytes > MAX_HELD_BYTES:
                    is_full = True
                if not is_full:
                    self._held_bytes += job.size_bytes
                    if self._busy < MAX_THREADS - 1:
                        return job
                    self._waiting.append(job)
            if is_full:
                self._refuse(job)
        return None

    def _refuse(self, job: Job) -> None:
        busy = RpcError(protocol.BUSY, "too many calls are waiting; try again later")
        for request in job.requests:
            self._running.pop(request.request_id, None)
        self._send_answers([error_answer(request.request_id, busy) for request in job.requests], job.is_batch)

    def _run_job(self, job: Job) -> None:
        try:
            self._answer_job(job)
        except WouldBlock:
            # A thread of its own: reads that wait for a file system must not keep other reads waiting. The guard
            # limits their number (`guard.blocking`).
            job.release()
            for request in job.requests:
                request.context.is_held = True
                request.context.may_block = True
            with self._counting:
                self._held_bytes += job.size_bytes  # the thread that returns from here counts it as free
                self._blocked += 1
            try:
                start_new_thread(self._run_blocked, (job,))
            except RuntimeError:  # no more threads
                self._run_blocked(job)

    def _run_blocked(self, job: Job) -> None:
        self._run_safely(job, self._answer_job)
        with self._counting:
            self._held_bytes -= job.size_bytes
            self._blocked -= 1

    def _run_safely(self, job: Job, run: Callable[[Job], None]) -> None:
        """Run a job. Whatever happens, its requests are answered and the thread goes on."""
        try:
            run(job)
            return
        except Exception as error:
            messages.log(error)
            failure = messages.internal_error(error)
        # The error and all that its frames held are free here, so there is memory for an answer again. A job sends its
        # answers in one piece and at its end, so none of them was sent.
        answers = []
        for request in job.requests:
            self._running.pop(request.request_id, None)
            if not request.context.cancelled:
                answers.append(error_answer(request.request_id, failure))
        job.release()
        try:
            self._send_answers(answers, job.is_batch)
        except Exception as error:
            messages.log(error)

    # --- messages --------------------------------------------------------------------------------------------------

    def _receive(self, line: bytes) -> Job | None:
        """Answer a message, or return the job that will."""
        values = json_lines.count_values(line)
        try:
            message = json_lines.loads(line, values)
        except json_lines.Malformed as error:
            self._send(error_answer(None, RpcError(protocol.PARSE_ERROR, f"Parse error: {error}")))
            return None
        if isinstance(message, list):
            return self._receive_batch(message, json_lines.memory_of(line, values))
        answer, request = self._dispatch(message)
        if answer is not None:
            self._send(answer)
        if request is None:
            return None
        return Job([request], is_batch=False, size_bytes=json_lines.memory_of(line, values))

    def _receive_batch(self, values: list[Any], size_bytes: int) -> Job | None:
        if self._session.version != protocol.BATCH_VERSION or not values:
            text = "an empty batch" if not values else "batches are not part of this revision"
            self._send(error_answer(None, RpcError(protocol.INVALID_REQUEST, f"Invalid request: {text}")))
            return None
        answers = []
        requests = []
        for value in values[:MAX_WAITING]:
            answer, request = self._dispatch(value)
            if answer is not None:
                answers.append(answer)
            if request is not None:
                requests.append(request)
        if answers:
            self._send_answers(answers, is_batch=True)
        return Job(requests, is_batch=True, size_bytes=size_bytes) if requests else None

    def _dispatch(self, value: Any) -> tuple[dict[str, Any] | None, Request | None]:
        """Return the answer to a message, or the request that reads files; neither for a notification."""
        try:
            message = messages.parse(value)
        except InvalidMessage as invalid:
            return error_answer(invalid.request_id, invalid.error), None
        request_id, params = message.request_id, message.params
        if request_id is None:
            if message.method == "notifications/cancelled" and isinstance(params, dict):
                self._cancel(params.get("requestId"))
            elif message.method in ("notifications/initialized", "notifications/roots/list_changed"):
                self._ask_for_roots()
            elif not message.method:
                self._take_roots(params)
            return None, None
        context = CallContext(self._timeout_seconds, self._on_progress(params), may_block=False)
        request = Request(request_id, message, context)
        if message.method in protocol.READING_METHODS:
            context.is_held = True  # until the answer is sent
            self._running[request_id] = context
            return None, request
        return self._answer(request), None

    def _ask_for_roots(self) -> None:
        """Ask the client for its directories, if the host wants that and the client has them."""
        if self._narrow is not None and self._session.client_has_roots:
            self._roots_asked += 1
            self._send({"jsonrpc": "2.0", "id": f"roots-{self._roots_asked}", "method": "roots/list"})

    def _take_roots(self, response: dict[str, Any]) -> None:
        """Serve the directories in a client's response. After an error the host's own directories are served."""
        if self._narrow is None or response.get("id") != f"roots-{self._roots_asked}" or "result" not in response:
            return
        self._session.service = self._narrow(protocol.root_paths(response["result"]))

    def _cancel(self, request_id: Any) -> None:
        context = self._running.get(request_id) if protocol.is_request_id(request_id) else None
        if context is not None:
            context.cancelled = True

    def _cancel_all(self) -> None:
        for context in list(self._running.values()):
            context.cancelled = True

    def _answer_job(self, job: Job) -> None:
        """Answer the requests of a job, except those that were cancelled. Raises: WouldBlock."""
        if job.is_batch:
            self._answer_batch(job)
            return
        (request,) = job.requests
        answer = self._answer_unless_cancelled(request)
        if answer is not None:
            self._send(answer)
        job.release()

    def _answer_batch(self, job: Job) -> None:
        """Answer a batch. Each answer is written as JSON before the next is made, which may need the same memory."""
        pieces: list[bytes] = []
        size_bytes = 0
        for request in job.requests:
            if size_bytes < MAX_BATCH_BYTES:
                answer = self._answer_unless_cancelled(request)
            else:
                self._running.pop(request.request_id, None)
                text = f"The answers to this batch have more than {MAX_BATCH_BYTES >> 20} MB; send this request again"
                answer = error_answer(request.request_id, RpcError(protocol.BUSY, text))
            if answer is not None:
                pieces.append(b"," if pieces else b"[")
                written = json_lines.dumps(answer)
                size_bytes += sum(map(len, written))
                pieces += written
            answer = None
            request.context.release()
        if pieces:
            pieces.append(b"]")
            self._write(pieces)

    def _answer_unless_cancelled(self, request: Request) -> dict[str, Any] | None:
        """Return the answer to a request, or None if it was cancelled. Raises: WouldBlock."""
        context = request.context
        answer = None if context.cancelled else self._answer(request)
        if self._running.get(request.request_id) is context:
            self._running.pop(request.request_id, None)
        return None if context.cancelled else answer

    def _answer(self, request: Request) -> dict[str, Any]:
        return messages.answer(self._session, request.message, request.context)

    def _on_progress(self, params: dict[str, Any]) -> Callable[[int, int], None] | None:
        token = protocol.progress_token(params)
        if token is None:
            return None
        from eyespan.server.progress import throttle

        def notify(done_bytes: int, total_bytes: int) -> None:
            self._send(messages.progress(token, done_bytes, total_bytes))

        return throttle(notify)

    def _send_answers(self, answers: list[dict[str, Any]], is_batch: bool) -> None:
        if not is_batch:
            for answer in answers:
                self._send(answer)
        elif answers:
            self._send(answers)

    def _send(self, message: Any) -> None:
        self._write(json_lines.dumps(message))

    def _write(self, line: list[bytes]) -> None:
        if not self._stream.write_line(line):
            self._cancel_all()  # the host does not listen any more
