"""Any window of any text file, read forward in blocks and stopped as soon as it is served.

Holds the window and one block, whatever the size of the file or of a line: a line longer than the dialect shows is
shortened while it is read. Lines are looked for in the file's own bytes and kept as UTF-8, whatever its encoding. Knows
nothing of how lines are shown.
"""

from __future__ import annotations

from eyespan import _native
from eyespan.errors import ReadError, ScanLimit, TooLarge, WindowTooLarge
from eyespan.lines.encodings import CharCounter, Transcoder
from eyespan.model import EXACT_TOTAL, MIB, NO_TOTAL, TextPart

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from eyespan.context import CallContext
    from eyespan.lines.cache import Store
    from eyespan.lines.encodings import Encoding
    from eyespan.lines.index import Indexer
    from eyespan.model import ReadRequest
    from eyespan.source import Source

LINE_BYTES = 16
"""What a line weighs in a window beside its text: its number and what is put around it."""


OPEN_BYTES = 65536
"""The line being read is cut once it is longer than this, so that a single endless line costs one block."""
STREAM_LINES = 4096
TAIL_BYTES = 65536
"""The first look back from the end of a file: most tails are shorter."""


# An allocator that never saw a large block gives every window's memory back to the system and pays page faults to get
# it again: a window of 2,000 lines then takes three times as long. One block, never touched, teaches it better. Not a
# larger one: what is below its size grows by copies, and several of those would not fit into the memory promised.
bytes(MIB)


