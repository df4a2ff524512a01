"""An object of a store as a `Source`: blocks by ranged requests, each bound to the version of the first."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from eyespan.context import CallContext
from eyespan.errors import TooLarge
from eyespan.source import Source, close_fd, spool

if TYPE_CHECKING:
    from eyespan.extras.remote.store import ObjectVersion, Store


FIRST_BYTES = 64 * 1024
BLOCK_BYTES = 256 * 1024
"""What is requested after the first bytes. Each next step in order is four times as large."""
MAX_STEP_BYTES = 16 << 20
RANGE_BYTES = 2 << 20
"""The most of a step that one request has. The requests of a step are made at the same time."""
KEPT_BLOCKS = 2
MAX_COPY_BYTES = 64 << 20
"""The largest object that is copied into memory for a decoder."""


def status_of(place: int, version: ObjectVersion, mode: int = 0o100444) -> os.stat_result:
    """Return the status of a version of an object; `place` stands for its address."""
    number = number_of(f"{version.etag}\n{version.size_bytes}\n{version.modified_ns}")
    seconds = version.modified_ns // 10**9
    times = dict.fromkeys(("st_atime", "st_mtime", "st_ctime"), float(seconds))
    times |= dict.fromkeys(("st_atime_ns", "st_mtime_ns", "st_ctime_ns"), version.modified_ns)
    return os.stat_result((mode, number, place, 1, 0, 0, version.size_bytes, seconds, seconds, seconds), times)


class RemoteFile(Source):
    """One version of an object. No answer mixes two: every range is requested of this version only."""

    is_file = False
    is_version = True

    def __init__(
        self,
        store: Store,
        key: str,
        version: ObjectVersion,
        first_bytes: bytes,
        *,
        url: str,
        asked: str,
        path: str,
        context: CallContext,
    ) -> None:
        self._store = store
        self._key = key
        self._version = version
        self._context = context
        self._status = status_of(number_of(url), version)
        self._first_bytes = first_bytes[: self.max_first_bytes]
        self._blocks = {0: first_bytes}
        self._charged_bytes = 0
        """The memory that the call pays for: the blocks, and those that are received."""
        self._next = -1
        """The place after the last block; a read from there goes on in order."""
        self._step_bytes = BLOCK_BYTES
        self._copy = -1
        self.asked = asked
        self.path = self.canonical = path
        self.size_bytes = version.size_bytes

    @property
    def identity(self) -> tuple[Any, ...]:
        """Return two numbers: one for the address, one for the version."""
        return (self._status.st_dev, self._status.st_ino)

    @property
    def status(self) -> os.stat_result:
        return self._status

    def status_now(self) -> Any:
        return self._status

    def changed(self) -> bool:
        return False  # a newer version is the error `Changed` of a range, or not seen at all

    @property
    def fd(self) -> int:
        """Return a descriptor of a copy in memory. Raises: TooLarge, ReadError."""
        if self._copy < 0:
            if self.size_bytes > MAX_COPY_BYTES:
                raise TooLarge(self.asked, size_bytes=self.size_bytes, limit_bytes=MAX_COPY_BYTES)
            self._copy = spool(self._pieces(), asked=self.asked)
            self._drop_blocks()
            self._charge(0)
        return self._copy

    def _drop_blocks(self) -> None:
        self._blocks = {0: self._blocks[0]} if 0 in self._blocks else {}

    def _pieces(self) -> Iterator[bytes]:
        offset = 0
        while data := self.read_at(offset, 1 << 20):
            offset += len(data)
            yield data

    def read_at(self, offset: int, size_bytes: int) -> bytes:
        if offset >= self.size_bytes or size_bytes <= 0:
            return b""
        for start, block in self._blocks.items():
            if start <= offset < start + len(block):
                return block[offset - start : offset - start + size_bytes]
        in_order = offset == self._next or (self._next < 0 and offset == len(self._blocks[0]))
        self._step_bytes = min(self._step_bytes * 4, MAX_STEP_BYTES) if offset == self._next else BLOCK_BYTES
        wanted = max(size_bytes, self._step_bytes) if in_order else max(size_bytes, min(BLOCK_BYTES, self._step_bytes))
        # The end of a file is one block, since who reads the last bytes often reads those before them.
        start = offset if in_order else max(0, min(offset, self.size_bytes - BLOCK_BYTES))
        wanted = min(wanted, MAX_STEP_BYTES, self.size_bytes - start)
        if wanted > BLOCK_BYTES:
            self._drop_blocks()  # it goes on in order, so the last block is not needed again
        while len(self._blocks) > KEPT_BLOCKS:
            self._blocks.pop(next(start for start in self._blocks if start))
        self._charge(wanted)
        starts = range(start, start + wanted, RANGE_BYTES)
        with ThreadPoolExecutor(len(starts)) as threads:
            all_at_once = threads.map if len(starts) > 1 else map
            blocks = list(all_at_once(lambda at: self._range(at, start + wanted), starts))
        if start:
            self._blocks |= zip(starts, blocks, strict=True)
        self._charge(0)
        self._next = starts[-1] + len(blocks[-1])
        return blocks[0][offset - start :][:size_bytes]

    def _range(self, start: int, end: int) -> bytes:
        size_bytes = min(RANGE_BYTES, end - start)
        return self._store.get(self._key, start, size_bytes, self._version, self._context, self.asked)[0]

    def _charge(self, received_bytes: int) -> None:
        """Pay for the blocks, and for one that is to be received. Raises: TooMuchMemory, Cancelled, TimedOut."""
        needed = sum([len(block) for block in self._blocks.values()]) + received_bytes
        self._context.charge_source(needed - self._charged_bytes)
        self._charged_bytes = needed

    def drop_buffers(self) -> None:
        self._drop_blocks()
        self._charge(0)

    def close(self) -> None:
        self._blocks = {}
        self._charge(0)
        copy, self._copy = self._copy, -1
        if copy >= 0:
            close_fd(copy)


def number_of(text: str) -> int:
    """Return a number that stands for a text, as an inode number stands for a file."""
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogateescape"), digest_size=8).digest(), "big") >> 1
