"""List the names in a directory of the workspace, with the same checks as opening a file.

For suggestions when a name is wrong, for completion, and for a short look at a directory; not a way to search. Names
that a rule forbids are left out. Bounded: of a directory with more than `MAX_SCANNED` entries, those that the system
returns first are listed.
"""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eyespan.errors import PermissionRefused
from eyespan.guard.filesystems import is_pseudo
from eyespan.guard.guarded_file import BackendResult
from eyespan.guard.ignore import IgnoreRules, rules_at
from eyespan.guard.tree import find, opened_directory
from eyespan.source import close_fd

if TYPE_CHECKING:
    from eyespan.guard import Guard, Root


MAX_SCANNED = 10_000
_SUFFIXES = {"directory": "/", "file": "", "link": "@", "other": "|"}

ENTRY_BYTES = 150
"""The memory of an entry beside its name."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One name in a directory. `what` is "file", "directory", "link" or "other"; links are not followed."""

    name: str
    what: str
    size_bytes: int | None = None
    """The size of a file, where the listing has it."""

    @property
    def suffix(self) -> str:
        """Return the sign after the name: a slash for a directory, an at sign for a link, a bar for other types."""
        return _SUFFIXES[self.what]


@dataclass(frozen=True, slots=True)
class Listing:
    """The entries of a directory, sorted by name."""

    path: str
    """The path relative to its root, with links resolved; "." is the root itself."""
    entries: tuple[Entry, ...]
    partial: bool = False
    """The directory has more entries than were scanned."""
    left_out: int = 0
    """The number of names that no path can contain: of keys in a bucket."""


def list_directory(guard: Guard, root: Root, rest: str, path: str, *, hides_ignored: bool = False) -> Listing:
    """List the directory `rest` beneath `root`, without the names that a rule forbids.

    With `hides_ignored`, names that ignore files leave out are not listed either.

    Raises: OSError, ReadError; NotRegular(what="file") if it is not a directory.
    """
    with opened_directory(guard, root, rest, path) as found:
        has_fd = found.fd >= 0
        here, top = (found.fd, found.root.fd) if has_fd else (_real_path(found), found.root.canonical)
        listing = _scan(guard, here, found, rules_at(top, found.canonical) if hides_ignored else None)
    if not has_fd and find(guard, root, rest).canonical != found.canonical:
        raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))  # listed by name, and replaced meanwhile
    return listing


def describe(guard: Guard, root: Root, rest: str, path: str) -> os.stat_result:
    """Return the status of the file or directory `rest` beneath `root`. Nothing is read, so any type is described.

    Raises: OSError, ReadError.
    """
    found = find(guard, root, rest)
    try:
        guard.policy.admit(found.canonical, path, found.root.canonical)
        if found.fd < 0:
            return os.stat(_real_path(found), follow_symlinks=False)
        if is_pseudo(found.fd):
            raise PermissionRefused(path, errno.EPERM, "files of kernel state are not described")
        return os.fstat(found.fd)
    finally:
        close_fd(found.fd)


def _real_path(found: BackendResult) -> str:
    return os.path.join(found.root.canonical, found.canonical)


def _scan(guard: Guard, directory: int | str, found: BackendResult, rules: IgnoreRules | None) -> Listing:
    below, root = found.canonical, found.root.canonical
    prefix = "" if below == "." else f"{below}/"
    entries: list[Entry] = []
    partial = False
    with os.scandir(directory) as scanned:
        for count, entry in enumerate(scanned):
            if count >= MAX_SCANNED:
                partial = True
                break
            if guard.context is not None:
                guard.context.check()
            what = _type_name(entry)
            name = f"{prefix}{entry.name}"
            if rules is not None and rules.is_ignored(name, entry.name, is_directory=what == "directory"):
                continue
            if _is_admitted(guard, name, what, root):
                if guard.context is not None:
                    guard.context.charge(ENTRY_BYTES + entry.name.__sizeof__())
                entries.append(Entry(entry.name, what))
    entries.sort(key=lambda entry: entry.name)
    return Listing(below, tuple(entries), partial)


def _is_admitted(guard: Guard, name: str, what: str, root: str) -> bool:
    """Return True unless a rule forbids a name. One for everything in a directory (`secrets/**`) forbids it too."""
    if guard.policy.rule_against(name, root) is not None:
        return False
    return what != "directory" or guard.policy.rule_against(f"{name}/x", root) is None


def _type_name(entry: os.DirEntry[str]) -> str:
    try:
        if entry.is_symlink():
            return "link"
        if entry.is_dir(follow_symlinks=False):
            return "directory"
        return "file" if entry.is_file(follow_symlinks=False) else "other"
    except OSError:
        return "other"
