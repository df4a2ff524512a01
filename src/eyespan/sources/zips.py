"""Zip archives: the central directory, read in pieces, and the place of a member's bytes.

Nothing is believed beyond its bounds: counts, lengths and offsets are checked against the file, and a local header must
tell the same name as the directory.
"""

from __future__ import annotations

from struct import Struct

from eyespan.errors import Unreadable
from eyespan.sources import streams
from eyespan.sources.members import FILE, FOLDER, LINK, MAX_DIRECTORY_BYTES, MAX_MEMBERS, Directory, Entry, entry_mark
from eyespan.sources.nested import Decoded, Inside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from eyespan.context import CallContext
    from eyespan.source import Source

_END = Struct("<4s4H2LH")
_END64 = Struct("<4sQ2H2L4Q")
_LOCATOR64 = Struct("<4sLQL")
_CENTRAL = Struct("<4s6H3L5H2L")
_LOCAL = Struct("<4s5H3L2H")
_MAX_COMMENT = 65535
_BLOCK_BYTES = 256 * 1024
_ENCRYPTED, _UTF8 = 0x1, 0x800
_STORED, _DEFLATED, _BZIP2, _LZMA, _ZSTD, _AES = 0, 8, 12, 14, 93, 99
_METHODS = {
    _DEFLATED: streams.deflate,
    _BZIP2: streams.bzip2,
    _LZMA: streams.zip_lzma,
    _ZSTD: streams.zstd,
}
_NAMES = {1: "shrunk", 6: "imploded", 9: "deflate64", 19: "LZ77", 95: "xz", 98: "PPMd"}


def read_directory(source: Source, context: CallContext) -> Directory:
    """Raises: Unreadable."""
    start, size, shift, told = _find_directory(source)
    if size > MAX_DIRECTORY_BYTES:
        raise _unreadable(source, f"its directory is larger than {MAX_DIRECTORY_BYTES >> 20} MiB")
    entries: list[Entry] = []
    for fields, name, extra in _central(source, start, size, context):
        if len(entries) >= MAX_MEMBERS:
            return Directory("zip", tuple(entries), f"it has more than {MAX_MEMBERS} members")
        entries.append(_entry(fields, name, extra, shift))
    complaint = "" if len(entries) & 0xFFFF == told & 0xFFFF else "its directory is damaged"
    return Directory("zip", tuple(entries), complaint)


def open_member(source: Source, entry: Entry, name: str, context: CallContext) -> Inside:
    """The bytes of a member that is a file. Raises: Unreadable."""
    if entry.encrypted:
        raise _unreadable(source, "the member is encrypted")
    local = source.read_fully(entry.offset, _LOCAL.size)
    if len(local) < _LOCAL.size or local[:4] != b"PK\3\4":
        raise _unreadable(source, "the archive is damaged: there is no member where its directory says")
    fields = _LOCAL.unpack(local)
    if fields[2] & _ENCRYPTED:
        raise _unreadable(source, "the member is encrypted")
    start = entry.offset + _LOCAL.size + fields[9] + fields[10]
    written = source.read_fully(entry.offset + _LOCAL.size, fields[9])
    if _decode(written, True) != entry.name:
        raise _unreadable(source, "the archive is damaged: the member has another name than its directory says")
    if start + entry.packed_bytes > source.size_bytes:
        raise _unreadable(source, "the archive ends before its member does")
    if entry.method == _STORED:
        if entry.packed_bytes != entry.size_bytes:
            raise _unreadable(source, "the archive is damaged: the member's sizes disagree")
        return Inside(source, start, entry.size_bytes, name=name, mark=entry_mark(entry))
    make = _METHODS.get(entry.method)
    if make is None:
        how = _NAMES.get(entry.method, f"method {entry.method}")
        raise _unreadable(source, f"the member is compressed in a way that is not supported ({how})")
    packed = Inside(source, start, entry.packed_bytes, name=name, mark=entry_mark(entry))
    return Decoded(
        packed, make, name=name, mark="decoded", context=context, declared=entry.size_bytes, checksum=entry.checksum
    )


