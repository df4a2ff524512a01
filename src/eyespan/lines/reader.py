"""Read lines by their numbers: any window and any tail of a text file.

A read goes forward in blocks and stops as soon as the window is complete. It holds the window and one block, for any
size of the file or of a line. Lines are found in the bytes of the file and returned in UTF-8, whatever its encoding.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from eyespan.context import CallContext
from eyespan.errors import ReadError, ScanLimit, TooLarge, WindowTooLarge
from eyespan.lines.encodings import Encoding, Transcoder
from eyespan.lines.finder import LineFinder, LineStart
from eyespan.lines.index import Indexer
from eyespan.lines.scan import Scan
from eyespan.lines.window import LINE_BYTES, LineWindow
from eyespan.model import MIB, NO_TOTAL, ReadRequest, TextPart, TotalRule
from eyespan.source import Source

STREAM_LINES = 4096
NO_CUTS: Mapping[int, int] = {}

# glibc maps blocks that are larger than any it has freed, and unmaps them after use. Without this line every window
# pays for fresh pages: one of 2,000 lines takes three times as long. A larger block would be served from the heap too,
# where buffers grow by copies, and several copies exceed the promised memory.
bytes(MIB)


class LineReader:
    """Reads one source for one request. The sizes below change the speed, never the result."""

    block_bytes = 256 * 1024
    squeeze_bytes = 1 * MIB
    """Long lines are left in a window smaller than this; rendering shortens them."""

    def __init__(self, source: Source, request: ReadRequest, encoding: Encoding, context: CallContext) -> None:
        self._source = source
        self._request = request
        self._encoding = encoding
        self._context = context
        self._indexer = Indexer(source, encoding, context)
        # UTF-8 is passed on with its errors, which rendering replaces, unless the request wants them counted.
        self._transcoder = Transcoder(encoding) if encoding.name != "utf-8" or request.reports_encoding else None

    @property
    def replaced(self) -> int:
        """Return how many pieces of the lines could not be decoded; 0 if the request does not want to know."""
        return 0 if self._transcoder is None else self._transcoder.replaced

    def window(self, first: int, count: int | None) -> TextPart:
        """Return the lines `first` to `first + count - 1`, or none if the file ends before them.

        Raises: ScanLimit, TooLarge, WindowTooLarge, and what reading raises.
        """
        limit_bytes = self._request.limits.max_whole_bytes
        if first == 1 and count is None and limit_bytes is not None:
            size_bytes = max(self._source.size_bytes, limit_bytes + 1)
            error = TooLarge(self._source.asked, size_bytes=size_bytes, limit_bytes=limit_bytes)
            if self._source.size_bytes > limit_bytes:
                raise error
            finder = self.finder(end=limit_bytes, error=error)
        else:
            finder = self._limited_finder()
        place = finder.find(first)
        if place.line < first:
            return self._part(b"", first=first, line_count=0, end=place)
        return self._collect(finder, place.offset, first, count, self._request.total)[0]

    def stream(self, first: int, count: int | None) -> Iterator[TextPart]:
        """Yield the lines of `window` in small parts, so that any number of them can be passed on.

        Raises: ScanLimit, WindowTooLarge, and what reading raises.
        """
        finder = self._limited_finder()
        place = finder.find(first)
        if place.line < first:
            yield self._part(b"", first=first, line_count=0, end=place)
            return
        offset, line = place.offset, first
        while True:
            step = STREAM_LINES if count is None else min(count, STREAM_LINES)
            # Only the last part states a total: to find the end each time would read it each time.
            total = self._request.total if count == step else NO_TOTAL
            part, offset = self._collect(finder, offset, line, step, total)
            yield part
            if not part.more or count == step:
                return
            count = None if count is None else count - step
            line += part.line_count

    def tail(self, count: int, numbered: bool = True) -> TextPart:
        """Return the last `count` lines, numbered as in the whole file. Without numbers only its end is read.

        The limit of scanned bytes applies to the whole file, or without numbers to the lines themselves; a file that
        does not exceed the limit is numbered all the same.

        Raises: ScanLimit, WindowTooLarge, and what reading raises.
        """
        limit_bytes = self._request.limits.max_scan_bytes
        numbered = numbered or (limit_bytes is not None and self._source.size_bytes <= limit_bytes)
        if numbered or not self._source.has_exact_size:  # the end of a compressed file is unknown until it is read
            finder = self._limited_finder(needs_numbers=True)
            end = finder.end()
            lines = min(count, end.line_count)
            first = end.line_count - lines + 1 if numbered else 0
            # Ignore what was appended after the count.
            place = finder.go_back(end.offset, lines)
            return self._collect(finder.up_to(end.offset), place, first, lines, self._request.total)[0]
        size_bytes = max(len(self._encoding.bom), self._source.size_bytes)
        finder = self.finder(end=size_bytes)
        offset = finder.go_back(size_bytes, count, least=0 if limit_bytes is None else size_bytes - limit_bytes)
        if limit_bytes is not None and size_bytes - offset > limit_bytes:
            raise ScanLimit(self._source.asked, limit_bytes=limit_bytes)
        return self._collect(finder, offset, 0, None, NO_TOTAL)[0]

    def uncounted_bytes(self) -> int:
        """Return how many bytes would be read to count all lines."""
        indexer = self._indexer
        return self._source.size_bytes - (indexer.index.covered if indexer.is_useful else 0)

    def cache_index(self) -> None:
        """Cache the index of a large file, if this reader has extended it."""
        self._indexer.save()

    def finder(self, end: int | None = None, error: ReadError | None = None) -> LineFinder:
        """Return a finder of lines in the source; if the source goes on at `end`, it raises `error`."""
        encoding, context = self._encoding, self._context
        scan = Scan(self._source, encoding, context, block_bytes=self.block_bytes, end=end, error=error)
        return LineFinder(scan, self._indexer)

    def _limited_finder(self, *, needs_numbers: bool = False) -> LineFinder:
        limit_bytes = self._request.limits.max_scan_bytes
        if limit_bytes is None:
            return self.finder()
        error = ScanLimit(self._source.asked, limit_bytes=limit_bytes, needs_numbers=needs_numbers)
        return self.finder(end=limit_bytes, error=error)

    def _collect(
        self, finder: LineFinder, offset: int, first: int, count: int | None, total: TotalRule
    ) -> tuple[TextPart, int]:
        """Return the window that starts at `offset` with line `first`, and the offset after it.

        The lines of `first=0` have no numbers.
        """
        block, start = finder.scan.block_with(offset)
        if len(block) - start <= self.squeeze_bytes:
            stop = -1 if count is None else self._encoding.nth(block, count, start)
            if count is not None and stop >= 0:  # the block holds all of it
                data = block[start:stop] if self._transcoder is None else self._transcoder.feed(block[start:stop])
                offset += stop - start
                more = stop < len(block) or finder.scan.has_more(offset)
                next_line = LineStart(offset, first + count)
                end = finder.known_end(next_line, total) if more else next_line
                return self._part(data, first=first, line_count=count, end=end, more=more), offset
            if finder.scan.is_end(offset + len(block) - start):  # the block holds all the lines that there are
                data, offset = block[start:], offset + len(block) - start
                is_inside = bool(data) and not self._encoding.ends_line(data)
                lines = self._encoding.count(data) + is_inside
                if self._transcoder is not None:
                    data = self._transcoder.feed(data, final=True)
                end = LineStart(offset, first + lines - is_inside, is_inside)
                return self._part(data, first=first, line_count=lines, end=end), offset
        return self._collect_blocks(finder, offset, block[start:], first, count, total)

    def _collect_blocks(
        self, finder: LineFinder, offset: int, block: bytes, first: int, count: int | None, total: TotalRule
    ) -> tuple[TextPart, int]:
        """Return the same for a window that starts with `block` and needs more blocks, or is large."""
        encoding, transcoder = self._encoding, self._transcoder
        asked, squeeze_bytes = self._source.asked, self.squeeze_bytes
        window = LineWindow(self._request, asked=asked, first=first, count=count, squeeze_bytes=squeeze_bytes)
        charged = 0
        while block and not window.is_full:
            if transcoder is None:
                offset += window.feed(block)
            else:
                if count is not None and window.line_count + encoding.count(block) >= count:
                    block = block[: encoding.nth(block, count - window.line_count)]
                offset += len(block)
                window.feed(transcoder.feed(block))
            if len(window.data) > charged:  # it holds less after long lines are shortened
                # The window, and the text that the answer is made of.
                self._context.charge(2 * (len(window.data) - charged))
                charged = len(window.data)
            if not window.is_full:
                block = finder.scan.block(offset)
        more = window.is_full and (window.is_end_unknown or finder.scan.has_more(offset))
        if not window.is_full:
            window.feed(b"" if transcoder is None else transcoder.feed(b"", final=True), final=True)
        lines = window.line_count
        next_line = LineStart(offset, first + lines - window.ends_open, window.ends_open)
        end: LineStart | None = next_line
        if more:
            end = None if window.is_end_unknown else finder.known_end(next_line, total)
        return self._part(window.data, first=first, line_count=lines, end=end, more=more, cuts=window.cuts), offset

    def _part(
        self,
        data: bytes | bytearray,
        *,
        first: int,
        line_count: int,
        end: LineStart | None,
        more: bool = False,
        cuts: Mapping[int, int] = NO_CUTS,
    ) -> TextPart:
        """Return the part of these lines. Raises: WindowTooLarge."""
        limit_bytes = self._request.limits.max_window_bytes
        if len(data) + LINE_BYTES * line_count > limit_bytes:
            raise WindowTooLarge(self._source.asked, limit_bytes=limit_bytes)
        return TextPart(
            data=data,
            first_line=first,
            line_count=line_count,
            total_lines=None if end is None or first == 0 else end.line_count,
            more=more,
            cuts=cuts,
            encoding=self._encoding.name,
            ends_open=None if end is None else end.is_inside,
        )
