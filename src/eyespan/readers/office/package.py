"""Zip packages and the XML in them, as office files and e-books have them: bounded, never unpacked to disk.

Every part is read into memory only when it is asked for and only if what it says of its size is within reason. A
document type is refused outright, so there are no entities, internal or external, to expand.
"""

from __future__ import annotations

import codecs
import io
import posixpath
import zipfile
import zlib
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote
from xml.parsers import expat

from eyespan.errors import Unreadable

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

    Start = Callable[[str, dict[str, str]], None]
    End = Callable[[str], None]

MIB = 1024 * 1024
MAX_PARTS = 10_000
MAX_PART_BYTES = 64 * MIB
MAX_READ_BYTES = 128 * MIB
"""Of all parts of one document together."""
MAX_HELD_BYTES = 16 * MIB
MAX_RATIO = 300
"""Of a part to its compressed form, above 1 MiB; deflate itself ends at 1032. XML of large tables reaches 100."""
MAX_DEPTH = 256

# Behind the walls nothing can be opened, also no module: names of parts may need this one.
codecs.lookup("cp437")

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""How Office files of before 2007 start, and newer ones that are encrypted."""


class Package:
    """The parts of one zip file by name."""

    def __init__(self, file: BinaryIO, kind: str) -> None:
        self.kind = kind
        self._left = MAX_READ_BYTES
        self._data = b""
        """All of it, if it is small."""
        try:
            if file.seek(0, 2) <= MAX_HELD_BYTES:
                file.seek(0)
                self._data = file.read()
            self._zip = zipfile.ZipFile(io.BytesIO(self._data) if self._data else file)
        except (zipfile.BadZipFile, zlib.error, OSError, ValueError, NotImplementedError, EOFError):
            file.seek(0)
            if file.read(8) == OLE:
                raise self.unreadable("it is protected by a password, or of a format from before 2007") from None
            raise self.unreadable("its zip container is damaged, or it is none") from None
        parts = self._zip.infolist()
        if len(parts) > MAX_PARTS:
            raise self.unreadable(f"it has {len(parts)} parts, the limit is {MAX_PARTS}")
        self._parts = {part.filename.lower(): part for part in parts}

    def unreadable(self, reason: str) -> Unreadable:
        return Unreadable("", kind=self.kind, reason=reason)

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._parts

    def check_whole(self) -> None:
        """For a library that unpacks for itself: all parts together must be within reason.

        Raises: Unreadable.
        """
        total = 0
        for part in self._parts.values():
            self._check(part)
            total += part.file_size
        if total > MAX_READ_BYTES:
            raise self.unreadable(f"its parts hold {total} bytes, the limit is {MAX_READ_BYTES}")

    def _check(self, part: zipfile.ZipInfo) -> None:
        if part.flag_bits & 1:
            raise self.unreadable("it is encrypted")
        if part.file_size > MAX_PART_BYTES:
            raise self.unreadable(f"a part of it holds {part.file_size} bytes, the limit is {MAX_PART_BYTES}")
        if part.file_size > MIB and part.file_size > MAX_RATIO * max(1, part.compress_size):
            raise self.unreadable("a part of it is compressed beyond reason (a zip bomb)")

    def read(self, name: str) -> bytes:
        """One part.

        Raises: Unreadable, if there is no such part, or it is damaged or too large.
        """
        part = self._parts.get(name.lower())
        if part is None:
            raise self.unreadable(f"it lacks the part {name}")
        self._check(part)
        self._left -= part.file_size
        if self._left < 0:
            raise self.unreadable(f"its parts hold more than {MAX_READ_BYTES} bytes")
        try:
            if self._data and part.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                data = self._at_hand(part)
            else:
                with self._zip.open(part) as stream:
                    data = stream.read(part.file_size + 1)  # what a part holds beyond its word is never asked for
        except (zipfile.BadZipFile, zlib.error, OSError, ValueError, NotImplementedError, EOFError, RuntimeError):
            raise self.unreadable(f"its part {name} is damaged") from None
        return data

    def _at_hand(self, part: zipfile.ZipInfo) -> bytes:
        """A part of a package that is held: a presentation has a thousand, and opening one as a file takes its time."""
        at = part.header_offset
        if self._data[at : at + 4] != b"PK\x03\x04":
            raise zipfile.BadZipFile
        names = int.from_bytes(self._data[at + 26 : at + 28], "little")
        extra = int.from_bytes(self._data[at + 28 : at + 30], "little")
        start = at + 30 + names + extra
        data = self._data[start : start + part.compress_size]
        if part.compress_type == zipfile.ZIP_DEFLATED:
            data = zlib.decompressobj(-15).decompress(data, part.file_size + 1)
        if len(data) != part.file_size or zlib.crc32(data) != part.CRC:
            raise zipfile.BadZipFile
        return data

    def names(self, prefix: str) -> list[str]:
        """The parts whose names start so, in the order of the package."""
        return [part.filename for name, part in self._parts.items() if name.startswith(prefix)]

    def parse(
        self,
        name: str,
        start: Start,
        end: End | None = None,
        text: Callable[[str], None] | None = None,
        wanted: frozenset[str] | None = None,
        skipped: frozenset[str] = frozenset(),
    ) -> None:
        """Walks through a part's XML: `start(tag, attributes)`, `end(tag)`, `text(data)`; tags as `short` has them.

        Only the tags `wanted` are told (all, without it), and nothing of what is inside those `skipped`.

        Raises: Unreadable.
        """
        walk_xml(self.read(name), self.kind, name, start, end, text, wanted, skipped)

    def relations(self, name: str) -> dict[str, tuple[str, str]]:
        """Where a part points to, by id: (last word of the type, target); targets outside the package as they are."""
        folder, _, leaf = name.rpartition("/")
        where = f"{folder}/_rels/{leaf}.rels" if folder else f"_rels/{leaf}.rels"
        found: dict[str, tuple[str, str]] = {}
        if where not in self:
            return found

        def start(tag: str, attributes: dict[str, str]) -> None:
            if local(tag) == "Relationship":
                target = attributes.get("Target", "")
                if attributes.get("TargetMode") != "External":
                    target = target.lstrip("/") if target.startswith("/") else posixpath.join(folder, target)
                    target = posixpath.normpath(unquote(target)) if target else ""
                found[attributes.get("Id", "")] = (attributes.get("Type", "").rpartition("/")[2], target)

        self.parse(where, start)
        return found


_PREFIXES = (
    ("wordprocessingml", "w:"),
    ("presentationml", "p:"),
    ("spreadsheetml", "x:"),
    ("markup-compatibility", "mc:"),
    ("officeDocument/2006/math", "m:"),
    ("officeDocument/math", "m:"),
    ("drawingml", "a:"),
    ("relationships", "r:"),
)


_tags: dict[str, str] = {}
_names: dict[str, str] = {}
"""Names seen so far as they are compared; many parts of one document have the same. A job's process ends with it."""


