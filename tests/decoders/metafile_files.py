"""Small metafiles for tests: records in a list, with the headers that belong to them."""

from __future__ import annotations

import struct


def emf(*records: tuple[int, bytes], size: tuple[int, int] = (200, 100), has_end: bool = True) -> bytes:
    """Return an EMF file of a size in pixels, from numbers and contents of records."""
    header = struct.pack("<8i", 0, 0, size[0] - 1, size[1] - 1, 0, 0, size[0] * 25, size[1] * 25)
    header += b" EMF" + struct.pack("<5I2HI4i", 0x10000, 0, 0, 0, 1, 0, 0, 0, 0, 1000, 800, 250)
    body = b"".join(
        struct.pack("<II", kind, 8 + len(data)) + data for kind, data in [(1, header.ljust(80, b"\0")), *records]
    )
    return body + (struct.pack("<5I", 14, 20, 0, 16, 20) if has_end else b"")


def brush(handle: int, red: int, green: int, blue: int) -> tuple[tuple[int, bytes], tuple[int, bytes]]:
    """Return the records that make a brush and select it."""
    return (39, struct.pack("<II4BI", handle, 0, red, green, blue, 0, 0)), (37, struct.pack("<I", handle))


def letters(text: str, x: int, y: int) -> tuple[int, bytes]:
    """Return the record of EMF that writes a text."""
    data = text.encode("utf-16-le")
    head = struct.pack("<4iIff", 0, 0, 0, 0, 1, 1.0, 1.0) + struct.pack(
        "<iiIIIiiiiI", x, y, len(text), 76, 0, 0, 0, 0, 0, 0
    )
    return 84, head + data + b"\0" * (-len(data) % 4)


def wmf(*records: tuple[int, bytes], is_placeable: bool = True) -> bytes:
    """Return a WMF file of 200 x 100 units, from numbers and contents of records."""
    start = struct.pack("<IH4hHIH", 0x9AC6CDD7, 0, 0, 0, 200, 100, 96, 0, 0) if is_placeable else b""
    start += struct.pack("<HHHIHIH", 1, 9, 0x300, 0, 0, 0, 0)
    return start + b"".join(struct.pack("<IH", 3 + len(data) // 2, kind) + data for kind, data in [*records, (0, b"")])


def wmf_brush(red: int, green: int, blue: int) -> tuple[tuple[int, bytes], tuple[int, bytes]]:
    """Return the records that make the first object, a brush, and select it."""
    return (0x2FC, struct.pack("<H4BH", 0, red, green, blue, 0, 0)), (0x12D, struct.pack("<H", 0))
