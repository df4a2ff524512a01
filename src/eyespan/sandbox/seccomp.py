"""seccomp: a filter in the Linux kernel that lets only listed system calls through.

A profile lists the calls it needs; every other one is refused. A call that this module knows by number fails with
EPERM, so a library that only tries one (a locale, a cache) continues. A number that is newer than this module, or that
no kernel uses, fails with ENOSYS, so a C library falls back to an older call. Where a permitted call could do harm, the
filter checks its arguments. A filter applies to the calling thread and what it starts afterwards, for good.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from errno import ENOSYS, EPERM
from typing import Literal

from eyespan.sandbox.process import prctl

ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
"""The machines with known call numbers: the column of the table, and the kernel's identifier of the architecture."""
UNUSED = (((337, 423),), ((245, 259), (295, 423)))
"""Numbers below `LAST_KNOWN` that no kernel used when this was written, for each column: first and last."""
LAST_KNOWN = 469
"""The newest call that this module knows (`file_setattr` of Linux 6.17), with the same number on both machines."""
_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 22, 2
_X32_BIT = 0x40000000

# Calls by purpose: name, number on x86_64, number on aarch64 ("-": does not exist there).
_TABLE = {
    "descriptors": """
        read 0 63, write 1 64, readv 19 65, writev 20 66, pread64 17 67, preadv 295 69, preadv2 327 286, pwrite64 18 68,
        lseek 8 62, close 3 57, dup 32 23, dup2 33 -, dup3 292 24, fcntl 72 25, fstat 5 80, fadvise64 221 223,
        poll 7 -, ppoll 271 73, select 23 -, pselect6 270 72
    """,
    "memory": """
        mmap 9 222, munmap 11 215, mprotect 10 226, mremap 25 216, madvise 28 233, brk 12 214
    """,
    "signal handlers": """
        rt_sigaction 13 134, rt_sigprocmask 14 135, rt_sigreturn 15 139, sigaltstack 131 132, restart_syscall 219 128
    """,
    "threads": """
        clone 56 220, exit 60 93, exit_group 231 94, futex 202 98, futex_waitv 449 449, set_robust_list 273 99,
        rseq 334 293, membarrier 324 283, set_tid_address 218 96, arch_prctl 158 -,
        sched_yield 24 124, sched_getaffinity 204 123
    """,
    "own facts": """
        getpid 39 172, gettid 186 178, getppid 110 173, getuid 102 174, geteuid 107 175, getgid 104 176,
        getegid 108 177, getgroups 115 158, getrusage 98 165, times 100 153, prlimit64 302 261, getrlimit 97 163,
        getcwd 79 17
    """,
    "clocks and randomness": """
        clock_gettime 228 113, clock_getres 229 114, clock_nanosleep 230 115, nanosleep 35 101, gettimeofday 96 169,
        time 201 -, getrandom 318 278
    """,
    "machine facts": """
        uname 63 160, sysinfo 99 179, getcpu 309 168
    """,
    "files": """
        open 2 -, openat 257 56, openat2 437 437, stat 4 -, lstat 6 -, newfstatat 262 79, statx 332 291, access 21 -,
        faccessat 269 48, faccessat2 439 439, readlink 89 -, readlinkat 267 78, getdents64 217 61, statfs 137 43,
        fstatfs 138 44
    """,
    "written files": """
        mkdir 83 -, mkdirat 258 34, unlink 87 -, unlinkat 263 35, rename 82 -, renameat 264 38, renameat2 316 276,
        ftruncate 77 46, fsync 74 82, fdatasync 75 83, flock 73 32, umask 95 166
    """,
    "processes": """
        fork 57 -, vfork 58 -, execve 59 221, wait4 61 260, waitid 247 95, kill 62 129, tkill 200 130, tgkill 234 131,
        pidfd_open 434 434, pidfd_send_signal 424 424, setsid 112 157, setpgid 109 154, getpgid 121 155,
        getpgrp 111 -, getsid 124 156, close_range 436 436, rt_sigtimedwait 128 137, rt_sigpending 127 136,
        sched_getparam 143 121, sched_getscheduler 145 120, getpriority 140 141
    """,
    "a decoder's sandbox": """
        chdir 80 49, prctl 157 167, capget 125 90, capset 126 91, setrlimit 160 164, setitimer 38 103, getitimer 36 102,
        landlock_create_ruleset 444 444, landlock_add_rule 445 445, landlock_restrict_self 446 446
    """,
    "pipes and events": """
        pipe 22 -, pipe2 293 59, eventfd2 290 19, epoll_create1 291 20, epoll_ctl 233 21, epoll_wait 232 -,
        epoll_pwait 281 22, epoll_pwait2 441 441, memfd_create 319 279, ioctl 16 29
    """,
    "open sockets": """
        socketpair 53 199, accept 43 202, accept4 288 242, listen 50 201, shutdown 48 210, getsockname 51 204,
        getpeername 52 205, getsockopt 55 209, setsockopt 54 208, sendto 44 206, sendmsg 46 211, sendmmsg 307 269,
        recvfrom 45 207, recvmsg 47 212
    """,
    "new sockets": """
        socket 41 198, connect 42 203
    """,
    "threads by structure": """
        clone3 435 435
    """,
}
"""No profile allows `clone3`: its arguments are in memory, where a filter cannot check them. C libraries use clone."""


