"""Recover the members of a zip archive whose table of contents is damaged, from the header before each of them.

Every member is unpacked as far as its data is sound, within limits. A program that reads such a package must report
that it is damaged: members may be missing, cut or wrong.
"""

from __future__ import annotations

import struct
import zlib

_LOCAL = struct.Struct("<4s5H3L2H")
_SIGNATURE = b"PK\3\4"
_NEXT = (b"PK\7\x08", b"PK\3\4", b"PK\1\2")
_ENCRYPTED, _UTF8 = 0x1, 0x800
_STORED, _DEFLATED = 0, 8
MAX_NAME_BYTES = 1000
MAX_MEMBERS = 10_000


def members(data: bytes, *, max_member_bytes: int, max_bytes: int) -> dict[str, bytes]:
    """Return what can be recovered: contents by name. The first member of a name counts."""
    recovered: dict[str, bytes] = {}
    at = data.find(_SIGNATURE)
    while at >= 0 and len(recovered) < MAX_MEMBERS and max_bytes > 0:
        end = at + 4
        header = data[at : at + _LOCAL.size]
        if len(header) == _LOCAL.size:
            _, _, flags, method, _, _, _, packed_bytes, _, name_bytes, extra_bytes = _LOCAL.unpack(header)
            start = at + _LOCAL.size + name_bytes + extra_bytes
            name = _name(data[at + _LOCAL.size : at + _LOCAL.size + name_bytes], flags)
            if name and not flags & _ENCRYPTED:
                limit = min(max_member_bytes, max_bytes)
                contents, end = _contents(data, start, packed_bytes, method, limit)
                if contents and name not in recovered:
                    recovered[name] = contents
                    max_bytes -= len(contents)
        at = data.find(_SIGNATURE, max(at + 4, end))
    return recovered


def _name(raw: bytes, flags: int) -> str:
    if not raw or len(raw) > MAX_NAME_BYTES or b"\0" in raw or raw.endswith(b"/"):
        return ""
    return raw.decode("utf-8" if flags & _UTF8 else "cp437", "replace")


def _contents(data: bytes, start: int, packed_bytes: int, method: int, limit: int) -> tuple[bytes, int]:
    """Return the contents of a member as far as they are sound, and the position after it."""
    if method == _DEFLATED:
        return inflated(data, start, limit)
    if method != _STORED:
        return b"", start
    if not packed_bytes or start + packed_bytes > len(data):
        ends = [place for sign in _NEXT if (place := data.find(sign, start)) >= 0]
        packed_bytes = min(ends, default=len(data)) - start
    return data[start : start + min(packed_bytes, limit)], start + packed_bytes


def inflated(data: bytes, start: int, limit: int) -> tuple[bytes, int]:
    """Return deflated data as far as it is sound, at most `limit` bytes, and the position after it."""
    decompressor = zlib.decompressobj(-15)
    pieces: list[bytes] = []
    size, at = 0, start
    while at < len(data) and not decompressor.eof and size < limit:
        piece = data[at : at + 4096]  # small pieces: an error loses the piece that it is in
        at += len(piece)
        try:
            unpacked = decompressor.decompress(piece, limit - size)
        except zlib.error:
            break
        pieces.append(unpacked)
        size += len(unpacked)
    return b"".join(pieces), at - len(decompressor.unused_data)
