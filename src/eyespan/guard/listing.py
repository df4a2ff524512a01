"""The names in a folder of the workspace, through the same door as its files.

For help when a name is wrong, for completion, for a short look at a folder; not a way to search. What a rule forbids is
not named. Bounded: of a folder with more entries than `MAX_SEEN` those that the system gives first are listed.
"""

from __future__ import annotations

import errno
import os
import stat

from eyespan.errors import NotRegular, PermissionRefused, ReadError, from_os_error
from eyespan.guard import is_pseudo, walk
from eyespan.record import record
from eyespan.source import close_fd

TYPE_CHECKING = False
if TYPE_CHECKING:
    from eyespan.guard import Guard
    from eyespan.guard.source import Found

MAX_SEEN = 10_000
_OPEN = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)


@record
class Entry:
    """One name in a folder. `what` is "file", "directory", "link" or "other"; links are not followed."""

    name: str
    what: str


@record
class Listing:
    """The entries of a folder, sorted by name."""

    path: str
    """Relative to its root, links resolved; "." is the root itself."""
    entries: tuple[Entry, ...]
    partial: bool = False
    """There are more than were looked at."""


def list_beneath(guard: Guard, path: str) -> Listing:
    """What the folder `path` holds, as far as the rules let it be known.

    Raises: ReadError; NotRegular(what="file") if it is no folder.
    """
    root, rest = guard.admit(path)
    try:
        if guard.backend == "portable":
            return _list_portable(guard, path, rest)
        found = walk.find(guard.roots, root, rest, by_handle=guard.backend != "walk-by-name")
        try:
            _judge(guard, found, path)
            # The descriptor may only name the folder; "." below it is the same folder, whatever its name is by now.
            here = os.open(".", _OPEN, dir_fd=found.fd)
            try:
                return _scan(guard, here, found.canonical)
            finally:
                close_fd(here)
        finally:
            if found.fd >= 0:
                close_fd(found.fd)
    except OSError as error:
        failure = from_os_error(error, path)
        failure.relative = rest
        raise failure from None
    except ReadError as error:
        error.path, error.relative = path, rest
        raise


def _judge(guard: Guard, found: Found, path: str) -> None:
    if not stat.S_ISDIR(found.mode):
        raise NotRegular(path, what="file")
    if found.fd >= 0 and is_pseudo(found.fd):
        raise PermissionRefused(path, errno.EPERM, "folders of kernel state are not listed")
    guard.policy.admit(found.canonical, path)


def _list_portable(guard: Guard, path: str, rest: str) -> Listing:
    """By names, as that backend does; what was resolved is checked again after it was listed."""
    from eyespan.guard import portable

    root, _ = guard.admit(path)
    before = portable.find(guard.roots, root, rest)
    if before.fd >= 0:
        close_fd(before.fd)
        raise NotRegular(path, what="file")
    _judge(guard, before, path)
    listing = _scan(guard, os.path.join(before.root.canonical, before.canonical), before.canonical)
    if portable.find(guard.roots, root, rest).canonical != before.canonical:
        raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))
    return listing


def _scan(guard: Guard, folder: int | str, below: str) -> Listing:
    lead = "" if below == "." else f"{below}/"
    entries: list[Entry] = []
    partial = False
    with os.scandir(folder) as found:
        for seen, entry in enumerate(found):
            if seen >= MAX_SEEN:
                partial = True
                break
            if guard.context is not None:
                guard.context.check()
            what = _what(entry)
            name = f"{lead}{entry.name}"
            # A rule for what is in a folder (`secrets/**`) speaks of the folder too.
            if guard.policy.rule_against(name) is None and (
                what != "directory" or guard.policy.rule_against(f"{name}/x") is None
            ):
                entries.append(Entry(entry.name, what))
    entries.sort(key=lambda entry: entry.name)
    return Listing(below, tuple(entries), partial)


def _what(entry: os.DirEntry[str]) -> str:
    try:
        if entry.is_symlink():
            return "link"
        if entry.is_dir(follow_symlinks=False):
            return "directory"
        return "file" if entry.is_file(follow_symlinks=False) else "other"
    except OSError:
        return "other"
