"""The members of archives that are not opened themselves: 7z, rar, cab, cpio, ar and ISO images.

Each function takes the `Data` of a file of its format and returns at most `MAX_ENTRIES` names and sizes; a size of -1
is not known. An invalid field raises ValueError, IndexError or struct.error, and the members before it are lost.
"""

from __future__ import annotations

import lzma
import struct

from eyespan.decoders.data import Data

Entries = list[tuple[str, int]]

MAX_ENTRIES = 2000
MAX_HEADER_BYTES = 4 * 1024 * 1024


class Encrypted(ValueError):
    """The names of an archive are encrypted."""


def _name(data: bytes, encoding: str = "utf-8") -> str:
    return data.decode(encoding, "replace")[:1000]


# --- cpio and ar -----------------------------------------------------------------------------------------------------


def cpio(data: Data) -> Entries:
    """List a cpio archive with headers of any form."""
    entries: Entries = []
    at = 0
    while len(entries) < MAX_ENTRIES:
        head = data.at(at, 110)
        if head[:6] in (b"070701", b"070702"):
            size, name_size = int(head[54:62], 16), int(head[94:102], 16)
            name_at = at + 110
            following = (name_at + name_size + 3) // 4 * 4
            after = (following + size + 3) // 4 * 4
        elif head[:6] == b"070707":
            size, name_size = int(head[65:76], 8), int(head[59:65], 8)
            name_at = at + 76
            after = name_at + name_size + size
        elif head[:2] in (b"\xc7\x71", b"\x71\xc7"):
            fields = struct.unpack(f"{'<' if head[0] == 0xC7 else '>'}13H", head[:26])
            name_size, size = fields[10], fields[11] << 16 | fields[12]
            name_at = at + 26
            after = name_at + name_size + name_size % 2 + size + size % 2
        else:
            break
        if size < 0 or name_size < 0:
            break
        name = _name(data.at(name_at, min(name_size, 4096)).rstrip(b"\0"))
        if name == "TRAILER!!!":
            break
        entries.append((name, size))
        at = after
    return entries


def ar(data: Data) -> Entries:
    """List an archive of object files, or a Debian package."""
    entries: Entries = []
    long_names = b""
    at = 8
    while len(entries) < MAX_ENTRIES:
        head = data.at(at, 60)
        if len(head) < 60 or head[58:] != b"`\n":
            break
        name, size = head[:16].rstrip(), int(head[48:58])
        if size < 0:
            break
        if name == b"//":
            long_names = data.at(at + 60, min(size, MAX_HEADER_BYTES))
        elif name.startswith(b"#1/"):
            entries.append((_name(data.at(at + 60, min(int(name[3:]), 4096)).rstrip(b"\0")), size - int(name[3:])))
        elif name[:1] == b"/" and name[1:].isdigit():
            entries.append((_name(long_names[int(name[1:]) :].split(b"/\n", 1)[0]), size))
        elif name not in (b"/", b"/SYM64/", b"__.SYMDEF"):
            entries.append((_name(name.rstrip(b"/")), size))
        at += 60 + size + size % 2
    return entries


# --- CAB -------------------------------------------------------------------------------------------------------------


def cab(data: Data) -> Entries:
    """List a cabinet of Windows."""
    at, count = data.little(16, 4), data.little(28, 2)
    entries: Entries = []
    for _ in range(min(count, MAX_ENTRIES)):
        head = data.at(at, 16 + 256)
        size, attributes = struct.unpack_from("<I", head)[0], struct.unpack_from("<H", head, 14)[0]
        name = head[16:].split(b"\0", 1)[0]
        entries.append((_name(name, "utf-8" if attributes & 0x80 else "cp1252").replace("\\", "/"), size))
        at += 17 + len(name)
    return entries


# --- ISO 9660 --------------------------------------------------------------------------------------------------------

_SECTOR = 2048


