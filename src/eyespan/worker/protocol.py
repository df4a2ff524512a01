"""Messages between the client and the decoding process.

    job        4 bytes of length, JSON; with it two descriptors: the file, and the socket for the response
    response   4 bytes of length, JSON (the header, with the lengths of the blobs), the blobs

On the socket of a job the fork server writes `STARTED` before the response and, once the child has ended, `ENDED` and
the child's wait status after it.

A decoder that an attacker controls can write any response. So a response is JSON and bytes only, and its size and
lengths are checked before it is used.
"""

from __future__ import annotations

import array
import io
import json
import os
import re
import signal
import socket
from collections.abc import Mapping, Sequence
from typing import Any

from eyespan.errors import Internal, Missing, ReadError, TimedOut, Unreadable
from eyespan.model import MIB
from eyespan.worker.reasons import MAX_REASON_CHARS, clean_reason

STARTED = b"S"
ENDED = b"\xffEND"
MAX_HEADER_BYTES = 8 * MIB
MAX_HEADER_VALUES = 300_000
"""The size alone does not bound the memory of this process: an empty list takes 2 bytes in a header and 64 in memory.
The outline of 20,000 symbols has 180,000 values."""
_VALUE_BYTES = 56
"""The memory of a value of a header, beside its text."""
# An unclosed string reaches to the end, so that no input makes the search start over at every quote.
_STRING = re.compile(rb'"[^"]*+(?:"|\Z)')


class PartlySent(OSError):
    """Part of a message was sent, so the receiver would take the next message for the rest of it."""


# --- jobs -------------------------------------------------------------------------------------------------------------


def send(control: socket.socket, message: Mapping[str, Any], fds: tuple[int, ...]) -> None:
    """Send one message with its descriptors.

    Raises: OSError. Nothing was sent then, except for PartlySent.
    """
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
            raise PartlySent(error.errno, error.strerror) from None


def receive(control: socket.socket, max_fds: int) -> tuple[dict[str, Any] | None, list[int]]:
    """Return the next message and its descriptors, or None if the sender is gone."""
    space = array.array("i", bytes(4 * max_fds))
    start, ancillary, _, _ = control.recvmsg(4, socket.CMSG_SPACE(len(space) * space.itemsize))
    if len(start) < 4:
        return None, []
    fds = array.array("i")
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds.frombytes(data[: len(data) - len(data) % fds.itemsize])
    for fd in fds:
        os.set_inheritable(fd, False)
    size = int.from_bytes(start, "big")
    body = bytearray()
    while size > len(body):
        more = control.recv(size - len(body))
        if not more:
            return None, []
        body += more
    message: dict[str, Any] = json.loads(body)
    return message, list(fds)


# --- responses --------------------------------------------------------------------------------------------------------


def pack(header: Mapping[str, Any], blobs: Sequence[bytes] = ()) -> bytes:
    """Return the start of a response, to be followed by the blobs."""
    text = json.dumps({**header, "blobs": [len(blob) for blob in blobs]}).encode("ascii")
    return len(text).to_bytes(4, "big") + text


def header_memory(data: bytearray) -> int:
    """Return the memory that the parsed header of a response takes, roughly; headers of outlines take most."""
    end = min(4 + int.from_bytes(data[:4], "big"), len(data))
    values = sum([data.count(sign, 4, end) for sign in (b",", b"[", b"{")])
    return 4 * (end - 4) + _VALUE_BYTES * values


def has_header(data: bytearray) -> bool:
    """Return True if the header of a response is complete."""
    return len(data) >= 4 + int.from_bytes(data[:4], "big")


def take_blobs(data: bytearray) -> io.BytesIO:
    """Return all that follows the header of a response, and remove it there."""
    end = 4 + int.from_bytes(data[:4], "big")
    rest = io.BytesIO()
    with memoryview(data) as view:
        rest.write(view[end:])
    del data[end:]
    return rest


def parse(data: bytearray, asked: str, task: str, rest: io.BytesIO | None = None) -> tuple[dict[str, Any], list[bytes]]:
    """Return the header and the blobs of a response, which is emptied. Raises: Unreadable, if it is not valid.

    `rest` is what follows the header, if it is not part of `data`. Its first blob, mostly the only large one, is never
    in memory twice.
    """
    size = int.from_bytes(data[:4], "big")
    if len(data) < 4 or size > MAX_HEADER_BYTES or 4 + size > len(data):
        raise invalid_response(asked, task)
    try:
        header = _parse_header(bytes(memoryview(data)[4 : 4 + size]))
    except (ValueError, RecursionError):
        raise invalid_response(asked, task) from None
    lengths = header.get("blobs") if isinstance(header, dict) else None
    if not isinstance(lengths, list) or any(type(length) is not int or length < 0 for length in lengths):
        raise invalid_response(asked, task)
    rest = take_blobs(data) if rest is None else rest
    left_bytes = rest.seek(0, io.SEEK_END)
    if sum(lengths) != left_bytes or 4 + size != len(data):
        raise invalid_response(asked, task)
    blobs = []
    for length in reversed(lengths[1:]):
        # From the end on, and dropped at once, so that no two blobs are in memory twice.
        left_bytes -= length
        with rest.getbuffer() as view:
            blobs.append(bytes(view[left_bytes:]))
        rest.truncate(left_bytes)
    if lengths:
        blobs.append(rest.getvalue())  # the buffer itself: it is not copied
    blobs.reverse()
    return header, blobs


