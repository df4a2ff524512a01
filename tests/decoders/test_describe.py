"""Binary files that no reader shows are described in one line, whatever their bytes are."""

from __future__ import annotations

import io
import json
import lzma
import plistlib
import py_compile
import random
import struct
import sys
import wave
import zlib

import pytest

from eyespan import Workspace
from eyespan.decoders import describe
from tests.sizes import examples


def described(data, suffix=""):
    facts, blobs = describe.decode(io.BytesIO(data), {"suffix": suffix})
    assert blobs == []
    return facts


def shown(tmp_path, name, data):
    (tmp_path / name).write_bytes(data)
    reply = Workspace(tmp_path).tool("native").call({"files": name})
    assert not reply.is_error
    return [line.partition("\t")[2] for line in reply.text.split("\n")[1:]]


# --- small files of many formats -------------------------------------------------------------------------------------


def box(name, *contents):
    body = b"".join(contents)
    return struct.pack(">I4s", 8 + len(body), name) + body


def mp4():
    mvhd = box(b"mvhd", bytes(12), struct.pack(">II", 1000, 65_500), bytes(80))
    tkhd = box(b"tkhd", bytes(76), struct.pack(">II", 640 << 16, 360 << 16))
    entry = box(b"stsd", bytes(8), box(b"avc1", bytes(70)))
    media = box(b"mdia", box(b"minf", box(b"stbl", entry)))
    title = box(b"\xa9nam", box(b"data", bytes(8), b"A film"))
    tags = box(b"udta", box(b"meta", bytes(4), box(b"ilst", title)))
    return box(b"ftyp", b"isom", bytes(4)) + box(b"moov", mvhd, box(b"trak", tkhd, media), tags)


def wav():
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(2)
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes(bytes(4 * 8000 * 3))
    return out.getvalue()


def comments(**tags):
    fields = [f"{name}={value}".encode() for name, value in tags.items()]
    return bytes(4) + struct.pack("<I", len(fields)) + b"".join([struct.pack("<I", len(one)) + one for one in fields])


def flac():
    packed = 44100 << 44 | 1 << 41 | 15 << 36 | 44100 * 20
    block = comments(TITLE="A song", ARTIST="Ada")
    info = b"\0" + (34).to_bytes(3, "big") + bytes(10) + packed.to_bytes(8, "big") + bytes(16)
    return b"fLaC" + info + b"\x84" + len(block).to_bytes(3, "big") + block + bytes(8)


def ogg():
    head = b"OggS" + bytes(2) + bytes(8) + bytes(14) + b"\x01vorbis" + bytes(4) + struct.pack("<BI", 1, 8000)
    tags = b"\x03vorbis" + comments(title="A tune")
    return head + tags + bytes(50) + b"OggS" + bytes(2) + struct.pack("<Q", 8000 * 65) + bytes(20)


def mp3():
    frame = b"\xff\xfb\x90\x00" + bytes(413)
    title = b"TIT2" + struct.pack(">I", 7) + bytes(2) + b"\0A song"
    return b"ID3\x03\0\0" + bytes([0, 0, 0, len(title)]) + title + frame * 40


def matroska():
    def element(number, body):
        return bytes.fromhex(number) + bytes([0x80 | len(body)]) + body

    info = element(
        "1549a966", element("4489", struct.pack(">d", 12_500.0)) + element("2ad7b1", (1_000_000).to_bytes(3, "big"))
    )
    video = element("e0", element("b0", b"\x01\x40") + element("ba", b"\x00\xf0"))
    tracks = element("1654ae6b", element("ae", element("86", b"V_VP9") + video))
    return element("1a45dfa3", b"") + element("18538067", info + tracks)


def elf():
    return b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HHI", 2, 183, 1) + bytes(200)


def pe():
    stub = b"MZ" + bytes(58) + struct.pack("<I", 64)
    head = b"PE\0\0" + struct.pack("<HH12xHH", 0x8664, 1, 240, 0x2022) + bytes(68) + struct.pack("<H", 3) + bytes(200)
    version = "VS_VERSION_INFO\0\0".encode("utf-16-le") + "ProductName\0\0Tool\0FileVersion\0\0001.2\0".encode(
        "utf-16-le"
    )
    return stub + head + version


