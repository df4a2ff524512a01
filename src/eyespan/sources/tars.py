"""Tar archives: one header after another, in plain, GNU and pax spelling.

Contents are skipped, not read, unless the archive is compressed. Old archives without a mark are known by the checksum
of their first header.
"""

from __future__ import annotations

from eyespan.errors import Cancelled, ReadError, TimedOut, Unreadable
from eyespan.kinds import tar_checksum_fits
from eyespan.record import record
from eyespan.sources.members import (
    FILE,
    FOLDER,
    HARD_LINK,
    LINK,
    MAX_HEADER_BYTES,
    MAX_MEMBERS,
    OTHER,
    Directory,
    Entry,
    entry_mark,
)
from eyespan.sources.nested import Inside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from eyespan.context import CallContext
    from eyespan.source import Source

BLOCK = 512
_DAMAGED = "it is damaged: a header makes no sense"
_WHAT = {
    b"0": FILE,
    b"\0": FILE,
    b"7": FILE,
    b"S": FILE,
    b"1": HARD_LINK,
    b"2": LINK,
    b"5": FOLDER,
    b"D": FOLDER,
}


class _BadHeader(Exception):
    """The text says what is wrong, for a person."""


def read_directory(source: Source, context: CallContext) -> Directory:
    """Every member up to the end, or up to where the archive cannot be read any further.

    Raises: TimedOut, Cancelled.
    """
    entries: list[Entry] = []
    complaint = ""
    try:
        _walk(source, context, entries)
    except (TimedOut, Cancelled):
        raise
    except _BadHeader as error:
        complaint = str(error)
    except ReadError as error:
        complaint = error.reason
    return Directory("tar", tuple(entries), complaint)


def open_member(source: Source, entry: Entry, name: str) -> Inside:
    """The bytes of a member that is a file. Raises: Unreadable."""
    if entry.sparse:
        raise Unreadable(source.asked, kind="archive", reason="the member is sparse, which is not supported")
    return Inside(source, entry.offset, entry.size_bytes, name=name, mark=entry_mark(entry))


@record
class _Header:
    kind: bytes
    name: str
    target: str
    size_bytes: int


def _walk(source: Source, context: CallContext, entries: list[Entry]) -> None:
    position = 0
    everywhere: dict[str, str] = {}
    once: dict[str, str] = {}
    long_name = long_target = ""
    while True:
        block = source.read_fully(position, BLOCK)
        if not block.strip(b"\0"):
            return  # the end, marked or not
        header = _header(block)
        context.advance(position, source.size_bytes)
        position += BLOCK
        if header.kind in (b"x", b"g", b"X", b"L", b"K"):
            body = _body(source, position, header.size_bytes)
            position += _padded(header.size_bytes)
            if header.kind == b"L":
                long_name = _text(body.rstrip(b"\0"))
            elif header.kind == b"K":
                long_target = _text(body.rstrip(b"\0"))
            elif header.kind == b"g":
                everywhere.update(_pax(body))
            else:
                once = _pax(body)
            continue
        told = {**everywhere, **once}
        size = _number(told["size"]) if "size" in told else header.size_bytes
        name = told.get("path") or long_name or header.name
        target = told.get("linkpath") or long_target or header.target
        sparse = header.kind == b"S" or any(key.startswith("GNU.sparse.") for key in told)
        what = _WHAT.get(header.kind, OTHER)
        if what == FILE and name.endswith("/") and not long_name and "path" not in told:
            what = FOLDER  # as archives older than the type of a folder spell it
        if what in (LINK, HARD_LINK, FOLDER) and header.kind != b"1":
            size = 0
        if what == HARD_LINK and "size" not in told:
            size = 0
        if len(entries) >= MAX_MEMBERS:
            raise _BadHeader(f"it has more than {MAX_MEMBERS} members")
        entries.append(Entry(told.get("GNU.sparse.name") or name, what, size, position, target=target, sparse=sparse))
        if header.kind == b"S" and block[482]:
            position = _after_sparse_headers(source, position)
        position += _padded(size)
        once, long_name, long_target = {}, "", ""


def _header(block: bytes) -> _Header:
    if len(block) < BLOCK:
        raise _BadHeader("it ends inside a header")
    if not tar_checksum_fits(block):
        raise _BadHeader(_DAMAGED)
    name = _text(_until_nul(block[:100]))
    if block[257:263] == b"ustar\0":
        prefix = _text(_until_nul(block[345:500]))
        name = f"{prefix}/{name}" if prefix else name
    return _Header(block[156:157], name, _text(_until_nul(block[157:257])), _size(block[124:136]))


def _body(source: Source, position: int, size: int) -> bytes:
    """What a header that belongs to the next one says."""
    if size > MAX_HEADER_BYTES:
        raise _BadHeader("it has a header that is too large")
    body = source.read_fully(position, size)
    if len(body) < size:
        raise _BadHeader("it ends inside a header")
    return body


def _after_sparse_headers(source: Source, position: int) -> int:
    for _ in range(MAX_HEADER_BYTES // BLOCK):
        block = source.read_fully(position, BLOCK)
        position += BLOCK
        if len(block) < BLOCK or not block[504]:
            return position
    raise _BadHeader("it has a header that is too large")


def _size(field: bytes) -> int:
    if field[0] & 0x80:
        value = int.from_bytes(field, "big") & ((1 << 94) - 1)
        if field[0] == 0xFF or value > 1 << 62:
            raise _BadHeader(_DAMAGED)
        return value
    digits = _until_nul(field).strip()
    if not digits:
        return 0
    try:
        value = int(digits, 8)
    except ValueError:
        raise _BadHeader(_DAMAGED) from None
    if value < 0:
        raise _BadHeader(_DAMAGED)
    return value


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise _BadHeader(_DAMAGED)
    return int(text)


def _pax(body: bytes) -> dict[str, str]:
    """The lines of a pax header: length, name, value."""
    found: dict[str, str] = {}
    at = 0
    while at < len(body) and body[at]:
        space = body.find(b" ", at, at + 20)
        digits = body[at:space] if space > 0 else b""
        if not digits.isdigit():
            raise _BadHeader(_DAMAGED)
        end = at + int(digits)
        line = body[space + 1 : end]
        if end <= space or end > len(body) or not line.endswith(b"\n") or b"=" not in line:
            raise _BadHeader(_DAMAGED)
        name, _, value = line[:-1].partition(b"=")
        found[_text(name)] = _text(value)
        at = end
    return found


def _until_nul(field: bytes) -> bytes:
    return field.split(b"\0", 1)[0]


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def _padded(size: int) -> int:
    return (size + BLOCK - 1) // BLOCK * BLOCK