def response_size(data: bytearray) -> int:
    """Return the size of a complete response that starts like `data`: 0 if it is not yet known, -1 if it is not valid.

    The end of the child ends a response that is not valid, and `parse` reports it.
    """
    size = int.from_bytes(data[:4], "big")
    if len(data) < 4 + size or not 0 < size <= MAX_HEADER_BYTES:
        return 0
    try:
        header = _parse_header(bytes(memoryview(data)[4 : 4 + size]))
        blobs: int = sum(header["blobs"])
    except (ValueError, RecursionError, TypeError, KeyError):
        return -1
    return 4 + size + blobs


def without_strings(text: bytes) -> bytes:
    """Return JSON without its strings, in which brackets and commas mean nothing."""
    return _STRING.sub(b"", text.replace(rb"\\", b"").replace(rb"\"", b""))


def _parse_header(text: bytes) -> Any:
    """Return the value of a header. Raises: ValueError, RecursionError."""
    bare = without_strings(text)
    if bare.count(b",") + bare.count(b"[") + bare.count(b"{") > MAX_HEADER_VALUES:
        raise ValueError("too many values")
    return json.loads(text, parse_constant=_refuse_constant)


def _refuse_constant(name: str) -> Any:
    """Refuse NaN and Infinity, which are not JSON."""
    raise ValueError(name)


def invalid_response(asked: str, task: str) -> Unreadable:
    return Unreadable(asked, kind=task, reason="the decoder returned an invalid response; the file may be malicious")


# --- errors in responses ----------------------------------------------------------------------------------------------


def error_header(error: BaseException) -> dict[str, Any]:
    """Return the header that reports an exception of a decoder.

    Reasons pass through `clean_reason`: decoders put the messages of libraries into theirs.
    """
    match error:
        case Missing():
            return {"error": "missing", "what": error.what, "install": error.install}
        case Unreadable():
            return {"error": "unreadable", "reason": clean_reason(error.reason)}
        case ReadError():
            return {"error": "unreadable", "reason": clean_reason(str(error))}
        case MemoryError():
            return {"error": "memory"}
        case RecursionError():
            return {"error": "unreadable", "reason": "it is nested too deeply"}
    reason = clean_reason(_text_of(error)) or "no details"
    return {"error": "unreadable", "reason": f"the decoder failed: {reason}"}


def _text_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # the class of a library, or of a decoder that an attacker controls
        return ""


def error_from(header: Mapping[str, Any], asked: str, task: str) -> ReadError:
    """Return the error that a header reports."""
    fields = {name: str(header.get(name, ""))[:MAX_REASON_CHARS] for name in ("what", "install")}
    # Again here: a decoder that an attacker controls writes any header.
    fields["reason"] = clean_reason(str(header.get("reason", "")))
    match header["error"]:
        case "missing":
            return Missing(asked, what=fields["what"], install=fields["install"])
        case "memory":
            return Unreadable(asked, kind=task, reason="decoding it takes more memory than is allowed")
        case "process":
            return Internal(asked, f"the decoding process cannot be started: {fields['reason']}")
    return Unreadable(asked, kind=task, reason=fields["reason"] or "it cannot be decoded")


def check_status(status: int, asked: str, task: str, seconds: float) -> None:
    """Raise the error for the wait status of a child that ended without a response. Raises: TimedOut, Unreadable."""
    number = status & 0x7F
    if number in (getattr(signal, "SIGXCPU", -1), getattr(signal, "SIGALRM", -1)):
        raise TimedOut(asked, seconds=seconds)
    if number == getattr(signal, "SIGKILL", -1):
        raise Unreadable(asked, kind=task, reason="the decoding process was killed by the system")
    if number:
        reason = f"the decoder crashed on it (signal {number}): it is damaged, or needs more memory than is allowed"
        raise Unreadable(asked, kind=task, reason=reason)
    if status:
        raise Unreadable(asked, kind=task, reason="the decoder exited without a response")
