"""The weaker guard for systems without directory descriptors (Windows): check, open, then check what was opened.

The promise is smaller here: names are resolved by the operating system, and a link swapped in and back again within one
call may go unseen. What was opened is compared with what the checked name leads to before a byte is read, so a plain
swap is caught. `eyespan doctor` tells when this backend is on.
"""

from __future__ import annotations

import errno
import os
import stat

from eyespan.errors import InvalidPath, OutsideRoot
from eyespan.guard.paths import beneath
from eyespan.guard.source import Found
from eyespan.source import close_fd

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from eyespan.guard.roots import Root

_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_NOINHERIT", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_CLOEXEC", 0)
)
_DEVICES = frozenset(
    ["con", "prn", "aux", "nul", "conin$", "conout$", *(f"{port}{n}" for port in ("com", "lpt") for n in "0123456789")]
)


def find(roots: Sequence[Root], root: Root, rest: str, follow: bool = True) -> Found:
    """As `walk.find`, by names.

    Raises: OSError, OutsideRoot, InvalidPath.
    """
    if os.name == "nt":
        _check_windows(rest)
    asked = os.path.join(root.canonical, rest) if rest else root.canonical
    folder, _, name = asked.rpartition("/")
    if not follow and name not in ("", ".", ".."):
        # A slash behind a link follows it, as everywhere. The folder is judged first: nothing is told of one outside.
        folder, inside, below = _resolve(folder or "/", roots)
        status = os.lstat(os.path.join(folder, name))
        if stat.S_ISLNK(status.st_mode):
            return Found(-1, inside, name if below == "." else f"{below}/{name}", status.st_mode, False)
    real, inside, below = _resolve(asked, roots)
    before = os.stat(real)
    if rest.endswith(("/", "/.")) and not stat.S_ISDIR(before.st_mode):
        raise OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    if not stat.S_ISREG(before.st_mode):
        return Found(-1, inside, below, before.st_mode, False)
    fd = os.open(real, _FLAGS)
    try:
        status = os.fstat(fd)
        again, _, _ = _resolve(asked, roots)
        if again != real or not os.path.samestat(status, os.stat(again)):
            raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))
    except BaseException:
        close_fd(fd)
        raise
    return Found(fd, inside, below, status.st_mode, True)


def _resolve(asked: str, roots: Sequence[Root]) -> tuple[str, Root, str]:
    """The real name, the root it is in and the name below that.

    A name that does not exist is judged by the deepest folder of it that does, so that nothing is told of outside.
    """
    failure: OSError | None = None
    try:
        real = os.path.realpath(asked, strict=True)
    except OSError as error:
        # A link that cannot be read now would be taken for a name here: good enough to judge by, never to open.
        real, failure = os.path.realpath(asked), error
    found = beneath(real.replace(os.sep, "/"), roots)
    if found is None:
        raise OutsideRoot("")
    os.stat(asked)  # NotFound, loops and files used as folders, in the system's own words
    if failure is not None:
        raise failure
    return real, found[0], found[1] or "."


def _check_windows(rest: str) -> None:
    """Refuses names that Windows reads as something else than they say: streams, devices, trailing dots and blanks."""
    for part in rest.replace("\\", "/").split("/"):
        if ":" in part:
            raise InvalidPath(rest, "a colon is not part of a file name here")
        if part not in ("", ".", "..") and part[-1] in ". ":
            raise InvalidPath(rest, "a name may not end in a dot or a blank here")
        if part.split(".")[0].strip().lower() in _DEVICES:
            raise InvalidPath(rest, "a device name is not a file name")
