"""Bombs of archives and compressed files."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import Any

from proof.bombs.texts import MB, writer


def rows() -> Iterator[tuple[Any, ...]]:
    """Yield name, group, function that makes it, selectors."""
    yield from _tars()
    yield from _zips()
    yield from _streams()


# --- tar --------------------------------------------------------------------------------------------------------------


def header(name: bytes, *, size: int = 0, kind: bytes = b"0", target: bytes = b"") -> bytes:
    """Return one header of a tar archive, with its checksum."""
    block = bytearray(512)
    block[: len(name[:100])] = name[:100]
    block[100:108] = b"0000644\0"
    block[124:136] = b"%011o\0" % size
    block[136:148] = b"00000000000\0"
    block[148:156] = b" " * 8
    block[156:157] = kind
    block[157 : 157 + len(target[:100])] = target[:100]
    block[257:265] = b"ustar\x0000"
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def with_body(name: bytes, kind: bytes, body: bytes) -> bytes:
    """Return a header and its body, padded to blocks."""
    return header(name, size=len(body), kind=kind) + body + bytes(-len(body) % 512)


def pax(**fields: str) -> bytes:
    """Return the lines of a pax header."""
    lines = b""
    for name, value in fields.items():
        rest = f" {name}={value}\n".encode()
        size = len(rest) + 1
        while len(str(size)) + len(rest) != size:
            size = len(str(size)) + len(rest)
        lines += str(size).encode() + rest
    return lines


def _tars() -> Iterator[tuple[Any, ...]]:
    long_name = "\U0001f600" + "n" * 99_000
    member = with_body(b"long", b"L", long_name.encode() + b"\0") + header(b"x")
    yield "names.tar.gz", "tar", writer(lambda: gzip.compress(member * 2000)), "!/x"
    yield "names.tar", "tar", writer(lambda: member * 60), "!/x"
    linked = with_body(b"long", b"K", long_name.encode() + b"\0") + header(b"x", kind=b"2")
    yield "targets.tar.gz", "tar", writer(lambda: gzip.compress(linked * 2000)), "!/x"
    named = with_body(b"pax", b"x", pax(path="p" * 200_000, linkpath="l" * 200_000)) + header(b"x")
    yield "pax.tar.gz", "tar", writer(lambda: gzip.compress(named * 800))
    everywhere = with_body(b"pax", b"g", pax(path="\U0001f600" * 200_000, comment="c" * 200_000))
    yield "globals.tar.gz", "tar", writer(lambda: gzip.compress((everywhere + header(b"x")) * 800))
    yield "fields.tar.gz", "tar", writer(lambda: gzip.compress(_fields() * 300 + header(b"x")))
    yield "members.tar.gz", "tar", writer(lambda: gzip.compress(header(b"m") * 300_000, 1)), "!/m"
    yield "links.tar", "tar", writer(header(b"a", kind=b"1", target=b"b") + header(b"b", kind=b"1", target=b"a")), "!/a"
    yield "sparse.tar.gz", "tar", writer(lambda: gzip.compress(_sparse_header() + (bytes(504) + b"\1" * 8) * 100_000))
    yield "huge-member.tar", "tar", writer(header(b"big", size=8**11 - 1) + b"x" * 512), "!/big"
    yield "header.tar", "tar", writer(with_body(b"long", b"L", b"n" * 4 * MB) + header(b"x"))
    yield "deep.tar.xz", "tar", writer(lambda: lzma.compress(header(b"d/" * 50, kind=b"5") * 100_000, preset=0)), "!/d"


def _fields() -> bytes:
    return with_body(b"pax", b"g", b"".join(pax(**{f"field{n}": "v" * 50}) for n in range(9000)))


def _sparse_header() -> bytes:
    block = bytearray(header(b"s", kind=b"S"))
    block[482] = 1
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


# --- zip --------------------------------------------------------------------------------------------------------------


def zipped(members: dict[str, bytes], level: int = 6) -> bytes:
    """Return a zip archive of members."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as file:
        for name, data in members.items():
            file.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def _directory_bomb(count: int, name_bytes: int, extra_bytes: int = 0) -> bytes:
    """Return a zip archive whose central directory has many entries of one member."""
    name = b"\xf0\x9f\x98\x80" + b"n" * (name_bytes - 4)
    local = struct.pack("<4s5H3L2H", b"PK\3\4", 20, 0x800, 0, 0, 0, 0, 0, 0, len(name), 0) + name
    fixed = (b"PK\1\2", 20, 20, 0x800, 0, 0, 0, 0, 0, 0, len(name), extra_bytes, 0, 0, 0, 0, 0)
    entry = struct.pack("<4s6H3L5H2L", *fixed) + name + bytes(extra_bytes)
    directory = entry * count
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, count & 0xFFFF, count & 0xFFFF, len(directory), len(local), 0)
    return local + directory + end


def _nested_zip(depth: int) -> bytes:
    data = zipped({"leaf.txt": bytes(30 * MB)}, 9)
    for level in range(depth):
        data = zipped({f"{level}-{copy}.zip": data for copy in range(4)})
    return data


def _scattered(count: int) -> Iterator[int]:
    """Yield numbers of up to 190 bits that look random."""
    for number in range(count):
        yield int.from_bytes(hashlib.sha256(b"%d" % number).digest(), "big") >> 66


