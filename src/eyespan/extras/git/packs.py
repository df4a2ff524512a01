"""Pack files (version 2) and their indexes: objects by offset, assembled from deltas where they are stored so."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from eyespan.context import CallContext
from eyespan.errors import Unreadable
from eyespan.extras.git.repository import corrupt
from eyespan.source import Source
from eyespan.sources import streams

MAX_OBJECT_BYTES = 16 << 20
"""The limit for objects that are held whole: commits, trees, and files stored as deltas."""
PIECE_BYTES = 128 << 10
"""The bytes of an object that are decoded at a time."""
MAX_DELTAS = 4096
MAX_PREFIX_MATCHES = 64
KINDS = {1: "commit", 2: "tree", 3: "blob", 4: "tag"}
_OFS_DELTA, _REF_DELTA = 6, 7
_INDEX_MAGIC = b"\xfftOc\0\0\0\2"
_FANOUT, _FANOUT_BYTES = 8, 256 * 4
_HASHES = _FANOUT + _FANOUT_BYTES
_LARGE_OFFSET = 0x80000000


def check_size(size_bytes: int) -> None:
    """Refuse an object that is too large to be held. Raises: Unreadable."""
    if size_bytes > MAX_OBJECT_BYTES:
        limit = MAX_OBJECT_BYTES >> 20
        raise Unreadable("", kind="git", reason=f"it is larger than {limit} MiB, the limit for files stored as deltas")


def read_whole(read: Callable[[int, int], bytes], size_bytes: int) -> bytearray:
    """Return an object from `read(at, size_bytes)`, which returns its next bytes. Raises: Unreadable, if it ends early.

    The memory is taken once and filled by small pieces: one that grows, or that is joined, takes twice as much.
    """
    data = bytearray(size_bytes)
    at = 0
    while at < size_bytes:
        piece = read(at, min(size_bytes - at, PIECE_BYTES))
        if not piece:
            raise corrupt()
        data[at : at + len(piece)] = piece
        at += len(piece)
    return data


class PackIndex:
    """The sorted hashes of a pack's objects with their offsets."""

    def __init__(self, source: Source, hash_bytes: int) -> None:
        self.source = source
        self.hash_bytes = hash_bytes

    def is_supported(self) -> bool:
        """Return True for version 2 of the format."""
        return self.source.read_fully(0, len(_INDEX_MAGIC)) == _INDEX_MAGIC

    def find(self, digest: bytes) -> int | None:
        """Return the offset of an object in the pack, or None if it is not there."""
        low, high, total = self._range_of(digest[0])
        low = bisect_left(range(high), digest, low, key=self._hash)
        return self._offset(low, total) if low < high and self._hash(low) == digest else None

    def find_prefix(self, prefix: str) -> Iterator[str]:
        """Yield the hashes that start with `prefix`, at most `MAX_PREFIX_MATCHES`: two are ambiguous already."""
        low, high, _ = self._range_of(int(prefix[:2], 16))
        low = bisect_left(range(high), bytes.fromhex(prefix.ljust(2 * self.hash_bytes, "0")), low, key=self._hash)
        for number in range(low, low + MAX_PREFIX_MATCHES):
            digest = self._hash(number).hex()
            if not digest.startswith(prefix):
                return
            yield digest

    def _hash(self, number: int) -> bytes:
        return self.source.read_fully(_HASHES + number * self.hash_bytes, self.hash_bytes)

    def _range_of(self, first_byte: int) -> tuple[int, int, int]:
        """Return the range of hashes that start with this byte, and the number of all hashes."""
        fanout = self.source.read_fully(_FANOUT, _FANOUT_BYTES)
        if len(fanout) < _FANOUT_BYTES:
            return 0, 0, 0
        at = 4 * first_byte
        low = int.from_bytes(fanout[at - 4 : at], "big") if first_byte else 0
        return low, int.from_bytes(fanout[at : at + 4], "big"), int.from_bytes(fanout[-4:], "big")

    def _offset(self, number: int, total: int) -> int | None:
        start = _HASHES + total * (self.hash_bytes + 4)  # after the hashes and their checksums
        small = self._number(start + 4 * number, 4)
        if small is None or not small & _LARGE_OFFSET:
            return small
        return self._number(start + 4 * total + 8 * (small & ~_LARGE_OFFSET), 8)

    def _number(self, at: int, size_bytes: int) -> int | None:
        raw = self.source.read_fully(at, size_bytes)
        return int.from_bytes(raw, "big") if len(raw) == size_bytes else None


@dataclass(frozen=True, slots=True)
class PackEntry:
    """The header of one object in a pack."""

    type: int
    size_bytes: int
    start: int
    """The offset of its compressed data."""
    base: int | None
    """For a delta, the offset of the object it applies to."""


