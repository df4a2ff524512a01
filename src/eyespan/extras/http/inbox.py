"""The memory of requests that are received or wait for their answers, of all connections of a worker together.

A body of 1 MB can become 50 MB of JSON values, and a client may send many bodies at once. Every request pays for what
it holds. The first `FREE_BYTES` of each are free, so that usual requests are accepted however much others hold.
"""

from __future__ import annotations

from collections.abc import Callable

from eyespan.extras.http.checks import Rejected

MAX_BYTES = 24 << 20
"""The memory of all requests, beyond what is free."""
FREE_BYTES = 8 << 10
"""The memory that every request may take at any time."""


def no_memory() -> Rejected:
    """Return the rejection of a request for which there is no memory."""
    return Rejected(503, "memory", "the requests of all clients take too much memory", retry_after=1)


class Inbox:
    """Counts the memory of all requests. `make_place(size_bytes)` may end requests, so that this much is returned."""

    def __init__(self, make_place: Callable[[int], None], limit_bytes: int = MAX_BYTES) -> None:
        self._make_place = make_place
        self._limit_bytes = limit_bytes
        self.held_bytes = 0

    def take(self, size_bytes: int) -> bool:
        """Take memory, and return False if there is too little of it."""
        missing_bytes = self.held_bytes + size_bytes - self._limit_bytes
        if missing_bytes > 0 and size_bytes <= self._limit_bytes:
            self._make_place(missing_bytes)
        if self.held_bytes + size_bytes > self._limit_bytes:
            return False
        self.held_bytes += size_bytes
        return True


class Held:
    """The memory of one request."""

    __slots__ = ("_inbox", "counted_bytes")

    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox
        self.counted_bytes = 0
        """The memory beyond what is free."""

    def set(self, size_bytes: int) -> bool:
        """Set the memory of the request. Returns False, without a change, if there is too little of it."""
        wanted_bytes = max(0, size_bytes - FREE_BYTES)
        more_bytes = wanted_bytes - self.counted_bytes
        if more_bytes > 0 and not self._inbox.take(more_bytes):
            return False
        if more_bytes < 0:
            self._inbox.held_bytes += more_bytes
        self.counted_bytes = wanted_bytes
        return True

    def release(self) -> None:
        """Return all of it. A second call has no effect."""
        self._inbox.held_bytes -= self.counted_bytes
        self.counted_bytes = 0
