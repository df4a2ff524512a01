"""Progress notifications are few, and each is larger than the one before."""

from __future__ import annotations

from eyespan.server import progress
from tests.clock import Clock


def test_notifications_are_throttled_and_increase():
    clock = Clock(0.0)
    seen = []
    on_progress = progress.throttle(lambda done, total: seen.append((done, total)), clock.monotonic)

    for clock.now, done in ((0.1, 10), (0.2, 20), (0.3, 30), (0.5, 20), (0.6, 150)):
        on_progress(done, 100)

    assert seen == [(20, 100), (150, 150)]
