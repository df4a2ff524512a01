"""The reads that the page shows: those of an audit log as it grows, and the page's own previews."""

from __future__ import annotations

import json
import os
from _thread import allocate_lock
from collections import deque
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from eyespan.escape import joined_spans

MAX_FILES = 500
MAX_RANGES = 80
"""Groups of lines of one file that are sent."""
MAX_LOG_READ_BYTES = 8 << 20
"""The most of a log that is read at once; of a longer one, the end is shown."""


class Activity:
    """A bounded list of reads with numbers, and their sums."""

    def __init__(self, log: str | None = None) -> None:
        self._lock = allocate_lock()
        self._events: deque[dict[str, Any]] = deque(maxlen=5000)
        self._count = 0
        self._log = log
        self._offset, self._rest = 0, b""

    def add_preview(self, event: dict[str, Any]) -> None:
        """Add a read of the page itself, with the current time."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        with self._lock:
            self._add({"time": now, **event})

    def since(self, after: str) -> dict[str, Any]:
        """Return the reads after a position, and the sums of all. "" is the start, `last` the next position."""
        first = int(after) if after.isascii() and after.isdigit() and len(after) < 12 else 0
        with self._lock:
            self._read_log()
            events = [event for event in self._events if event["number"] > first]
            return {"events": events, "last": str(self._count), **summary(self._events), "log": self._log}

    def _add(self, event: dict[str, Any]) -> None:
        self._count += 1
        self._events.append({**event, "number": self._count})

    def _read_log(self) -> None:
        if self._log is None:
            return
        try:
            with open(self._log, "rb") as file:
                size = os.fstat(file.fileno()).st_size
                if size < self._offset:  # rotated
                    self._offset, self._rest = 0, b""
                if size - self._offset > MAX_LOG_READ_BYTES:
                    self._offset, self._rest = size - MAX_LOG_READ_BYTES, b""
                file.seek(self._offset)
                data = self._rest + file.read(MAX_LOG_READ_BYTES)
                self._offset = file.tell()
        except OSError:
            return  # not written yet
        *lines, self._rest = data.split(b"\n")
        for line in lines:
            try:
                event = json.loads(line)
            except (ValueError, RecursionError):
                continue  # the start of a line that was cut off, or none of the server
            if isinstance(event, dict) and "verdict" in event:
                self._add(event)


def summary(events: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the sums of all reads (`totals`) and those of each file (`files`), the most read first.

    A read counts as `again` if all its lines were shown before from the same version of the file; `again_tokens` is
    what such reads cost. Bytes and tokens of a call that read several files are only in the totals, because the log
    does not divide them.
    """
    totals = {"reads": 0, "refused": 0, "again": 0, "again_tokens": 0, "bytes": 0, "tokens": 0}
    files: dict[str, _FileSums] = {}
    for event in events:
        is_refused = event.get("verdict") == "refused"
        totals["refused" if is_refused else "reads"] += 1
        if not is_refused:
            totals["bytes"] += int(event.get("bytes") or 0)
            totals["tokens"] += int(event.get("tokens") or 0)
        several = event.get("files")
        for one in several if isinstance(several, list) else [event]:
            if not isinstance(one, dict):
                continue
            path = str(one.get("canonical") or one.get("path") or "")
            file = files.setdefault(path, _FileSums(path))
            if is_refused or one.get("rule"):
                file.refused += 1
                continue
            is_again = file.add(one.get("range"), one.get("mtime_ns"))
            totals["again"] += is_again
            if one is event:
                totals["again_tokens"] += int(event.get("tokens") or 0) if is_again else 0
                file.bytes += int(event.get("bytes") or 0)
                file.tokens += int(event.get("tokens") or 0)
    rows = sorted(files.values(), key=lambda file: (-file.reads, file.path))
    return {"totals": totals, "files": [file.row() for file in rows[:MAX_FILES]]}


class _FileSums:
    """The reads of one file."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.reads = self.refused = self.again = self.bytes = self.tokens = 0
        self._ranges: dict[tuple[int, int], int] = {}
        """How often each range of lines was read."""
        self._shown: dict[str, list[tuple[int, int]]] = {}
        """The lines that were shown of each version, as separate ranges in order."""
        self._whole: set[tuple[str, str]] = set()
        """Versions and ranges of which the lines are not known."""

    def add(self, text: Any, version: Any) -> bool:
        """Count a read; return True if everything it showed had been shown before."""
        self.reads += 1
        lines = [_line_range(one) for one in str(text).split(",")]
        known = [one for one in lines if one is not None]
        if len(known) < len(lines):
            key = (str(version), str(text))
            is_again = key in self._whole
            self._whole.add(key)
        else:
            for one in known:
                self._ranges[one] = self._ranges.get(one, 0) + 1
            shown = self._shown.setdefault(str(version), [])
            is_again = all(any(first <= low and high <= last for first, last in shown) for low, high in known)
            shown[:] = joined_spans([*shown, *known])
        self.again += is_again
        return is_again

    def row(self) -> dict[str, Any]:
        """Return the sums, with the reads of each group of lines (`heat`)."""
        ends = sorted({end for first, last in self._ranges for end in (first, last + 1)})
        if len(ends) > MAX_RANGES:  # equal groups, of which each counts the reads of any of its lines
            ends = [*range(ends[0], ends[-1], -(-(ends[-1] - ends[0]) // MAX_RANGES)), ends[-1]]
        groups = [(first, following - 1) for first, following in pairwise(ends)]
        counts = [sum([n for (low, high), n in self._ranges.items() if low <= b and a <= high]) for a, b in groups]
        found = zip(groups, counts, strict=True)
        return {
            "path": self.path,
            "reads": self.reads,
            "refused": self.refused,
            "again": self.again,
            "bytes": self.bytes,
            "tokens": self.tokens,
            "heat": [{"first": first, "last": last, "reads": reads} for (first, last), reads in found if reads],
        }


def _line_range(text: Any) -> tuple[int, int] | None:
    """Return the first and the last line of a range of the log, such as "1-200"."""
    first, _, last = str(text).partition("-")
    if not (first.isascii() and first.isdigit() and last.isascii() and last.isdigit() and len(last) < 16):
        return None
    return (int(first), int(last)) if int(first) <= int(last) else None
