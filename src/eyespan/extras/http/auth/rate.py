"""Rate limits that hold across all worker processes.

The state of a limit is one number per name, in memory that is shared with processes forked later. A file lock on the
slot of a name keeps two workers from changing it at the same time; the kernel releases the lock of a worker that dies.
"""

from __future__ import annotations

import mmap
import os
import struct
import time
from collections.abc import Callable

SLOTS = 1 << 14
"""Names with a state at the same time; 16 bytes for each."""
PROBES = 8
"""Neighbouring slots in which the state of a name may be."""
_SLOT = struct.Struct("=Qd")


class SharedSlots:
    """A table from names to numbers in shared memory. A number that has passed is as good as none."""

    def __init__(self, count: int = SLOTS) -> None:
        self._count = count
        self._memory = mmap.mmap(-1, _SLOT.size * (count + PROBES))
        self._lock_fd = -1
        """The file whose locks protect the slots; -1 while there is one process."""

    def share(self) -> None:
        """Prepare for several processes. Call it before they are forked."""
        if self._lock_fd < 0 and hasattr(os, "memfd_create"):
            self._lock_fd = os.memfd_create("eyespan-rates", os.MFD_CLOEXEC)

    def change(self, name: str, start: float, change: Change) -> float:
        """Replace the number of a name by `change(number)`, and return the second result of it.

        A name without a number has the number `start`, and so has one whose number is smaller.
        """
        digest = hash(name) & 0xFFFFFFFFFFFFFFFF or 1
        first = digest % self._count
        if self._lock_fd < 0:
            return self._change(first, digest, start, change)
        import fcntl

        # Neighbours share slots, so a lock covers all probes of a name.
        fcntl.lockf(self._lock_fd, fcntl.LOCK_EX, PROBES, first)
        try:
            return self._change(first, digest, start, change)
        finally:
            fcntl.lockf(self._lock_fd, fcntl.LOCK_UN, PROBES, first)

    def _change(self, first: int, digest: int, start: float, change: Change) -> float:
        best, best_number = first, float("inf")
        number = start
        for slot in range(first, first + PROBES):
            holder, value = _SLOT.unpack_from(self._memory, slot * _SLOT.size)
            if holder == digest:
                best, number = slot, max(start, value)
                break
            if value < best_number:
                # The slot with the smallest number is the one that is unused for longest, or that matters least.
                best, best_number = slot, value
        number, result = change(number)
        _SLOT.pack_into(self._memory, best * _SLOT.size, digest, number)
        return result


class RateLimiter:
    """Token buckets, one per name. A bucket holds `burst` calls and refills at `per_minute`.

    The state of a bucket is the time at which it will be full again.
    """

    def __init__(
        self,
        per_minute: float,
        burst: float | None = None,
        *,
        slots: SharedSlots | None = None,
        prefix: str = "",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._seconds_per_call = 60 / per_minute
        self._burst = burst if burst is not None else max(1.0, per_minute)
        self._slots = slots if slots is not None else SharedSlots(256)
        self._prefix = prefix
        self._clock = clock

    def wait_seconds(self, name: str, cost: float = 1.0) -> float:
        """Take `cost` from a bucket and return 0, or return the seconds until the bucket holds that much."""
        now = self._clock()

        def take(full_at: float) -> tuple[float, float]:
            after = full_at + cost * self._seconds_per_call
            wait = after - now - self._burst * self._seconds_per_call
            return (full_at, wait) if wait > 1e-9 else (after, 0.0)

        return self._slots.change(f"{self._prefix}{name}", now, take)


Change = Callable[[float], tuple[float, float]]
