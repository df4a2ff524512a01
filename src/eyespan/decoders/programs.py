"""Facts about programs, compiled code and fonts: architecture, version, names.

Each function takes the `Data` of a file of its format and returns short texts. An invalid field raises ValueError,
IndexError, KeyError or struct.error.
"""

from __future__ import annotations

import struct
import zlib

from eyespan.decoders.data import Data, text
from eyespan.decoders.listings import read_varint

MAX_CONSTANTS = 20_000
MAX_NAMES = 12
_ELF_MACHINES = {
    3: "x86", 8: "MIPS", 20: "PowerPC", 21: "PowerPC 64", 22: "S390", 40: "ARM", 42: "SuperH", 43: "SPARC 64",
    62: "x86-64", 183: "ARM 64", 243: "RISC-V", 247: "BPF", 258: "LoongArch",
}  # fmt: skip
_ELF_TYPES = {1: "object file", 2: "program", 3: "shared library or program", 4: "core dump"}
_PE_MACHINES = {0x14C: "x86", 0x8664: "x86-64", 0x1C0: "ARM", 0x1C4: "ARM", 0xAA64: "ARM 64", 0x200: "Itanium"}
_MACH_CPUS = {7: "x86", 0x01000007: "x86-64", 12: "ARM", 0x0100000C: "ARM 64", 18: "PowerPC"}
_MACH_TYPES = {1: "object file", 2: "program", 6: "shared library", 8: "bundle", 10: "debug symbols"}


def elf(data: Data) -> list[str]:
    """Return type, architecture and interpreter."""
    is_wide, is_little = data.big(4, 1) == 2, data.big(5, 1) == 1
    order = "<" if is_little else ">"
    kind, machine = struct.unpack(f"{order}HH", data.at(16, 4))
    facts = [_ELF_TYPES.get(kind, "file"), f"{'64' if is_wide else '32'}-bit {_ELF_MACHINES.get(machine, machine)}"]
    if is_wide:
        (table,) = struct.unpack(f"{order}Q", data.at(32, 8))
        entry, count = struct.unpack(f"{order}HH", data.at(54, 4))
    else:
        (table,) = struct.unpack(f"{order}I", data.at(28, 4))
        entry, count = struct.unpack(f"{order}HH", data.at(42, 4))
    names = {2: "dynamically linked"}
    for index in range(min(count, 64)):
        (segment,) = struct.unpack(f"{order}I", data.at(table + index * entry, 4))
        if segment in names:
            facts.append(names.pop(segment))
    if names and kind == 2:
        facts.append("statically linked")
    return facts


def pe(data: Data) -> list[str]:
    """Return type, architecture, and the product and version that its resources name."""
    at = data.little(0x3C, 4)
    if data.at(at, 4) != b"PE\0\0":
        return ["DOS program"]
    machine, flags = data.little(at + 4, 2), data.little(at + 22, 2)
    subsystem = data.little(at + 24 + 68, 2)
    kind = "DLL" if flags & 0x2000 else {2: "program with windows", 3: "console program"}.get(subsystem, "program")
    facts = [f"Windows {kind}", _PE_MACHINES.get(machine, hex(machine))]
    for offset in range(0, min(data.size_bytes, 32 * 1024 * 1024), 3 * 1024 * 1024):
        block = data.at(offset, 4 * 1024 * 1024)
        place = block.find("VS_VERSION_INFO".encode("utf-16-le"))
        if place >= 0:
            facts += _version_strings(block[place : place + 8192])
            break
    return facts


def _version_strings(block: bytes) -> list[str]:
    facts = []
    for key, name in (("ProductName", "product"), ("FileVersion", "version"), ("CompanyName", "by")):
        mark = f"{key}\0".encode("utf-16-le")
        at = block.find(mark)
        if at >= 0:
            value = block[at + len(mark) : at + len(mark) + 200].decode("utf-16-le", "replace").lstrip("\0")
            shown = text(value.encode("utf-8", "replace"))
            facts += [f"{name} {shown}"] if shown else []
    return facts


def macho(data: Data) -> list[str]:
    """Return type and architectures."""
    magic = data.at(0, 4)
    if magic in (b"\xca\xfe\xba\xbe", b"\xca\xfe\xba\xbf"):
        entry = 20 if magic[3] == 0xBE else 32
        cpus = [data.big(8 + entry * index, 4) for index in range(min(data.big(4, 4), 8))]
        return ["for several architectures", *[str(_MACH_CPUS.get(cpu, cpu)) for cpu in cpus]]
    order = "<" if magic[0] in (0xCE, 0xCF) else ">"
    cpu, _, kind = struct.unpack(f"{order}III", data.at(4, 12))
    return [_MACH_TYPES.get(kind, "file"), str(_MACH_CPUS.get(cpu, cpu))]


