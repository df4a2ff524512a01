"""Count what an answer shows of a file and what it leaves out, for `Reply.facts`, in every dialect alike."""

from __future__ import annotations

from typing import Any

from eyespan import _native
from eyespan.escape import is_valid, written_path
from eyespan.model import Document, ReadRequest, RowsPart, TextPart


def measure(
    request: ReadRequest,
    document: Document,
    max_line_bytes: int | None,
    max_line_chars: int | None,
) -> dict[str, Any]:
    """Return the facts about a document that was read for a request. Call it before the document is rendered.

    `max_line_bytes` and `max_line_chars` are the longest line that the dialect shows whole; None is no limit.
    """
    facts: dict[str, Any] = {}
    if document.facts.exact:
        facts["file_bytes"] = document.facts.size_bytes
    part = document.parts[0] if document.parts else None
    longest = max_line_bytes or max_line_chars
    if isinstance(part, TextPart):
        facts["lines"] = part.line_count
        if part.total_lines is not None:
            facts["total_lines"] = part.total_lines
        if longest:
            cut = _native.longer(part.data, longest, max_line_bytes is None)
            if cut:
                facts["cut_lines"] = cut
        if part.more and part.line_count and part.first_line:
            following = part.first_line + part.line_count
            facts["left_out"] = [f"{as_asked(request.path)}:{following}-"]
    elif isinstance(part, RowsPart):
        facts["lines"] = len(part.rows)
        cut = sum([len(row.decode("utf-8", "replace").encode()) > longest for _, row in part.rows]) if longest else 0
        if cut:
            facts["cut_lines"] = cut
    if "left_out" in document.extra:
        first, last = document.extra["left_out"]
        facts["left_out"] = [f"{as_asked(request.path)}:p{first}-{last}"]
    return facts


def as_asked(path: str) -> str:
    """Return a path for a selector: as it was asked for, or with escapes if it is not Unicode."""
    return path if is_valid(path) else written_path(path)
