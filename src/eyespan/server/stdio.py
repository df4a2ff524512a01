"""The MCP server over standard input and output: one JSON-RPC message per line."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from eyespan.context import DEADLINE_SECONDS, CallContext
from eyespan.server import WorkspaceFactory, json_messages, mcp_names, messages, sandboxing
from eyespan.server.audit import Audit
from eyespan.server.jobs import MAX_WAITING, Job, JobThreads, Request
from eyespan.server.line_stream import MAX_LINE_BYTES, LineStream, LineTooLong, take_standard_streams
from eyespan.server.mcp_names import RpcError
from eyespan.server.messages import InvalidMessage, error_answer
from eyespan.server.progress import throttle
from eyespan.server.serve_options import ServeOptions
from eyespan.server.service import Service
from eyespan.server.session import Session

MAX_BATCH_BYTES = 16 << 20
"""The size of all answers to a batch after which its other requests are refused."""


def serve(workspace_factory: WorkspaceFactory, options: ServeOptions) -> int:
    """Serve the standard streams of this process until the host closes them. Returns the exit status."""
    fd_in, fd_out = take_standard_streams()
    audit = None
    if options.audit is not None:
        from eyespan.server.audit import Audit

        audit = Audit(options.audit, options.audit_bytes)
    service = Service(workspace_factory(None), (), options, audit=audit)
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
            refused = Service(service.workspace, (), options, audit=audit)
            refused.refusal = "None of the client's directories is below one that this server may read."
            return refused
        return Service(workspace, (), options, audit=audit)

    return narrow


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
        self._threads = JobThreads(self)
        self._narrow = narrow
        self._roots_asked = 0
        """Requests for the client's directories. The last one counts."""
        self._running: dict[str | int, CallContext] = {}

    def run(self) -> int:
        """Serve until the input ends and every call is answered. Returns 0."""
        try:
            self._threads.run()
        except KeyboardInterrupt:
            self._cancel_all()
            raise
        return 0

    @property
    def is_broken(self) -> bool:
        """True after the host has closed its end."""
        return self._stream.is_broken

    # --- messages --------------------------------------------------------------------------------------------------

    def read_job(self) -> Job | None:
        """Read messages, and answer those that read no files, until one does. Returns None at the end of the input."""
        while True:
            try:
                line = self._stream.read_line()
            except LineTooLong:
                text = f"Invalid request: a message has at most {MAX_LINE_BYTES} bytes"
                self._send(error_answer(None, RpcError(mcp_names.INVALID_REQUEST, text)))
                continue
            if line is None:
                return None
            job = self._receive(line)
            if job is not None:
                return job

    def _receive(self, line: bytes) -> Job | None:
        """Answer a message, or return the job that will."""
        values = json_messages.count_values(line)
        try:
            message = json_messages.loads(line, values)
        except json_messages.Malformed as error:
            self._send(error_answer(None, RpcError(mcp_names.PARSE_ERROR, f"Parse error: {error}")))
            return None
        if isinstance(message, list):
            return self._receive_batch(message, json_messages.memory_of(line, values))
        answer, request = self._dispatch(message)
        if answer is not None:
            self._send(answer)
        if request is None:
            return None
        return Job([request], is_batch=False, size_bytes=json_messages.memory_of(line, values))

    def _receive_batch(self, values: list[Any], size_bytes: int) -> Job | None:
        if self._session.version != mcp_names.BATCH_VERSION or not values:
            text = "an empty batch" if not values else "batches are not part of this revision"
            self._send(error_answer(None, RpcError(mcp_names.INVALID_REQUEST, f"Invalid request: {text}")))
            return None
        answers = []
        requests = []
        for number, value in enumerate(values):
            if number < MAX_WAITING:
                answer, request = self._dispatch(value)
            else:
                answer, request = _beyond_batch(value), None
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
        if message.method in mcp_names.READING_METHODS:
            context.memory.is_held = True  # until the answer is sent
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
        self._session.service = self._narrow(mcp_names.root_paths(response["result"]))

    def _cancel(self, request_id: Any) -> None:
        context = self._running.get(request_id) if mcp_names.is_request_id(request_id) else None
        if context is not None:
            context.cancelled = True

    def _cancel_all(self) -> None:
        for context in list(self._running.values()):
            context.cancelled = True

    def answer_job(self, job: Job) -> None:
        """Answer the requests of a job, except those that were cancelled. Raises: WouldBlock."""
        if job.is_batch:
            self._answer_batch(job)
            return
        (request,) = job.requests
        answer = self._answer_unless_cancelled(request)
        if answer is not None:
            self._send(answer)
        job.release()

    def fail_job(self, job: Job, error: RpcError) -> None:
        """Answer the requests of a job with an error, except those that were cancelled."""
        answers = []
        for request in job.requests:
            self._running.pop(request.request_id, None)
            if not request.context.cancelled:
                answers.append(error_answer(request.request_id, error))
        self._send_answers(answers, job.is_batch)

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
                answer = error_answer(request.request_id, RpcError(mcp_names.BUSY, text))
            if answer is not None:
                pieces.append(b"," if pieces else b"[")
                written = json_messages.dumps(answer)
                size_bytes += sum(map(len, written))
                pieces += written
            answer = None
            request.context.memory.release()
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
        token = mcp_names.progress_token(params)
        if token is None:
            return None

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
        self._write(json_messages.dumps(message))

    def _write(self, line: list[bytes]) -> None:
        if not self._stream.write_line(line):
            self._cancel_all()  # the host does not listen any more


def _beyond_batch(value: Any) -> dict[str, Any] | None:
    """Return the answer to a request after those that a batch may have; None for a notification."""
    if not isinstance(value, dict) or "id" not in value or "method" not in value:
        return None
    text = f"A batch has at most {MAX_WAITING} messages; send this request again"
    return error_answer(value["id"], RpcError(mcp_names.BUSY, text))
