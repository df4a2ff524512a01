"""An opened regular file: the only way readers see bytes."""

from __future__ import annotations

import errno
import os

from eyespan.errors import from_os_error
from eyespan.guard.closing import close

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Hashable
    from types import TracebackType
    from typing import Protocol

    from eyespan.context import CallContext
    from eyespan.guard.roots import Root

    class Status(Protocol):
        """What is looked at of an os.stat_result; the accelerator tells only this."""

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


MAX_COPY_BYTES = 32 << 20


class Found:
    """What a backend found: a descriptor (-1 for what is never opened), where it really is, and what it is."""

    __slots__ = ("canonical", "fd", "head", "mode", "pseudo", "readable", "root", "status")

    def __init__(
        self,
        fd: int,
        root: Root,
        canonical: str,
        mode: int,
        readable: bool,
        pseudo: bool | None = None,
        head: bytes | None = None,
        status: Status | None = None,
    ) -> None:
        self.fd = fd
        self.root = root
        self.canonical = canonical
        self.mode = mode
        self.readable = readable
        """The file can be read from `fd`; otherwise `fd` only names it."""
        self.pseudo = pseudo
        """Belongs to a file system of kernel state; None: not looked at yet."""
        self.head = head
        """All that it holds, where that was little and read along with the opening."""
        self.status = status
        """What `fd` said of it, before anything was read; None: not asked, or not all of it can be told."""


class Source:
    """A descriptor that was checked after it was opened, read by position only.

    `size_bytes` is a hint: a file may grow, shrink or lie; what `read_at` returns is the truth, and b"" is the end.
    """

    __slots__ = ("_fd", "_head", "_status", "asked", "canonical", "path", "size_bytes")

    head_bytes = 65536
    """The most that `head` holds; at least what decides whether a file is text."""
    direct = True
    """The bytes are those of the descriptor; False for what is inside a file (`eyespan.sources`)."""
    exact = True
    """`size_bytes` was told by the system or by a header; False where it is a guess until the end has been seen."""
    indexed = True
    """An index of its lines may be kept for the file; not so where the bytes read are not the file's own."""

    def __init__(
        self,
        fd: int,
        status: Status,
        asked: str,
        path: str,
        canonical: str,
        head: bytes | None = None,
    ) -> None:
        self._fd = fd
        self._status = status
        self.size_bytes = status.st_size
        self.asked = asked
        self.path = path
        self.canonical = canonical
        self._head = head

    @property
    def fd(self) -> int:
        """A descriptor of these very bytes."""
        return self._fd

    @property
    def name(self) -> str:
        """What tells the kind of a file by its name."""
        return self.path

    @property
    def identity(self) -> tuple[Hashable, ...]:
        """What no other source has at the same time."""
        return (self._status.st_dev, self._status.st_ino)

    @property
    def status(self) -> Status:
        """As it was when the file was opened."""
        return self._status

    @property
    def head(self) -> bytes:
        """The first bytes: all of a small file, 64 KiB of a larger one. Read once."""
        if self._head is None:
            wanted = min(max(self.size_bytes, 0) + 1, self.head_bytes)
            head = self.read_at(0, wanted)
            # One byte more was asked for than the file had: having all but that, there is no need to ask once more.
            # Having that byte too, the size is not true, and says nothing of how much there is.
            if len(head) != self.size_bytes and len(head) < self.head_bytes:
                head = self.read_fully(0, self.head_bytes)
            self._head = head
        return self._head

    def read_at(self, offset: int, size_bytes: int) -> bytes:
        """Up to `size_bytes` bytes at `offset`; b"" only at the end of the file.

        Raises: ReadError for what the system answers.
        """
        head = self._head
        if (
            head is not None
            and 0 <= offset < len(head)
            and (offset + size_bytes <= len(head) or len(head) == self.size_bytes)
        ):
            return head[offset : offset + size_bytes]  # behind the end of a small file the system is asked again
        try:
            return os.pread(self._fd, size_bytes, offset)
        except OSError as error:
            raise from_os_error(error, self.asked) from None

    def read_fully(self, offset: int, size_bytes: int) -> bytes:
        """As `read_at`, going on after short reads: less than `size_bytes` only at the end of the file."""
        data = self.read_at(offset, size_bytes)
        while data and len(data) < size_bytes:
            more = self.read_at(offset + len(data), size_bytes - len(data))
            if not more:
                break
            data += more
        return data

    def changed(self) -> bool:
        """Whether size or modification time are no longer those of the opening."""
        try:
            now = self.status_now()
        except OSError as error:
            if error.errno == errno.ESTALE:
                return True
            raise from_os_error(error, self.asked) from None
        return (now.st_size, now.st_mtime_ns) != (self._status.st_size, self._status.st_mtime_ns)

    def status_now(self) -> os.stat_result:
        """As it is by now. Raises: OSError."""
        return os.fstat(self._fd)

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            close(fd)

    def __enter__(self) -> Source:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class SlowSource(Source):
    """A file whose file system may not answer, read in a thread that may be left behind: see `patience`.

    Once nobody waits any more it reads no further. `copies`: decoders get a copy in memory, because whoever closes a
    descriptor of a hung mount may wait as long as whoever reads from it, and the decoding process serves others too.
    """

    __slots__ = ("_context", "_copies", "_copy")

    def __init__(
        self,
        fd: int,
        status: Status,
        *,
        asked: str,
        path: str,
        canonical: str,
        context: CallContext,
        copies: bool,
    ) -> None:
        super().__init__(fd, status, asked=asked, path=path, canonical=canonical)
        self._context = context
        self._copies = copies and hasattr(os, "memfd_create")
        self._copy = -1

    @property
    def fd(self) -> int:
        """Of the copy, or for a file of more than `MAX_COPY_BYTES` that of the file itself. Raises: ReadError."""
        if not self._copies or self.size_bytes > MAX_COPY_BYTES:
            return self._fd
        if self._copy < 0:
            self._copy = self._copied()
        return self._copy

    def _copied(self) -> int:
        """A descriptor of all that the file holds. A copy that ended on the way is none."""
        try:
            copy = os.memfd_create("eyespan", os.MFD_CLOEXEC)
            try:
                offset = 0
                while offset < MAX_COPY_BYTES and (data := self.read_at(offset, 1 << 20)):
                    offset += len(data)
                    view = memoryview(data)
                    while view:
                        view = view[os.write(copy, view) :]
            except BaseException:
                os.close(copy)
                raise
        except OSError as error:
            raise from_os_error(error, self.asked) from None
        return copy

    def read_at(self, offset: int, size_bytes: int) -> bytes:
        self._context.check()
        return super().read_at(offset, size_bytes)

    def close(self) -> None:
        copy, self._copy = self._copy, -1
        if copy >= 0:
            os.close(copy)
        super().close()
