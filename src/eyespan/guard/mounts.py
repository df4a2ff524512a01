"""Find the mount of a path from its text and the system's mount table, without touching any mount.

A mount that does not respond blocks every process that touches it; `blocking` does that in threads.

The table is read when a mount is looked up, and again when it is older than a second. A process that is about to enter
a sandbox without /proc keeps it open (`keep_table_open`).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Hashable

from eyespan.guard.filesystems import LOCAL_NAMES
from eyespan.source import close_fd

Mount = tuple[str, str, bool]
"""The mount point, the device, and whether its file system is local."""

before_waiting: Callable[[], None] | None = None
"""Called once, before the first thread that may hang: for a program that wants to be able to end all the same."""
_TABLE = "/proc/self/mountinfo"
_FRESH_SECONDS = 1.0
"""Reading the table takes 50 us and more. A path on a newer mount is its own key until then."""
_table: tuple[float, list[Mount]] = (float("-inf"), [])
_table_fd = -1


def keep_table_open() -> None:
    """Keep the mount table open, for a process that is about to lose access to /proc. It can be read later."""
    global _table_fd
    if _table_fd < 0:
        try:
            _table_fd = os.open(_TABLE, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            pass  # another system, or no /proc: each path will be its own key


def mount_of(path: str) -> Hashable:
    """Return a key for the mount of an absolute path, from its text alone.

    If a path on a local file system blocks, a symlink led to another mount and its target is unknown. Such a path is
    its own key, so that other files on the local file system stay readable.
    """
    path = os.path.normpath(path)
    above = _mounts_above(path)
    if not above:
        return path
    _, device, is_local = above[-1]
    return (device, path) if is_local else device


def local_mount_point(path: str) -> str | None:
    """Return the mount point of a path, from its text alone, or None unless every mount on the way is local."""
    above = _mounts_above(path)
    return above[-1][0] if above and all(is_local for _, _, is_local in above) else None


def _mounts_above(path: str) -> list[Mount]:
    """Return the mounts on the way to a path, the deepest last. Of several at one place, the topmost counts."""
    found: dict[str, Mount] = {}
    for mount in _mounts():
        point = mount[0]
        if path.startswith(point) and (point == "/" or len(path) == len(point) or path[len(point)] == "/"):
            found[point] = mount
    return sorted(found.values())


def _mounts() -> list[Mount]:
    """Return all mounts in the order of the table: later ones cover earlier ones."""
    global _table
    now = time.monotonic()
    if now - _table[0] > _FRESH_SECONDS:
        try:
            data = _read_table()
        except OSError:
            # Another system, no /proc, or out of reach: the last known table is the best guess.
            _table = (now, _table[1])
            return _table[1]
        found = []
        for line in data.decode("utf-8", "surrogateescape").split("\n"):
            fields, _, rest = line.partition(" - ")
            words, filesystem = fields.split(" "), rest.partition(" ")[0]
            if len(words) > 4:
                found.append((_unescape(words[4]), words[2], filesystem in LOCAL_NAMES))
        _table = (now, found)
    return _table[1]


def _read_table() -> bytes:
    """Read by position, because forked processes share the descriptor and its file offset. Raises: OSError."""
    fd = _table_fd if _table_fd >= 0 else os.open(_TABLE, os.O_RDONLY | os.O_CLOEXEC)
    try:
        data = b""
        while piece := os.pread(fd, 1 << 16, len(data)):
            data += piece
        return data
    finally:
        if fd != _table_fd:
            close_fd(fd)


def _unescape(text: str) -> str:
    """Replace the octal escapes of the table: blank, tab, line feed and backslash."""
    for code, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        text = text.replace(code, character)
    return text
