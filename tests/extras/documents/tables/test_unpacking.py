"""LZ4 and Snappy, by hand-made blocks."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyespan.extras.documents.tables import unpacking


class TestLz4:
    def test_repeated_and_overlapping_pieces(self):
        frame = b"\x04\x22\x4d\x18\x60\x40\0" + b"\x07\0\0\0" + b"\x24ab\x02\0\x10c" + b"\0\0\0\0"

        assert unpacking.lz4_frame(frame, 11) == b"ababababab" + b"c"

    def test_blocks_without_compression(self):
        frame = b"\x04\x22\x4d\x18\x60\x40\0" + b"\x03\0\0\x80abc" + b"\0\0\0\0"

        assert unpacking.lz4_frame(frame, 3) == b"abc"

    @pytest.mark.parametrize("block", [b"\x04\x09\0", b"\x24ab\0\0", b"\x2fab\x02\0\xff\xff\xff\0"])
    def test_places_before_the_start_and_too_long_results_are_refused(self, block):
        with pytest.raises(ValueError, match="outside the block"):
            unpacking.lz4_frame(b"\x04\x22\x4d\x18\x60\x40\0" + len(block).to_bytes(4, "little") + block, 40)


class TestSnappy:
    def test_literals_and_repeated_pieces(self):
        block = b"\x0d" + b"\x04ab" + b"\x05\x02" + b"\x0a\x02\0" + b"\x03\x02\0\0\0" + b"\x04xy"

        assert unpacking.snappy(block, 100) == b"ab" + b"ababa" + b"bab" + b"a" + b"xy"

    def test_long_literals_have_their_length_in_bytes(self):
        assert unpacking.snappy(b"\x64\xf0\x63" + b"x" * 100, 100) == b"x" * 100

    @pytest.mark.parametrize("block", [b"\x05\x01\x01", b"\xff\xff\x03\0a", b"\x05\0a"])
    def test_damage_is_refused(self, block):
        with pytest.raises((ValueError, IndexError)):
            unpacking.snappy(block, 1000)


@given(st.sampled_from((unpacking.snappy, unpacking.lz4_frame)), st.binary(max_size=60))
def test_any_bytes_give_a_bounded_result_or_an_error(unpack, data):
    try:
        made = unpack(data, 1000)
    except (ValueError, IndexError, struct.error):
        made = b""

    assert len(made) <= 1000
