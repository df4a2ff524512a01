"""An index of a large file: how many line feeds it has up to the end of each block, to find the start of any line.

A block has 64 KiB, so 1 GB of file takes 128 KB of index. Beyond 8 GiB the blocks grow with the file, so that no index
takes more than 1 MB. A look-up reads one block. The index is made while lines are searched, as far as the answer needs,
and extended when more is requested.

An index is used only for the file it was made from: the same device and inode, the same size, and the same times, set
before the scan began. A file that is longer counts as one that only grew if the last indexed block and samples of
everything before it are the same bytes; any other file is scanned again. Limit: samples cannot show that a large file
was changed in the middle *and* appended to between two reads.
"""

from __future__ import annotations

import time
from array import array
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import accumulate
from typing import TYPE_CHECKING

from eyespan import _native
from eyespan.caches import CacheTable
from eyespan.context import CallContext
from eyespan.errors import ReadError, from_os_error
from eyespan.source import Source, Status

if TYPE_CHECKING:
    from eyespan.lines.encodings import Encoding


STRIDE = 65536
"""The initial length of a block."""
MAX_BLOCKS = 1 << 17
"""With more blocks, each two become one, so the index of a file of 1 TB does not fill the memory."""
LEAST_SCAN_BYTES, MOST_SCAN_BYTES = 4 << 20, 64 << 20
"""A scan reads as much as all before it, so an early line costs little and a late one few calls. A scan cannot be
interrupted, and a slow disk must not keep a call beyond its deadline."""
NESTED_SCAN_BYTES = 2 << 20
"""The size of a scan of decoded bytes: at most what the decoder holds in memory, so the line found is still there."""
MIN_FILE_BYTES = 4 << 20
"""Reading through a smaller file is faster than keeping an index of it."""
TRUST_GROWTH_BYTES = 16 << 20
"""A smaller file that changed in any way is scanned again: that takes two milliseconds and is always right."""
SAMPLE_BYTES = 512
RACY_NS = 50_000_000
"""The clock of file times ticks more slowly than files change, so times this recent do not prove that nothing did."""


@dataclass(slots=True)
class LineIndex:
    """The line feeds of the first blocks of a file. It grows; what it has never changes."""

    stride: int = field(default_factory=lambda: STRIDE)
    """The bytes of a block."""
    ends: array[int] = field(default_factory=lambda: array("Q"))
    """The line feeds up to the end of each block."""
    file_bytes: int = 0
    """The size of the file when it was indexed."""
    stamp: tuple[int, int] | None = None
    """The times of the file then; None if they prove nothing."""
    fingerprint: bytes = b""
    """The fingerprint of the samples below `covered`."""

    def copy(self) -> LineIndex:
        """Return an index that can grow while other threads use this one."""
        return replace(self, ends=self.ends[:])

    @property
    def covered(self) -> int:
        """Return the bytes of all whole blocks; bytes after them may still be written."""
        return self.stride * len(self.ends)

    @property
    def feeds(self) -> int:
        """Return the number of line feeds in the covered bytes."""
        return self.ends[-1] if self.ends else 0

    @property
    def size_bytes(self) -> int:
        """Return the memory that the index takes, about."""
        return self.ends.itemsize * len(self.ends)

    def append(self, counts: Iterable[int]) -> None:
        """Add the line feeds of the next blocks."""
        before = self.feeds
        self.ends.extend([before + count for count in accumulate(counts)])
        while len(self.ends) > MAX_BLOCKS:
            self.ends = self.ends[1::2]  # an odd block at the end is dropped and scanned again
            self.stride *= 2

    def locate(self, feeds: int) -> tuple[int, int] | None:
        """Return the block with the `feeds`-th line feed: its offset, and the line feeds before it.

        None if the index does not reach that far.
        """
        block = bisect_left(self.ends, feeds)
        if block == len(self.ends):
            return None
        return block * self.stride, self.ends[block - 1] if block else 0


def stamp_of(status: Status) -> tuple[int, int]:
    """Return the times that change when a file does."""
    return (status.st_mtime_ns, status.st_ctime_ns)


