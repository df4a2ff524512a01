"""The inner loops: the C accelerator where it was built, else its pure Python twin of the same names.

`BACKEND` tells which: "c" or "python". EYESPAN_PURE=1 in the environment asks for Python.
"""

from __future__ import annotations

from os import environ

from eyespan._native.pure import cut_bytes

try:
    if environ.get("EYESPAN_PURE") == "1":
        raise ImportError("EYESPAN_PURE")
    from eyespan._native._fast import REVISION, count, nth, number, scan

    # The number in fast.c, raised with every change of the contract: an editable install may hold an older build.
    if REVISION != 1:
        raise ImportError("built from other sources")
    BACKEND = "c"
except Exception:  # a build for another platform can fail to load in any way, and the twin is always right
    from eyespan._native.pure import count, nth, number, scan

    BACKEND = "python"

__all__ = ["BACKEND", "count", "cut_bytes", "nth", "number", "scan"]
