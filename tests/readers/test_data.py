"""Binary files that no reader shows are described in one line, whatever their bytes are."""

from __future__ import annotations

import py_compile
import struct

import pytest

from eyespan import Workspace, binary_types


def shown(tmp_path, name, contents):
    (tmp_path / name).write_bytes(contents)
    reply = Workspace(tmp_path).tool("native").call({"files": name})
    assert not reply.is_error
    (line,) = [line.partition("\t")[2] for line in reply.text.split("\n")[1:]]
    return line


ROWS = [
    (name, signature.at, value)
    for name, signature in binary_types.TYPES
    for value in (signature.value if isinstance(signature.value, tuple) else (signature.value,))
]
ROWS.append(("disc image (ISO 9660)", 0x8001, b"CD001"))


@pytest.mark.parametrize(("name", "at", "signature"), ROWS)
def test_a_signature_gives_the_type(tmp_path, name, at, signature):
    contents = (bytes(at) + signature + bytes(40) + b"\xff\0\1" * 20_000)[:40_000]

    assert shown(tmp_path, "a", contents) == f"{name}, 40,000 bytes"


@pytest.mark.parametrize(
    ("contents", "line"),
    [
        (b"\0\1\2\xff", "binary data of unknown type, 4 bytes, begins with 00 01 02 ff"),
        (b"\0" * 40, "binary data of unknown type, 40 bytes, begins with" + " 00" * 16),
        (b"\xca\xfe\xba\xbe\0\0\0\2" + bytes(20), "program (Mach-O), 28 bytes"),
        (b"\xca\xfe\xba\xbe\0\0\0\x3d" + bytes(20), "Java class, 28 bytes"),
    ],
)
def test_the_line_of_a_file(tmp_path, contents, line):
    assert shown(tmp_path, "a", contents) == line


def test_compiled_python_is_recognised(tmp_path):
    (tmp_path / "tool.py").write_text("x = 1\n")
    py_compile.compile(str(tmp_path / "tool.py"), str(tmp_path / "tool.pyc"))
    contents = (tmp_path / "tool.pyc").read_bytes()

    assert shown(tmp_path, "tool.pyc", contents) == f"compiled Python, {len(contents)} bytes"


PROGRAM = b"%!PS-Adobe-3.0 EPSF-3.0\n%%Title: Tide\x1b[31m\xfc\n%%BoundingBox: 0 0 20 10\nnewpath\n"
COMMENTS = "Title Tide\\x1b[31mü, BoundingBox 0 0 20 10"


def test_postscript_with_binary_data_shows_its_title_and_size(tmp_path):
    line = shown(tmp_path, "a.eps", PROGRAM + b"\0\xff")

    assert line == f"PostScript with binary data, {len(PROGRAM) + 2} bytes, {COMMENTS}"


def test_an_eps_file_without_a_tiff_shows_its_title_and_size(tmp_path):
    wmf = b"\xd7\xcd\xc6\x9a" + bytes(40)
    header = struct.pack("<7IHH", 0xC6D3D0C5, 32, len(PROGRAM), 32 + len(PROGRAM), len(wmf), 0, 0, 0xFFFF, 0)

    line = shown(tmp_path, "a.eps", header + PROGRAM + wmf)

    assert line == f"PostScript drawing (EPS), {len(header + PROGRAM + wmf)} bytes, {COMMENTS}"


def test_eyespan_read_prints_the_same_line(tmp_path, capfdbinary, monkeypatch):
    from eyespan.cli.main import main

    (tmp_path / "a.wasm").write_bytes(b"\0asm\1\0\0\0")
    monkeypatch.chdir(tmp_path)

    code = main(["read", "a.wasm"])

    assert (code, capfdbinary.readouterr().out) == (0, b"WebAssembly module, 8 bytes\n")


@pytest.mark.parametrize("dialect", ["claude", "workspace"])
def test_other_dialects_do_not_describe_it(tmp_path, dialect):
    (tmp_path / "a.wav").write_bytes(b"RIFF\x24\0\0\0WAVE" + bytes(30))
    key = "path" if dialect == "workspace" else "file_path"

    reply = Workspace(tmp_path).tool(dialect).call({key: f"{tmp_path}/a.wav"})

    assert "WAV audio" not in reply.text
