"""Walk a directory of the workspace with everything below it: names, sizes, and the first bytes of chosen files.

There is one walk, through the descriptors of the directories themselves, so that no rename leads it out. Its order is
that of the paths, character by character, so the same tree gives the same result and a walk can continue after any
path. Links are not followed, and names that a rule of the policy forbids or an ignore file leaves out are passed. A
directory of any size is walked to its end, `PAGE_NAMES` names at a time.

A survey for a map lists files with size and times, then reads the first bytes of those that the caller chose from the
list. It is bounded in files, directories and depth, and enters no other mounts.
"""

from __future__ import annotations

import errno
import os
import stat
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eyespan.context import CallContext
from eyespan.errors import NotRegular, PermissionRefused, ReadError
from eyespan.guard import portable, walk
from eyespan.guard.filesystems import is_pseudo
from eyespan.guard.guarded_file import BackendResult
from eyespan.guard.ignore import SKIPPED, IgnoreRules, rules_at
from eyespan.source import Status, close_fd

if TYPE_CHECKING:
    from eyespan.guard import Guard, Root

Key = bytes
Identity = tuple[int, int]
Found = tuple[str, Exception | None, Identity | None]
"""A path, why it is no file, and the identity of its version where the listing states it (`Source.identity`)."""
File = tuple[str, int, Key]
Accepts = Callable[[str], bool] | None
"""Returns True for the path of a file, below the directory, that a survey has; None: it has all."""
Choose = Callable[["Survey"], Mapping[str, Sequence[str]]]
Take = Callable[[str, bytes, Key], None]

MAX_FILES = 100_000
MAX_DIRECTORIES = 30_000
MAX_DEPTH = 64
PAGE_NAMES = 50_000
"""The names of one directory that are in memory at a time."""
NAME_BYTES = 80
"""The memory of a name in a page, without its characters."""
_OPEN_DIRECTORY = (
    os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
)


FILE_BYTES = 250
"""The memory of a file in a survey and in a map without its name."""
NAME_COPIES = 3
"""The copies of a name: in the survey, in a line of a map, and in the text of all lines."""
_KEY = struct.Struct("<4Q")


def file_memory(name: str) -> int:
    """Return the memory of a file in a survey and in a map. One wide character makes all others of a name as wide."""
    return FILE_BYTES + NAME_COPIES * len(name) * (1 if name.isascii() else 4)


_MAX_NUMBER = 2**64 - 1


def key_of(size_bytes: int, *numbers: int) -> Key:
    """Return the key of a version of a file, from its size and three other numbers."""
    return _KEY.pack(*[number & _MAX_NUMBER for number in (size_bytes, *numbers)])


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
    """False: there are more files than the limits or the time allow."""
    denied: Mapping[str, int]
    """How many names each rule left out."""


def explore(
    guard: Guard, root: Root, rest: str, path: str, choose: Choose, take: Take, max_bytes: int, accepts: Accepts = None
) -> Survey:
    """Return the files below a directory that `accepts` admits, by default all of them.

    The first bytes of those that `choose` returns are passed to `take`. `choose` gets the survey and returns names by
    directory; `take` gets the path, the bytes and the key of each.

    Raises: OSError, ReadError; NotRegular(what="file") if it is not a directory.
    """
    if guard.backend == "portable":
        raise PermissionRefused(path, errno.ENOTSUP, "maps need directory descriptors, which this system lacks")
    with opened_directory(guard, root, rest, path) as found:
        survey = _survey(guard, found, accepts)
    top = os.path.join(found.root.path, "" if found.canonical == "." else found.canonical)
    for directory, names in choose(survey).items():
        for name in names:
            if guard.context is not None:
                guard.context.check()
            try:
                with guard.open(os.path.join(top, directory + name), follow=False) as source:
                    take(directory + name, source.read_at(0, max_bytes), _key(source.status))
            except ReadError:
                continue  # removed or replaced in the meantime, or not readable
    return survey


def files_below(guard: Guard, root: Root, rest: str, path: str, after: str) -> Iterator[Found]:
    """Yield the files below a directory that follow `after`, relative to it, in the order of paths.

    What is no file has an error; `OtherMount` is that of a directory on another file system, which is not entered.

    Raises: OSError, ReadError, also while they are taken; NotRegular(what="file") if it is not a directory.
    """
    with opened_directory(guard, root, rest, path) as found:
        for below, name, _, error in Walk(guard, found).below(after):
            yield below + name, error, None


def find(guard: Guard, root: Root, rest: str, follow: bool = True) -> BackendResult:
    """Find what `rest` names beneath a root, as `walk.find` does. The caller closes it. Raises: OSError, ReadError."""
    if guard.backend == "portable":
        return portable.find(guard.local_roots, root, rest, follow)
    return walk.find(guard.local_roots, root, rest, follow, by_handle=guard.backend != "walk-by-name")