def java_class():
    def constant(text):
        return b"\x01" + struct.pack(">H", len(text)) + text

    pool = constant(b"org/a/Main") + b"\x07\0\1" + constant(b"java/lang/Object") + b"\x07\0\3"
    return b"\xca\xfe\xba\xbe" + struct.pack(">HHH", 0, 61, 5) + pool + struct.pack(">HHH", 0x21, 2, 4)


def wasm():
    exports = b"\x02" + b"\x03add\x00\x00" + b"\x06memory\x02\x00"
    return b"\0asm\1\0\0\0" + b"\x07" + bytes([len(exports)]) + exports


def font():
    texts = [(4, "Sample Sans Bold".encode("utf-16-be")), (5, "Version 2.0".encode("utf-16-be"))]
    records, strings = b"", b""
    for name, text in texts:
        records += struct.pack(">6H", 3, 1, 0x409, name, len(text), len(strings))
        strings += text
    table = struct.pack(">HHH", 0, len(texts), 6 + len(records)) + records + strings
    return b"\0\1\0\0" + struct.pack(">H6x", 1) + b"name" + struct.pack(">III", 0, 28, len(table)) + table


def woff():
    table = font()[28:]
    packed = zlib.compress(table)
    record = b"name" + struct.pack(">IIII", 64, len(packed), len(table), 0)
    return b"wOFF" + bytes(8) + struct.pack(">H", 1) + bytes(30) + record + packed


def npy():
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header + bytes(96)


def ole(*names):
    entries = b""
    for name in names:
        raw = name.encode("utf-16-le") + b"\0\0"
        entries += raw.ljust(64, b"\0") + struct.pack("<HB", len(raw), 2) + bytes(61)
    head = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(22) + struct.pack("<H", 9) + bytes(16) + struct.pack("<I", 0)
    return head.ljust(512, b"\0") + entries.ljust(1024, b"\0")


PLAYERS = "to open it: ffprobe shows more, a player plays it"


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (mp4(), 'MP4 media, {} bytes, 1:06, 640 x 360, codec avc1, title "A film"; ' + PLAYERS),
        (wav(), "WAV audio, {} bytes, 3.00 s, 2 channels, 8000 Hz, 16 bits; " + PLAYERS),
        (flac(), 'FLAC audio, {} bytes, 0:20, 2 channels, 44100 Hz, 16 bits, title "A song", artist "Ada"; ' + PLAYERS),
        (ogg(), 'Ogg media, {} bytes, 1:05, Vorbis, 1 channel, 8000 Hz, title "A tune"; ' + PLAYERS),
        (mp3(), 'MP3 audio, {} bytes, about 1.04 s, 128 kbit/s, 44100 Hz, title "A song"; ' + PLAYERS),
        (matroska(), "Matroska or WebM video, {} bytes, 0:12, 320 x 240, codec V_VP9; " + PLAYERS),
        (
            elf(),
            "program (ELF), {} bytes, program, 64-bit ARM 64, statically linked; to open it: readelf, objdump or nm",
        ),
        (
            pe(),
            "program (PE), {} bytes, Windows DLL, x86-64, product Tool, version 1.2; "
            "to open it: a disassembler, or pefile",
        ),
        (java_class(), "Java class, {} bytes, class org.a.Main, Java 17; to open it: javap"),
        (
            wasm(),
            "WebAssembly module, {} bytes, version 1, 2 exports: add, memory; to open it: wasm2wat or wasm-objdump",
        ),
        (font(), "TrueType font, {} bytes, Sample Sans Bold, Version 2.0; to open it: a font viewer, or fontTools"),
        (woff(), "WOFF font, {} bytes, Sample Sans Bold, Version 2.0; to open it: a font viewer, or fontTools"),
        (ole("Root Entry", "VisioDocument"), "Visio drawing (vsd), {} bytes; to open it: LibreOffice converts it"),
        (
            ole("Root Entry", "EncryptedPackage"),
            "encrypted Office document, {} bytes; to open it: the program that wrote it, with its password",
        ),
        (ole("Root Entry", "other"), "compound document (OLE), {} bytes; to open it: olefile lists its streams"),
        (b"\x1f\x9d\x90" + bytes(9), "compress (.Z) data, {} bytes; to open it: gzip -d or 7z"),
        (b"fLaC\0", "FLAC audio, {} bytes, damaged, or of an unknown version; " + PLAYERS),
    ],
)
def test_a_binary_file_is_one_line_of_facts(tmp_path, data, line):
    assert shown(tmp_path, "a", data) == [line.format(f"{len(data):,}")]


