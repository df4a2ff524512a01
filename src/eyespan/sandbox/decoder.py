"""The sandbox of one decoding job. The job enters it before it reads a byte of the file.

On Linux: resource limits (address space, CPU seconds, no file writes, no core dump), NO_NEW_PRIVS, no capabilities,
Landlock without any allowed path, and a seccomp filter that allows only what a decoder needs: open descriptors, memory,
threads, clocks. A job can neither open nor name a file, make a socket or a process, send a signal, or change a limit.
Each layer is tried on its own, and `apply` returns which are up; a kernel that lacks one leaves the others in place.
Other systems have only the resource limits.
"""

from __future__ import annotations

import os
import signal
import sys

from eyespan.sandbox import landlock, process, seccomp
from eyespan.sandbox.process import LINUX
from eyespan.sandbox.seccomp import Check

_RESERVED_BYTES = 1 << 30 if "t" in getattr(sys, "abiflags", "") else 0
"""Address space that the allocator of a free-threaded Python reserves at its start, whatever it uses."""
_CLONE_THREAD = 0x00010000
_F_DUPFD, _F_GETFD, _F_SETFD, _F_GETFL, _F_DUPFD_CLOEXEC = 0, 1, 2, 3, 1030

ALLOWED = ("descriptors", "memory", "signal handlers", "threads", "own facts", "clocks and randomness", "machine facts")
"""The groups of calls that a decoder needs. It writes its answer to an open socket with write()."""
CHECKS = (
    Check("clone", 0, "has a bit", (_CLONE_THREAD,)),  # a thread, not a process
    Check("prlimit64", 0, "one of", (0,)),  # of this process
    Check("prlimit64", 2, "is null"),  # only to read a limit
    Check("sched_getaffinity", 0, "one of", (0,)),
    Check("fcntl", 1, "one of", (_F_DUPFD, _F_GETFD, _F_SETFD, _F_GETFL, _F_DUPFD_CLOEXEC)),  # no F_SETOWN, no leases
)
MISSING = ("statx", "newfstatat")
"""Calls that libraries try and do without. A filter cannot read a path, so newfstatat looks to it like fstat."""


class DecoderSandbox:
    """The sandbox of decoding jobs: prepared once by the fork server, entered by each forked job."""

    def __init__(self, *, memory_bytes: int, seconds: float) -> None:
        self._memory_bytes = memory_bytes
        self._seconds = seconds
        self._ruleset: landlock.Ruleset | None = None
        self._filter = job_filter(os.uname().machine) if LINUX else None
        try:
            self._ruleset = landlock.Ruleset() if LINUX else None
        except OSError:
            pass  # no Landlock: `apply` reports it

    def apply(self) -> dict[str, bool]:
        """Enter the sandbox, for good. Return which layers are up."""
        return {**self.apply_without_filter(), "seccomp": self.install_filter()}

    def apply_without_filter(self) -> dict[str, bool]:
        """Enter all layers but the filter, for a process that still has to arrange its descriptors."""
        os.chdir("/")  # a library may ask for the current directory, which must not reveal a path
        layers = {"limits": self._set_limits()}
        if not LINUX:
            return layers
        process.not_dumpable()
        layers["no_new_privs"] = process.no_new_privileges()
        layers["landlock"] = self._ruleset is not None and self._ruleset.restrict()
        layers["capabilities"] = process.drop_capabilities()
        return layers

    def install_filter(self) -> bool:
        """Install the seccomp filter, the last layer. After it, nothing can be opened and no limit changed."""
        return self._filter is not None and seccomp.install(self._filter)

    def die_with_parent(self) -> None:
        """Have the calling process killed when the thread that forked it ends."""
        if LINUX:
            process.die_with_parent(signal.SIGKILL)

    def _set_limits(self) -> bool:
        if not hasattr(signal, "setitimer"):
            return False  # Windows
        seconds = max(1, round(self._seconds + 0.5))
        are_set = [
            # At the hard limit the kernel sends SIGKILL, which has many causes; SIGXCPU at the soft limit has only one.
            process.limit("CPU", seconds, seconds + 1),
            process.limit("FSIZE", 0),
            process.limit("CORE", 0),
            process.limit("AS", self._memory_bytes + _RESERVED_BYTES),  # macOS accepts this one and ignores it
        ]
        # A second clock: the default action of SIGALRM ends the job, and the filter keeps it from stopping the timer.
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, self._seconds + 1)
        return all(are_set) and LINUX


def job_filter(machine: str) -> bytes | None:
    """Return the seccomp program of a job, or None if the machine's call numbers are unknown."""
    return seccomp.build_filter(machine, ALLOWED, CHECKS, MISSING)
