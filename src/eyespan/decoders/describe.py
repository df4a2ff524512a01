"""Describe a binary file that no reader shows: its type, a few facts, its members, and what opens it.

`TYPES` is a table of signatures, each with the function that finds its facts. A file whose facts are damaged still has
its type. OLE files are distinguished by the names in their directory.
"""

from __future__ import annotations

import plistlib
import struct
import zlib
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO

from eyespan.decoders import audio_video, listings, orc, programs
from eyespan.decoders.data import Data, text

Facts = Callable[[Data], list[str]]
Listing = Callable[[Data], list[tuple[str, int]]]

INVALID = (ValueError, LookupError, ArithmeticError, TypeError, EOFError, RecursionError, struct.error, zlib.error)
"""What parsers raise for a file that is not what its signature says."""


class Type:
    """One row of the table: bytes at a place, and what is known of files that have them."""

    __slots__ = ("facts", "listing", "name", "offset", "opener", "signature")

    def __init__(
        self,
        signature: bytes,
        name: str,
        opener: str = "",
        *,
        facts: Facts | None = None,
        listing: Listing | None = None,
        offset: int = 0,
    ) -> None:
        self.signature = signature
        self.name = name
        self.opener = opener
        self.facts = facts
        self.listing = listing
        self.offset = offset


# --- small facts -----------------------------------------------------------------------------------------------------


def _npy(data: Data) -> list[str]:
    size = data.little(8, 2) if data.big(6, 1) == 1 else data.little(8, 4)
    start = 10 if data.big(6, 1) == 1 else 12
    header = text(data.at(start, min(size, 2000)))
    shape, kind = header.partition("'shape':")[2], header.partition("'descr':")[2]
    found = [f"type {kind.split(',')[0].strip(' {}')}", f"shape {shape.split(')')[0].strip()})"]
    return found if shape and kind else []


def _plist(data: Data) -> list[str]:
    value = plistlib.loads(data.at(0, 4 * 1024 * 1024), fmt=plistlib.FMT_BINARY)
    if not isinstance(value, dict):
        return [f"a {type(value).__name__} of {len(value)}" if hasattr(value, "__len__") else "a value"]
    keys = [text(str(key).encode("utf-8", "replace")) for key in list(value)[:12]]
    return [f"{len(value)} keys: {', '.join(keys)}{' ...' * (len(value) > 12)}"]


def _mo(data: Data) -> list[str]:
    order = "<" if data.at(0, 1) == b"\xde" else ">"
    return [f"{struct.unpack(order + 'I', data.at(8, 4))[0]} messages"]