def iso(data: Data) -> Entries:
    """List a disc image, by its Joliet names if it has them."""
    root, encoding = b"", "ascii"
    for sector in range(16, 32):
        head = data.at(sector * _SECTOR, _SECTOR)
        if head[1:6] != b"CD001" or head[0] == 255:
            break
        if head[0] == 1 and not root:
            root = head[156:190]
        elif head[0] == 2 and head[88:91] in (b"%/@", b"%/C", b"%/E"):
            root, encoding = head[156:190], "utf-16-be"
    if not root:
        raise ValueError("no volume")
    entries: Entries = []
    waiting = [("", *struct.unpack("<I4xI", root[2:14]))]
    seen = set()
    while waiting and len(entries) < MAX_ENTRIES:
        path, sector, size = waiting.pop(0)
        if sector in seen:
            continue
        seen.add(sector)
        block = data.at(sector * _SECTOR, min(size, MAX_HEADER_BYTES))
        at = 0
        while at < len(block) and len(entries) < MAX_ENTRIES:
            length = block[at]
            if not length:
                at = (at // _SECTOR + 1) * _SECTOR
                continue
            record = block[at : at + length]
            at += length
            raw = record[33 : 33 + record[32]]
            if raw in (b"\0", b"\1"):
                continue
            name = f"{path}{_name(raw, encoding).split(';', 1)[0]}"
            place, bytes_count = struct.unpack("<I4xI", record[2:14])
            if record[25] & 2:
                waiting.append((f"{name}/", place, bytes_count))
                entries.append((f"{name}/", -1))
            else:
                entries.append((name, bytes_count))
    return entries


# --- RAR -------------------------------------------------------------------------------------------------------------


def rar(data: Data) -> Entries:
    """List a RAR archive of version 4 or 5. Raises: Encrypted."""
    return _rar5(data) if data.at(6, 2) == b"\1\0" else _rar4(data)


def _rar4(data: Data) -> Entries:
    entries: Entries = []
    at = 7
    while len(entries) < MAX_ENTRIES:
        head = data.at(at, 32)
        if len(head) < 7:
            break
        kind, flags, size = struct.unpack_from("<BHH", head, 2)
        if kind == 0x73 and flags & 0x80:
            raise Encrypted("encrypted")
        packed = struct.unpack_from("<I", head, 7)[0] if flags & 0x8000 else 0
        if kind == 0x74:
            unpacked, name_size = struct.unpack_from("<I", head, 11)[0], struct.unpack_from("<H", head, 26)[0]
            name = data.at(at + (40 if flags & 0x100 else 32), name_size).split(b"\0", 1)[0]
            entries.append((_name(name).replace("\\", "/") + "/" * (flags & 0xE0 == 0xE0), unpacked))
        if kind == 0x7B or size < 7:
            break
        at += size + packed
    return entries


def _rar5(data: Data) -> Entries:
    entries: Entries = []
    at = 8
    while len(entries) < MAX_ENTRIES:
        head = data.at(at, 4096)
        if len(head) < 8:
            break
        size, place = read_varint(head, 4)
        start = place
        kind, place = read_varint(head, place)
        flags, place = read_varint(head, place)
        packed = 0
        if flags & 1:
            _, place = read_varint(head, place)
        if flags & 2:
            packed, place = read_varint(head, place)
        if kind == 4:
            raise Encrypted("encrypted")
        if kind == 2:
            file_flags, place = read_varint(head, place)
            unpacked, place = read_varint(head, place)
            _, place = read_varint(head, place)
            place += 4 * bool(file_flags & 2) + 4 * bool(file_flags & 4)
            _, place = read_varint(head, place)
            _, place = read_varint(head, place)
            length, place = read_varint(head, place)
            name = _name(head[place : place + length])
            entries.append((f"{name}/" if file_flags & 1 else name, -1 if file_flags & 9 else unpacked))
        if kind == 5 or not size:
            break
        at += start + size + packed
    return entries


def read_varint(block: bytes, at: int) -> tuple[int, int]:
    """Return a number of seven bits per byte (LEB128), and the place after it. Raises: ValueError, IndexError."""
    value = shift = 0
    while shift < 64:
        byte = block[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 128:
            return value, at
    raise ValueError("a number is too long")


# --- 7z --------------------------------------------------------------------------------------------------------------

_END, _HEADER, _STREAMS, _FILES, _PACK, _UNPACK, _SUBSTREAMS = 0, 1, 4, 5, 6, 7, 8
_SIZE, _CRC, _FOLDER, _UNPACK_SIZE, _COUNT, _NAMES, _ENCODED = 9, 10, 11, 12, 13, 17, 23
_LZMA, _LZMA2, _COPY, _AES = b"\x03\x01\x01", b"\x21", b"\x00", b"\x06\xf1\x07\x01"


class _Folder:
    """The coders of some streams of a 7z archive."""

    def __init__(self) -> None:
        self.coders: list[tuple[bytes, bytes]] = []
        self.outputs = 0
        self.sizes: list[int] = []
        self.has_crc = False


class _SevenZip:
    """A reader of the fields of a 7z header."""

    def __init__(self, block: bytes) -> None:
        self._block = block
        self._at = 0
        self.pack_offset = 0
        self.pack_sizes: list[int] = []
        self.folders: list[_Folder] = []

    def byte(self) -> int:
        self._at += 1
        return self._block[self._at - 1]

    def take(self, size: int) -> bytes:
        if size < 0 or self._at + size > len(self._block):
            raise ValueError("the header ends within a field")
        self._at += size
        return self._block[self._at - size : self._at]

    def number(self) -> int:
        first = self.byte()
        mask, value = 0x80, 0
        for index in range(8):
            if not first & mask:
                return value | (first & (mask - 1)) << 8 * index
            value |= self.byte() << 8 * index
            mask >>= 1
        return value

    def count(self) -> int:
        value = self.number()
        if value > 1_000_000:
            raise ValueError("too many entries")
        return value

    def streams(self) -> None:
        """Read which streams of the file are packed, and how."""
        while (kind := self.byte()) != _END:
            if kind == _PACK:
                self._pack_info()
            elif kind == _UNPACK:
                self._unpack_info()
            elif kind == _SUBSTREAMS:
                self._substreams()
            else:
                raise ValueError("an unknown field")

    def _pack_info(self) -> None:
        self.pack_offset, count = self.number(), self.count()
        while (kind := self.byte()) != _END:
            if kind == _SIZE:
                self.pack_sizes = [self.number() for _ in range(count)]
            elif kind == _CRC:
                self._digests(count)
            else:
                raise ValueError("an unknown field")

    def _digests(self, count: int) -> list[bool]:
        if self.byte():
            defined = [True] * count
        else:
            bits = self.take((count + 7) // 8)
            defined = [bool(bits[index // 8] & 0x80 >> index % 8) for index in range(count)]
        self.take(4 * sum(defined))
        return defined

    def _unpack_info(self) -> None:
        if self.byte() != _FOLDER:
            raise ValueError("no folders")
        count = self.count()
        if self.byte():
            raise ValueError("folders elsewhere")
        self.folders = [self._folder() for _ in range(count)]
        if self.byte() != _UNPACK_SIZE:
            raise ValueError("no sizes")
        for folder in self.folders:
            folder.sizes = [self.number() for _ in range(folder.outputs)]
        kind = self.byte()
        if kind == _CRC:
            for folder, has_crc in zip(self.folders, self._digests(count), strict=True):
                folder.has_crc = has_crc
            kind = self.byte()
        if kind != _END:
            raise ValueError("an unknown field")

    def _folder(self) -> _Folder:
        folder = _Folder()
        inputs = 0
        for _ in range(min(self.count(), 32)):
            flags = self.byte()
            method = self.take(flags & 15)
            coder_inputs, coder_outputs = (self.count(), self.count()) if flags & 16 else (1, 1)
            folder.coders.append((method, self.take(self.count()) if flags & 32 else b""))
            inputs += coder_inputs
            folder.outputs += coder_outputs
        pairs = folder.outputs - 1
        for _ in range(2 * pairs):
            self.number()
        if inputs - pairs > 1:
            for _ in range(inputs - pairs):
                self.number()
        return folder

    def _substreams(self) -> None:
        counts = [1] * len(self.folders)
        kind = self.byte()
        if kind == _COUNT:
            counts = [self.count() for _ in self.folders]
            kind = self.byte()
        if kind == _SIZE:
            for count in counts:
                for _ in range(count - 1):
                    self.number()
            kind = self.byte()
        if kind == _CRC:
            pairs = zip(counts, self.folders, strict=True)
            self._digests(sum([0 if count == 1 and folder.has_crc else count for count, folder in pairs]))
            kind = self.byte()
        if kind != _END:
            raise ValueError("an unknown field")

    def names(self) -> list[str]:
        """Read the names of the files."""
        self.count()
        while (kind := self.number()) != _END:
            block = self.take(self.number())
            if kind == _NAMES and block[:1] == b"\0":
                return _name_list(block[1:])
        return []


def _name_list(block: bytes) -> list[str]:
    names = block.decode("utf-16-le", "replace").split("\0")
    return [name[:1000] for name in names[:-1]]


def seven_zip(data: Data) -> Entries:
    """List a 7z archive; sizes are not read. Raises: Encrypted."""
    offset, size = struct.unpack("<QQ", data.at(12, 16))
    block = data.at(32 + offset, min(size, MAX_HEADER_BYTES))
    for _ in range(4):
        header = _SevenZip(block)
        kind = header.byte()
        if kind == _ENCODED:
            header.streams()
            block = _unpacked(data, header)
            continue
        if kind != _HEADER:
            raise ValueError("no header")
        kind = header.byte()
        if kind == _STREAMS:
            header.streams()
            kind = header.byte()
        return [(name, -1) for name in header.names()[:MAX_ENTRIES]] if kind == _FILES else []
    raise ValueError("headers in headers")


def _unpacked(data: Data, header: _SevenZip) -> bytes:
    """Return the header that is packed in the archive."""
    folder = header.folders[0]
    if any(method == _AES for method, _ in folder.coders):
        raise Encrypted("encrypted")
    method, properties = folder.coders[0]
    packed = data.at(32 + header.pack_offset, min(header.pack_sizes[0], MAX_HEADER_BYTES))
    size = min(folder.sizes[-1], MAX_HEADER_BYTES)
    if method == _COPY:
        return packed[:size]
    # No more than the output is ever looked back at, so a larger dictionary only takes memory.
    dictionary = max(4096, 1 << size.bit_length())
    if method == _LZMA and len(properties) == 5:
        settings = properties[0]
        chain = {
            "id": lzma.FILTER_LZMA1,
            "lc": settings % 9,
            "lp": settings // 9 % 5,
            "pb": settings // 45,
            "dict_size": dictionary,
        }
    elif method == _LZMA2:
        chain = {"id": lzma.FILTER_LZMA2, "dict_size": dictionary}
    else:
        raise ValueError("an unknown method")
    try:
        return lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=[chain]).decompress(packed, size)
    except lzma.LZMAError as error:
        raise ValueError("damaged") from error
