"""Rate limits."""

from __future__ import annotations

from eyespan.server.auth import rate


def test_a_bucket_refills_steadily_and_each_name_has_its_own(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(rate.time, "monotonic", lambda: now[0])
    limiter = rate.RateLimiter(60, 2)

    first = [limiter.wait_seconds("a") for _ in range(3)]
    other = limiter.wait_seconds("b")
    now[0] = 1.0

    assert first == [0.0, 0.0, 1.0]
    assert other == 0.0
    assert limiter.wait_seconds("a") == 0.0
    assert limiter.wait_seconds("a") > 0
