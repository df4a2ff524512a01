"""Rate limits."""

from __future__ import annotations

import time


class RateLimiter:
    """Token buckets, one per name. A bucket holds `burst` calls and refills at `per_minute`."""

    MAX_NAMES = 10_000
    """With more names than this, all buckets are dropped, which bounds the memory."""

    def __init__(self, per_minute: float, burst: float | None = None) -> None:
        self._per_second = per_minute / 60
        self._burst = burst if burst is not None else max(1.0, per_minute)
        self._buckets: dict[str, tuple[float, float]] = {}

    def wait_seconds(self, name: str, cost: float = 1.0) -> float:
        """Take `cost` from a bucket and return 0, or return the seconds until the bucket holds that much."""
        now = time.monotonic()
        if len(self._buckets) > self.MAX_NAMES:
            self._buckets.clear()
        level, then = self._buckets.get(name, (self._burst, now))
        level = min(self._burst, level + (now - then) * self._per_second)
        if level < cost:
            self._buckets[name] = (level, now)
            return (cost - level) / self._per_second
        self._buckets[name] = (level - cost, now)
        return 0.0
