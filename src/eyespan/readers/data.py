"""Describe a binary file that no other reader shows: one line with its type, size, facts and what opens it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eyespan.context import CallContext
from eyespan.errors import Cancelled, ReadError, TimedOut
from eyespan.escape import short_name
from eyespan.model import Document, NotePart, Selection
from eyespan.sources import containers, is_denied
from eyespan.sources.members import DIRECTORY, FILE, Entry

if TYPE_CHECKING:
    from eyespan.opened import Opened


def read(opened: Opened, selection: Selection, context: CallContext) -> Document:
    """Return one note: the description, and the members of an archive that cannot be opened itself.

    Facts: `type` ("" if it is not known), `size_bytes`, and `members` (names) of an archive. Members that rules forbid
    are left out.

    Raises: TimedOut, Cancelled.
    """
    source = opened.source
    dot = source.name.rfind(".")
    suffix = "" if dot < 0 else source.name[dot:].lower()
    try:
        found, _ = opened.decode({"suffix": suffix}, context)
    except (TimedOut, Cancelled):
        raise
    except ReadError:
        found = {}
    entries = _entries(found.get("members"))
    places = containers(source)
    allowed = [entry for entry in entries if not is_denied(entry, places, opened.policy)]
    lines = [_description(found, source.size_bytes, len(allowed))]
    listed = allowed[: opened.request.options.archive.max_members]
    lines += [_member_line(entry) for entry in listed]
    if len(allowed) > len(listed):
        lines.append(f"... {len(allowed) - len(listed)} more members")
    facts: dict[str, Any] = {"type": _text(found.get("type")), "size_bytes": source.size_bytes}
    if entries:
        facts["members"] = [entry.name for entry in listed]
    return opened.document((NotePart("\n".join(lines)),), facts)


def _description(found: dict[str, Any], size_bytes: int, count: int) -> str:
    size = f"{size_bytes:,} bytes"
    kind = _text(found.get("type"))
    if not kind:
        begins = _text(found.get("first_bytes"))
        return f"binary data of unknown type, {size}{f', begins with {begins}' if begins else ''}"
    facts = found.get("facts")
    details = [_text(fact) for fact in facts if _text(fact)] if isinstance(facts, list) else []
    if isinstance(found.get("members"), list):
        details.append(f"{count} member{'' if count == 1 else 's'}")
    opener = _text(found.get("opener"))
    shown = ", ".join([kind, size, *details])
    return f"{shown}; to open it: {opener}" if opener else shown


def _text(value: object) -> str:
    return value[:1000] if isinstance(value, str) else ""


def _entries(members: object) -> list[Entry]:
    """Return the members that a decoder found, as far as they are valid."""
    entries = []
    for member in members if isinstance(members, list) else []:
        if isinstance(member, list) and len(member) == 2 and isinstance(member[0], str) and isinstance(member[1], int):
            name, size = member
            entries.append(Entry(name, DIRECTORY if name.endswith("/") else FILE, size, 0))
    return entries


def _member_line(entry: Entry) -> str:
    size = "" if entry.size_bytes < 0 else str(entry.size_bytes)
    return f"{size:>12} {short_name(entry.name)}"
