"""Where in a large file does line n start? Known by how many lines each block holds.

One count for every 64 KiB, and a running total for every 16 MiB: 64 KB of index for 1 GB of file. Beyond 16 GiB the
blocks grow with the file, so that no index takes more than 1 MB: at 1 TB they are 4 MiB long. No position of any line
is kept: a look-up adds a few hundred counts and reads one block. The index is made while lines are looked for the first
time, as far as the answer needs, and goes on from there when more is asked.

An index is only ever used for the file it was made from. That is: the same device and inode, and the same size and
times, set before the scan began. A file of some size that is longer now is taken for one that only grew if the last
block indexed and samples spread over all the rest are the same bytes; anything else is scanned anew. (What no sample
can show: a large file that was changed in the middle *and* appended to between two reads.)
"""

from __future__ import annotations

import sys
import time

from eyespan import _native
from eyespan.errors import from_os_error
from eyespan.hashes import blake2b

TYPE_CHECKING = False
if TYPE_CHECKING:
    from eyespan.context import CallContext
    from eyespan.lines.encodings import Encoding
    from eyespan.source import Source, Status

STRIDE = 65536
"""The length of a block, at first; always a power of two."""
GROUP = 256
"""Blocks to one running total."""
MOST_BLOCKS = 1 << 18
"""When there are more, each two become one: who asks a file of 1 TB for its end, again and again, fills no memory."""
LONGEST_STRIDE = 1 << 31
"""A count has 32 bits; reached at half a million gigabytes."""
FIRST_SCAN_BYTES = 4 << 20
LARGEST_SCAN_BYTES = 1 << 30
"""Scans grow from the first to the second, so that an early line costs little and a late one few calls."""
BLIND_SCAN_BYTES = 256 << 20
"""The most that is scanned in one go before it is known how long that takes: at the start of a call there is time."""
SHORT_SECONDS, LONG_SECONDS = 0.05, 0.2
"""A scan of less than the first is followed by a larger one, one of more than the second by as much less: it cannot be
stopped on the way, and a slow disk must not keep a call beyond its deadline."""
INSIDE_SCAN_BYTES = 2 << 20
"""Of what is decoded on the way: no more than it holds of what lies behind, where the line that was found is."""
TRUST_GROWTH_BYTES = 16 << 20
"""A smaller file that changed in any way is scanned anew: that takes two milliseconds and leaves no doubt."""
SAMPLE_BYTES = 512
SAMPLES = 32
RACY_NS = 50_000_000
"""Times of a file tick more slowly than it can change: one set this shortly before a scan proves nothing."""


