"""The rows of this extra: what the core finds through `eyespan.plugins`."""

from __future__ import annotations

from eyespan.kinds import Kind
from eyespan.signatures import archive, compression

ARCHIVE = Kind(
    "archive",
    "eyespan.extras.archives.archive",
    "an archive",
    signature=lambda first_bytes: archive(first_bytes) is not None,
    is_fallback=True,
)
COMPRESSED = Kind(
    "compressed",
    "eyespan.readers.raw_bytes",
    "a compressed file",
    signature=lambda first_bytes: compression(first_bytes) is not None,
    is_fallback=True,
)
KINDS = (ARCHIVE, COMPRESSED)
NESTED = "eyespan.extras.archives.nested_files:open_nested"