@dataclass(frozen=True, slots=True)
class Check:
    """The condition on one argument of a permitted call."""

    call: str
    argument: int
    """The index of the argument."""
    rule: Literal["one of", "has a bit", "has no bit", "is null"]
    """`one of`: the argument equals one of the values; `has a bit`, `has no bit`: of the one value."""
    values: tuple[int, ...] = ()


def numbers(groups: Iterable[str], machine: str) -> dict[str, int]:
    """Return the calls of these groups by name, with their numbers on a machine of `ARCHITECTURES`."""
    column = ARCHITECTURES[machine][0]
    rows = [row.split() for group in groups for row in _TABLE[group].split(",")]
    return {row[0]: int(row[1 + column]) for row in rows if row[1 + column] != "-"}


_LOAD, _EQUAL, _AT_LEAST, _HAS_BITS, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _REFUSE, _MISSING = 0x7FFF0000, 0x80000000, 0x00050000 | EPERM, 0x00050000 | ENOSYS


def build_filter(
    machine: str, allowed: Sequence[str], checks: Iterable[Check] = (), missing: Sequence[str] = ()
) -> bytes | None:
    """Return the filter program for a machine (instructions of 8 bytes), or None if its call numbers are unknown.

    `allowed` are groups of calls, `checks` the conditions on their arguments. `missing` are calls that fail with ENOSYS
    like those that the kernel does not have, so that a library falls back to a call that is allowed.
    """
    if machine not in ARCHITECTURES:
        return None
    column, architecture = ARCHITECTURES[machine]
    by_name = numbers(allowed, machine)
    checked: dict[str, list[Check]] = {}
    for check in checks:
        if check.call in by_name:
            checked.setdefault(check.call, []).append(check)
    # The numbers of another architecture (32-bit calls) have other meanings, so they cannot be checked.
    program = [_step(_LOAD, 4), _step(_EQUAL, architecture, 1, 0), _step(_RETURN, _KILL), _step(_LOAD, 0)]
    if column == 0:
        program += [_step(_AT_LEAST, _X32_BIT, 0, 1), _step(_RETURN, _REFUSE)]
    for name, number in by_name.items():
        body = [step for check in checked.get(name, ()) for step in _condition(check)] + [_step(_RETURN, _ALLOW)]
        program += [_step(_EQUAL, number, 0, len(body)), *body]
    known = numbers(_TABLE, machine)
    for name in ("clone3", *missing):
        program += [_step(_EQUAL, known[name], 0, 1), _step(_RETURN, _MISSING)]
    for first, last in (*UNUSED[column], (LAST_KNOWN + 1, 0xFFFFFFFF)):
        program.append(_step(_AT_LEAST, first, 0, 2 if last < 0xFFFFFFFF else 1))
        if last < 0xFFFFFFFF:
            program.append(_step(_AT_LEAST, last + 1, 1, 0))
        program.append(_step(_RETURN, _MISSING))
    program.append(_step(_RETURN, _REFUSE))
    return b"".join(program)


def _condition(check: Check) -> list[bytes]:
    """Return the steps that refuse the call unless the condition holds.

    Both architectures are little-endian, so the low half of an argument comes first. The kernel takes all checked
    arguments but pointers as 32-bit numbers, so their high half has no meaning.
    """
    steps = [_step(_LOAD, 16 + 8 * check.argument)]
    if check.rule == "one of":
        count = len(check.values)
        steps += [_step(_EQUAL, value, count - at, 0) for at, value in enumerate(check.values)]
        steps.append(_step(_RETURN, _REFUSE))
    elif check.rule == "is null":
        high = _step(_LOAD, 20 + 8 * check.argument)
        steps += [_step(_EQUAL, 0, 0, 2), high, _step(_EQUAL, 0, 1, 0), _step(_RETURN, _REFUSE)]
    elif check.rule == "has a bit":
        steps += [_step(_HAS_BITS, check.values[0], 1, 0), _step(_RETURN, _REFUSE)]
    else:
        steps += [_step(_HAS_BITS, check.values[0], 0, 1), _step(_RETURN, _REFUSE)]
    return steps


def _step(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("HBBI", code, yes, no, value)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def install(code: bytes) -> bool:
    """Apply a filter to the calling thread, for good. Requires `process.no_new_privileges`."""
    instructions = ctypes.create_string_buffer(code, len(code))
    program = _Program(len(code) // 8, ctypes.addressof(instructions))
    return bool(prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0) == 0)
