"""Tar archives: one header after another, in the old, GNU and pax formats.

Contents are skipped, not read, unless the archive is compressed. Old archives without a magic number are recognised by
the checksum of their first header.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from eyespan.context import CallContext
from eyespan.errors import Cancelled, ReadError, TimedOut, Unreadable
from eyespan.signatures import tar_checksum_fits
from eyespan.source import Source
from eyespan.sources.members import (
    DIRECTORY,
    FILE,
    HARD_LINK,
    LINK,
    MAX_HEADER_BYTES,
    OTHER,
    Collector,
    Contents,
    MemberEntry,
    entry_key,
)
from eyespan.sources.nested import NestedSource

BLOCK = 512
MAX_EXTENSION_BYTES = 4 * MAX_HEADER_BYTES
"""All extension headers before one member. Parsing them takes long, and only the last value of a field counts."""
_CORRUPT = "corrupt archive: invalid header"
_CUT = "the archive ends within a header"
_HEADER_TOO_LARGE = f"it has a header larger than {MAX_HEADER_BYTES >> 20} MiB"
_HEADERS_TOO_LARGE = f"the headers of a member are larger than {MAX_EXTENSION_BYTES >> 20} MiB"
_WHAT = {b"0": FILE, b"\0": FILE, b"7": FILE, b"S": FILE, b"1": HARD_LINK, b"2": LINK, b"5": DIRECTORY, b"D": DIRECTORY}
_CUT_NAME_CHARS = 90
"""The least length of a name that is cut to fit: the field has 100 bytes."""
_LONG_NAME, _LONG_TARGET, _PAX_GLOBAL = b"L", b"K", b"g"
_EXTENSIONS = (b"x", b"X", _PAX_GLOBAL, _LONG_NAME, _LONG_TARGET)
"""The types of headers that describe the members after them."""
_PAX_FIELDS = frozenset((b"path", b"linkpath", b"size", b"GNU.sparse.name"))
_PAX_SPARSE = "GNU.sparse"
"""Stands for all fields that only sparse members have."""


class _BadHeader(Exception):
    """A header is invalid; the message gives the reason, for a person."""


def read_contents(source: Source, context: CallContext) -> Contents:
    """Read all headers up to the end, up to one that is invalid, or up to a limit of `Collector`.

    Raises: TimedOut, Cancelled.
    """
    collector = Collector("tar", context)
    complaint = ""
    try:
        for entry in _entries(source, context):
            if not collector.add(entry):
                break
    except (TimedOut, Cancelled):
        raise
    except _BadHeader as error:
        complaint = str(error)
    except ReadError as error:
        complaint = error.reason
    return collector.contents(complaint)


def open_member(source: Source, entry: MemberEntry, path: str) -> NestedSource:
    """Open a member that is a file. Takes `source` over on success. Raises: Unreadable."""
    if entry.is_sparse:
        raise Unreadable(source.asked, kind="archive", reason="the member is sparse, which is not supported")
    return NestedSource(source, entry.offset, entry.size_bytes, path=path, key=entry_key(entry))


@dataclass(frozen=True, slots=True)
class _Header:
    type: bytes
    name: str
    target: str
    size_bytes: int
    has_more_sparse: bool
    """Further blocks with the map of a sparse file follow."""


class _Extensions:
    """The fields that extension headers give for the members after them."""

    def __init__(self) -> None:
        self._global: dict[str, str] = {}
        self._next: dict[str, str] = {}
        self._long_name = self._long_target = ""

    def add(self, header: _Header, body: bytes) -> None:
        if header.type == _LONG_NAME:
            self._long_name = _member_text(body.rstrip(b"\0"))
        elif header.type == _LONG_TARGET:
            self._long_target = _member_text(body.rstrip(b"\0"))
        elif header.type == _PAX_GLOBAL:
            self._global.update(_pax_fields(body))
        else:
            self._next = _pax_fields(body)

    def entry(self, header: _Header, offset: int) -> MemberEntry:
        """Return the member of a header, and forget the fields for one member only."""
        fields = {**self._global, **self._next}
        name = fields.get("path") or self._long_name or header.name
        target = fields.get("linkpath") or self._long_target or header.target
        size = _decimal(fields["size"]) if "size" in fields else header.size_bytes
        what = _WHAT.get(header.type, OTHER)
        if what == FILE and name.endswith("/") and not self._long_name and "path" not in fields:
            what = DIRECTORY  # the spelling of archives older than the type of directories
        if what in (LINK, DIRECTORY) or (what == HARD_LINK and "size" not in fields):
            size = 0
        is_sparse = header.type == b"S" or _PAX_SPARSE in fields
        name = fields.get("GNU.sparse.name") or name
        claimed = dict.fromkeys([header.name, self._long_name, fields.get("path", ""), self._global.get("path", "")])
        self._next, self._long_name, self._long_target = {}, "", ""
        return MemberEntry(
            name=name,
            what=what,
            size_bytes=size,
            offset=offset,
            target=target,
            claimed_names=tuple([other for other in claimed if other and not _is_cut_name(other, name)]),
            is_sparse=is_sparse,
        )


def _is_cut_name(other: str, name: str) -> bool:
    """Return True for the name itself, and for as much of a long one as fits into a header."""
    return other == name or (len(other) >= _CUT_NAME_CHARS and name.startswith(other))


def _entries(source: Source, context: CallContext) -> Iterator[MemberEntry]:
    position = extension_bytes = 0
    extensions = _Extensions()
    while True:
        block = source.read_fully(position, BLOCK)
        if not block.strip(b"\0"):
            return  # the end: a block of zeros, or no block
        header = _header(block)
        context.advance(position, source.size_bytes)
        position += BLOCK
        if header.type in _EXTENSIONS:
            extension_bytes += header.size_bytes
            if extension_bytes > MAX_EXTENSION_BYTES and header.size_bytes <= MAX_HEADER_BYTES:
                raise _BadHeader(_HEADERS_TOO_LARGE)
            extensions.add(header, _body(source, position, header.size_bytes))
            position += _padded(header.size_bytes)
            continue
        extension_bytes = 0
        entry = extensions.entry(header, position)
        yield entry
        if header.has_more_sparse:
            position = _after_sparse_headers(source, position)
        position += _padded(entry.size_bytes)


def _header(block: bytes) -> _Header:
    if len(block) < BLOCK:
        raise _BadHeader(_CUT)
    if not tar_checksum_fits(block):
        raise _BadHeader(_CORRUPT)
    kind = block[156:157]
    name = _member_text(_until_nul(block[:100]))
    if block[257:263] == b"ustar\0":
        prefix = _member_text(_until_nul(block[345:500]))
        name = f"{prefix}/{name}" if prefix else name
    return _Header(
        type=kind,
        name=name,
        target=_member_text(_until_nul(block[157:257])),
        size_bytes=_octal_or_binary(block[124:136]),
        has_more_sparse=kind == b"S" and bool(block[482]),
    )


def _body(source: Source, position: int, size: int) -> bytes:
    """Return the body of an extension header."""
    if size > MAX_HEADER_BYTES:
        raise _BadHeader(_HEADER_TOO_LARGE)
    body = source.read_fully(position, size)
    if len(body) < size:
        raise _BadHeader(_CUT)
    return body


def _after_sparse_headers(source: Source, position: int) -> int:
    for _ in range(MAX_HEADER_BYTES // BLOCK):
        block = source.read_fully(position, BLOCK)
        position += BLOCK
        if len(block) < BLOCK or not block[504]:
            return position
    raise _BadHeader(_HEADER_TOO_LARGE)


def _octal_or_binary(field: bytes) -> int:
    if field[0] & 0x80:
        value = int.from_bytes(field, "big") & ((1 << 94) - 1)
        if field[0] == 0xFF or value > 1 << 62:
            raise _BadHeader(_CORRUPT)
        return value
    digits = _until_nul(field).strip()
    if not digits:
        return 0
    try:
        value = int(digits, 8)
    except ValueError:
        raise _BadHeader(_CORRUPT) from None
    if value < 0:
        raise _BadHeader(_CORRUPT)
    return value


def _decimal(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise _BadHeader(_CORRUPT)
    return int(text)


def _pax_fields(body: bytes) -> dict[str, str]:
    """Parse the lines of a pax header: length, name, value.

    Only fields with a meaning here are returned, so global headers, which add up, stay small.
    """
    fields: dict[str, str] = {}
    at = 0
    while at < len(body) and body[at]:
        space = body.find(b" ", at, at + 20)
        digits = body[at:space] if space > 0 else b""
        if not digits.isdigit():
            raise _BadHeader(_CORRUPT)
        end = at + int(digits)
        line = body[space + 1 : end]
        if end <= space or end > len(body) or not line.endswith(b"\n") or b"=" not in line:
            raise _BadHeader(_CORRUPT)
        name, _, value = line[:-1].partition(b"=")
        if name in _PAX_FIELDS:
            fields[_member_text(name)] = _member_text(value)
        if name.startswith(b"GNU.sparse."):
            fields[_PAX_SPARSE] = ""
        at = end
    return fields


def _until_nul(field: bytes) -> bytes:
    return field.split(b"\0", 1)[0]


def _member_text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def _padded(size: int) -> int:
    return (size + BLOCK - 1) // BLOCK * BLOCK
