"""A file inside a file, read by position like any other: a stored member, a compressed one, a compressed log.

`Inside` is a piece of another source as it is. `Decoded` is what a compressed source decodes to: it goes forward, keeps
the last few MiB for those who look back, and goes on from the nearest mark when it is asked for something else. Nothing
is ever written to disk. What it costs is bounded: no byte beyond the first `MAX_DECODED_BYTES` is looked for, no more
than `MAX_WORK_BYTES` are decoded in one call, and what grows beyond all reason is refused (`MAX_RATIO`).
"""

from __future__ import annotations

import os
import zlib

from eyespan.errors import Missing, ReadError, ScanLimit, Unreadable
from eyespan.model import MIB
from eyespan.source import Source, close_fd, spool
from eyespan.sources import cache
from eyespan.sources.streams import Broken, NoCodec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator
    from typing import Any

    from eyespan.context import CallContext
    from eyespan.source import Status
    from eyespan.sources.streams import Stream

MAX_DECODED_BYTES = 4096 * MIB
MAX_WORK_BYTES = 8192 * MIB
MAX_RATIO = 1000
"""Bytes out for a byte in. Deflate cannot do more than 1032, and comes near it only for one byte repeated."""
FREE_BYTES = 64 * MIB
"""So much may come out at any ratio: a small file of zeros is no bomb."""
GUESSED_RATIO = 8
RECENT_BYTES = 4 * MIB
"""Decoded bytes that are held, for those who look back."""
LOOK_BACK_BYTES = 3 * MIB
"""Going back, decoding starts so much before the place that is asked for: the next question is likely about that."""
STEP_BYTES = 256 * 1024
MARK_EVERY_BYTES = 4 * MIB
MARKS = 48
"""For one file; when there are more, every other is dropped and the next ones are twice as far apart."""
MAX_SPOOL_BYTES = 32 * MIB
"""The largest document (picture, PDF, table) that is decoded from inside another file."""


class Inside(Source):
    """`size_bytes` bytes of another source from `start` on, under a name of their own.

    Takes the source below over: closing this closes it.
    """

    is_file = False

    def __init__(
        self,
        below: Source,
        start: int,
        size_bytes: int,
        *,
        name: str,
        mark: Hashable,
        kind: str = "archive",
        inner: str | None = None,
    ) -> None:
        self.below = below
        self.start = start
        self.size_bytes = size_bytes
        self.asked = below.asked
        self.path = name
        """The whole way, as in a selector: logs.zip!/app/today.log."""
        self.canonical = below.canonical + name[len(below.path) :] if name.startswith(below.path) else name
        self.kind = kind
        self.folder: str | None = None
        """For an archive that was asked for one of its folders: the folder's name."""
        self._mark = mark
        self._inner = name if inner is None else inner
        self._first_bytes: bytes | None = None
        self._spool = -1

    @property
    def fd(self) -> int:
        """A descriptor of a copy in memory, for decoders in other processes. Raises: Unreadable, TooLarge."""
        if self._spool < 0:
            self._spool = self._make_spool()
        return self._spool

    @property
    def name(self) -> str:
        return self._inner

    @property
    def identity(self) -> tuple[Hashable, ...]:
        return (*self.below.identity, self._mark)

    @property
    def status(self) -> Status:
        """Of the file on disk that this is in."""
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
        spool, self._spool = self._spool, -1
        if spool >= 0:
            close_fd(spool)
        self.below.close()

    def unreadable(self, reason: str) -> Unreadable:
        return Unreadable(self.asked, kind=self.kind, reason=reason)

    def _make_spool(self) -> int:
        if not hasattr(os, "memfd_create"):
            raise self.unreadable("documents inside other files can only be shown on Linux")
        return spool(self._pieces(), asked=self.asked)

    def _pieces(self) -> Iterator[bytes]:
        offset = 0
        while data := self.read_at(offset, MIB):
            offset += len(data)
            if offset > MAX_SPOOL_BYTES:
                limit = MAX_SPOOL_BYTES // MIB
                raise self.unreadable(f"it is larger than the {limit} MiB that a document in another file may have")
            yield data


class Held(Inside):
    """Bytes that are in memory already, in the place of a file."""

    def __init__(
        self, below: Source, data: bytes, *, name: str, mark: Hashable, kind: str, inner: str | None = None
    ) -> None:
        super().__init__(below, 0, len(data), name=name, mark=mark, kind=kind, inner=inner)
        self._data = data

    def read_at(self, offset: int, size_bytes: int) -> bytes:
        return self._data[offset : offset + size_bytes]


