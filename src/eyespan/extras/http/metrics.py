"""Prometheus metrics, summed over all worker processes.

The numbers are in shared memory that is made before the workers start, with one row per worker. A worker writes only
its own row, so there is no lock. The worker that is asked for the metrics adds up the rows.
"""

from __future__ import annotations

import mmap
from itertools import accumulate

REASONS = (
    *("host", "origin", "path", "method", "token", "type", "length", "headers", "message", "slow", "rate", "busy"),
    *("connections", "memory"),
)
VERDICTS = ("read", "error", "refused", "cancelled")
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)

_NAMES = (
    *(f"rejected:{reason}" for reason in REASONS),
    *(f"calls:{verdict}" for verdict in VERDICTS),
    *(f"bucket:{bucket:g}" for bucket in BUCKETS),
    "seconds",
    "answer_bytes",
    "store_requests",
    "store_bytes",
    "running",
    "alive",
)
_COLUMNS = {name: column for column, name in enumerate(_NAMES)}


class Metrics:
    """The row of one worker, and the sums over all rows."""

    def __init__(self, workers: int = 1) -> None:
        self._numbers = memoryview(mmap.mmap(-1, 8 * len(_NAMES) * workers)).cast("d")
        self._row = 0

    def take_row(self, number: int) -> None:
        """Use the row `number`. Its counters continue, its gauges start again."""
        self._row = number
        self._set(number, alive=1)

    def leave_row(self, number: int) -> None:
        """Reset the gauges of a worker that has ended."""
        self._set(number, alive=0)

    def add(self, name: str, amount: float = 1) -> None:
        """Add to one number of this worker's row."""
        self._numbers[self._row * len(_NAMES) + _COLUMNS[name]] += amount

    def count_rejected(self, reason: str) -> None:
        """Count a request that was rejected before anything was read."""
        self.add(f"rejected:{reason}")

    def count_call(self, verdict: str, seconds: float, answer_bytes: int) -> None:
        """Count a call that ended."""
        self.add(f"calls:{verdict}")
        self.add("seconds", seconds)
        self.add("answer_bytes", answer_bytes)
        for bucket in BUCKETS:
            if seconds <= bucket:
                self.add(f"bucket:{bucket:g}")
                break

    def count_store(self, requests: int, size_bytes: int) -> None:
        """Count the requests to buckets and web servers that a call made, and the bytes that they sent."""
        self.add("store_requests", requests)
        self.add("store_bytes", size_bytes)

    def text(self) -> str:
        """Return all metrics in Prometheus's text format."""
        total = {name: sum(self._numbers[column :: len(_NAMES)]) for name, column in _COLUMNS.items()}
        by_seconds = accumulate([total[f"bucket:{bucket:g}"] for bucket in BUCKETS])
        durations = {f'_bucket{{le="{bucket:g}"}}': seen for bucket, seen in zip(BUCKETS, by_seconds, strict=True)}
        count = sum([total[f"calls:{verdict}"] for verdict in VERDICTS])
        verdicts = {f'{{verdict="{verdict}"}}': total[f"calls:{verdict}"] for verdict in VERDICTS}
        reasons = {f'{{reason="{reason}"}}': total[f"rejected:{reason}"] for reason in REASONS}
        durations |= {'_bucket{le="+Inf"}': count, "_sum": total["seconds"], "_count": count}
        lines = []
        for name, kind, meaning, values in (
            ("calls_total", "counter", "Calls that read, by verdict.", verdicts),
            ("turned_away_total", "counter", "Requests rejected before anything was read, by reason.", reasons),
            ("answer_bytes_total", "counter", "Bytes of contents sent.", {"": total["answer_bytes"]}),
            ("store_requests_total", "counter", "Requests to buckets and web servers.", {"": total["store_requests"]}),
            ("store_bytes_total", "counter", "Bytes that buckets and web servers sent.", {"": total["store_bytes"]}),
            ("call_seconds", "histogram", "Duration of calls.", durations),
            ("calls_running", "gauge", "Calls in progress.", {"": total["running"]}),
            ("workers", "gauge", "Running worker processes.", {"": total["alive"]}),
        ):
            lines += [f"# HELP eyespan_{name} {meaning}", f"# TYPE eyespan_{name} {kind}"]
            lines += [f"eyespan_{name}{label} {round(value, 6):.15g}" for label, value in values.items()]
        return "\n".join(lines) + "\n"

    def _set(self, row: int, *, alive: int) -> None:
        for name, value in (("running", 0), ("alive", alive)):
            self._numbers[row * len(_NAMES) + _COLUMNS[name]] = value
