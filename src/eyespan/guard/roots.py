"""Roots: directories, each held open so that it stays the same if it is renamed, and what other roots must provide."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from eyespan.context import CallContext, WouldBlock
from eyespan.source import FullStatus, Source, close_fd

if TYPE_CHECKING:
    from eyespan.guard.listing import Listing
    from eyespan.guard.tree import Accepts, Choose, Found, Survey, Take
    from eyespan.policy import Policy


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
                scheme, colon, _ = os.fsdecode(path).partition("://")
                if colon:
                    raise NotADirectoryError(f"no extra and no plugin opens {scheme}:// (`eyespan doctor` lists them)")
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


class RemoteRoot(Root):
    """A root that is not a directory of this machine: what the guard needs of one.

    It has the name of a directory, so every dialect, rule and selector works on it as on a local one. The guard calls
    its methods in a thread that may be abandoned, after the rules have admitted the path `rest` below the root; `asked`
    is the path as the caller wrote it, for errors. Where a method returns names, it asks `policy` about each.
    """

    is_remote = True

    def __init__(self, text: str, path: str) -> None:
        """`text` opens the same root again; `path` is the name of the directory, absolute and without `.` and `..`."""
        self.fd = self.device = -1
        self.never_hangs = self.is_closed = False
        self.text = text
        self.path = self.canonical = path
        self.spellings = (_components(path),)
        self.prefix = f"{path}/"

    @property
    def address(self) -> str:
        return self.text

    def keys_of(self, rest: str, asked: str) -> list[str]:
        """Return the keys that a path below the root may lead to, the usual one first. The rules judge all of them.

        Raises: ReadError, OSError, for a path that leads out of the root or that no key can be.
        """
        raise NotImplementedError  # abstract

    def open(self, rest: str, asked: str, context: CallContext) -> Source:
        """Open the object that a path names. Raises: ReadError; NotRegular(what="directory"), OSError."""
        raise NotImplementedError  # abstract

    def describe(self, rest: str, asked: str, context: CallContext) -> FullStatus:
        """Return the status of an object or of a directory. Raises: ReadError, OSError."""
        raise NotImplementedError  # abstract

    def list(self, rest: str, asked: str, policy: Policy, context: CallContext) -> Listing:
        """List the names in a directory. Raises: ReadError; NotRegular(what="file") for an object, OSError."""
        raise NotImplementedError  # abstract

    def files(self, rest: str, asked: str, policy: Policy, after: str) -> Iterator[Found]:
        """Yield the paths, below `rest`, of all objects that follow `after`, in order. Raises: ReadError."""
        raise NotImplementedError  # abstract

    def explore(
        self,
        rest: str,
        asked: str,
        policy: Policy,
        choose: Choose,
        take: Take,
        max_bytes: int,
        context: CallContext,
        accepts: Accepts = None,
    ) -> Survey:
        """Do what `guard.tree.explore` does. Raises: ReadError; NotRegular(what="file") for an object, OSError."""
        raise NotImplementedError  # abstract

    def confine(self) -> None:
        """Prepare for a sandbox without a network, which this process enters with one thread. Raises: OSError."""

    def close(self) -> None:
        self.is_closed = True

    def __reduce__(self) -> tuple[type[Root], tuple[str]]:
        return type(self), (self.text,)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.text!r})"


def _components(path: str) -> tuple[str, ...]:
    return tuple([part for part in path.split(os.sep) if part])
