"""Read the bytes of binary files, for dialects that return them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eyespan.binary_types import binary_type
from eyespan.context import CallContext
from eyespan.errors import Binary
from eyespan.kinds import Kind, detect
from eyespan.model import BytesPart, Document, Selection
from eyespan.signatures import image_type

if TYPE_CHECKING:
    from eyespan.opened import Opened


def read(opened: Opened, selection: Selection, context: CallContext) -> Document:
    """Return the first bytes of a file, as many as the limits allow.

    Raises: Binary, if the dialect returns no bytes.
    """
    source, request = opened.source, opened.request
    kind = detect(source.first_bytes, "")  # without its name: a suffix does not make a document of binary data
    if not request.wants_bytes:
        name = "video" if "video" in binary_type(source.first_bytes) else "binary"
        raise Binary(source.asked, kind=name if kind is None or kind.is_fallback else kind.name)
    limits = request.limits
    limit = limits.max_window_bytes if limits.max_whole_bytes is None else limits.max_whole_bytes
    limit = min(limit, limits.max_window_bytes)
    expected_bytes = min(limit, max(0, source.size_bytes))
    context.charge(expected_bytes)
    data = source.read_fully(0, expected_bytes)
    size_bytes = len(data)
    blocks = [data]
    # The size may have been a guess, or the file grows.
    while size_bytes < limit and (block := source.read_at(size_bytes, min(1 << 20, limit - size_bytes))):
        context.charge(2 * len(block))  # in a block, and in the whole
        blocks.append(block)
        size_bytes += len(block)
        context.advance(size_bytes, source.size_bytes)
    if len(blocks) > 1:
        context.charge(expected_bytes)
        data = b"".join(blocks)
    is_cut = size_bytes >= limit and bool(source.read_at(limit, 1))
    part = BytesPart(data, is_cut, _media_type(kind, source.first_bytes))
    return opened.document((part,))


def _media_type(kind: Kind | None, first_bytes: bytes) -> str:
    if kind is not None and kind.name == "image":
        return image_type(first_bytes) or "application/octet-stream"
    return "application/pdf" if kind is not None and kind.name == "pdf" else "application/octet-stream"
