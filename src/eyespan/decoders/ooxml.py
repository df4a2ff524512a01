"""Zip packages and the XML in them, as office files and e-books have them: bounded, never unpacked to disk.

Every part is read into memory only when it is asked for and only if what it says of its size is within reason. A
document type is refused outright, so there are no entities, internal or external, to expand.
"""

from __future__ import annotations

import codecs
import io
import posixpath
import struct
import zipfile
import zlib
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote
from xml.parsers import expat

from eyespan.decoders.scan import MAX_DEPTH, Intricate, Plan, Tags, scan
from eyespan.errors import Unreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import BinaryIO

    Start = Callable[[str, dict[str, str]], None]
    End = Callable[[str], None]
    Text = Callable[[str], None]

MIB = 1024 * 1024
MAX_PARTS = 10_000
MAX_PART_BYTES = 64 * MIB
MAX_READ_BYTES = 128 * MIB
"""Of all parts of one document together."""
MAX_HELD_BYTES = 16 * MIB
SMALL_BYTES = 16 * 1024
"""Of a compressed part: what it can become at most, 1032 times as much, is harmless."""
MAX_RATIO = 300
"""Of a part to its compressed form, above 1 MiB; deflate itself ends at 1032. XML of large tables reaches 100."""

# Inside the sandbox no module can be imported: import this codec, which names of parts may need.
codecs.lookup("cp437")

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""How Office files of before 2007 start, and newer ones that are encrypted."""


_END = struct.Struct("<4s4H2LH")
_CENTRAL = struct.Struct("<4s4x2H4x3L3H8xL")
_LOCAL = struct.Struct("<4s22x2H")
_FILLED = 0xFFFFFFFF
"""Stands for a number that did not fit."""


class Part(NamedTuple):
    """One part as the package's directory tells of it."""

    name: str
    flags: int
    method: int
    checksum: int
    packed_bytes: int
    size_bytes: int
    offset: int


def _directory(data: bytes) -> list[Part]:
    """The directory of a package that is held, a third of what it takes `zipfile`.

    None of it where there is anything that only `zipfile` knows: a comment, more than 4 GB, other names than ASCII.
    """
    end = len(data) - _END.size
    if end < 0:
        return []
    mark, disk, first_disk, here, count, size, at, comment = _END.unpack_from(data, end)
    if mark != b"PK\5\6" or disk or first_disk or here != count or at + size != end or comment:
        return []
    parts = []
    unpack, width = _CENTRAL.unpack_from, _CENTRAL.size
    for _ in range(count):
        if at + width > end:
            return []
        mark, flags, method, checksum, packed, unpacked, name, extra, comment, offset = unpack(data, at)
        at += width
        raw = data[at : at + name]
        at += name + extra + comment
        if mark != b"PK\1\2" or not raw.isascii() or b"\0" in raw or _FILLED in (packed, unpacked, offset):
            return []
        parts.append(Part(raw.decode("ascii"), flags, method, checksum, packed, unpacked, offset))
    return parts if at == end else []


