"""An index of a large file: how many line feeds each block holds, to find the start of any line.

It holds one count for every 64 KiB and a running total for every 16 MiB: 64 KB of index for 1 GB of file. Beyond 16 GiB
the blocks grow with the file, so that no index takes more than 1 MB: at 1 TB they are 4 MiB long. A look-up adds a few
hundred counts and reads one block. The index is made while lines are searched, as far as the answer needs, and extended
when more is requested.

An index is used only for the file it was made from: the same device and inode, the same size, and the same times, set
before the scan began. A file that is longer counts as one that only grew if the last indexed block and samples of
everything before it are the same bytes; any other file is scanned again. Limit: samples cannot show that a large file
was changed in the middle *and* appended to between two reads.
"""

from __future__ import annotations

import sys
from hashlib import blake2b
from typing import TYPE_CHECKING

from eyespan import _native
from eyespan.context import CallContext
from eyespan.errors import from_os_error
from eyespan.search import first_true
from eyespan.source import Source, Status

if TYPE_CHECKING:
    from eyespan.lines.encodings import Encoding


STRIDE = 65536
"""The initial length of a block; always a power of two."""
GROUP = 32
"""Blocks to one running total."""
MAX_BLOCKS = 1 << 18
"""With more blocks, each two become one, so the index of a file of 1 TB does not fill the memory."""
MAX_STRIDE = 1 << 31
"""A count has 32 bits; reached at half a million gigabytes."""
FIRST_SCAN_BYTES = 4 << 20
LARGEST_SCAN_BYTES = 1 << 30
"""Scans grow from the first size to the second, so an early line costs little and a late one few calls."""
BLIND_SCAN_BYTES = 256 << 20
"""The most that one scan reads before the speed is known: at the start of a call there is time."""
SHORT_SECONDS, LONG_SECONDS = 0.05, 0.2
"""A scan shorter than the first is followed by a larger one, a scan longer than the second by a smaller one. A scan
cannot be interrupted, and a slow disk must not keep a call beyond its deadline."""
NESTED_SCAN_BYTES = 2 << 20
"""The size of a scan of decoded bytes: at most what the decoder holds in memory, so the line found is still there."""
TRUST_GROWTH_BYTES = 16 << 20
"""A smaller file that changed in any way is scanned again: that takes two milliseconds and is always right."""
SAMPLE_BYTES = 512
RACY_NS = 50_000_000
"""The clock of file times ticks more slowly than files change, so times this recent do not prove that nothing did."""


