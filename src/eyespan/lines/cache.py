"""Indexes that were made, for the next read: in memory, and for files where it pays in the user's cache folder.

Bounded both ways, least recently used go first. The folder is private (0700, files 0600) and holds counts only: no
names, no contents. Its files are written whole and renamed into place, so any number of processes may share it; one
that is damaged, foreign or of another version is ignored and made anew. EYESPAN_CACHE=off keeps everything in memory.
"""

from __future__ import annotations

import os
import sys
from _thread import allocate_lock

from eyespan.errors import ReadError
from eyespan.lines.index import RACY_NS, STRIDE, TRUST_GROWTH_BYTES, LineIndex, digest, fingerprint, stamp_of
from eyespan.source import close_fd

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Hashable

    from eyespan.source import Source

MEMORY_BYTES = 16 << 20
MEMORY_ENTRIES = 256
DISK_MIN_BYTES = 64 << 20
"""Smaller files are scanned again sooner than a cache file is opened, checked and kept fresh."""
DISK_STEP_BYTES = 16 << 20
"""What is written down again only once this much was added: to scan less than that takes another process 2 ms."""
DISK_TOTAL_BYTES = 64 << 20
_MAGIC = b"eyespan-lines-1\n"
_MASK = 2**64 - 1
"""Numbers of devices and inodes use all 64 bits on some file systems; times before 1970 are negative."""

Key = tuple["Hashable", ...]
"""What a source is, and what a line feed looks like in it; only of files themselves is it ever written down."""


class Store:
    """Indexes by source and what a line feed looks like."""

    def __init__(self, folder: str | None = None) -> None:
        self._lock = allocate_lock()
        self._kept: dict[Key, LineIndex] = {}  # the least recently used first
        self.folder = folder

    def find(self, source: Source, newline: bytes) -> LineIndex | None:
        """The index of this file, if there is one that can be trusted."""
        key = _key(source, newline)
        with self._lock:
            index = self._kept.pop(key, None)
        if index is None and self._on_disk(source):
            index = self._load(key)
        if index is None or not _fits(index, source):
            return None
        self._remember(key, index)
        return index

    def keep(self, source: Source, newline: bytes, index: LineIndex, started_ns: int) -> None:
        """Takes an index that a read has made or extended; `started_ns` is when that read began."""
        try:
            now = source.status_now()
        except OSError:
            return
        was = source.status
        same = now.st_size == was.st_size and stamp_of(now) == stamp_of(was)
        if not same and (now.st_size <= was.st_size or not source.is_file):
            return  # changed under the scan, and not by growing
        stamp = None if max(stamp_of(was)) > started_ns - RACY_NS else stamp_of(was)
        try:
            # Samples are for files that grow; out of something compressed they would cost another pass.
            samples = fingerprint(source, index.covered) if source.is_file else b""
            index = index.stamped(was.st_size, stamp, samples)
        except ReadError:
            return
        key = _key(source, newline)
        self._remember(key, index)
        if self._on_disk(source) and index.covered >= max(DISK_MIN_BYTES // 2, index.saved + DISK_STEP_BYTES):
            self._save(key, index)
            index.saved = index.covered

    def _remember(self, key: Key, index: LineIndex) -> None:
        with self._lock:
            self._kept.pop(key, None)
            self._kept[key] = index
            total = sum([kept.size_bytes for kept in self._kept.values()])
            while len(self._kept) > 1 and (total > MEMORY_BYTES or len(self._kept) > MEMORY_ENTRIES):
                total -= self._kept.pop(next(iter(self._kept))).size_bytes

    def forget(self) -> None:
        """Empties the memory; what is on disk stays."""
        with self._lock:
            self._kept.clear()

    # --- on disk ---------------------------------------------------------------------------------------------------

    def _on_disk(self, source: Source) -> bool:
        return self.folder is not None and source.is_file and source.size_bytes >= DISK_MIN_BYTES

    def _name(self, key: Key) -> str:
        device, inode, newline = _numbers(key)
        return os.path.join(self.folder or "", f"{device:x}-{inode:x}-{newline.hex()}.lines")

    def _load(self, key: Key) -> LineIndex | None:
        try:
            fd = os.open(self._name(key), os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0))
        except OSError:
            return None
        try:
            status = os.fstat(fd)
            if status.st_size > DISK_TOTAL_BYTES or (hasattr(os, "getuid") and status.st_uid != os.getuid()):
                return None
            data = b""
            while piece := os.read(fd, status.st_size + 1 - len(data)):
                data += piece
            index = _unpack(data, key)
            if index is not None:
                os.utime(self._name(key))  # used: others are thrown out before it
            return index
        except OSError:
            return None
        finally:
            close_fd(fd)

    def _save(self, key: Key, index: LineIndex) -> None:
        """Best effort: a cache that cannot be written is no reason to fail a read."""
        name = self._name(key)
        part = f"{name}.{os.getpid()}-{id(index):x}"
        try:
            os.makedirs(self.folder or "", mode=0o700, exist_ok=True)
            fd = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            try:
                data = _pack(key, index)
                written = os.write(fd, data)
            finally:
                os.close(fd)
            if written == len(data):
                os.replace(part, name)
                self._make_room()
            else:
                os.unlink(part)
        except OSError:
            try:
                os.unlink(part)
            except OSError:
                pass

    def _make_room(self) -> None:
        entries = []
        for entry in os.scandir(self.folder):
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError:
                continue  # another process was quicker
            entries.append((status.st_mtime_ns, status.st_size, entry.path))
        total = sum([size for _, size, _ in entries])
        for _, size, path in sorted(entries):
            if total <= DISK_TOTAL_BYTES:
                break
            try:
                os.unlink(path)
            except OSError:
                pass
            total -= size


