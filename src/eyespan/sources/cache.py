"""A cache in memory of what earlier reads found out about compressed files and archives.

It holds decompression checkpoints, decoded lengths and tables of contents. It is bounded, and the least recently used
entries are dropped first. An entry is used only for a file with the size and the times that it was made from.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from eyespan.caches import CacheTable
from eyespan.source import Source

if TYPE_CHECKING:
    from eyespan.sources.members import Contents

MAX_FILES = 32
CHECKPOINT_BYTES = 40 << 10
"""The memory of a checkpoint of a deflate stream."""
MEMBER_BYTES = 300
"""The memory of a member in a table of contents; its name comes on top."""
MAX_CONTENTS_BYTES = 6_000 * MEMBER_BYTES


@dataclass(slots=True)
class CachedStream:
    """The checkpoints of one compressed stream, and its decoded length once the end was reached."""

    checkpoints: list[tuple[int, Any, int]] = field(default_factory=list)
    """Decoded offset, the stream's own state and the CRC up to there, in ascending order."""
    end: int | None = None


_streams = CacheTable(2 << 20, MAX_FILES)
_contents = CacheTable(MAX_CONTENTS_BYTES, MAX_FILES)


def find_stream(source: Source) -> CachedStream | None:
    """Return the entry of a compressed stream, if its file is unchanged."""
    stream: CachedStream | None = _streams.get(source.version)
    return stream


def store_stream(source: Source, stream: CachedStream, started_ns: int) -> None:
    """Store the entry of a compressed stream, unless its file has changed; `started_ns` is the time before the read."""
    if source.is_settled(started_ns):
        _streams.put(source.version, stream, CHECKPOINT_BYTES * len(stream.checkpoints))


def find_contents(source: Source) -> Contents | None:
    """Return the table of contents of an archive, if its file is unchanged."""
    contents: Contents | None = _contents.get(source.version)
    return contents


def store_contents(source: Source, contents: Contents, started_ns: int) -> None:
    """Store the table of contents of an archive, unless it is too long or its file has changed."""
    size_bytes = MEMBER_BYTES * len(contents.entries) + contents.name_bytes
    if size_bytes <= MAX_CONTENTS_BYTES and source.is_settled(started_ns):
        _contents.put(source.version, contents, size_bytes)


def clear() -> None:
    """Empty the cache."""
    _streams.clear()
    _contents.clear()
