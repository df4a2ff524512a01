"""Two system calls that Python does not wrap, through ctypes: for machines on which the C accelerator was not built."""

from __future__ import annotations

import ctypes
import errno
import os

from eyespan.guard.openat import PSEUDO_TYPES, RACE_RETRIES

_SYS_OPENAT2 = 437  # the same on every architecture but alpha
_RESOLVE_NO_XDEV = 0x01
_RESOLVE_NO_MAGICLINKS = 0x02
_RESOLVE_BENEATH = 0x08


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


_RESOLVE = _RESOLVE_BENEATH | _RESOLVE_NO_MAGICLINKS
_FOLLOW = _OpenHow(getattr(os, "O_PATH", 0) | getattr(os, "O_CLOEXEC", 0), 0, _RESOLVE)
_NOFOLLOW = _OpenHow(_FOLLOW.flags | getattr(os, "O_NOFOLLOW", 0), 0, _RESOLVE)
_STAY = _OpenHow(_FOLLOW.flags, 0, _RESOLVE | _RESOLVE_NO_XDEV)
_STAY_NOFOLLOW = _OpenHow(_NOFOLLOW.flags, 0, _RESOLVE | _RESOLVE_NO_XDEV)
_HOW_BYTES = ctypes.sizeof(_OpenHow)
_STATFS_BYTES = 256  # struct statfs is 120 bytes on 64-bit Linux; room for any
_libc = ctypes.CDLL(None, use_errno=True)
_syscall = _libc.syscall
_syscall.argtypes = (ctypes.c_long, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t)
_syscall.restype = ctypes.c_long
_fstatfs = getattr(_libc, "fstatfs", None)


def openat2(folder: int, path: bytes, follow: bool, stay: bool = False) -> int:
    """A descriptor that names (O_PATH) what `path` leads to beneath an open folder; with `stay`, on the same mount.

    Raises: OSError.
    """
    if stay:
        how = _STAY if follow else _STAY_NOFOLLOW
    else:
        how = _FOLLOW if follow else _NOFOLLOW
    for _ in range(RACE_RETRIES):
        fd: int = _syscall(_SYS_OPENAT2, folder, path, ctypes.byref(how), _HOW_BYTES)
        if fd >= 0:
            return fd
        number = ctypes.get_errno()
        if number not in (errno.EAGAIN, errno.EINTR):
            raise OSError(number, os.strerror(number))
    raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))


def is_pseudo(fd: int) -> bool:
    """Whether a descriptor belongs to a file system of kernel state.

    Raises: OSError, if the system does not say: what is not known to be harmless is not opened.
    """
    return type_of(fd) in PSEUDO_TYPES


def type_of(fd: int) -> int:
    """The type of the file system that a descriptor belongs to, as statfs(2) has it; 0 where there is no such call.

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
