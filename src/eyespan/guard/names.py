"""The names of all files below a root, for suggestions when a path is wrong.

A walk takes at most the time it is given and keeps what it found. The next walk lists only the directories that are
new or changed, so a tree that is too large for one walk is covered by several. Links are not followed, mounts below the
root are not entered, and what ignore files name is left out. Memory is bounded by `MAX_BYTES`.

The names are not judged by the policy: a caller that shows one asks the policy first.
"""

from __future__ import annotations

import os
import sys
import time
from _thread import allocate_lock
from collections.abc import Callable

from eyespan.caches import ENTRY_BYTES, CacheTable
from eyespan.guard.filesystems import is_pseudo
from eyespan.guard.ignore import IgnoreRules
from eyespan.guard.roots import Root
from eyespan.source import close_fd

MAX_BYTES = 8 << 20
DIRECTORY_BYTES = 400
"""The memory of a directory beside its names."""
MAX_DEPTH = 64
"""Each level holds a descriptor during the walk."""
BUSY_FACTOR = 3
RACY_NS = 2_000_000_000
"""A directory that changed so shortly before it was listed may change again with the same time of modification."""
LATE = frozenset(("node_modules", "vendor", "third_party", "venv", "env", "target", "build", "dist", "out"))
"""Directories that are walked after all others, as are hidden ones: their files are seldom meant."""
_OPEN = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)


class Names:
    """The names below one root, as the last walks found them."""

    def __init__(self, root: Root, ignore: bool = True) -> None:
        self._root = root
        self._ignore = ignore
        self._lock = allocate_lock()
        self._cache = CacheTable(MAX_BYTES + ENTRY_BYTES)
        self.is_complete = False
        """The last walk saw every directory."""

    def walker(self, seconds: float) -> Callable[..., None]:
        """Return a function that walks for so many seconds, whatever its arguments are."""
        return lambda *_: self.walk(seconds)

    def walk(self, seconds: float) -> None:
        """List the directories below the root that are new or changed, for so many seconds of processor time.

        It ends after `BUSY_FACTOR` times as long in any case: on a busy machine the thread waits for a processor most
        of the time, and a file system may be slow.

        Another thread that walks the same root at the same time is not waited for.
        """
        if not self._lock.acquire(blocking=False):
            return
        try:
            known = self._found()
            walk = _Walk(self._root, known, seconds, ignore=self._ignore)
            walk.run()
            found = walk.found if walk.is_complete else {**known, **walk.found}
            size_bytes = sum([directory.size_bytes for directory in found.values()])
            if size_bytes > MAX_BYTES:
                found, size_bytes = walk.found, MAX_BYTES
            self._cache.put("", found, size_bytes)
            self.is_complete = walk.is_complete
        finally:
            self._lock.release()

    def directories(self) -> list[tuple[str, str]]:
        """Return each directory, "" for the root, with the names of its files: `/a.py/b.py/`."""
        return [(path, directory.names.decode("utf-8", "surrogatepass")) for path, directory in self._found().items()]

    @property
    def decoded_bytes(self) -> int:
        """Return the memory of all names as text."""
        found = self._found().values()
        return sum([len(each.names) * (1 if each.names.isascii() else 4) for each in found])

    def _found(self) -> dict[str, _Directory]:
        return self._cache.get("") or {}


class _Directory:
    """The contents of a directory, and its fingerprint when it was listed; None if it may have changed since.

    Names are bytes, because one wide character would make every other take four.
    """

    __slots__ = ("directories", "fingerprint", "names", "size_bytes")

    def __init__(self, names: bytes, directories: tuple[str, ...], fingerprint: tuple[int, ...] | None) -> None:
        self.names = names
        self.directories = directories
        self.fingerprint = fingerprint
        self.size_bytes = DIRECTORY_BYTES + sys.getsizeof(names) + sum([sys.getsizeof(name) for name in directories])


