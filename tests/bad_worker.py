"""A worker whose decoders misbehave."""

from __future__ import annotations

from pathlib import Path

from eyespan.model import MIB
from eyespan.worker.client import JobLimits, Worker

DECODERS = Path(__file__).with_name("bad_decoders.py")
_TASKS = (
    *("echo", "crash", "abort", "leave", "loop", "sleep", "nap", "drip", "eat", "flood", "deep"),
    *("refuse", "lacks", "odd", "lie", "environment", "attempts"),
)
_TABLE = {**{name: f"bad_decoders:{name}" for name in _TASKS}, "absent": "no_such_module:decode"}


def bad_worker(backend="auto", **limits):
    wanted = {"seconds": 30, "output_bytes": 32 * MIB, **limits}
    return Worker(JobLimits(**wanted), decoders=_TABLE, path=[str(DECODERS.parent)], backend=backend)