def _dbf(data: Data) -> list[str]:
    rows, header = data.little(4, 4), data.little(8, 2)
    names = [text(data.at(32 + 32 * index, 11), "latin-1") for index in range(min(64, (header - 33) // 32))]
    return [f"{rows} rows", f"columns {', '.join([name for name in names if name])}"]


def _emf(data: Data) -> list[str]:
    left, top, right, bottom = struct.unpack("<4i", data.at(8, 16))
    return [f"{right - left} x {bottom - top}"]


def _wmf(data: Data) -> list[str]:
    left, top, right, bottom, units = struct.unpack("<4hH", data.at(6, 10))
    return [f"{(right - left) / units:.1f} x {(bottom - top) / units:.1f} inches"] if units else []


def _pcap(data: Data) -> list[str]:
    order = "<" if data.at(0, 1) in b"\xd4\x4d" else ">"
    major, minor = struct.unpack(order + "HH", data.at(4, 4))
    return [f"version {major}.{minor}"]


def _avro(data: Data) -> list[str]:
    head = data.at(0, 4096)
    at = head.find(b'"name"')
    name = head[at + 6 : at + 80].split(b'"')[1] if at > 0 else b""
    return [f"schema {text(name)}"] if name else []


def _dwg(data: Data) -> list[str]:
    return [f"version {text(data.at(0, 6), 'ascii')}"]


def _swf(data: Data) -> list[str]:
    return [f"version {data.big(3, 1)}"]


def _rpm(data: Data) -> list[str]:
    return [text(data.at(10, 66))]


def _git_pack(data: Data) -> list[str]:
    return [f"version {data.big(4, 4)}, {data.big(8, 4)} objects"]


def _sqlite_wal(data: Data) -> list[str]:
    return [f"pages of {data.big(8, 4)} bytes", f"{data.size_bytes // max(1, data.big(8, 4) + 24)} frames"]


def _psb(data: Data) -> list[str]:
    return [f"{data.big(18, 4)} x {data.big(14, 4)}"]


def _xcf(data: Data) -> list[str]:
    return [f"{data.big(14, 4)} x {data.big(18, 4)}"]


def _glb(data: Data) -> list[str]:
    return [f"glTF version {data.little(4, 4)}"]


_ARCHIVERS = "7z, bsdtar or a similar program unpacks it"
_PLAYERS = "ffprobe shows more, a player plays it"
_FONTS = "a font viewer, or fontTools"

TYPES = (
    Type(b"\x7fELF", "program (ELF)", "readelf, objdump or nm", facts=programs.elf),
    Type(b"MZ", "program (PE)", "a disassembler, or pefile", facts=programs.pe),
    *[
        Type(magic, "program (Mach-O)", "otool or nm", facts=programs.macho)
        for magic in (b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe", b"\xfe\xed\xfa\xcf", b"\xfe\xed\xfa\xce")
    ],
    Type(b"\0asm", "WebAssembly module", "wasm2wat or wasm-objdump", facts=programs.wasm),
    Type(b"dex\n", "Android code (DEX)", "jadx or dexdump"),
    Type(b"BC\xc0\xde", "LLVM bitcode", "llvm-dis"),
    Type(b"\x1bLua", "Lua bytecode", "luac -l"),
    Type(b"ID3", "MP3 audio", _PLAYERS, facts=audio_video.mp3),
    *[
        Type(magic, "MP3 audio", _PLAYERS, facts=audio_video.mp3)
        for magic in (b"\xff\xfb", b"\xff\xf3", b"\xff\xf2", b"\xff\xfa")
    ],
    Type(b"fLaC", "FLAC audio", _PLAYERS, facts=audio_video.flac),
    Type(b"OggS", "Ogg media", _PLAYERS, facts=audio_video.ogg),
    Type(b"WAVE", "WAV audio", _PLAYERS, facts=audio_video.wav, offset=8),
    Type(b"AVI ", "AVI video", _PLAYERS, facts=audio_video.avi, offset=8),
    Type(b"AIFF", "AIFF audio", _PLAYERS, facts=audio_video.aiff, offset=8),
    Type(b"AIFC", "AIFF audio", _PLAYERS, facts=audio_video.aiff, offset=8),
    Type(b"MThd", "MIDI music", "a MIDI player", facts=audio_video.midi),
    Type(b"ftypM4A", "M4A audio", _PLAYERS, facts=audio_video.mp4, offset=4),
    Type(b"ftypqt", "QuickTime video", _PLAYERS, facts=audio_video.mp4, offset=4),
    Type(b"ftyp", "MP4 media", _PLAYERS, facts=audio_video.mp4, offset=4),
    Type(b"moov", "QuickTime video", _PLAYERS, facts=audio_video.mp4, offset=4),
    Type(b"mdat", "QuickTime video", _PLAYERS, facts=audio_video.mp4, offset=4),
    Type(b"\x1aE\xdf\xa3", "Matroska or WebM video", _PLAYERS, facts=audio_video.matroska),
    Type(b"FLV\x01", "Flash video", _PLAYERS),
    Type(b"\0\0\x01\xba", "MPEG video", _PLAYERS),
    Type(b"\0\0\x01\xb3", "MPEG video", _PLAYERS),
    Type(b"0&\xb2u\x8ef\xcf\x11", "Windows Media", _PLAYERS),
    Type(b"#!AMR", "AMR audio", _PLAYERS),
    Type(b".snd", "AU audio", _PLAYERS),
    *[Type(magic, "Flash program", "a decompiler such as JPEXS", facts=_swf) for magic in (b"FWS", b"CWS", b"ZWS")],
    Type(b"\0\1\0\0\0", "TrueType font", _FONTS, facts=programs.sfnt),
    Type(b"true\0", "TrueType font", _FONTS, facts=programs.sfnt),
    Type(b"OTTO\0", "OpenType font", _FONTS, facts=programs.sfnt),
    Type(b"ttcf\0", "font collection", _FONTS, facts=programs.sfnt),
    Type(b"wOFF", "WOFF font", _FONTS, facts=programs.woff),
    Type(b"wOF2", "WOFF2 font", _FONTS),
    Type(b"\x80\x01", "PostScript font", _FONTS),
    Type(b"7z\xbc\xaf\x27\x1c", "7z archive", _ARCHIVERS, listing=listings.seven_zip),
    Type(b"Rar!\x1a\x07", "RAR archive", _ARCHIVERS, listing=listings.rar),
    Type(b"MSCF\0\0\0\0", "cabinet", _ARCHIVERS, listing=listings.cab),
    Type(b"!<arch>\ndebian", "Debian package", "dpkg-deb", listing=listings.ar),
    Type(b"!<arch>\n", "archive of object files", "ar or nm", listing=listings.ar),
    Type(b"070701", "cpio archive", _ARCHIVERS, listing=listings.cpio),
    Type(b"070702", "cpio archive", _ARCHIVERS, listing=listings.cpio),
    Type(b"070707", "cpio archive", _ARCHIVERS, listing=listings.cpio),
    Type(b"\xc7\x71", "cpio archive", _ARCHIVERS, listing=listings.cpio),
    Type(b"\x71\xc7", "cpio archive", _ARCHIVERS, listing=listings.cpio),
    Type(b"CD001", "ISO 9660 disc image", _ARCHIVERS, listing=listings.iso, offset=0x8001),
    Type(b"\xed\xab\xee\xdb", "RPM package", "rpm -qpl or rpm2cpio", facts=_rpm),
    Type(b"xar!", "XAR archive", _ARCHIVERS),
    Type(b"-lh", "LHA archive", _ARCHIVERS, offset=2),
    Type(b"`\xea", "ARJ archive", _ARCHIVERS),
    Type(b"MSWIM\0\0\0", "Windows disc image", _ARCHIVERS),
    Type(b"hsqs", "SquashFS image", "unsquashfs"),
    Type(b"\x1f\x9d", "compress (.Z) data", "gzip -d or 7z"),
    Type(b"\x1f\xa0", "LZH (.z) data", "gzip -d"),
    Type(b"\x04\x22\x4d\x18", "LZ4 data", "lz4 -d"),
    Type(b"LZIP", "lzip data", "lzip -d"),
    Type(b"\x89LZO\0", "LZO data", "lzop -d"),
    Type(b"\xff\x06\0\0sNaPpY", "Snappy data", "a Snappy library"),
    Type(b"]\0\0", "LZMA data", "xz -d or 7z"),
    Type(b"\x93NUMPY", "NumPy array", "numpy.load", facts=_npy),
    Type(b"\x89HDF\r\n\x1a\n", "HDF5 file", "h5py or h5dump"),
    Type(b"CDF\x01", "NetCDF file", "netCDF4 or ncdump"),
    Type(b"CDF\x02", "NetCDF file", "netCDF4 or ncdump"),
    Type(b"ORC", "ORC file", "pyarrow", facts=orc.facts),
    Type(b"Obj\x01", "Avro file", "fastavro", facts=_avro),
    Type(b"MATLAB 5.0", "MATLAB file", "scipy.io.loadmat"),
    Type(b"RDX2\n", "R data", "R, or pyreadr"),
    Type(b"RDX3\n", "R data", "R, or pyreadr"),
    Type(b"\xc2\xea\x81\x60", "SAS data", "pandas.read_sas", offset=12),
    Type(b"<stata_dta>", "Stata data", "pandas.read_stata"),
    Type(b"$FL2", "SPSS data", "pyreadstat"),
    Type(b"bplist00", "binary property list", "plutil or plistlib", facts=_plist),
    Type(b"\xde\x12\x04\x95", "gettext messages", "msgunfmt", facts=_mo),
    Type(b"\x95\x04\x12\xde", "gettext messages", "msgunfmt", facts=_mo),
    Type(b"TZif", "time zone", "zdump"),
    Type(b"\xd4\xc3\xb2\xa1", "packet capture", "tcpdump -r or tshark", facts=_pcap),
    Type(b"\xa1\xb2\xc3\xd4", "packet capture", "tcpdump -r or tshark", facts=_pcap),
    Type(b"\x0a\x0d\x0d\x0a", "packet capture (pcapng)", "tshark"),
    Type(b"PACK\0\0\0", "git pack", "git verify-pack", facts=_git_pack),
    Type(b"\xfftOc", "index of a git pack", "git show-index"),
    Type(b"DIRC\0\0\0", "git index", "git ls-files --stage"),
    Type(b"7\x7f\x06\x82", "SQLite write-ahead log", "sqlite3, with its database", facts=_sqlite_wal),
    Type(b"7\x7f\x06\x83", "SQLite write-ahead log", "sqlite3, with its database", facts=_sqlite_wal),
    Type(b"\0\1\0\0Standard Jet DB", "Access database", "mdb-tools"),
    Type(b"\0\1\0\0Standard ACE DB", "Access database", "Access"),
    Type(b"b1\x05\0", "Berkeley database", "db_dump", offset=12),
    Type(b"\0\x05\x31\x62", "Berkeley database", "db_dump", offset=12),
    Type(b"a\x15\x06\0", "Berkeley database", "db_dump", offset=12),
    Type(b"\0\x06\x15\x61", "Berkeley database", "db_dump", offset=12),
    Type(b"\x13W\x9a\xce", "GDBM database", "gdbm_dump"),
    Type(b"8BPS\0\2", "Photoshop big document", "Photoshop, or psd-tools", facts=_psb),
    Type(b"gimp xcf", "GIMP image", "GIMP", facts=_xcf),
    Type(b" EMF", "Windows metafile (EMF)", "LibreOffice or inkscape", facts=_emf, offset=40),
    Type(b"\xd7\xcd\xc6\x9a", "Windows metafile (WMF)", "LibreOffice or inkscape", facts=_wmf),
    Type(b"\1\0\x09\0\0\3", "Windows metafile (WMF)", "LibreOffice or inkscape"),
    Type(b"\xc5\xd0\xd3\xc6", "EPS with a preview", "ghostscript"),
    Type(b"%!PS", "PostScript with binary data", "ghostscript"),
    Type(b"AC10", "AutoCAD drawing", "AutoCAD, or ODA File Converter", facts=_dwg),
    Type(b"DICM", "DICOM image", "pydicom", offset=128),
    Type(b"SIMPLE  =", "FITS image", "astropy"),
    Type(b"BLENDER", "Blender scene", "Blender"),
    Type(b"glTF", "3D model", "a glTF viewer", facts=_glb),
    Type(b"Kaydara FBX", "FBX 3D model", "Blender"),
    Type(b"ITSF", "compiled help (CHM)", "7z unpacks it"),
    Type(b"BOOKMOBI", "Kindle book", "Calibre", offset=60),
    Type(b"\xe4\x52\x5c\x7b\x8c\xd8\xa7\x4d", "OneNote section", "OneNote"),
    Type(b"\xa1\x2f\xff\x43\xd9\xef\x76\x4c", "OneNote table of contents", "OneNote"),
    Type(b"HWP Document File", "Hangul document (hwp)", "pyhwp, or LibreOffice"),
    Type(b"\xca\xfe\xd0\x0d", "packed Java classes (pack200)", "unpack200"),
    Type(b"\xffWPC", "WordPerfect document", "LibreOffice"),
    Type(b"!BDN", "Outlook mailbox (PST)", "readpst"),
    Type(b"\x30\x82", "certificate or key (DER)", "openssl"),
    Type(b"\xfe\xed\xfe\xed", "Java key store", "keytool"),
    Type(b"\x99\x01", "PGP key", "gpg"),
    Type(b"SSH PRIVATE KEY FILE", "SSH key", "ssh-keygen"),
    Type(b"\xac\xed\0\5", "Java serialised objects", "a Java program"),
    Type(b"\x80\x02", "Python pickle", "python -m pickletools"),
    Type(b"\x80\x03", "Python pickle", "python -m pickletools"),
    Type(b"\x80\x04\x95", "Python pickle", "python -m pickletools"),
    Type(b"\x80\x05\x95", "Python pickle", "python -m pickletools"),
    Type(b"GGUF", "model weights (GGUF)", "gguf-dump"),
    Type(b"QFI\xfb", "QEMU disc image", "qemu-img info"),
    Type(b"KDMV", "VMware disc image", "qemu-img info"),
    Type(b"conectix", "virtual disc (VHD)", "qemu-img info"),
    Type(b"vhdxfile", "virtual disc (VHDX)", "qemu-img info"),
    Type(b"koly", "macOS disc image", "7z unpacks it"),
    Type(b"L\0\0\0\1\x14\2\0", "Windows shortcut", "a shortcut parser such as LnkParse"),
    Type(b"regf", "Windows registry hive", "reglookup or python-registry"),
    Type(b"ElfFile\0", "Windows event log", "evtx_dump"),
)
"""The rows are tried in order; a longer signature stands before a shorter one that begins it."""

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_OLE_TYPES = (
    ("EncryptedPackage", "encrypted Office document", "the program that wrote it, with its password"),
    ("WordDocument", "Word document (doc)", "LibreOffice converts it"),
    ("PowerPoint Document", "PowerPoint presentation (ppt)", "LibreOffice converts it"),
    ("Workbook", "Excel workbook (xls)", "LibreOffice converts it"),
    ("Book", "Excel workbook (xls)", "LibreOffice converts it"),
    ("__properties_version1.0", "Outlook message (msg)", "Outlook, or msgconvert"),
    ("VisioDocument", "Visio drawing (vsd)", "LibreOffice converts it"),
    ("Quill", "Publisher document (pub)", "LibreOffice converts it"),
    ("Contents", "Works or Publisher document", "LibreOffice converts it"),
    ("FileHeader", "Hangul document (hwp)", "pyhwp, or LibreOffice"),
    ("\u4840\u3b3f\u43f2\u4438\u45b1", "Windows installer (msi)", "msiextract or 7z"),
    ("\u4840\u3f7f\u4164\u422f\u4836", "Windows installer (msi)", "msiextract or 7z"),
)


def _ole_type(data: Data) -> tuple[str, str]:
    """Return the type of a compound document and what opens it, by the names in the first sectors of its directory."""
    shift, sector = data.little(30, 2), data.little(48, 4)
    if shift not in (9, 12):
        raise ValueError("an invalid sector size")
    block = data.at((sector + 1) << shift, 64 * 1024)
    names = []
    for at in range(0, len(block) - 127, 128):
        size = int.from_bytes(block[at + 64 : at + 66], "little")
        if 2 <= size <= 64 and block[at + 66] in (1, 2, 5):
            names.append(block[at : at + size - 2].decode("utf-16-le", "replace"))
    for name, kind, opener in _OLE_TYPES:
        if name in names:
            return kind, opener
    return "compound document (OLE)", "olefile lists its streams"


def rehearse() -> None:
    """Load what is loaded on first use: the codecs of names and tags."""
    for name in ("ascii", "latin-1", "cp1252", "utf-8", "utf-16", "utf-16-le", "utf-16-be"):
        b"a\0".decode(name, "replace")
    plistlib.loads(plistlib.dumps({"a": [1]}, fmt=plistlib.FMT_BINARY))


def decode(file: BinaryIO, params: Mapping[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    """Return `type`, `facts`, `opener` and, for archives, `members` (name and size) of a file."""
    data = Data(file)
    first = data.at(0, 256)
    found: dict[str, Any] = {"type": "", "facts": [], "opener": "", "first_bytes": first[:16].hex(" ")}
    if first.startswith(_OLE):
        try:
            found["type"], found["opener"] = _ole_type(data)
        except INVALID:
            found["type"] = "damaged compound document (OLE)"
        return found, []
    row = _row(data, first, params.get("suffix", ""))
    if row is None:
        return found, []
    found["type"], found["opener"] = row.name, row.opener
    try:
        if row.facts is not None:
            found["facts"] = [fact for fact in row.facts(data) if fact][:12]
        if row.listing is not None:
            found["members"] = row.listing(data)
    except listings.Encrypted:
        found["facts"] = ["its names are encrypted"]
    except INVALID:
        found["facts"] = ["damaged, or of an unknown version"]
    return found, []


def _row(data: Data, first: bytes, suffix: str) -> Type | None:
    if first[:4] == b"\xca\xfe\xba\xbe":
        # A Java class and a Mach-O file for several architectures begin alike; Java's version is larger.
        if int.from_bytes(first[4:8], "big") > 40:
            return Type(b"", "Java class", "javap", facts=programs.java_class)
        return Type(b"", "program (Mach-O)", "otool or nm", facts=programs.macho)
    if first[2:4] == b"\r\n" and suffix in (".pyc", ".pyo"):
        return Type(b"", "compiled Python", "python -m dis, on its source", facts=programs.pyc)
    if suffix == ".dbf" and first[:1] in b"\x02\x03\x04\x05\x30\x31\x83\x8b\xf5":
        return Type(b"", "dBase table", "dbfread or LibreOffice", facts=_dbf)
    for row in TYPES:
        found = first[row.offset :] if row.offset < 200 else data.at(row.offset, len(row.signature))
        if found.startswith(row.signature):
            return row
    tail = data.at(max(0, data.size_bytes - 128 * 1024), 128 * 1024)
    if b"\xab\xcd\xefMaxMind.com" in tail:
        return Type(b"", "MaxMind database", "the maxminddb library")
    if tail[-512:].startswith(b"koly"):
        return Type(b"", "macOS disc image", "7z unpacks it")
    if b"TRUEVISION-XFILE" in tail[-32:]:
        return Type(b"", "Targa image", "Pillow")
    return None
