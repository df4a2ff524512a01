"""Clocks that a test sets, and waiting for threads."""

from __future__ import annotations

import time
from collections.abc import Callable

HANG_SECONDS = 120
"""Only a defect takes as long."""


class Clock:
    """The time as a test sets it: nothing passes but what calls sleep."""

    def __init__(self, now: float = 5.0) -> None:
        self.now = now
        self.naps: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            raise ValueError("no time would pass")
        self.naps.append(seconds)
        self.now += seconds


class TickingClock(Clock):
    """A clock on which two seconds pass whenever it is read."""

    def monotonic(self) -> float:
        self.now += 2
        return self.now


def until(true: Callable[[], object]) -> None:
    """Wait for what another thread does."""
    end = time.monotonic() + HANG_SECONDS
    while not true():
        assert time.monotonic() < end, "it hangs"
        time.sleep(0.005)