_FIXED_CONSTANTS = {
    3: 4,
    4: 4,
    5: 8,
    6: 8,
    7: 2,
    8: 2,
    9: 4,
    10: 4,
    11: 4,
    12: 4,
    15: 3,
    16: 2,
    17: 4,
    18: 4,
    19: 2,
    20: 2,
}


def java_class(data: Data) -> list[str]:
    """Return the name of a class, its superclass and the version of Java that it needs."""
    block = data.at(0, 4 * 1024 * 1024)
    major, count = struct.unpack_from(">HH", block, 6)
    at, index = 10, 1
    texts: dict[int, bytes] = {}
    classes: dict[int, int] = {}
    while index < min(count, MAX_CONSTANTS):
        tag = block[at]
        if tag == 1:
            (size,) = struct.unpack_from(">H", block, at + 1)
            texts[index] = block[at + 3 : at + 3 + size]
            at += 3 + size
        else:
            if tag == 7:
                (classes[index],) = struct.unpack_from(">H", block, at + 1)
            at += 1 + _FIXED_CONSTANTS[tag]
        index += 2 if tag in (5, 6) else 1
    flags, this, parent = struct.unpack_from(">HHH", block, at)
    kind = "interface" if flags & 0x200 else "class"
    names = [text(texts[classes[one]]).replace("/", ".") if one in classes else "" for one in (this, parent)]
    facts = [f"{kind} {names[0]}", f"Java {major - 44}"]
    return [*facts, f"extends {names[1]}"] if names[1] not in ("", "java.lang.Object") else facts


_PYTHON_MAGIC = ((3660, "3.15"), (3600, "3.14"), (3550, "3.13"), (3500, "3.12"), (3450, "3.11"), (3430, "3.10"),
                 (3420, "3.9"), (3400, "3.8"), (3390, "3.7"), (3360, "3.6"), (3320, "3.5"), (3250, "3.4"))  # fmt: skip


def pyc(data: Data) -> list[str]:
    """Return the version of Python and the file that it was compiled from."""
    magic = data.little(0, 2)
    version = next((name for least, name in _PYTHON_MAGIC if least <= magic < least + 100), "")
    facts = [f"Python {version}"] if version else []
    block = data.at(16, 1024 * 1024)
    end = block.rfind(b".py")
    start = end
    while start > 0 and end - start < 300 and 32 < block[start - 1] < 127:
        start -= 1
    name = text(block[start : end + 3]).rpartition("/")[2] if end > 0 else ""
    return [*facts, f"of {name}"] if name.endswith(".py") and len(name) > 3 else facts


def wasm(data: Data) -> list[str]:
    """Return the version and the names of what a module exports."""
    facts = [f"version {data.little(4, 4)}"]
    block = data.at(0, 4 * 1024 * 1024)
    at = 8
    for _ in range(1000):
        if at >= len(block):
            break
        section = block[at]
        size, at = read_varint(block, at + 1)
        if section == 7:
            count, place = read_varint(block, at)
            names = []
            for _ in range(min(count, MAX_NAMES)):
                length, place = read_varint(block, place)
                names.append(text(block[place : place + length]))
                _, place = read_varint(block, place + length + 1)
            facts.append(f"{count} exports: {', '.join(names)}{' ...' * (count > len(names))}")
        at += size
    return facts


# --- fonts -----------------------------------------------------------------------------------------------------------


def sfnt(data: Data) -> list[str]:
    """Return the full name and the version of a TrueType or OpenType font, or of the first of a collection."""
    start, facts = 0, []
    if data.at(0, 4) == b"ttcf":
        facts.append(f"collection of {data.big(8, 4)}")
        start = data.big(12, 4)
    for index in range(min(data.big(start + 4, 2), 100)):
        record = data.at(start + 12 + 16 * index, 16)
        if record[:4] == b"name":
            offset, size = struct.unpack(">II", record[8:16])
            return [*_font_names(data.at(offset, size)), *facts]
    return facts


def woff(data: Data) -> list[str]:
    """Return the full name and the version of a WOFF font."""
    for index in range(min(data.big(12, 2), 100)):
        record = data.at(44 + 20 * index, 20)
        if record[:4] == b"name":
            offset, packed, size = struct.unpack(">III", record[4:16])
            block = data.at(offset, packed)
            if packed < size:
                block = zlib.decompressobj().decompress(block, 256 * 1024)
            return _font_names(block)
    return []


def _font_names(table: bytes) -> list[str]:
    count, strings = struct.unpack_from(">HH", table, 2)
    names: dict[int, str] = {}
    for index in range(min(count, 500)):
        platform, _, _, name, size, offset = struct.unpack_from(">6H", table, 6 + 12 * index)
        value = table[strings + offset : strings + offset + size]
        if name in (1, 4, 5) and name not in names:
            encoding = "latin-1" if platform == 1 else "utf-16-be"
            names[name] = text(value.decode(encoding, "replace").encode("utf-8", "replace"))
    shown = [names.get(4) or names.get(1) or "", names.get(5) or ""]
    return [name for name in shown if name]
