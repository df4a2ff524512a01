"""Explore a directory of the workspace with everything below it: names, sizes, and the first bytes of chosen files.

Two descents, both through the descriptors of the directories themselves, so that no rename leads them out: the first
lists files with size and times, the second reads the first bytes of those that the caller chose from the list. Links
are not followed, other mounts and directories of version control and of installed packages are not entered, and names
that a rule forbids are left out. Bounded in files, directories and depth; the order is that of the names, so the same
tree gives the same result.
"""

from __future__ import annotations

import errno
import os
import stat
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eyespan.errors import NotRegular, PermissionRefused
from eyespan.guard import walk
from eyespan.guard.filesystems import is_pseudo
from eyespan.source import close_fd

if TYPE_CHECKING:
    from eyespan.guard import Guard, Root
    from eyespan.guard.guarded_file import BackendResult

Key = bytes
File = tuple[str, int, Key]
Choose = Callable[["Survey"], Mapping[str, Sequence[str]]]
Take = Callable[[str, bytes, Key], None]

MAX_FILES = 100_000
MAX_DIRECTORIES = 30_000
MAX_DEPTH = 64
SKIPPED = frozenset(
    (
        *(".git", ".hg", ".svn", ".jj", "__pycache__", "node_modules", ".venv", ".tox", ".nox", ".mypy_cache"),
        *(".ruff_cache", ".pytest_cache", ".gradle", ".terraform", ".idea", ".cache"),
    )
)
_OPEN_DIRECTORY = (
    os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
)
_OPEN_FILE = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


FILE_BYTES = 100
"""The memory of a file in a survey without its name, and more of it while its directory is listed."""
NAME_COPIES = 3
"""The copies of a name: in the survey, in a line of a map, and in the text of all lines."""
_KEY = struct.Struct("<4Q")


def file_memory(name: str) -> int:
    """Return the memory of a file in a survey and in a map. One wide character makes all others of a name as wide."""
    return FILE_BYTES + NAME_COPIES * len(name) * (1 if name.isascii() else 4)


_MAX_NUMBER = 2**64 - 1


def key_of(size_bytes: int, *numbers: int) -> Key:
    """Return the key of a version of a file, from its size and three other numbers."""
    first, second, third = numbers
    return _KEY.pack(size_bytes & _MAX_NUMBER, first & _MAX_NUMBER, second & _MAX_NUMBER, third & _MAX_NUMBER)


class DirectoryFiles:
    """The files of one directory in the order of their names, in a third of the memory of a list of tuples."""

    __slots__ = ("_keys", "_names")

    def __init__(self, found: Sequence[tuple[str, Key]]) -> None:
        self._names = "\0".join([name for name, _ in found])
        self._keys = b"".join([key for _, key in found])

    def __len__(self) -> int:
        return len(self._keys) // _KEY.size

    def __iter__(self) -> Iterator[File]:
        """Yield name, size and key of each file."""
        if self._keys:
            keys = self._keys
            for name, at in zip(self._names.split("\0"), range(0, len(keys), _KEY.size), strict=True):
                yield name, int.from_bytes(keys[at : at + 8], "little"), keys[at : at + _KEY.size]

    @property
    def fingerprint(self) -> tuple[str, bytes]:
        """Return all names and all keys, as two values that change with any of them."""
        return self._names, self._keys


@dataclass(frozen=True, slots=True)
class Survey:
    """The files below a directory."""

    canonical: str
    """The path of the directory below its root, with links resolved; "." is the root itself."""
    directories: dict[str, DirectoryFiles]
    """The files of each directory: name, size, and a key that changes when the file does. The path of a directory is
    relative and ends with a slash; "" is the directory itself."""
    is_complete: bool
    """False: there are more files than the limits allow."""
    denied: Mapping[str, int]
    """How many names each rule left out."""


def explore(guard: Guard, root: Root, rest: str, path: str, choose: Choose, take: Take, max_bytes: int) -> Survey:
    """Return the files below a directory, and pass the first bytes of those that `choose` returns to `take`.

    `choose` gets the survey and returns names by directory; `take` gets the path, the bytes and the key of each.

    Raises: OSError, ReadError; NotRegular(what="file") if it is not a directory.
    """
    if guard.backend == "portable":
        raise PermissionRefused(path, errno.ENOTSUP, "maps need directory descriptors, which this system lacks")
    found = walk.find(guard.roots, root, rest, by_handle=guard.backend != "walk-by-name")
    try:
        if not stat.S_ISDIR(found.mode):
            raise NotRegular(path, what="file")
        if is_pseudo(found.fd):
            raise PermissionRefused(path, errno.EPERM, "directories of kernel state are not listed")
        guard.policy.admit(found.canonical, path, found.root.canonical)
        here = os.open(".", _OPEN_DIRECTORY, dir_fd=found.fd)
        try:
            explorer = _Explorer(guard, found, here)
            survey = explorer.survey()
            explorer.read(choose(survey), take, max_bytes)
            return survey
        finally:
            close_fd(here)
    finally:
        if found.fd >= 0:
            close_fd(found.fd)


