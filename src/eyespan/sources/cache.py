"""What was learned of compressed files, for the next read: marks to go on from, lengths, and archives' directories.

In memory only, bounded, least recently used go first. Nothing of it is used for a file whose size or times are no
longer those it was learned from.
"""

from __future__ import annotations

import time
from _thread import allocate_lock

from eyespan.errors import ReadError
from eyespan.lines.index import RACY_NS, stamp_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Hashable
    from typing import Any, TypeVar

    from eyespan.source import Source
    from eyespan.sources.members import Directory

    T = TypeVar("T")

MAX_MARKS = 128
"""Of all files together; a mark of a deflate stream takes up to 64 KB."""
MAX_FILES = 32
MAX_LISTED = 20_000
"""Members of all directories kept; one takes some 300 bytes."""


class Known:
    """What is known of one stream."""

    __slots__ = ("end", "marks")

    def __init__(self) -> None:
        self.marks: list[tuple[int, Any, int]] = []
        """Offset in what is decoded, the stream's own mark, and the checksum so far; in order."""
        self.end: int | None = None


_lock = allocate_lock()
_known: dict[tuple[Hashable, ...], Known] = {}  # the least recently used first
_directories: dict[tuple[Hashable, ...], Directory] = {}


def key_of(source: Source) -> tuple[Hashable, ...]:
    """What a source is, and the size and times of the file that it is in."""
    return (*source.identity, source.status.st_size, *stamp_of(source.status))


def find(source: Source) -> Known | None:
    """What is known of a stream as it is now; None if nothing is."""
    return _used(_known, key_of(source))


def find_directory(source: Source) -> Directory | None:
    """The directory of an archive as it is now, if it was read before."""
    return _used(_directories, key_of(source))


def _used(table: dict[tuple[Hashable, ...], T], key: tuple[Hashable, ...]) -> T | None:
    with _lock:
        found = table.pop(key, None)
        if found is not None:
            table[key] = found
    return found


def keep(source: Source, known: Known) -> None:
    """Takes what a read has learned of a stream."""
    if not _is_settled(source):
        return
    key = key_of(source)
    with _lock:
        _known.pop(key, None)
        _known[key] = known
        while len(_known) > 1 and (
            len(_known) > MAX_FILES or sum([len(one.marks) for one in _known.values()]) > MAX_MARKS
        ):
            _known.pop(next(iter(_known)))


def keep_directory(source: Source, directory: Directory) -> None:
    """Takes the directory of an archive, if it is not too long to be kept."""
    if len(directory.entries) > MAX_LISTED or not _is_settled(source):
        return
    key = key_of(source)
    with _lock:
        _directories.pop(key, None)
        _directories[key] = directory
        while sum([len(one.entries) for one in _directories.values()]) > MAX_LISTED or len(_directories) > MAX_FILES:
            _directories.pop(next(iter(_directories)))


def _is_settled(source: Source) -> bool:
    """Not if the file is too young for its times to prove anything, or has changed."""
    if max(stamp_of(source.status)) > time.time_ns() - RACY_NS:
        return False
    try:
        return not source.changed()
    except ReadError:
        return False


def forget() -> None:
    """Empties the memory."""
    with _lock:
        _known.clear()
        _directories.clear()
