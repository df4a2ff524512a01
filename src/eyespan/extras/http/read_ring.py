"""The latest reads of a server, for its page: in memory that all workers share, and gone when the server ends.

Every worker writes to a row of its own, so there is no lock; the worker that is asked reads all rows. A reader that
meets a slot while it is written finds another number in it, or no valid JSON, and leaves it out.
"""

from __future__ import annotations

import mmap
import struct
import time
from hashlib import blake2b
from typing import Any

from eyespan.escape import valid_tree
from eyespan.server import json_messages
from eyespan.server.audit import Audit, timestamp
from eyespan.server.session import Session

SLOTS = 1000
"""The reads of one worker that are kept."""
SLOT_BYTES = 1024
_DIGEST_BYTES = 16
_COUNT = struct.Struct("=Q")
_SLOT = struct.Struct(f"=Q{_DIGEST_BYTES}sH")
"""The number of the read, the hash of its caller's name, the length of its JSON."""
_ROW_BYTES = _COUNT.size + SLOTS * SLOT_BYTES
_KEYS = (
    *("caller", "dialect", "path", "canonical", "mtime_ns", "range", "rule", "bytes", "tokens", "verdict", "code"),
    "ms",
)


class ReadRing:
    """The latest reads of all workers."""

    def __init__(self, workers: int = 1) -> None:
        self._memory = mmap.mmap(-1, _ROW_BYTES * workers)
        self._workers = workers
        self._row = 0

    def take_row(self, number: int) -> None:
        """Write to the row `number`, after what is in it."""
        self._row = number

    def add(self, line: dict[str, Any]) -> None:
        """Add a line of the audit log. Only its caller can read it."""
        data = _json_of({"time": timestamp(time.time()), **{key: line[key] for key in _KEYS if key in line}})
        start = self._row * _ROW_BYTES
        count = _COUNT.unpack_from(self._memory, start)[0]
        offset = start + _COUNT.size + count % SLOTS * SLOT_BYTES
        _SLOT.pack_into(self._memory, offset, 0, b"", 0)
        self._memory[offset + _SLOT.size : offset + _SLOT.size + len(data)] = data
        _SLOT.pack_into(self._memory, offset, count + 1, _digest(holder_of(line["caller"])), len(data))
        _COUNT.pack_into(self._memory, start, count + 1)

    def since(self, after: str, holder: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]], str]:
        """Return the reads of a caller after a position, all of them that are kept, and the position to go on from."""
        seen = self._position(after)
        wanted = _digest(holder)
        new, kept, counts = [], [], []
        for row in range(self._workers):
            count = int(_COUNT.unpack_from(self._memory, row * _ROW_BYTES)[0])
            counts.append(count)
            for number in range(max(0, count - SLOTS), count):
                event = self._event(row, number, wanted)
                if event is not None:
                    kept.append(event)
                    if number >= seen[row]:
                        new.append(event)
        for events in (new, kept):
            events.sort(key=lambda event: str(event.get("time")))
        return new, kept, ".".join(map(str, counts))

    def _event(self, row: int, number: int, wanted: bytes) -> dict[str, Any] | None:
        offset = row * _ROW_BYTES + _COUNT.size + number % SLOTS * SLOT_BYTES
        slot = self._memory[offset : offset + SLOT_BYTES]
        stamp, digest, size = _SLOT.unpack_from(slot)
        if stamp != number + 1 or digest != wanted:
            return None
        try:
            event = json_messages.loads(slot[_SLOT.size : _SLOT.size + size])
        except json_messages.Malformed:
            return None
        return event if isinstance(event, dict) else None

    def _position(self, text: str) -> list[int]:
        numbers = text.split(".")
        is_known = len(numbers) == self._workers and len(text) < 20 * self._workers
        if not is_known or not all(each.isascii() and each.isdigit() for each in numbers):
            return [0] * self._workers
        return [int(each) for each in numbers]


class CallerName(str):
    """The name of a caller in the audit log, together with the holder of the token."""

    holder: str

    def __new__(cls, text: str, holder: str) -> CallerName:
        made = super().__new__(cls, text)
        made.holder = holder
        return made


class HolderSession(Session):
    """A session whose callers carry the holder of the token, since only that holder may see its reads."""

    def named(self, text: str) -> str:
        return CallerName(text, self.holder)


def holder_of(caller: str) -> str:
    """Return the holder of the token behind the name of a caller."""
    return caller.holder if isinstance(caller, CallerName) else caller


class AuditAndRing:
    """An audit log whose lines about reads also go to the ring."""

    def __init__(self, audit: Audit | None, ring: ReadRing) -> None:
        self._audit = audit
        self._ring = ring

    def write(self, line: dict[str, Any]) -> None:
        """Append one line. Raises: OSError, if there is a log and it cannot be written."""
        if line["dialect"] != "view":  # names for the tree of the page, which no model receives
            self._ring.add(line)
        if self._audit is not None:
            self._audit.write(line)


def _json_of(event: dict[str, Any]) -> bytes:
    """Return the JSON of a read; long names are shortened so that it fits into a slot."""
    event = valid_tree(event)
    for max_chars in (1000, 200, 40, 4):
        shown = {key: _shortened(value, max_chars) for key, value in event.items()}
        data = b"".join(json_messages.dumps(shown))
        if len(data) <= SLOT_BYTES - _SLOT.size:
            break
    return data


def _shortened(value: Any, max_chars: int) -> Any:
    return f"...{value[-max_chars:]}" if isinstance(value, str) and len(value) > max_chars + 3 else value


def _digest(name: str) -> bytes:
    return blake2b(name.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES).digest()
