"""Types of file systems: kernel state, which is never read, and local ones, which never hang.

Every other type (NFS, CIFS, FUSE, 9p, virtiofs, autofs, ...) may stop responding, so its files are read in a thread
that the caller can abandon: see `blocking`.
"""

from __future__ import annotations

import ctypes
import errno
import os

_PSEUDO = """
    proc 9fa0, sysfs 62656572, debugfs 64626720, tracefs 74726163, cgroup 27e0eb, cgroup2 63677270, bpf cafe4a11,
    securityfs 73636673, selinuxfs f97cff8c, smackfs 43415d53, pstore 6165676c, efivarfs de5e81e4,
    configfs 62656570, devpts 1cd1, mqueue 19800202, binfmt_misc 42494e4d, rpc_pipefs 67596969, nsfs 6e736673,
    pipefs 50495045, sockfs 534f434b, anon_inode 09041934, fusectl 65735543
"""
_LOCAL = """
    ext2 ef53, ext3 ef53, ext4 ef53, xfs 58465342, btrfs 9123683e, bcachefs ca451a4e, f2fs f2f52010, zfs 2fc12fc1,
    tmpfs 01021994, ramfs 858458f6, overlay 794c7630, squashfs 73717368, erofs e0f5e1e2, iso9660 9660, udf 15013346,
    vfat 4d44, exfat 2011bab0, ntfs3 7366746e, jfs 3153464a, nilfs2 3434, reiserfs 52654973, hfsplus 482b
"""


def _rows(table: str) -> dict[str, int]:
    """Return the names of file systems in the mount table, with their types of statfs(2)."""
    return {name: int(number, 16) for name, number in [row.split() for row in table.split(",")]}


PSEUDO_TYPES = frozenset(_rows(_PSEUDO).values())
"""File systems without files, only kernel state: reading some of them blocks, has effects or reveals secrets."""
LOCAL_TYPES, LOCAL_NAMES = frozenset(_rows(_LOCAL).values()), frozenset(_rows(_LOCAL))
"""Local file systems: they respond as long as the machine does."""

_fstatfs = getattr(ctypes.CDLL(None, use_errno=True), "fstatfs", None) if os.name == "posix" else None


def filesystem_type(fd: int) -> int:
    """Return the type of a descriptor's file system, as in statfs(2), or 0 if the system has no such call.

    Raises: OSError.
    """
    if _fstatfs is None:
        return 0
    buffer = ctypes.create_string_buffer(256)  # struct statfs has 120 bytes on 64-bit Linux
    while _fstatfs(fd, buffer) != 0:
        number = ctypes.get_errno()
        if number != errno.EINTR:
            raise OSError(number, os.strerror(number))
    return ctypes.c_long.from_buffer(buffer).value & 0xFFFFFFFF


def is_pseudo(fd: int) -> bool:
    """Return True if a descriptor belongs to a file system of kernel state.

    Raises: OSError, if the system does not report the type: only what is known to be harmless is opened.
    """
    return hasattr(os, "O_PATH") and filesystem_type(fd) in PSEUDO_TYPES