class LineIndex:
    """The line feeds of a file's first `covered` bytes, by block. Grows; what is there never changes."""

    __slots__ = ("counts", "covered", "file_bytes", "print", "saved", "stamp", "stride", "totals")

    def __init__(self, stride: int | None = None) -> None:
        self.stride = stride or STRIDE
        """Bytes of the file to one count."""
        self.counts = bytearray()
        """Four bytes for each block, as `_native.scan` gives them; no array, whose module is one import more."""
        self.totals = [0]
        """Line feeds before group 0, 1, 2..."""
        self.covered = 0
        """Whole blocks only: what is behind may still be written to."""
        self.file_bytes = 0
        """How long the file was when it was indexed."""
        self.stamp: tuple[int, int] | None = None
        """Its times then; None if they prove nothing."""
        self.print = b""
        """Of the bytes sampled below `covered`."""
        self.saved = 0
        """How much of it the copy on disk covers."""

    def copy(self) -> LineIndex:
        """One that can grow while others look things up in this one."""
        made = LineIndex(self.stride)
        made.counts, made.totals, made.covered = self.counts[:], self.totals[:], self.covered
        made.saved = self.saved
        made.file_bytes, made.stamp, made.print = self.file_bytes, self.stamp, self.print
        return made

    def stamped(self, file_bytes: int, stamp: tuple[int, int] | None, fingerprint: bytes) -> LineIndex:
        """The same counts, said to be those of a file of this length and with these times."""
        made = LineIndex(self.stride)
        made.counts, made.totals, made.covered = self.counts, self.totals, self.covered
        made.saved = self.saved
        made.file_bytes, made.stamp, made.print = file_bytes, stamp, fingerprint
        return made

    @property
    def size_bytes(self) -> int:
        return len(self.counts) + 40 * len(self.totals)

    def _view(self) -> memoryview[int]:
        """The counts as numbers. Not to be kept: they cannot grow meanwhile."""
        return memoryview(self.counts).cast("I")

    def append(self, counts: bytes) -> None:
        """Takes the counts of the blocks that follow."""
        self.counts += counts
        self.covered += self.stride * (len(counts) // 4)
        view = self._view()
        for end in range(len(self.totals) * GROUP, len(view) + 1, GROUP):
            self.totals.append(self.totals[-1] + sum(view[end - GROUP : end]))
        while len(self.counts) > 4 * MOST_BLOCKS and self.stride < LONGEST_STRIDE:
            self._coarsen()

    def _coarsen(self) -> None:
        """Makes one block of each two; an odd one at the end is given up, to be scanned again."""
        view = self._view()
        pairs = zip(view[::2], view[1::2], strict=False)
        self.counts = bytearray(b"".join([(a + b).to_bytes(4, sys.byteorder) for a, b in pairs]))
        self.totals = self.totals[::2]
        self.stride *= 2
        self.covered = self.stride * (len(self.counts) // 4)

    def feeds(self) -> int:
        """All line feeds that are covered."""
        return self.totals[-1] + sum(self._view()[(len(self.totals) - 1) * GROUP :])

    def locate(self, feeds: int) -> tuple[int, int] | None:
        """The block with the `feeds`-th line feed: its offset, and how many come before it. None if not covered."""
        group = _bisect(self.totals, feeds) - 1
        before = self.totals[group]
        block = group * GROUP
        for count in self._view()[block : block + GROUP]:
            if before + count >= feeds:
                return block * self.stride, before
            before += count
            block += 1
        return None


def _bisect(totals: list[int], feeds: int) -> int:
    """The first group before which there are at least `feeds` line feeds; `bisect.bisect_left` without its import."""
    low, high = 1, len(totals)
    while low < high:
        middle = (low + high) >> 1
        if totals[middle] < feeds:
            low = middle + 1
        else:
            high = middle
    return low


def stamp_of(status: Status) -> tuple[int, int]:
    return (status.st_mtime_ns, status.st_ctime_ns)


def digest(data: bytes) -> bytes:
    """What tells these bytes from others, in 16 bytes."""
    return blake2b()(data, digest_size=16).digest()


def fingerprint(source: Source, covered: int) -> bytes:
    """What the first `covered` bytes look like: the last block, and samples spread over all before it."""
    seen = blake2b()(digest_size=16)
    last = max(0, covered - STRIDE)
    step = max(SAMPLE_BYTES, last // SAMPLES)
    for offset in range(0, last, step):
        seen.update(source.read_at(offset, SAMPLE_BYTES))
    seen.update(source.read_at(last, covered - last))
    return seen.digest()


class Indexer:
    """One read's way through a large file, by the index as far as it goes and by scanning from there."""

    def __init__(self, source: Source, encoding: Encoding, context: CallContext, index: LineIndex | None) -> None:
        self._source = source
        self._encoding = encoding
        self._context = context
        self._grows = index is None
        self.index = index or LineIndex()
        self._scan_bytes = FIRST_SCAN_BYTES if source.is_file else INSIDE_SCAN_BYTES
        self._most_bytes = LARGEST_SCAN_BYTES if source.is_file else INSIDE_SCAN_BYTES
        self.grown = False
        """The index knows more than it did when this read began."""
        self.broken = False
        """The file became shorter while it was scanned: nothing of this may be kept."""

    def block_of(self, line: int, limit: int) -> tuple[int, int]:
        """A place from which line `line` can be looked for: an offset and the number of the line that holds it.

        Scans on, up to `limit` at most, until the line is reached or the file's last whole block.
        """
        found = self.index.locate(line - 1)
        if found is None:
            self._scan_bytes = self._guess_bytes(line - 1 - self.index.feeds())
        while found is None:
            if not self._scan(limit):
                return self.index.covered, self.index.feeds() + 1
            found = self.index.locate(line - 1)
        return found[0], found[1] + 1

    def _guess_bytes(self, feeds: int) -> int:
        """How much to scan first for this many line feeds, judging by the head: only a matter of speed."""
        head = self._source.first_bytes
        each = len(head) / max(1, self._encoding.count(head))
        return int(min(max(feeds * each * 1.05, FIRST_SCAN_BYTES), max(BLIND_SCAN_BYTES, self._scan_bytes)))

    def end(self, limit: int) -> tuple[int, int]:
        """As `block_of`, for the file's end."""
        self._scan_bytes = max(BLIND_SCAN_BYTES, self._scan_bytes)
        while self._scan(limit):
            pass
        return self.index.covered, self.index.feeds() + 1

    def _scan(self, limit: int) -> bool:
        """Counts some more whole blocks; False when there are none."""
        start, stride = self.index.covered, self.index.stride
        end = min(limit, self._source.size_bytes, start + max(stride, self._scan_bytes))
        end -= end % stride
        if end <= start or self.broken:
            return False
        self._context.advance(start, self._source.size_bytes)
        began = time.monotonic()
        counts = self._count(start, end, stride)
        took = time.monotonic() - began
        if len(counts) // 4 * stride < end - start and self._source.is_file:
            self.broken = True  # what is decoded on the way may well end before its guessed length
        if not self._grows:
            # Others may be looking things up in it.
            self.index = self.index.copy()
            self._grows = True
        self.index.append(counts)
        self.grown = True
        if took < SHORT_SECONDS:
            self._scan_bytes = min(self._scan_bytes * 4, self._most_bytes)
        elif took > LONG_SECONDS:
            self._scan_bytes = max(stride, int((end - start) * LONG_SECONDS / 2 / took))
        return not self.broken

    def _count(self, start: int, end: int, stride: int) -> bytes:
        """The counts of the whole blocks from `start` to `end`; fewer if the file ends before."""
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
