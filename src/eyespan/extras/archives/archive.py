"""List the members of an archive, if none of them is selected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eyespan.context import CallContext
from eyespan.escape import short_name
from eyespan.extras.archives.nested_files import containers, has_denied_target, is_denied, read_contents
from eyespan.model import Document, NotePart, Selection
from eyespan.policy import Policy
from eyespan.sources.members import DIRECTORY, FILE, HARD_LINK, LINK, MemberEntry, canonical_name
from eyespan.sources.nested import NestedSource

if TYPE_CHECKING:
    from eyespan.opened import Opened


_CHECKED_ENTRIES = 64
"""The entries between two checks of the deadline."""


def read(opened: Opened, selection: Selection, context: CallContext) -> Document:
    """Return one note: a line for each member, with its size in bytes.

    Facts: `format`, `total_members`, `members` (name, size_bytes, what), `truncated`; also `directory` if one is
    selected, and `complaint` if the archive cannot be listed to its end. Members that a rule forbids are left out,
    and so are the targets of links to them. Names in the note are escaped.

    Raises: Unreadable.
    """
    source, policy = opened.source, opened.policy
    directory = source.directory if isinstance(source, NestedSource) else None
    contents = read_contents(source, context)
    prefix = canonical_name(directory) + "/" if directory and canonical_name(directory) else ""
    places = containers(source)
    entries = []
    for number, entry in enumerate(contents.entries):
        if not number % _CHECKED_ENTRIES:
            context.check()
        if canonical_name(entry.name).startswith(prefix) and not is_denied(entry, places, policy):
            entries.append(entry)
    listed = entries[: opened.request.options.archive.max_members]
    location = f" in {short_name(directory)}" if prefix and directory else ""
    lines = [f"{contents.format} archive, {len(entries)} member{'s' * (len(entries) != 1)}{location}"]
    lines += [_member_line(entry, places, policy) for entry in listed]
    if len(entries) > len(listed):
        lines.append(f"... {len(entries) - len(listed)} more members")
    if contents.complaint:
        lines.append(f"... the archive cannot be listed to its end: {contents.complaint}")
    facts: dict[str, Any] = {
        "format": contents.format,
        "total_members": len(entries),
        "members": [{"name": entry.name, "size_bytes": entry.size_bytes, "what": entry.what} for entry in listed],
        "truncated": len(entries) > len(listed),
    }
    if directory:
        facts["directory"] = directory
    if contents.complaint:
        facts["complaint"] = contents.complaint
    return opened.document((NotePart("\n".join(lines)),), facts)


def _member_line(entry: MemberEntry, places: tuple[str, ...], policy: Policy) -> str:
    name = short_name(entry.name)
    if entry.what == FILE:
        return f"{entry.size_bytes:>12} {name}{' (encrypted)' if entry.is_encrypted else ''}"
    if entry.what == DIRECTORY:
        return f"{'':>12} {name.rstrip('/')}/"
    if entry.what in (LINK, HARD_LINK):
        target = "" if has_denied_target(entry, places, policy) else short_name(entry.target)
        return f"{'':>12} {name} -> {target or '?'}"
    return f"{'':>12} {name} ({entry.what})"
