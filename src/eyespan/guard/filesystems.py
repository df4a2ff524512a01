"""Types of file systems: kernel state, which is never read, and local ones, which never hang.

Every other type (NFS, CIFS, FUSE, 9p, virtiofs, autofs, ...) may stop responding, so its files are read in a thread
that the caller can abandon: see `blocking`.
"""

from __future__ import annotations

import ctypes
import errno
import os

# Types of statfs(2) without files, only kernel state: reading some of them blocks, has effects or reveals secrets.
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
# Types of statfs(2) of local file systems: they respond as long as the machine does.
LOCAL_TYPES = frozenset(
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
LOCAL_NAMES = frozenset(
    {
        *("ext2", "ext3", "ext4", "xfs", "btrfs", "bcachefs", "f2fs", "zfs", "jfs", "nilfs2", "reiserfs"),
        *("tmpfs", "ramfs", "overlay", "squashfs", "erofs", "iso9660", "udf", "vfat", "exfat", "ntfs3", "hfsplus"),
    }
)
"""The same file systems by their names in the mount table."""


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
