"""openat2(2): the kernel resolves the whole path beneath the root's descriptor, in one call and without a race.

The C accelerator calls it, and also checks the file that was found and opens it for reading; `walk` is its twin in
Python. If the kernel fails with EXDEV, `walk` decides: openat2 refuses every absolute link, even one whose target is
inside the root.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from eyespan import _native
from eyespan.context import WouldBlock
from eyespan.guard.filesystems import LOCAL_TYPES, PSEUDO_TYPES, filesystem_type
from eyespan.guard.guarded_file import BackendResult, LocalFile
from eyespan.source import close_fd

if TYPE_CHECKING:
    from eyespan.guard.roots import Root


_PSEUDO_TYPES = b"".join([number.to_bytes(4, sys.byteorder) for number in PSEUDO_TYPES])
"""In the form that the accelerator takes. The `array` module would do the same, but takes 2 ms to import."""

PROC = "/proc/self/fd"

_UNDECIDED = (errno.EXDEV, errno.EAGAIN, errno.ELOOP)
"""The errors after which `walk` decides. EAGAIN: directories are renamed all the time somewhere, which does not affect
the walk. ELOOP: before the kernel reports that a path leads out, it tries once more and counts its links twice, so some
twenty links can be too many."""


def available() -> bool:
    """Return True if the accelerator is built, this kernel and its seccomp filter allow openat2, and there is /proc."""
    if _native.open_beneath is None or not os.path.isdir(PROC):
        return False
    try:
        here = os.open("/", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        close_fd(_native.open_beneath(here, b".", True, _PSEUDO_TYPES, True, 0, -1).fd)
    except OSError:
        return False
    finally:
        close_fd(here)
    return True


def never_hangs(fd: int) -> bool:
    """Return True if a directory belongs to a local file system. The call may block on one that is not."""
    try:
        return filesystem_type(fd) in LOCAL_TYPES
    except OSError:
        return False


def open_local_directory(path: str) -> tuple[int, str] | None:
    """Open a directory by its normal absolute path without touching a mount that may hang.

    Return its descriptor and real path, or None if that fails for any reason; the caller then tries in a thread.
    """
    if _native.open_beneath is None:
        return None
    from eyespan.guard.mounts import local_mount_point

    point = local_mount_point(path)
    if point is None:
        return None
    rest = path[len(point) :].strip("/")
    fd = -1
    try:
        # Every mount on the way to this one is local, and a mount point's own path leads through no link.
        base = os.open(point, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            raw = os.fsencode(rest) or b"."
            found = _native.open_beneath(base, raw, True, b"", True, 0, -1)
            fd = found.fd
        finally:
            close_fd(base)
        real = path if found.name is None else os.fsdecode(found.name)
        if fd >= 0 and stat.S_ISDIR(found.st_mode) and found.type in LOCAL_TYPES and not real.endswith(" (deleted)"):
            return fd, real
    except OSError:
        return None
    close_fd(fd)
    return None


def find(roots: Sequence[Root], root: Root, rest: str, follow: bool = True, one_mount: bool = False) -> BackendResult:
    """Find what `rest` names beneath `root`, like `walk.find`; open a regular file for reading if no link led to it.

    `one_mount` finds only what is on the mount of the root itself and touches no other.

    Raises: OSError, OutsideRoot; with `one_mount` also WouldBlock, if the kernel alone cannot decide.
    """
    assert _native.open_beneath is not None
    try:
        raw = rest if rest.isascii() else os.fsencode(rest)
        device = root.device if root.never_hangs else -1
        opened = _native.open_beneath(
            root.fd, raw or ".", follow, _PSEUDO_TYPES, one_mount, LocalFile.max_first_bytes, device
        )
    except OSError as error:
        # ENAMETOOLONG: /proc gives no name longer than a page, counted from the top of the machine.
        if error.errno in (*_UNDECIDED, errno.ENAMETOOLONG):
            return _walk(roots, root, rest, follow, one_mount)
        raise
    try:
        canonical = _canonical_path(rest) if opened.name is None else _path_below(root, os.fsdecode(opened.name))
    except BaseException:
        close_fd(opened.fd)
        raise
    if canonical is None:
        close_fd(opened.fd)
        return _walk(roots, root, rest, follow, one_mount)
    return BackendResult(
        opened.fd,
        root,
        canonical,
        mode=opened.st_mode,
        readable=opened.readable,
        pseudo=opened.pseudo,
        first_bytes=opened.head,
        status=opened if opened.readable else None,
    )


def _walk(roots: Sequence[Root], root: Root, rest: str, follow: bool, one_mount: bool) -> BackendResult:
    if one_mount:
        raise WouldBlock  # the walk touches everything on its way, on any mount
    from eyespan.guard import walk

    return walk.find(roots, root, rest, follow=follow)


def _canonical_path(rest: str) -> str | None:
    """Return the canonical form of a path without links, or None if it contains `..` and the walk must resolve it."""
    if "/." not in rest and "//" not in rest and rest[:1] not in ("", ".") and rest[-1] != "/":
        return rest
    parts = [part for part in rest.split("/") if part not in ("", ".")]
    return None if ".." in parts else "/".join(parts) or "."


def _path_below(root: Root, name: str) -> str | None:
    """Return the path below the root for a name from /proc, or None if the walk must find it.

    Raises: OSError (EXDEV if the file was moved out of the root).
    """
    if name.endswith(" (deleted)"):
        return None  # the file's own name, or added by /proc to the name of a deleted file: the walk finds out
    base = root.canonical
    for _ in range(2):
        if base == "/":
            return name[1:] or "."
        if name.startswith(base) and (len(name) == len(base) or name[len(base)] == "/"):
            return name[len(base) + 1 :] or "."
        # The root itself may have been renamed after it was opened: look its name up again.
        base = os.readlink(f"/proc/self/fd/{root.fd}")
    raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