class _Walk:
    """One walk, depth first, through the descriptors of the directories themselves, so that no rename leads it out."""

    def __init__(self, root: Root, known: dict[str, _Directory], seconds: float, *, ignore: bool) -> None:
        self._root = root
        self._rules: dict[str, IgnoreRules] | None = {} if ignore else None
        """The rules of each directory that was listed."""
        self._known = known
        self._processor_end = time.thread_time() + seconds
        self._end = time.monotonic() + BUSY_FACTOR * seconds
        self._late: list[str] = []
        self._steps = 0
        self._bytes_left = MAX_BYTES
        self._device = -1
        self.found: dict[str, _Directory] = {}
        self.is_complete = True

    def run(self) -> None:
        try:
            top = os.open(".", _OPEN, dir_fd=self._root.fd) if self._root.fd >= 0 else self._root.canonical
        except OSError:
            self.is_complete = False
            return
        try:
            if isinstance(top, int) and is_pseudo(top):
                return
            self._device = os.stat(top).st_dev
            self._below(top, "", defers=True)
            for path in self._late:
                if self._is_over():
                    self.is_complete = False
                    break
                self._late_tree(top, path)
        except OSError:
            self.is_complete = False
        finally:
            _close(top)

    def _late_tree(self, top: int | str, path: str) -> None:
        """Walk a tree that was put off. Its path is opened name by name, never through a link."""
        here = top
        try:
            for name in path.split("/"):
                below = _open_below(here, name)
                if here is not top:
                    _close(here)
                here = below
            self._below(here, path, defers=False)
        except OSError:
            self.is_complete = False
        finally:
            if here is not top:
                _close(here)

    def _below(self, top: int | str, path: str, *, defers: bool) -> None:
        """List a directory and all below it."""
        listed = self._listed(top, path)
        if listed is None:
            return
        stack: list[tuple[int | str, str, list[str]]] = [
            (top, f"{path}/" if path else "", self._split(listed, path, defers))
        ]
        try:
            while stack:
                here, prefix, names = stack[-1]
                if not names:
                    stack.pop()
                    if stack:
                        _close(here)
                    continue
                name = names.pop()
                if len(stack) > MAX_DEPTH:
                    self.is_complete = False
                    continue
                if self._is_over():
                    self.is_complete = False
                    return
                try:
                    below = _open_below(here, name)
                except OSError:
                    continue  # Removed, replaced by something else, or not readable: no file in it can be opened.
                listed = self._listed(below, prefix + name)
                if listed is None:
                    _close(below)
                else:
                    stack.append((below, f"{prefix}{name}/", self._split(listed, prefix + name, defers)))
        finally:
            for here, _, _ in stack[1:]:
                _close(here)

    def _is_over(self) -> bool:
        self._steps += 1
        if self._steps % 16 == 0 and (time.thread_time() > self._processor_end or time.monotonic() > self._end):
            self._end = float("-inf")
        return self._end < 0

    def _split(self, listed: _Directory, path: str, defers: bool) -> list[str]:
        """Return the directories to enter now, the last first; put the others off."""
        if not defers:
            return list(reversed(listed.directories))
        now = []
        for name in reversed(listed.directories):
            if name in LATE or name[0] == ".":
                self._late.append(f"{path}/{name}" if path else name)
            else:
                now.append(name)
        return now

    def _listed(self, here: int | str, path: str) -> _Directory | None:
        """Return the contents of a directory; None if it is on another mount or cannot be listed."""
        try:
            status = os.stat(here)
            if status.st_dev != self._device:
                return None
            fingerprint: tuple[int, ...] = (status.st_ino, status.st_mtime_ns, status.st_ctime_ns)
            known = self._known.get(path)
            rules = None
            if self._rules is not None:
                outer = self._rules[path.rpartition("/")[0]] if path else IgnoreRules()
                self._rules[path] = rules = outer.enter(here, f"{path}/" if path else "")
                fingerprint = (*fingerprint, rules.version)
            if known is None or known.fingerprint != fingerprint:
                is_settled = time.time_ns() - status.st_mtime_ns > RACY_NS
                known = _list(here, path, rules, fingerprint if is_settled else None)
        except OSError:
            return None
        self._bytes_left -= known.size_bytes
        if self._bytes_left < 0:
            self.is_complete = False
            return None
        self.found[path] = known
        return known


def _list(here: int | str, path: str, rules: IgnoreRules | None, fingerprint: tuple[int, ...] | None) -> _Directory:
    """Raises: OSError."""
    prefix = f"{path}/" if path else ""
    files: list[str] = []
    directories: list[str] = []
    with os.scandir(here) as entries:
        for entry in entries:
            name, is_directory = entry.name, entry.is_dir(follow_symlinks=False)
            if rules is None or not rules.is_ignored(prefix + name, name, is_directory=is_directory):
                (directories if is_directory else files).append(name)
    directories.sort()
    names = f"/{'/'.join(files)}/".encode("utf-8", "surrogatepass") if files else b""
    return _Directory(names, tuple(directories), fingerprint)


def _open_below(here: int | str, name: str) -> int | str:
    """Open a directory in a directory, never through a link. Raises: OSError."""
    if isinstance(here, int):
        return os.open(name, _OPEN, dir_fd=here)
    return os.path.join(here, name)


def _close(here: int | str) -> None:
    if isinstance(here, int):
        close_fd(here)