class Package:
    """The parts of one zip file by name."""

    def __init__(self, file: BinaryIO, kind: str) -> None:
        self.kind = kind
        self._left = MAX_READ_BYTES
        self._data = b""
        """All of it, if it is small."""
        self._zip: zipfile.ZipFile | None = None
        """For whatever is not at hand."""
        try:
            if file.seek(0, 2) <= MAX_HELD_BYTES:
                file.seek(0)
                self._data = file.read()
            parts = _directory(self._data)
            if not parts:
                self._zip = zipfile.ZipFile(io.BytesIO(self._data) if self._data else file)
                parts = [
                    Part(p.filename, p.flag_bits, p.compress_type, p.CRC, p.compress_size, p.file_size, p.header_offset)
                    for p in self._zip.infolist()
                ]
        except (zipfile.BadZipFile, zlib.error, OSError, ValueError, NotImplementedError, EOFError):
            file.seek(0)
            if file.read(8) == OLE:
                raise self.unreadable("it is protected by a password, or of a format from before 2007") from None
            raise self.unreadable("its zip container is damaged, or it is none") from None
        if len(parts) > MAX_PARTS:
            raise self.unreadable(f"it has {len(parts)} parts, the limit is {MAX_PARTS}")
        self._parts = {part.name.lower(): part for part in parts}

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
            total += part.size_bytes
        if total > MAX_READ_BYTES:
            raise self.unreadable(f"its parts hold {total} bytes, the limit is {MAX_READ_BYTES}")

    def _check(self, part: Part) -> None:
        if part.flags & 1:
            raise self.unreadable("it is encrypted")
        if part.size_bytes > MAX_PART_BYTES:
            raise self.unreadable(f"a part of it holds {part.size_bytes} bytes, the limit is {MAX_PART_BYTES}")
        if part.size_bytes > MIB and part.size_bytes > MAX_RATIO * max(1, part.packed_bytes):
            raise self.unreadable("a part of it is compressed beyond reason (a zip bomb)")

    def read(self, name: str) -> bytes:
        """One part.

        Raises: Unreadable, if there is no such part, or it is damaged or too large.
        """
        part = self._parts.get(name.lower())
        if part is None:
            raise self.unreadable(f"it lacks the part {name}")
        self._check(part)
        self._left -= part.size_bytes
        if self._left < 0:
            raise self.unreadable(f"its parts hold more than {MAX_READ_BYTES} bytes")
        try:
            if self._data and part.method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                return self._at_hand(part)
            self._zip = self._zip or zipfile.ZipFile(io.BytesIO(self._data))
            with self._zip.open(part.name) as stream:
                return stream.read(part.size_bytes + 1)  # what a part holds beyond its word is never asked for
        except (
            zipfile.BadZipFile,
            zlib.error,
            struct.error,
            OSError,
            ValueError,
            NotImplementedError,
            EOFError,
            RuntimeError,
            KeyError,
        ):
            raise self.unreadable(f"its part {name} is damaged") from None

    def _at_hand(self, part: Part) -> bytes:
        """A part of a package that is held: a presentation has a thousand, and opening one as a file takes its time."""
        mark, names, extra = _LOCAL.unpack_from(self._data, part.offset)
        start = part.offset + _LOCAL.size + names + extra
        data = self._data[start : start + part.packed_bytes]
        if part.method == zipfile.ZIP_DEFLATED:
            if part.packed_bytes <= SMALL_BYTES:
                data = zlib.decompress(data, -15, part.size_bytes or 1)
            else:
                data = zlib.decompressobj(-15).decompress(data, part.size_bytes + 1)
        if mark != b"PK\x03\x04" or len(data) != part.size_bytes or zlib.crc32(data) != part.checksum:
            raise zipfile.BadZipFile
        return data

    def names(self, prefix: str) -> list[str]:
        """The parts whose names start so, in the order of the package."""
        return [part.name for name, part in self._parts.items() if name.startswith(prefix)]

    def parse(
        self,
        name: str,
        start: Start,
        end: End | None = None,
        text: Text | None = None,
        tags: Tags | None = None,
        whole: Text | None = None,
    ) -> None:
        """Walks through a part's XML: `start(tag, attributes)`, `end(tag)`, `text(data)`; tags as `short` has them.

        With `tags`, what these say; without, all elements and all text. `whole(data)` may take the place of the start,
        the text and the end of a line of one text.

        Raises: Unreadable.
        """
        walk_xml(self.read(name), self.kind, name, start, end, text, tags, whole)

    def relations(self, name: str) -> dict[str, tuple[str, str]]:
        """Where a part points to, by id: (last word of the type, target); targets outside the package as they are."""
        folder, _, leaf = name.rpartition("/")
        where = f"{folder}/_rels/{leaf}.rels" if folder else f"_rels/{leaf}.rels"
        found: dict[str, tuple[str, str]] = {}
        if where not in self:
            return found

        def start(_: str, attributes: dict[str, str]) -> None:
            target = attributes.get("Target", "")
            if attributes.get("TargetMode") != "External":
                target = _resolved(folder, target)
            found[attributes.get("Id", "")] = (attributes.get("Type", "").rpartition("/")[2], target)

        self.parse(where, start, tags=_RELATIONS)
        return found


_RELATIONS = Tags(("r:Relationship",))


def rehearse_relations() -> None:
    """As `rehearse_xml`."""
    rehearse_xml(_RELATIONS, {"": "http://schemas.openxmlformats.org/package/2006/relationships"})


