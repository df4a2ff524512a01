"""Which mount a path leads to, by its text and the system's table of mounts: none of them is touched.

A mount that never answers keeps whoever touches it waiting; `patience` does that in threads.

The table is read when a mount is looked up, and again when it is older than a second. A process that is about to enter
a sandbox without /proc keeps it open (`keep_table_open`); then it is also read again as soon as the kernel signals a
change. Forked processes share that signal: one of them sees it, the others read the table within the second.
"""

from __future__ import annotations

import os
import time

from eyespan.source import close_fd

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

before_waiting: Callable[[], None] | None = None
"""Called once, before the first thread that may be stuck: for a program that wants to be able to end all the same."""
PLAIN_NAMES = frozenset(
    {
        *("ext2", "ext3", "ext4", "xfs", "btrfs", "bcachefs", "f2fs", "zfs", "jfs", "nilfs2", "reiserfs"),
        *("tmpfs", "ramfs", "overlay", "squashfs", "erofs", "iso9660", "udf", "vfat", "exfat", "ntfs3", "hfsplus"),
    }
)
"""File systems that answer as long as the machine itself does, as the table of mounts calls them."""
_TABLE = "/proc/self/mountinfo"
_FRESH_SECONDS = 1.0
"""Reading the table takes 50 us and more; of a mount that is newer each path stands for itself."""
_table: tuple[float, list[tuple[str, str, bool]]] = (float("-inf"), [])
_held = -1
_TORN_TRIES = 4
"""A table that changes while it is read is read again; it is not worth more than this, whoever mounts all the time."""


def keep_table_open() -> None:
    """Keeps the table open, for a process that is about to lose sight of /proc; what it reads later is that of then."""
    global _held
    if _held < 0:
        try:
            _held = os.open(_TABLE, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            pass  # another system, or no /proc: each path will stand for itself


def mount_of(path: str) -> Hashable:
    """What stands for the mount that an absolute path leads to, by its text alone.

    A path of a plain file system that has to wait for something leads to another one by some link, and there is no
    telling which: it stands for itself, so that no other file of its mount is taken for stuck.
    """
    path = os.path.normpath(path)
    above = _above(path)
    if not above:
        return path
    _, device, plain = above[-1]
    return (device, path) if plain else device


def plain_point(path: str) -> str | None:
    """Where the mount of a path lies, by the path's text; None unless all mounts down to there always answer."""
    above = _above(path)
    return above[-1][0] if above and all(plain for _, _, plain in above) else None


def _above(path: str) -> list[tuple[str, str, bool]]:
    """The mounts on the way to a path, the deepest last; of those at the same place the one on top."""
    found: dict[str, tuple[str, str, bool]] = {}
    for mount in _mounts():
        point = mount[0]
        if path.startswith(point) and (point == "/" or len(path) == len(point) or path[len(point)] == "/"):
            found[point] = mount
    return sorted(found.values())


def _mounts() -> list[tuple[str, str, bool]]:
    """Where each mount is, its device, and whether it is of a plain type; later ones lie over earlier ones."""
    global _table
    if _held >= 0 and _changed():
        # Before it is read: another thread would not be told of this change any more.
        _table = (float("-inf"), _table[1])
    now = time.monotonic()
    if now - _table[0] > _FRESH_SECONDS:
        try:
            data = _held_table() if _held >= 0 else _read_table()
        except OSError:
            # Another system, no /proc, or out of reach by now: what was known before is as good a guess as any.
            _table = (now, _table[1])
            return _table[1]
        found = []
        for line in data.decode("utf-8", "surrogateescape").split("\n"):
            fields, _, rest = line.partition(" - ")
            words, kind = fields.split(" "), rest.partition(" ")[0]
            if len(words) > 4:
                found.append((_unescaped(words[4]), words[2], kind in PLAIN_NAMES))
        _table = (now, found)
    return _table[1]


def _read_table() -> bytes:
    """Raises: OSError."""
    fd = os.open(_TABLE, os.O_RDONLY | os.O_CLOEXEC)
    try:
        data = b""
        while piece := os.read(fd, 1 << 16):
            data += piece
        return data
    finally:
        close_fd(fd)


def _held_table() -> bytes:
    """By position: forked processes share the descriptor, and with it the place where a plain read would go on.

    Raises: OSError.
    """
    for _ in range(_TORN_TRIES):
        data = b""
        while piece := os.pread(_held, 1 << 16, len(data)):
            data += piece
        if not _changed():
            break
    return data


def _changed() -> bool:
    """Whether something was mounted or taken away since the last time this was asked."""
    import select

    poll = select.poll()
    poll.register(_held, select.POLLPRI)
    try:
        return bool(poll.poll(0))
    except OSError:
        return False  # no memory for the question; it is read within the second all the same


def _unescaped(text: str) -> str:
    """Blanks, tabs, line feeds and backslashes are written as three octal digits in the table."""
    for code, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        text = text.replace(code, character)
    return text
