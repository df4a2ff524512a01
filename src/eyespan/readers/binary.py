"""Read the bytes of binary files, for dialects that return them."""

from __future__ import annotations

from eyespan.errors import Binary
from eyespan.kinds import detect, image_type
from eyespan.model import BytesPart

TYPE_CHECKING = False
if TYPE_CHECKING:
    from eyespan.context import CallContext
    from eyespan.kinds import Kind
    from eyespan.model import Document, Selection
    from eyespan.opened import Opened


def read(opened: Opened, selection: Selection, context: CallContext) -> Document:
    """Return the first bytes of a file, as many as the limits allow.

    Raises: Binary, if the dialect returns no bytes.
    """
    source, request = opened.source, opened.request
    kind = detect(source.first_bytes, "")  # without its name: a suffix does not make a document of binary data
    if not request.wants_bytes:
        raise Binary(source.asked, kind=kind.name if kind is not None else "binary")
    limits = request.limits
    limit = limits.max_window_bytes if limits.max_whole_bytes is None else limits.max_whole_bytes
    limit = min(limit, limits.max_window_bytes)
    data = bytearray(source.first_bytes[: limit + 1])
    while len(data) <= limit:
        block = source.read_at(len(data), min(1 << 20, limit + 1 - len(data)))
        if not block:
            break
        data += block
        context.advance(len(data), source.size_bytes)
    part = BytesPart(bytes(data[:limit]), len(data) > limit, _media_type(kind, source.first_bytes))
    return opened.document((part,))


def _media_type(kind: Kind | None, first_bytes: bytes) -> str:
    if kind is not None and kind.name == "image":
        return image_type(first_bytes) or "application/octet-stream"
    return "application/pdf" if kind is not None and kind.name == "pdf" else "application/octet-stream"
