"""Compressions inside table files: LZ4, which Python does not have, and zstandard by its library.

All results are bounded. Damage raises ValueError, IndexError or struct.error.
"""

from __future__ import annotations

import struct

try:
    from compression.zstd import ZstdDecompressor
except ImportError:
    ZstdDecompressor = None
try:
    import zstandard
except ImportError:
    zstandard = None  # type: ignore[assignment]  # there is no such module then

MAX_WINDOW_BYTES = 8 * 1024 * 1024


class NoUnpacker(Exception):
    """Reports a compression for which no library is installed; the text names what installs one."""


def zstd(data: bytes, limit: int) -> bytes:
    """Decompress zstandard to at most `limit` bytes. Raises: NoCodec, ValueError."""
    try:
        if ZstdDecompressor is not None:
            return bytes(ZstdDecompressor().decompress(data, limit))
        if zstandard is not None:
            made = zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW_BYTES).stream_reader(data).read(limit)
            return bytes(made)
    except MemoryError:
        raise
    except Exception:  # the libraries have errors of their own
        raise ValueError("corrupt zstandard") from None
    raise NoUnpacker("the compression zstandard needs a library (pip install 'eyespan[archives]')")


def lz4_frame(data: bytes, length: int) -> bytes:
    """Decompress a frame of LZ4 to `length` bytes. Raises: ValueError, IndexError, struct.error."""
    if data[:4] != b"\x04\x22\x4d\x18":
        raise ValueError("not a frame of LZ4")
    flags = data[4]
    at = 7 + (8 if flags & 8 else 0) + (4 if flags & 1 else 0)
    made = bytearray()
    while len(made) < length:
        (size,) = struct.unpack_from("<I", data, at)
        at += 4
        if not size:
            break
        block = data[at : at + (size & 0x7FFFFFFF)]
        at += (size & 0x7FFFFFFF) + (4 if flags & 16 else 0)
        if size & 0x80000000:
            made += block
        else:
            _add_lz4_block(block, made, length)
    if len(made) != length:
        raise ValueError("a frame of another length")
    return bytes(made)


def _add_lz4_block(block: bytes, made: bytearray, limit: int) -> None:
    """Append the contents of a block of LZ4. Raises: ValueError, IndexError."""
    at, end = 0, len(block)
    while at < end:
        token = block[at]
        at += 1
        size, at = _lz4_size(block, at, token >> 4)
        made += block[at : at + size]
        at += size
        if at >= end:
            break
        back = block[at] | block[at + 1] << 8
        at += 2
        size, at = _lz4_size(block, at, token & 15)
        _repeat(made, back, size + 4, limit)


def _lz4_size(block: bytes, at: int, size: int) -> tuple[int, int]:
    """Return a size and the position after it; 15 goes on in the bytes that follow, 255 in each but the last."""
    if size == 15:
        while True:
            size += block[at]
            at += 1
            if block[at - 1] != 255:
                break
    return size, at


def _repeat(made: bytearray, back: int, size: int, limit: int) -> None:
    """Append bytes that were made before, from `back` bytes before the end on; they may overlap the result."""
    start = len(made) - back
    if back <= 0 or start < 0 or len(made) + size > limit:
        raise ValueError("a place outside the block")
    if back >= size:
        made += made[start : start + size]
    else:
        made += (bytes(made[start:]) * (size // back + 1))[:size]
