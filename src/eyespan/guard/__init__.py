"""The only door to the file system: opens regular files beneath a root, or says why not.

What leaves this room is an open `Source`, never a checked name, so nothing can be swapped between the check and the
read. Promise, with the `openat2` and `walk` backends: no byte of a file outside the roots is returned, whatever links,
renames and races happen; nothing that is no regular file is ever opened (a pipe's open would wait, a device's would
act); no open blocks; file systems of kernel state (/proc, /sys) are refused. Not promised: hard links, bind mounts and
folders that the same user moves out of a root while they are open.
"""

from __future__ import annotations

import errno
import os
import stat

from eyespan.context import WouldBlock
from eyespan.errors import NotFound, NotRegular, OutsideRoot, PermissionRefused, ReadError, from_os_error
from eyespan.guard import openat, paths
from eyespan.guard.roots import Root
from eyespan.guard.source import BlockingFile, Found, LocalFile
from eyespan.source import close_fd

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from eyespan.context import CallContext
    from eyespan.guard.listing import Listing
    from eyespan.policy import Policy
    from eyespan.source import Status

    Find = Callable[..., Found | LocalFile]

BACKENDS = ("openat2", "openat2-by-ctypes", "walk", "walk-by-name", "portable")
"""From the strongest to the weakest; the first that works here is taken."""

NON_BLOCKING_BACKENDS = ("openat2", "openat2-by-ctypes")
"""Those that can be told to keep to one mount; the others find out what a thing is by touching it."""

_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_CLOEXEC", 0)
_chosen: str | None = None


def choose_backend() -> str:
    """The strongest backend of this machine, found once."""
    global _chosen
    if _chosen is None:
        if os.open not in os.supports_dir_fd or os.readlink not in os.supports_dir_fd:
            _chosen = "portable"
        elif not hasattr(os, "O_PATH"):
            _chosen = "walk-by-name"
        else:
            _chosen = "openat2" if openat.available() else "walk"
    return _chosen


class Guard:
    """Roots, the rules about names, and the backend that opens.

    With `never_blocks=True` nothing blocks: a path that may leave the root's mount, or whose mount may hang, raises
    `WouldBlock`. With a `context` the guard works for a call that can be given up; what it opens then stops reading.
    """

    __slots__ = ("_direct", "_find", "_never_blocks", "backend", "context", "policy", "roots")

    def __init__(
        self,
        roots: Sequence[Root],
        policy: Policy,
        backend: str = "auto",
        *,
        never_blocks: bool = False,
        context: CallContext | None = None,
    ) -> None:
        self.roots = tuple(roots)
        self.policy = policy
        self.backend = choose_backend() if backend == "auto" else backend
        self._find = _backend(self.backend)
        if self.backend in ("openat2", "walk"):
            openat.hold_handles()
        self._never_blocks = never_blocks
        self.context = context
        self._direct = self.backend == "openat2" and context is None
        """The backend may say that a file is to be read as it is, without being judged once more."""

    def non_blocking(self) -> Guard:
        """The same guard, but one that never waits for a file system."""
        return Guard(self.roots, self.policy, self.backend, never_blocks=True)

    def blocking(self, context: CallContext) -> Guard:
        """The same guard, for a call that may be given up while it waits."""
        return Guard(self.roots, self.policy, self.backend, context=context)

    def admit(self, path: str, *, lexical: bool = False) -> tuple[Root, str]:
        """Judges the name alone, before anything on disk is looked at: first the rules, then the roots.

        Raises: PolicyDenied, OutsideRoot, InvalidPath, SystemFailure.
        """
        try:
            root, rest = paths.locate(path, self.roots, lexical=lexical)
        except ReadError as error:
            if len(path) <= paths.MAX_PATH_BYTES:  # nothing has a longer name, and rules take time by its length
                self.policy.admit(path, path)
            error.path = path
            raise
        self.policy.admit(rest, path)
        return root, rest

    def open(self, path: str, *, lexical: bool = False, follow: bool = True) -> LocalFile:
        """Opens the regular file that `path` names, for reading by position.

        `follow=False` refuses a link as the last component; links before it are followed inside the roots either way.

        Raises: ReadError.
        """
        root, rest = self.admit(path, lexical=lexical)
        try:
            if self._never_blocks and not (root.plain and self.backend in NON_BLOCKING_BACKENDS):
                raise WouldBlock
            if self._direct:
                found = self._find(self.roots, root, rest, follow, self._never_blocks, path)
            elif self._never_blocks:
                found = self._find(self.roots, root, rest, follow, True)
            else:
                found = self._find(self.roots, root, rest, follow)
            if isinstance(found, LocalFile):
                return found
            try:
                return self._admit_found(found, path, rest)
            finally:
                if found.fd >= 0:
                    close_fd(found.fd)
        except OSError as error:
            failure = from_os_error(error, path)
            failure.relative = rest
            raise failure from None
        except ReadError as error:
            error.path, error.relative = path, rest
            raise

    def list_beneath(self, path: str) -> Listing:
        """The names in the folder `path`, those that a rule forbids left out.

        Raises: ReadError; NotRegular(what="file") if it is no folder.
        """
        if self._never_blocks:
            raise WouldBlock
        from eyespan.guard.listing import list_beneath

        return list_beneath(self, path)

    def _admit_found(self, found: Found, path: str, rest: str) -> LocalFile:
        """Judges the thing itself, then opens it for reading. Takes `found.fd` over when it is readable already."""
        if not stat.S_ISREG(found.mode):
            raise NotRegular(path, what=_what(found.mode))
        if found.pseudo or (found.pseudo is None and found.fd >= 0 and _is_pseudo(found)):
            raise PermissionRefused(path, errno.EPERM, "files of kernel state are not read")
        if found.canonical != rest:  # else it was judged by this name already
            self.policy.admit(found.canonical, path)
        if found.readable:
            status = found.status or os.fstat(found.fd)
            fd, found.fd = found.fd, -1
        else:
            fd, status = _reopen(found, path)
        if self.context is None:
            # The state that is told of a file is never newer than what is shown of it.
            first_bytes = found.first_bytes if status is found.status else None
            return LocalFile(fd, status, asked=path, path=rest, canonical=found.canonical, first_bytes=first_bytes)
        plain = found.root.plain and status.st_dev == found.root.device
        return BlockingFile(
            fd, status, asked=path, path=rest, canonical=found.canonical, context=self.context, copies=not plain
        )


