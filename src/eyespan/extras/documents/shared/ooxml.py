"""Packages: the zip archives of XML parts that office files and e-books are, read in memory within limits.

A part is read only when it is requested, and only if its declared size is within the limits. Nothing is written to
disk.
"""

from __future__ import annotations

import bz2  # noqa: F401  # `sources.streams` imports it when needed, which the sandbox does not allow
import codecs
import io
import lzma  # noqa: F401  # likewise
import posixpath
import re
import zipfile
from collections.abc import Sequence, Set
from functools import lru_cache
from typing import BinaryIO
from urllib.parse import unquote
from xml.etree.ElementTree import Element

from eyespan.context import CallContext
from eyespan.decoders.files import unreadable
from eyespan.errors import Unreadable
from eyespan.extras.documents.shared import salvage, xml_tree
from eyespan.extras.documents.shared.xml_tree import GrowingElement
from eyespan.source import Source
from eyespan.sources import zips
from eyespan.sources.members import FILE, MemberEntry

MIB = 1024 * 1024
MAX_PARTS = 10_000
MAX_PART_BYTES = 64 * MIB
MAX_READ_BYTES = 128 * MIB
"""The limit for all parts of one document together."""
MAX_HELD_BYTES = 16 * MIB
MAX_RATIO = 300
"""The limit for the ratio of a part's size to its compressed size, above 1 MiB. XML of large tables reaches 100."""

# In the sandbox no module can be imported, and names of parts may need this codec.
codecs.lookup("cp437")

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""The first bytes of Office files from before 2007, and of encrypted newer ones."""
ENCRYPTED = "it is encrypted; its password is needed to read it"


def is_encrypted_ole(data: bytes) -> bool:
    """Return True if these are the bytes of an encrypted package, by the name of the stream that holds it."""
    return data.startswith(OLE) and "EncryptedPackage".encode("utf-16-le") in data


class _FileSource(Source):
    """A file object as a source. A small one is held in memory: a presentation may have a thousand parts."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.data: bytes | None = None
        """All bytes of a small file."""
        self._first_bytes = None
        self.asked = self.path = self.canonical = ""
        self.size_bytes = file.seek(0, 2)
        if self.size_bytes <= MAX_HELD_BYTES:
            self.data = self.read_fully(0, self.size_bytes)

    def read_at(self, offset: int, size_bytes: int) -> bytes:
        if self.data is not None:
            return self.data[offset : offset + size_bytes]
        self._file.seek(offset)
        return self._file.read(size_bytes)


