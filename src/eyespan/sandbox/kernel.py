"""The kernel's walls, by plain system calls: Landlock, seccomp, and a process's own promises to itself.

What a process gives up here it never gets back, nor do its children. Two use it: the job that decodes a file
(`worker.jail`: no files, no calls that could do harm) and the server (`server.jail`: the roots, and no network). This
module knows how a wall is built, not which one anybody needs. Linux only; elsewhere `LINUX` is False and nothing here
is called.

Landlock holds for the calling thread and what it starts afterwards, so it is for processes that have one thread yet.
Refused calls answer EPERM rather than killing, so that a library that merely tries (a locale, a cache) goes on.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
import sys
from errno import ENOSYS, EPERM

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

LINUX = sys.platform == "linux"
_libc: Any = ctypes.CDLL(None, use_errno=True) if LINUX else None
if LINUX:
    # ctypes makes a function object at first use: here, so that a forked child has it.
    _syscall, _prctl, _capset = _libc.syscall, _libc.prctl, _libc.capset

# --- a process's promises ---------------------------------------------------------------------------------------------

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 1, 4, 22, 38


def no_new_privileges() -> bool:
    """No program started from here on gains rights by a set-user-id bit; both kinds of walls ask for it first."""
    return bool(_prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)


def not_dumpable() -> bool:
    """No core is dumped, and no other process of this user looks into the memory or the environment of this one."""
    return bool(_prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) == 0)


def die_with_parent(number: int) -> None:
    """The calling process gets this signal when the thread that forked it ends."""
    _prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)


def drop_capabilities() -> bool:
    header = struct.pack("Ii", 0x20080522, 0)  # version 3, the calling thread
    return bool(_capset(header, bytes(24)) == 0)


def keep_memory() -> None:
    """Tells the C library not to give freed memory back and ask for it again page by page."""
    if LINUX and hasattr(_libc, "mallopt"):
        trim_threshold, top_pad, mmap_threshold = -1, -2, -3
        _libc.mallopt(trim_threshold, 128 << 20)
        _libc.mallopt(top_pad, 1 << 20)
        _libc.mallopt(mmap_threshold, 16 << 20)


# --- Landlock ---------------------------------------------------------------------------------------------------------

_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446  # the same numbers on every architecture
_PATH_BENEATH, _NET_PORT = 1, 2
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, REMOVE_FILE, MAKE_FILE = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 5, 1 << 8
_OF_FILES = EXECUTE | WRITE_FILE | READ_FILE
"""The rights that a rule about a file, and not a folder, can give."""
CONNECT_TCP = 1 << 1
NETWORK_SINCE, SCOPES_SINCE = 4, 6
"""The versions of Landlock that know of TCP (Linux 6.7), of signals and abstract sockets (Linux 6.12)."""


def landlock_version() -> int:
    """What this kernel's Landlock can do; 0 where there is none, or it is switched off."""
    version: int = _syscall(_LANDLOCK_CREATE, None, 0, 1) if LINUX else 0
    return max(0, version)


class Ruleset:
    """Handles, and so refuses, all that this kernel's Landlock knows of; rules give some of it back."""

    def __init__(self) -> None:
        """Raises: OSError, without Landlock."""
        self.version = landlock_version()
        files = (1 << 13) - 1
        files |= (self.version >= 2) << 13 | (self.version >= 3) << 14 | (self.version >= 5) << 15
        network, scoped = 3 * (self.version >= NETWORK_SINCE), 3 * (self.version >= SCOPES_SINCE)
        size = 8 if self.version < NETWORK_SINCE else 16 if self.version < SCOPES_SINCE else 24
        attributes = struct.pack("QQQ", files, network, scoped)[:size]
        self.fd: int = _syscall(_LANDLOCK_CREATE, attributes, size, 0) if self.version else -1
        if self.fd < 0:
            raise OSError(ctypes.get_errno() or ENOSYS, os.strerror(ctypes.get_errno() or ENOSYS))
        os.set_inheritable(self.fd, False)

    def allow(self, fd: int, rights: int) -> None:
        """Gives rights back for what a descriptor names (O_PATH will do), a folder with all that is beneath it.

        Raises: OSError.
        """
        if not stat.S_ISDIR(os.fstat(fd).st_mode):
            rights &= _OF_FILES
        self._add(_PATH_BENEATH, struct.pack("=Qi", rights, fd))

    def allow_path(self, path: str, rights: int) -> bool:
        """As `allow`, by name, links followed; False when there is no such thing, or it cannot be reached."""
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
        """Raises: OSError."""
        self._add(_NET_PORT, struct.pack("=QQ", rights, port))

    def _add(self, kind: int, rule: bytes) -> None:
        if _syscall(_LANDLOCK_ADD, self.fd, kind, rule, 0) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))

    def restrict(self) -> bool:
        """Puts the wall up around the calling thread, for good. `no_new_privileges` comes first."""
        return bool(_syscall(_LANDLOCK_RESTRICT, self.fd, 0) == 0)

    def close(self) -> None:
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)


