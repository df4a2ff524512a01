"""Describe a binary file that no other reader shows: one line with its type and size.

The type follows from its signature; nothing in the file is decoded.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from eyespan.binary_types import binary_type
from eyespan.context import CallContext
from eyespan.escape import short_name
from eyespan.model import Document, NotePart, Selection

if TYPE_CHECKING:
    from eyespan.opened import Opened


_ISO_PLACE, _ISO_BYTES = 0x8001, b"CD001"
_POSTSCRIPT_COMMENT = re.compile(rb"^%%(Title|BoundingBox):[ \t]*([^\r\n]{1,200})", re.M)


def read(opened: Opened, selection: Selection, context: CallContext) -> Document:
    """Return one note. Facts: `type` ("" if it is not known) and `size_bytes`."""
    source = opened.source
    first_bytes, size = source.first_bytes, f"{source.size_bytes:,} bytes"
    description = binary_type(first_bytes)
    if not description and source.read_at(_ISO_PLACE, len(_ISO_BYTES)) == _ISO_BYTES:
        description = "disc image (ISO 9660)"
    if not description:
        line = f"binary data of unknown type, {size}, begins with {first_bytes[:16].hex(' ')}"
    else:
        comments = _POSTSCRIPT_COMMENT.findall(first_bytes) if description.startswith("PostScript") else ()
        shown = [f"{name.decode()} {short_name(value.decode('latin-1').strip())}" for name, value in comments]
        line = ", ".join([description, size, *shown])
    return opened.document((NotePart(line),), {"type": description, "size_bytes": source.size_bytes})
