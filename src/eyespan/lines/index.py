"""An index of a large file: how many line feeds it has up to the end of each block, to find the start of any line.

A block has 64 KiB, so 1 GB of file takes 128 KB of index. Beyond 8 GiB the blocks grow with the file, so that no index
takes more than 1 MB. A look-up reads one block. The index is made while lines are searched, as far as the answer needs,
and extended when more is requested. It is used only for the version of the file that it was made from.
"""

from __future__ import annotations

import time
from array import array
from bisect import bisect_left
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import TYPE_CHECKING

from eyespan.caches import CacheTable
from eyespan.context import CallContext
from eyespan.source import Source

if TYPE_CHECKING:
    from eyespan.lines.encodings import Encoding


STRIDE = 65536
"""The initial length of a block."""
MAX_BLOCKS = 1 << 17
"""With more blocks, each two become one, so the index of a file of 1 TB does not fill the memory."""
READ_BLOCKS = 4
"""Smaller reads pay for system calls, larger ones exceed the processor's cache."""
SCAN_BYTES = 2 << 20
"""The bytes that are indexed at a time, at least: what a decoder holds in memory, so the line found is still there."""
MIN_FILE_BYTES = 4 << 20
"""Reading through a smaller file is faster than keeping an index of it."""


@dataclass(slots=True)
class LineIndex:
    """The line feeds of the first blocks of a file. It grows; what it has never changes."""

    stride: int = field(default_factory=lambda: STRIDE)
    """The bytes of a block."""
    ends: array[int] = field(default_factory=lambda: array("Q"))
    """The line feeds up to the end of each block."""

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


_indexes = CacheTable(2 << 20, 256)
"""The latest indexes, by the version of the source and its line feed."""


class Indexer:
    """Finds lines of a large file for one read: by the index as far as it reaches, by scanning after it.

    The index comes from the cache on first use and is returned to it by `save`.
    """

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
            self._index = _indexes.get(self._key) or LineIndex()
        return self._index

    @property
    def _key(self) -> tuple[Hashable, ...]:
        return (*self._source.version, self._encoding.newline)

    def save(self) -> None:
        """Cache the index, if this read has extended it and the file has not changed."""
        if self._has_grown and not self.is_broken and self._source.is_settled(self._started_ns):
            _indexes.put(self._key, self.index, self.index.size_bytes)

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
        end = min(limit, source.size_bytes, start + max(stride, SCAN_BYTES))
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

    def _count(self, start: int, end: int, stride: int) -> list[int]:
        """Return the counts of the whole blocks from `start` to `end`; fewer if the file ends before."""
        read_bytes = READ_BLOCKS * STRIDE
        counts: list[int] = []  # of blocks of the initial length
        for offset in range(start, end, read_bytes):
            data = self._source.read_fully(offset, min(read_bytes, end - offset))
            counts += [self._encoding.count(data, at, at + STRIDE) for at in range(0, len(data) - STRIDE + 1, STRIDE)]
            if len(data) < min(read_bytes, end - offset):
                break
        each = stride // STRIDE
        return [sum(counts[at : at + each]) for at in range(0, len(counts) - each + 1, each)]
