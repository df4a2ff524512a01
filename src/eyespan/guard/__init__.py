"""Open regular files beneath a root. Nothing else in eyespan opens a file of the workspace.

The result is an open `Source`, never a checked name, so nothing can be replaced between the check and the read.
Promise, with the `openat2` and `walk` backends: no byte of a file outside the roots is returned, whatever links,
renames and races happen; only regular files are opened (opening a pipe could block, opening a device could have an
effect); no open blocks; file systems of kernel state (/proc, /sys) are refused. Not promised: hard links, bind mounts,
and directories that the same user moves out of a root while they are open.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Generator, Sequence
from functools import cache
from typing import TypeVar

from eyespan.context import CallContext, WouldBlock
from eyespan.errors import (
    Closed,
    NotFound,
    NotRegular,
    OutsideRoot,
    PermissionRefused,
    PolicyDenied,
    ReadError,
    from_os_error,
)
from eyespan.guard import listing, openat, paths, tree, walk
from eyespan.guard.filesystems import is_pseudo
from eyespan.guard.guarded_file import BackendResult, BlockingFile, LocalFile
from eyespan.guard.listing import Listing
from eyespan.guard.roots import RemoteRoot, Root
from eyespan.guard.tree import Accepts, Choose, Found, Survey, Take
from eyespan.policy import Policy
from eyespan.source import FullStatus, Source, Status, close_fd

T = TypeVar("T")

BACKENDS = ("openat2", "walk", "walk-by-name", "portable")
"""From the strongest to the weakest; the first that works is used."""

_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_CLOEXEC", 0)


@cache
def choose_backend() -> str:
    """Return the strongest backend of this machine."""
    if os.open not in os.supports_dir_fd or os.readlink not in os.supports_dir_fd:
        return "portable"
    if not hasattr(os, "O_PATH"):
        return "walk-by-name"
    return "openat2" if openat.available() else "walk"


class Guard:
    """Opens files beneath its roots, subject to a policy.

    With `never_blocks=True` nothing blocks: a path that may leave the root's mount, or whose mount may hang, raises
    `WouldBlock`. With a `context` the guard works for a call that may be abandoned; its files then stop reading.
    """

    def __init__(
        self,
        roots: Sequence[Root],
        policy: Policy,
        backend: str = "auto",
        *,
        never_blocks: bool = False,
        context: CallContext | None = None,
        ignore: bool = True,
    ) -> None:
        self.roots = roots if isinstance(roots, paths.Roots) else paths.Roots(roots)
        self.local_roots = self.roots.local
        self.policy = policy
        self.backend = choose_backend() if backend == "auto" else backend
        if self.backend not in BACKENDS:
            raise ValueError(f"no guard backend {backend!r}; there are {', '.join(BACKENDS)}")
        self._never_blocks = never_blocks
        self.context = context
        self.ignore = ignore
        """Walks leave out what ignore files name."""

    def non_blocking(self) -> Guard:
        """Return a guard with the same roots and rules that never blocks."""
        return Guard(self.roots, self.policy, self.backend, never_blocks=True)

    def blocking(self, context: CallContext) -> Guard:
        """Return a guard with the same roots and rules for a call that may be abandoned while it blocks."""
        return Guard(self.roots, self.policy, self.backend, context=context, ignore=self.ignore)

    def without_rules(self) -> Guard:
        """Return a guard with the same roots and no rules, for files whose contents no answer shows."""
        policy = Policy(built_in=False)
        return Guard(self.roots, policy, self.backend, never_blocks=self._never_blocks, context=self.context)

    def admit(self, path: str, *, lexical: bool = False) -> tuple[Root, str]:
        """Check a name before anything on disk is accessed: first the rules, then the roots.

        Raises: PolicyDenied, OutsideRoot, InvalidPath, SystemFailure, Closed.
        """
        try:
            root, rest = paths.locate(path, self.roots, lexical=lexical)
        except ReadError as error:
            if len(path) <= paths.MAX_PATH_BYTES:  # no file has a longer name, and rules take time by its length
                self.policy.admit(path, path)
            error.path = path
            raise
        if root.is_closed:
            raise Closed(path)
        rule = self.policy.rule_against(rest, root.canonical)
        if rule is not None:
            raise PolicyDenied(path, rule=rule)
        return root, rest

    def open(self, path: str, *, lexical: bool = False, follow: bool = True) -> Source:
        """Open the regular file that `path` names, for reading by position.

        `follow=False` refuses a link as the last component. Links before it are followed inside the roots either way.

        Raises: ReadError, WouldBlock.
        """
        root, rest = self.admit(path, lexical=lexical)
        try:
            # Only the kernel can be restricted to one mount; a walk has to touch a file to find out where it is.
            if self._never_blocks and not (root.never_hangs and self.backend == "openat2"):
                raise WouldBlock
            if root.is_remote:
                remote = self._open_remote(root, rest, path)
                remote.path = remote.canonical = self.address(root, remote.path)
                return remote
            if self.backend == "openat2":
                found = openat.find(self.local_roots, root, rest, follow, self._never_blocks)
            else:
                found = tree.find(self, root, rest, follow)
            try:
                source = self._open_found(found, path, rest)
            finally:
                close_fd(found.fd)
        except (OSError, ReadError) as error:
            raise _with_paths(error, path, self.address(root, rest)) from None
        if len(self.roots) > 1:
            source.path = self.address(root, rest)
            source.canonical = self.address(found.root, source.canonical)
        return source

    def _open_remote(self, root: Root, rest: str, path: str) -> Source:
        return self._remote(root, rest, path).open(rest, path, self.context or CallContext())

    def _remote(self, root: Root, rest: str, path: str) -> RemoteRoot:
        """Return a remote root, once the rules have admitted the keys of `rest`. Raises: ReadError, OSError."""
        assert isinstance(root, RemoteRoot)
        for key in root.keys_of(rest, path):
            if key != rest:
                self.policy.admit(key or ".", path, root.canonical)
        return root

    def address(self, root: Root, rest: str) -> str:
        """Return the path that leads to `rest` of a root: relative to the first root, absolute below any other."""
        return rest if root is self.roots[0] else os.path.join(root.path, rest)

    def list_beneath(self, path: str, *, hides_ignored: bool = False) -> Listing:
        """List the names in the directory `path`, without those that a rule forbids or ignore files leave out.

        Raises: ReadError; NotRegular(what="file") if it is not a directory.
        """

        def act(root: Root, rest: str) -> Listing:
            if root.is_remote:
                return self._remote(root, rest, path).list(rest, path, self.policy, self.context or CallContext())
            return listing.list_directory(self, root, rest, path, hides_ignored=hides_ignored and self.ignore)

        return self._beneath(path, act)

    def files_beneath(self, path: str, after: str = "") -> Generator[Found, None, None]:
        """Yield the files below the directory `path` that follow `after`, relative to it, in the order of paths.

        What is no file has an error (`guard.tree.files_below`). Raises: ReadError, also while they are taken.
        """
        if self._never_blocks:
            raise WouldBlock
        root, rest = self.admit(path)
        try:
            if root.is_remote:
                yield from self._remote(root, rest, path).files(rest, path, self.policy, after)
            else:
                yield from tree.files_below(self, root, rest, path, after)
        except (OSError, ReadError) as error:
            raise _with_paths(error, path, self.address(root, rest)) from None

    def describe_beneath(self, path: str) -> FullStatus:
        """Return the status of a file or directory. Raises: ReadError."""

        def act(root: Root, rest: str) -> FullStatus:
            if root.is_remote:
                return self._remote(root, rest, path).describe(rest, path, self.context or CallContext())
            return listing.describe(self, root, rest, path)

        return self._beneath(path, act)

    def explore_beneath(self, path: str, choose: Choose, take: Take, max_bytes: int, accepts: Accepts = None) -> Survey:
        """Return the files below the directory `path`, and pass the first bytes of chosen ones to `take`.

        Raises: ReadError; NotRegular(what="file") if it is not a directory.
        """

        def act(root: Root, rest: str) -> Survey:
            if root.is_remote:
                remote, context = self._remote(root, rest, path), self.context or CallContext()
                return remote.explore(rest, path, self.policy, choose, take, max_bytes, context, accepts)
            return tree.explore(self, root, rest, path, choose, take, max_bytes, accepts)

        return self._beneath(path, act)

    def _beneath(self, path: str, act: Callable[[Root, str], T]) -> T:
        """Do something with what a path names beneath a root. It may block. Raises: ReadError, WouldBlock."""
        if self._never_blocks:
            raise WouldBlock
        root, rest = self.admit(path)
        try:
            return act(root, rest)
        except (OSError, ReadError) as error:
            raise _with_paths(error, path, self.address(root, rest)) from None

    def _open_found(self, found: BackendResult, path: str, rest: str) -> LocalFile:
        """Check the file itself, then open it for reading. Takes over `found.fd` if it can be read from."""
        if not stat.S_ISREG(found.mode):
            raise NotRegular(path, what=_type_name(found.mode))
        if found.pseudo or (found.pseudo is None and found.fd >= 0 and _belongs_to_kernel(found)):
            raise PermissionRefused(path, errno.EPERM, "files of kernel state are not read")
        if found.canonical != rest:  # else the rules have admitted this name already
            self.policy.admit(found.canonical, path, found.root.canonical)
        if found.readable:
            status = found.status or os.fstat(found.fd)
            fd, found.fd = found.fd, -1
        else:
            fd, status = _reopen(found, path)
        if self.context is None:
            # The reported status must not be newer than the contents, so contents are kept only with their own status.
            first_bytes = found.first_bytes if status is found.status else None
            return LocalFile(fd, status, asked=path, path=rest, canonical=found.canonical, first_bytes=first_bytes)
        is_local = found.root.never_hangs and status.st_dev == found.root.device
        return BlockingFile(
            fd, status, asked=path, path=rest, canonical=found.canonical, context=self.context, copies=not is_local
        )


def _with_paths(error: OSError | ReadError, path: str, rest: str) -> ReadError:
    """Return the error of a read, with the path as the caller wrote it and the path that leads to the file."""
    failure = from_os_error(error, path) if isinstance(error, OSError) else error
    failure.path, failure.relative = path, rest
    return failure


def _belongs_to_kernel(found: BackendResult) -> bool:
    """Return True if a file belongs to a file system of kernel state. Raises: OSError."""
    root, status = found.root, found.status
    # While the root is open, no other file system has its device number.
    if root.never_hangs and status is not None and status.st_dev == root.device:
        return False
    return is_pseudo(found.fd)


def _reopen(found: BackendResult, path: str) -> tuple[int, Status]:
    """Open for reading what an O_PATH descriptor refers to: the same file, whatever its present name."""
    before = found.status or os.fstat(found.fd)
    fd = _open_handle(found)
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or (status.st_dev, status.st_ino) != (before.st_dev, before.st_ino):
            raise NotFound(path)  # replaced since it was found
    except BaseException:
        close_fd(fd)
        raise
    return fd, status


def _open_handle(found: BackendResult) -> int:
    """Return a descriptor for reading. O_NONBLOCK: a lease or a pipe must not block the open."""
    try:
        return os.open(f"/proc/self/fd/{found.fd}", _READ)
    except FileNotFoundError:
        if os.path.isdir("/proc/self/fd"):
            raise
    # No /proc: open by name without following links; the caller compares the result with what was found.
    directory, _, name = found.canonical.rpartition("/")
    parent = walk.find((found.root,), found.root, directory, follow=False)
    try:
        return os.open(name, _READ | os.O_NOFOLLOW, dir_fd=parent.fd)
    finally:
        close_fd(parent.fd)


def _type_name(mode: int) -> str:
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
