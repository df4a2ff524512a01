"""The walls around one decoding job, put up by the job itself before it sees a byte of the file.

On Linux, by plain system calls: limits (address space, CPU seconds, no file writes, no core), NO_NEW_PRIVS, no
capabilities, Landlock with no path allowed, and a seccomp filter that refuses what a decoder never needs: opening and
naming files, sockets, new processes, programs, signals, changing limits. Each wall is tried on its own and `apply`
tells which stand; a kernel that lacks one leaves the others in place. Elsewhere only the system's own limits hold.

Refused calls answer EPERM rather than killing, so that a library that merely tries (a locale, a cache) goes on.
"""

from __future__ import annotations

import ctypes
import os
import platform
import signal
import struct
import sys
from errno import ENOSYS, EPERM
from typing import Any

try:
    import resource
except ImportError:  # Windows has no such limits
    resource = None  # type: ignore[assignment]  # told by `apply`

LINUX = sys.platform == "linux"
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 1, 4, 22, 38
_LANDLOCK_CREATE, _LANDLOCK_RESTRICT = 444, 446  # the same numbers on every architecture
_SECCOMP_MODE_FILTER = 2
_CLONE_THREAD = 0x00010000
_AT_EMPTY_PATH = 0x1000

# Calls that a decoder never needs, by what they would do: name, number on x86_64, number on aarch64 ("-": not there).
_REFUSED = {
    "open, or ask about, anything by name": """
        open 2 -, creat 85 -, openat 257 56, openat2 437 437, open_by_handle_at 304 265, name_to_handle_at 303 264,
        open_tree 428 428, stat 4 -, lstat 6 -, access 21 -, faccessat 269 48, faccessat2 439 439, readlink 89 -,
        readlinkat 267 78, statfs 137 43, getxattr 191 8, lgetxattr 192 9, listxattr 194 11, llistxattr 195 12,
        chdir 80 49, fchdir 81 50, chroot 161 51, inotify_init 253 -, inotify_init1 294 26,
        inotify_add_watch 254 27, fanotify_init 300 262, getdents 78 -, getdents64 217 61
    """,
    "change files, also through a descriptor that only reads": """
        truncate 76 45, ftruncate 77 46, fallocate 285 47, rename 82 -, renameat 264 38, renameat2 316 276,
        mkdir 83 -, mkdirat 258 34, rmdir 84 -, link 86 -, linkat 265 37, unlink 87 -, unlinkat 263 35,
        symlink 88 -, symlinkat 266 36, mknod 133 -, mknodat 259 33, chmod 90 -, fchmod 91 52, fchmodat 268 53,
        fchmodat2 452 452, chown 92 -, fchown 93 55, lchown 94 -, fchownat 260 54, utime 132 -, utimes 235 -,
        futimesat 261 -, utimensat 280 88, setxattr 188 5, lsetxattr 189 6, fsetxattr 190 7, removexattr 197 14,
        lremovexattr 198 15, fremovexattr 199 16, ioctl 16 29, flock 73 32
    """,
    "talk to anything but the socket at hand, which is written with write()": """
        socket 41 198, socketpair 53 199, connect 42 203, bind 49 200, listen 50 201, accept 43 202,
        accept4 288 242, sendto 44 206, sendmsg 46 211, sendmmsg 307 269, shmget 29 194, shmat 30 196,
        shmctl 31 195, semget 64 190, semop 65 193, semctl 66 191, msgget 68 186, msgsnd 69 189, msgrcv 70 188,
        msgctl 71 187, mq_open 240 180, memfd_create 319 279, memfd_secret 447 447
    """,
    "start or touch processes": """
        fork 57 -, vfork 58 -, execve 59 221, execveat 322 281, ptrace 101 117, kill 62 129, tkill 200 130,
        tgkill 234 131, rt_sigqueueinfo 129 138, rt_tgsigqueueinfo 297 240, pidfd_send_signal 424 424,
        pidfd_open 434 434, pidfd_getfd 438 438, process_vm_readv 310 270, process_vm_writev 311 271, kcmp 312 272,
        process_madvise 440 440, setpgid 109 154, setsid 112 157
    """,
    "lift a wall or a limit": """
        prctl 157 167, seccomp 317 277, setrlimit 160 164, setitimer 38 103, alarm 37 -, timer_create 222 107,
        setuid 105 146, setgid 106 144, setreuid 113 145, setregid 114 143, setgroups 116 159, setresuid 117 147,
        setresgid 119 149, capset 126 91, personality 135 92, unshare 272 97, setns 308 268
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
# Refused unless one argument is harmless: (numbers, argument, bits of it that must be set; None: it must be 0).
_REFUSED_UNLESS: tuple[tuple[tuple[int, int], int, int | None], ...] = (
    ((56, 220), 0, _CLONE_THREAD),  # clone: a thread, no process
    ((262, 79), 3, _AT_EMPTY_PATH),  # newfstatat: how newer C libraries spell fstat
    ((302, 261), 2, None),  # prlimit64: only to look
)
# Refused as "not there", so that the C library falls back to the call that the filter can look into.
_ABSENT: dict[str, tuple[int, int]] = {"clone3": (435, 435), "statx": (332, 291)}
_ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
_X32_BIT = 0x40000000


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


class Jail:
    """Prepared once, by the process that forks the jobs; `apply` is called by each job."""

    def __init__(self, *, memory_bytes: int, seconds: float) -> None:
        self._memory_bytes = memory_bytes
        self._seconds = seconds
        self._libc: Any = ctypes.CDLL(None, use_errno=True) if LINUX else None
        self._ruleset = _landlock_ruleset(self._libc) if self._libc is not None else -1
        self._filter = _filter(platform.machine()) if LINUX else None
        # The C library resolves names lazily, and ctypes makes a function object at first use: both before the fork.
        if self._libc is not None:
            self._syscall, self._prctl, self._capset = self._libc.syscall, self._libc.prctl, self._libc.capset

    def apply(self) -> dict[str, bool]:
        """Puts the walls up around the calling process, for good; which of them stand."""
        return {**self.apply_all_but_filter(), "seccomp": self.install_filter()}

    def apply_all_but_filter(self) -> dict[str, bool]:
        """As `apply`, for a process that still has descriptors to put in order before the filter stands."""
        layers = {"limits": self._limit()}
        if not LINUX:
            return layers
        self._prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
        layers["no_new_privs"] = self._prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
        layers["landlock"] = self._ruleset >= 0 and self._syscall(_LANDLOCK_RESTRICT, self._ruleset, 0) == 0
        layers["capabilities"] = self._drop_capabilities()
        return layers

    def keep_memory(self) -> None:
        """Tells the C library not to give freed memory back and ask for it again page by page: the process is short."""
        if LINUX and hasattr(self._libc, "mallopt"):
            trim_threshold, top_pad, mmap_threshold = -1, -2, -3
            self._libc.mallopt(trim_threshold, 128 << 20)
            self._libc.mallopt(top_pad, 1 << 20)
            self._libc.mallopt(mmap_threshold, 16 << 20)

    def die_with_parent(self) -> None:
        """The calling process is killed when the thread that forked it ends."""
        if LINUX:
            self._prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)

    def _limit(self) -> bool:
        if resource is None:
            return False
        seconds = max(1, round(self._seconds + 0.5))
        wanted = [(resource.RLIMIT_CPU, seconds), (resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_CORE, 0)]
        # macOS accepts a limit on address space and ignores it.
        wanted.append((resource.RLIMIT_AS, self._memory_bytes))
        done = True
        for what, most in wanted:
            try:
                # At the hard limit of CPU time the answer is SIGKILL, which tells nothing; SIGXCPU comes before it.
                resource.setrlimit(what, (most, most + (what == resource.RLIMIT_CPU)))
            except (OSError, ValueError):
                done = False
        # A second clock that nothing in the job can stop once the filter stands: the default for SIGALRM is to die.
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, self._seconds + 1)
        return done and LINUX

    def _drop_capabilities(self) -> bool:
        header = struct.pack("Ii", 0x20080522, 0)  # version 3, the calling thread
        return bool(self._capset(header, bytes(24)) == 0)

    def install_filter(self) -> bool:
        """The last wall: after it, nothing is opened and no limit is changed."""
        if self._filter is None:
            return False
        code = ctypes.create_string_buffer(self._filter, len(self._filter))
        program = _Program(len(self._filter) // 8, ctypes.addressof(code))
        return bool(self._prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0) == 0)


def _landlock_ruleset(libc: ctypes.CDLL) -> int:
    """A descriptor of a ruleset that handles all this kernel can and allows nothing; -1 without Landlock."""
    version = libc.syscall(_LANDLOCK_CREATE, None, 0, 1)
    if version < 1:
        return -1
    files = (1 << 13) - 1
    files |= (version >= 2) << 13 | (version >= 3) << 14 | (version >= 5) << 15
    network, scoped = 3 * (version >= 4), 3 * (version >= 6)
    size = 8 if version < 4 else 16 if version < 6 else 24
    attributes = struct.pack("QQQ", files, network, scoped)[:size]
    fd: int = libc.syscall(_LANDLOCK_CREATE, attributes, size, 0)
    if fd >= 0:
        os.set_inheritable(fd, False)
    return fd


def _filter(machine: str) -> bytes | None:
    """The seccomp program for this machine: instructions of 8 bytes; None where the numbers are not known."""
    if machine not in _ARCHITECTURES:
        return None
    column, architecture = _ARCHITECTURES[machine]
    load, equal, at_least, has_bits, give = 0x20, 0x15, 0x35, 0x45, 0x06
    allow, kill, refuse, absent = 0x7FFF0000, 0x80000000, 0x00050000 | EPERM, 0x00050000 | ENOSYS

    def step(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
        return struct.pack("HBBI", code, yes, no, value)

    # Another architecture's numbers (32-bit calls) mean something else: no way to judge them.
    program = [step(load, 4), step(equal, architecture, 1, 0), step(give, kill), step(load, 0)]
    if column == 0:
        program += [step(at_least, _X32_BIT, 0, 1), step(give, refuse)]
    for row in ",".join(text.strip().rstrip(",") for text in _REFUSED.values()).split(","):
        number = row.split()[1 + column]
        if number != "-":
            program += [step(equal, int(number), 0, 1), step(give, refuse)]
    for absent_numbers in _ABSENT.values():
        program += [step(equal, absent_numbers[column], 0, 1), step(give, absent)]
    for unless_numbers, argument, bits in _REFUSED_UNLESS:
        low = 16 + 8 * argument  # both architectures are little-endian: the low half comes first
        program.append(step(equal, unless_numbers[column], 0, 6 if bits is None else 4))
        if bits is None:
            program += [step(load, low), step(equal, 0, 0, 2), step(load, low + 4), step(equal, 0, 1, 0)]
        else:
            program += [step(load, low), step(has_bits, bits, 1, 0)]
        program += [step(give, refuse), step(give, allow)]
    program.append(step(give, allow))
    return b"".join(program)
