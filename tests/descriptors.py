"""The open descriptors of this process, for tests that check that none stays open."""

from __future__ import annotations

import gc
import os


def open_descriptors() -> list[str]:
    """Return the numbers in use, without those that only garbage of other tests holds."""
    gc.collect()
    return sorted(os.listdir("/proc/self/fd"))