class LineIndex:
    """The line feeds of the first `covered` bytes of a file, by block. It grows; its counts never change."""

    __slots__ = ("counts", "covered", "file_bytes", "fingerprint", "stamp", "stride", "totals")

    def __init__(self, stride: int | None = None) -> None:
        self.stride = stride or STRIDE
        """The bytes of the file to one count."""
        self.counts = bytearray()
        """Four bytes for each block, in the form of `_native.scan`; an array would cost an import."""
        self.totals = [0]
        """The line feeds before group 0, 1, 2..."""
        self.covered = 0
        """The bytes of all whole blocks; bytes after them may still be written."""
        self.file_bytes = 0
        """The size of the file when it was indexed."""
        self.stamp: tuple[int, int] | None = None
        """The times of the file then; None if they prove nothing."""
        self.fingerprint = b""
        """The fingerprint of the samples below `covered`."""

    def copy(self) -> LineIndex:
        """Return an index that can grow while other threads use this one."""
        made = self.stamped(self.file_bytes, self.stamp, self.fingerprint)
        made.counts, made.totals = self.counts[:], self.totals[:]
        return made

    def stamped(self, file_bytes: int, stamp: tuple[int, int] | None, fingerprint: bytes) -> LineIndex:
        """Return an index of the same counts for a file of this size, these times and this fingerprint."""
        made = LineIndex(self.stride)
        made.counts, made.totals, made.covered = self.counts, self.totals, self.covered
        made.file_bytes, made.stamp, made.fingerprint = file_bytes, stamp, fingerprint
        return made

    @property
    def size_bytes(self) -> int:
        """Return the memory that the index takes, about."""
        return len(self.counts) + 40 * len(self.totals)

    def _view(self) -> memoryview[int]:
        """Return the counts as numbers. While the view exists, the counts cannot grow."""
        return memoryview(self.counts).cast("I")

    def append(self, counts: bytes) -> None:
        """Add the counts of the next blocks."""
        self.counts += counts
        self.covered += self.stride * (len(counts) // 4)
        view = self._view()
        for end in range(len(self.totals) * GROUP, len(view) + 1, GROUP):
            self.totals.append(self.totals[-1] + sum(view[end - GROUP : end]))
        while len(self.counts) > 4 * MAX_BLOCKS and self.stride < MAX_STRIDE:
            self._coarsen()

    def _coarsen(self) -> None:
        """Join each two blocks into one; an odd one at the end is dropped and scanned again."""
        view = self._view()
        pairs = zip(view[::2], view[1::2], strict=False)
        self.counts = bytearray(b"".join([(a + b).to_bytes(4, sys.byteorder) for a, b in pairs]))
        self.totals = self.totals[::2]
        self.stride *= 2
        self.covered = self.stride * (len(self.counts) // 4)

    def feeds(self) -> int:
        """Return the number of line feeds in the covered bytes."""
        return self.totals[-1] + sum(self._view()[(len(self.totals) - 1) * GROUP :])

    def locate(self, feeds: int) -> tuple[int, int] | None:
        """Return the block with the `feeds`-th line feed: its offset, and the line feeds before it.

        None if the index does not reach that far.
        """
        totals = self.totals
        group = first_true(1, len(totals), lambda group: totals[group] >= feeds) - 1
        before = totals[group]
        block = group * GROUP
        for count in self._view()[block : block + GROUP]:
            if before + count >= feeds:
                return block * self.stride, before
            before += count
            block += 1
        return None


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


class Indexer:
    """Finds lines of a large file for one read: by the index as far as it reaches, by scanning after it."""

    def __init__(self, source: Source, encoding: Encoding, context: CallContext, index: LineIndex | None) -> None:
        self._source = source
        self._encoding = encoding
        self._context = context
        self._owns_index = index is None
        """No other thread uses the index, so it may grow."""
        self.index = index or LineIndex()
        self._scan_bytes = FIRST_SCAN_BYTES if source.is_file else NESTED_SCAN_BYTES
        self._max_scan_bytes = LARGEST_SCAN_BYTES if source.is_file else NESTED_SCAN_BYTES
        self.has_grown = False
        """The index covers more than it did when this read began."""
        self.is_broken = False
        """The file became shorter while it was scanned, so the index must not be cached."""

    def block_of(self, line: int, limit: int) -> tuple[int, int]:
        """Return an offset from which a line can be searched, and the number of the line that holds the offset.

        Scans on until the line is found, up to `limit` or the last whole block of the file.
        """
        found = self.index.locate(line - 1)
        if found is None:
            self._scan_bytes = self._estimated_bytes(line - 1 - self.index.feeds())
        while found is None:
            if not self._scan(limit):
                return self.index.covered, self.index.feeds() + 1
            found = self.index.locate(line - 1)
        return found[0], found[1] + 1

    def _estimated_bytes(self, feeds: int) -> int:
        """Return how much to scan first for this many line feeds, judging by the first bytes. Affects speed only."""
        first_bytes = self._source.first_bytes
        line_bytes = len(first_bytes) / max(1, self._encoding.count(first_bytes))
        return int(min(max(feeds * line_bytes * 1.05, FIRST_SCAN_BYTES), max(BLIND_SCAN_BYTES, self._scan_bytes)))

    def end(self, limit: int) -> tuple[int, int]:
        """Return the end of the last whole block of the file, scanned up to `limit`, and the number of its line."""
        self._scan_bytes = max(BLIND_SCAN_BYTES, self._scan_bytes)
        while self._scan(limit):
            pass
        return self.index.covered, self.index.feeds() + 1

    def _scan(self, limit: int) -> bool:
        """Count the line feeds of the next whole blocks; return False if there are none."""
        start, stride = self.index.covered, self.index.stride
        end = min(limit, self._source.size_bytes, start + max(stride, self._scan_bytes))
        end -= end % stride
        if end <= start or self.is_broken:
            return False
        self._context.advance(start, self._source.size_bytes)
        began = self._context.now()
        counts = self._count(start, end, stride)
        took = self._context.now() - began
        if len(counts) // 4 * stride < end - start and self._source.is_file:
            self.is_broken = True  # decoded bytes may well end before their estimated size; a file may not
        if not self._owns_index:
            self.index = self.index.copy()
            self._owns_index = True
        self.index.append(counts)
        self.has_grown = True
        if took < SHORT_SECONDS:
            self._scan_bytes = min(self._scan_bytes * 4, self._max_scan_bytes)
        elif took > LONG_SECONDS:
            self._scan_bytes = max(stride, int((end - start) * LONG_SECONDS / 2 / took))
        return not self.is_broken

    def _count(self, start: int, end: int, stride: int) -> bytes:
        """Return the counts of the whole blocks from `start` to `end`; fewer if the file ends before."""
        if self._encoding.unit_bytes == 1 and self._source.is_file:
            try:
                packed, stopped = _native.scan(self._source.fd, start, end, stride)
            except OSError as error:
                raise from_os_error(error, self._source.asked) from None
            return packed[: (stopped - start) // stride * 4]
        counts = bytearray()
        for offset in range(start, end, stride):
            block = self._source.read_fully(offset, stride)
            if len(block) < stride:
                break
            counts += self._encoding.count(block).to_bytes(4, sys.byteorder)
        return bytes(counts)