class Decoded(Inside):
    """What the stream that `make` opens over the source below decodes to.

    `declared` is its length, where a header tells it; more is never given and less is an error. `checksum` is its CRC,
    compared when the end is reached. Otherwise the length is not known before the end was seen (`has_exact_size`), and
    `size_bytes` is a guess that is always larger than what was seen so far.
    """

    def __init__(
        self,
        below: Source,
        make: Callable[[Source, Any | None], Stream],
        *,
        name: str,
        mark: Hashable,
        context: CallContext,
        kind: str = "archive",
        declared: int | None = None,
        checksum: int | None = None,
        inner: str | None = None,
    ) -> None:
        super().__init__(below, 0, declared or 0, name=name, mark=mark, kind=kind, inner=inner)
        self._make = make
        self._context = context
        self._declared = declared
        self._checksum = checksum
        self._stream: Stream | None = None
        self._recent = bytearray()
        self._recent_at = 0
        """Where in what is decoded the recent bytes start; the stream stands at their end."""
        self._failure: Unreadable | None = None
        """Why it goes no further from where the stream stands."""
        self._crc = 0
        self._work = 0
        self._reached = 0
        """The furthest that was decoded, and the input it took."""
        self._reached_input = 0
        found = cache.find(self)
        self._known = cache.Known()
        self._learned = False
        if found is not None:
            self._known.marks, self._known.end = list(found.marks), found.end
        self._end = self._known.end
        self.has_exact_size = declared is not None or self._end is not None
        if self._end is not None:
            self.size_bytes = self._end

    @property
    def first_bytes(self) -> bytes:
        if self._first_bytes is None:
            self._first_bytes = self.read_fully(0, self.max_first_bytes)
        return self._first_bytes

    @property
    def format(self) -> str:
        """What it is compressed with."""
        return self._stream.name if self._stream is not None else ""

    def read_at(self, offset: int, size_bytes: int) -> bytes:
        """Raises: Unreadable, ScanLimit, Missing, Cancelled, TimedOut, and what reading below raises."""
        if size_bytes <= 0 or offset < 0 or (self._end is not None and offset >= self._end):
            return b""
        if offset < self._recent_at or offset > self._recent_at + len(self._recent) or self._stream is None:
            self._move(offset)
        wanted = min(size_bytes, RECENT_BYTES - STEP_BYTES)
        while (at := self._recent_at + len(self._recent) - offset) < wanted:
            try:
                if not self._step():
                    break
            except ReadError:
                if at <= 0:
                    raise
                break  # what comes before the mistake is good; whoever asks for more is told
        at = offset - self._recent_at
        return bytes(self._recent[at : at + wanted])

    def close(self) -> None:
        if self._learned:
            self._learned = False
            self._known.end = self._end
            cache.keep(self, self._known)
        self._recent = bytearray()
        self._stream = None
        super().close()

    # --- decoding ----------------------------------------------------------------------------------------------------

    def _move(self, offset: int) -> None:
        """To a place at or before `offset` from which decoding goes on."""
        position = self._recent_at + len(self._recent)
        back = self._stream is not None and offset < position
        low = max(0, offset - LOOK_BACK_BYTES) if back else offset
        best: tuple[int, Any, int] = (0, None, 0)
        for mark in self._known.marks:
            if mark[0] <= low:
                best = mark
        if not back and self._stream is not None and best[0] <= position:
            return  # straight on is nearer
        self._recent = bytearray()
        self._recent_at, state, self._crc = best
        self._failure = None
        self._stream = self._open(state)

    def _open(self, state: Any | None) -> Stream:
        try:
            stream = self._make(self.below, state)
            stream.check = self._context.check
            return stream
        except Broken as error:
            raise self.unreadable(str(error)) from None
        except NoCodec:
            install = "pip install 'eyespan[archives]'"
            raise Missing(self.asked, what="reading files compressed with zstd", install=install) from None

    def _step(self) -> bool:
        """Decodes some more; False at the end."""
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
        if position >= MAX_DECODED_BYTES or self._work >= MAX_WORK_BYTES:
            raise ScanLimit(self.asked, limit_bytes=MAX_DECODED_BYTES)
        self._context.advance(position, self.size_bytes)
        try:
            data = stream.read(most)
        except Broken as error:
            raise self._damaged(str(error)) from None
        if not data:
            if self._declared is not None:
                raise self._damaged("it holds less than its header says")
            self._finish(position)
            return False
        self._work += len(data)
        self._recent += data
        if len(self._recent) > RECENT_BYTES:
            drop = len(self._recent) - RECENT_BYTES
            del self._recent[:drop]
            self._recent_at += drop
        if self._checksum is not None:
            self._crc = zlib.crc32(data, self._crc)
        position += len(data)
        self._note(position, stream)
        return True

    def _note(self, position: int, stream: Stream) -> None:
        """What is learned from having come this far."""
        if position <= self._reached:
            return
        used = stream.used
        self._reached, self._reached_input = position, used
        if position > FREE_BYTES and position > MAX_RATIO * max(used, 1):
            reason = f"it decodes to more than {MAX_RATIO} times its size; such a file is made to do harm"
            raise self._damaged(reason)
        if not self.has_exact_size:
            left = max(0, self.below.size_bytes - used)
            # At the start a codec may have taken far more than it gave: text shrinks to an eighth, more or less.
            ratio = max(position // max(used, 1), GUESSED_RATIO if position <= STEP_BYTES else 1)
            self.size_bytes = position + 1 + left * ratio
        elif self._end is None and self._declared == position:
            self._finish(position)
        marks = self._known.marks
        apart = MARK_EVERY_BYTES if len(marks) < 2 else max(MARK_EVERY_BYTES, marks[1][0] - marks[0][0])
        if position >= (marks[-1][0] if marks else 0) + apart:
            state = stream.mark()
            if state is not None:
                marks.append((position, state, self._crc))
                self._learned = True
                if len(marks) > MARKS:
                    del marks[::2]

    def _damaged(self, reason: str) -> Unreadable:
        """Nothing of a damaged file is kept: where exactly it fails depends on where decoding began."""
        self._learned = False
        self._failure = self.unreadable(reason)
        return self._failure

    def _finish(self, position: int) -> None:
        """The end was reached: the length is known from here on."""
        if self._end is None:
            if self._checksum is not None and self._crc != self._checksum:
                raise self._damaged("its checksum is wrong")
            self._end = self.size_bytes = position
            self.has_exact_size = True
            self._learned = True
