"""The memory of all calls of a process: a ledger, and an account for each call.

A call pays with `CallContext.charge` where bytes enter (a source, a decompressor, the response of the worker, the names
of a directory) and where parts of an answer are handed out. A step that holds more than it returns is a loan
(`Account.loan`). What a source holds is paid for until it is closed (`CallContext.charge_source`).

The ledger divides the memory among the calls: each may take `FREE_BYTES`, together they share `SHARED_BYTES`, and one
at a time has the turn, with which it may take `MAX_BYTES`. It also returns freed memory to the system.
"""

from __future__ import annotations

import gc
import os
import time
from _thread import allocate_lock
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol
from weakref import ref

from eyespan.errors import Cancelled, NoTurn, ReadError, TooMuchMemory

if TYPE_CHECKING:
    from eyespan.context import CallContext


class Clock(Protocol):
    """A clock as the module `time` is one."""

    def monotonic(self) -> float:
        """Return the seconds since some moment."""

    def sleep(self, seconds: float, /) -> None:
        """Return after so many seconds."""


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
HELD_SECONDS = 10.0
"""The time that a call without a deadline may hold memory that others wait for."""
LATE_SECONDS = 5.0
"""A call that is so late loses what it holds: it waits for a file system that never answers, or was never finished."""


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
        self._lock = allocate_lock()
        self._turn: ref[Account] | None = None
        """The one call that may take `max_bytes`. A call that is dropped ends its turn."""
        self._sharers: list[ref[Account]] = []
        """The calls that have a part of `shared_bytes`. A call that is dropped returns it."""
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

    def take(self, call: Account, size_bytes: int) -> bool:
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
            return True

    def give_back(self, call: Account, size_bytes: int) -> None:
        """Reduce the part that a call has of the shared memory to a size."""
        with self._lock:
            call.shared_bytes = min(call.shared_bytes, size_bytes)
            if not call.shared_bytes:
                self._sharers = [one for one in self._sharers if (holder := one()) is not None and holder is not call]

    def take_turn(self, call: Account) -> bool:
        """Give a call the turn, unless another has it. Returns False then."""
        with self._lock:
            holder = None if self._turn is None else self._turn()
            if holder is not None and holder is not call and not holder.is_late():
                return False
            self._turn = ref(call)
        self.give_back(call, 0)
        return True

    def end_turn(self, call: Account) -> None:
        """Let another call have the turn."""
        with self._lock:
            if self._turn is not None and self._turn() in (call, None):
                self._turn = None

    def finish(self, most_bytes: int) -> None:
        """End a call that held so much at most: collect garbage and return memory to the system, if it is worth it."""
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


class Account:
    """The memory of one call. Contexts of parts of a call have the account of the whole."""

    def __init__(self, ledger: Ledger, end: float | None) -> None:
        self.ledger = ledger
        self.end = end
        """The deadline of the call."""
        self.charged_bytes = 0
        """The memory that the call has been charged for and that is not free yet."""
        self.is_held = False
        """The answer is still to be sent: the call keeps its part of the memory until `release`."""
        self.shared_bytes = 0
        """The part of the ledger's shared memory that this call has."""
        self.held_since = 0.0
        """The time when it began to hold that part, or last asked for the turn."""
        self._has_turn = False
        self._most_bytes = 0
        self.source_bytes = 0
        """The part of the charged memory that sources hold until they are closed."""

    def charge(self, size_bytes: int, call: CallContext) -> None:
        """Count memory: see `CallContext.charge`."""
        self.charged_bytes += size_bytes
        beyond_bytes = self.charged_bytes - self.ledger.free_bytes
        if beyond_bytes <= 0:
            return
        try:
            if self.charged_bytes > self.ledger.max_bytes:
                raise TooMuchMemory("", limit_bytes=self.ledger.max_bytes)
            if not self._has_turn and not self.ledger.take(self, beyond_bytes):
                self._wait(call)
        except ReadError:
            self.refund(size_bytes)
            raise

    @contextmanager
    def loan(self) -> Iterator[None]:
        """Give back at the end of a block what was charged in it, without what sources hold."""
        before_bytes = self.loan_start()
        try:
            yield
        finally:
            self.end_loan(before_bytes)

    def loan_start(self) -> int:
        """Return what is charged without the memory of sources, for `end_loan`."""
        return self.charged_bytes - self.source_bytes

    def end_loan(self, start_bytes: int) -> None:
        """Give back what was charged since `loan_start` returned this, without what sources hold."""
        if (size_bytes := self.charged_bytes - self.source_bytes - start_bytes) > 0:
            self.refund(size_bytes)

    @property
    def has_turn(self) -> bool:
        """Return True if other calls may wait for this one, so it must not wait for them."""
        return self._has_turn

    def deliver(self) -> None:
        """Count only what sources hold: all else was delivered."""
        self.refund(self.charged_bytes - self.source_bytes)

    def finish(self) -> None:
        """End the call: all that it was charged for is free, or part of its answer."""
        most_bytes, self._most_bytes = max(self._most_bytes, self.charged_bytes), 0
        if not self.is_held:
            self.charged_bytes = 0
        self._return_unused()
        self.ledger.finish(most_bytes)

    def hold(self, size_bytes: int) -> None:
        """Count only the answer, which is still to be sent; `release` follows. Another call may have the turn."""
        self.charged_bytes = size_bytes
        beyond_bytes = size_bytes - self.ledger.free_bytes
        if self._has_turn and beyond_bytes > 0 and self.ledger.take(self, beyond_bytes):
            self._has_turn = False
            self.ledger.end_turn(self)
        self._return_unused()

    def release(self) -> None:
        """Return the memory of a call that was held: its answer was sent."""
        self.is_held = False
        self.charged_bytes = 0
        self._return_unused()

    def is_late(self) -> bool:
        """Return True if what this call holds goes to others: it ended without `finish`, or hangs in a system call."""
        end = self.held_since + HELD_SECONDS if self.end is None else self.end
        return self.ledger.clock.monotonic() > end + LATE_SECONDS

    def refund(self, size_bytes: int) -> None:
        """Count memory that is free again before the call ends."""
        self._most_bytes = max(self._most_bytes, self.charged_bytes)
        self.charged_bytes -= size_bytes
        self._return_unused()

    def _return_unused(self) -> None:
        """Return the turn, or the part of the shared memory, that this call does not need for what it holds."""
        beyond_bytes = max(0, self.charged_bytes - self.ledger.free_bytes)
        if self._has_turn:
            if not beyond_bytes:
                self._has_turn = False
                self.ledger.end_turn(self)
        elif self.shared_bytes:
            self.ledger.give_back(self, beyond_bytes)

    def _wait(self, call: CallContext) -> None:
        while True:
            self.held_since = self.ledger.clock.monotonic()
            if self.ledger.take_turn(self):
                self._has_turn = True
                return
            if self.ledger.take(self, self.charged_bytes - self.ledger.free_bytes):
                return
            if call.cancelled:
                raise Cancelled("")
            left = call.left()
            if left is not None and left <= 0:
                raise NoTurn("", seconds=call.seconds or 0)
            self.ledger.clock.sleep(0.01 if left is None else min(0.01, left))


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
