"""Lines over descriptors: the same lines however the bytes arrive."""

from __future__ import annotations

import os
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyespan.server import line_stream
from eyespan.server.line_stream import LineStream, LineTooLong

PIECES = st.lists(st.sampled_from([b"a", b"bc", b"\n", b"\n\n", b" ", b"\r\n", b"\t\n", b"d\ne"]), max_size=12)


def read_all(blocks, monkeypatch):
    """Return the lines of a stream that arrives in these blocks."""
    stream = LineStream(-1, -1)
    waiting = [block for block in blocks if block]

    def read(_, __):
        return waiting.pop(0) if waiting else b""

    monkeypatch.setattr(line_stream.os, "read", read)
    found = []
    while True:
        line = stream.read_line()
        if line is None:
            return found
        found.append(line)


@given(st.lists(PIECES, max_size=6))
def test_lines_are_the_same_however_they_arrive(blocks):
    joined = [b"".join(pieces) for pieces in blocks]
    with pytest.MonkeyPatch.context() as patch:
        found = read_all(joined, patch)

    assert found == [line for line in b"".join(joined).split(b"\n") if line.strip()]


@pytest.mark.parametrize("size", [100, 101, 1000])
def test_a_line_that_is_too_long_is_skipped_and_those_around_it_are_not(size, monkeypatch):
    monkeypatch.setattr(line_stream, "MAX_LINE_BYTES", 100)
    stream = LineStream(-1, -1)
    blocks = [b"first\nx", *[b"x"] * size, b"\n", b"second\nthi", b"rd"]
    monkeypatch.setattr(line_stream.os, "read", lambda *_: blocks.pop(0) if blocks else b"")

    assert stream.read_line() == b"first"
    if size < 100:
        assert stream.read_line() == b"x" * (size + 1)
    else:
        with pytest.raises(LineTooLong):
            stream.read_line()
    assert [stream.read_line() for _ in range(3)] == [b"second", b"third", None]


def test_pieces_of_several_lines_are_written_whole_though_the_reader_is_slow():
    out_end, in_end = os.pipe()
    pieces = [b"x" * 70_000, b"\n", b"y" * 200_000, b"\n"]
    stream = LineStream(-1, in_end)
    thread = threading.Thread(target=lambda: (stream.write(pieces), os.close(in_end)))
    thread.start()
    with os.fdopen(out_end, "rb") as found:
        assert found.read() == b"".join(pieces)
    thread.join()