class Package:
    """The parts of one package by name; the case of letters does not matter."""

    def __init__(self, file: BinaryIO, harmless_doctype: re.Pattern[bytes] | None = None) -> None:
        """Read the table of contents. A document type that `harmless_doctype` matches is ignored.

        Raises: Unreadable.
        """
        self._harmless_doctype = harmless_doctype
        self._source = _FileSource(file)
        self._left_bytes = MAX_READ_BYTES
        self._recovered: dict[str, bytes] = {}
        """Contents of parts by name in lower case, if the table of contents is damaged."""
        self.complaints: list[str] = []
        """What is damaged and was left out or recovered."""
        try:
            entries = self._find_parts()
        except Unreadable:
            if self._source.read_fully(0, len(OLE)) == OLE:
                whole = self._source.read_fully(0, min(self._source.size_bytes, MAX_PART_BYTES))
                old = "a format from before 2007; convert it to a newer one to read it"
                raise unreadable(ENCRYPTED if is_encrypted_ole(whole) else old) from None
            raise unreadable("not a zip archive, or a corrupt one") from None
        if len(entries) > MAX_PARTS:
            raise unreadable(f"it has more than {MAX_PARTS} parts")
        self._entries = {entry.name.lower(): entry for entry in entries}

    def _find_parts(self) -> Sequence[MemberEntry]:
        """Return the parts by the table of contents, or those that can be recovered without it. Raises: Unreadable."""
        try:
            entries = zips.read_contents(self._source, CallContext()).entries
            if entries:
                return entries
        except Unreadable:
            if self._source.read_fully(0, 4) != b"PK\3\4":
                raise
        whole = self._source.read_fully(0, min(self._source.size_bytes, MAX_PART_BYTES))
        recovered = salvage.members(whole, max_member_bytes=MAX_PART_BYTES, max_bytes=MAX_READ_BYTES)
        if len(recovered) < 2:
            raise unreadable("corrupt")
        self._recovered = {name.lower(): data for name, data in recovered.items()}
        self.complaints.append(
            f"the file is damaged; {len(recovered)} of its parts were recovered, others may be missing"
        )
        return [MemberEntry(name, FILE, len(data), 0, packed_bytes=len(data)) for name, data in recovered.items()]

    def notes(self) -> list[str]:
        """Return the complaints as lines in brackets."""
        return [f"[{complaint}]" for complaint in self.complaints]

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._entries

    def names(self, prefix: str) -> list[str]:
        """Return the names of parts that start with `prefix`, in the order of the package."""
        return [entry.name for key, entry in self._entries.items() if key.startswith(prefix)]

    def repaired(self, data: bytes) -> bytes:
        """Return the bytes of the package for a library that reads it itself; made anew if they are damaged."""
        if not self._recovered:
            return data
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            for key, entry in self._entries.items():
                archive.writestr(entry.name, self._recovered[key])
        return made.getvalue()

    def with_part(self, name: str, data: bytes) -> bytes:
        """Return the bytes of the package with other contents of one part. Raises: Unreadable."""
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as archive:
            for key, entry in self._entries.items():
                archive.writestr(entry.name, data if key == name.lower() else self.read(key))
        return made.getvalue()

    def check_all(self) -> None:
        """Check the sizes of all parts, for a library that unpacks them itself. Raises: Unreadable."""
        for entry in self._entries.values():
            self._check(entry)
        total = sum([entry.size_bytes for entry in self._entries.values()])
        if total > MAX_READ_BYTES:
            raise unreadable(f"its parts have {total} bytes, the limit is {MAX_READ_BYTES}")

    def _check(self, entry: MemberEntry) -> None:
        if entry.is_encrypted:
            raise unreadable("it is encrypted")
        size = max(entry.size_bytes, entry.packed_bytes)
        if size > MAX_PART_BYTES:
            raise unreadable(f"one of its parts has {size} bytes, the limit is {MAX_PART_BYTES}")
        if entry.size_bytes > MIB and entry.size_bytes > MAX_RATIO * max(1, entry.packed_bytes):
            raise unreadable(f"one of its parts expands to more than {MAX_RATIO} times its size (a zip bomb)")

    def read(self, name: str) -> bytes:
        """Return one part. Raises: Unreadable, if it is missing, corrupt or too large."""
        entry = self._entries.get(name.lower())
        if entry is None:
            raise unreadable(f"its part {name} is missing")
        self._check(entry)
        self._left_bytes -= entry.size_bytes
        if self._left_bytes < 0:
            raise unreadable(f"its parts have more than {MAX_READ_BYTES} bytes")
        if name.lower() in self._recovered:
            return self._recovered[name.lower()]
        try:
            return zips.read_member(self._source, entry)
        except Unreadable:
            raise unreadable(f"its part {name} is corrupt") from None

    def read_sound(self, name: str) -> bytes:
        """Return a part, or its start if the rest is corrupt, with a complaint. Raises: Unreadable."""
        entry = self._entries.get(name.lower())
        if entry is not None:
            self._check(entry)
        try:
            return self.read(name)
        except Unreadable:
            if entry is None or self._left_bytes < 0:
                raise
            packed = self._source.read_fully(entry.offset, min(entry.packed_bytes + 2048, MAX_PART_BYTES))
            limit = min(MAX_PART_BYTES, MAX_RATIO * MIB + entry.size_bytes)
            recovered = salvage.members(packed, max_member_bytes=limit, max_bytes=limit)
            if not recovered.get(entry.name):
                raise
            self.complaints.append(f"its part {name} is damaged; what follows the damage is left out")
            return recovered[entry.name]

    def parse_optional(self, name: str) -> Element | None:
        """Return the root element of a part that a document can do without. If it is corrupt: None, and a complaint."""
        try:
            return self.parse(name) if name in self else None
        except Unreadable as error:
            self.complaints.append(f"{error.reason}; it is left out")
            return None

    def read_start(self, name: str, size_bytes: int) -> bytes:
        """Return the first bytes of a part; b"" if they cannot be read."""
        entry = self._entries.get(name.lower())
        if entry is None or entry.is_encrypted:
            return b""
        if name.lower() in self._recovered:
            return self._recovered[name.lower()][:size_bytes]
        try:
            return zips.read_member_start(self._source, entry, size_bytes)
        except Unreadable:
            return b""

    def size_of(self, name: str) -> int:
        """Return the size of a part in bytes; 0 if there is none of this name."""
        entry = self._entries.get(name.lower())
        return 0 if entry is None else entry.size_bytes

    def parse(self, name: str) -> Element:
        """Return the root element of a part. Raises: Unreadable."""
        return xml_tree.parse(self._read_xml(name), part=name)

    def stream(self, name: str, containers: Set[str]) -> GrowingElement:
        """Return the root element of a part that is parsed on demand: see `xml_tree.stream`. Raises: Unreadable."""
        return xml_tree.stream(self._read_xml(name, is_sound=True), containers, part=name)

    def _read_xml(self, name: str, is_sound: bool = False) -> bytes:
        data = self.read_sound(name) if is_sound else self.read(name)
        return data if self._harmless_doctype is None else self._harmless_doctype.sub(b"", data, 1)

    def relations(self, name: str) -> dict[str, tuple[str, str]]:
        """Return the relations of a part by id: (last word of the type, target). External targets stay as they are.

        Raises: Unreadable.
        """
        directory, _, leaf = name.rpartition("/")
        part = f"{directory}/_rels/{leaf}.rels" if directory else f"_rels/{leaf}.rels"
        root = self.parse_optional(part)
        by_id: dict[str, tuple[str, str]] = {}
        for facts in () if root is None else root.iter():
            if xml_tree.NAMES[facts.tag] != "r:Relationship":
                continue
            target = facts.get("Target", "")
            if facts.get("TargetMode") != "External":
                target = _resolve(directory, target)
            by_id[facts.get("Id", "")] = (facts.get("Type", "").rpartition("/")[2], target)
        return by_id


@lru_cache(maxsize=4096)
def _resolve(directory: str, target: str) -> str:
    """Return the name of the part that a part in this directory refers to."""
    if not target:
        return ""
    target = target.lstrip("/") if target.startswith("/") else posixpath.join(directory, target)
    return posixpath.normpath(unquote(target))
