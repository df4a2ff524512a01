"""The inner loops: the C accelerator if it was built, else its pure Python twin of the same names.

`BACKEND` is "c" or "python". EYESPAN_PURE=1 in the environment selects Python.
"""

from __future__ import annotations

from collections.abc import Callable
from os import environ
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eyespan._native._fast import Opened


open_beneath: Callable[..., Opened] | None = None
"""Opens a file beneath an open directory (guard/openat.py); None if the system has no such call."""

weigh_words: Callable[[str, bytes], int] | None = None
"""Returns the cost of an ASCII text for tokens.py, or -1; None without the accelerator."""

try:
    if environ.get("EYESPAN_PURE") == "1":
        raise ImportError("EYESPAN_PURE")
    from eyespan._native import _fast
    from eyespan._native._fast import REVISION, count, nth, number

    # The number in fast.c changes with the contract: an editable install may have an older build.
    if REVISION != 22:
        raise ImportError("built from other sources")
    BACKEND = "c"
    open_beneath = getattr(_fast, "open_beneath", None)  # Linux only
    weigh_words = _fast.weigh_words
except Exception:  # a build for another platform can fail in any way, and the twin always works
    from eyespan._native.pure import count, nth, number

    BACKEND = "python"

__all__ = ["BACKEND", "count", "nth", "number", "open_beneath", "weigh_words"]
