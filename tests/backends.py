"""The guard's backends on this machine: openat2 needs the accelerator and the system call."""

from __future__ import annotations

import pytest

from eyespan.guard import openat

STRONG = (*(["openat2"] if openat.available() else []), "walk", "walk-by-name")
"""Those that give the same answers, including every errno; the first is the one that `Guard` chooses."""

HANDLES = STRONG[:-1]
"""Those that hold what they found by a descriptor."""

BACKENDS = (*STRONG, "portable")

reads_in_place = pytest.mark.skipif(
    STRONG[0] != "openat2",
    reason="without openat2 files are read in a thread, which nothing in a test can stop halfway",
)