def _zips() -> Iterator[tuple[Any, ...]]:
    yield "members.zip", "zip", writer(lambda: _directory_bomb(65_000, 12)), "!/x"
    yield "many-members.zip", "zip", writer(lambda: _directory_bomb(250_000, 12)), "!/x"
    yield "names.zip", "zip", writer(lambda: _directory_bomb(300, 60_000)), "!/x"
    yield "extras.zip", "zip", writer(lambda: _directory_bomb(300, 10, 60_000)), "!/x"
    yield "member.zip", "zip", writer(lambda: zipped({"zeros.txt": bytes(100 * MB)}, 9)), "!/zeros.txt"
    yield "nested.zip", "zip", writer(lambda: _nested_zip(4)), "!/3-0.zip!/2-0.zip!/1-0.zip", "!/3-0.zip"
    yield "office.zip", "zip", writer(lambda: zipped({"a.docx": zipped({"word/document.xml": bytes(50 * MB)}, 9)}))
    # A name is compared with similar ones, and split at each "!/".
    yield "similar.zip", "zip", writer(lambda: zipped({f"{n:0190b}": b"" for n in _scattered(500)})), "!/" + "01" * 95
    yield "splits.zip", "zip", writer(lambda: _directory_bomb(65_000, 12)), "!/" + "x!/" * 4000
    wrong = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    yield "counts.zip", "zip", writer(b"PK\3\4" + bytes(100) + wrong)


# --- compressed files -------------------------------------------------------------------------------------------------


def _blocks(data: bytes, times: int, compressor: Any) -> bytes:
    """Return `data` repeated, compressed without ever being whole in memory."""
    pieces = [compressor.compress(data) for _ in range(times)]
    return b"".join(pieces) + compressor.flush()


def _gzip(data: bytes, times: int) -> bytes:
    return _blocks(data, times, zlib.compressobj(6, zlib.DEFLATED, 31))


def _bzip2(data: bytes, times: int) -> bytes:
    return _blocks(data, times, bz2.BZ2Compressor(9))


def _xz(data: bytes, times: int) -> bytes:
    return _blocks(data, times, lzma.LZMACompressor(preset=1))


def _zstd_raw(window_log: int, blocks: int, byte: bytes = b"\n") -> bytes:
    """Return a zstd frame with a given window, of blocks of one byte repeated."""
    frame = b"\x28\xb5\x2f\xfd\x00" + bytes([(window_log - 10) << 3])
    for number in range(blocks):
        size = 128 * 1024
        frame += ((size << 3) | (1 << 1) | (number == blocks - 1)).to_bytes(3, "little") + byte
    return frame


def _xz_dictionary() -> bytes:
    """Return an xz file whose header asks for a dictionary of 1.5 GB."""
    plain = bytearray(lzma.compress(b"small\n" * 100, filters=[{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 20}]))
    # The byte of the dictionary's size in the block header, and the CRC of that header.
    size = (plain[12] + 1) * 4
    at = plain.index(0x21, 12) + 2
    plain[at] = 39
    plain[12 + size - 4 : 12 + size] = zlib.crc32(plain[12 : 12 + size - 4]).to_bytes(4, "little")
    return bytes(plain)


def _streams() -> Iterator[tuple[Any, ...]]:
    zeros, feeds = bytes(MB), b"\n" * MB
    makers: dict[str, Callable[[bytes, int], bytes]] = {"gz": _gzip, "bz2": _bzip2, "xz": _xz}
    for suffix, make in makers.items():
        yield f"zeros.log.{suffix}", "compressed", writer(lambda make=make: make(zeros, 100)), ":-3"
        yield f"feeds.log.{suffix}", "compressed", writer(lambda make=make: make(feeds, 60)), ":-3"
    yield "zeros.log.zst", "compressed", writer(lambda: _zstd_raw(17, 8000)), ":-3"
    yield "window.log.zst", "compressed", writer(lambda: _zstd_raw(31, 8000)), ":-3"
    # Each step back begins at the start again, with a window of 32 MB.
    yield "back.log.zst", "compressed", writer(lambda: _zstd_raw(25, 480, b"a")), ":-3"
    yield "dictionary.log.xz", "compressed", writer(_xz_dictionary)
    yield "twice.log.gz.gz", "nested", writer(lambda: gzip.compress(_gzip(zeros, 100)))
    yield "thrice.log.xz.bz2.gz", "nested", writer(lambda: gzip.compress(bz2.compress(_xz(zeros, 100))))
    yield "layers.log.gz.gz.gz.gz.gz", "nested", writer(lambda: _layers(5))
    yield "members.log.gz", "compressed", writer(lambda: gzip.compress(b"") * 60_000)
    yield "members.log.bz2", "compressed", writer(lambda: bz2.compress(b"") * 100_000)
    yield "members.log.xz", "compressed", writer(lambda: lzma.compress(b"") * 40_000)
    yield "frames.log.zst", "compressed", writer(b"\x50\x2a\x4d\x18\0\0\0\0" * 200_000)
    yield (
        "tar-in.zip",
        "nested",
        writer(lambda: zipped({"a.tar.gz": gzip.compress(with_body(b"l", b"L", b"n" * 99_000) * 900)})),
        "!/a.tar.gz!/x",
        "!/a.tar.gz",
    )
    yield "tar-of.tar.gz", "nested", writer(lambda: gzip.compress(_tar_of_tars())), "!/a.tar!/b", "!/a.tar"


def _layers(count: int) -> bytes:
    data = bytes(20 * MB)
    for _ in range(count):
        data = gzip.compress(data)
    return data


def _tar_of_tars() -> bytes:
    inner = io.BytesIO()
    with tarfile.open(fileobj=inner, mode="w", format=tarfile.PAX_FORMAT) as file:
        for number in range(300):
            info = tarfile.TarInfo(f"{number}" + "\u00e9" * 20_000)
            file.addfile(info)
    outer = io.BytesIO()
    with tarfile.open(fileobj=outer, mode="w") as file:
        info = tarfile.TarInfo("a.tar")
        info.size = len(inner.getvalue())
        file.addfile(info, io.BytesIO(inner.getvalue()))
    return outer.getvalue()
