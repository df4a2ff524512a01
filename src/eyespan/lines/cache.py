"""A cache of line indexes: in memory, and for large files in the user's cache directory.

Both parts are bounded and drop the least recently used entries first. The directory is private (0700, files 0600) and
holds counts only: no names, no contents. Its files are written completely and then renamed, so any number of processes
may share it; a file that is damaged, foreign or of another version is ignored and written again. EYESPAN_CACHE=off
caches in memory only.

A directory that is a link, that belongs to another user or that others may enter is not used, and files in it that the
cache did not write are never touched. Files are named relative to the open directory, so systems without such calls
(Windows) cache in memory only.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Hashable

from eyespan.caches import CacheTable
from eyespan.errors import ReadError
from eyespan.lines.index import RACY_NS, STRIDE, TRUST_GROWTH_BYTES, LineIndex, digest, fingerprint, stamp_of
from eyespan.source import Source, close_fd

MEMORY_BYTES = 2 << 20
"""The indexes of 32 GB of files. Those of large files are on disk, too."""
MEMORY_ENTRIES = 256
DISK_MIN_BYTES = 64 << 20
"""Scanning a smaller file again is faster than opening, checking and updating a cache file."""
DISK_STEP_BYTES = 16 << 20
"""A cache file is written again after so much growth; scanning less takes another process 2 ms."""
DISK_TOTAL_BYTES = 64 << 20
_SUFFIX = ".lines"
_HEX_DIGITS = frozenset("0123456789abcdef")
_MAGIC = b"eyespan-lines-1\n"
_MASK = 2**64 - 1
"""Device and inode numbers use all 64 bits on some file systems; times before 1970 are negative."""

Key = tuple["Hashable", ...]
"""The identity of a source and its line feed; only keys of two numbers are written to disk."""


class IndexCache:
    """Indexes by source and line feed. Safe for use by several threads."""

    def __init__(self, directory: str | None = None) -> None:
        self._indexes = CacheTable(MEMORY_BYTES, MEMORY_ENTRIES)
        self.directory = directory

    def find(self, source: Source, newline: bytes) -> LineIndex | None:
        """Return the index of this source, or None if there is none that can be trusted."""
        key = _key(source, newline)
        index: LineIndex | None = self._indexes.get(key)
        if index is not None:
            if not _fits(index, source):
                self._indexes.drop(key)
                return None
            return index
        index = self._load(key) if self._may_be_on_disk(source) else None
        if index is None or not _fits(index, source):
            return None
        self._indexes.put(key, index, index.size_bytes)
        return index

    def put(self, source: Source, newline: bytes, index: LineIndex, started_ns: int) -> None:
        """Cache an index that a read has made or extended; `started_ns` is the time when that read began."""
        try:
            now = source.status_now()
        except OSError:
            return
        was = source.status
        same = now.st_size == was.st_size and stamp_of(now) == stamp_of(was)
        if not same and (now.st_size <= was.st_size or not source.is_file):
            return  # changed during the scan, other than by growing
        is_racy = not source.is_version and max(stamp_of(was)) > started_ns - RACY_NS
        stamp = None if is_racy else stamp_of(was)
        try:
            # Samples are for files that grow; sampling decoded bytes would take another pass.
            samples = fingerprint(source, index.covered) if source.is_file else bytes(16)
            index = index.stamped(was.st_size, stamp, samples)
        except ReadError:
            return
        key = _key(source, newline)
        self._indexes.put(key, index, index.size_bytes)
        if self._may_be_on_disk(source) and index.covered >= max(DISK_MIN_BYTES // 2, index.saved + DISK_STEP_BYTES):
            self._save(key, index)
            index.saved = index.covered

    # --- on disk ---------------------------------------------------------------------------------------------------

    def _may_be_on_disk(self, source: Source) -> bool:
        if self.directory is None or not (source.is_file or source.is_version):
            return False
        return source.size_bytes >= DISK_MIN_BYTES

    def _load(self, key: Key) -> LineIndex | None:
        data = load_file(self.directory, _name(key))
        return None if data is None else _unpack(data, key)

    def _save(self, key: Key, index: LineIndex) -> None:
        """Write an index to disk if possible. A cache that cannot be written is no reason to fail a read."""
        save_file(self.directory, _name(key), lambda: _pack(key, index), _is_own_name)


def load_file(path: str | None, name: str) -> bytes | None:
    """Return a file of the cache; None if there is none that this user owns."""
    directory = open_directory(path)
    if directory is None:
        return None
    try:
        fd = os.open(name, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=directory)
    except OSError:
        return None
    finally:
        close_fd(directory)
    try:
        status = os.fstat(fd)
        if status.st_size > DISK_TOTAL_BYTES or not _is_own_file(status):
            return None
        data = b""
        while piece := os.read(fd, status.st_size + 1 - len(data)):
            data += piece
        return data
    except OSError:
        return None
    finally:
        close_fd(fd)


def save_file(
    path: str | None, name: str, pack: Callable[[], bytes], is_own_name: Callable[[str], bool], *, removes: bool = True
) -> None:
    """Write a file of the cache if possible, and remove the oldest of its files if `removes`."""
    directory = open_directory(path, create=True)
    if directory is None:
        return
    part = f"{name}.{os.getpid()}-{id(pack):x}"
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        fd = os.open(part, flags, 0o600, dir_fd=directory)
        try:
            data = pack()
            written = os.write(fd, data)
        finally:
            os.close(fd)
        if written == len(data):
            os.replace(part, name, src_dir_fd=directory, dst_dir_fd=directory)
            if removes:
                _remove_oldest(directory, is_own_name)
        else:
            os.unlink(part, dir_fd=directory)
    except OSError:
        try:
            os.unlink(part, dir_fd=directory)
        except OSError:
            pass
    finally:
        close_fd(directory)


def open_directory(path: str | None, *, create: bool = False) -> int | None:
    """Open the directory of the cache; None if it does not exist or is not private to this user."""
    if path is None or os.open not in os.supports_dir_fd:
        return None
    try:
        if create:
            os.makedirs(path, mode=0o700, exist_ok=True)
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        status = os.fstat(fd)
        if status.st_uid == os.getuid() and not status.st_mode & 0o077:
            return fd
    except OSError:
        pass
    close_fd(fd)
    return None


def _remove_oldest(directory: int, is_own_name: Callable[[str], bool] | None = None) -> None:
    """Remove the least recently used files of the cache until the rest is within the limit. Raises: OSError."""
    entries = []
    for name in os.listdir(directory):
        if not (is_own_name or _is_own_name)(name):
            continue
        try:
            status = os.stat(name, dir_fd=directory, follow_symlinks=False)
        except OSError:
            continue  # another process removed it
        if _is_own_file(status):
            # The time of the last access is exact to a day on most systems. Setting it is not permitted to a server.
            entries.append((max(status.st_atime_ns, status.st_mtime_ns), status.st_size, name))
    total = sum([size for _, size, _ in entries])
    for _, size, name in sorted(entries):
        if total <= DISK_TOTAL_BYTES:
            break
        try:
            os.unlink(name, dir_fd=directory)
        except OSError:
            pass
        total -= size


def _name(key: Key) -> str:
    """Return the name of a file of the cache."""
    device, inode, newline = _file_key(key)
    return f"{device:x}-{inode:x}-{newline.hex()}{_SUFFIX}"


def _is_own_name(name: str) -> bool:
    return is_name_of(name, _SUFFIX, 3)


def is_name_of(name: str, suffix: str, field_count: int) -> bool:
    """Return True for a name of hexadecimal fields with this suffix, also if the file is not yet complete."""
    stem, found, part = name.partition(suffix)
    fields = stem.split("-")
    if part:
        fields += part[1:].split("-")
    is_complete = bool(found) and len(fields) == field_count + (2 if part else 0) and part[:1] in ("", ".")
    return is_complete and all(field and _HEX_DIGITS.issuperset(field) for field in fields)


def _is_own_file(status: os.stat_result) -> bool:
    return stat.S_ISREG(status.st_mode) and status.st_uid == os.getuid()


def _key(source: Source, newline: bytes) -> Key:
    return (*source.identity, newline)


def _file_key(key: Key) -> tuple[int, int, bytes]:
    """Return device, inode and line feed from the key of a local file."""
    device, inode, newline = key
    assert isinstance(device, int)
    assert isinstance(inode, int)
    assert isinstance(newline, bytes)
    return device, inode, newline


def _fits(index: LineIndex, source: Source) -> bool:
    """Return True if an index was made from the present file, or from its present start."""
    if not source.is_file:
        return index.stamp == stamp_of(source.status) and index.file_bytes == source.status.st_size
    if source.size_bytes == index.file_bytes:
        return index.stamp is not None and index.stamp == stamp_of(source.status)
    if source.size_bytes < index.file_bytes or index.covered < TRUST_GROWTH_BYTES:
        return False
    try:
        return fingerprint(source, index.covered) == index.fingerprint
    except ReadError:
        return False


def _pack(key: Key, index: LineIndex) -> bytes:
    stamp = index.stamp or (-1, -1)
    device, inode, _ = _file_key(key)
    numbers = (device, inode, index.file_bytes, *stamp, index.covered, index.stride)
    header = b"".join([(number & _MASK).to_bytes(8, sys.byteorder) for number in numbers])
    body = _MAGIC + sys.byteorder[:1].encode() + header + index.fingerprint + index.counts
    return body + digest(body)


def _unpack(data: bytes, key: Key) -> LineIndex | None:
    """Return the index that `_pack` wrote, or None for any other data."""
    start = len(_MAGIC) + 1
    numbers = start + 7 * 8
    if len(data) < numbers + 32 or data[:start] != _MAGIC + sys.byteorder[:1].encode():
        return None
    body = data[:-16]
    if digest(body) != data[-16:]:
        return None
    header = memoryview(body[start:numbers]).cast("q")
    counts = body[numbers + 16 :]
    device, inode, _ = _file_key(key)
    if (header[0] ^ device) & _MASK or (header[1] ^ inode) & _MASK:
        return None
    stride = header[6]
    if stride < STRIDE or stride & (stride - 1) or len(counts) * stride != header[5] * 4:
        return None
    index = LineIndex(stride)
    index.append(counts)
    index.file_bytes = header[2]
    index.stamp = (header[3], header[4]) if header[3] != -1 else None
    index.fingerprint = body[numbers : numbers + 16]
    index.saved = index.covered
    return index


def cache_directory() -> str | None:
    """Return the directory of indexes between processes, or None (EYESPAN_CACHE=off, no home directory)."""
    given = os.environ.get("EYESPAN_CACHE")
    if given == "off":
        return None
    if given:
        return os.path.join(given, "index")
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "eyespan", "index") if os.path.isabs(base) else None


_shared: IndexCache | None = None


def shared() -> IndexCache:
    """Return the cache of this process."""
    global _shared
    if _shared is None:
        _shared = IndexCache(cache_directory())
    return _shared
