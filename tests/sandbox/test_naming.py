"""No call that the decoder's filter permits can name a file, a socket or a process.

Each call is made in the sandbox with the name of something that exists and with the name of something that does not. A
call whose result differs has looked the name up.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys

from eyespan.sandbox import decoder, seccomp

from .test_seccomp import known_machine

UNTRIED = """
    exit exit_group rt_sigreturn restart_syscall munmap mremap mprotect brk madvise sigaltstack rt_sigaction
    set_tid_address set_robust_list rseq futex futex_waitv poll ppoll select pselect6 nanosleep clock_nanosleep
    read readv pread64 preadv preadv2 close dup2 dup3 clone arch_prctl getrandom
"""
"""Calls that end, block or damage their caller with such arguments; all of them take descriptors and memory only."""
VARYING = """
    clock_gettime gettimeofday time times getrusage sysinfo getcpu mmap fcntl dup rt_sigprocmask membarrier
"""
"""Calls whose result differs each time, or that make something new; they take numbers and descriptors only."""

TRY = """
import ctypes, itertools, json, os, sys
from eyespan.sandbox import decoder, process, seccomp

numbers, names, sandboxed = json.loads(sys.argv[1])
syscall = ctypes.CDLL(None, use_errno=True).syscall
syscall.restype = ctypes.c_long
buffer = ctypes.create_string_buffer(1 << 16)
address = ctypes.addressof(buffer)
texts = []

def pointer(data):
    texts.append((ctypes.create_string_buffer(1 << 16), data))
    return ctypes.addressof(texts[-1][0])

def outcome(number, arguments):
    ctypes.memset(address, 0, 1 << 12)
    for text, data in texts:
        ctypes.memmove(text, data.ljust(1 << 12, b"\\0"), 1 << 12)  # a call may have written there
    result = syscall(number, *[ctypes.c_long(each) for each in arguments])
    return result, ctypes.get_errno() if result == -1 else 0, ctypes.string_at(address, 512)

pairs = []
for kind, real, other in names:
    if kind == "process":
        pairs.append((kind, real, other))
    else:
        lead = b"\\1\\0" if kind == "socket" else b""
        pairs.append((kind, pointer(lead + real.encode()), pointer(lead + other.encode())))
if sandboxed:
    process.no_new_privileges()
    assert seccomp.install(decoder.job_filter(os.uname().machine))
found = []
for name, number in numbers.items():
    for kind, real, other in pairs:
        for position in range(1 if kind == "process" else 4):  # elsewhere a number is a size
            for rest in itertools.product((0, -100, 0x1000, address), repeat=3):
                before, after = list(rest[:position]), list(rest[position:])
                results = [outcome(number, [*before, each, *after, 0, 0][:6]) for each in (real, other)]
                if results[0] != results[1] and [name, kind] not in found:
                    found.append([name, kind])
print(json.dumps(found))
"""


def looked_up(calls, tmp_path, *, sandboxed):
    """Return the calls that look a name up, with what they name."""
    (tmp_path / "file").write_text("secret")
    numbers = seccomp.numbers(seccomp._TABLE, os.uname().machine)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as named:
        named.bind(str(tmp_path / "socket"))
        names = [
            ("file", str(tmp_path / "file"), str(tmp_path / "none")),
            ("socket", str(tmp_path / "socket"), str(tmp_path / "none")),
            ("process", os.getpid(), 1 << 22),
        ]
        tried = json.dumps([{name: numbers[name] for name in calls}, names, sandboxed])
        done = subprocess.run([sys.executable, "-c", TRY, tried], capture_output=True, check=True, timeout=120)
    return json.loads(done.stdout)


@known_machine
def test_no_permitted_call_of_a_decoder_names_anything(tmp_path):
    permitted = seccomp.numbers(decoder.ALLOWED, os.uname().machine)

    assert looked_up(sorted(permitted.keys() - {*UNTRIED.split(), *VARYING.split()}), tmp_path, sandboxed=True) == []


@known_machine
def test_the_same_attempts_find_calls_that_name_something(tmp_path):
    calls = ["newfstatat", "faccessat", "getpgid"]

    assert looked_up(calls, tmp_path, sandboxed=False) == [
        ["newfstatat", "file"],
        ["faccessat", "file"],
        ["getpgid", "process"],
    ]
