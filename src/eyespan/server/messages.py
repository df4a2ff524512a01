"""JSON-RPC messages, the same over every transport: from a JSON value to a request, and from a result to an answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from eyespan.context import CallContext
from eyespan.errors import log_failure
from eyespan.server import mcp_names
from eyespan.server.mcp_names import RpcError


class Answering(Protocol):
    """Answers requests: a session, or the page."""

    caller: str

    def answer(self, method: str, params: Mapping[str, Any], context: CallContext) -> dict[str, Any]:
        """Return the result of one request. Raises: RpcError, WouldBlock."""


@dataclass(frozen=True, slots=True)
class Message:
    """A request, or with `request_id` None a message that gets no answer: a notification or a response."""

    request_id: str | int | None
    method: str
    """The method; "" for a response."""
    params: Any
    """An object for a request; any value for a notification."""


class InvalidMessage(Exception):
    """A value that is no JSON-RPC message. Its answer has the id `request_id` if that is known."""

    def __init__(self, request_id: Any, error: RpcError) -> None:
        super().__init__(request_id, error)
        self.request_id = request_id
        self.error = error


def parse(value: Any) -> Message:
    """Return the message that a JSON value is. Raises: InvalidMessage."""
    if not isinstance(value, dict) or value.get("jsonrpc") != "2.0":
        what = "batches are not supported" if isinstance(value, list) else "not a JSON-RPC 2.0 message"
        raise _invalid(None, what)
    method, request_id = value.get("method"), value.get("id")
    if not isinstance(method, str):
        if "result" in value or "error" in value:
            return Message(None, "", value)
        raise _invalid(request_id, "no method")
    params = value.get("params")
    if params is None:
        params = {}
    if "id" not in value:
        return Message(None, method, params)
    if not mcp_names.is_request_id(request_id):
        raise _invalid(None, "id must be a string or a whole number")
    if not isinstance(params, dict):
        raise InvalidMessage(request_id, RpcError(mcp_names.INVALID_PARAMS, "params must be an object"))
    return Message(request_id, method, params)


def answer(session: Answering, request: Message, context: CallContext) -> dict[str, Any]:
    """Return the answer to a request; every failure is an answer with an error. Raises: WouldBlock.

    A request that waited for others until its deadline is answered at once: it would take longer than it may.
    """
    left = context.left()
    if left is not None and left <= 0:
        busy = f"not answered within {context.seconds:g} s, because other calls were running; try again later"
        return error_answer(request.request_id, RpcError(mcp_names.BUSY, busy))
    try:
        result = session.answer(request.method, request.params, context)
    except RpcError as error:
        return error_answer(request.request_id, error)
    except Exception as error:
        log_failure(error)
        return error_answer(request.request_id, internal_error(error))
    return {"jsonrpc": "2.0", "id": request.request_id, "result": result}


def error_answer(request_id: Any, error: RpcError) -> dict[str, Any]:
    """Return the answer with an error. An id that is not valid becomes null."""
    known = request_id if mcp_names.is_request_id(request_id) else None
    return {"jsonrpc": "2.0", "id": known, "error": error.as_json()}


def cancelled(request_id: Any) -> dict[str, Any]:
    """Return the answer to a cancelled request, for transports that need one."""
    return error_answer(request_id, RpcError(mcp_names.CANCELLED, "Request cancelled"))


def progress(token: str | int, done_bytes: int, total_bytes: int) -> dict[str, Any]:
    """Return the notification about the progress of a request."""
    params = {"progressToken": token, "progress": done_bytes, "total": total_bytes}
    return {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}


def internal_error(error: BaseException) -> RpcError:
    """Return the error of a request that failed in the server itself."""
    if isinstance(error, MemoryError):
        return RpcError(mcp_names.INTERNAL_ERROR, "No memory left for the answer; ask for less of the file")
    return RpcError(mcp_names.INTERNAL_ERROR, f"Internal error ({type(error).__name__})")


def _invalid(request_id: Any, reason: str) -> InvalidMessage:
    return InvalidMessage(request_id, RpcError(mcp_names.INVALID_REQUEST, f"Invalid request: {reason}"))