def _key(source: Source, newline: bytes) -> Key:
    return (*source.identity, newline)


def _numbers(key: Key) -> tuple[int, int, bytes]:
    """Device, inode and line feed, of the key of a file."""
    device, inode, newline = key
    assert isinstance(device, int)
    assert isinstance(inode, int)
    assert isinstance(newline, bytes)
    return device, inode, newline


def _fits(index: LineIndex, source: Source) -> bool:
    """Whether an index was made from the file as it is now, or from a beginning of it."""
    if not source.is_file:
        return index.stamp == stamp_of(source.status) and index.file_bytes == source.status.st_size
    if source.size_bytes == index.file_bytes:
        return index.stamp is not None and index.stamp == stamp_of(source.status)
    if source.size_bytes < index.file_bytes or index.covered < TRUST_GROWTH_BYTES:
        return False
    try:
        return fingerprint(source, index.covered) == index.print
    except ReadError:
        return False


def _pack(key: Key, index: LineIndex) -> bytes:
    stamp = index.stamp or (-1, -1)
    device, inode, _ = _numbers(key)
    numbers = (device, inode, index.file_bytes, *stamp, index.covered, index.stride)
    head = b"".join([(number & _MASK).to_bytes(8, sys.byteorder) for number in numbers])
    body = _MAGIC + sys.byteorder[:1].encode() + head + index.print + index.counts
    return body + digest(body)


def _unpack(data: bytes, key: Key) -> LineIndex | None:
    """The index that `_pack` wrote, or None for anything else."""
    start = len(_MAGIC) + 1
    numbers = start + 7 * 8
    if len(data) < numbers + 32 or data[:start] != _MAGIC + sys.byteorder[:1].encode():
        return None
    body = data[:-16]
    if digest(body) != data[-16:]:
        return None
    head = memoryview(body[start:numbers]).cast("q")
    counts = body[numbers + 16 :]
    device, inode, _ = _numbers(key)
    if (head[0] ^ device) & _MASK or (head[1] ^ inode) & _MASK:
        return None
    stride = head[6]
    if stride < STRIDE or stride & (stride - 1) or len(counts) * stride != head[5] * 4:
        return None
    index = LineIndex(stride)
    index.append(counts)
    index.file_bytes = head[2]
    index.stamp = (head[3], head[4]) if head[3] != -1 else None
    index.print = body[numbers : numbers + 16]
    index.saved = index.covered
    return index


def cache_folder() -> str | None:
    """Where indexes are kept between processes, or None if nowhere (EYESPAN_CACHE=off, no home folder)."""
    given = os.environ.get("EYESPAN_CACHE")
    if given == "off":
        return None
    if given:
        return os.path.join(given, "index")
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "eyespan", "index") if os.path.isabs(base) else None


_shared: Store | None = None


def shared() -> Store:
    """The store of this process."""
    global _shared
    if _shared is None:
        _shared = Store(cache_folder())
    return _shared
