"""openat2(2): the kernel resolves the whole path beneath the root's descriptor, in one call and without a race.

Done by the C accelerator, which also looks at what was found and opens it for reading, or by ctypes where that was not
built. Where the kernel says EXDEV the walk decides, because openat2 refuses every absolute link, also those whose
target lies inside the root.
"""

from __future__ import annotations

import errno
import os
import stat
import sys

from eyespan import _native
from eyespan.context import WouldBlock
from eyespan.guard.source import Found, LocalFile
from eyespan.source import close_fd

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from eyespan.guard.roots import Root

RACE_RETRIES = 64
"""EAGAIN: something was renamed while `..` was resolved."""

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
# Types of file systems that answer as long as the machine itself does. Whatever is not on this list (NFS, CIFS, FUSE,
# 9p, virtiofs, autofs, ...) may never answer, and is met in a thread that can be left behind: see patience.py.
PLAIN_TYPES = frozenset(
    {
        0xEF53,  # ext2, ext3, ext4
        0x58465342,  # xfs
        0x9123683E,  # btrfs
        0xCA451A4E,  # bcachefs
        0xF2F52010,  # f2fs
        0x2FC12FC1,  # zfs
        0x01021994,  # tmpfs
        0x858458F6,  # ramfs
        0x794C7630,  # overlay
        0x73717368,  # squashfs
        0xE0F5E1E2,  # erofs
        0x9660,  # iso9660
        0x15013346,  # udf
        0x4D44,  # vfat
        0x2011BAB0,  # exfat
        0x7366746E,  # ntfs3
        0x3153464A,  # jfs
        0x3434,  # nilfs2
        0x52654973,  # reiserfs
        0x482B,  # hfsplus
    }
)
_TYPES = b"".join([number.to_bytes(4, sys.byteorder) for number in PSEUDO_TYPES])
"""As the accelerator takes them; the `array` module would do this too, and costs 2 ms to import."""


handles = -1
"""/proc/self/fd, held open: opening there what a descriptor names takes a tenth less than by the whole name. -1: not
held. A forked process must not look into its parent's, so it gets its own."""


