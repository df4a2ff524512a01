"""Both profiles are allow lists: every call number is tried, in the kernel and in a model of it."""

from __future__ import annotations

import functools
import json
import os
import re
import struct
import subprocess
import sys
from errno import ENOSYS, EPERM
from pathlib import Path

import pytest

from eyespan.sandbox import decoder, seccomp, server

HIGHEST = 600
ALLOW, REFUSE, MISSING, KILL = 0x7FFF0000, 0x00050000 | EPERM, 0x00050000 | ENOSYS, 0x80000000
known_machine = pytest.mark.skipif(
    sys.platform != "linux" or os.uname().machine not in seccomp.ARCHITECTURES, reason="unknown call numbers"
)

# The written lists. A change of a profile must be made here as well.
DECODER = """
    arch_prctl brk clock_getres clock_gettime clock_nanosleep clone close dup dup2 dup3 exit exit_group fadvise64
    fcntl fstat futex futex_waitv getcpu getcwd getegid geteuid getgid getgroups getpid getppid
    getrandom getrlimit getrusage gettid gettimeofday getuid lseek madvise membarrier mmap mprotect mremap munmap
    nanosleep poll ppoll pread64 preadv preadv2 prlimit64 pselect6 pwrite64 read readv restart_syscall rseq
    rt_sigaction rt_sigprocmask rt_sigreturn sched_getaffinity sched_yield select set_robust_list set_tid_address
    sigaltstack sysinfo time times uname write writev
"""
SERVER = f"""{DECODER}
    accept accept4 access capget capset chdir close_range epoll_create1 epoll_ctl epoll_pwait epoll_pwait2 epoll_wait
    eventfd2 execve faccessat faccessat2 fdatasync flock fork fstatfs fsync ftruncate getdents64 getitimer getpeername
    getpgid getpgrp getpriority getsid getsockname getsockopt ioctl kill landlock_add_rule landlock_create_ruleset
    landlock_restrict_self listen lstat memfd_create mkdir mkdirat newfstatat open openat openat2 pidfd_open
    pidfd_send_signal pipe pipe2 prctl readlink readlinkat recvfrom recvmsg rename renameat renameat2 rt_sigpending
    rt_sigtimedwait sched_getparam sched_getscheduler sendmmsg sendmsg sendto setitimer setpgid setrlimit setsid
    setsockopt shutdown socketpair stat statfs statx tgkill tkill umask unlink unlinkat vfork wait4 waitid
"""
NETWORK = f"{SERVER} connect socket"
PROFILES = {
    "decoder": (DECODER, decoder.job_filter),
    "server": (SERVER, lambda machine: server.server_filter(machine, has_network=False)),
    "server with a network": (NETWORK, lambda machine: server.server_filter(machine, has_network=True)),
}
LAST_KNOWN = 469
UNUSED = {"x86_64": {*range(337, 424)}, "aarch64": {*range(245, 260), *range(295, 424)}}
"""Numbers below `LAST_KNOWN` that no kernel uses."""
UNFILTERED = {335, 336} if sys.platform == "linux" and os.uname().machine == "x86_64" else set()
"""uretprobe and uprobe: the kernel exempts them, and they fail outside of a probe."""
ANY = (0xFFFFFFFFFFFFFFFF,) * 6


@functools.cache
def steps_of(program: bytes) -> list[tuple[int, int, int, int]]:
    return [struct.unpack("HBBI", program[at : at + 8]) for at in range(0, len(program), 8)]


def answer(program: bytes, architecture: int, number: int, arguments=(0,) * 6) -> int:
    """Run a filter as the kernel does."""
    return run(program, architecture, number, arguments)[0]


