"""Progress notifications of long reads, the same over every transport."""

from __future__ import annotations

import time
from collections.abc import Callable

PROGRESS_SECONDS = 0.2
"""The shortest time between two notifications."""


def throttle(
    notify: Callable[[int, int], None], clock: Callable[[], float] = time.monotonic
) -> Callable[[int, int], None]:
    """Return an `on_progress` for `CallContext` that calls `notify(done_bytes, total_bytes)` a few times per second.

    MCP requires progress to increase with each notification, so a value that does not is skipped.
    """
    last_seconds, last_bytes = clock(), 0

    def on_progress(done_bytes: int, total_bytes: int) -> None:
        nonlocal last_seconds, last_bytes
        now = clock()
        if now - last_seconds >= PROGRESS_SECONDS and done_bytes > last_bytes:
            last_seconds, last_bytes = now, done_bytes
            notify(done_bytes, max(total_bytes, done_bytes))

    return on_progress