def test_compiled_python_names_its_source(tmp_path):
    (tmp_path / "tool.py").write_text("x = 1\n")
    py_compile.compile(str(tmp_path / "tool.py"), str(tmp_path / "tool.pyc"))

    (line,) = shown(tmp_path, "tool.pyc", (tmp_path / "tool.pyc").read_bytes())

    assert f"Python {sys.version_info[0]}.{sys.version_info[1]}, of tool.py" in line


def test_eyespan_read_prints_the_same_line(tmp_path, capfdbinary, monkeypatch):
    from eyespan.cli.main import main

    (tmp_path / "a.wasm").write_bytes(wasm())
    monkeypatch.chdir(tmp_path)

    code = main(["read", "a.wasm"])

    assert (code, capfdbinary.readouterr().out.split(b",")[0]) == (0, b"WebAssembly module")


@pytest.mark.parametrize("dialect", ["claude", "workspace"])
def test_other_dialects_refuse_it_as_before(tmp_path, dialect):
    (tmp_path / "a.wav").write_bytes(wav())
    key = "path" if dialect == "workspace" else "file_path"

    reply = Workspace(tmp_path).tool(dialect).call({key: f"{tmp_path}/a.wav"})

    assert "WAV" not in reply.text


# --- archives --------------------------------------------------------------------------------------------------------


def newc(*members):
    out = b""
    for name, data in (*members, ("TRAILER!!!", b"")):
        raw = name.encode() + b"\0"
        fields = [0, 0o100644, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(raw), 0]
        out += b"070701" + b"".join([b"%08X" % field for field in fields]) + raw
        out = out.ljust(-len(out) % 4 + len(out), b"\0") + data
        out = out.ljust(-len(out) % 4 + len(out), b"\0")
    return out


def cab(*members):
    files = b"".join([struct.pack("<IIHHHH", size, 0, 0, 0, 0, 0) + name.encode() + b"\0" for name, size in members])
    return b"MSCF" + bytes(12) + struct.pack("<I", 36) + bytes(8) + struct.pack("<H", len(members)) + bytes(6) + files


def rar4(*members):
    out = b"Rar!\x1a\x07\0" + struct.pack("<HBHH6x", 0, 0x73, 0, 13)
    for name, size in members:
        raw = name.encode()
        head = struct.pack("<IIBIIBBHI", 0, size, 2, 0, 0, 29, 0x30, len(raw), 0)
        out += struct.pack("<HBHH", 0, 0x74, 0x8000, 32 + len(raw)) + head + raw
    return out + struct.pack("<HBHH", 0, 0x7B, 0, 7)


def rar5(*members):
    def block(body):
        return bytes(4) + bytes([len(body)]) + body

    out = b"Rar!\x1a\x07\1\0" + block(b"\1\0\0")
    for name, size in members:
        raw = name.encode()
        out += block(b"\2\0" + b"\0" + bytes([size]) + b"\0" + b"\0" + b"\0" + bytes([len(raw)]) + raw)
    return out + block(b"\5\0\0")


def seven_zip(*names, is_packed=False):
    raw = b"\0" + "".join([name + "\0" for name in names]).encode("utf-16-le")
    header = b"\x01\x05" + bytes([len(names)]) + b"\x11" + bytes([len(raw)]) + raw + b"\0\0"
    packed = b""
    if is_packed:
        chain = {"id": lzma.FILTER_LZMA2, "dict_size": 4096}
        packed = lzma.compress(header, lzma.FORMAT_RAW, filters=[chain])
        pack = b"\x06\x00\x01\x09" + bytes([len(packed)]) + b"\0"
        unpack = b"\x07\x0b\x01\x00\x01\x21\x21\x01\x00\x0c" + bytes([len(header)]) + b"\0"
        header = b"\x17" + pack + unpack + b"\0"
    start = struct.pack("<QQI", len(packed), len(header), 0)
    return b"7z\xbc\xaf\x27\x1c\0\4" + bytes(4) + start + packed + header


def iso(*members):
    def record(name, sector, size, flags=0):
        length = 33 + len(name) + (len(name) + 1) % 2
        body = struct.pack("<BBI4xI4x7xB6xB", length, 0, sector, size, flags, len(name)) + name
        return body.ljust(length, b"\0")

    directory = record(b"\0", 18, 2048, 2) + record(b"\1", 18, 2048, 2)
    for name, size in members:
        directory += record(name.encode(), 19, size)
    volume = b"\1CD001\1" + bytes(149) + record(b"\0", 18, 2048, 2)
    return (
        bytes(16 * 2048) + volume.ljust(2048, b"\0") + b"\xffCD001\1".ljust(2048, b"\0") + directory.ljust(4096, b"\0")
    )