def run(program: bytes, architecture: int, number: int, arguments: tuple[int, ...]) -> tuple[int, bool]:
    """Return the answer of a filter, and True if it looked at an argument."""
    data = struct.pack("=iIQ6Q", number, architecture, 0, *arguments)
    steps = steps_of(program)
    at, loaded, has_looked = 0, 0, False
    while True:
        code, yes, no, value = steps[at]
        at += 1
        if code == 0x06:
            return value, has_looked
        if code == 0x20:
            loaded = struct.unpack("I", data[value : value + 4])[0]
            has_looked = has_looked or value >= 16
            continue
        at += yes if {0x15: loaded == value, 0x35: loaded >= value, 0x45: bool(loaded & value)}[code] else no


@functools.cache
def outcomes(program: bytes, machine: str, number: int) -> set[int]:
    """The answers to a call with arguments of many kinds."""
    architecture = seccomp.ARCHITECTURES[machine][1]
    first, has_looked = run(program, architecture, number, ANY)
    if not has_looked:
        return {first}
    values = [0, 1, 2, 4, 0x1000, 0x10000, 0x5401, 1 << 32]
    tries = [(0,) * 6, ANY, *[(value,) * 6 for value in values], *[(3, value, 0, 0, 0, 0) for value in values]]
    tries.append((2, 1, 0, 0, 0, 0))  # a socket
    return {answer(program, architecture, number, arguments) for arguments in tries}


