"""Directories that may be read beneath. Each is held open, so it stays the same directory if it is renamed."""

from __future__ import annotations

import os

from eyespan.context import WouldBlock
from eyespan.source import close_fd


class Root:
    """An open directory and the spellings by which absolute paths may name it.

    Opening a root may block forever on its file system; `open_roots` has a deadline. It is closed with its last
    reference. After `close` its number stays taken until then, by a pipe: a read that another thread has just started
    finds no directory there, instead of one that the host has opened since under the same number.
    """

    __slots__ = ("canonical", "device", "fd", "is_closed", "never_hangs", "path", "prefix", "spellings")

    is_remote = False

    def __init__(self, path: str | os.PathLike[str], *, may_block: bool = True) -> None:
        """Raises: NotADirectoryError, OSError; with `may_block=False` WouldBlock, if opening it may block."""
        self.fd = -1
        self.is_closed = False
        given = os.path.abspath(os.fspath(path))
        self.path = given
        self.never_hangs = False
        """Its file system is local. A mount below it may be of another type."""
        found = None
        if hasattr(os, "O_PATH"):
            from eyespan.guard.openat import never_hangs, open_local_directory

            found = open_local_directory(given)
            if found is not None:
                self.fd, self.canonical = found
                self.never_hangs = True
        if found is None:
            if not may_block:
                raise WouldBlock
            self.canonical = os.path.realpath(given)
            if not os.path.isdir(self.canonical):
                raise NotADirectoryError(f"a root must be an existing directory: {given}")
            flags = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
            # Windows cannot open directories; the portable backend uses names there.
            self.fd = os.open(self.canonical, flags) if os.open in os.supports_dir_fd else -1
            self.never_hangs = hasattr(os, "O_PATH") and never_hangs(self.fd)
        self.spellings = tuple({_components(given), _components(self.canonical)})
        deepest = max(self.spellings, key=len)
        self.prefix = f"/{'/'.join(deepest)}/"
        """The start of nearly all absolute paths below it."""
        self.device = os.fstat(self.fd).st_dev if self.fd >= 0 else -1

    @property
    def address(self) -> str:
        """Return the text that opens the same root again."""
        return self.path

    def close(self) -> None:
        """Close the directory."""
        if self.is_closed:
            return
        self.is_closed = True
        if self.fd < 0:
            return
        try:
            ends = os.pipe()
        except OSError:
            self._release()
            return
        os.dup2(ends[0], self.fd, inheritable=False)
        for end in ends:
            close_fd(end)

    def _release(self) -> None:
        fd, self.fd = self.fd, -1
        if fd >= 0:
            close_fd(fd)

    def __del__(self) -> None:
        try:
            self._release()
        except (AttributeError, OSError, TypeError):
            pass  # never opened, or the interpreter is shutting down and the names of this module are None

    def __copy__(self, _memo: object = None) -> Root:
        """Return the same root. Frameworks copy their arguments; a second owner would close the descriptor twice."""
        return self

    __deepcopy__ = __copy__

    def __reduce__(self) -> tuple[type[Root], tuple[str]]:
        """Pickle the path: another process opens the directory again, by name."""
        return Root, (self.path,)

    def __repr__(self) -> str:
        return f"Root({self.path!r})"


def _components(path: str) -> tuple[str, ...]:
    return tuple([part for part in path.split(os.sep) if part])
