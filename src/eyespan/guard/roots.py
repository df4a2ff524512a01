"""A folder that may be read beneath, held open so that it stays the same folder whatever its name becomes."""

from __future__ import annotations

import os

from eyespan.guard.closing import close


class Root:
    """An open directory with the spellings under which absolute paths may name it."""

    __slots__ = ("canonical", "fd", "path", "spellings")

    def __init__(self, path: str | os.PathLike[str]) -> None:
        given = os.path.abspath(os.fspath(path))
        self.path = given
        self.canonical = os.path.realpath(given)
        self.spellings = tuple({_parts(given), _parts(self.canonical)})
        flags = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
        if not os.path.isdir(self.canonical):
            raise NotADirectoryError(f"a root must be an existing folder: {given}")
        # Windows opens no directories; the portable backend works with names there and says so.
        self.fd = os.open(self.canonical, flags) if os.open in os.supports_dir_fd else -1

    def close(self) -> None:
        fd, self.fd = self.fd, -1
        if fd >= 0:
            close(fd)

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


def _parts(path: str) -> tuple[str, ...]:
    return tuple([part for part in path.split(os.sep) if part])
