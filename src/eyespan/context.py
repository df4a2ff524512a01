"""The context of one call: its deadline, its cancellation, its progress and its memory.

Readers call `advance` once per block, so a read can be watched, cancelled and timed from another thread. Everything
that is built from the contents of files pays with `charge`; `memory.Ledger` divides the memory among all calls.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from eyespan.errors import Cancelled, NoTurn, TimedOut, TooMuchMemory
from eyespan.memory import LEDGER, Ledger

_TURN_SECONDS = 0.01
"""The time between two checks of the deadline while a call waits for its turn."""
_LATE_SECONDS = 5.0
"""A call that is so late loses its turn: it waits for a file system that never answers, or was never finished."""


def as_seconds(text: str) -> float:
    """Parse a deadline as people write it. Raises: ValueError, with a message that follows the option's name."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 3600:
        raise ValueError(f"wants seconds, more than 0 and at most 3600, not {text!r}")
    return seconds


def _default_deadline() -> float:
    """Raises: ValueError, with a message for people."""
    text = os.environ.get("EYESPAN_TIMEOUT", "10")
    try:
        return as_seconds(text)
    except ValueError as error:
        raise ValueError(f"EYESPAN_TIMEOUT {error}") from None


DEADLINE_SECONDS = _default_deadline()
"""The default time limit of one call. What may be left out of an answer has a share of it, so a slow machine needs one
setting."""


