"""The weaker backend for systems without directory descriptors (Windows): check, open, then check what was opened.

The operating system resolves the names, so a link that is swapped in and back within one call may go unnoticed. The
opened file is compared with what the checked name leads to before a byte is read, so a single swap is noticed.
`eyespan doctor` reports if this backend is in use.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Sequence

from eyespan.errors import InvalidPath, OutsideRoot
from eyespan.guard.guarded_file import BackendResult
from eyespan.guard.paths import beneath
from eyespan.guard.roots import Root
from eyespan.source import close_fd

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


def find(roots: Sequence[Root], root: Root, rest: str, follow: bool = True) -> BackendResult:
    """Find what `rest` names beneath `root`, like `walk.find`, by names.

    Raises: OSError, OutsideRoot, InvalidPath.
    """
    if os.name == "nt":
        _check_windows(rest)
    asked = os.path.join(root.canonical, rest) if rest else root.canonical
    directory, _, name = asked.rpartition("/")
    if not follow and name not in ("", ".", ".."):
        # A slash after a link follows it, as everywhere. The directory is checked first, so that one outside the roots
        # reveals nothing.
        directory, real_root, below = _resolve(directory or "/", roots)
        status = os.lstat(os.path.join(directory, name))
        if stat.S_ISLNK(status.st_mode):
            canonical = name if below == "." else f"{below}/{name}"
            return BackendResult(-1, real_root, canonical, mode=status.st_mode, readable=False)
    real, real_root, below = _resolve(asked, roots)
    before = os.stat(real)
    if rest.endswith(("/", "/.")) and not stat.S_ISDIR(before.st_mode):
        raise OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    if not stat.S_ISREG(before.st_mode):
        return BackendResult(-1, real_root, below, mode=before.st_mode, readable=False)
    fd = os.open(real, _FLAGS)
    try:
        status = os.fstat(fd)
        again, _, _ = _resolve(asked, roots)
        if again != real or not os.path.samestat(status, os.stat(again)):
            raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))
    except BaseException:
        close_fd(fd)
        raise
    return BackendResult(fd, real_root, below, mode=status.st_mode, readable=True)


def _resolve(asked: str, roots: Sequence[Root]) -> tuple[str, Root, str]:
    """Return the real path, its root and the path below that root. Raises: OSError, OutsideRoot.

    A path that does not exist is judged by its deepest existing directory, so that nothing outside is revealed.
    """
    failure: OSError | None = None
    try:
        real = os.path.realpath(asked, strict=True)
    except OSError as error:
        # realpath takes an unreadable link for a name. The result is only compared with the roots, never opened.
        real, failure = os.path.realpath(asked), error
    found = beneath(real.replace(os.sep, "/"), roots)
    if found is None:
        raise OutsideRoot("")
    os.stat(asked)  # raises the system's own error for missing files, loops and files used as directories
    if failure is not None:
        raise failure
    return real, found[0], found[1] or "."


def _check_windows(rest: str) -> None:
    """Refuse names with a special meaning on Windows: streams, devices, trailing dots and blanks."""
    for part in rest.replace("\\", "/").split("/"):
        if ":" in part:
            raise InvalidPath(rest, "a colon is not part of a file name here")
        if part not in ("", ".", "..") and part[-1] in ". ":
            raise InvalidPath(rest, "a name may not end in a dot or a blank here")
        if part.split(".")[0].strip().lower() in _DEVICES:
            raise InvalidPath(rest, "a device name is not a file name")
