"""Find lines in a source: where a line starts, where the file ends, how many lines there are.

Large files are found by their index, which is taken from the cache and returned to it.
"""

from __future__ import annotations

from dataclasses import dataclass

from eyespan.errors import TooMuchMemory
from eyespan.lines.index import Indexer
from eyespan.lines.scan import Scan
from eyespan.model import EXACT_TOTAL, MIB, NO_TOTAL

TAIL_BYTES = 65536
"""The first step back from the end of a file: most tails are shorter."""


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


class LineFinder:
    """Finds lines in one scan."""

    cheap_bytes = 8 * MIB
    """Reading so much only to count lines is cheap: it takes a few milliseconds."""

    __slots__ = ("_indexer", "scan")

    def __init__(self, scan: Scan, indexer: Indexer) -> None:
        self.scan = scan
        self._indexer = indexer

    def up_to(self, end: int) -> LineFinder:
        """Return a finder that ignores everything from `end` on."""
        return LineFinder(self.scan.up_to(end), self._indexer)

    def find(self, number: int) -> LineStart:
        """Return the start of a line; if the file ends before it, the end of the file.

        Raises: the error of the scan's limit, and what reading raises.
        """
        scan, encoding, indexer = self.scan, self.scan.encoding, self._indexer
        offset, line, is_inside = scan.start, 1, False
        while line < number:
            # With no index yet, the bytes in memory are searched before the file is scanned.
            if indexer.is_useful and (offset >= len(scan.source.first_bytes) or indexer.index.covered):
                offset, line = max((offset, line), indexer.block_of(number, scan.last_offset))
            block = scan.block(offset)
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

    def end(self, place: LineStart | None = None) -> LineStart:
        """Return the end of the file, counting lines on from `place`.

        Raises: the error of the scan's limit, and what reading raises.
        """
        scan, encoding = self.scan, self.scan.encoding
        offset, line = (scan.start, 1) if place is None else (place.offset, place.line)
        if self._indexer.is_useful:
            offset, line = max((offset, line), self._indexer.end(scan.last_offset))
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
        size_bytes, indexer = self.scan.source.size_bytes, self._indexer
        if size_bytes - offset <= self.cheap_bytes:
            return True
        return indexer.is_useful and size_bytes - indexer.index.covered <= max(self.cheap_bytes, indexer.index.stride)

    def go_back(self, end: int, count: int, *, least: int = 0) -> int:
        """Return the offset of the last `count` lines before the offset `end`, or of the text if it has fewer.

        If they start before the offset `least`, the offset of the text is returned without a search for theirs.
        """
        scan, encoding, start = self.scan, self.scan.encoding, self.scan.start
        if count <= 0:
            return end
        offset, unit_bytes = end, encoding.unit_bytes
        step_bytes = min(scan.block_bytes, TAIL_BYTES)
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
