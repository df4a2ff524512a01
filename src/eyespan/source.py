"""`Source`: bytes that are read by position. Readers know nothing else about where they come from.

Local files (`guard.source`), members of archives, decompressed streams and git objects (`sources`) implement it.
"""

from __future__ import annotations

import errno
import os
import tempfile
import threading
from collections.abc import Hashable, Iterable
from types import TracebackType
from typing import Protocol, Self

from eyespan.errors import ReadError, from_os_error


class Status(Protocol):
    """The fields of os.stat_result that are used; the accelerator returns only these."""

    @property
    def st_mode(self) -> int: ...
    @property
    def st_ino(self) -> int: ...
    @property
    def st_dev(self) -> int: ...
    @property
    def st_nlink(self) -> int: ...
    @property
    def st_size(self) -> int: ...
    @property
    def st_mtime_ns(self) -> int: ...
    @property
    def st_ctime_ns(self) -> int: ...


class FullStatus(Status, Protocol):
    """The status of a file that is described, not read: with its times in seconds."""

    @property
    def st_mtime(self) -> float: ...
    @property
    def st_atime(self) -> float: ...


RACY_NS = 50_000_000
"""The clock of file times ticks more slowly than files change, so times this recent do not prove that nothing did."""


class Source:
    """One opened version of some bytes.

    A subclass provides `fd`, `identity`, `status`, `status_now`, `changed`, `read_at` and `close`. `size_bytes` is a
    hint: a file may grow, shrink or report a wrong size. The result of `read_at` counts, and b"" is the end.
    """

    __slots__ = ("_first_bytes", "asked", "canonical", "path", "size_bytes")

    max_first_bytes = 65536
    """The most that `first_bytes` holds; at least what decides whether a file is text."""
    is_file = True
    """The bytes are those of a file descriptor; False for what is nested in a file."""
    is_version = False
    """The identity, two numbers, names one version of the bytes: they never change."""
    has_exact_size = True
    """The system or a header gave `size_bytes`; False where it is a guess until the end has been read."""
    is_indexable = True
    """An index of its lines may be cached."""

    asked: str
    """The path as the caller wrote it."""
    path: str
    """The path below its root; absolute if that is not the first root, so that the path always leads back."""
    canonical: str
    """The same with links resolved."""
    size_bytes: int
    _first_bytes: bytes | None

    @property
    def fd(self) -> int:
        """Return a descriptor of exactly these bytes, for a decoder in another process. Raises: ReadError."""
        raise NotImplementedError  # abstract

    @property
    def name(self) -> str:
        """Return the name whose suffix indicates the kind."""
        return self.path

    @property
    def identity(self) -> tuple[Hashable, ...]:
        """Return a key that no other open source shares."""
        raise NotImplementedError  # abstract

    @property
    def status(self) -> Status:
        """Return the status of the file on disk at the time it was opened."""
        raise NotImplementedError  # abstract

    @property
    def version(self) -> tuple[Hashable, ...]:
        """Return the identity with the size and the times of the file on disk, which change when the file does."""
        status = self.status
        return (*self.identity, status.st_size, status.st_mtime_ns, status.st_ctime_ns)

    def is_settled(self, since_ns: int) -> bool:
        """Return True if all that was read since this time is of one version, and the times of the file prove it."""
        if not self.is_version and max(self.status.st_mtime_ns, self.status.st_ctime_ns) > since_ns - RACY_NS:
            return False
        try:
            return not self.changed()
        except ReadError:
            return False

    def status_now(self) -> os.stat_result:
        """Return the present status of the file on disk. Raises: OSError."""
        raise NotImplementedError  # abstract

    def changed(self) -> bool:
        """Return True if size or modification time differ from those at opening. Raises: ReadError."""
        raise NotImplementedError  # abstract

    def read_at(self, offset: int, size_bytes: int) -> bytes:
        """Return up to `size_bytes` bytes from `offset`; b"" only at the end.

        Raises: ReadError.
        """
        raise NotImplementedError  # abstract

    def close(self) -> None:
        """Release the descriptor and everything held in memory."""
        raise NotImplementedError  # abstract

    def drop_buffers(self) -> None:
        """Free the memory that a later read can fill again. A file has none."""

    @property
    def first_bytes(self) -> bytes:
        """Return all of a small file, or the first `max_first_bytes` of a larger one. Read once."""
        if self._first_bytes is None:
            wanted = min(max(self.size_bytes, 0) + 1, self.max_first_bytes)
            data = self.read_at(0, wanted)
            # One byte more than the size was requested. Without that byte the file is complete; with it, st_size is
            # wrong, so read on.
            if len(data) != self.size_bytes and len(data) < self.max_first_bytes:
                data = self.read_fully(0, self.max_first_bytes)
            self._first_bytes = data
        return self._first_bytes

    def read_fully(self, offset: int, size_bytes: int) -> bytes:
        """Return `size_bytes` bytes from `offset`, or less at the end; continues after short reads."""
        data = self.read_at(offset, size_bytes)
        while data and len(data) < size_bytes:
            more = self.read_at(offset + len(data), size_bytes - len(data))
            if not more:
                break
            data += more
        return data

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


_HAS_PREAD = hasattr(os, "pread")
_POSITION = threading.Lock()


def pread(fd: int, size_bytes: int, offset: int) -> bytes:
    """Read at a position. Windows has no such call: the position of the file moves there, so one read at a time."""
    if _HAS_PREAD:
        return os.pread(fd, size_bytes, offset)
    with _POSITION:
        os.lseek(fd, offset, os.SEEK_SET)
        return os.read(fd, size_bytes)


def close_fd(fd: int) -> None:
    """Close a descriptor that was only read from, and ignore errors other than EBADF. Does nothing for -1.

    After a failed close the descriptor is closed all the same, and its number may already be in use again, so it is
    never retried. A close reports lost writes, and there are none. EBADF is a bug of the caller.
    """
    if fd == -1:
        return
    try:
        os.close(fd)
    except OSError as error:
        if error.errno == errno.EBADF:
            raise


def spool(pieces: Iterable[bytes], *, asked: str) -> int:
    """Return a descriptor of a file without a name that contains these bytes. The caller closes it.

    Raises: ReadError if a system call fails, and everything that `pieces` raises.
    """
    fd = -1
    try:
        if hasattr(os, "memfd_create"):
            fd = os.memfd_create("eyespan", os.MFD_CLOEXEC)
        else:
            with tempfile.TemporaryFile() as file:
                fd = os.dup(file.fileno())
        for piece in pieces:
            view = memoryview(piece)
            while view:
                view = view[os.write(fd, view) :]
        os.lseek(fd, 0, os.SEEK_SET)
    except BaseException as error:
        close_fd(fd)
        if isinstance(error, OSError):
            raise from_os_error(error, asked) from None
        raise
    return fd
