"""openat2(2): the kernel resolves the whole path beneath the root's descriptor, in one call and without a race.

Called by number through ctypes, since neither Python nor most C libraries wrap it. Where the kernel says EXDEV the walk
decides, because openat2 refuses every absolute link, also those whose target lies inside the root.
"""

from __future__ import annotations

import ctypes
import errno
import os

from eyespan.guard import walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from eyespan.guard.roots import Root

_SYS_OPENAT2 = 437  # the same on every architecture but alpha
_RESOLVE_NO_MAGICLINKS = 0x02
_RESOLVE_BENEATH = 0x08
RACE_RETRIES = 64  # EAGAIN: something was renamed while `..` was resolved


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


_RESOLVE = _RESOLVE_BENEATH | _RESOLVE_NO_MAGICLINKS
_FOLLOW = _OpenHow(getattr(os, "O_PATH", 0) | os.O_CLOEXEC, 0, _RESOLVE)
_NOFOLLOW = _OpenHow(_FOLLOW.flags | getattr(os, "O_NOFOLLOW", 0), 0, _RESOLVE)
_libc = ctypes.CDLL(None, use_errno=True)
_syscall = _libc.syscall
_syscall.argtypes = (ctypes.c_long, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t)
_syscall.restype = ctypes.c_long
_fstatfs = getattr(_libc, "fstatfs", None)
_SIZE = ctypes.sizeof(_OpenHow)


def available() -> bool:
    """Whether this kernel (and its seccomp filter) has openat2, and /proc to tell names with."""
    try:
        here = os.open("/", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        os.close(_openat2(here, b".", _FOLLOW))
        os.readlink(f"/proc/self/fd/{here}")
    except OSError:
        return False
    finally:
        os.close(here)
    return True


def find(roots: Sequence[Root], root: Root, rest: str, *, follow: bool = True) -> walk.Found:
    """As `walk.find`: opens what `rest` names beneath `root`, of whatever type.

    Raises: OSError, OutsideRoot.
    """
    try:
        fd = _openat2(root.fd, os.fsencode(rest) or b".", _FOLLOW if follow else _NOFOLLOW)
    except OSError as error:
        if error.errno == errno.EXDEV:
            return walk.find(roots, root, rest, follow=follow)
        raise
    try:
        status = os.fstat(fd)
        canonical = _canonical(fd, root)
    except BaseException as error:
        os.close(fd)
        if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
            # /proc tells no name longer than a page, counted from the top of the machine; the walk has it anyway.
            return walk.find(roots, root, rest, follow=follow)
        raise
    if canonical.endswith(" (deleted)"):
        # Either its name, or what /proc says of a name that is gone: the walk knows which.
        os.close(fd)
        return walk.find(roots, root, rest, follow=follow)
    return walk.Found(fd, root, canonical, status, False)


def _openat2(folder: int, path: bytes, how: _OpenHow) -> int:
    for _ in range(RACE_RETRIES):
        fd: int = _syscall(_SYS_OPENAT2, folder, path, ctypes.byref(how), _SIZE)
        if fd >= 0:
            return fd
        number = ctypes.get_errno()
        if number not in (errno.EAGAIN, errno.EINTR):
            raise OSError(number, os.strerror(number))
    raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))


def _canonical(fd: int, root: Root) -> str:
    """The name of what was opened, relative to the root, links resolved.

    Raises: OSError (EXDEV when it was moved out of the root since, ENOENT when it has no name any more).
    """
    name = os.readlink(f"/proc/self/fd/{fd}")
    for canonical in (root.canonical, None):
        # The root itself may have been renamed since it was opened: then ask for its name again.
        base = canonical if canonical is not None else os.readlink(f"/proc/self/fd/{root.fd}")
        if base == "/":
            return name[1:] or "."
        if name.startswith(base) and name[len(base) : len(base) + 1] == "/":
            return name[len(base) + 1 :]
        if name == base:
            return "."
    number = errno.ENOENT if os.fstat(fd).st_nlink == 0 else errno.EXDEV
    raise OSError(number, os.strerror(number))


# Types of statfs(2) that hold no files but kernel state; reading some of them blocks, changes things or tells secrets.
PSEUDO_TYPES = frozenset(
    {
        0x9FA0,  # proc
        0x62656572,  # sysfs
        0x64626720,  # debugfs
        0x74726163,  # tracefs
        0x27E0EB,  # cgroup
        0x63677270,  # cgroup2
        0xCAFE4A11,  # bpf
        0x73636673,  # securityfs
        0xF97CFF8C,  # selinuxfs
        0x43415D53,  # smackfs
        0x6165676C,  # pstore
        0xDE5E81E4,  # efivarfs
        0x62656570,  # configfs
        0x1CD1,  # devpts
        0x19800202,  # mqueue
        0x42494E4D,  # binfmt_misc
        0x67596969,  # rpc_pipefs
        0x6E736673,  # nsfs
        0x50495045,  # pipefs
        0x534F434B,  # sockfs
        0x09041934,  # anon_inode
        0x65735543,  # fusectl
    }
)
_STATFS_BYTES = 256  # struct statfs is 120 bytes on 64-bit Linux; room for any


def is_pseudo(fd: int) -> bool:
    """Whether a descriptor belongs to a file system of kernel state.

    Raises: OSError, if the system does not say: what is not known to be harmless is not opened.
    """
    if _fstatfs is None:
        return False
    buffer = ctypes.create_string_buffer(_STATFS_BYTES)
    while _fstatfs(fd, buffer) != 0:
        number = ctypes.get_errno()
        if number != errno.EINTR:
            raise OSError(number, os.strerror(number))
    return ctypes.c_long.from_buffer(buffer).value & 0xFFFFFFFF in PSEUDO_TYPES
