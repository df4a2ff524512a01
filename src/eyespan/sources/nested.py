"""Sources nested in other sources: a stored member, a compressed member, a compressed log, a git object.

`NestedSource` is a range of another source as it is. `DecodedSource` decodes a
compressed source: it moves forward, holds the last few MiB in memory for reads further back, and otherwise continues
from the nearest checkpoint. Nothing is ever written to disk. The cost is bounded: no byte after the first
`MAX_DECODED_BYTES` is reached, one call decodes `MAX_WORK_BYTES` at most, and a stream that expands by more than
`MAX_RATIO` is refused.
"""

from __future__ import annotations

import os
import time
import zlib
from collections.abc import Callable, Hashable, Iterator
from typing import Any

from eyespan.context import CallContext
from eyespan.errors import Missing, ReadError, ScanLimit, TooMuchMemory, Unreadable
from eyespan.model import MIB
from eyespan.source import Source, Status, close_fd, spool
from eyespan.sources import cache
from eyespan.sources.streams import Broken, NoCodec, Stream

MAX_DECODED_BYTES = 4096 * MIB
MAX_WORK_BYTES = 8192 * MIB
MAX_RATIO = 1000
"""The most output for a byte of input. Deflate ends at 1032 and comes near it only for one byte repeated."""
FREE_BYTES = 64 * MIB
"""Output that is allowed at any ratio, because a small file of zeros is harmless."""
RECENT_BYTES = MIB
"""Decoded bytes held in memory for reads further back."""
FAR_RECENT_BYTES = 2 * MIB
"""The same for a stream without checkpoints, which is decoded from its start to go further back."""
LOOK_BACK_BYTES = 512 * 1024
"""Going back, decoding starts this far before the requested offset, because the next read is likely to be there."""
STEP_BYTES = 128 * 1024
CHECKPOINT_STATE_BYTES = 64 * 1024
CHECKPOINT_BYTES = 4 * MIB
"""The least distance between two checkpoints."""
MAX_CHECKPOINTS = 48
"""The limit for one file; beyond it every other checkpoint is dropped, and the distance doubles."""
MAX_SPOOL_BYTES = 32 * MIB
"""The largest document (image, PDF, table) in another file that is decoded."""


class NestedSource(Source):
    """`size_bytes` bytes of another source from `start` on.

    `path` is the path in a selector (logs.zip!/app/today.log), `name` the name whose suffix indicates the kind if that
    is not `path`. `key` distinguishes this source from others in the same file. `kind` is the kind that errors report.
    It owns the source below it: closing this closes both.
    """

    is_file = False

    def __init__(
        self,
        below: Source,
        start: int,
        size_bytes: int,
        *,
        path: str,
        key: Hashable,
        kind: str = "archive",
        name: str | None = None,
    ) -> None:
        self.below = below
        self.start = start
        self.size_bytes = size_bytes
        self.asked = below.asked
        self.path = path
        self.canonical = below.canonical + path[len(below.path) :] if path.startswith(below.path) else path
        self.kind = kind
        self.directory: str | None = None
        """For an archive of which one directory was requested: the name of that directory."""
        self._key = key
        self._name = path if name is None else name
        self._first_bytes: bytes | None = None
        self._spool = -1

    @property
    def fd(self) -> int:
        """Return a descriptor of a copy in memory. Raises: Unreadable, and what reading raises."""
        if self._spool < 0:
            if not hasattr(os, "memfd_create"):
                raise self.unreadable("documents in other files can only be shown on Linux")
            self._spool = spool(self._pieces(), asked=self.asked)
        return self._spool

    @property
    def name(self) -> str:
        return self._name

    @property
    def identity(self) -> tuple[Hashable, ...]:
        return (*self.below.identity, self._key)

    @property
    def status(self) -> Status:
        return self.below.status

    def status_now(self) -> os.stat_result:
        return self.below.status_now()

    def changed(self) -> bool:
        return self.below.changed()

    def read_at(self, offset: int, size_bytes: int) -> bytes:
        size = min(size_bytes, self.size_bytes - offset)
        if size <= 0:
            return b""
        data = self.below.read_at(self.start + offset, size)
        if not data:
            raise self.unreadable("the archive ends before its member does")
        return data

    def close(self) -> None:
        copy, self._spool = self._spool, -1
        close_fd(copy)
        self.below.close()

    def drop_buffers(self) -> None:
        self.below.drop_buffers()

    def unreadable(self, reason: str) -> Unreadable:
        """Return the error for this source."""
        return Unreadable(self.asked, kind=self.kind, reason=reason)

    def _pieces(self) -> Iterator[bytes]:
        offset = 0
        while data := self.read_at(offset, MIB):
            offset += len(data)
            if offset > MAX_SPOOL_BYTES:
                limit = MAX_SPOOL_BYTES // MIB
                raise self.unreadable(f"it is larger than {limit} MiB, the limit for a document in another file")
            yield data


