"""Pack files and their indexes: deltas, large offsets and damage."""

from __future__ import annotations

import pytest

from eyespan.context import CallContext
from eyespan.errors import Unreadable
from eyespan.extras.git.packs import PackIndex, apply_delta

BASE = b"0123456789" * 10
COPY_4_FROM_2, COPY_64K = b"\x91\x02\x04", b"\x80"


def delta(*commands, base_size=100, size):
    """Return a delta; both sizes are less than 128."""
    return bytes([base_size, size]) + b"".join(commands)


def apply(data):
    return apply_delta(BASE, data, CallContext())


def test_a_delta_copies_and_inserts():
    assert apply(delta(COPY_4_FROM_2, b"\x03new", COPY_4_FROM_2, size=11)) == b"2345new2345"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff" * 20,
        delta(b"\x03new", base_size=5, size=3),
        delta(b"\x03new", size=4),
        delta(b"\x03new", size=2),
        delta(b"\x03ne", size=3),
        delta(b"\x00", size=0),
        delta(b"\x91\x02", size=4),
        delta(b"\x91\x7f\x04", size=4),
        delta(COPY_64K, size=127),
    ],
)
def test_a_corrupt_delta_is_refused(data):
    with pytest.raises(Unreadable, match="corrupt repository"):
        apply(data)


class BytesSource:
    def __init__(self, data):
        self._data = data

    def read_fully(self, offset, size):
        return self._data[offset : offset + size]


def index(offsets, large=()):
    """Return an index of hashes 01 00.., 02 00.., ... with these offsets."""
    count = len(offsets)
    fanout = b"".join(min(byte, count).to_bytes(4, "big") for byte in range(256))
    hashes = b"".join(bytes([number]) + bytes(19) for number in range(1, count + 1))
    small = b"".join(offset.to_bytes(4, "big") for offset in offsets)
    far = b"".join(offset.to_bytes(8, "big") for offset in large)
    return PackIndex(BytesSource(b"\xfftOc\0\0\0\2" + fanout + hashes + bytes(4 * count) + small + far), 20)


def test_an_index_gives_offsets_of_any_size():
    found = index([12, 0x80000000, 0x80000001], large=[1 << 32, 1 << 40])

    assert found.is_supported()
    assert [found.find(bytes([number]) + bytes(19)) for number in range(5)] == [None, 12, 1 << 32, 1 << 40, None]
    assert list(found.find_prefix("02")) == ["02" + "00" * 19]
    assert list(found.find_prefix("0201")) == []


@pytest.mark.parametrize("size", [0, 8, 500, 1032, 1040, 1060, 1080])
def test_an_index_that_is_cut_finds_nothing(size):
    whole = index([12, 0x80000000], large=[1 << 32]).source._data
    cut = PackIndex(BytesSource(whole[:size]), 20)

    assert cut.find(b"\x02" + bytes(19)) is None
    assert len(list(cut.find_prefix("02"))) <= 1
