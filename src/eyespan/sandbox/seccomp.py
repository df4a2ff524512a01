"""seccomp: a filter in the Linux kernel that refuses system calls.

The calls are listed by group with their numbers on the machines of `ARCHITECTURES`; a profile names the groups that it
refuses. A refused call fails with EPERM instead of killing the process, so a library that only tries one (a locale, a
cache) continues. A filter applies to the calling thread and what it starts afterwards, and cannot be removed.
"""

from __future__ import annotations

import ctypes
import struct
from errno import ENOSYS, EPERM

from eyespan.sandbox.process import prctl

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
"""The machines with known call numbers: the column of the table, and the kernel's identifier of the architecture."""
_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 22, 2
_X32_BIT = 0x40000000

# Calls by purpose: name, number on x86_64, number on aarch64 ("-": does not exist there).
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
    "other processes": """
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
    "kernel": """
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
    """Return the numbers of the calls in these groups on a machine of `ARCHITECTURES`."""
    column = ARCHITECTURES[machine][0]
    rows = [row.split() for group in groups for row in _TABLE[group].split(",")]
    return [int(row[1 + column]) for row in rows if row[1 + column] != "-"]


def build_filter(
    machine: str,
    refused: Iterable[str],
    *,
    unless: Iterable[tuple[tuple[int, int], int, int | None]] = (),
    absent: Iterable[tuple[int, int]] = (),
) -> bytes | None:
    """Return the filter program for a machine (instructions of 8 bytes), or None if its call numbers are unknown.

    `refused` are groups of calls. `unless` are calls that are refused unless one argument is harmless: (numbers, index
    of the argument, bits of which one must be set; None: the argument must be 0). `absent` are calls that fail with
    ENOSYS, so that the C library falls back to a call that the filter can check.
    """
    if machine not in ARCHITECTURES:
        return None
    column, architecture = ARCHITECTURES[machine]
    load, equal, at_least, has_bits, give = 0x20, 0x15, 0x35, 0x45, 0x06
    allow, kill, refuse, missing = 0x7FFF0000, 0x80000000, 0x00050000 | EPERM, 0x00050000 | ENOSYS

    def step(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
        return struct.pack("HBBI", code, yes, no, value)

    # The numbers of another architecture (32-bit calls) have other meanings, so they cannot be checked.
    program = [step(load, 4), step(equal, architecture, 1, 0), step(give, kill), step(load, 0)]
    if column == 0:
        program += [step(at_least, _X32_BIT, 0, 1), step(give, refuse)]
    for number in calls(refused, machine):
        program += [step(equal, number, 0, 1), step(give, refuse)]
    for numbers in absent:
        program += [step(equal, numbers[column], 0, 1), step(give, missing)]
    for numbers, argument, bits in unless:
        low = 16 + 8 * argument  # both architectures are little-endian, so the low half comes first
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


def install(code: bytes) -> bool:
    """Apply a filter to the calling thread, for good. Requires `process.no_new_privileges`."""
    instructions = ctypes.create_string_buffer(code, len(code))
    program = _Program(len(code) // 8, ctypes.addressof(instructions))
    return bool(prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0) == 0)
