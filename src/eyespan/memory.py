"""The memory of all calls of a process.

Everything that is built from the contents of files is charged to its call, with `CallContext.charge`. The ledger of the
process divides the memory among the calls: each may take `FREE_BYTES`, together they share `SHARED_BYTES`, and one at a
time has the turn, with which it may take `MAX_BYTES`. The ledger also returns freed memory to the system.
"""

from __future__ import annotations

import gc
import os
import time
from _thread import allocate_lock
from _weakref import ref
from collections.abc import Callable
from typing import Protocol


class Clock(Protocol):
    """A clock as the module `time` is one."""

    def monotonic(self) -> float:
        """Return the seconds since some moment."""

    def sleep(self, seconds: float, /) -> None:
        """Return after so many seconds."""


class Holder(Protocol):
    """A call that holds more than `FREE_BYTES`."""

    shared_bytes: int
    """The part of `SHARED_BYTES` that this call has."""
    held_since: float
    """The time when it began to hold that part, or last asked for the turn."""

    def is_late(self) -> bool:
        """Return True if others may have what the call holds."""


FREE_BYTES = 512 << 10
"""The memory that every call may take at any time."""
SHARED_BYTES = 8 << 20
"""The memory that calls may take beyond that, all of them together."""
MAX_BYTES = 36 << 20
"""The memory that a call may take when its turn has come. With eight calls at once that is 50 MB."""
RELEASE_BYTES = 1 << 20
"""After a call that took more, freed memory is returned to the system."""
RELEASE_SUM_BYTES = 8 << 20
"""Freed memory is also returned after several calls that took more together. The next window of 2,000 lines then takes
twice as long, because its pages are new."""
CALL_BYTES = 32 << 10
"""The memory that a call takes at least, for this sum."""
COLLECT_BYTES = 4 << 20
"""After a call that took more, garbage is collected: an error holds the frames it passed, and they hold buffers. Caches
drop what is not used."""
MUCH_MEMORY_SECONDS = 2.0
"""The time after a call that held much memory, in which its answer is sent and freed."""


class Ledger:
    """The memory of all calls that use this ledger. Safe for use by several threads.

    A process has one, `LEDGER`. Another one is for tests: its clock and its limits are arguments.
    """

    def __init__(
        self,
        clock: Clock = time,
        *,
        free_bytes: int = FREE_BYTES,
        shared_bytes: int = SHARED_BYTES,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self.clock = clock
        self.free_bytes, self.shared_bytes, self.max_bytes = free_bytes, shared_bytes, max_bytes
        self.on_much_memory: Callable[[bool], None] | None = None
        """Called with True before a call holds more than `free_bytes`, and with False some time after the last one that
        did. A server sets it."""
        self._lock = allocate_lock()
        self._turn: ref[Holder] | None = None
        """The one call that may take `max_bytes`. A call that is dropped ends its turn."""
        self._sharers: list[ref[Holder]] = []
        """The calls that have a part of `shared_bytes`. A call that is dropped returns it."""
        self._much_memory_end: float | None = None
        """The end of the time after a call that held much memory; None: False was reported."""
        self._last_collection: float | None = None
        """The time when a call ended that took more than `COLLECT_BYTES`."""
        self._unreleased_bytes = 0
        """The sum of what calls took since freed memory was returned to the system. Threads may lose a part of it."""
        self._has_unreleased = False
        """The answer of an earlier call was not yet free when memory was returned to the system."""

    @property
    def is_unused(self) -> bool:
        """Return True if no call holds more than `free_bytes`."""
        holders = self._sharers if self._turn is None else [*self._sharers, self._turn]
        return all(one() is None for one in holders)

    def take(self, call: Holder, size_bytes: int) -> bool:
        """Set the part that a call has of the shared memory. Returns False if others have too much of it."""
        if size_bytes <= call.shared_bytes:
            return True
        with self._lock:
            others = [(one, holder) for one in self._sharers if (holder := one()) is not None and holder is not call]
            others = [(one, holder) for one, holder in others if not holder.is_late()]
            if sum([holder.shared_bytes for _, holder in others]) + size_bytes > self.shared_bytes:
                return False
            if not call.shared_bytes:
                call.held_since = self.clock.monotonic()
            call.shared_bytes = size_bytes
            self._sharers = [one for one, _ in others] + [ref(call)]
            self._report_much_memory()
            return True

    def give_back(self, call: Holder, size_bytes: int) -> None:
        """Reduce the part that a call has of the shared memory to a size."""
        with self._lock:
            call.shared_bytes = min(call.shared_bytes, size_bytes)
            if not call.shared_bytes:
                self._sharers = [one for one in self._sharers if (holder := one()) is not None and holder is not call]
                self._report_much_memory()

    def take_turn(self, call: Holder) -> bool:
        """Give a call the turn, unless another has it. Returns False then."""
        with self._lock:
            holder = None if self._turn is None else self._turn()
            if holder is not None and holder is not call and not holder.is_late():
                return False
            self._turn = ref(call)
            self._report_much_memory()
        self.give_back(call, 0)
        return True

    def end_turn(self, call: Holder) -> None:
        """Let another call have the turn."""
        with self._lock:
            if self._turn is not None and self._turn() in (call, None):
                self._turn = None
            self._report_much_memory()

    def finish(self, most_bytes: int) -> None:
        """End a call that held so much at most: collect garbage and return memory to the system, if it is worth it."""
        if self._much_memory_end is not None:
            with self._lock:
                self._report_much_memory()
        if most_bytes > COLLECT_BYTES:
            from eyespan import caches

            self._last_collection = self.clock.monotonic()
            caches.shrink()
            gc.collect()
        self._unreleased_bytes += most_bytes + CALL_BYTES
        if most_bytes > RELEASE_BYTES or self._unreleased_bytes > RELEASE_SUM_BYTES or self._has_unreleased:
            self._unreleased_bytes = 0
            self._has_unreleased = most_bytes > RELEASE_BYTES
            release_freed()

    def has_collected(self, seconds: float) -> bool:
        """Return True if a call that took much memory ended in the last so many seconds."""
        return self._last_collection is not None and self.clock.monotonic() - self._last_collection < seconds

    def forget_calls(self) -> None:
        """Start over in a forked process: the calls of the parent are not its own."""
        self._turn, self._sharers, self._lock = None, [], allocate_lock()

    def _report_much_memory(self) -> None:
        """Report if calls hold more than `free_bytes`, or did so a moment ago. Called with the lock held."""
        if self.on_much_memory is None:
            return
        now = self.clock.monotonic()
        if self._turn is not None or self._sharers:
            self._much_memory_end = now + MUCH_MEMORY_SECONDS
            self.on_much_memory(True)
        elif self._much_memory_end is None or now > self._much_memory_end:
            self._much_memory_end = None
            self.on_much_memory(False)


def release_freed() -> None:
    """Return freed memory to the system, where the C library can: glibc keeps what it got for large answers."""
    try:
        from ctypes import CDLL, c_size_t

        CDLL(None).malloc_trim(c_size_t(0))
    except (ImportError, OSError, AttributeError, TypeError):
        pass  # another C library, or no descriptor left to load the module


LEDGER = Ledger()
"""The memory of all calls of this process."""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=LEDGER.forget_calls)
