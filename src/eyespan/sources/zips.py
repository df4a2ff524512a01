"""Zip archives: the central directory, read in blocks, and the members it lists.

Counts, lengths and offsets are checked against the file before they are used, and a member's local header must have the
same name as its entry in the central directory.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from struct import Struct
from typing import Any

from eyespan.context import CallContext
from eyespan.errors import Unreadable
from eyespan.source import Source
from eyespan.sources import streams
from eyespan.sources.members import (
    DIRECTORY,
    FILE,
    LINK,
    MAX_CONTENTS_BYTES,
    Collector,
    Contents,
    MemberEntry,
    entry_key,
)
from eyespan.sources.nested import DecodedSource, NestedSource
from eyespan.sources.streams import Stream

_END = Struct("<4s4H2LH")
_END64 = Struct("<4sQ2H2L4Q")
_LOCATOR64 = Struct("<4sLQL")
_CENTRAL = Struct("<4sxB2xHH4xLLLHHH4x2xHL")
_LOCAL = Struct("<4s5H3L2H")
"""Of a local header: its flags, and the lengths of its name and its extra fields."""
_BLOCK_BYTES = 256 * 1024
_FULL_16, _FULL_32 = 0xFFFF, 0xFFFFFFFF
"""Placeholders for numbers that do not fit, which the zip64 fields hold."""
_ENCRYPTED, _UTF8 = 0x1, 0x800
_UNIX = 3
_UNICODE_PATH = 0x7075
_STORED, _DEFLATED, _BZIP2, _ZSTD, _AES = 0, 8, 12, 93, 99
_STREAMS = {_DEFLATED: streams.deflate, _BZIP2: streams.bzip2, _ZSTD: streams.zstd}
_UNSUPPORTED = {1: "shrunk", 6: "imploded", 9: "deflate64", 14: "LZMA", 19: "LZ77", 95: "xz", 98: "PPMd"}
_NO_DIRECTORY = "corrupt archive: no central directory"


def read_contents(source: Source, context: CallContext) -> Contents:
    """Read the central directory. Raises: Unreadable, and what reading raises."""
    start, size, shift, count = _find_directory(source)
    if size > MAX_CONTENTS_BYTES:
        raise _unreadable(source, f"its central directory is larger than {MAX_CONTENTS_BYTES >> 20} MiB")
    collector = Collector("zip", context)
    for entry in _entries(source, start, size, shift, context):
        if not collector.add(entry):
            break
    is_complete = len(collector) & _FULL_16 == count & _FULL_16
    return collector.contents("" if is_complete else "corrupt central directory")


def open_member(source: Source, entry: MemberEntry, path: str, context: CallContext) -> NestedSource:
    """Open a member that is a file. Takes `source` over on success. Raises: Unreadable."""
    start, make = _locate(source, entry)
    packed = NestedSource(source, start, entry.packed_bytes, path=path, key=entry_key(entry))
    if make is None:
        return packed
    return DecodedSource(
        packed, make, path=path, key="decoded", context=context, declared=entry.size_bytes, checksum=entry.checksum
    )


def read_member(source: Source, entry: MemberEntry) -> bytes:
    """Return a whole member that is a file. The caller limits `entry.packed_bytes` and `entry.size_bytes`.

    Raises: Unreadable.
    """
    data = read_member_start(source, entry, entry.size_bytes + 1)
    if len(data) != entry.size_bytes or zlib.crc32(data) != entry.checksum:
        raise _unreadable(source, "wrong checksum")
    return data


def read_member_start(source: Source, entry: MemberEntry, size_bytes: int) -> bytes:
    """Return the first bytes of a member that is a file, unchecked. Raises: Unreadable."""
    start, make = _locate(source, entry)
    packed = NestedSource(source, start, entry.packed_bytes, path="", key=None)
    if make is None:
        return packed.read_fully(0, size_bytes)
    pieces = []
    try:
        stream = make(packed, None)
        while size_bytes and (data := stream.read(size_bytes)):
            pieces.append(data)
            size_bytes -= len(data)
    except (streams.Broken, streams.NoCodec):
        raise _unreadable(source, "corrupt compressed data") from None
    return b"".join(pieces)


def _locate(source: Source, entry: MemberEntry) -> tuple[int, Callable[[Source, Any | None], Stream] | None]:
    """Return the position of a member's packed bytes, and the stream that decodes them; None if they are stored."""
    if entry.is_encrypted:
        raise _unreadable(source, "the member is encrypted")
    local = source.read_fully(entry.offset, _LOCAL.size)
    if len(local) < _LOCAL.size or local[:4] != b"PK\3\4":
        raise _unreadable(source, "corrupt archive: no member at the offset given by the central directory")
    fields = _LOCAL.unpack(local)
    if fields[2] & _ENCRYPTED:
        raise _unreadable(source, "the member is encrypted")
    name_bytes, extra_bytes = fields[9], fields[10]
    start = entry.offset + _LOCAL.size + name_bytes + extra_bytes
    name = source.read_fully(entry.offset + _LOCAL.size, name_bytes)
    claimed = _unicode_names(source.read_fully(entry.offset + _LOCAL.size + name_bytes, extra_bytes))
    if _decode_name(name) != entry.name or not {entry.name, *entry.claimed_names}.issuperset(claimed):
        raise _unreadable(source, "corrupt archive: the member has another name than in the central directory")
    if start + entry.packed_bytes > source.size_bytes:
        raise _unreadable(source, "the archive ends before its member does")
    if entry.method == _STORED:
        if entry.packed_bytes != entry.size_bytes:
            raise _unreadable(source, "corrupt archive: the sizes of the member disagree")
        return start, None
    make = _STREAMS.get(entry.method)
    if make is None:
        method = _UNSUPPORTED.get(entry.method, f"method {entry.method}")
        raise _unreadable(source, f"the compression of the member is not supported ({method})")
    return start, make


