"""A cache in memory of what earlier reads found out about compressed files and archives.

It holds decompression checkpoints, decoded lengths and tables of contents. It is bounded, and the least recently used
entries are dropped first. An entry is used only for a file with the size and the times that it was made from.
"""

from __future__ import annotations

import time
from _thread import allocate_lock

from eyespan.errors import ReadError
from eyespan.lines.index import RACY_NS, stamp_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Hashable
    from typing import Any, TypeVar

    from eyespan.source import Source
    from eyespan.sources.members import Contents

    T = TypeVar("T")
    Key = tuple[Hashable, ...]

MAX_FILES = 32
MAX_CHECKPOINTS = 48
"""The limit for all files together; a checkpoint of a deflate stream takes up to 64 KB."""
MAX_MEMBERS = 6_000
"""The limit for all tables of contents together; a member counts as `MEMBER_BYTES`, and its name comes on top."""
MEMBER_BYTES = 300


class CachedStream:
    """The checkpoints of one compressed stream, and its decoded length once the end was reached."""

    __slots__ = ("checkpoints", "end")

    def __init__(self, checkpoints: list[tuple[int, Any, int]] | None = None, end: int | None = None) -> None:
        self.checkpoints = checkpoints or []
        """Decoded offset, the stream's own state and the CRC up to there, in ascending order."""
        self.end = end


_lock = allocate_lock()
_streams: dict[Key, CachedStream] = {}  # the least recently used first, in both tables
_contents: dict[Key, Contents] = {}


def key_of(source: Source) -> Key:
    """Return the identity of a source with the size and the times of the file on disk."""
    return (*source.identity, source.status.st_size, *stamp_of(source.status))


def find_stream(source: Source) -> CachedStream | None:
    """Return the entry of a compressed stream, if its file is unchanged."""
    return _find(_streams, source)


def store_stream(source: Source, stream: CachedStream) -> None:
    """Store the entry of a compressed stream, unless its file is too young or has changed."""
    _store(_streams, source, stream, lambda each: len(each.checkpoints), MAX_CHECKPOINTS)


def find_contents(source: Source) -> Contents | None:
    """Return the table of contents of an archive, if its file is unchanged."""
    return _find(_contents, source)


def store_contents(source: Source, contents: Contents) -> None:
    """Store the table of contents of an archive, unless it is too long or its file is too young or has changed."""
    _store(_contents, source, contents, _member_count, MAX_MEMBERS)


def _member_count(contents: Contents) -> int:
    return len(contents.entries) + contents.name_bytes // MEMBER_BYTES


def clear() -> None:
    """Empty the cache."""
    with _lock:
        _streams.clear()
        _contents.clear()


def _find(table: dict[Key, T], source: Source) -> T | None:
    key = key_of(source)
    with _lock:
        found = table.pop(key, None)
        if found is not None:
            table[key] = found
    return found


def _store(table: dict[Key, T], source: Source, value: T, weigh: Callable[[T], int], max_weight: int) -> None:
    if weigh(value) > max_weight or not _is_settled(source):
        return
    key = key_of(source)
    with _lock:
        table.pop(key, None)
        table[key] = value
        while len(table) > MAX_FILES or sum(map(weigh, table.values())) > max_weight:
            table.pop(next(iter(table)))


def _is_settled(source: Source) -> bool:
    """Return False if the file has changed, or is so young that its times could not show a change."""
    if max(stamp_of(source.status)) > time.time_ns() - RACY_NS:
        return False
    try:
        return not source.changed()
    except ReadError:
        return False
