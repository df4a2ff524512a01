"""Two system calls that Python does not wrap, through ctypes: for machines without the C accelerator."""

from __future__ import annotations

import ctypes
import errno
import os

RACE_RETRIES = 64
"""openat2 fails with EAGAIN if something was renamed while it resolved `..`."""

_SYS_OPENAT2 = 437  # the same on every architecture but alpha
_RESOLVE_NO_XDEV = 0x01
_RESOLVE_NO_MAGICLINKS = 0x02
_RESOLVE_BENEATH = 0x08


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


_RESOLVE = _RESOLVE_BENEATH | _RESOLVE_NO_MAGICLINKS
_FOLLOW = _OpenHow(getattr(os, "O_PATH", 0) | getattr(os, "O_CLOEXEC", 0), 0, _RESOLVE)
_NOFOLLOW = _OpenHow(_FOLLOW.flags | getattr(os, "O_NOFOLLOW", 0), 0, _RESOLVE)
_ONE_MOUNT = _OpenHow(_FOLLOW.flags, 0, _RESOLVE | _RESOLVE_NO_XDEV)
_ONE_MOUNT_NOFOLLOW = _OpenHow(_NOFOLLOW.flags, 0, _RESOLVE | _RESOLVE_NO_XDEV)
_HOW_BYTES = ctypes.sizeof(_OpenHow)
_STATFS_BYTES = 256  # struct statfs has 120 bytes on 64-bit Linux; this is enough for any system
_libc = ctypes.CDLL(None, use_errno=True)
_syscall = _libc.syscall
_syscall.argtypes = (ctypes.c_long, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t)
_syscall.restype = ctypes.c_long
_fstatfs = getattr(_libc, "fstatfs", None)


def openat2(directory: int, path: bytes, follow: bool, one_mount: bool = False) -> int:
    """Return an O_PATH descriptor of what `path` leads to beneath an open directory; with `one_mount`, on its mount.

    Raises: OSError.
    """
    if one_mount:
        how = _ONE_MOUNT if follow else _ONE_MOUNT_NOFOLLOW
    else:
        how = _FOLLOW if follow else _NOFOLLOW
    for _ in range(RACE_RETRIES):
        fd: int = _syscall(_SYS_OPENAT2, directory, path, ctypes.byref(how), _HOW_BYTES)
        if fd >= 0:
            return fd
        number = ctypes.get_errno()
        if number not in (errno.EAGAIN, errno.EINTR):
            raise OSError(number, os.strerror(number))
    raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))


def filesystem_type(fd: int) -> int:
    """Return the type of a descriptor's file system, as in statfs(2), or 0 if the system has no such call.

    Raises: OSError.
    """
    if _fstatfs is None:
        return 0
    buffer = ctypes.create_string_buffer(_STATFS_BYTES)
    while _fstatfs(fd, buffer) != 0:
        number = ctypes.get_errno()
        if number != errno.EINTR:
            raise OSError(number, os.strerror(number))
    return ctypes.c_long.from_buffer(buffer).value & 0xFFFFFFFF
