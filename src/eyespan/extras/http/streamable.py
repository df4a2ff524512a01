"""MCP in HTTP: from the body and headers of a request to a message, and from an answer to a status.

Streamable HTTP exists in two eras. Up to 2025-11-25 the header MCP-Protocol-Version names the revision (default:
2025-03-26), and every answer has the status 200. From 2026-07-28 on, headers repeat the revision, the method and the
name in the body, so that proxies can route without reading it; they must agree with the body, and errors of the
protocol have a status of their own. All functions here are pure.
"""

from __future__ import annotations

from binascii import a2b_base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eyespan.server import json_messages, mcp_names, messages
from eyespan.server.mcp_names import RpcError
from eyespan.server.messages import InvalidMessage, Message, error_answer

Headers = Mapping[bytes, Sequence[bytes]]
"""The values of each header by its name in lower case."""

DEFAULT_VERSION = "2025-03-26"
"""The revision of a request without the header, as the specification defines it."""
STATUS_BY_CODE = {
    mcp_names.PARSE_ERROR: 400,
    mcp_names.INVALID_REQUEST: 400,
    mcp_names.INVALID_PARAMS: 400,
    mcp_names.HEADER_MISMATCH: 400,
    mcp_names.UNSUPPORTED_VERSION: 400,
    mcp_names.METHOD_NOT_FOUND: 404,
}
"""The status of an error from 2026-07-28 on. Errors with other codes have the status 200."""
NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""The parameter that the header Mcp-Name repeats."""
_VERSION, _METHOD, _NAME = b"mcp-protocol-version", b"mcp-method", b"mcp-name"


class NotAccepted(Exception):
    """A body or headers that hold no message of the protocol: the status and the JSON answer."""

    def __init__(self, status: int, request_id: Any, error: RpcError) -> None:
        super().__init__(status, request_id, error)
        self.status = status
        self.answer = error_answer(request_id, error)


@dataclass(frozen=True, slots=True)
class Received:
    """The message of a request."""

    message: Message
    version: str | None
    """The revision of the session; None if the message carries its own envelope."""
    accepts_events: bool

    @property
    def is_modern(self) -> bool:
        return self.version is None


def receive(body: bytes | bytearray, headers: Headers, values: int = 0) -> Received:
    """Return the message of a request. `values` is that of `json_messages.loads`. Raises: NotAccepted."""
    has_json, has_events = accepted(headers.get(b"accept", ()))
    if not has_json:
        error = RpcError(mcp_names.INVALID_REQUEST, "Not Acceptable: the client must accept application/json")
        raise NotAccepted(406, None, error)
    try:
        value = json_messages.loads(body, values)
    except json_messages.Malformed as malformed:
        error = RpcError(mcp_names.PARSE_ERROR, f"Parse error: {malformed}")
        raise NotAccepted(400, None, error) from None
    try:
        message = messages.parse(value)
    except InvalidMessage as invalid:
        raise NotAccepted(400, invalid.request_id, invalid.error) from None
    given = headers.get(_VERSION, ())
    version = given[0].decode("latin-1") if given else None
    is_modern = version is not None and version not in mcp_names.HANDSHAKE_VERSIONS
    if is_modern or (message.method != "initialize" and mcp_names.VERSION_KEY in _meta(message)):
        check_envelope(message, headers)
        version = None
    elif version is None:
        version = DEFAULT_VERSION
    return Received(message, version, has_events)


def check_envelope(message: Message, headers: Headers) -> None:
    """Check that the headers of a request agree with its envelope. Raises: NotAccepted."""
    for name in (_VERSION, _METHOD, _NAME):
        if len(headers.get(name, ())) > 1:
            raise _mismatch(message, f"{name.decode()} header appears more than once")
    version = _single_value(headers, _VERSION)
    if message.request_id is None:
        # A notification is accepted and dropped, so only the revision matters.
        if version not in mcp_names.MODERN_VERSIONS:
            raise NotAccepted(400, None, unsupported(version))
        return
    meta = _meta(message)
    missing = [key for key in (mcp_names.VERSION_KEY, mcp_names.CAPABILITIES_KEY) if key not in meta]
    if missing:
        error = RpcError(mcp_names.INVALID_PARAMS, f"params._meta lacks {' and '.join(missing)}")
        raise NotAccepted(400, message.request_id, error)
    if version is None or version != meta[mcp_names.VERSION_KEY]:
        raise _mismatch(message, "mcp-protocol-version header differs from the protocol version in params._meta")
    if version not in mcp_names.MODERN_VERSIONS:
        raise NotAccepted(400, message.request_id, unsupported(version))
    if _single_value(headers, _METHOD) != message.method:
        raise _mismatch(message, "mcp-method header differs from the method of the message")
    key = NAMED_BY.get(message.method)
    named = message.params.get(key) if key is not None else None
    if named is not None and decoded(_single_value(headers, _NAME)) != named:
        raise _mismatch(message, f"mcp-name header differs from params.{key}")


def unsupported(version: str | None) -> RpcError:
    """Return the error for a revision that this server does not have."""
    data = {"supported": list(mcp_names.MODERN_VERSIONS), "requested": version}
    return RpcError(mcp_names.UNSUPPORTED_VERSION, "Unsupported protocol version", data)


def accepted(values: Sequence[bytes]) -> tuple[bool, bool]:
    """Return whether a client accepts JSON and event streams. A client without the header accepts everything."""
    if not values:
        return True, True
    kinds = [kind.partition(b";")[0].strip().lower() for value in values for kind in value.split(b",")]
    has_all = b"*/*" in kinds
    return (
        has_all or b"application/json" in kinds or b"application/*" in kinds,
        has_all or b"text/event-stream" in kinds or b"text/*" in kinds,
    )


def decoded(value: str | None) -> str | None:
    """Return the text of a header: as it is, or the UTF-8 of `=?base64?...?=`; None if that is malformed."""
    if value is None or not (value.startswith("=?base64?") and value.endswith("?=")):
        return value
    try:
        return a2b_base64(value[9:-2], strict_mode=True).decode()
    except ValueError:
        return None


def status_of(answer: Mapping[str, Any], is_modern: bool) -> int:
    """Return the status of an answer."""
    error = answer.get("error")
    return STATUS_BY_CODE.get(error["code"], 200) if is_modern and error is not None else 200


def event(pieces: Sequence[bytes]) -> list[bytes]:
    """Return the JSON of a message as an event of a stream."""
    return [b"event: message\r\ndata: ", *pieces, b"\r\n\r\n"]


def _meta(message: Message) -> Mapping[str, Any]:
    meta = message.params.get("_meta") if isinstance(message.params, dict) else None
    return meta if isinstance(meta, dict) else {}


def _single_value(headers: Headers, name: bytes) -> str | None:
    values = headers.get(name, ())
    return values[0].decode("latin-1") if values else None


def _mismatch(message: Message, text: str) -> NotAccepted:
    return NotAccepted(400, message.request_id, RpcError(mcp_names.HEADER_MISMATCH, text))