# --- seccomp ----------------------------------------------------------------------------------------------------------

ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
"""Machines whose call numbers are known: which column of the table, and how the kernel calls it."""
_SECCOMP_MODE_FILTER = 2
_X32_BIT = 0x40000000

# Calls by what they do: name, number on x86_64, number on aarch64 ("-": not there).
_TABLE = {
    "names": """
        open 2 -, creat 85 -, openat 257 56, openat2 437 437, stat 4 -, lstat 6 -, access 21 -, faccessat 269 48,
        faccessat2 439 439, readlink 89 -, readlinkat 267 78, statfs 137 43, getxattr 191 8, lgetxattr 192 9,
        listxattr 194 11, llistxattr 195 12, chdir 80 49, fchdir 81 50, inotify_init 253 -, inotify_init1 294 26,
        inotify_add_watch 254 27, getdents 78 -, getdents64 217 61
    """,
    "handles": """
        open_by_handle_at 304 265, name_to_handle_at 303 264, open_tree 428 428, fanotify_init 300 262, chroot 161 51
    """,
    "changes": """
        truncate 76 45, ftruncate 77 46, fallocate 285 47, rename 82 -, renameat 264 38, renameat2 316 276,
        mkdir 83 -, mkdirat 258 34, rmdir 84 -, link 86 -, linkat 265 37, unlink 87 -, unlinkat 263 35,
        symlink 88 -, symlinkat 266 36, mknod 133 -, mknodat 259 33, fchmod 91 52, utime 132 -, utimes 235 -,
        futimesat 261 -, utimensat 280 88, ioctl 16 29, flock 73 32
    """,
    "attributes": """
        chmod 90 -, fchmodat 268 53, fchmodat2 452 452, chown 92 -, fchown 93 55, lchown 94 -, fchownat 260 54,
        setxattr 188 5, lsetxattr 189 6, fsetxattr 190 7, removexattr 197 14, lremovexattr 198 15, fremovexattr 199 16
    """,
    "sockets": """
        socket 41 198, connect 42 203, bind 49 200
    """,
    "links": """
        listen 50 201, socketpair 53 199, accept 43 202, accept4 288 242, sendto 44 206, sendmsg 46 211,
        sendmmsg 307 269, memfd_create 319 279
    """,
    "shared memory": """
        shmget 29 194, shmat 30 196, shmctl 31 195, semget 64 190, semop 65 193, semctl 66 191, msgget 68 186,
        msgsnd 69 189, msgrcv 70 188, msgctl 71 187, mq_open 240 180, memfd_secret 447 447
    """,
    "processes": """
        fork 57 -, vfork 58 -, execve 59 221, execveat 322 281, kill 62 129, tkill 200 130, tgkill 234 131,
        rt_sigqueueinfo 129 138, rt_tgsigqueueinfo 297 240, pidfd_send_signal 424 424, pidfd_open 434 434,
        setpgid 109 154, setsid 112 157
    """,
    "other processes' insides": """
        ptrace 101 117, pidfd_getfd 438 438, process_vm_readv 310 270, process_vm_writev 311 271, kcmp 312 272,
        process_madvise 440 440
    """,
    "limits": """
        prctl 157 167, seccomp 317 277, setrlimit 160 164, setitimer 38 103, alarm 37 -, timer_create 222 107,
        capset 126 91
    """,
    "identity": """
        setuid 105 146, setgid 106 144, setreuid 113 145, setregid 114 143, setgroups 116 159, setresuid 117 147,
        setresgid 119 149, personality 135 92, unshare 272 97, setns 308 268
    """,
    "the kernel's wider surface": """
        mount 165 40, umount2 166 39, pivot_root 155 41, move_mount 429 429, fsopen 430 430, fsconfig 431 431,
        fsmount 432 432, fspick 433 433, mount_setattr 442 442, bpf 321 280, perf_event_open 298 241,
        userfaultfd 323 282, io_setup 206 0, io_uring_setup 425 425, io_uring_enter 426 426,
        io_uring_register 427 427, add_key 248 217, request_key 249 218, keyctl 250 219, init_module 175 105,
        finit_module 313 273, delete_module 176 106, kexec_load 246 104, kexec_file_load 320 294, reboot 169 142,
        swapon 167 224, swapoff 168 225, acct 163 89, quotactl 179 60, sync 162 81, syncfs 306 267,
        settimeofday 164 170, clock_settime 227 112, clock_adjtime 305 266, sethostname 170 161,
        setdomainname 171 162, vhangup 153 58, iopl 172 -, ioperm 173 -, uselib 134 -, modify_ldt 154 -
    """,
}
GROUPS = tuple(_TABLE)


