"""Blocks of lines by indentation."""

from __future__ import annotations

import pytest

from eyespan.errors import WindowTooLarge
from eyespan.lines.block import ROW_BYTES, _Upward
from eyespan.lines.rows import MeasuredRow
from eyespan.model import Block, Limits

CODE = b"class A:\n    # why\n    def f():\n        one\n\n        two\n    def g():\n        three\nend\n"


def numbers(document):
    (part,) = document.parts
    return [number for number, _ in part.rows]


def test_a_block_ends_at_its_cap_going_up_and_at_a_smaller_indentation_going_down(file, read):
    file(CODE)

    assert numbers(read(Block(6, 2, 1))) == [6]  # a blank row above is not shown at an end
    assert numbers(read(Block(8, 50, 1))) == [4, 5, 6, 7, 8]  # up to what is indented less than it
    assert numbers(read(Block(4, 50, 0))) == list(range(1, 10))


def test_a_block_of_too_much_text_is_refused(file, read):
    file(b"start\n" + b"    " + b"x" * 300 + b"\n" + b"    y\n" * 200)

    with pytest.raises(WindowTooLarge):
        read(Block(100, 10_000, 1), limits=Limits(max_window_bytes=2000))


def test_blank_rows_that_were_too_many_to_hold_are_not_skipped_in_silence():
    rows_up = [MeasuredRow(number) for number in range(9, 0, -1)]
    up = _Upward(iter(rows_up), cap=100, max_bytes=3 * ROW_BYTES)

    assert [up.next()[0].number for _ in range(4)] == [9, 8, 7, 6]
    with pytest.raises(WindowTooLarge):
        up.next()
