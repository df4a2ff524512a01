"""The context of one call: its deadline, its cancellation, its progress and its memory.

Readers call `advance` once per block, so a read can be watched, cancelled and timed from another thread.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from eyespan.errors import Cancelled, TimedOut
from eyespan.memory import LEDGER, Account, Ledger


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
    _outer: CallContext | None = None
    """The context of the whole call, for a context of a part of it."""
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
        self.memory = Account(self.ledger, self._end)

    def advance(self, done_bytes: int, total_bytes: int) -> None:
        """Check cancellation and deadline, then report progress. Raises: Cancelled, TimedOut."""
        self.check()
        if self._on_progress is not None:
            self._on_progress(done_bytes, total_bytes)

    def count_store(self, requests: int, size_bytes: int) -> None:
        """Count requests to a store and the bytes received, for the whole call."""
        whole = self._outer or self
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
            self._end = self.memory.end = self.now() + self.seconds
        self.memory.deliver()

    def charge(self, size_bytes: int) -> None:
        """Count memory for something built from the contents of files, before it is built.

        A call that needs more than is free waits here until other calls have returned enough, or its turn has come.
        That wait is no longer than the deadline of the other calls, so it does not count as blocking. The deadline of
        the call covers it.

        Raises: TooMuchMemory, Cancelled, TimedOut; NoTurn if the deadline passes while the call waits.
        """
        self.memory.charge(size_bytes, self._outer or self)

    def charge_source(self, size_bytes: int) -> None:
        """Count memory that a source holds until it is closed, or with a negative size that it gives back.

        Raises: TooMuchMemory, Cancelled, TimedOut.
        """
        if size_bytes > 0:
            self.charge(size_bytes)
        else:
            self.memory.refund(-size_bytes)
        self.memory.source_bytes += size_bytes

    def finish(self) -> None:
        """End the call: all that it was charged for is free, or part of its answer."""
        self.memory.finish()


class WouldBlock(BaseException):
    """The read may wait for a file system, and `CallContext.may_block` is False. Control flow, never an answer."""