class LineReader:
    """One pass over one source for one request. What it gives does not depend on the sizes below."""

    block_bytes = 256 * 1024
    squeeze_bytes = 1 * MIB
    """A window smaller than this is not searched for long lines; whoever shows it shortens them."""
    cheap_bytes = 8 * MIB
    """How much is read on only to tell the total number of lines: a few milliseconds."""

    index_min_bytes = 4 * MIB
    """Smaller files are read through more quickly than an index is kept."""

    def __init__(self, source: Source, request: ReadRequest, encoding: Encoding, context: CallContext) -> None:
        self._source = source
        self._store: Store | None = None
        self._indexer: Indexer | None = None
        self._started_ns = 0
        self._request = request
        self._encoding = encoding
        self._context = context
        self.start = len(encoding.bom)
        """Where the text begins."""
        self._held = b""
        self._held_at = 0
        """The block last looked into, and where it starts."""
        self._next = 0
        """Where the line after the last window starts."""
        self._ends_open = False
        """The last byte seen in file order was not a line feed: the file's last line has no terminator."""
        self._limit: int | None = None
        self._over: ReadError | None = None
        # UTF-8 is kept as it is, mistakes included, unless they are to be counted: whoever shows it replaces them.
        self._transcoder = Transcoder(encoding) if encoding.name != "utf-8" or request.tells_encoding else None

    @property
    def replaced(self) -> int:
        """How many pieces of the lines given could not be decoded; 0 where nobody asked."""
        return 0 if self._transcoder is None else self._transcoder.replaced

    def window(self, first: int, count: int | None) -> TextPart:
        """The lines `first` to `first + count - 1`; none, if the file ends before.

        Raises: ScanLimit, TooLarge, WindowTooLarge, and what reading raises.
        """
        limits = self._request.limits
        whole = first == 1 and count is None
        if whole and limits.max_whole_bytes is not None:
            if self._source.size_bytes > limits.max_whole_bytes:
                raise self._too_large()
            self._limit, self._over = limits.max_whole_bytes, self._too_large()
        else:
            self._bound_scan()
        position, line = self.seek(self.start, 1, first)
        if line < first:
            return self._part(b"", first, 0, self._total(line), False, {})
        return self._collect(position, first, count)

    def stream(self, first: int, count: int | None) -> Iterator[TextPart]:
        """The same lines as `window`, a part at a time, so that any number of them can be passed on."""
        self._bound_scan()
        position, line = self.seek(self.start, 1, first)
        if line < first:
            yield self._part(b"", first, 0, self._total(line), False, {})
            return
        while True:
            step = STREAM_LINES if count is None else min(count, STREAM_LINES)
            part = self._collect(position, line, step)
            yield part
            if not part.more or count == step:
                return
            count = None if count is None else count - step
            line += part.line_count
            position = self._next

    def tail(self, count: int, numbered: bool = True) -> TextPart:
        """The last `count` lines, numbered as in the whole file. Without numbers only the end of it is read.

        Raises: as `window`.
        """
        start = self.start
        if numbered or not self._source.has_exact_size:  # nobody knows where the end of a compressed file is
            self._bound_scan()
            end, total = self._count()
            lines = min(count, total)
            first = total - lines + 1
        else:
            end = max(start, self._source.size_bytes)
            self._look_back(end)
            lines, first, total = count, 0, None
        position = self._back(start, end, lines)
        self._limit, self._over = end, None  # what was appended since is another file's business
        part = self._collect(position, first, None if total is None else lines)
        if numbered:
            return part
        return TextPart(part.data, 0, part.line_count, None, False, part.cuts, part.encoding, part.ends_open)

    def keep_index(self) -> None:
        """Hands on what this read learned of a large file, for the next one."""
        indexer = self._indexer
        if indexer is None or self._store is None or indexer.broken:
            return
        # Also an index that only fits what the file has become is kept anew: with the length that it fits.
        if indexer.grown or (indexer.index.covered and indexer.index.file_bytes != self._source.status.st_size):
            self._store.keep(self._source, self._encoding.newline, indexer.index, self._started_ns)

    # --- moving ----------------------------------------------------------------------------------------------------

    def seek(self, position: int, line: int, wanted: int) -> tuple[int, int]:
        """From the start of `line` to the start of line `wanted`: its offset and number.

        If the file ends before, the number is that of the line that would come next, or of the open last line.
        """
        encoding = self._encoding
        while line < wanted:
            position, line = self._jump(position, line, wanted)
            block = self._block(position)
            if not block:
                break
            at = encoding.nth(block, wanted - line)
            if at < 0:
                line += encoding.count(block)
                position += len(block)
                self._ends_open = not encoding.ends_line(block)
            else:
                self._held, self._held_at = block, position
                line = wanted
                position += at
                self._ends_open = False
        return position, line

    def _jump(self, position: int, line: int, wanted: int) -> tuple[int, int]:
        """As far towards line `wanted` as the index of a large file leads: an offset and the line that holds it."""
        indexer = self._index()
        if indexer is None or (position < len(self._source.first_bytes) and not indexer.index.covered):
            return position, line  # small, or not known yet: look at what is at hand before scanning
        place, number = indexer.block_of(wanted, self._end_of_scan())
        if place <= position:
            return position, line
        self._look_back(place)
        return place, number

    def _index(self) -> Indexer | None:
        """The way through a large file; None for a small one."""
        if self._indexer is None and self._source.size_bytes >= self.index_min_bytes and self._source.is_indexable:
            import time

            from eyespan.lines.cache import shared
            from eyespan.lines.index import Indexer

            self._store = shared()
            self._started_ns = time.time_ns()
            known = self._store.find(self._source, self._encoding.newline)
            self._indexer = Indexer(self._source, self._encoding, self._context, known)
        return self._indexer

    def _end_of_scan(self) -> int:
        return self._source.size_bytes if self._limit is None else min(self._limit, self._source.size_bytes)

    def _look_back(self, position: int) -> None:
        """Whether the line before `position` is open."""
        unit = self._encoding.unit_bytes
        before = self._read(position - unit, unit) if position >= unit + self.start else b""
        cut = (position - self.start) % unit  # the file ends inside a unit
        self._ends_open = bool(cut) or (bool(before) and before != self._encoding.newline)

    def _back(self, start: int, end: int, count: int) -> int:
        """Where the last `count` lines before `end` begin."""
        encoding, unit = self._encoding, self._encoding.unit_bytes
        if count <= 0:
            return end
        position = end
        if not self._ends_open:
            count += 1  # the line feed at the very end opens no line
        block_bytes = min(self.block_bytes, TAIL_BYTES)
        while position > start:
            most = max(unit, block_bytes - block_bytes % unit)
            size = (position - start) % most or most  # blocks counted from the start are aligned to whole units
            block = self._exactly(position - size, size)
            feeds = encoding.count(block)
            if feeds >= count:
                if len(block) == size:
                    self._held, self._held_at = block, position - size
                return position - size + encoding.nth(block, feeds - count + 1)
            count -= feeds
            position -= size
            block_bytes = self.block_bytes
            self._context.advance(position, end)
        return start

    # --- collecting ------------------------------------------------------------------------------------------------

    def _collect(self, position: int, first: int, count: int | None) -> TextPart:
        """The window that starts at `position` with line `first`."""
        encoding, transcoder = self._encoding, self._transcoder
        block, start = self._held, position - self._held_at
        if not 0 <= start < len(block):
            block, start = self._block(position), 0
        if count is not None and len(block) - start <= self.squeeze_bytes:
            end = encoding.nth(block, count, start)
            if end >= 0:  # all of it is at hand
                self._ends_open = False
                self._next = position + end - start
                more = end < len(block) or bool(self._block(self._next, probe=True))
                total = self._total_after(self._next, first + count) if more else first + count - 1
                kept = block[start:end] if transcoder is None else transcoder.feed(block[start:end])
                return self._part(kept, first, count, total, more, {})
        block = block[start:]
        window = _Window(self._request, self._source.asked, first, count, self.squeeze_bytes)
        while not window.done:
            if not block:
                if transcoder is not None:
                    window.feed(transcoder.feed(b"", final=True))
                window.finish()
                self._ends_open = window.ends_open
                line = first + window.lines
                return self._part(window.kept, first, window.lines, line - 1, False, window.cuts)
            if transcoder is None:
                position += window.feed(block)
            else:
                if count is not None and window.lines + encoding.count(block) >= count:
                    block = block[: encoding.nth(block, count - window.lines)]
                position += len(block)
                window.feed(transcoder.feed(block))
            if not window.done:
                block = self._block(position)
        self._next = position
        if window.stopped_inside:
            return self._part(window.kept, first, window.lines, None, True, window.cuts)
        self._ends_open = False
        more = bool(self._block(position, probe=True))
        total = self._total_after(position, first + window.lines) if more else first + window.lines - 1
        return self._part(window.kept, first, window.lines, total, more, window.cuts)

    def _part(
        self, kept: bytes | bytearray, first: int, lines: int, total: int | None, more: bool, cuts: dict[int, int]
    ) -> TextPart:
        ends_open = None if total is None else bool(total) and self._ends_open
        return TextPart(kept, first, lines, total, more, cuts, self._encoding.name, ends_open)

    # --- counting --------------------------------------------------------------------------------------------------

    def _total(self, line: int) -> int:
        """The number of lines, once the end was reached with `line` as the next or the open line."""
        return line if self._ends_open else line - 1

    def _total_after(self, position: int, line: int) -> int | None:
        """The number of lines when `line` starts at `position`: counted if it is asked for or cheap, else unknown."""
        rule = self._request.total
        if rule == NO_TOTAL:
            return None
        if rule != EXACT_TOTAL:
            if self._limit is not None:
                return None
            if self._source.size_bytes - position > self.cheap_bytes:
                indexer = self._index()
                if indexer is None:
                    return None
                left_bytes = self._source.size_bytes - indexer.index.covered
                if left_bytes > self.cheap_bytes and left_bytes >= indexer.index.stride:
                    return None
        return self._count(position, line)[1]

    def _count(self, position: int | None = None, line: int = 1) -> tuple[int, int]:
        """Reads on to the end from the start of `line` at `position`: where the end is, and the number of lines."""
        position = self.start if position is None else position
        indexer = self._index()
        if indexer is not None:
            place, number = indexer.end(self._end_of_scan())
            if place > position:
                position, line = place, number
                self._look_back(place)
        while block := self._block(position):
            line += self._encoding.count(block)
            position += len(block)
            self._ends_open = not self._encoding.ends_line(block)
        return position, self._total(line)

    # --- blocks ----------------------------------------------------------------------------------------------------

    def _bound_scan(self) -> None:
        limit = self._request.limits.max_scan_bytes
        if limit is not None:
            self._limit, self._over = limit, ScanLimit(self._source.asked, limit_bytes=limit)

    def _too_large(self) -> TooLarge:
        limit = self._request.limits.max_whole_bytes or 0
        size = max(self._source.size_bytes, limit + 1)
        return TooLarge(self._source.asked, size_bytes=size, limit_bytes=limit)

    def _block(self, position: int, probe: bool = False) -> bytes:
        """The next bytes in file order, aligned to whole units; b"" at the end.

        Raises the limit's error where the limit ends before the file does; a `probe` only looks whether there is more.
        """
        size = self.block_bytes
        if probe:
            return self._read(position, self._encoding.unit_bytes)
        if self._limit is not None and position + size > self._limit:
            size = self._limit - position
            if size <= 0:
                if self._over is not None and self._read(position, 1):
                    raise self._over
                return b""
        block = self._read(position, size)
        extra = len(block) % self._encoding.unit_bytes
        while block and extra:  # a short read inside a unit
            rest = self._read(position + len(block), self._encoding.unit_bytes - extra)
            if not rest:
                break  # the file ends inside a unit: decoding tells it
            block += rest
            extra = len(block) % self._encoding.unit_bytes
        self._context.advance(position, self._source.size_bytes)
        return block

    def _read(self, position: int, size: int) -> bytes:
        if self._held_at <= position < self._held_at + len(self._held):
            return self._held[position - self._held_at : position - self._held_at + size]
        head = self._source.first_bytes
        if position < len(head):
            return head[position : position + size]
        return self._source.read_at(position, size)

    def _exactly(self, position: int, size: int) -> bytes:
        """`size` bytes that were there a moment ago; fewer only if the file shrank since."""
        block = self._read(position, size)
        while len(block) < size:
            rest = self._read(position + len(block), size - len(block))
            if not rest:
                break
            block += rest
        return block


