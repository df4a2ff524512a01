"""Binary property lists (plist) as JSON text. Dates are ISO texts, and data is shown by its length and first bytes."""

from __future__ import annotations

import datetime
import json
import plistlib
from collections.abc import Mapping
from typing import Any, BinaryIO

from eyespan.decoders.files import read_whole, unreadable
from eyespan.extras.documents.shared import markdown_pieces

MAX_BYTES = 64 * 1024 * 1024
MAX_VALUES = 100_000
"""A list can refer to the same values many times, so a small file can stand for a large text."""
MAX_DEPTH = 100


def decode(file: BinaryIO, params: Mapping[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    """Convert the list to JSON. Raises: Unreadable."""
    data = read_whole(file, MAX_BYTES)
    try:
        value = plistlib.loads(data)
    except MemoryError:
        raise
    except Exception:  # the module raises many types for damaged files
        raise unreadable("not a property list, or a corrupt one") from None
    counter = _Counter()
    text = json.dumps(counter.plain(value, 0), ensure_ascii=False, indent=1)
    note = "\n[the rest is left out: too many values]" if counter.is_full else ""
    return {"values": counter.count, "left_out_values": counter.is_full}, [markdown_pieces.encode(text + note + "\n")]


class _Counter:
    """Turns values into those that JSON has, up to a limit."""

    def __init__(self) -> None:
        self.count = 0
        self.is_full = False

    def plain(self, value: Any, depth: int) -> Any:
        self.count += 1
        if self.count > MAX_VALUES:
            self.is_full = True
            return "..."
        if depth > MAX_DEPTH:
            return "[nested too deeply]"
        if isinstance(value, dict):
            return {str(key): self.plain(item, depth + 1) for key, item in value.items() if not self.is_full}
        if isinstance(value, (list, tuple)):
            return [self.plain(item, depth + 1) for item in value if not self.is_full]
        if isinstance(value, (bytes, bytearray)):
            start = bytes(value[:16]).hex()
            return f"[data of {len(value)} bytes: {start}{'...' if len(value) > 16 else ''}]"
        if isinstance(value, datetime.datetime):
            return value.isoformat()
        if isinstance(value, plistlib.UID):
            return f"UID {value.data}"
        return value if isinstance(value, (str, int, bool, type(None))) else repr(value)
