"""The walk: from a root's descriptor one component at a time, never following a link blindly.

Every step opens one name in one open directory without following it and looks at what was opened. Links are read and
their targets walked in turn; `..` goes back along the descriptors already held, so no rename can move it elsewhere. An
absolute target is taken up again from the root it lies in. Works on any Unix; also gives the canonical name for free.
"""

from __future__ import annotations

import errno
import os
import stat

from eyespan.errors import OutsideRoot
from eyespan.guard.paths import beneath
from eyespan.guard.source import Found
from eyespan.source import close_fd

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from eyespan.guard.roots import Root

MAX_LINKS = 40
"""What the Linux kernel follows before it says ELOOP."""
MAX_STEPS = 4096
RACE_RETRIES = 64

_O_PATH = getattr(os, "O_PATH", 0)
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_CLOEXEC", 0)
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_DIRECTORY = getattr(os, "O_DIRECTORY", 0)
_HANDLE = _O_PATH | _NOFOLLOW | getattr(os, "O_CLOEXEC", 0)
_FOLDER = _HANDLE | _DIRECTORY


def find(
    roots: Sequence[Root], root: Root, rest: str, follow: bool = True, *, by_handle: bool = bool(_O_PATH)
) -> Found:
    """Opens what `rest` names beneath `root`: a descriptor of the thing itself, of whatever type it is.

    `by_handle` looks at things through O_PATH descriptors (Linux); without it, by name in an open directory and then
    again after opening, for systems that lack O_PATH.

    Raises: OSError, OutsideRoot.
    """
    walker = _Walker(roots, root, follow, _look_by_handle if by_handle else _look_by_name)
    try:
        return walker.walk(rest)
    finally:
        walker.close()


class _Walker:
    __slots__ = ("_fds", "_follow", "_look", "_names", "_root", "_roots")

    def __init__(self, roots: Sequence[Root], root: Root, follow: bool, look: type[_Look]) -> None:
        self._roots = roots
        self._root = root
        self._follow = follow
        self._look = look
        self._fds: list[int] = []  # of the folders below the root, one for each of _names
        self._names: list[str] = []

    def close(self) -> None:
        for fd in self._fds:
            close_fd(fd)
        self._fds, self._names = [], []

    def walk(self, rest: str) -> Found:
        pending = rest.split("/")[::-1]
        links = steps = 0
        while pending:
            if len(pending) > 1 and self._look is _look_by_handle:
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
            seen = self._look(here, name)
            if seen.target is not None:
                if not pending and not self._follow:
                    seen.close()
                    return self._leaf(name, seen)
                links += 1
                if links > MAX_LINKS:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
                pending.extend(self._enter(seen.target).split("/")[::-1])
            elif stat.S_ISDIR(seen.status.st_mode):
                self._fds.append(seen.fd)
                self._names.append(name)
            elif pending:
                # A slash behind a file, if only at the end, says that it must be a folder.
                seen.close()
                raise OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
            else:
                return self._leaf(name, seen)
        here = self._fds[-1] if self._fds else self._root.fd
        mode = os.fstat(here).st_mode
        return Found(os.dup(here), self._root, "/".join(self._names) or ".", mode, False)

    def _descend(self, pending: list[str]) -> int:
        """Goes down through folders, as far as there are more names behind theirs and no link comes first; how far.

        A name before another must be that of a folder, or of a link to one. Opened as a folder it needs no look: the
        system says so if it is none. (As for a whole path, what is to be mounted there on first use then is.)
        """
        fds, names = self._fds, self._names
        here = fds[-1] if fds else self._root.fd
        before = len(pending)
        while len(pending) > 1 and (name := pending[-1]) not in ("", ".", ".."):
            try:
                here = os.open(name, _FOLDER, dir_fd=here)
            except OSError as error:
                if error.errno in (errno.ENOTDIR, errno.ELOOP):
                    break
                raise
            fds.append(here)
            names.append(name)
            pending.pop()
        return before - len(pending)

    def _leaf(self, name: str, seen: _Look) -> Found:
        canonical = "/".join([*self._names, name])
        return Found(seen.fd, self._root, canonical, seen.status.st_mode, seen.readable, status=seen.status)

    def _enter(self, target: str) -> str:
        """The rest to walk for a link's target; an absolute one starts again at the root it lies in."""
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


class _Look:
    """One name in one open directory: its status, and a descriptor or, for a link, its target."""

    __slots__ = ("fd", "readable", "status", "target")

    fd: int
    status: os.stat_result
    target: str | None
    readable: bool

    def __init__(self, here: int, name: str) -> None:
        raise NotImplementedError

    def close(self) -> None:
        fd, self.fd = self.fd, -1
        if fd >= 0:
            close_fd(fd)


class _look_by_handle(_Look):  # noqa: N801  (used as the function it is)
    __slots__ = ()

    def __init__(self, here: int, name: str) -> None:
        self.readable = False
        self.target = None
        self.fd = os.open(name, _HANDLE, dir_fd=here)
        try:
            self.status = os.fstat(self.fd)
            if stat.S_ISLNK(self.status.st_mode):
                # The descriptor is the link itself, so what is read is what was looked at.
                self.target = os.readlink("", dir_fd=self.fd)
                self.close()
        except BaseException:
            self.close()
            raise


class _look_by_name(_Look):  # noqa: N801  (as above)
    __slots__ = ()

    def __init__(self, here: int, name: str) -> None:
        self.fd = -1
        self.target = None
        self.readable = False
        for _ in range(RACE_RETRIES):
            before = os.stat(name, dir_fd=here, follow_symlinks=False)
            self.status = before
            try:
                if stat.S_ISLNK(before.st_mode):
                    self.target = os.readlink(name, dir_fd=here)
                    return
                if stat.S_ISDIR(before.st_mode):
                    self.fd = os.open(name, _READ | _DIRECTORY | _NOFOLLOW, dir_fd=here)
                elif stat.S_ISREG(before.st_mode):
                    self.fd = os.open(name, _READ | _NOFOLLOW, dir_fd=here)
                    self.readable = True
                else:
                    return  # pipes, sockets and devices are never opened
            except OSError as error:
                # Swapped between looking and opening: look again.
                if error.errno in (errno.EINVAL, errno.ENOTDIR, errno.ELOOP, errno.ENXIO, errno.EMLINK):
                    continue
                raise
            try:
                self.status = os.fstat(self.fd)
            except BaseException:
                self.close()
                raise
            if os.path.samestat(self.status, before):
                return
            self.close()
            self.readable = False
        raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))
