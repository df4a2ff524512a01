"""Prometheus metrics, summed over all worker processes.

The numbers are in shared memory that is made before the workers start, with one row per worker. A worker writes only
its own row, so there is no lock. The worker that is asked for the metrics adds up the rows.
"""

from __future__ import annotations

import mmap
import struct

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
_NUMBER = struct.Struct("=d")


class Metrics:
    """The row of one worker, and the sums over all rows."""

    def __init__(self, workers: int = 1) -> None:
        self._row_bytes = _NUMBER.size * len(_NAMES)
        self._memory = mmap.mmap(-1, self._row_bytes * workers)
        self._workers = workers
        self._row = 0

    def take_row(self, number: int) -> None:
        """Use the row `number`. Its counters continue, its gauges start again."""
        self._row = number
        self._set("running", 0)
        self._set("alive", 1)

    def leave_row(self, number: int) -> None:
        """Reset the gauges of a worker that has ended."""
        row, self._row = self._row, number
        self._set("running", 0)
        self._set("alive", 0)
        self._row = row

    def add(self, name: str, amount: float = 1) -> None:
        """Add to one number of this worker's row."""
        offset = self._row * self._row_bytes + _COLUMNS[name] * _NUMBER.size
        _NUMBER.pack_into(self._memory, offset, _NUMBER.unpack_from(self._memory, offset)[0] + amount)

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
        total = {name: self._sum(name) for name in _NAMES}
        lines = [
            "# HELP eyespan_calls_total Calls that read, by verdict.",
            "# TYPE eyespan_calls_total counter",
            *(f'eyespan_calls_total{{verdict="{v}"}} {total[f"calls:{v}"]:.0f}' for v in VERDICTS),
            "# HELP eyespan_turned_away_total Requests rejected before anything was read, by reason.",
            "# TYPE eyespan_turned_away_total counter",
            *(f'eyespan_turned_away_total{{reason="{r}"}} {total[f"rejected:{r}"]:.0f}' for r in REASONS),
            "# HELP eyespan_answer_bytes_total Bytes of contents sent.",
            "# TYPE eyespan_answer_bytes_total counter",
            f"eyespan_answer_bytes_total {total['answer_bytes']:.0f}",
            "# HELP eyespan_store_requests_total Requests to buckets and web servers.",
            "# TYPE eyespan_store_requests_total counter",
            f"eyespan_store_requests_total {total['store_requests']:.0f}",
            "# HELP eyespan_store_bytes_total Bytes that buckets and web servers sent.",
            "# TYPE eyespan_store_bytes_total counter",
            f"eyespan_store_bytes_total {total['store_bytes']:.0f}",
            "# HELP eyespan_call_seconds Duration of calls.",
            "# TYPE eyespan_call_seconds histogram",
        ]
        seen = 0.0
        for bucket in BUCKETS:
            seen += total[f"bucket:{bucket:g}"]
            lines.append(f'eyespan_call_seconds_bucket{{le="{bucket:g}"}} {seen:.0f}')
        count = sum(total[f"calls:{verdict}"] for verdict in VERDICTS)
        lines += [
            f'eyespan_call_seconds_bucket{{le="+Inf"}} {count:.0f}',
            f"eyespan_call_seconds_sum {total['seconds']:.6f}",
            f"eyespan_call_seconds_count {count:.0f}",
            "# HELP eyespan_calls_running Calls in progress.",
            "# TYPE eyespan_calls_running gauge",
            f"eyespan_calls_running {total['running']:.0f}",
            "# HELP eyespan_workers Running worker processes.",
            "# TYPE eyespan_workers gauge",
            f"eyespan_workers {total['alive']:.0f}",
        ]
        return "\n".join(lines) + "\n"

    def _set(self, name: str, value: float) -> None:
        offset = self._row * self._row_bytes + _COLUMNS[name] * _NUMBER.size
        _NUMBER.pack_into(self._memory, offset, value)

    def _sum(self, name: str) -> float:
        offset = _COLUMNS[name] * _NUMBER.size
        total = 0.0
        for row in range(self._workers):
            total += float(_NUMBER.unpack_from(self._memory, row * self._row_bytes + offset)[0])
        return total
