"""The reads that the page shows: those of an audit log as it grows, and the page's own previews."""

from __future__ import annotations

import json
import os
from _thread import allocate_lock
from collections import deque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

MAX_EVENTS = 5000
MAX_FILES = 500
MAX_LOG_READ_BYTES = 8 << 20
"""The most of a log that is read at once; of a longer one, the end is shown."""


class Activity:
    """A bounded list of reads with numbers, and sums by file."""

    def __init__(self, log: str | None = None) -> None:
        self._lock = allocate_lock()
        self._events: deque[dict[str, Any]] = deque(maxlen=MAX_EVENTS)
        self._count = 0
        self._log = log
        self._offset = 0
        self._rest = b""

    def add_preview(self, dialect: str, arguments: Any, answer: dict[str, Any]) -> None:
        """Add a read of the page itself."""
        path = ""
        if isinstance(arguments, dict):
            path = str(arguments.get("path") or arguments.get("file_path") or arguments.get("files") or "")
        error = answer["error"]
        event = {
            "time": "",
            "caller": "this page",
            "dialect": dialect,
            "path": path,
            "range": None,
            "bytes": sum([len(block.get("text", "")) for block in answer["blocks"]]),
            "tokens": answer["tokens"],
            "verdict": "refused" if error else "read",
            "code": error["code"] if error else None,
            "ms": answer["ms"],
        }
        with self._lock:
            self._add(event)

    def since(self, after: str) -> dict[str, Any]:
        """Return the reads after a position, and the sums of all. "" is the start, `last` the next position."""
        first = int(after) if after.isascii() and after.isdigit() and len(after) < 12 else 0
        with self._lock:
            self._read_log()
            events = [event for event in self._events if event["number"] > first]
            return {"events": events, "last": str(self._count), "files": sums(self._events), "log": self._log}

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
            except ValueError:
                continue  # the start of a line that was cut off
            if isinstance(event, dict) and "verdict" in event:
                self._add(event)


def sums(events: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the files that were read most: how often, how much, and how often unchanged."""
    files: dict[str, dict[str, Any]] = {}
    seen: set[tuple[str, str]] = set()
    for event in events:
        path = str(event.get("canonical") or event.get("path") or "")
        row = files.setdefault(
            path, {"path": path, "reads": 0, "refused": 0, "bytes": 0, "tokens": 0, "again": 0, "ranges": []}
        )
        if event.get("verdict") == "refused":
            row["refused"] += 1
            continue
        row["reads"] += 1
        row["bytes"] += int(event.get("bytes") or 0)
        row["tokens"] += int(event.get("tokens") or 0)
        key = (path, json.dumps(event.get("range")))
        row["again"] += key in seen
        seen.add(key)
        if event.get("range") is not None and len(row["ranges"]) < 20:
            row["ranges"].append(event["range"])
    return sorted(files.values(), key=lambda row: (-row["reads"], row["path"]))[:MAX_FILES]