@contextmanager
def opened_directory(guard: Guard, root: Root, rest: str, path: str) -> Iterator[BackendResult]:
    """Open a directory; `found.fd` can be listed. Raises: OSError, ReadError, as `files_below` does."""
    found = find(guard, root, rest)
    try:
        if not stat.S_ISDIR(found.mode):
            raise NotRegular(path, what="file")
        if found.fd >= 0 and is_pseudo(found.fd):
            raise PermissionRefused(path, errno.EPERM, "directories of kernel state are not listed")
        guard.policy.admit(found.canonical, path, found.root.canonical)
        if found.fd >= 0:
            # The descriptor may be O_PATH only; "." below it is the same directory, whatever its present name.
            handle, found.fd = found.fd, os.open(".", _OPEN_DIRECTORY, dir_fd=found.fd)
            close_fd(handle)
        yield found
    finally:
        close_fd(found.fd)


class OtherMount(Exception):
    """A directory belongs to another file system, which may not answer."""


class Walk:
    """A walk through everything below an open directory."""

    def __init__(self, guard: Guard, found: BackendResult) -> None:
        self._guard = guard
        self._root = found.root
        self._prefix = "" if found.canonical == "." else f"{found.canonical}/"
        self._top: int | str = found.fd
        top: int | str = found.root.fd
        if found.fd < 0:  # directories have no descriptors on this system
            self._top, top = os.path.join(found.root.canonical, found.canonical), found.root.canonical
        self._device = os.stat(self._top).st_dev
        self.denied: dict[str, int] = {}
        """The number of names that each rule has denied."""
        self._rules: IgnoreRules | None = rules_at(top, found.canonical) if guard.ignore else None

    def below(self, after: str = "") -> Iterator[tuple[str, str, int | str, Exception | None]]:
        """Yield the directory with a slash, the name and the open directory of each file that follows `after`."""
        levels = [_WalkedDirectory(self._top, "", after, self._rules)]
        try:
            self._fill(levels[-1])
            while levels:
                level = levels[-1]
                if not level.names and level.has_more:
                    self._fill(level)
                if not level.names:
                    self._leave(levels.pop())
                    continue
                name = level.names.pop()
                if level.has_more and not level.names:
                    level.after = name
                if name[-1] == "/":
                    entered = self._enter(level, name, len(levels))
                    if isinstance(entered, _WalkedDirectory):
                        levels.append(entered)
                    elif entered is not None:
                        yield level.path, name[:-1], level.fd, entered
                elif name[-1] == "\0":
                    if self._is_shown(level, name[:-1], is_directory=False):
                        yield level.path, name[:-1], level.fd, NotRegular(level.path + name[:-1], what="other")
                elif name not in level.suspects or self._is_shown(level, name, is_directory=False):
                    yield level.path, name, level.fd, None
        finally:
            for level in levels:
                self._leave(level)

    def _fill(self, level: _WalkedDirectory) -> None:
        """List the next names of a directory. Raises: OSError, Cancelled, TimedOut, TooMuchMemory."""
        level.fill(self._guard.context)
        directory, names = self._prefix + level.path, [name.rstrip("/\0") for name in level.names]
        level.suspects = self._guard.policy.suspects(directory, names, self._root.canonical)
        if level.rules is not None:
            judged = [name.rstrip("\0") for name in level.names]
            level.suspects |= SKIPPED.intersection(names) | level.rules.suspects(directory, judged)

    def _is_shown(self, level: _WalkedDirectory, name: str, *, is_directory: bool) -> bool:
        path = f"{self._prefix}{level.path}{name}"
        if name in level.suspects:
            rule_against, root = self._guard.policy.rule_against, self._root.canonical
            rule = rule_against(path, root)
            if rule is None and is_directory:
                rule = rule_against(f"{path}/x", root)
            if rule is not None:
                self.denied[rule] = self.denied.get(rule, 0) + 1
                return False
        return level.rules is None or not level.rules.is_ignored(path, name, is_directory=is_directory)

    def _enter(self, level: _WalkedDirectory, name: str, depth: int) -> _WalkedDirectory | Exception | None:
        """Return a directory to walk, the reason why it is not walked, or None if it is left out or was removed."""
        if not self._is_shown(level, name[:-1], is_directory=True):
            return None
        path = level.path + name
        if depth > MAX_DEPTH:
            return NotRegular(path, what="directory")
        fd: int | str = -1
        try:
            fd = self._open(level, name[:-1])
            if os.stat(fd).st_dev != self._device:
                _close(fd)
                return OtherMount()
            rules = None if level.rules is None else level.rules.enter(fd, self._prefix + path)
            after = level.after[len(name) :] if level.after.startswith(name) else ""
            entered = _WalkedDirectory(fd, path, after, rules)
            self._fill(entered)
            if isinstance(fd, str):
                self._open(level, name[:-1])  # the names are those of the same directory
            return entered
        except FileNotFoundError:
            _close(fd)
            return None  # removed in the meantime
        except OSError as error:
            _close(fd)
            return error

    def _open(self, level: _WalkedDirectory, name: str) -> int | str:
        """Open a directory, never through a link; without descriptors, return its path. Raises: OSError."""
        if isinstance(level.fd, int):
            return os.open(name, _OPEN_DIRECTORY, dir_fd=level.fd)
        path = f"{self._prefix}{level.path}{name}"
        if portable.find(self._guard.local_roots, self._root, path).canonical != path:
            raise FileNotFoundError
        return os.path.join(level.fd, name)

    def _leave(self, level: _WalkedDirectory) -> None:
        level.release(self._guard.context)
        if level.fd != self._top:
            _close(level.fd)