class _Window:
    """The lines kept so far, in UTF-8; long ones shortened once they begin to weigh."""

    def __init__(self, request: ReadRequest, asked: str, first: int, count: int | None, squeeze_bytes: int) -> None:
        self.kept = bytearray()
        self.lines = 0
        self.done = count is not None and count <= 0
        self.ends_open = False
        self.stopped_inside = False
        """Enough was seen of the last line wanted; where it ends is not known."""
        self.cuts: dict[int, int] = {}
        self._first = first
        self._count = count
        self._asked = asked
        self._squeeze_bytes = squeeze_bytes
        self._open_bytes = min(squeeze_bytes, OPEN_BYTES)
        self._max_line = request.limits.max_line_bytes
        self._max_chars = request.limits.max_line_chars
        self._max_window = request.limits.max_window_bytes
        self._counts_chars = request.counts_cut_chars
        self._hurried = not request.counts_cut_chars and request.total != EXACT_TOTAL
        self._line_start = 0  # in `kept`, of the line that has no end yet
        self._squeezed = 0  # in `kept`, up to where long lines were already shortened
        self._cutting: CharCounter | None = None
        self._terminator = b""

    def feed(self, block: bytes) -> int:
        """Takes what belongs to the window; returns how many bytes of the block were used up."""
        start = 0
        if self._cutting is not None:
            at = block.find(10)
            self._pass_over(block if at < 0 else block[:at])
            if at < 0:
                return len(block)
            self._close_cut(terminated=True)
            start = at + 1
            if self.done:
                return start
        rest = block[start:] if start else block
        newlines = _native.count(rest)
        if self._count is not None and self.lines + newlines >= self._count:
            rest = rest[: _native.nth(rest, self._count - self.lines)]
            newlines = self._count - self.lines
            self.done = True
        base = len(self.kept)
        self.kept += rest
        self.lines += newlines
        if newlines:
            self._line_start = base + rest.rfind(10) + 1
        if self._max_line is not None:
            if len(self.kept) - self._squeezed > self._squeeze_bytes:
                self._squeeze()
            if not self.done and len(self.kept) - self._line_start > max(self._max_line, self._open_bytes):
                self._squeeze()  # what is before a cut is not looked at again
                self._open_cut()
        if len(self.kept) + LINE_BYTES * self.lines > self._max_window:
            raise WindowTooLarge(self._asked, limit_bytes=self._max_window)
        return start + len(rest)

    def finish(self) -> None:
        """The file ended: an open line counts as a line."""
        if self._cutting is not None:
            self._close_cut(terminated=False)
            self.ends_open = True
        elif len(self.kept) > self._line_start:
            self.lines += 1
            self.ends_open = True
        self.done = True

    def _squeeze(self) -> None:
        """Shortens the complete lines that are longer than the dialect shows."""
        limit = self._max_line or 0
        old = bytes(self.kept[self._squeezed : self._line_start])
        open_line = self.kept[self._line_start :]
        del self.kept[self._squeezed :]
        number = self._first + self.lines - _native.count(old)
        at = 0
        while at < len(old):
            end = old.find(10, at)
            if end - at > limit:
                self.cuts[number] = -1
                if self._counts_chars:
                    counter = CharCounter()
                    counter.feed(old[at:end])
                    self.cuts[number] = counter.total(terminated=True)
                self.kept += self._prefix(old[at : at + limit]) + (b"\r\n" if old[end - 1] == 13 else b"\n")
            else:
                self.kept += old[at : end + 1]
            at = end + 1
            number += 1
        self._line_start = self._squeezed = len(self.kept)
        self.kept += open_line

    def _open_cut(self) -> None:
        """The line being read is longer than anyone will see: from here on it is only counted."""
        counter = CharCounter()
        self._cutting = counter
        line = bytes(self.kept[self._line_start :])
        if self._counts_chars:
            counter.feed(line)
        self._terminator = line[-1:]
        del self.kept[self._line_start :]
        self.kept += self._prefix(line[: self._max_line])
        if self._hurried and self._count is not None and self.lines + 1 == self._count:
            self._close_cut(terminated=True)
            self.stopped_inside = True

    def _prefix(self, start: bytes) -> bytes:
        """Of the first bytes of a long line those that are needed to show that it is too long.

        Two characters more than are shown: the last may be a CR, which the line feed behind it takes away.
        """
        if not self._max_chars:
            return start
        return start.decode("utf-8", "replace")[: self._max_chars + 2].encode("utf-8")

    def _pass_over(self, piece: bytes) -> None:
        if piece and self._cutting is not None:
            if self._counts_chars:
                self._cutting.feed(piece)
            self._terminator = piece[-1:]

    def _close_cut(self, terminated: bool) -> None:
        counter, self._cutting = self._cutting, None
        assert counter is not None
        self.cuts[self._first + self.lines] = counter.total(terminated) if self._counts_chars else -1
        if terminated:
            self.kept += b"\r\n" if self._terminator == b"\r" else b"\n"
        self.lines += 1
        self._line_start = self._squeezed = len(self.kept)
        self.done = self._count is not None and self.lines >= self._count
