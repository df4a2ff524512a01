"""LZ4, by hand-made blocks."""

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


@given(st.binary(max_size=60))
def test_any_bytes_give_a_bounded_result_or_an_error(data):
    try:
        made = unpacking.lz4_frame(data, 1000)
    except (ValueError, IndexError, struct.error):
        made = b""

    assert len(made) <= 1000
