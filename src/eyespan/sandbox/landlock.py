"""Landlock: rules of the Linux kernel about which files a process can open and which TCP ports it can reach.

A `Ruleset` refuses everything that this kernel's Landlock covers; rules give parts of it back. `restrict` applies to
the calling thread and what it starts afterwards, so call it while the process has one thread. It cannot be undone.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
from errno import ENOSYS
from typing import Any

from eyespan.sandbox.process import LINUX, libc

_syscall: Any = libc.syscall if LINUX else None  # before any fork: see `process`
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same numbers on every architecture
_PATH_BENEATH, _NET_PORT = 1, 2
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, REMOVE_FILE, MAKE_FILE = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 5, 1 << 8
_FILE_RIGHTS = EXECUTE | WRITE_FILE | READ_FILE
"""The rights that a rule about a file, as opposed to a directory, can give."""
CONNECT_TCP = 1 << 1
NETWORK_SINCE, SCOPES_SINCE = 4, 6
"""The versions of Landlock that added TCP (Linux 6.7), and signals and abstract sockets (Linux 6.12)."""


def version() -> int:
    """Return the version of this kernel's Landlock, or 0 if it has none or it is switched off."""
    abi: int = _syscall(_CREATE_RULESET, None, 0, 1) if LINUX else 0
    return max(0, abi)


class Ruleset:
    """A set of rules, refusing everything that no rule allows."""

    def __init__(self) -> None:
        """Raises: OSError, without Landlock."""
        self.version = version()
        files = (1 << 13) - 1
        files |= (self.version >= 2) << 13 | (self.version >= 3) << 14 | (self.version >= 5) << 15
        network, scoped = 3 * (self.version >= NETWORK_SINCE), 3 * (self.version >= SCOPES_SINCE)
        size = 8 if self.version < NETWORK_SINCE else 16 if self.version < SCOPES_SINCE else 24
        attributes = struct.pack("QQQ", files, network, scoped)[:size]
        self.fd: int = _syscall(_CREATE_RULESET, attributes, size, 0) if self.version else -1
        if self.fd < 0:
            raise OSError(ctypes.get_errno() or ENOSYS, os.strerror(ctypes.get_errno() or ENOSYS))
        os.set_inheritable(self.fd, False)

    def allow(self, fd: int, rights: int) -> None:
        """Allow `rights` on what a descriptor (O_PATH is enough) refers to; for a directory, on everything beneath it.

        Raises: OSError.
        """
        if not stat.S_ISDIR(os.fstat(fd).st_mode):
            rights &= _FILE_RIGHTS
        self._add(_PATH_BENEATH, struct.pack("=Qi", rights, fd))

    def allow_path(self, path: str, rights: int) -> bool:
        """Allow `rights` on the target of a path. Return False if it does not exist or cannot be reached."""
        try:
            fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            self.allow(fd, rights)
        finally:
            os.close(fd)
        return True

    def allow_port(self, port: int, rights: int) -> None:
        """Allow `rights` on a TCP port. Raises: OSError."""
        self._add(_NET_PORT, struct.pack("=QQ", rights, port))

    def _add(self, kind: int, rule: bytes) -> None:
        if _syscall(_ADD_RULE, self.fd, kind, rule, 0) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))

    def restrict(self) -> bool:
        """Apply the rules to the calling thread, for good. Requires `process.no_new_privileges`."""
        return bool(_syscall(_RESTRICT_SELF, self.fd, 0) == 0)

    def close(self) -> None:
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)