def calls(groups: Iterable[str], machine: str) -> list[int]:
    """The numbers of the calls of these groups on a machine of `ARCHITECTURES`."""
    column = ARCHITECTURES[machine][0]
    rows = [row.split() for group in groups for row in _TABLE[group].split(",")]
    return [int(row[1 + column]) for row in rows if row[1 + column] != "-"]


def calls_filter(
    machine: str,
    refused: Iterable[str],
    *,
    unless: Iterable[tuple[tuple[int, int], int, int | None]] = (),
    absent: Iterable[tuple[int, int]] = (),
) -> bytes | None:
    """The seccomp program for a machine: instructions of 8 bytes; None where the numbers are not known.

    `refused` are groups of calls. `unless` are calls refused unless one argument is harmless: (numbers, argument, bits
    of it one of which must be set; None: it must be 0). `absent` are refused as "not there", so that the C library
    falls back to a call that the filter can look into.
    """
    if machine not in ARCHITECTURES:
        return None
    column, architecture = ARCHITECTURES[machine]
    load, equal, at_least, has_bits, give = 0x20, 0x15, 0x35, 0x45, 0x06
    allow, kill, refuse, missing = 0x7FFF0000, 0x80000000, 0x00050000 | EPERM, 0x00050000 | ENOSYS

    def step(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
        return struct.pack("HBBI", code, yes, no, value)

    # Another architecture's numbers (32-bit calls) mean something else: no way to judge them.
    program = [step(load, 4), step(equal, architecture, 1, 0), step(give, kill), step(load, 0)]
    if column == 0:
        program += [step(at_least, _X32_BIT, 0, 1), step(give, refuse)]
    for number in calls(refused, machine):
        program += [step(equal, number, 0, 1), step(give, refuse)]
    for numbers in absent:
        program += [step(equal, numbers[column], 0, 1), step(give, missing)]
    for numbers, argument, bits in unless:
        low = 16 + 8 * argument  # both architectures are little-endian: the low half comes first
        program.append(step(equal, numbers[column], 0, 6 if bits is None else 4))
        if bits is None:
            program += [step(load, low), step(equal, 0, 0, 2), step(load, low + 4), step(equal, 0, 1, 0)]
        else:
            program += [step(load, low), step(has_bits, bits, 1, 0)]
        program += [step(give, refuse), step(give, allow)]
    program.append(step(give, allow))
    return b"".join(program)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def install_filter(code: bytes) -> bool:
    """Puts a filter up around the calling thread, for good. `no_new_privileges` comes first."""
    held = ctypes.create_string_buffer(code, len(code))
    program = _Program(len(code) // 8, ctypes.addressof(held))
    return bool(_prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0) == 0)