def ar(*members):
    out = b"!<arch>\n"
    for name, data in members:
        out += (
            f"{name + '/':16}{0:<12}{0:<6}{0:<6}{'644':8}{len(data):<10}`\n".encode() + data + b"\n" * (len(data) % 2)
        )
    return out


class TestMembers:
    @pytest.mark.parametrize(
        ("name", "data"),
        [
            ("a.cpio", newc(("dir/a.txt", b"abc"), ("b", b"\0\1"))),
            ("a.cab", cab(("dir\\a.txt", 3), ("b", 2))),
            ("a.rar", rar4(("dir\\a.txt", 3), ("b", 2))),
            ("b.rar", rar5(("dir/a.txt", 3), ("b", 2))),
            ("a.iso", iso(("DIR/A.TXT;1", 3), ("b", 2))),
            ("a.a", ar(("dir/a.txt", b"a\0c"), ("b", b"\0\1"))),
        ],
    )
    def test_names_and_sizes_are_listed(self, tmp_path, name, data):
        first, *members = shown(tmp_path, name, data)

        assert ", 2 members; to open it: " in first
        assert [line.lower().split() for line in members] == [["3", "dir/a.txt"], ["2", "b"]]

    @pytest.mark.parametrize("is_packed", [False, True])
    def test_names_of_a_7z_archive_are_listed(self, tmp_path, is_packed):
        first, *members = shown(tmp_path, "a.7z", seven_zip("dir/a.txt", "ü", is_packed=is_packed))

        assert first.startswith("7z archive, ")
        assert [line.strip() for line in members] == ["dir/a.txt", "ü"]

    def test_members_that_a_rule_forbids_are_left_out(self, tmp_path):
        first, *members = shown(tmp_path, "a.cpio", newc(("app/.env", b"\0"), ("app/a", b"\0")))

        assert [line.split()[1] for line in members] == ["app/a"]
        assert "1 member" in first

    def test_names_are_escaped(self, tmp_path):
        text = "\n".join(shown(tmp_path, "a.cpio", newc(("a\nb\u202e", b"\0"))))

        assert "a\nb" not in text
        assert "\u202e" not in text

    def test_encrypted_names_are_called_so(self, tmp_path):
        data = b"Rar!\x1a\x07\0" + struct.pack("<HBHH6x", 0, 0x73, 0x80, 13)

        assert "its names are encrypted" in shown(tmp_path, "a.rar", data)[0]


# --- any bytes -------------------------------------------------------------------------------------------------------

SAMPLES = (
    mp4(), wav(), flac(), ogg(), mp3(), matroska(), elf(), pe(), java_class(), wasm(), font(), woff(), npy(),
    plistlib.dumps({"a": [1, {"b": b"c"}]}, fmt=plistlib.FMT_BINARY), ole("Root Entry", "Workbook"),
    newc(("a", b"b")), cab(("a", 1)), rar4(("a", 1)), rar5(("a", 1)), seven_zip("a"), seven_zip("a", is_packed=True),
    iso(("A", 1)), ar(("a", b"b")),
)  # fmt: skip


def mutants(count):
    chance = random.Random(7)
    for _ in range(count):
        data = bytearray(chance.choice(SAMPLES))
        for _ in range(chance.randint(1, 6)):
            at = chance.randrange(len(data))
            action = chance.randrange(4)
            if action == 0:
                data[at] = chance.choice((0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)))
            elif action == 1:
                data[at : at + 4] = chance.choice((b"\xff\xff\xff\xff", b"\0\0\0\0", b"\x7f\xff\xff\xff", b"-1  "))
            elif action == 2:
                del data[at + 1 :]
            else:
                data[at:at] = data[at : at + chance.randint(1, 40)]
        yield bytes(data)


def test_no_bytes_make_the_description_fail():
    for data in mutants(examples(1500)):
        facts = described(data)
        assert json.loads(json.dumps(facts)) is not None


@pytest.mark.parametrize("row", describe.TYPES, ids=lambda row: row.name)
def test_a_signature_alone_gives_the_type(row):
    data = bytes(row.offset) + row.signature + bytes(600)

    assert described(data)["type"]
