"""The context of one call: its deadline, its cancellation and its progress.

Readers call `advance` once per block, so a read can be watched, cancelled and timed from another thread.
"""

from __future__ import annotations

import time

from eyespan.errors import Cancelled, TimedOut

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

DEADLINE_SECONDS = 10.0
"""The default time limit of one call."""


def as_seconds(text: str) -> float:
    """Parse a deadline as people write it. Raises: ValueError, with a message that follows the option's name."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 3600:
        raise ValueError(f"wants seconds, more than 0 and at most 3600, not {text!r}")
    return seconds


class CallContext:
    """Deadline, cancellation and progress of one call.

    `deadline_seconds=None` sets no deadline. `on_progress(done_bytes, total_bytes)` is called once per block. Set
    `cancelled` from any thread to stop the call at its next block. `may_block=False` is for callers on an event loop:
    a read that may wait for a file system raises `WouldBlock` before it starts, and the caller repeats it in a thread.
    """

    def __init__(
        self,
        deadline_seconds: float | None = None,
        on_progress: Callable[[int, int], None] | None = None,
        *,
        may_block: bool = True,
    ) -> None:
        self.cancelled = False
        self.may_block = may_block
        self.seconds = deadline_seconds
        self._end = None if deadline_seconds is None else time.monotonic() + deadline_seconds
        self._on_progress = on_progress

    def advance(self, done_bytes: int, total_bytes: int) -> None:
        """Check cancellation and deadline, then report progress. Raises: Cancelled, TimedOut."""
        if self.cancelled:
            raise Cancelled("")
        if self._end is not None and time.monotonic() > self._end:
            raise TimedOut("", seconds=self.seconds or 0)
        if self._on_progress is not None:
            self._on_progress(done_bytes, total_bytes)

    def check(self) -> None:
        """Check cancellation and deadline. Raises: Cancelled, TimedOut."""
        if self.cancelled:
            raise Cancelled("")
        if self._end is not None and time.monotonic() > self._end:
            raise TimedOut("", seconds=self.seconds or 0)

    def left(self) -> float | None:
        """Return the seconds left, or None if there is no deadline."""
        return None if self._end is None else self._end - time.monotonic()

    def renew(self) -> None:
        """Start the deadline again, because part of the answer was delivered."""
        if self.seconds is not None:
            self._end = time.monotonic() + self.seconds


class WouldBlock(BaseException):
    """The read may wait for a file system, and `CallContext.may_block` is False. Control flow, never an answer."""
