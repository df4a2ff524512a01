"""Read a source in blocks, aligned to whole units of its encoding, up to a limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eyespan.context import CallContext
from eyespan.errors import ReadError
from eyespan.source import Source

if TYPE_CHECKING:
    from eyespan.lines.encodings import Encoding


class Scan:
    """The bytes of one source as a text in one encoding.

    `end` stops the scan there, for example at the limit of a dialect or at the end that was found before. If the source
    has more bytes, `error` is raised; without an error they are ignored.
    """

    __slots__ = ("_block", "_block_offset", "_error", "block_bytes", "context", "encoding", "end", "source", "start")

    def __init__(
        self,
        source: Source,
        encoding: Encoding,
        context: CallContext,
        *,
        block_bytes: int,
        end: int | None = None,
        error: ReadError | None = None,
    ) -> None:
        self.source = source
        self.encoding = encoding
        self.context = context
        self.block_bytes = block_bytes
        self.start = len(encoding.bom)
        """The offset of the text."""
        self.end = end
        self._error = error
        self._block = b""
        self._block_offset = 0
        """The block that is read again, in memory."""

    def up_to(self, end: int) -> Scan:
        """Return a scan that ignores everything from `end` on, for example what was appended while the file is read."""
        made = Scan(self.source, self.encoding, self.context, block_bytes=self.block_bytes, end=end)
        made.hold(self._block, self._block_offset)
        return made

    @property
    def last_offset(self) -> int:
        """Return the offset at which the scan ends, as far as the size of the source is right."""
        size_bytes = self.source.size_bytes
        return size_bytes if self.end is None else min(self.end, size_bytes)

    def block(self, offset: int, size_bytes: int | None = None) -> bytes:
        """Return the next bytes in file order, in whole units; b"" at the end. A last unit may be incomplete.

        Raises: the error of the limit, if the source goes on there, and what reading raises.
        """
        size = self.block_bytes if size_bytes is None else size_bytes
        if self.end is not None and offset + size > self.end:
            size = self.end - offset
            if size <= 0:
                if self._error is not None and self.read(offset, 1):
                    raise self._error
                return b""
        block = self.read(offset, size)
        unit_bytes = self.encoding.unit_bytes
        while len(block) % unit_bytes:  # a short read within a unit
            rest = self.read(offset + len(block), unit_bytes - len(block) % unit_bytes)
            if not rest:
                break
            block += rest
        self.context.advance(offset, self.source.size_bytes)
        return block

    def block_with(self, offset: int) -> tuple[bytes, int]:
        """Return a block that contains `offset` and its place in the block, without a copy of the held block."""
        place = offset - self._block_offset
        if 0 <= place < len(self._block):
            return self._block, place
        return self.block(offset), 0

    def hold(self, block: bytes, offset: int) -> None:
        """Hold a block in memory, because its bytes are read again."""
        self._block, self._block_offset = block, offset

    def has_more(self, offset: int) -> bool:
        """Return True if there are bytes at `offset`, also after a limit that raises an error."""
        return not self.is_end(offset) and bool(self.read(offset, self.encoding.unit_bytes))

    def read(self, offset: int, size_bytes: int) -> bytes:
        """Return up to `size_bytes` bytes from `offset`; b"" only at the end of the source. Ignores the limit."""
        place = offset - self._block_offset
        if 0 <= place < len(self._block):
            return self._block[place : place + size_bytes]
        first_bytes = self.source.first_bytes
        if offset < len(first_bytes):
            return first_bytes[offset : offset + size_bytes]
        return b"" if self.is_end(offset) else self.source.read_at(offset, size_bytes)

    def is_end(self, offset: int) -> bool:
        """Return True if the scan is known to end there: by its limit, or because all of the source is in memory."""
        if self.end is not None and self._error is None and offset >= self.end:
            return True
        source = self.source
        size_bytes = len(source.first_bytes)
        return 0 < offset == size_bytes == source.size_bytes < source.max_first_bytes and source.has_exact_size

    def read_fully(self, offset: int, size_bytes: int) -> bytes:
        """Return `size_bytes` bytes from `offset`, or less at the end of the source. Ignores the limit."""
        place = offset - self._block_offset
        if place >= 0 and place + size_bytes <= len(self._block):
            return self._block[place : place + size_bytes]
        data = self.source.first_bytes[offset : offset + size_bytes]
        if len(data) < size_bytes:
            data += self.source.read_fully(offset + len(data), size_bytes - len(data))
        return data

    def is_inside_line(self, offset: int) -> bool:
        """Return True if the unit before `offset` is not a line feed: a line begins before `offset` and goes on."""
        unit_bytes = self.encoding.unit_bytes
        if (offset - self.start) % unit_bytes:
            return True  # the file ends within a unit
        if offset < self.start + unit_bytes:
            return False
        before = self.read_fully(offset - unit_bytes, unit_bytes)
        return bool(before) and before != self.encoding.newline
