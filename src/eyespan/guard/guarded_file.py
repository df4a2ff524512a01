"""Local files, opened and checked by the guard."""

from __future__ import annotations

import errno
import os
from collections.abc import Hashable, Iterator
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING

from eyespan.context import CallContext
from eyespan.errors import from_os_error
from eyespan.source import Source, Status, close_fd, pread, spool

if TYPE_CHECKING:
    from eyespan.guard.roots import Root


MAX_COPY_BYTES = 32 << 20


@dataclass(slots=True)
class BackendResult:
    """The result of a backend: a descriptor (-1 for what is never opened), its real path and its type."""

    fd: int
    root: Root
    canonical: str
    _: KW_ONLY
    mode: int
    readable: bool
    """The file can be read from `fd`; otherwise `fd` only names it."""
    pseudo: bool | None = None
    """It belongs to a file system of kernel state; None: not checked yet."""
    first_bytes: bytes | None = None
    """The whole contents, where they are small and were read together with the opening."""
    status: Status | None = None
    """The status of `fd` before anything was read; None: not requested, or incomplete."""


class LocalFile(Source):
    """A descriptor that was checked after it was opened, read by position only."""

    __slots__ = ("_fd", "_status")

    def __init__(
        self, fd: int, status: Status, *, asked: str, path: str, canonical: str, first_bytes: bytes | None = None
    ) -> None:
        self._fd = fd
        self._status = status
        self.size_bytes = status.st_size
        self.asked = asked
        self.path = path
        self.canonical = canonical
        self._first_bytes = first_bytes

    @property
    def fd(self) -> int:
        return self._fd

    @property
    def identity(self) -> tuple[Hashable, ...]:
        return (self._status.st_dev, self._status.st_ino)

    @property
    def status(self) -> Status:
        return self._status

    def read_at(self, offset: int, size_bytes: int) -> bytes:
        data = self._first_bytes
        if (
            data is not None
            and 0 <= offset < len(data)
            and (offset + size_bytes <= len(data) or len(data) == self.size_bytes)
        ):
            return data[offset : offset + size_bytes]  # reads after the end of a small file go to the system
        try:
            return pread(self._fd, size_bytes, offset)
        except OSError as error:
            raise from_os_error(error, self.asked) from None

    def changed(self) -> bool:
        before = self._status
        try:
            now = self.status_now()
        except OSError as error:
            if error.errno == errno.ESTALE:
                return True
            raise from_os_error(error, self.asked) from None
        return now.st_size != before.st_size or now.st_mtime_ns != before.st_mtime_ns

    def status_now(self) -> os.stat_result:
        return os.fstat(self._fd)

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        close_fd(fd)


class BlockingFile(LocalFile):
    """A file whose file system may not answer, read in a thread that the caller may abandon: see `blocking`.

    It stops reading once the call is over. With `copies=True` decoders get a copy in memory: closing a descriptor on a
    hung mount may block as long as reading from it, and the decoding process serves other calls too.
    """

    __slots__ = ("_context", "_copies", "_copy")

    def __init__(
        self, fd: int, status: Status, *, asked: str, path: str, canonical: str, context: CallContext, copies: bool
    ) -> None:
        super().__init__(fd, status, asked=asked, path=path, canonical=canonical)
        self._context = context
        self._copies = copies and hasattr(os, "memfd_create")
        self._copy = -1

    @property
    def fd(self) -> int:
        """Return the descriptor of the copy, or the file's own if it is larger than `MAX_COPY_BYTES`.

        Raises: ReadError.
        """
        if not self._copies or self.size_bytes > MAX_COPY_BYTES:
            return self._fd
        if self._copy < 0:
            self._copy = spool(self._pieces(), asked=self.asked)
        return self._copy

    def _pieces(self) -> Iterator[bytes]:
        offset = 0
        while offset < MAX_COPY_BYTES and (data := self.read_at(offset, 1 << 20)):
            offset += len(data)
            yield data

    def read_at(self, offset: int, size_bytes: int) -> bytes:
        self._context.check()
        return super().read_at(offset, size_bytes)

    def close(self) -> None:
        copy, self._copy = self._copy, -1
        if copy >= 0:
            os.close(copy)
        super().close()
