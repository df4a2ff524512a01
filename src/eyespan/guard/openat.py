"""openat2(2): the kernel resolves the whole path beneath the root's descriptor, in one call and without a race.

Done by the C accelerator, which also looks at what was found and opens it for reading, or by ctypes where that was not
built. Where the kernel says EXDEV the walk decides, because openat2 refuses every absolute link, also those whose
target lies inside the root.
"""

from __future__ import annotations

import errno
import os
import sys

from eyespan import _native
from eyespan.guard import walk
from eyespan.guard.closing import close

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
_TYPES = b"".join([number.to_bytes(4, sys.byteorder) for number in PSEUDO_TYPES])
"""As the accelerator takes them; the `array` module would do this too, and costs 2 ms to import."""


def available() -> bool:
    """Whether this kernel (and its seccomp filter) has openat2, and /proc to tell names with."""
    try:
        here = os.open("/", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        if _native.open_beneath is not None:
            close(_native.open_beneath(here, b".", True, _TYPES)[0])
        else:
            from eyespan.guard.syscalls import openat2

            close(openat2(here, b".", True))
            os.readlink(f"/proc/self/fd/{here}")
    except OSError:
        return False
    finally:
        close(here)
    return True


def find(roots: Sequence[Root], root: Root, rest: str, *, follow: bool = True) -> walk.Found:
    """As `walk.find`; a regular file to which no link led is opened for reading already.

    Raises: OSError, OutsideRoot.
    """
    open_beneath = _native.open_beneath
    if open_beneath is None:
        return find_by_ctypes(roots, root, rest, follow=follow)
    try:
        raw = rest.encode() if rest.isascii() else os.fsencode(rest)
        fd, readable, pseudo, mode, name = open_beneath(root.fd, raw or b".", follow, _TYPES)
    except OSError as error:
        # ENAMETOOLONG: /proc tells no name longer than a page, counted from the top of the machine. EAGAIN: folders are
        # being renamed all the time somewhere, which the walk does not mind.
        if error.errno in (errno.EXDEV, errno.ENAMETOOLONG, errno.EAGAIN):
            return walk.find(roots, root, rest, follow=follow)
        raise
    try:
        canonical = _plain(rest) if name is None else _below(os.fsdecode(name), root)
    except BaseException:
        if fd >= 0:
            close(fd)
        raise
    if canonical is None:
        if fd >= 0:
            close(fd)
        return walk.find(roots, root, rest, follow=follow)
    return walk.Found(fd, root, canonical, mode, bool(readable), bool(pseudo))


def find_by_ctypes(roots: Sequence[Root], root: Root, rest: str, *, follow: bool = True) -> walk.Found:
    """The same, as a descriptor that only names what was found.

    Raises: OSError, OutsideRoot.
    """
    from eyespan.guard.syscalls import is_pseudo, openat2

    try:
        fd = openat2(root.fd, os.fsencode(rest) or b".", follow)
    except OSError as error:
        if error.errno in (errno.EXDEV, errno.EAGAIN):
            return walk.find(roots, root, rest, follow=follow)
        raise
    try:
        canonical = _below(os.readlink(f"/proc/self/fd/{fd}"), root)
        if canonical is not None:
            return walk.Found(fd, root, canonical, os.fstat(fd).st_mode, False, is_pseudo(fd))
    except BaseException as error:
        close(fd)
        if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
            return walk.find(roots, root, rest, follow=follow)
        raise
    close(fd)
    return walk.find(roots, root, rest, follow=follow)


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