HEADERS = {
    "x86_64": ("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "/usr/include/asm/unistd_64.h"),
    "aarch64": ("/usr/include/asm-generic/unistd.h",),
}
"""The kernel's own list of call numbers. That of ARM64 is the generic one, so every machine can check it."""


@pytest.mark.parametrize("machine", seccomp.ARCHITECTURES)
def test_the_call_numbers_are_those_of_the_kernel(machine):
    found = [Path(name) for name in HEADERS[machine] if Path(name).exists()]
    if not found:
        pytest.skip("needs the headers of the kernel: the package linux-libc-dev")
    defined = dict(re.findall(r"^#define (__NR\w+) (\w+)", found[0].read_text(), re.MULTILINE))
    known = {name: defined.get(value, value) for name, value in defined.items()}
    written = seccomp.numbers(seccomp._TABLE, machine)

    # Headers that are older than the kernel lack its newest calls.
    compared = {name for name in written if f"__NR_{name}" in known}
    assert {name: int(known[f"__NR_{name}"]) for name in compared} == {name: written[name] for name in compared}
    assert len(compared) > 100


@pytest.mark.parametrize("machine", seccomp.ARCHITECTURES)
@pytest.mark.parametrize("profile", PROFILES)
def test_a_profile_allows_exactly_the_written_calls(profile, machine):
    names, build = PROFILES[profile]
    program = build(machine)
    numbers = seccomp.numbers(seccomp._TABLE, machine)

    passing = {number for number in range(HIGHEST + 1) if ALLOW in outcomes(program, machine, number)}

    assert passing == {numbers[name] for name in names.split() if name in numbers}


@pytest.mark.parametrize("machine", seccomp.ARCHITECTURES)
@pytest.mark.parametrize("profile", PROFILES)
def test_known_calls_are_refused_and_unknown_ones_are_missing(profile, machine):
    program = PROFILES[profile][1](machine)
    numbers = seccomp.numbers(seccomp._TABLE, machine)
    tried_first = {numbers["clone3"], *[numbers[name] for name in ("statx", "newfstatat") if profile == "decoder"]}

    found = {number: outcomes(program, machine, number) - {ALLOW} for number in range(HIGHEST + 1)}

    for number, others in found.items():
        is_unknown = number > LAST_KNOWN or number in UNUSED[machine]
        expected = {MISSING} if is_unknown or number in tried_first else {REFUSE}
        assert others <= expected, number


@pytest.mark.parametrize("number", [463, 464, 465, 466, 467, 468, 469, 457, 458])
@pytest.mark.parametrize("profile", PROFILES)
def test_calls_of_new_kernels_that_change_or_reveal_files_are_refused(profile, number):
    """setxattrat and its siblings, open_tree_attr, file_getattr, file_setattr, statmount, listmount."""
    for machine in seccomp.ARCHITECTURES:
        assert outcomes(PROFILES[profile][1](machine), machine, number) == {REFUSE}


REFUSED_ARGUMENTS = [
    ("decoder", "clone", (17, 0, 0, 0, 0, 0)),  # a process
    ("decoder", "prlimit64", (1, 9, 0, 1, 0, 0)),  # of another process
    ("decoder", "sched_getaffinity", (1, 8, 1, 0, 0, 0)),
    ("decoder", "prlimit64", (0, 9, 1, 0, 0, 0)),  # sets a limit
    ("decoder", "prlimit64", (0, 9, 1 << 32, 0, 0, 0)),  # the upper half of the pointer counts
    ("decoder", "fcntl", (3, 8, 1, 0, 0, 0)),  # F_SETOWN
    ("decoder", "fcntl", (3, 10, 9, 0, 0, 0)),  # F_SETSIG
    ("decoder", "fcntl", (3, 4, 0x2000, 0, 0, 0)),  # F_SETFL, which sets O_ASYNC
    ("server", "fcntl", (3, 8, 1, 0, 0, 0)),
    ("server", "fcntl", (3, 1024, 1, 0, 0, 0)),  # F_SETLEASE
    ("server", "clone", (0x10000000 | 17, 0, 0, 0, 0, 0)),  # a user namespace
    ("server", "prctl", (36, 1, 0, 0, 0, 0)),  # PR_SET_CHILD_SUBREAPER
    ("server", "prctl", (0x59616D61, 0, 0, 0, 0, 0)),  # PR_SET_PTRACER
    ("server", "ioctl", (0, 0x5412, 1, 0, 0, 0)),  # TIOCSTI types into a terminal
    ("server", "ioctl", (3, 0x40086602, 1, 0, 0, 0)),  # FS_IOC_SETFLAGS
    ("server", "prlimit64", (1, 9, 1, 0, 0, 0)),  # of another process
    ("server", "socketpair", (2, 1, 0, 0, 0, 0)),
    ("server", "socketpair", (1, 2, 0, 0, 0, 0)),  # SOCK_DGRAM
    ("server with a network", "socket", (1, 2, 0, 0, 0, 0)),  # AF_UNIX
    ("server with a network", "socket", (17, 3, 0, 0, 0, 0)),  # AF_PACKET
    ("server with a network", "socket", (40, 1, 0, 0, 0, 0)),  # AF_VSOCK
    ("server with a network", "socket", (16, 3, 12, 0, 0, 0)),  # AF_NETLINK
    ("server with a network", "socket", (2, 3, 6, 0, 0, 0)),  # SOCK_RAW
    ("server with a network", "socket", (2, 1, 262, 0, 0, 0)),  # MPTCP
    ("server with a network", "sendto", (3, 1, 1, 0x20004000, 1, 16)),  # MSG_FASTOPEN
    ("server with a network", "sendmsg", (3, 1, 0x20000000, 0, 0, 0)),
    ("server with a network", "sendmmsg", (3, 1, 1, 0x20000000, 0, 0)),
]
ALLOWED_ARGUMENTS = [
    ("decoder", "clone", (0x003D0F00, 0, 0, 0, 0, 0)),  # as the C library makes a thread
    ("decoder", "prlimit64", (0, 9, 0, 1, 0, 0)),
    ("decoder", "fcntl", (3, 1, 0, 0, 0, 0)),
    ("server", "clone", (17, 0, 0, 0, 0, 0)),  # a process
    ("server", "prctl", (38, 1, 0, 0, 0, 0)),
    ("server", "ioctl", (3, 0x5421, 1, 0, 0, 0)),  # FIONBIO
    ("server", "fcntl", (3, 4, 0x800, 0, 0, 0)),
    ("server", "socketpair", (1, 0x80005, 0, 0, 0, 0)),  # SOCK_SEQPACKET | SOCK_CLOEXEC
    ("server with a network", "socket", (2, 0x80001, 6, 0, 0, 0)),  # TCP, with SOCK_CLOEXEC
    ("server with a network", "socket", (10, 0x80802, 0, 0, 0, 0)),  # DNS
    ("server with a network", "sendto", (3, 1, 1, 0x4000, 0, 0)),  # MSG_NOSIGNAL
    ("server with a network", "sendmmsg", (3, 1, 2, 0x4000, 0, 0)),
]


@pytest.mark.parametrize("machine", seccomp.ARCHITECTURES)
@pytest.mark.parametrize(
    ("profile", "call", "arguments", "expected"),
    [*[(*case, REFUSE) for case in REFUSED_ARGUMENTS], *[(*case, ALLOW) for case in ALLOWED_ARGUMENTS]],
)
def test_arguments_are_checked_where_a_permitted_call_can_do_harm(machine, profile, call, arguments, expected):
    number = seccomp.numbers(seccomp._TABLE, machine)[call]

    assert answer(PROFILES[profile][1](machine), seccomp.ARCHITECTURES[machine][1], number, arguments) == expected


def test_calls_of_another_architecture_kill_and_those_of_x32_are_refused():
    program = decoder.job_filter("x86_64")

    assert answer(program, 0x40000003, 5) == KILL
    assert answer(program, 0xC000003E, 0x40000001) == REFUSE


TRY = """
import ctypes, errno, json, os, signal, sys
from eyespan.sandbox import decoder, process, seccomp, server

profile = sys.argv[1]
syscall = ctypes.CDLL(None, use_errno=True).syscall
build = decoder.job_filter if profile == "decoder" else lambda m: server.server_filter(m, has_network=False)
program = build(os.uname().machine)

def attempt(numbers, pipe):
    process.no_new_privileges()
    assert seccomp.install(program)
    own = os.getpid()
    for number in numbers:
        result = syscall(number, -1, -1, -1, -1, -1, -1)
        if result == -1 and ctypes.get_errno() == errno.ENOSYS and number <= seccomp.LAST_KNOWN:
            result = syscall(number, 0, 0, 0, 0, 0, 0)  # futex has no operation -1
        if os.getpid() != own:
            os._exit(0)
        os.write(pipe, b"%d %d\\n" % (number, ctypes.get_errno() if result == -1 else 0))
    os._exit(0)

found = {}
for numbers in json.loads(sys.argv[2]):
    there, here = os.pipe()
    child = os.fork()
    if not child:
        signal.alarm(5)
        attempt(numbers, here)
    os.close(here)
    with open(there, "rb") as answers:
        answered = dict(line.split() for line in answers)
    os.waitpid(child, 0)
    for number in numbers:
        found[number] = int(answered.get(b"%d" % number, -1))  # -1: it ended the process, so it passed
print(json.dumps(found))
"""


@known_machine
@pytest.mark.parametrize("profile", ["decoder", "server"])
def test_the_kernel_lets_exactly_the_written_calls_through(profile):
    """Every number from 0 to 600 is tried from inside, with arguments that are wrong for every call."""
    machine = os.uname().machine
    names, build = PROFILES[profile]
    program, architecture = build(machine), seccomp.ARCHITECTURES[machine][1]
    numbers = seccomp.numbers(seccomp._TABLE, machine)
    written = {numbers[name] for name in names.split() if name in numbers}
    checked = {number for number in written if answer(program, architecture, number, ANY) == REFUSE}
    # A call that passes may end its process, so each gets one of its own; those that are refused share one.
    alone = sorted((written - checked) | UNFILTERED)
    groups = [sorted({*range(HIGHEST + 1)} - {*alone}), *[[number] for number in alone]]
    done = subprocess.run(
        [sys.executable, "-c", TRY, profile, json.dumps(groups)],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    found = {int(number): errno for number, errno in json.loads(done.stdout).items()}

    passed = {number for number, errno in found.items() if errno not in (EPERM, ENOSYS)} - UNFILTERED

    assert passed == written - checked
    assert {number for number in found if number > LAST_KNOWN and found[number] != ENOSYS} == set()