def short(name: str) -> str:
    """A name with its namespace as one that is easy to compare: `w:p`, whatever prefix or edition the file uses."""
    space, _, leaf = name.rpartition(" ")
    prefix = next((prefix for part, prefix in _PREFIXES if part in space), "")
    _tags[name] = found = prefix + leaf
    return found


def _attribute(name: str) -> str:
    """The name alone, but for the ids of relations, which are `r:id`."""
    space, _, leaf = name.rpartition(" ")
    _names[name] = found = f"r:{leaf}" if space and "relationships" in space else leaf
    return found


def local(tag: str) -> str:
    return tag.rpartition(":")[2]


def walk_xml(
    data: bytes,
    kind: str,
    name: str,
    start: Start,
    end: End | None = None,
    text: Callable[[str], None] | None = None,
    wanted: frozenset[str] | None = None,
    skipped: frozenset[str] = frozenset(),
) -> None:
    """As `Package.parse`, for XML that is at hand."""
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    tags, names = _tags, _names
    depth = skip_at = 0

    def on_start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth, skip_at
        depth += 1
        if depth > MAX_DEPTH:
            raise Unreadable("", kind=kind, reason=f"its XML is nested more than {MAX_DEPTH} levels deep")
        if skip_at:
            return
        known = tags.get(tag) or short(tag)
        if known in skipped:
            skip_at = depth
        elif wanted is None or known in wanted:
            start(known, {names.get(key) or _attribute(key): attributes[key] for key in attributes})

    def on_end(tag: str) -> None:
        nonlocal depth, skip_at
        depth -= 1
        if skip_at:
            if depth < skip_at:
                skip_at = 0
        elif end is not None:
            known = tags[tag]
            if wanted is None or known in wanted:
                end(known)

    def refuse(*_: Any) -> None:
        raise Unreadable("", kind=kind, reason="its XML has a document type, which no such file needs; it is refused")

    parser.StartElementHandler = on_start
    parser.EndElementHandler = on_end
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    if text is not None:
        parser.CharacterDataHandler = text
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        reason = f"the XML of its part {name} is damaged (line {error.lineno})"
        raise Unreadable("", kind=kind, reason=reason) from None
    except (ValueError, LookupError) as error:  # an encoding that is unknown, or that expat does not take
        raise Unreadable("", kind=kind, reason=f"the XML of its part {name} cannot be decoded: {error}") from None
