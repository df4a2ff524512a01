"""A cache of line indexes in memory. It is bounded and drops the least recently used entries first."""

from __future__ import annotations

from collections.abc import Hashable

from eyespan.caches import CacheTable
from eyespan.errors import ReadError
from eyespan.lines.index import RACY_NS, TRUST_GROWTH_BYTES, LineIndex, fingerprint, stamp_of
from eyespan.source import Source

_indexes = CacheTable(2 << 20, 256)
"""The indexes of 32 GB of files, by the identity of the source and its line feed."""


def find(source: Source, newline: bytes) -> LineIndex | None:
    """Return the index of this source, or None if there is none that can be trusted."""
    key = _key(source, newline)
    index: LineIndex | None = _indexes.get(key)
    if index is not None and not _fits(index, source):
        _indexes.drop(key)
        return None
    return index


def put(source: Source, newline: bytes, index: LineIndex, started_ns: int) -> None:
    """Cache an index, unless the file changed while it was scanned. `started_ns` is the time before the scan."""
    try:
        now = source.status_now()
    except OSError:
        return
    was = source.status
    same = now.st_size == was.st_size and stamp_of(now) == stamp_of(was)
    if not same and (now.st_size <= was.st_size or not source.is_file):
        return  # changed during the scan, other than by growing
    # A change within the resolution of the clock would leave the times as they are. One version never changes.
    is_racy = not source.is_version and max(stamp_of(was)) > started_ns - RACY_NS
    stamp = None if is_racy else stamp_of(was)
    try:
        samples = fingerprint(source, index.covered) if source.is_file else bytes(16)
    except ReadError:
        return
    index = index.stamped(was.st_size, stamp, samples)
    _indexes.put(_key(source, newline), index, index.size_bytes)


def _key(source: Source, newline: bytes) -> tuple[Hashable, ...]:
    return (*source.identity, newline)


def _fits(index: LineIndex, source: Source) -> bool:
    """Return True if the bytes that an index covers are those of the source, so far as that can be known."""
    if not source.is_file:
        return index.stamp == stamp_of(source.status) and index.file_bytes == source.status.st_size
    if source.size_bytes == index.file_bytes:
        return index.stamp is not None and index.stamp == stamp_of(source.status)
    if source.size_bytes < index.file_bytes or index.covered < TRUST_GROWTH_BYTES:
        return False
    try:
        return fingerprint(source, index.covered) == index.fingerprint
    except ReadError:
        return False
