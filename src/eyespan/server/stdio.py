"""The MCP server over standard input and output: one JSON-RPC message per line."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from eyespan import plugins
from eyespan.context import DEADLINE_SECONDS, CallContext
from eyespan.server import WorkspaceFactory, json_messages, mcp_names, messages, sandboxing
from eyespan.server.line_stream import MAX_LINE_BYTES, LineStream, LineTooLong, take_standard_streams
from eyespan.server.mcp_names import RpcError
from eyespan.server.messages import InvalidMessage, error_answer
from eyespan.server.progress import throttle
from eyespan.server.serve_options import ServeOptions
from eyespan.server.service import Service
from eyespan.server.session import Session
from eyespan.server.threads import Request, RequestThreads


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
        return StdioServer(service, fd_in, fd_out, options.timeout_seconds).run()
    except KeyboardInterrupt:
        return 130


class StdioServer:
    """One connection over two descriptors."""

    def __init__(
        self,
        service: Service,
        fd_in: int,
        fd_out: int,
        timeout_seconds: float = DEADLINE_SECONDS,
    ) -> None:
        self._session = Session(service, "stdio")
        self._subscriptions = plugins.load(plugins.own("SUBSCRIPTIONS")[0])(self._session, self._send, timeout_seconds)
        self._stream = LineStream(fd_in, fd_out)
        self._timeout_seconds = timeout_seconds
        self._threads = RequestThreads(self)
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

    def read_request(self) -> Request | None:
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
            request = self._receive(line)
            if request is not None:
                return request

    def _receive(self, line: bytes) -> Request | None:
        """Answer a message, or return the request that reads files; neither for a notification."""
        values = json_messages.count_values(line)
        try:
            message = messages.parse(json_messages.loads(line, values))
        except json_messages.Malformed as error:
            self._send(error_answer(None, RpcError(mcp_names.PARSE_ERROR, f"Parse error: {error}")))
            return None
        except InvalidMessage as invalid:
            self._send(error_answer(invalid.request_id, invalid.error))
            return None
        request_id, params = message.request_id, message.params
        if request_id is None:
            if message.method == "notifications/cancelled" and isinstance(params, dict):
                self._cancel(params.get("requestId"))
            return None
        context = CallContext(self._timeout_seconds, self._on_progress(params), may_block=False)
        request = Request(request_id, message, context, json_messages.memory_of(line, values))
        if message.method in mcp_names.READING_METHODS:
            context.memory.is_held = True  # until the answer is sent
            self._running[request_id] = context
            return request
        self._send(self._answer(request))
        return None

    def _cancel(self, request_id: Any) -> None:
        if mcp_names.is_request_id(request_id):
            if (context := self._running.get(request_id)) is not None:
                context.cancelled = True
            self._subscriptions.end(request_id)

    def _cancel_all(self) -> None:
        for context in list(self._running.values()):
            context.cancelled = True

    def answer_request(self, request: Request) -> None:
        """Answer a request, unless it was cancelled. Raises: WouldBlock."""
        context = request.context
        answer = None if context.cancelled else self._answer(request)
        if answer is not None and request.message.method == mcp_names.LISTEN and "result" in answer:
            self._subscriptions.begin(request.request_id, answer["result"]["versions"], context)
            answer = None  # it comes when the client ends the subscription, which needs none
        if self._running.get(request.request_id) is context:
            self._running.pop(request.request_id, None)
        if answer is not None and not context.cancelled:
            self._send(answer)
        context.memory.release()

    def fail_request(self, request: Request, error: RpcError) -> None:
        """Answer a request with an error, unless it was cancelled."""
        self._running.pop(request.request_id, None)
        if not request.context.cancelled:
            self._send(error_answer(request.request_id, error))

    def _answer(self, request: Request) -> dict[str, Any]:
        return messages.answer(self._session, request.message, request.context)

    def _on_progress(self, params: dict[str, Any]) -> Callable[[int, int], None] | None:
        token = mcp_names.progress_token(params)
        if token is None:
            return None

        def notify(done_bytes: int, total_bytes: int) -> None:
            self._send(messages.progress(token, done_bytes, total_bytes))

        return throttle(notify)

    def _send(self, message: dict[str, Any]) -> None:
        if not self._stream.write_line(json_messages.dumps(message)):
            self._cancel_all()  # the host does not listen any more