def _resolved(folder: str, target: str) -> str:
    """The name of a part that another in this folder points to."""
    if not target:
        return ""
    up, _, rest = target.partition("/")
    if up == ".." and not ("%" in rest or "." in rest[:2] or "/." in rest or "//" in rest):
        return f"{above}/{rest}" if (above := folder.rpartition("/")[0]) else rest  # as most are
    target = target.lstrip("/") if target.startswith("/") else posixpath.join(folder, target)
    return posixpath.normpath(unquote(target))


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
    _tags[name] = found = _prefix(space) + leaf
    return found


def _attribute(name: str) -> str:
    """The name alone, but for the ids of relations, which are `r:id`."""
    space, _, leaf = name.rpartition(" ")
    _names[name] = found = f"r:{leaf}" if space and "relationships" in space else leaf
    return found


def local(tag: str) -> str:
    return tag.rpartition(":")[2]


def _prefix(space: str) -> str:
    return next((prefix for part, prefix in _PREFIXES if part in space), "")


def rehearse_xml(tags: Tags, bound: Mapping[str, str]) -> None:
    """Makes ready for parts that bind prefixes so: a regular expression takes milliseconds to make."""
    Plan(tags, list(bound.items()), [], _prefix)  # kept by `re`


def walk_xml(
    data: bytes,
    kind: str,
    name: str,
    start: Start,
    end: End | None = None,
    text: Text | None = None,
    tags: Tags | None = None,
    whole: Text | None = None,
) -> None:
    """As `Package.parse`, for XML that is at hand."""
    if tags is not None:
        try:
            events = scan(data, tags, _prefix)
        except Intricate:
            pass
        else:
            end, text = end or _nothing, text or _nothing
            for piece, tag, attributes in events:
                if piece:
                    if not tag:
                        text(piece)
                    elif whole is not None:
                        whole(piece)
                    else:
                        start(tag, {})
                        text(piece)
                        end(tag)
                elif attributes is None:
                    end(tag)
                else:
                    start(tag, attributes)
            return
    parse_xml(data, kind, name, start, end, text, tags)


def _nothing(_: str) -> None:
    pass


def parse_xml(
    data: bytes,
    kind: str,
    name: str,
    start: Start,
    end: End | None = None,
    text: Text | None = None,
    tags: Tags | None = None,
) -> None:
    """As `walk_xml`, by a parser: whatever the XML looks like."""
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    known, names = _tags, _names
    texts, skipped = (tags.texts, tags.skipped) if tags else (frozenset(), frozenset())
    depth = skip_at = in_text = 0

    def on_start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth, skip_at, in_text
        depth += 1
        if depth > MAX_DEPTH:
            raise Unreadable("", kind=kind, reason=f"its XML is nested more than {MAX_DEPTH} levels deep")
        if skip_at:
            return
        tag = known.get(name) or short(name)
        if tag in skipped:
            skip_at = depth
        elif tag in texts:
            in_text += 1
        elif tags is None or tag in tags.told:
            start(tag, {names.get(key) or _attribute(key): attributes[key] for key in attributes})

    def on_end(name: str) -> None:
        nonlocal depth, skip_at, in_text
        depth -= 1
        if skip_at:
            if depth < skip_at:
                skip_at = 0
            return
        tag = known[name]
        if tag in texts:
            in_text -= 1
        elif end is not None and (tags is None or tag in tags.ended):
            end(tag)

    def on_text(data: str) -> None:
        if text is not None and (tags is None or (in_text and not skip_at)):
            text(data)

    def refuse(*_: Any) -> None:
        raise Unreadable("", kind=kind, reason="its XML has a document type, which no such file needs; it is refused")

    parser.StartElementHandler = on_start
    parser.EndElementHandler = on_end
    parser.CharacterDataHandler = on_text
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        reason = f"the XML of its part {name} is damaged (line {error.lineno})"
        raise Unreadable("", kind=kind, reason=reason) from None
    except (ValueError, LookupError) as error:  # an encoding that is unknown, or that expat does not take
        raise Unreadable("", kind=kind, reason=f"the XML of its part {name} cannot be decoded: {error}") from None