def _find_directory(source: Source) -> tuple[int, int, int, int]:
    """Find the central directory: its start, its size, the shift of all offsets and the declared number of members.

    A program that unpacks the archive may precede it, which shifts the offsets, and a comment may follow it.
    """
    size = _exact_size(source)
    low = max(0, size - _END.size - 65535)
    tail = source.read_fully(low, size - low)
    at = tail.rfind(b"PK\5\6")
    while at >= 0:
        if at + _END.size <= len(tail):
            fields = _END.unpack_from(tail, at)
            if at + _END.size + fields[7] <= len(tail):
                break
        at = tail.rfind(b"PK\5\6", 0, at)
    if at < 0:
        raise _unreadable(source, _NO_DIRECTORY)
    end = low + at
    count, length, offset = fields[4], fields[5], fields[6]
    if fields[1] not in (0, _FULL_16) or fields[2] not in (0, _FULL_16):
        raise _unreadable(source, "it is one part of a split archive")
    if _FULL_16 in (count, fields[3]) or _FULL_32 in (length, offset):
        locator = source.read_fully(end - _LOCATOR64.size, _LOCATOR64.size) if end >= _LOCATOR64.size else b""
        if locator[:4] == b"PK\6\7":
            # Look right before the locator first: if something precedes the archive, the locator's offset is wrong.
            place = end - _LOCATOR64.size - _END64.size
            record = source.read_fully(place, _END64.size) if place >= 0 else b""
            if record[:4] != b"PK\6\6":
                place = _LOCATOR64.unpack(locator)[2]
                record = source.read_fully(place, _END64.size) if place < size else b""
            if len(record) < _END64.size or record[:4] != b"PK\6\6":
                raise _unreadable(source, _NO_DIRECTORY)
            end = place
            count, length, offset = _END64.unpack(record)[7:10]
    start = end - length
    shift = start - offset
    if start < 0 or shift < 0:
        raise _unreadable(source, "corrupt archive: wrong offset of the central directory")
    return start, length, shift, count


