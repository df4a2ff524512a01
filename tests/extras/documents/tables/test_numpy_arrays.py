"""NumPy arrays and archives of them, without NumPy."""

from __future__ import annotations

import io
import struct
import zipfile

import pytest

from eyespan import Workspace
from eyespan.errors import Unreadable
from eyespan.extras.documents.tables import numpy_arrays


def npy(descr, shape, data, fortran=False, version=1):
    header = f"{{'descr': {descr!r}, 'fortran_order': {fortran}, 'shape': {shape!r}, }}\n".encode()
    size = len(header).to_bytes(2 if version == 1 else 4, "little")
    return numpy_arrays.SIGNATURE + bytes([version, 0]) + size + header + data


def shown(data, first=1, count=10):
    return numpy_arrays.decode(io.BytesIO(data), {"first": first, "count": count})[1][0].decode()


NUMBERS = npy("<i4", (3, 2), struct.pack("<6i", 1, -2, 3, 4, 5, 6))


def test_an_array_has_its_shape_type_and_rows():
    assert shown(NUMBERS) == (
        "NumPy array, 3 x 2, int32\n\nrows 1-3 of 3\n| 0 | 1 |\n| --- | --- |\n| 1 | -2 |\n| 3 | 4 |\n| 5 | 6 |"
    )
    assert shown(NUMBERS, 2, 1).endswith("row 2 of 3; the next with :rows 3-3\n| 0 | 1 |\n| --- | --- |\n| 3 | 4 |")
    assert shown(NUMBERS, count=0) == "NumPy array, 3 x 2, int32"


@pytest.mark.parametrize(
    ("descr", "data", "kind", "value"),
    [
        ("<f8", struct.pack("<d", 1.5), "float64", "1.5"),
        (">f4", struct.pack(">f", 1.5), "float32 big-endian", "1.5"),
        ("|b1", b"\1", "bool", "True"),
        ("|u1", b"\xff", "uint8", "255"),
        ("<c16", struct.pack("<dd", 1, 2), "complex128", "(1+2j)"),
        ("|S3", b"ab\0", "bytes of 3", "ab"),
        ("<U2", "hé".encode("utf-32-le"), "text of 2", "hé"),
        ("<M8[ns]", struct.pack("<q", 7), "datetime64[ns]", "7"),
    ],
)
def test_each_type_of_value_is_decoded(descr, data, kind, value):
    assert shown(npy(descr, (1,), data, version=2)) == (
        f"NumPy array, 1, {kind}\n\nrow 1 of 1\n| 0 |\n| --- |\n| {value} |"
    )


def test_fields_are_columns():
    made = npy([("x", "<i2"), ("name", "<U1")], (1,), struct.pack("<h", 7) + "a".encode("utf-32-le"))

    assert shown(made) == (
        "NumPy array, 1, {x: int16, name: text of 1}\n\nrow 1 of 1\n| x | name |\n| --- | --- |\n| 7 | a |"
    )


def test_objects_are_not_unpickled_and_other_orders_named():
    assert shown(npy("|O", (2,), b"cos\nsystem\n")) == (
        "NumPy array, 2, objects\nits values are pickled objects, which are not read"
    )
    assert "stored column by column are not shown" in shown(npy("<i2", (2, 2), bytes(8), fortran=True))
    assert shown(npy("<U0", (1,), b"")).endswith("its values have no bytes")
    assert shown(npy("<M4[s]", (1,), b"abcd")).endswith("| x'61626364' (4 bytes) |")
    assert shown(npy("<i2", (0,), b"")) == "NumPy array, 0, int16"
    assert shown(npy("<i2", (9,), bytes(2))).endswith("the file ends before its last row")


@pytest.mark.parametrize(
    "data",
    [
        b"text",
        npy("<i2", (-1,), b""),
        npy("<x9y", (1,), b""),
        npy([], (1,), b""),
        NUMBERS.replace(b"False", b"Fals("),
        numpy_arrays.SIGNATURE + b"\2\0" + (1 << 30).to_bytes(4, "little"),
    ],
)
def test_a_corrupt_header_is_refused(data):
    with pytest.raises(Unreadable):
        shown(data)


def test_an_archive_lists_its_arrays_and_shows_one(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("two.npy", npy("<i2", (1,), b"\1\0"))
    tool = Workspace(tmp_path).tool("native")

    listed, one = (tool.call({"files": name}).text for name in ("a.npz", "a.npz!/two.npy"))

    assert listed.split()[-1] == "two.npy"
    assert one.split("\n")[1:] == ["1\tNumPy array, 1, int16", "", "\trow 1 of 1", "\t| 0 |", "\t| --- |", "\t| 1 |"]