class CallContext:
    """Deadline, cancellation, progress and memory of one call.

    `deadline_seconds=None` sets no deadline. `on_progress(done_bytes, total_bytes)` is called once per block. Set
    `cancelled` from any thread to stop the call at its next block. `may_block=False` is for callers on an event loop:
    a read that may wait for a file system raises `WouldBlock` before it starts, and the caller repeats it in a thread.
    `ledger` is that of the process by default; its clock is that of the deadline too.
    """

    cancelled = False
    has_valid_text = False
    """The dialect made the answer of valid text only, so that it needs no second look."""
    is_held = False
    """The answer is still to be sent: the call keeps its part of the memory until `release`."""
    _outer: CallContext | None = None
    """The context of the whole call, for a context of a part of it; it pays for the memory."""
    _charged_bytes = 0
    _most_charged_bytes = 0
    _source_bytes = 0
    """The part of the charged memory that sources hold until they are closed."""
    shared_bytes = 0
    """The part of the shared memory that this call has. The ledger sets it."""
    held_since = 0.0
    """The time when the call began to hold that part, or last asked for the turn."""
    _has_turn = False
    store_requests = 0
    """The requests to stores that this call made, without repetitions by a library."""
    store_bytes = 0
    """The bytes of files that stores sent for them."""

    def __init__(
        self,
        deadline_seconds: float | None = None,
        on_progress: Callable[[int, int], None] | None = None,
        *,
        may_block: bool = True,
        ledger: Ledger | None = None,
    ) -> None:
        self.may_block = may_block
        self.ledger = LEDGER if ledger is None else ledger
        self.now = self.ledger.clock.monotonic
        """The clock of this call. Everything that limits a part of its time uses it."""
        self.seconds = deadline_seconds
        self._end = None if deadline_seconds is None else self.now() + deadline_seconds
        self._on_progress = on_progress

    def advance(self, done_bytes: int, total_bytes: int) -> None:
        """Check cancellation and deadline, then report progress. Raises: Cancelled, TimedOut."""
        if self.cancelled:
            raise Cancelled("")
        if self._end is not None and self.now() > self._end:
            raise TimedOut("", seconds=self.seconds or 0)
        if self._on_progress is not None:
            self._on_progress(done_bytes, total_bytes)

    def count_store(self, requests: int, size_bytes: int) -> None:
        """Count requests to a store and the bytes received, for the whole call."""
        whole = self._whole()
        whole.store_requests += requests
        whole.store_bytes += size_bytes

    def check(self) -> None:
        """Check cancellation and deadline. Raises: Cancelled, TimedOut."""
        if self.cancelled:
            raise Cancelled("")
        if self._end is not None and self.now() > self._end:
            raise TimedOut("", seconds=self.seconds or 0)

    def left(self) -> float | None:
        """Return the seconds left, or None if there is no deadline."""
        return None if self._end is None else self._end - self.now()

    @property
    def is_half_over(self) -> bool:
        """Return True if most of the time is over, so that less is better than nothing."""
        left = self.left()
        return left is not None and self.seconds is not None and left < self.seconds / 2

    def renew(self) -> None:
        """Start the deadline again, because part of the answer was delivered."""
        if self.seconds is not None:
            self._end = self.now() + self.seconds
        self._charged_bytes = self._source_bytes
        self._return_unused()

    # --- memory ---

    def charge(self, size_bytes: int) -> None:
        """Count memory for something built from the contents of files, before it is built.

        A call that needs more than is free waits here until other calls have returned enough, or its turn has come.
        That wait is no longer than the deadline of the other calls, so it does not count as blocking. The deadline of
        the call covers it.

        Raises: TooMuchMemory, Cancelled, TimedOut; NoTurn if the deadline passes while the call waits.
        """
        if self._outer is not None:
            self._outer.charge(size_bytes)
            return
        self._charged_bytes += size_bytes
        beyond_bytes = self._charged_bytes - self.ledger.free_bytes
        if beyond_bytes > 0:
            if self._charged_bytes > self.ledger.max_bytes:
                raise TooMuchMemory("", limit_bytes=self.ledger.max_bytes)
            if not self._has_turn and not self.ledger.take(self, beyond_bytes):
                self._wait_for_memory()

    def refund(self, size_bytes: int) -> None:
        """Count memory that is free again before the call ends."""
        if self._outer is not None:
            self._outer.refund(size_bytes)
        else:
            self._most_charged_bytes = max(self._most_charged_bytes, self._charged_bytes)
            self._charged_bytes -= size_bytes
            self._return_unused()

    def refund_since(self, before_bytes: int) -> None:
        """Refund what a step was charged for that has ended; `refundable_bytes` was `before_bytes` when it started."""
        self.refund(max(0, self.refundable_bytes - before_bytes))

    def charge_source(self, size_bytes: int) -> None:
        """Count memory that a source holds until it is closed; `refundable_bytes` leaves it out.

        Raises: TooMuchMemory, Cancelled, TimedOut.
        """
        self._whole()._source_bytes += size_bytes
        self.charge(size_bytes)

    def refund_source(self, size_bytes: int) -> None:
        """Count memory of a source that is closed."""
        self._whole()._source_bytes -= size_bytes
        self.refund(size_bytes)

    def _whole(self) -> CallContext:
        whole = self
        while whole._outer is not None:
            whole = whole._outer
        return whole

    @property
    def charged_bytes(self) -> int:
        """Return the memory that the call has been charged for and that is not free yet."""
        return self._whole()._charged_bytes

    @property
    def refundable_bytes(self) -> int:
        """Return the same without the memory of sources.

        What it grew by during a step is what the step can refund: a source refunds its own part when it is closed.
        """
        whole = self._whole()
        return whole._charged_bytes - whole._source_bytes

    @property
    def has_turn(self) -> bool:
        """Return True if other calls may wait for this one, so it must not wait for them."""
        return self._has_turn if self._outer is None else self._outer.has_turn

    def finish(self) -> None:
        """End the call: all that it was charged for is free, or part of its answer."""
        most_bytes = self._charged_bytes
        if most_bytes or self._most_charged_bytes:
            most_bytes = max(self._most_charged_bytes, most_bytes)
            self._most_charged_bytes = 0
            if not self.is_held:
                self._charged_bytes = 0
        self._return_unused()
        self.ledger.finish(most_bytes)

    def hold(self, size_bytes: int) -> None:
        """Count only the answer, which is still to be sent; `release` follows. Another call may have the turn."""
        self._charged_bytes = size_bytes
        beyond_bytes = size_bytes - self.ledger.free_bytes
        if self._has_turn and beyond_bytes > 0 and self.ledger.take(self, beyond_bytes):
            self._has_turn = False
            self.ledger.end_turn(self)
        self._return_unused()

    def release(self) -> None:
        """Return the memory of a call that was held: its answer was sent."""
        self.is_held = False
        self._charged_bytes = 0
        self._return_unused()

    def _return_unused(self) -> None:
        """Return the turn, or the part of the shared memory, that this call does not need for what it holds."""
        beyond_bytes = max(0, self._charged_bytes - self.ledger.free_bytes)
        if self._has_turn:
            if not beyond_bytes:
                self._has_turn = False
                self.ledger.end_turn(self)
        elif self.shared_bytes:
            self.ledger.give_back(self, beyond_bytes)

    def _wait_for_memory(self) -> None:
        while True:
            self.held_since = self.now()
            if self.ledger.take_turn(self):
                self._has_turn = True
                return
            if self.ledger.take(self, self._charged_bytes - self.ledger.free_bytes):
                return
            if self.cancelled:
                raise Cancelled("")
            left = self.left()
            if left is not None and left <= 0:
                raise NoTurn("", seconds=self.seconds or 0)
            self.ledger.clock.sleep(_TURN_SECONDS if left is None else min(_TURN_SECONDS, left))

    def is_late(self) -> bool:
        """Return True if what this call holds goes to others: it ended without `finish`, or hangs in a system call."""
        end = self.held_since + DEADLINE_SECONDS if self._end is None else self._end
        return self.now() > end + _LATE_SECONDS


class WouldBlock(BaseException):
    """The read may wait for a file system, and `CallContext.may_block` is False. Control flow, never an answer."""
