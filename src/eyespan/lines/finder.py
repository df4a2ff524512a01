"""Find lines in a source: where a line starts, where the file ends, how many lines there are.

Large files are found by their index, which is taken from the cache and returned to it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eyespan.context import CallContext
from eyespan.errors import TooMuchMemory
from eyespan.lines import cache
from eyespan.lines.index import Indexer
from eyespan.lines.scan import Scan
from eyespan.model import EXACT_TOTAL, MIB, NO_TOTAL
from eyespan.source import Source

if TYPE_CHECKING:
    from eyespan.lines.encodings import Encoding


TAIL_BYTES = 65536
"""The largest first step back from the end of a file: most tails are shorter."""
MAX_WINDOW_BYTES = 1 * MIB
"""The largest window that is read in one piece."""


@dataclass(frozen=True, slots=True)
class LineStart:
    """An offset and the number of its line. The line of an offset at the end of the file need not exist."""

    offset: int
    line: int
    is_inside: bool = False
    """The line begins before `offset`: the unit before it is not a line feed."""

    @property
    def line_count(self) -> int:
        """Return the number of lines before this place; a line that begins before it counts."""
        return self.line if self.is_inside else self.line - 1


class CachedIndex:
    """The index of one source during one read: found in the cache on first use, returned to it by `save`."""

    min_bytes = 4 * MIB
    """Reading through a smaller file is faster than keeping an index of it."""

    __slots__ = ("_context", "_encoding", "_indexer", "_source", "_started_ns")

    def __init__(self, source: Source, encoding: Encoding, context: CallContext) -> None:
        self._source = source
        self._encoding = encoding
        self._context = context
        self._indexer: Indexer | None = None
        self._started_ns = 0

    def indexer(self) -> Indexer | None:
        """Return the indexer of a large file, None for a small one."""
        if self._indexer is None and self._source.size_bytes >= self.min_bytes and self._source.is_indexable:
            self._started_ns = time.time_ns()
            known = cache.find(self._source, self._encoding.newline)
            self._indexer = Indexer(self._source, self._encoding, self._context, known)
        return self._indexer

    def save(self) -> None:
        """Cache the index, if this read has extended it."""
        indexer = self._indexer
        if indexer is None or indexer.is_broken:
            return
        # An index of a file that grew is cached again with the present size, also if it covers no more than before.
        if indexer.has_grown or (indexer.index.covered and indexer.index.file_bytes != self._source.status.st_size):
            cache.put(self._source, self._encoding.newline, indexer.index, self._started_ns)


class LineFinder:
    """Finds lines in one scan."""

    cheap_bytes = 8 * MIB
    """Reading so much only to count lines is cheap: it takes a few milliseconds."""

    __slots__ = ("_index", "scan")

    def __init__(self, scan: Scan, index: CachedIndex) -> None:
        self.scan = scan
        self._index = index

    def up_to(self, end: int) -> LineFinder:
        """Return a finder that ignores everything from `end` on."""
        return LineFinder(self.scan.up_to(end), self._index)

    def find(self, number: int, count: int | None = None) -> LineStart:
        """Return the start of a line; if the file ends before it, the end of the file.

        With `count`, so many lines are read from there on, and the block in memory has all of them if possible.

        Raises: the error of the scan's limit, and what reading raises.
        """
        scan, encoding = self.scan, self.scan.encoding
        offset, line, is_inside = scan.start, 1, False
        while line < number:
            jump = self._jump(offset, number)
            size_bytes = None
            if jump is not None:
                offset, line = jump
                size_bytes = self._window_bytes(offset, number, count)
            block = scan.block(offset, size_bytes)
            if not block:
                is_inside = scan.is_inside_line(offset)
                break
            after = encoding.nth(block, number - line)
            if after < 0:
                line += encoding.count(block)
                offset += len(block)
                is_inside = not encoding.ends_line(block)
            else:
                scan.hold(block, offset)
                line, offset, is_inside = number, offset + after, False
        return LineStart(offset, line, is_inside)

    def _jump(self, offset: int, number: int) -> tuple[int, int] | None:
        """Return the offset of the indexed block that holds the line and its line, if it is after `offset`."""
        indexer = self._index.indexer()
        if indexer is None or (offset < len(self.scan.source.first_bytes) and not indexer.index.covered):
            return None  # with no index yet, the bytes in memory are searched before the file is scanned
        block = indexer.block_of(number, self.scan.last_offset)
        return block if block[0] > offset else None

    def _window_bytes(self, offset: int, number: int, count: int | None) -> int | None:
        """Return the bytes of the indexed blocks from `offset` to the end of the lines; None for the usual size."""
        indexer = self._index.indexer()
        found = None if indexer is None or count is None else indexer.index.locate(number + count - 1)
        if indexer is None or found is None:
            return None
        size_bytes = found[0] + indexer.index.stride - offset
        return size_bytes if 0 < size_bytes <= MAX_WINDOW_BYTES else None

    def end(self, place: LineStart | None = None) -> LineStart:
        """Return the end of the file, counting lines on from `place`.

        Raises: the error of the scan's limit, and what reading raises.
        """
        scan, encoding = self.scan, self.scan.encoding
        offset, line = (scan.start, 1) if place is None else (place.offset, place.line)
        indexer = self._index.indexer()
        if indexer is not None:
            block_offset, block_line = indexer.end(scan.last_offset)
            if block_offset > offset:
                offset, line = block_offset, block_line
        last_block = b""
        while block := scan.block(offset):
            line += encoding.count(block)
            offset += len(block)
            last_block = block
        is_inside = not encoding.ends_line(last_block) if last_block else scan.is_inside_line(offset)
        return LineStart(offset, line, is_inside)

    def known_end(self, place: LineStart, rule: str) -> LineStart | None:
        """Return the end of the file, or None if the rule for totals forbids to read on from `place` to find it."""
        if rule == NO_TOTAL or (rule != EXACT_TOTAL and not self._is_end_cheap(place.offset)):
            return None
        try:
            return self.end(place)
        except TooMuchMemory:
            if rule == EXACT_TOTAL:
                raise
            return None  # a codec with a large dictionary: the lines themselves can be read

    def _is_end_cheap(self, offset: int) -> bool:
        if self.scan.end is not None:
            return False
        size_bytes = self.scan.source.size_bytes
        if size_bytes - offset <= self.cheap_bytes:
            return True
        indexer = self._index.indexer()
        if indexer is None:
            return False
        left_bytes = size_bytes - indexer.index.covered
        return left_bytes <= self.cheap_bytes or left_bytes < indexer.index.stride

    def _tail_bytes(self, count: int) -> int:
        """Return how much to read first for the last lines, judging by the first bytes. Affects speed only."""
        first_bytes = self.scan.source.first_bytes
        line_bytes = len(first_bytes) / max(1, self.scan.encoding.count(first_bytes))
        return min(max(8192, int(count * line_bytes * 1.25)), TAIL_BYTES)

    def go_back(self, end: int, count: int, *, least: int = 0) -> int:
        """Return the offset of the last `count` lines before the offset `end`, or of the text if it has fewer.

        If they start before the offset `least`, the offset of the text is returned without a search for theirs.
        """
        scan, encoding, start = self.scan, self.scan.encoding, self.scan.start
        if count <= 0:
            return end
        offset, unit_bytes = end, encoding.unit_bytes
        step_bytes = min(scan.block_bytes, self._tail_bytes(count))
        while offset > start and offset >= least:
            most = max(unit_bytes, step_bytes - step_bytes % unit_bytes)
            # Blocks are aligned to whole units from the start on; the last one has the rest of a unit, too.
            size = min(offset - start, most + (offset - start) % unit_bytes)
            offset -= size
            block = scan.read_fully(offset, size)
            if offset + size == end and encoding.ends_line(block):
                count += 1  # the line feed at the end begins no line
            feeds = encoding.count(block)
            if feeds >= count:
                if len(block) == size:  # less: the file shrank
                    scan.hold(block, offset)
                return offset + encoding.nth(block, feeds - count + 1)
            count -= feeds
            step_bytes = scan.block_bytes
            scan.context.advance(offset, end)
        return start
