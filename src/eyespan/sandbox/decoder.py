"""The walls around one decoding job, put up by the job itself before it sees a byte of the file.

On Linux: limits (address space, CPU seconds, no file writes, no core), NO_NEW_PRIVS, no capabilities, Landlock with no
path allowed, and a seccomp filter that refuses what a decoder never needs: opening and naming files, sockets, new
processes, programs, signals, changing limits. Each wall is tried on its own and `apply` tells which stand; a kernel
that lacks one leaves the others in place. Elsewhere only the system's own limits hold.
"""

from __future__ import annotations

import os
import signal

from eyespan.sandbox import kernel
from eyespan.sandbox.kernel import LINUX

try:
    import resource
except ImportError:  # Windows has no such limits
    resource = None  # type: ignore[assignment]  # told by `apply`

_CLONE_THREAD = 0x00010000
_AT_EMPTY_PATH = 0x1000

REFUSED = kernel.GROUPS
"""Calls that a decoder never needs: all that the table knows. The socket at hand is written with write()."""
REFUSED_UNLESS: tuple[tuple[tuple[int, int], int, int | None], ...] = (
    ((56, 220), 0, _CLONE_THREAD),  # clone: a thread, no process
    ((262, 79), 3, _AT_EMPTY_PATH),  # newfstatat: how newer C libraries spell fstat
    ((302, 261), 2, None),  # prlimit64: only to look
)
ABSENT: dict[str, tuple[int, int]] = {"clone3": (435, 435), "statx": (332, 291)}


class Jail:
    """Prepared once, by the process that forks the jobs; `apply` is called by each job."""

    def __init__(self, *, memory_bytes: int, seconds: float) -> None:
        self._memory_bytes = memory_bytes
        self._seconds = seconds
        self._ruleset: kernel.Ruleset | None = None
        self._filter = job_filter(os.uname().machine) if LINUX else None
        try:
            self._ruleset = kernel.Ruleset() if LINUX else None
        except OSError:
            pass  # no Landlock: told by `apply`

    def apply(self) -> dict[str, bool]:
        """Puts the walls up around the calling process, for good; which of them stand."""
        return {**self.apply_all_but_filter(), "seccomp": self.install_filter()}

    def apply_all_but_filter(self) -> dict[str, bool]:
        """As `apply`, for a process that still has descriptors to put in order before the filter stands."""
        layers = {"limits": self._limit()}
        if not LINUX:
            return layers
        kernel.not_dumpable()
        layers["no_new_privs"] = kernel.no_new_privileges()
        layers["landlock"] = self._ruleset is not None and self._ruleset.restrict()
        layers["capabilities"] = kernel.drop_capabilities()
        return layers

    def keep_memory(self) -> None:
        """Freed memory is kept for the next use: the process is short."""
        kernel.keep_memory()

    def die_with_parent(self) -> None:
        """The calling process is killed when the thread that forked it ends."""
        if LINUX:
            kernel.die_with_parent(signal.SIGKILL)

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

    def install_filter(self) -> bool:
        """The last wall: after it, nothing is opened and no limit is changed."""
        return self._filter is not None and kernel.install_filter(self._filter)


def job_filter(machine: str) -> bytes | None:
    """The seccomp program of a job; None where the machine's call numbers are not known."""
    return kernel.calls_filter(machine, REFUSED, unless=REFUSED_UNLESS, absent=ABSENT.values())