class _WalkedDirectory:
    """One directory of a walk, and the names in it that are still to come.

    That of a directory ends with a slash, that of a pipe, a socket or a device with a NUL.
    """

    __slots__ = ("_charged_bytes", "after", "fd", "has_more", "names", "path", "rules", "suspects")

    def __init__(self, fd: int | str, path: str, after: str, rules: IgnoreRules | None) -> None:
        self.fd, self.path, self.after, self.rules = fd, path, after, rules
        self.names: list[str] = []
        """The names of this page, the next one last."""
        self.suspects: Set[str] = frozenset()
        """Those of them that a rule of the policy may forbid."""
        self.has_more = False
        self._charged_bytes = 0

    def fill(self, context: CallContext | None) -> None:
        """List the names that follow `after`. Raises: OSError, Cancelled, TimedOut, TooMuchMemory."""
        self.release(context)
        self.has_more = False
        names: list[str] = []
        after = self.after
        with os.scandir(self.fd) as scanned:
            for number, entry in enumerate(scanned):
                if not number % 1024:
                    if context is not None:
                        context.check()
                    if len(names) > PAGE_NAMES:
                        names = sorted(names)[:PAGE_NAMES]
                        self.has_more = True
                name = entry.name
                try:
                    if not entry.is_file(follow_symlinks=False):
                        if entry.is_symlink():
                            continue
                        name += "/" if entry.is_dir(follow_symlinks=False) else "\0"
                except OSError:
                    continue  # removed in the meantime
                if after and name <= after and not (name[-1] == "/" and after.startswith(name) and after != name):
                    continue
                names.append(name)
        names.sort(reverse=True)
        if len(names) > PAGE_NAMES:
            del names[: len(names) - PAGE_NAMES]
            self.has_more = True
        self.names = names
        if context is not None:
            size_bytes = sum([NAME_BYTES + len(name) for name in names])
            context.charge(size_bytes)
            self._charged_bytes = size_bytes

    def release(self, context: CallContext | None) -> None:
        """Give the memory of the names back."""
        if context is not None:
            context.memory.refund(self._charged_bytes)
        self._charged_bytes = 0


def _survey(guard: Guard, found: BackendResult, accepts: Accepts) -> Survey:
    """List the files below an open directory. Raises: OSError, Cancelled, TimedOut, TooMuchMemory."""
    directories: dict[str, DirectoryFiles] = {}
    open_ones: dict[str, list[tuple[str, Key]]] = {"": []}
    count = 0
    is_complete = True
    walk_below = Walk(guard, found)
    for number, (path, name, fd, error) in enumerate(walk_below.below()):
        if not number % 1024 and guard.context is not None and guard.context.is_half_over:
            is_complete = False
            break
        if error is None and accepts is not None and not accepts(path + name):
            continue
        if path not in open_ones:
            for left in [one for one in open_ones if not path.startswith(one)]:
                directories[left] = DirectoryFiles(open_ones.pop(left))
            open_ones[path] = []
        if error is not None:
            is_unlisted = isinstance(error, OSError) or (isinstance(error, NotRegular) and error.what == "directory")
            is_complete = is_complete and not is_unlisted
            continue
        if count >= MAX_FILES or len(directories) + len(open_ones) > MAX_DIRECTORIES:
            is_complete = False
            break
        try:
            assert isinstance(fd, int)
            open_ones[path].append((name, _key(os.stat(name, dir_fd=fd, follow_symlinks=False))))
        except OSError:
            continue  # removed in the meantime
        count += 1
        if guard.context is not None:
            guard.context.charge(file_memory(name))
    directories |= {path: DirectoryFiles(files) for path, files in open_ones.items()}
    in_order = {path: directories[path] for path in sorted(directories)}
    return Survey(found.canonical, in_order, is_complete, walk_below.denied)


def _close(fd: int | str) -> None:
    if isinstance(fd, int):
        close_fd(fd)


def _key(status: Status) -> Key:
    return key_of(status.st_size, status.st_ino, status.st_mtime_ns, status.st_ctime_ns)
