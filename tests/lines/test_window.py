"""Windows: lines that are collected block by block, long ones shortened on the way."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyespan.errors import WindowTooLarge
from eyespan.lines.window import LINE_BYTES, LineWindow
from eyespan.model import EXACT_TOTAL, NO_TOTAL, Limits, Lines, ReadRequest
from tests.sizes import examples


def collect(data, *, block=1 << 20, count=None, squeeze_bytes=1 << 20, **request):
    """Feed the data in blocks until the window is full; return it and the number of bytes that it used."""
    window = LineWindow(ReadRequest("file", **request), asked="file", first=1, count=count, squeeze_bytes=squeeze_bytes)
    used = 0
    while not window.is_full:
        piece = data[used : used + block]
        used += window.feed(piece, final=not piece)
    return window, used


@settings(max_examples=examples(200))
@given(st.lists(st.sampled_from(["a", "é", "\n", "\r\n", "long " * 9]), max_size=30).map("".join), st.integers(1, 30))
def test_a_window_without_limits_is_the_text(text, block):
    data = text.encode()

    window, used = collect(data, block=block)

    assert (bytes(window.data), used, window.cuts) == (data, len(data), {})
    assert window.line_count == len(data.splitlines(keepends=True)) if "\r" not in text else True
    assert window.ends_open == (bool(data) and not data.endswith(b"\n"))


@pytest.mark.parametrize("block", [1, 4, 100])
def test_a_window_uses_no_more_than_its_lines(block):
    window, used = collect(b"one\ntwo\nthree\n", block=block, count=2)

    assert (bytes(window.data), window.line_count, used) == (b"one\ntwo\n", 2, 8)
    assert (window.ends_open, window.is_end_unknown) == (False, False)


def test_a_window_of_no_lines_is_full_at_once():
    assert collect(b"one\n", count=0)[1] == 0


@pytest.mark.parametrize("block", [7, 64, 1000])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b""])
def test_a_line_longer_than_its_limit_is_cut_with_its_length(block, end):
    data = b"short\n" + "é".encode() * 300 + end
    limits = Limits(max_line_bytes=20, max_line_chars=3)

    window, _ = collect(data, block=block, squeeze_bytes=30, limits=limits, counts_cut_chars=True)

    assert bytes(window.data) == b"short\n" + "ééééé".encode() + end
    assert (window.line_count, window.cuts, window.ends_open) == (2, {2: 300}, not end)


@pytest.mark.parametrize(("total", "is_end_unknown"), [(NO_TOTAL, True), (EXACT_TOTAL, False)])
def test_the_end_of_a_long_last_line_is_searched_only_for_an_exact_total(total, is_end_unknown):
    limits = Limits(max_line_bytes=20)

    window, used = collect(b"x" * 1000 + b"\ny\n", block=50, count=1, squeeze_bytes=0, limits=limits, total=total)

    assert (bytes(window.data), window.is_end_unknown) == (b"x" * 20 + b"\n", is_end_unknown)
    assert (used < 200) == is_end_unknown


@pytest.mark.parametrize("data", [b"x" * 1001, b"\n" * (1000 // (LINE_BYTES + 1) + 1)])
def test_a_window_is_weighed_by_its_text_and_its_lines(data):
    limits = Limits(max_window_bytes=1000)

    with pytest.raises(WindowTooLarge):
        collect(data, limits=limits)
    assert collect(data[:-1], limits=limits)[1] == len(data) - 1


@pytest.mark.parametrize("counts", [True, False])
def test_long_lines_in_a_heavy_window_are_shortened_on_the_way(counts, file, read, small_blocks):
    small_blocks(block_bytes=64, first_bytes=16, squeeze_bytes=100)
    long = b"x" * 90
    data = b"short\n" + long + b"\r\n" + long + b"\nshort\n" + long * 5
    limits = Limits(max_line_bytes=20, max_line_chars=3)

    file(data)
    part = read(limits=limits, counts_cut_chars=counts, total=EXACT_TOTAL).parts[0]

    shown = bytes(part.data).split(b"\n")
    assert shown[0] == b"short"
    assert all(line.startswith(b"xxxx") for line in (shown[1], shown[2], shown[4]))
    assert part.total_lines == part.line_count == 5
    assert part.cuts.get(5) == (450 if counts else -1)


def test_a_single_long_line_that_is_cut_ends_the_window_at_its_end(file, read, small_blocks):
    small_blocks(block_bytes=64, first_bytes=16, squeeze_bytes=100)
    limits = Limits(max_line_bytes=20, max_line_chars=3)

    file(b"x" * 1000 + b"\nnext\n")
    part = read(Lines(1, 1), limits=limits, total=EXACT_TOTAL).parts[0]

    assert (part.line_count, part.total_lines, part.more) == (1, 2, True)
    assert bytes(part.data).startswith(b"xxxx")
    assert bytes(part.data).endswith(b"\n")