def hold_handles() -> None:
    """Holds `handles` from now on, if it can be had."""
    global handles
    if handles >= 0:
        return
    try:
        fd = os.open("/proc/self/fd", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return  # no /proc here, or no descriptor left: by the whole name then
    if handles < 0:
        handles = fd
    else:
        close_fd(fd)  # another thread was faster


def _hold_own_handles() -> None:
    global handles
    parents, handles = handles, -1
    if parents >= 0:
        close_fd(parents)
        hold_handles()


if hasattr(os, "register_at_fork"):  # pragma: no branch  (only Windows lacks it: nothing forks there)
    os.register_at_fork(after_in_child=_hold_own_handles)


_UNDECIDED = (errno.EXDEV, errno.EAGAIN, errno.ELOOP)
"""Where the walk decides. EAGAIN: folders are being renamed all the time somewhere, which the walk does not mind.
ELOOP: before it says that a path leads out the kernel tries once more and counts its links twice, so that some twenty
can be too many."""


def available() -> bool:
    """Whether this kernel (and its seccomp filter) has openat2, and /proc to tell names with."""
    try:
        here = os.open("/", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        if _native.open_beneath is not None:
            close_fd(_native.open_beneath(here, b".", True, _TYPES, True, 0, -1, -1).fd)
        else:
            from eyespan.guard.syscalls import openat2

            close_fd(openat2(here, b".", True))
            os.readlink(f"/proc/self/fd/{here}")
    except OSError:
        return False
    finally:
        close_fd(here)
    return True


def is_plain(fd: int) -> bool:
    """Whether a folder belongs to a file system that always answers; finding it out may wait for one that does not."""
    try:
        if _native.open_beneath is None:
            from eyespan.guard.syscalls import type_of

            return type_of(fd) in PLAIN_TYPES
        found = _native.open_beneath(fd, b".", True, b"", True, 0, -1, -1)
        close_fd(found.fd)
    except OSError:
        return False
    return found.type in PLAIN_TYPES


def open_plain(path: str) -> tuple[int, str] | None:
    """A folder by its normal absolute path, and its real name, without meeting a mount that may not answer.

    None where that cannot be done, whatever the reason: what is there is then found out in a thread.
    """
    if _native.open_beneath is None:
        return None
    from eyespan.guard.mounts import plain_point

    point = plain_point(path)
    if point is None:
        return None
    rest = path[len(point) :].strip("/")
    fd = -1
    try:
        # All mounts on the way to this one always answer, and a mount's own name leads through no link.
        base = os.open(point, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            raw = os.fsencode(rest) or b"."
            found = _native.open_beneath(base, raw, True, b"", True, 0, -1, -1)
            fd = found.fd
        finally:
            close_fd(base)
        real = path if found.name is None else os.fsdecode(found.name)
        if fd >= 0 and stat.S_ISDIR(found.st_mode) and found.type in PLAIN_TYPES and not real.endswith(" (deleted)"):
            return fd, real
    except OSError:
        return None
    if fd >= 0:
        close_fd(fd)
    return None


def find(
    roots: Sequence[Root], root: Root, rest: str, follow: bool = True, stay: bool = False, asked: str | None = None
) -> Found | LocalFile:
    """As `walk.find`; a regular file to which no link led is opened for reading already.

    `stay` finds only what lies on the mount of the root itself, and touches no other. With what was `asked` for, a
    file of a real file system that is called just that, and of whose name no more is to be judged, is a source already.

    Raises: OSError, OutsideRoot; with `stay` WouldBlock, where it is not the kernel alone that decides.
    """
    open_beneath = _native.open_beneath
    if open_beneath is None:
        return find_by_ctypes(roots, root, rest, follow=follow, stay=stay)
    try:
        raw = rest if rest.isascii() else os.fsencode(rest)
        device = root.device if root.plain else -1
        opened = open_beneath(root.fd, raw or ".", follow, _TYPES, stay, LocalFile.max_first_bytes, device, handles)
    except OSError as error:
        # ENAMETOOLONG: /proc tells no name longer than a page, counted from the top of the machine.
        if error.errno in (*_UNDECIDED, errno.ENAMETOOLONG):
            return _walk(roots, root, rest, follow, stay)
        raise
    if asked is not None and opened.plain:
        return LocalFile(opened.fd, opened, asked, rest, rest, opened.head)
    try:
        canonical = _plain(rest) if opened.name is None else _below(os.fsdecode(opened.name), root)
    except BaseException:
        if opened.fd >= 0:
            close_fd(opened.fd)
        raise
    if canonical is None:
        if opened.fd >= 0:
            close_fd(opened.fd)
        return _walk(roots, root, rest, follow, stay)
    status = opened if opened.readable else None
    return Found(opened.fd, root, canonical, opened.st_mode, opened.readable, opened.pseudo, opened.head, status)


def _walk(roots: Sequence[Root], root: Root, rest: str, follow: bool, stay: bool) -> Found:
    if stay:
        raise WouldBlock  # the walk looks at whatever it meets, on any mount
    from eyespan.guard import walk

    return walk.find(roots, root, rest, follow=follow)


def find_by_ctypes(roots: Sequence[Root], root: Root, rest: str, follow: bool = True, stay: bool = False) -> Found:
    """The same, as a descriptor that only names what was found.

    Raises: OSError, OutsideRoot; with `stay` WouldBlock.
    """
    from eyespan.guard.syscalls import is_pseudo, openat2

    try:
        fd = openat2(root.fd, os.fsencode(rest) or b".", follow, stay)
    except OSError as error:
        if error.errno in _UNDECIDED:
            return _walk(roots, root, rest, follow, stay)
        raise
    try:
        canonical = _below(os.readlink(f"/proc/self/fd/{fd}"), root)
        if canonical is not None:
            return Found(fd, root, canonical, os.fstat(fd).st_mode, False, is_pseudo(fd))
    except BaseException as error:
        close_fd(fd)
        if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
            return _walk(roots, root, rest, follow, stay)
        raise
    close_fd(fd)
    return _walk(roots, root, rest, follow, stay)


def _plain(rest: str) -> str | None:
    """The canonical form of a path that leads through no link; None where the walk must tell, because it goes back."""
    if "/." not in rest and "//" not in rest and rest[:1] not in ("", ".") and rest[-1] != "/":
        return rest
    parts = [part for part in rest.split("/") if part not in ("", ".")]
    return None if ".." in parts else "/".join(parts) or "."


def _below(name: str, root: Root) -> str | None:
    """What /proc calls the thing that was opened, relative to the root; None where the walk must tell.

    Raises: OSError (EXDEV when it was moved out of the root since).
    """
    if name.endswith(" (deleted)"):
        return None  # either its name, or what /proc says of a name that is gone: the walk knows which
    base = root.canonical
    for _ in range(2):
        if base == "/":
            return name[1:] or "."
        if name.startswith(base) and (len(name) == len(base) or name[len(base)] == "/"):
            return name[len(base) + 1 :] or "."
        # The root itself may have been renamed since it was opened: then ask for its name again.
        base = os.readlink(f"/proc/self/fd/{root.fd}")
    raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