class Pack:
    """One pack with its index. The pack file itself is opened when the first object is read."""

    def __init__(self, index: PackIndex, open_data: Callable[[], Source | None], context: CallContext) -> None:
        self.index = index
        self._open_data = open_data
        self._context = context
        self._data: Source | None = None

    def exists(self) -> bool:
        """Open the pack file, if that was not done before, and return False if it does not exist."""
        if self._data is None:
            self._data = self._open_data()
        return self._data is not None

    def release(self) -> Source:
        """Hand the opened pack file over to the caller, who closes it."""
        data, self._data = self._source(), None
        return data

    def close(self) -> None:
        self.index.source.close()
        if self._data is not None:
            self._data.close()

    def read(self, offset: int) -> tuple[str, bytearray]:
        """Return the kind and the data of an object, with all its deltas applied.

        The caller pays for what is returned. Raises: Unreadable.
        """
        deltas: list[PackEntry] = []
        entry = self.entry(offset)
        check_size(entry.size_bytes)
        while entry.base is not None:
            self._context.check()
            deltas.append(entry)
            if len(deltas) > MAX_DELTAS:
                raise corrupt()
            entry = self.entry(entry.base)
            check_size(entry.size_bytes)
        kind = KINDS.get(entry.type)
        if kind is None:
            raise corrupt()
        context = self._context
        with context.memory.loan():
            data = self._inflate(entry)
        for delta in reversed(deltas):
            context.check()
            with context.memory.loan():
                context.charge(len(data))
                data = apply_delta(data, self._inflate(delta), context)
        return kind, data

    def kind_of(self, offset: int) -> str:
        """Return the kind of an object, or "" if it is unknown. Raises: Unreadable."""
        entry = self.entry(offset)
        for _ in range(MAX_DELTAS):
            if entry.base is None:
                return KINDS.get(entry.type, "")
            entry = self.entry(entry.base)
        return ""

    def entry(self, offset: int) -> PackEntry:
        """Read the header of the object at `offset`. Raises: Unreadable."""
        header = self._source().read_fully(offset, 64)
        at = 0
        byte = _byte_at(header, at)
        number, size, shift = byte >> 4 & 7, byte & 15, 4
        while byte & 0x80:
            at += 1
            byte = _byte_at(header, at)
            size |= (byte & 0x7F) << shift
            shift += 7
        at += 1
        base = None
        if number == _OFS_DELTA:
            byte = _byte_at(header, at)
            back = byte & 0x7F
            while byte & 0x80:
                at += 1
                byte = _byte_at(header, at)
                back = (back + 1) << 7 | byte & 0x7F
            at += 1
            if not 0 < back <= offset:
                raise corrupt()
            base = offset - back
        elif number == _REF_DELTA:
            digest = header[at : at + self.index.hash_bytes]
            at += self.index.hash_bytes
            base = self.index.find(digest) if digest else None
            if base is None:
                raise Unreadable("", kind="git", reason="the base of a delta is missing from its pack")
        return PackEntry(type=number, size_bytes=size, start=offset + at, base=base)

    def _inflate(self, entry: PackEntry) -> bytearray:
        self._context.charge(entry.size_bytes)
        stream = streams.Inflate(self._source(), None, 15, entry.start)
        try:
            return read_whole(lambda _, size_bytes: stream.read(size_bytes), entry.size_bytes)
        except streams.Broken:
            raise corrupt() from None

    def _source(self) -> Source:
        if not self.exists() or self._data is None:
            raise corrupt()
        return self._data


def apply_delta(base: bytes | bytearray, delta: bytes | bytearray, context: CallContext) -> bytearray:
    """Build an object from its base: pieces copied from the base and pieces inserted from the delta, in order.

    The object is charged to the context.

    Raises: Unreadable, TooMuchMemory, TimedOut, Cancelled.
    """
    base_size, at = _varint(delta, 0)
    size, at = _varint(delta, at)
    check_size(size)
    context.charge(size)
    if base_size != len(base):
        raise corrupt()
    made = bytearray(size)
    made_bytes = 0
    whole = memoryview(base)
    end = len(delta)
    steps = 0
    while at < end:
        steps += 1
        if not steps & 0xFFF:
            context.check()
        command = delta[at]
        at += 1
        if command & 0x80:
            offset = length = 0
            for bit in range(7):
                if command >> bit & 1:
                    byte = _byte_at(delta, at)
                    at += 1
                    if bit < 4:
                        offset |= byte << 8 * bit
                    else:
                        length |= byte << 8 * (bit - 4)
            length = length or 0x10000
            if offset + length > base_size or made_bytes + length > size:
                raise corrupt()
            made[made_bytes : made_bytes + length] = whole[offset : offset + length]
            made_bytes += length
        elif command and at + command <= end and made_bytes + command <= size:
            made[made_bytes : made_bytes + command] = delta[at : at + command]
            at += command
            made_bytes += command
        else:
            raise corrupt()
    if made_bytes != size:
        raise corrupt()
    return made


def _varint(data: bytes | bytearray, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = _byte_at(data, at)
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            return value, at
        if shift > 63:
            raise corrupt()


def _byte_at(data: bytes | bytearray, at: int) -> int:
    if at >= len(data):
        raise corrupt()
    return data[at]