def _is_pseudo(found: Found) -> bool:
    """Whether it belongs to a file system of kernel state. Raises: OSError."""
    root, status = found.root, found.status
    # While the root is held open, no other file system has its number.
    if root.plain and status is not None and status.st_dev == root.device:
        return False
    return is_pseudo(found.fd)


def _reopen(found: Found, path: str) -> tuple[int, Status]:
    """From a descriptor that only names a file to one that reads it: the same file, whatever its name is by now."""
    before = found.status or os.fstat(found.fd)
    fd = _open_handle(found)
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or (status.st_dev, status.st_ino) != (before.st_dev, before.st_ino):
            raise NotFound(path)  # what was found is no longer what can be opened
    except BaseException:
        close_fd(fd)
        raise
    return fd, status


def _open_handle(found: Found) -> int:
    """O_NONBLOCK: a lease or a pipe must not make an open wait."""
    if openat.handles >= 0:
        try:
            return os.open(str(found.fd), _READ, dir_fd=openat.handles)
        except OSError as error:
            # As in fast.c: somebody closed what is not theirs.
            if error.errno not in (errno.EBADF, errno.ENOTDIR, errno.ENOENT):
                raise
    try:
        return os.open(f"/proc/self/fd/{found.fd}", _READ)
    except FileNotFoundError:
        if os.path.isdir("/proc/self/fd"):
            raise
    # No /proc here: by name once more without following links; the caller compares what was opened.
    from eyespan.guard import walk

    folder, _, name = found.canonical.rpartition("/")
    again = walk.find((found.root,), found.root, folder, follow=False)
    try:
        return os.open(name, _READ | os.O_NOFOLLOW, dir_fd=again.fd)
    finally:
        close_fd(again.fd)


def _backend(name: str) -> Find:
    if name == "openat2":
        return openat.find
    if name == "openat2-by-ctypes":
        return openat.find_by_ctypes
    if name in ("walk", "walk-by-name"):
        from eyespan.guard import walk  # others seldom need it

        if name == "walk":
            return walk.find
        return lambda *where, **how: walk.find(*where, by_handle=False, **how)
    if name == "portable":
        from eyespan.guard import portable

        return portable.find
    raise ValueError(f"no guard backend {name!r}; there are {', '.join(BACKENDS)}")


def is_pseudo(fd: int) -> bool:
    """Whether a descriptor belongs to a file system of kernel state. Raises: OSError."""
    if not hasattr(os, "O_PATH"):
        return False
    from eyespan.guard import syscalls

    return syscalls.is_pseudo(fd)


def _what(mode: int) -> str:
    if stat.S_ISDIR(mode):
        return "directory"
    if stat.S_ISFIFO(mode):
        return "pipe"
    if stat.S_ISSOCK(mode):
        return "socket"
    if stat.S_ISLNK(mode):
        return "link"
    return "device"


__all__ = ["BACKENDS", "Guard", "LocalFile", "OutsideRoot", "Root", "choose_backend"]