def _exact_size(source: Source) -> int:
    """Return the exact size. A compressed archive is decoded to its end, where its central directory is."""
    position = source.size_bytes if source.has_exact_size else 0
    while not source.has_exact_size:
        position += len(source.read_at(position, _BLOCK_BYTES))
    return source.size_bytes


def _entries(source: Source, start: int, size: int, shift: int, context: CallContext) -> Iterator[MemberEntry]:
    """Yield the members of the central directory, up to the first record that is invalid."""
    end = start + size
    block, low = b"", start
    position = start
    while position + _CENTRAL.size <= end:
        at = position - low
        if at + _CENTRAL.size + 3 * 65535 > len(block) and low + len(block) < end:
            context.advance(position - start, size)
            low, at = position, 0
            block = source.read_fully(position, min(end - position, _BLOCK_BYTES))
        if at + _CENTRAL.size > len(block):
            return
        fields = _CENTRAL.unpack_from(block, at)
        record_end = at + _CENTRAL.size + fields[7] + fields[8] + fields[9]
        if fields[0] != b"PK\1\2" or record_end > len(block):
            return
        yield _entry(block, at, fields, shift)
        position = low + record_end


def _entry(block: bytes, at: int, fields: tuple[Any, ...], shift: int) -> MemberEntry:
    """Return the member whose record stands at this place of the central directory."""
    _, host, flags, method, checksum, packed, size_bytes, name_bytes, extra_bytes, _, mode, offset = fields
    name_end = at + _CENTRAL.size + name_bytes
    raw = block[at + _CENTRAL.size : name_end]
    if _FULL_32 in (size_bytes, packed, offset):
        extra = block[name_end : name_end + extra_bytes]
        size_bytes, packed, offset = _zip64_numbers(extra, size_bytes, packed, offset)
    name = _decode_name(raw)
    what = FILE
    if name.endswith("/"):
        what = DIRECTORY
    elif host == _UNIX and mode & 0xF000 == 0xA000:
        what = LINK
    return MemberEntry(
        name=name,
        what=what,
        size_bytes=size_bytes,
        offset=offset + shift,
        packed_bytes=packed,
        method=method,
        checksum=checksum,
        is_encrypted=bool(flags & _ENCRYPTED) or method == _AES,
        other_name="" if flags & _UTF8 or raw.isascii() else raw.decode("cp437"),
        claimed_names=_unicode_names(block[name_end : name_end + extra_bytes]) if extra_bytes else (),
    )


def _unicode_names(extra: bytes) -> tuple[str, ...]:
    """Return the names in extra fields for Unicode paths, which unpacking programs prefer to the name itself."""
    at = 0
    names = []
    while at + 4 <= len(extra):
        kind, length = int.from_bytes(extra[at : at + 2], "little"), int.from_bytes(extra[at + 2 : at + 4], "little")
        if kind == _UNICODE_PATH and length > 5:
            names.append(_decode_name(extra[at + 9 : at + 4 + length]))  # after a version and a checksum
        at += 4 + length
    return tuple(names)


def _zip64_numbers(extra: bytes, size: int, packed: int, offset: int) -> tuple[int, int, int]:
    """Replace placeholders by the numbers of the zip64 extra field, which holds only those that did not fit."""
    at = 0
    while at + 4 <= len(extra):
        kind, length = int.from_bytes(extra[at : at + 2], "little"), int.from_bytes(extra[at + 2 : at + 4], "little")
        if kind == 1:
            body = extra[at + 4 : at + 4 + length]
            numbers = [int.from_bytes(body[n : n + 8], "little") for n in range(0, len(body) - 7, 8)]
            values = []
            for value in (size, packed, offset):
                values.append(numbers.pop(0) if value == _FULL_32 and numbers else value)
            return values[0], values[1], values[2]
        at += 4 + length
    return size, packed, offset


def _decode_name(raw: bytes) -> str:
    """Decode a name as UTF-8 if it is valid, else by the original code page of zip."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("cp437")


def _unreadable(source: Source, reason: str) -> Unreadable:
    return Unreadable(source.asked, kind="archive", reason=reason)
