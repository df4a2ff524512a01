"""What `eyespan read --json` prints: one JSON object per part and per error, each on a line.

    {"target": "app.py:3-4", "type": "text", "first_line": 3, "line_count": 2, "more": true, "text": "..."}
    {"target": "paper.pdf", "type": "note", "text": "..."}
    {"target": "shot.png", "type": "image", "media_type": "image/png", "data": "<base64>"}
    {"target": "src", "type": "directory", "entries": [{"name": "app.py", "type": "file"}], "is_complete": true}
    {"target": "nope.py", "type": "error", "code": "not_found", "message": "..."}

The lines of a long text come in several objects, so a program can read a file of any size as it arrives.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from eyespan.errors import ReadError
from eyespan.model import BytesPart, ImagePart, NotePart, Part, RowsPart, TextPart

if TYPE_CHECKING:
    from eyespan.guard.listing import Listing


class JsonLines:
    """Formats the parts of documents for a program and passes them to `write`."""

    def __init__(self, write: Callable[[bytes], None]) -> None:
        self._write = write
        self._target = ""

    def start(self, target: str) -> None:
        """Name the target that the following parts belong to."""
        self._target = target

    def header(self, name: str) -> None:
        """Write nothing: every object names its target."""

    def part(self, part: Part) -> None:
        """Write one part of a document."""
        self._put(_fields(part))

    def listing(self, listing: Listing) -> None:
        """Write the names in a directory."""
        entries = [{"name": entry.name, "type": entry.what} for entry in listing.entries]
        self._put({"type": "directory", "entries": entries, "is_complete": not listing.partial})

    def error(self, error: ReadError, message: str) -> None:
        """Write the reason why a target, or the rest of it, was not read."""
        self._put({"type": "error", "code": error.code, "message": message})

    def _put(self, fields: dict[str, Any]) -> None:
        line = json.dumps({"target": self._target, **fields}, ensure_ascii=False)
        self._write(line.encode("utf-8", "backslashreplace") + b"\n")


def _fields(part: Part) -> dict[str, Any]:
    match part:
        case TextPart():
            return {
                "type": "text",
                "first_line": part.first_line,
                "line_count": part.line_count,
                "more": part.more,
                "text": part.data.decode("utf-8", "replace"),
            }
        case RowsPart():
            rows = [{"line": number, "text": row.decode("utf-8", "replace")} for number, row in part.rows]
            return {"type": "rows", "rows": rows}
        case NotePart():
            return {"type": "note", "text": part.text}
        case ImagePart():
            return {"type": "image", "media_type": part.media_type, "data": b64encode(part.data).decode("ascii")}
        case BytesPart():
            return {"type": "bytes", "data": b64encode(part.data).decode("ascii")}
