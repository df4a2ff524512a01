"""The walk: resolve a path from a root's descriptor one component at a time, without following links blindly.

Each step opens one name in one open directory without following it, and checks what was opened. Links are read and
their targets walked in turn; `..` returns to a descriptor that is already held, so no rename can redirect it. An
absolute target continues from the root that contains it. Works on every Unix, and yields the canonical path.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eyespan.errors import OutsideRoot
from eyespan.guard.guarded_file import BackendResult
from eyespan.guard.paths import beneath
from eyespan.source import close_fd

if TYPE_CHECKING:
    from eyespan.guard.roots import Root


MAX_LINKS = 40
"""The number of links that the Linux kernel follows before it fails with ELOOP."""
MAX_STEPS = 4096

_O_PATH = getattr(os, "O_PATH", 0)
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_CLOEXEC", 0)
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_DIRECTORY = getattr(os, "O_DIRECTORY", 0)
_HANDLE = _O_PATH | _NOFOLLOW | getattr(os, "O_CLOEXEC", 0)
_DIRECTORY_HANDLE = _HANDLE | _DIRECTORY


def find(
    roots: Sequence[Root], root: Root, rest: str, follow: bool = True, *, by_handle: bool = bool(_O_PATH)
) -> BackendResult:
    """Return a descriptor of what `rest` names beneath `root`, of whatever type it is.

    `by_handle` checks files through O_PATH descriptors (Linux). Without it, for systems that lack O_PATH, they are
    checked by name in an open directory and again after opening.

    Raises: OSError, OutsideRoot.
    """
    walker = _Walker(roots, root, follow, _open_by_handle if by_handle else _open_by_name)
    try:
        return walker.walk(rest)
    finally:
        walker.close()


class _Walker:
    """The state of one walk: the present root and the open directories below it."""

    __slots__ = ("_fds", "_follow", "_names", "_open_component", "_root", "_roots")

    def __init__(
        self, roots: Sequence[Root], root: Root, follow: bool, open_component: Callable[[int, str], _Component]
    ) -> None:
        self._roots = roots
        self._root = root
        self._follow = follow
        self._open_component = open_component
        self._fds: list[int] = []  # of the directories below the root, one for each of _names
        self._names: list[str] = []

    def close(self) -> None:
        for fd in self._fds:
            close_fd(fd)
        self._fds, self._names = [], []

    def walk(self, rest: str) -> BackendResult:
        pending = rest.split("/")[::-1]
        links = steps = 0
        while pending:
            if len(pending) > 1 and self._open_component is _open_by_handle:
                steps += self._descend(pending)
            name = pending.pop()
            steps += 1
            if steps > MAX_STEPS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
            if name in ("", "."):
                continue
            if name == "..":
                if not self._fds:
                    raise OutsideRoot("")
                close_fd(self._fds.pop())
                self._names.pop()
                continue
            here = self._fds[-1] if self._fds else self._root.fd
            component = self._open_component(here, name)
            if component.target is not None:
                if not pending and not self._follow:
                    component.close()
                    return self._found(name, component)
                links += 1
                if links > MAX_LINKS:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
                pending.extend(self._follow_link(component.target).split("/")[::-1])
            elif stat.S_ISDIR(component.status.st_mode):
                self._fds.append(component.fd)
                self._names.append(name)
            elif pending:
                # A slash after a name, even as the last character, requires a directory.
                component.close()
                raise OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
            else:
                return self._found(name, component)
        here = self._fds[-1] if self._fds else self._root.fd
        mode = os.fstat(here).st_mode
        return BackendResult(os.dup(here), self._root, "/".join(self._names) or ".", mode=mode, readable=False)

    def _descend(self, pending: list[str]) -> int:
        """Open directories up to the last name or the first link. Return the number of names consumed.

        A name before another one must be a directory, or a link to one. Opened as a directory it needs no check: the
        system fails if it is not one. (As with a whole path, a directory that is mounted on first use is mounted.)
        """
        fds, names = self._fds, self._names
        here = fds[-1] if fds else self._root.fd
        before = len(pending)
        while len(pending) > 1 and (name := pending[-1]) not in ("", ".", ".."):
            try:
                here = os.open(name, _DIRECTORY_HANDLE, dir_fd=here)
            except OSError as error:
                if error.errno in (errno.ENOTDIR, errno.ELOOP):
                    break
                raise
            fds.append(here)
            names.append(name)
            pending.pop()
        return before - len(pending)

    def _found(self, name: str, component: _Component) -> BackendResult:
        return BackendResult(
            component.fd,
            self._root,
            "/".join([*self._names, name]),
            mode=component.status.st_mode,
            readable=component.readable,
            status=component.status,
        )

    def _follow_link(self, target: str) -> str:
        """Return the path to continue with. An absolute target starts again at the root that contains it."""
        if not target:
            raise OSError(errno.ENOENT, os.strerror(errno.ENOENT))
        if not target.startswith("/"):
            return target
        found = beneath(target, self._roots)
        if found is None:
            raise OutsideRoot("")
        self.close()
        self._root, rest = found
        return rest


@dataclass(slots=True)
class _Component:
    """One name in one open directory: its status, and a descriptor or, for a link, its target."""

    fd: int
    status: os.stat_result
    target: str | None = None
    readable: bool = False

    def close(self) -> None:
        fd, self.fd = self.fd, -1
        close_fd(fd)


def _open_by_handle(here: int, name: str) -> _Component:
    """Open a name with O_PATH. Raises: OSError."""
    fd = os.open(name, _HANDLE, dir_fd=here)
    try:
        status = os.fstat(fd)
        # The descriptor is the link itself, so the target read is that of the link checked.
        target = os.readlink("", dir_fd=fd) if stat.S_ISLNK(status.st_mode) else None
    except BaseException:
        close_fd(fd)
        raise
    if target is not None:
        close_fd(fd)
        return _Component(-1, status, target=target)
    return _Component(fd, status)


def _open_by_name(here: int, name: str) -> _Component:
    """Check a name, open it, and compare the two. Raises: OSError (EAGAIN if it changes each time)."""
    for _ in range(64):
        before = os.stat(name, dir_fd=here, follow_symlinks=False)
        is_file = stat.S_ISREG(before.st_mode)
        try:
            if stat.S_ISLNK(before.st_mode):
                return _Component(-1, before, target=os.readlink(name, dir_fd=here))
            if not is_file and not stat.S_ISDIR(before.st_mode):
                return _Component(-1, before)  # pipes, sockets and devices are never opened
            fd = os.open(name, _READ | _NOFOLLOW | (0 if is_file else _DIRECTORY), dir_fd=here)
        except OSError as error:
            # Replaced between the check and the open: check again.
            if error.errno in (errno.EINVAL, errno.ENOTDIR, errno.ELOOP, errno.ENXIO, errno.EMLINK):
                continue
            raise
        try:
            status = os.fstat(fd)
        except BaseException:
            close_fd(fd)
            raise
        if os.path.samestat(status, before):
            return _Component(fd, status, readable=is_file)
        close_fd(fd)
    raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))
