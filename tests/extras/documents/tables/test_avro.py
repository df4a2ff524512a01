"""Avro files, made by hand: schema, rows, codecs and damage."""

from __future__ import annotations

import bz2
import io
import json
import lzma
import struct
import zlib

import pytest

from eyespan.errors import Unreadable
from eyespan.extras.documents.tables import avro


def number(value):
    value = value << 1 ^ value >> 63
    made = bytearray()
    while value > 127:
        made.append(value & 127 | 128)
        value >>= 7
    return bytes([*made, value])


def text(value):
    return number(len(value.encode())) + value.encode()


def container(schema, blocks, codec="null"):
    pack = {
        "deflate": lambda data: zlib.compress(data, wbits=-15),
        "bzip2": bz2.compress,
        "xz": lzma.compress,
        "snappy": lambda data: bytes([len(data), len(data) - 1 << 2]) + data + b"crc!",
    }.get(codec, lambda data: data)
    head = (
        avro.SIGNATURE + number(2) + text("avro.schema") + text(json.dumps(schema)) + text("avro.codec") + text(codec)
    )
    made = head + number(0) + bytes(16)
    for count, data in blocks:
        packed = pack(data)
        made += number(count) + number(len(packed)) + packed + bytes(16)
    return io.BytesIO(made)


def shown(file, first=1, count=10):
    return avro.decode(file, {"first": first, "count": count})[1][0].decode()


SHIP = {
    "type": "record",
    "name": "Ship",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "name", "type": ["null", "string"]},
    ],
}
BLOCKS = [(2, number(1) + number(1) + text("Aurora") + number(-2) + number(0)), (1, number(3) + number(1) + text("x"))]


@pytest.mark.parametrize("codec", ["null", "deflate", "bzip2", "xz", "snappy"])
def test_rows_are_decoded_through_each_codec(codec):
    assert shown(container(SHIP, BLOCKS, codec)) == (
        f"Avro, 2 columns, 3 rows, compression {codec}\ncolumns: id long, name null or string\n\nrows 1-3 of 3\n"
        "| id | name |\n| --- | --- |\n| 1 | Aurora |\n| -2 | NULL |\n| 3 | x |"
    )


def test_a_window_of_rows_is_decoded():
    assert shown(container(SHIP, BLOCKS), 2, 1).endswith(
        "row 2 of 3; the next with :rows 3-3\n| id | name |\n| --- | --- |\n| -2 | NULL |"
    )


def test_every_type_is_decoded():
    point = {"type": "record", "name": "Point", "namespace": "n", "fields": [{"name": "x", "type": "double"}]}
    fields = [
        ("a", "boolean", b"\1"),
        ("b", "float", struct.pack("<f", 1.5)),
        ("c", "bytes", number(2) + b"hi"),
        ("d", {"type": "fixed", "name": "F", "size": 1}, b"z"),
        ("e", {"type": "enum", "name": "E", "symbols": ["no", "yes"]}, number(1)),
        ("f", {"type": "array", "items": "int"}, number(-1) + number(1) + number(5) + number(0)),
        ("g", {"type": "map", "values": "string"}, number(1) + text("k") + text("v") + number(0)),
        ("h", point, struct.pack("<d", 2)),
        ("i", "n.Point", struct.pack("<d", 3)),
        ("j", {"type": "int", "logicalType": "date"}, number(7)),
    ]
    schema = {"type": "record", "name": "R", "fields": [{"name": name, "type": kind} for name, kind, _ in fields]}

    row = shown(container(schema, [(1, b"".join(data for *_, data in fields))])).split("\n")[-1]

    assert row == (
        "| True | 1.5 | x'6869' (2 bytes) | x'7a' (1 bytes) | yes | [5] | {'k': 'v'} | {'x': 2.0} | {'x': 3.0} | 7 |"
    )


def test_a_codec_without_a_decoder_is_named():
    assert shown(container(SHIP, BLOCKS, "lzo")).endswith("rows are not shown: the compression lzo is not supported")


def test_a_value_that_is_no_record_is_one_column():
    assert shown(container("string", [(1, text("a"))])).endswith("| value |\n| --- |\n| a |")


@pytest.mark.parametrize(
    "data",
    [
        b"text",
        avro.SIGNATURE,
        container(SHIP, [(2, b"")]).getvalue(),
        container(SHIP, [(-1, b"")]).getvalue(),
        container({"type": "record", "name": "R", "fields": [{"name": "r", "type": "R"}]}, [(1, b"")]).getvalue(),
        container("unknown", [(1, b"")]).getvalue(),
        container(SHIP, BLOCKS).getvalue().replace(b"record", b"recor{"),
    ],
)
def test_damage_is_refused(data):
    with pytest.raises(Unreadable):
        shown(io.BytesIO(data))
