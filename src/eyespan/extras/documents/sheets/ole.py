"""The container of Office files from before 2007, read by olefile.

A container is a small file system. The library trusts numbers in the file, so every error that it raises counts as
damage of the file.
"""

from __future__ import annotations

import io

from eyespan.decoders.files import unreadable
from eyespan.errors import Missing, Unreadable
from eyespan.extras.documents.shared.ooxml import ENCRYPTED, is_encrypted_ole

try:
    import olefile
except ImportError:  # reported by `read_stream`
    olefile = None


MAX_STREAM_BYTES = 64 * 1024 * 1024


def read_stream(data: bytes, *names: str) -> bytes:
    """Return the first of these streams that a container has. Raises: Missing, Unreadable."""
    if olefile is None:
        raise Missing("", what="reading Office files from before 2007", install="pip install 'eyespan[docs]'")
    if is_encrypted_ole(data):
        raise unreadable(ENCRYPTED)
    try:
        container = olefile.OleFileIO(io.BytesIO(data), raise_defects=olefile.DEFECT_FATAL)
        name = next((name for name in names if container.exists(name)), "")
        if not name:
            raise unreadable(f"its part {names[0]} is missing")
        if container.get_size(name) > MAX_STREAM_BYTES:
            raise unreadable(f"its part {name} has more than {MAX_STREAM_BYTES} bytes")
        stream: bytes = container.openstream(name).read()
    except (MemoryError, Unreadable):
        raise
    except Exception:  # of any class
        raise unreadable("it is corrupt") from None
    return stream
