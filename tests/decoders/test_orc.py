"""The footer of ORC files, made by hand."""

from __future__ import annotations

import io
import zlib

import pytest

from eyespan.decoders import orc
from eyespan.decoders.data import Data


def field(number, value):
    """Return a field of a message; numbers and lengths are below 128."""
    if isinstance(value, int):
        return bytes([number << 3, value])
    return bytes([number << 3 | 2, len(value)]) + value


def block(data, is_packed=True):
    return (len(data) << 1 | (not is_packed)).to_bytes(3, "little") + data


FOOTER = (
    field(4, field(1, 12) + field(2, b"\1\2") + field(3, b"id") + field(3, b"name"))
    + field(4, field(1, 4))
    + field(4, field(1, 7))
    + field(6, 100)
)


def file(footer, compression):
    closing = field(1, len(footer)) + field(2, compression)
    return b"ORC" + footer + closing + bytes([len(closing)])


FACTS = ["100 rows", "2 columns: id long, name string"]


@pytest.mark.parametrize(
    ("footer", "compression", "name"),
    [
        (FOOTER, 0, "none"),
        (block(zlib.compress(FOOTER, wbits=-15)), 1, "zlib"),
        (block(FOOTER, is_packed=False), 1, "zlib"),
        (block(bytes([len(FOOTER), len(FOOTER) - 1 << 2]) + FOOTER), 2, "snappy"),
        (block(bytes([0xF0, len(FOOTER) - 15]) + FOOTER), 4, "lz4"),
    ],
)
def test_rows_and_columns_with_every_compression(footer, compression, name):
    found = orc.facts(Data(io.BytesIO(file(footer, compression))))

    assert found == [FACTS[0], f"compression {name}", FACTS[1]]


def test_an_unknown_compression_is_named_by_its_number():
    assert orc.facts(Data(io.BytesIO(file(block(b"?"), 9)))) == ["compression number 9"]