class DecodedSource(NestedSource):
    """The decoded bytes of a compressed source. `make` opens a stream over it, at a checkpoint or at the start.

    `declared` is the length given by a header: more is never returned, and less is an error. `checksum` is the CRC,
    compared at the end. Without a declared length, the length is unknown until the end was reached
    (`has_exact_size`), and `size_bytes` is a guess that is always larger than the bytes decoded so far.
    """

    def __init__(
        self,
        below: Source,
        make: Callable[[Source, Any | None], Stream],
        *,
        path: str,
        key: Hashable,
        context: CallContext,
        kind: str = "archive",
        declared: int | None = None,
        checksum: int | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(below, 0, declared or 0, path=path, key=key, kind=kind, name=name)
        self._make = make
        self._context = context
        self._declared = declared
        self._checksum = checksum
        self._stream: Stream | None = None
        self._recent = bytearray()
        self._recent_at = 0
        """The decoded offset of the recent bytes; the stream is at their end."""
        self._charged_bytes = 0
        """The memory that the call pays for: the recent bytes, the codec and the checkpoints."""
        self._failure: Unreadable | None = None
        """The error that stopped the stream at its position."""
        self._crc = 0
        self._work_bytes = 0
        self._reached = 0
        """The highest decoded offset so far."""
        self._started_ns = time.time_ns()
        cached = cache.find_stream(self)
        self._cached = cache.CachedStream(list(cached.checkpoints), cached.end) if cached else cache.CachedStream()
        self._is_cache_stale = False
        self._end = self._cached.end
        self.has_exact_size = declared is not None or self._end is not None
        if self._end is not None:
            self.size_bytes = self._end

    @property
    def first_bytes(self) -> bytes:
        if self._first_bytes is None:
            self._first_bytes = self.read_fully(0, self.max_first_bytes)
        return self._first_bytes

    def read_at(self, offset: int, size_bytes: int) -> bytes:
        """Return decoded bytes.

        Raises: Unreadable, ScanLimit, Missing, Cancelled, TimedOut, and what reading below raises.
        """
        if size_bytes <= 0 or offset < 0 or (self._end is not None and offset >= self._end):
            return b""
        if offset < self._recent_at or offset > self._recent_at + len(self._recent) or self._stream is None:
            self._seek(offset)
        wanted = min(size_bytes, RECENT_BYTES - STEP_BYTES)
        while (ready := self._recent_at + len(self._recent) - offset) < wanted:
            try:
                if not self._step():
                    break
            except ReadError:
                if ready <= 0:
                    raise
                break  # the bytes before the error are good; a read of later ones raises it again
        at = offset - self._recent_at
        with memoryview(self._recent) as recent:
            return bytes(recent[at : at + wanted])

    def close(self) -> None:
        if self._is_cache_stale:
            self._is_cache_stale = False
            self._cached.end = self._end
            cache.store_stream(self, self._cached, self._started_ns)
        self._drop()
        super().close()

    def drop_buffers(self) -> None:
        self._drop(CHECKPOINT_STATE_BYTES * len(self._cached.checkpoints))
        super().drop_buffers()

    def _drop(self, kept_bytes: int = 0) -> None:
        """Free the recent bytes and the codec; the next read starts at a checkpoint."""
        self._recent = bytearray()
        if self._stream is not None:
            self._stream.close()
            self._stream = None
        charged, self._charged_bytes = self._charged_bytes, min(self._charged_bytes, kept_bytes)
        self._context.charge_source(self._charged_bytes - charged)

    # --- decoding ----------------------------------------------------------------------------------------------------

    def _seek(self, offset: int) -> None:
        """Move the stream to a position at or before `offset`."""
        position = self._recent_at + len(self._recent)
        goes_back = self._stream is not None and offset < position
        highest = max(0, offset - LOOK_BACK_BYTES) if goes_back else offset
        best: tuple[int, Any, int] = (0, None, 0)
        for checkpoint in self._cached.checkpoints:
            if checkpoint[0] <= highest:
                best = checkpoint
        if not goes_back and self._stream is not None and best[0] <= position:
            return  # continuing is shorter
        self._recent = bytearray()
        self._recent_at, state, self._crc = best
        self._failure = None
        if self._stream is not None:
            self._stream.close()
        self._stream = self._open_stream(state)

    def _open_stream(self, state: Any | None) -> Stream:
        try:
            stream = self._make(self.below, state)
        except Broken as error:
            raise self.unreadable(str(error)) from None
        except NoCodec:
            install = "pip install 'eyespan[archives]'"
            raise Missing(self.asked, what="reading files compressed with zstd", install=install) from None
        stream.check = self._context.check
        return stream

    def _step(self) -> bool:
        """Decode some more; return False at the end."""
        if self._failure is not None:
            raise self._failure
        stream = self._stream
        assert stream is not None
        position = self._recent_at + len(self._recent)
        most = STEP_BYTES
        if self._declared is not None:
            most = min(most, self._declared - position)
            if most <= 0:
                self._finish(position)
                return False
        if position >= MAX_DECODED_BYTES or self._work_bytes >= MAX_WORK_BYTES:
            raise ScanLimit(self.asked, limit_bytes=MAX_DECODED_BYTES)
        self._context.advance(position, self.size_bytes)
        self._charge(stream)
        try:
            data = stream.read(most)
        except Broken as error:
            raise self._fail(str(error)) from None
        if not data:
            if self._declared is not None:
                raise self._fail("it is shorter than its header declares")
            self._finish(position)
            return False
        self._work_bytes += len(data)
        self._recent += data
        most_recent = RECENT_BYTES if stream.has_checkpoints else FAR_RECENT_BYTES
        if len(self._recent) > most_recent:
            drop = len(self._recent) - most_recent
            del self._recent[:drop]
            self._recent_at += drop
        if self._checksum is not None:
            self._crc = zlib.crc32(data, self._crc)
        position += len(data)
        if position > self._reached:
            self._advance(position, stream)
        return True

    def _charge(self, stream: Stream) -> None:
        """Pay for the memory that the next step takes. Raises: TooMuchMemory, Cancelled, TimedOut."""
        needed = len(self._recent) + 2 * STEP_BYTES + stream.codec_bytes(STEP_BYTES)
        needed += CHECKPOINT_STATE_BYTES * len(self._cached.checkpoints)
        if needed > self._charged_bytes:
            try:
                self._context.charge_source(needed - self._charged_bytes)
                self._charged_bytes = needed
            except TooMuchMemory as error:
                if stream.window_bytes < error.limit_bytes // 2:
                    raise
                limit_bytes, window_bytes = error.limit_bytes, stream.window_bytes
                raise TooMuchMemory(self.asked, limit_bytes=limit_bytes, window_bytes=window_bytes) from None

    def _advance(self, position: int, stream: Stream) -> None:
        """Check the ratio, guess the size and add a checkpoint at a position reached for the first time."""
        self._reached = position
        used = stream.used
        if position > FREE_BYTES and position > MAX_RATIO * max(used, 1):
            raise self._fail(f"it expands to more than {MAX_RATIO} times its size (a decompression bomb)")
        if not self.has_exact_size:
            left = max(0, self.below.size_bytes - used)
            # A codec may read far ahead at the start, so the ratio is unknown there: text shrinks to about an eighth.
            ratio = max(position // max(used, 1), 8 if position <= STEP_BYTES else 1)
            self.size_bytes = position + 1 + left * ratio
        elif self._end is None and self._declared == position:
            self._finish(position)
        checkpoints = self._cached.checkpoints
        distance = CHECKPOINT_BYTES
        if len(checkpoints) >= 2:
            distance = max(distance, checkpoints[1][0] - checkpoints[0][0])
        if position >= (checkpoints[-1][0] if checkpoints else 0) + distance:
            state = stream.checkpoint()
            if state is not None:
                checkpoints.append((position, state, self._crc))
                self._is_cache_stale = True
                if len(checkpoints) > MAX_CHECKPOINTS:
                    del checkpoints[::2]

    def _fail(self, reason: str) -> Unreadable:
        """Return the error, and cache nothing: the position of a failure depends on where decoding began."""
        self._is_cache_stale = False
        self._failure = self.unreadable(reason)
        return self._failure

    def _finish(self, position: int) -> None:
        """Record the length at the end of the stream. Raises: Unreadable, if the checksum is wrong."""
        if self._end is None:
            if self._checksum is not None and self._crc != self._checksum:
                raise self._fail("wrong checksum")
            self._end = self.size_bytes = position
            self.has_exact_size = True
            self._is_cache_stale = True
