"""Scans: aligned blocks of a source, up to a limit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyespan.context import CallContext
from eyespan.errors import ScanLimit
from eyespan.lines.encodings import UTF8, by_bom
from eyespan.lines.scan import Scan
from eyespan.source import Source

UTF16 = by_bom(b"\xff\xfe")
ERROR = ScanLimit("file", limit_bytes=8)


class Pieces(Source):
    """A source in memory that returns no more than `most` bytes at a time."""

    def __init__(self, data, most, first):
        self.data, self.most = data, most
        self.size_bytes = len(data)
        self._first_bytes = data[:first]

    def read_at(self, offset, size_bytes):
        return self.data[offset : offset + min(size_bytes, self.most)]


def scan(data, encoding=UTF8, *, most=1 << 20, first=0, block_bytes=16, **limit):
    return Scan(Pieces(data, most, first), encoding, CallContext(), block_bytes=block_bytes, **limit)


def blocks(made):
    offset, found = made.start, []
    while block := made.block(offset):
        found.append(block)
        offset += len(block)
    return found


@given(st.binary(max_size=60), st.integers(1, 9), st.integers(0, 9), st.integers(1, 9), st.none() | st.integers(1, 35))
def test_blocks_are_the_bytes_in_whole_units(data, most, first, units, end):
    data = UTF16.bom + data
    made = scan(data, UTF16, most=most, first=first, block_bytes=2 * units, end=end and 2 * end)

    found = blocks(made)

    assert b"".join(found) == data[2 : end and 2 * end]
    assert all(len(block) % 2 == 0 for block in found[:-1])


@pytest.mark.parametrize("size", [7, 8, 9])
def test_a_limit_raises_its_error_only_if_there_is_more(size):
    made = scan(b"x" * size, end=8, error=ERROR)

    if size > 8:
        with pytest.raises(ScanLimit):
            blocks(made)
    else:
        assert b"".join(blocks(made)) == b"x" * size


def test_a_scan_up_to_an_offset_ignores_the_rest():
    made = scan(b"0123456789", end=8, error=ERROR)

    assert blocks(made.up_to(4)) == [b"0123"]
    assert [made.up_to(4).has_more(offset) for offset in (3, 4)] == [True, False]
    assert [made.has_more(offset) for offset in (7, 8, 10)] == [True, True, False]


def test_a_held_block_is_not_read_again():
    made = scan(b"0123456789", block_bytes=4)
    made.hold(b"ABCD", 2)

    assert made.block_with(3) == (b"ABCD", 1)
    assert made.block_with(6) == (b"6789", 0)
    assert made.block(4) == b"CD"
    assert made.read_fully(1, 5) == b"12345"
    assert made.read_fully(2, 4) == b"ABCD"
    assert made.read_fully(2, 6) == b"234567"  # one read is cheaper than joining two pieces
    assert made.up_to(9).block_with(5) == (b"ABCD", 3)


def test_the_size_of_the_source_bounds_the_last_offset():
    assert [scan(b"0123", end=end).last_offset for end in (None, 2, 9)] == [4, 2, 4]


@pytest.mark.parametrize(
    ("encoding", "text", "offset", "expected"),
    [
        (UTF8, b"a\nb", 0, False),
        (UTF8, b"a\nb", 1, True),
        (UTF8, b"a\nb", 2, False),
        (UTF8, b"a\nb", 3, True),
        (UTF8, b"a\nb", 9, False),  # the file became shorter
        (UTF16, "a\n".encode("utf-16"), 2, False),
        (UTF16, "a\n".encode("utf-16"), 4, True),
        (UTF16, "a\n".encode("utf-16"), 6, False),
        (UTF16, "a\n".encode("utf-16") + b"\n", 7, True),  # within a unit
    ],
)
def test_an_offset_is_inside_a_line_unless_a_line_feed_is_before_it(encoding, text, offset, expected):
    for most in (1, 100):
        assert scan(text, encoding, most=most).is_inside_line(offset) is expected
