"""A folder that may be read beneath, held open so that it stays the same folder whatever its name becomes."""

from __future__ import annotations

import os

from eyespan.context import CallContext, WouldBlock
from eyespan.source import close_fd

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Root:
    """An open directory with the spellings under which absolute paths may name it.

    Opening one may wait for its file system without end; `open_roots` does not. Closed when nobody holds it any more.
    """

    __slots__ = ("canonical", "device", "fd", "path", "plain", "prefix", "spellings")

    def __init__(self, path: str | os.PathLike[str], *, may_block: bool = True) -> None:
        """Raises: NotADirectoryError, OSError; without patience WouldBlock, where it may take long to say."""
        self.fd = -1
        given = os.path.abspath(os.fspath(path))
        self.path = given
        self.plain = False
        """Its file system always answers. That of a mount below it may not."""
        found = None
        if hasattr(os, "O_PATH"):
            from eyespan.guard.openat import is_plain, open_plain

            found = open_plain(given)
            if found is not None:
                self.fd, self.canonical = found
                self.plain = True
        if found is None:
            if not may_block:
                raise WouldBlock
            self.canonical = os.path.realpath(given)
            if not os.path.isdir(self.canonical):
                raise NotADirectoryError(f"a root must be an existing folder: {given}")
            flags = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
            # Windows opens no directories; the portable backend works with names there and says so.
            self.fd = os.open(self.canonical, flags) if os.open in os.supports_dir_fd else -1
            self.plain = hasattr(os, "O_PATH") and is_plain(self.fd)
        self.spellings = tuple({_parts(given), _parts(self.canonical)})
        deepest = max(self.spellings, key=len)
        self.prefix = f"/{'/'.join(deepest)}/"
        """What nearly all paths below it begin with."""
        self.device = os.fstat(self.fd).st_dev if self.fd >= 0 else -1

    def close(self) -> None:
        fd, self.fd = self.fd, -1
        if fd >= 0:
            close_fd(fd)

    def __del__(self) -> None:
        try:
            self.close()
        except (AttributeError, OSError):
            pass  # never opened, or the interpreter is going down

    def __copy__(self, _memo: object = None) -> Root:
        """The same root. Frameworks copy what they are given; a second owner of the number would close it twice."""
        return self

    __deepcopy__ = __copy__

    def __reduce__(self) -> tuple[type[Root], tuple[str]]:
        """In another process the folder is opened again, by its name."""
        return Root, (self.path,)

    def __repr__(self) -> str:
        return f"Root({self.path!r})"


def open_roots(paths: Sequence[str | os.PathLike[str]], deadline_seconds: float | None) -> tuple[Root, ...]:
    """The roots of these paths, or TimeoutError (an OSError) if their file system does not answer in time.

    Raises: OSError, NotADirectoryError, ValueError.
    """
    from eyespan.errors import Stuck, TimedOut

    context = CallContext(deadline_seconds)
    opened: list[Root] = []
    try:
        for path in paths:
            try:
                opened.append(Root(path, may_block=False))
            except WouldBlock:
                from eyespan.guard import blocking  # a process that never waits does without it

                # One that comes too late closes itself, like any root that nobody holds.
                opened.append(blocking.within(context, _opener(path), key=("root", os.fspath(path))))
        return tuple(opened)
    except (TimedOut, Stuck) as error:
        raise TimeoutError(f"the root {os.fspath(paths[len(opened)])!r} cannot be opened: {error}") from None


def _opener(path: str | os.PathLike[str]) -> Callable[[CallContext], Root]:
    return lambda _: Root(path)


def _parts(path: str) -> tuple[str, ...]:
    return tuple([part for part in path.split(os.sep) if part])