class _Explorer:
    """One directory and both descents into it."""

    def __init__(self, guard: Guard, found: BackendResult, top: int) -> None:
        self._guard = guard
        self._root = found.root.canonical
        self._canonical = found.canonical
        self._prefix = "" if found.canonical == "." else f"{found.canonical}/"
        self._top = top
        self._device = os.fstat(top).st_dev
        self._directories: dict[str, DirectoryFiles] = {}
        self._files_left = MAX_FILES
        self._is_complete = True
        self._denied: dict[str, int] = {}

    def survey(self) -> Survey:
        """Return all files, in the order of their names."""
        self._list(self._top, "", 0)
        return Survey(self._canonical, self._directories, self._is_complete, self._denied)

    def _list(self, directory: int, path: str, depth: int) -> None:
        if self._guard.context is not None:
            self._guard.context.check()
        if depth > MAX_DEPTH or len(self._directories) >= MAX_DIRECTORIES or self._files_left <= 0:
            self._is_complete = False
            return
        rule_against, root, prefix = self._guard.policy.rule_against, self._root, self._prefix + path
        context = self._guard.context
        files: list[tuple[str, Key]] = []
        below: list[str] = []
        with os.scandir(directory) as scanned:
            for number, entry in enumerate(scanned):
                if context is not None and not number % 1024:
                    context.check()  # also where no name is a file that may be read
                name = entry.name
                try:
                    is_directory = entry.is_dir(follow_symlinks=False)
                    rule = rule_against(prefix + name, root)
                    if rule is None and is_directory:
                        rule = rule_against(f"{prefix}{name}/x", root)
                    if rule is not None:
                        self._denied[rule] = self._denied.get(rule, 0) + 1
                    elif is_directory:
                        if name not in SKIPPED:
                            below.append(name)
                    elif entry.is_file(follow_symlinks=False):
                        if len(files) >= self._files_left:
                            self._is_complete = False
                            break
                        files.append((name, _key(entry.stat(follow_symlinks=False))))
                        if context is not None:
                            context.charge(file_memory(name))
                except OSError:
                    continue  # removed in the meantime
        files.sort()
        count = len(files)
        self._directories[path] = DirectoryFiles(files)
        self._files_left -= count
        del files
        for name in sorted(below):
            opened = self._open_directory(directory, name)
            if opened is not None:
                try:
                    self._list(opened, f"{path}{name}/", depth + 1)
                finally:
                    close_fd(opened)

    def _open_directory(self, directory: int, name: str) -> int | None:
        """Open a directory; None if it cannot be entered or belongs to another mount."""
        try:
            opened = os.open(name, _OPEN_DIRECTORY, dir_fd=directory)
        except OSError:
            return None
        if os.fstat(opened).st_dev == self._device:
            return opened
        close_fd(opened)
        return None

    def read(self, chosen: Mapping[str, Sequence[str]], take: Take, max_bytes: int) -> None:
        """Read the first bytes of the chosen files."""
        around: set[str] = set()
        for path in chosen:
            names = path.split("/")[:-1]
            around.update(["".join([f"{name}/" for name in names[:depth]]) for depth in range(len(names) + 1)])
        below: dict[str, list[str]] = {}
        for path in sorted(around - {""}):
            parent, _, name = path[:-1].rpartition("/")
            below.setdefault(f"{parent}/" if parent else "", []).append(name)
        self._read_below(self._top, "", chosen, below, take, max_bytes)

    def _read_below(
        self,
        directory: int,
        path: str,
        chosen: Mapping[str, Sequence[str]],
        below: Mapping[str, Sequence[str]],
        take: Take,
        max_bytes: int,
    ) -> None:
        context = self._guard.context
        for name in chosen.get(path, ()):
            if context is not None:
                context.check()
            try:
                fd = os.open(name, _OPEN_FILE, dir_fd=directory)
            except OSError:
                continue
            try:
                status = os.fstat(fd)
                if stat.S_ISREG(status.st_mode) and status.st_dev == self._device:
                    take(path + name, os.read(fd, max_bytes), _key(status))
            except OSError:
                pass
            finally:
                close_fd(fd)
        for name in below.get(path, ()):
            opened = self._open_directory(directory, name)
            if opened is not None:
                try:
                    self._read_below(opened, f"{path}{name}/", chosen, below, take, max_bytes)
                finally:
                    close_fd(opened)


def _key(status: os.stat_result) -> Key:
    try:
        return _KEY.pack(status.st_size, status.st_ino, status.st_mtime_ns, status.st_ctime_ns)
    except struct.error:  # a time before 1970
        return key_of(status.st_size, status.st_ino, status.st_mtime_ns, status.st_ctime_ns)
