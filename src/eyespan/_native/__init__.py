"""The inner loops: the C accelerator where it was built, else its pure Python twin of the same names."""

from __future__ import annotations

from eyespan._native.pure import count, cut_bytes, nth, number

BACKEND = "python"

__all__ = ["BACKEND", "count", "cut_bytes", "nth", "number"]
