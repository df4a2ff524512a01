"""The write-ahead log of a SQLite database (`-wal`): pages that are newer than those of the file.

A log is a header and frames, each with the number of a page and its contents. A frame counts if it has the salts of the
header, the checksums up to it are right, and a frame that ends a transaction follows: the same rules by which SQLite
itself recovers a log.
"""

from __future__ import annotations

import struct

_HEADER = struct.Struct(">8I")
_FRAME = struct.Struct(">6I")
_LITTLE, _BIG = 0x377F0682, 0x377F0683
_VERSION = 3007000
_MASK = 0xFFFFFFFF


def apply(database: bytearray, log: bytes | bytearray, max_bytes: int) -> int | None:
    """Put the pages of a log into the database; return their number, or None if the log does not belong to it.

    The database stays as it is if it would exceed `max_bytes`.
    """
    if not log:
        return 0
    if len(log) < _HEADER.size or len(database) < 100:
        return None
    magic, version, page_bytes, _, *salts, first, second = _HEADER.unpack_from(log)
    own_bytes = int.from_bytes(database[16:18], "big")
    if magic not in (_LITTLE, _BIG) or version != _VERSION or page_bytes != (65536 if own_bytes == 1 else own_bytes):
        return None
    words = struct.Struct("<2I" if magic == _LITTLE else ">2I")
    if _checksum(words, log[: _HEADER.size - 8], (0, 0)) != (first, second):
        return None
    sums = first, second
    waiting: dict[int, int] = {}
    pages: dict[int, int] = {}
    total_pages = 0
    for at in range(_HEADER.size, len(log) - _FRAME.size - page_bytes + 1, _FRAME.size + page_bytes):
        number, committed_pages, *frame_salts, first, second = _FRAME.unpack_from(log, at)
        start = at + _FRAME.size
        if frame_salts != salts or not number:
            break
        sums = _checksum(words, log[start : start + page_bytes], _checksum(words, log[at : at + 8], sums))
        if sums != (first, second):
            break
        waiting[number] = start
        if committed_pages:
            pages |= waiting
            waiting.clear()
            total_pages = committed_pages
    if not total_pages:
        return 0
    size = total_pages * page_bytes
    if size > max_bytes:
        return None
    del database[size:]
    database += bytes(size - len(database))
    held = {number: start for number, start in pages.items() if number <= total_pages}
    for number, start in held.items():
        database[(number - 1) * page_bytes : number * page_bytes] = log[start : start + page_bytes]
    return len(held)


def _checksum(words: struct.Struct, data: bytes | bytearray, sums: tuple[int, int]) -> tuple[int, int]:
    """Continue the two sums of a log over data of a multiple of eight bytes."""
    first, second = sums
    for one, other in words.iter_unpack(data):
        first = (first + one + second) & _MASK
        second = (second + other + first) & _MASK
    return first, second
