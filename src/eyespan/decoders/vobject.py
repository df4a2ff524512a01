"""Calendars (ics) and contacts (vcf) as lists: each event, task or person under a heading, with its fields.

Folded lines are joined, escapes and quoted-printable texts are decoded, and data such as photos is counted, not shown.
"""

from __future__ import annotations

import quopri
import re
from collections.abc import Mapping
from typing import Any, BinaryIO

from eyespan.decoders import html, markdown
from eyespan.decoders.files import read_whole, unreadable

MAX_BYTES = 64 * 1024 * 1024
MAX_VALUE_CHARS = 20_000
_FOLD = re.compile(r"\r?\n[ \t]")
_SOFT_BREAK = re.compile(r"=\r?\n")
_DATE = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)(\d\d)(Z?))?")
_ESCAPE = re.compile(r"\\([\\;,nN])")
_NOUNS = {"VEVENT": "Event", "VTODO": "Task", "VJOURNAL": "Entry", "VFREEBUSY": "Busy", "VCARD": "Contact"}
_TITLES = ("SUMMARY", "FN")
_LEFT_OUT = frozenset(("BEGIN", "END", "VERSION", "PRODID", "UID", "DTSTAMP", "SEQUENCE", "CALSCALE", "REV", "N"))
_DATA = ("PHOTO", "LOGO", "SOUND", "KEY", "ATTACH")


def decode(file: BinaryIO, params: Mapping[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    """Convert the entries to Markdown. Raises: Unreadable."""
    text = html.decode_text(read_whole(file, MAX_BYTES))
    if "BEGIN:" not in text[:10_000].upper():
        raise unreadable("not a calendar or a contact, despite its name")
    text = _FOLD.sub("", _SOFT_BREAK.sub("", text) if "QUOTED-PRINTABLE" in text.upper() else text)
    blocks: list[str] = []
    entries = 0
    open_entries: list[tuple[str, list[str], list[str]]] = []
    for line in text.replace("\r\n", "\n").split("\n"):
        name, options, value = _field(line)
        if name == "BEGIN":
            open_entries.append((value.strip().upper(), [], []))
        elif name == "END" and open_entries:
            kind, titles, fields = open_entries.pop()
            if kind in _NOUNS:
                entries += 1
                blocks.append(f"## {_NOUNS[kind]}" + (f": {' '.join(titles)}" if titles else ""))
                blocks.append("\n".join(fields))
        elif name and open_entries and name not in _LEFT_OUT:
            shown = " ".join(_value(name, options, value).split())
            if name in _TITLES:
                open_entries[-1][1].append(shown)
            elif shown:
                open_entries[-1][2].append(f"- {_label(name, options)}: {shown}")
    return {"entries": entries}, [markdown.finish(blocks)]


def _field(line: str) -> tuple[str, list[str], str]:
    """Return the name of a field without its group, its options and its value."""
    head, separator, value = line.partition(":")
    while separator and head.count('"') % 2:  # a colon in quotes
        more, separator, value = value.partition(":")
        head += ":" + more
    if not separator:
        return "", [], ""
    name, *options = head.split(";")
    return name.rpartition(".")[2].strip().upper(), options, value


def _label(name: str, options: list[str]) -> str:
    kinds = [option.partition("=")[2] or option for option in options if option.upper().startswith(("TYPE=", "TZID="))]
    label = name.lower().replace("dtstart", "start").replace("dtend", "end")
    return f"{label} ({', '.join(kinds)})" if kinds else label


def _value(name: str, options: list[str], value: str) -> str:
    upper = [option.upper() for option in options]
    if any("QUOTED-PRINTABLE" in option for option in upper):
        value = quopri.decodestring(value.encode("utf-8", "replace")).decode("utf-8", "replace")
    if name in _DATA and ("BASE64" in "".join(upper) or "ENCODING=B" in upper or value.startswith("data:")):
        return f"[data of {len(value)} characters is left out]"
    found = _DATE.fullmatch(value.strip())
    if found:
        year, month, day, hour, minute, second, zone = found.groups()
        date = f"{year}-{month}-{day}"
        return date if hour is None else f"{date} {hour}:{minute}:{second}{' UTC' if zone else ''}"
    value = _ESCAPE.sub(lambda escape: " " if escape[1] in "nN" else escape[1], value)
    return value if len(value) <= MAX_VALUE_CHARS else f"{value[:MAX_VALUE_CHARS]}... ({len(value)} characters)"
