"""Rate limits."""

from __future__ import annotations

import os
import sys

import pytest

from eyespan.extras.http.auth import rate
from tests.clock import Clock


def test_a_bucket_refills_steadily_and_each_name_has_its_own():
    clock = Clock(0.0)
    limiter = rate.RateLimiter(60, 2, clock=clock.monotonic)

    first = [limiter.wait_seconds("a") for _ in range(3)]
    other = limiter.wait_seconds("b")
    clock.now = 1.0

    assert first == [0.0, 0.0, 1.0]
    assert other == 0.0
    assert limiter.wait_seconds("a") == 0.0
    assert limiter.wait_seconds("a") > 0


@pytest.mark.skipif(sys.platform != "linux", reason="the workers are forked")
def test_a_limit_holds_across_processes():
    slots = rate.SharedSlots()
    slots.share()
    limiter = rate.RateLimiter(1, 100, slots=slots, clock=Clock().monotonic)
    read_end, write_end = os.pipe()
    children = []
    for _ in range(4):
        pid = os.fork()
        if pid == 0:
            passed = sum(limiter.wait_seconds("a") == 0 for _ in range(200))
            os.write(write_end, passed.to_bytes(2, "big"))
            os._exit(0)
        children.append(pid)
    for pid in children:
        os.waitpid(pid, 0)
    counts = os.read(read_end, 100)
    for fd in (read_end, write_end):
        os.close(fd)

    assert sum(int.from_bytes(counts[at : at + 2], "big") for at in range(0, len(counts), 2)) == 100


def test_with_many_names_the_state_that_matters_least_makes_place():
    limiter = rate.RateLimiter(1, 2, slots=rate.SharedSlots(1), clock=Clock(0.0).monotonic)
    for name in range(rate.PROBES):
        for _ in range(2):
            limiter.wait_seconds(f"exhausted {name}")
    limiter.wait_seconds("new")

    # One of the old names has lost its state; all others must still wait.
    assert [limiter.wait_seconds(f"exhausted {name}") > 0 for name in range(rate.PROBES)].count(True) >= rate.PROBES - 1