def _find_directory(source: Source) -> tuple[int, int, int, int]:
    """Where the directory starts, how long it is, what must be added to offsets told, and how many members are told.

    Something may precede the archive (a program that unpacks it) and a comment may follow it.
    """
    size = _length(source)
    low = max(0, size - _END.size - _MAX_COMMENT)
    tail = source.read_fully(low, size - low)
    at = tail.rfind(b"PK\5\6")
    while at >= 0:
        if at + _END.size <= len(tail):
            fields = _END.unpack_from(tail, at)
            if at + _END.size + fields[7] <= len(tail):
                break
        at = tail.rfind(b"PK\5\6", 0, at)
    if at < 0:
        raise _unreadable(source, "it is damaged: its directory is missing")
    end = low + at
    told, length, offset = fields[4], fields[5], fields[6]
    if fields[1] not in (0, 0xFFFF) or fields[2] not in (0, 0xFFFF):
        raise _unreadable(source, "it is one part of several")
    if 0xFFFF in (told, fields[3]) or 0xFFFFFFFF in (length, offset):
        locator = source.read_fully(end - _LOCATOR64.size, _LOCATOR64.size) if end >= _LOCATOR64.size else b""
        if locator[:4] == b"PK\6\7":
            # Right before its locator, whatever offset it tells: something may precede the archive.
            place = end - _LOCATOR64.size - _END64.size
            record = source.read_fully(place, _END64.size) if place >= 0 else b""
            if record[:4] != b"PK\6\6":
                place = _LOCATOR64.unpack(locator)[2]
                record = source.read_fully(place, _END64.size) if place < size else b""
            if len(record) < _END64.size or record[:4] != b"PK\6\6":
                raise _unreadable(source, "it is damaged: its directory is missing")
            end = place
            told, length, offset = _END64.unpack(record)[7:10]
    start = end - length
    shift = start - offset
    if start < 0 or shift < 0:
        raise _unreadable(source, "it is damaged: its directory is not where it should be")
    return start, length, shift, told


def _length(source: Source) -> int:
    """The exact length: a compressed archive is decoded to its end, where its directory is."""
    position = source.size_bytes if source.has_exact_size else 0
    while not source.has_exact_size:
        position += len(source.read_at(position, _BLOCK_BYTES))
    return source.size_bytes


def _central(
    source: Source, start: int, size: int, context: CallContext
) -> Iterator[tuple[tuple[int, ...], bytes, bytes]]:
    """The records of the directory: numbers, name and extra fields of each."""
    end = start + size
    block, low = b"", start
    position = start
    while position + _CENTRAL.size <= end:
        at = position - low
        if at + _CENTRAL.size + 3 * 65535 > len(block) and low + len(block) < end:
            context.advance(position - start, size)
            low, at = position, 0
            block = source.read_fully(position, min(end - position, _BLOCK_BYTES))
            if not block:
                break
        if at + _CENTRAL.size > len(block):
            break
        fields = _CENTRAL.unpack_from(block, at)
        if fields[0] != b"PK\1\2":
            break
        name_end = at + _CENTRAL.size + fields[10]
        extra_end = name_end + fields[11]
        if extra_end + fields[12] > len(block):
            break
        yield fields[1:], block[at + _CENTRAL.size : name_end], block[name_end:extra_end]
        position = low + extra_end + fields[12]


def _entry(fields: tuple[int, ...], raw: bytes, extra: bytes, shift: int) -> Entry:
    made_by, _, flags, method, _, _, checksum, packed, size, *_ = fields
    mode, offset = fields[14] >> 16, fields[15]
    if 0xFFFFFFFF in (size, packed, offset):
        size, packed, offset = _large(extra, size, packed, offset)
    name = _decode(raw, True)
    other = "" if flags & _UTF8 or raw.isascii() else _decode(raw, False)
    what = FILE
    if name.endswith("/"):
        what = FOLDER
    elif made_by >> 8 == 3 and mode & 0xF000 == 0xA000:
        what = LINK
    encrypted = bool(flags & _ENCRYPTED) or method == _AES
    return Entry(name, what, size, offset + shift, packed, method, checksum, encrypted, other_name=other)


def _large(extra: bytes, size: int, packed: int, offset: int) -> tuple[int, int, int]:
    """The numbers that did not fit, from the field that holds them."""
    at = 0
    while at + 4 <= len(extra):
        kind, length = int.from_bytes(extra[at : at + 2], "little"), int.from_bytes(extra[at + 2 : at + 4], "little")
        if kind == 1:
            body = extra[at + 4 : at + 4 + length]
            numbers = [int.from_bytes(body[n : n + 8], "little") for n in range(0, len(body) - 7, 8)]
            found = []
            for value in (size, packed, offset):
                found.append(numbers.pop(0) if value == 0xFFFFFFFF and numbers else value)
            return found[0], found[1], found[2]
        at += 4 + length
    return size, packed, offset


def _decode(raw: bytes, as_utf8: bool) -> str:
    """A name as UTF-8 if it is that, else (and where it does not matter) in the code page that zip began with."""
    if as_utf8:
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            pass
    return raw.decode("cp437")


def _unreadable(source: Source, reason: str) -> Unreadable:
    return Unreadable(source.asked, kind="archive", reason=reason)
