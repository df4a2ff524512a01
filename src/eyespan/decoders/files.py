"""Reading the whole file that a decoder was given, up to a limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eyespan.errors import Unreadable

if TYPE_CHECKING:
    from typing import BinaryIO


def read_whole(file: BinaryIO, max_bytes: int, *, kind: str) -> bytes:
    """Return all bytes of a file from its position on. Raises: Unreadable, if there are more than `max_bytes`."""
    data = read_up_to(file, max_bytes + 1)
    if len(data) > max_bytes:
        raise Unreadable("", kind=kind, reason=f"it has more than {max_bytes} bytes")
    return data


def read_up_to(file: BinaryIO, max_bytes: int) -> bytes:
    """Return `max_bytes` bytes, or less at the end of the file; continues after short reads."""
    data = file.read(max_bytes)
    while data and len(data) < max_bytes and (more := file.read(max_bytes - len(data))):
        data += more
    return data
