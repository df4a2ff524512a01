"""Archives, when no member is asked for: what they hold.

Options: `max_members` (how many are listed).
"""

from __future__ import annotations

from eyespan.model import NotePart
from eyespan.sources import read_contents
from eyespan.sources.members import DIRECTORY, FILE, HARD_LINK, LINK, canonical_name
from eyespan.sources.nested import NestedSource

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from eyespan.context import CallContext
    from eyespan.model import Document, Selection
    from eyespan.opened import Opened
    from eyespan.sources.members import Entry

MAX_NAME_CHARS = 300


def read(opened: Opened, selection: Selection, context: CallContext) -> Document:
    """One note: a line for each member, with its size in bytes.

    Facts: `format`, `total_members`, `members` (name, size_bytes, what), `truncated`, and perhaps `directory` and
    `complaint` (why there may be more). Members that a rule forbids are left out. A name in the note is written so that
    it stays on its line.

    Raises: Unreadable.
    """
    source, policy = opened.source, opened.policy
    directory = source.directory if isinstance(source, NestedSource) else None
    contents = read_contents(source, context)
    prefix = canonical_name(directory) + "/" if directory and canonical_name(directory) else ""
    where = source.path.removesuffix(f"!/{directory}").replace("!/", "/")
    entries = [
        entry
        for entry in contents.entries
        if canonical_name(entry.name).startswith(prefix) and policy.rule_against(f"{where}/{entry.name}") is None
    ]
    most = opened.request.options.archive.max_members
    shown = entries[:most]
    lines = [_line(entry) for entry in shown]
    if len(entries) > len(shown):
        lines.append(f"... {len(entries) - len(shown)} more members")
    if contents.complaint:
        lines.append(f"... the archive cannot be listed to its end: {contents.complaint}")
    below = f" in {_one_line(directory)}" if directory else ""
    head = f"{contents.format} archive, {len(entries)} member{'s' * (len(entries) != 1)}{below}"
    extra: dict[str, Any] = {
        "format": contents.format,
        "total_members": len(entries),
        "members": [{"name": entry.name, "size_bytes": entry.size_bytes, "what": entry.what} for entry in shown],
        "truncated": len(entries) > len(shown),
    }
    if directory:
        extra["directory"] = directory
    if contents.complaint:
        extra["complaint"] = contents.complaint
    return opened.document((NotePart("\n".join([head, *lines])),), extra)


def _line(entry: Entry) -> str:
    name = _one_line(entry.name)
    if entry.what == FILE:
        return f"{entry.size_bytes:>12} {name}{' (encrypted)' if entry.is_encrypted else ''}"
    if entry.what == DIRECTORY:
        return f"{'':>12} {name.rstrip('/')}/"
    if entry.what in (LINK, HARD_LINK):
        return f"{'':>12} {name} -> {_one_line(entry.target) or '?'}"
    return f"{'':>12} {name} ({entry.what})"


def _one_line(name: str) -> str:
    """A name that cannot be taken for more than one line, nor turn the line around."""
    if not name.isprintable():
        name = "".join([c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in name])
    return name if len(name) <= MAX_NAME_CHARS else name[:MAX_NAME_CHARS] + "..."
