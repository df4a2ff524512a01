"""The sandbox allows no import, and an encoding is a module: every one that decoders name is loaded before."""

from __future__ import annotations

import ast
import codecs
from pathlib import Path

import pytest

from eyespan import Workspace
from eyespan.worker.job import CODECS

SOURCES = Path(__file__).parents[2] / "src" / "eyespan"
BUILT_IN = {"utf-8"}


def named_encodings(path):
    """Return the constants that are passed to `encode`, `decode` and `str` as an encoding."""
    found = set()
    for call in ast.walk(ast.parse(path.read_text("utf-8"))):
        if (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Attribute)
            and call.func.attr in ("encode", "decode")
        ):
            given = [*call.args[:1], *[word.value for word in call.keywords if word.arg == "encoding"]]
            for value in [leaf for argument in given for leaf in ast.walk(argument)]:
                if isinstance(value, ast.Constant) and isinstance(value.value, str):
                    found.add(value.value)
    return found


def canonical(name):
    try:
        return codecs.lookup(name).name
    except LookupError:
        return ""


@pytest.mark.parametrize("path", sorted((SOURCES / "decoders").glob("*.py")), ids=lambda path: path.stem)
def test_every_encoding_that_a_decoder_names_is_loaded_before_the_sandbox(path):
    known = {canonical(name) for name in (*CODECS, *BUILT_IN)}

    assert {name for name in named_encodings(path) if canonical(name) and canonical(name) not in known} == set()


@pytest.mark.parametrize("name", ["a.docx", "a.pptx", "a.xlsx", "a.odt"])
def test_an_encrypted_office_file_is_called_encrypted_in_a_new_decoding_process(name, tmp_path):
    data = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504) + "EncryptedPackage".encode("utf-16-le") + bytes(480)
    (tmp_path / name).write_bytes(data)

    text = Workspace(tmp_path).tool("native").call({"files": name}).text

    assert "unknown encoding" not in text
    assert "encrypted" in text