def fingerprint(source: Source, covered: int) -> bytes:
    """Return a hash of the last block of the first `covered` bytes and of samples of everything before it."""
    seen = blake2b(digest_size=16)
    last = max(0, covered - STRIDE)
    step = max(SAMPLE_BYTES, last // 32)
    for offset in range(0, last, step):
        seen.update(source.read_at(offset, SAMPLE_BYTES))
    seen.update(source.read_at(last, covered - last))
    return seen.digest()


# --- the cache --------------------------------------------------------------------------------------------------------

_indexes = CacheTable(2 << 20, 256)
"""The latest indexes, by the identity of the source and its line feed."""


def find(source: Source, newline: bytes) -> LineIndex | None:
    """Return the index of this source, or None if there is none that can be trusted."""
    key = (*source.identity, newline)
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
    try:
        samples = fingerprint(source, index.covered) if source.is_file else b""
    except ReadError:
        return
    stamp = None if is_racy else stamp_of(was)
    index = replace(index, file_bytes=was.st_size, stamp=stamp, fingerprint=samples)
    _indexes.put((*source.identity, newline), index, index.size_bytes)


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


# --- one read ---------------------------------------------------------------------------------------------------------


class Indexer:
    """Finds lines of a large file for one read: by the index as far as it reaches, by scanning after it.

    The index comes from the cache on first use and is returned to it by `save`.
    """

    __slots__ = ("_context", "_encoding", "_has_grown", "_index", "_source", "_started_ns", "is_broken")

    def __init__(self, source: Source, encoding: Encoding, context: CallContext) -> None:
        self._source = source
        self._encoding = encoding
        self._context = context
        self._index: LineIndex | None = None
        self._has_grown = False
        """The index covers more than the cached one, which other threads may use."""
        self._started_ns = 0
        self.is_broken = False
        """The file became shorter while it was scanned, so the index must not be cached."""

    @property
    def is_useful(self) -> bool:
        """Return True for a large file."""
        return self._index is not None or (self._source.size_bytes >= MIN_FILE_BYTES and self._source.is_indexable)

    @property
    def index(self) -> LineIndex:
        """Return the index so far."""
        if self._index is None:
            self._started_ns = time.time_ns()
            self._index = find(self._source, self._encoding.newline) or LineIndex()
        return self._index

    def save(self) -> None:
        """Cache the index, if this read has extended it."""
        index = self._index
        if index is None or self.is_broken:
            return
        # An index of a file that grew is cached again with the present size, also if it covers no more than before.
        if self._has_grown or (index.covered and index.file_bytes != self._source.status.st_size):
            put(self._source, self._encoding.newline, index, self._started_ns)

    def block_of(self, line: int, limit: int) -> tuple[int, int]:
        """Return an offset from which a line can be searched, and the number of the line that holds the offset.

        Scans on until the line is found, up to `limit` or the last whole block of the file.
        """
        while (found := self.index.locate(line - 1)) is None:
            if not self._scan(limit):
                return self.index.covered, self.index.feeds + 1
        return found[0], found[1] + 1

    def end(self, limit: int) -> tuple[int, int]:
        """Return the end of the last whole block of the file, scanned up to `limit`, and the number of its line."""
        while self._scan(limit):
            pass
        return self.index.covered, self.index.feeds + 1

    def _scan(self, limit: int) -> bool:
        """Count the line feeds of the next whole blocks; return False if there are none."""
        source, start, stride = self._source, self.index.covered, self.index.stride
        size = min(max(start, LEAST_SCAN_BYTES), MOST_SCAN_BYTES) if source.is_file else NESTED_SCAN_BYTES
        end = min(limit, source.size_bytes, start + max(stride, size))
        end -= end % stride
        if end <= start or self.is_broken:
            return False
        self._context.advance(start, source.size_bytes)
        counts = self._count(start, end, stride)
        if len(counts) < (end - start) // stride and source.is_file:
            self.is_broken = True  # decoded bytes may well end before their estimated size; a file may not
        if not self._has_grown:
            self._index = self.index.copy()
            self._has_grown = True
        self.index.append(counts)
        return not self.is_broken

    def _count(self, start: int, end: int, stride: int) -> array[int]:
        """Return the counts of the whole blocks from `start` to `end`; fewer if the file ends before."""
        counts = array("I")
        if self._encoding.unit_bytes == 1 and self._source.is_file:
            try:
                packed, stopped = _native.scan(self._source.fd, start, end, stride)
            except OSError as error:
                raise from_os_error(error, self._source.asked) from None
            counts.frombytes(packed)
            return counts[: (stopped - start) // stride]
        for offset in range(start, end, stride):
            block = self._source.read_fully(offset, stride)
            if len(block) < stride:
                break
            counts.append(self._encoding.count(block))
        return counts
