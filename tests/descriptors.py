"""The open descriptors of this process, for tests that check that none stays open."""

from __future__ import annotations

import gc
import os


def open_descriptors() -> list[str]:
    """Return the numbers in use, without those that only garbage of other tests holds."""
    gc.collect()
    gc.freeze()  # Objects that are alive here are not searched again, so the next call is quick.
    return sorted(os.listdir("/proc/self/fd"))


def leaked(before: list[str]) -> list[str]:
    """Return the numbers that have come into use since `before`; threads of other tests may have closed some."""
    return sorted(set(open_descriptors()) - set(before))
