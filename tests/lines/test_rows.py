"""Rows: lines measured one by one, up and down from an anchor."""

from __future__ import annotations

import os

import pytest

from eyespan.context import CallContext
from eyespan.lines.encodings import UTF8
from eyespan.lines.reader import LineReader
from eyespan.lines.rows import Rows
from eyespan.model import Block, ReadRequest


def numbers(document):
    (part,) = document.parts
    return [number for number, _ in part.rows]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le"])
def test_a_line_that_starts_with_more_white_space_than_is_held_is_measured_all_the_same(
    encoding, file, read, small_blocks, monkeypatch
):
    monkeypatch.setattr("eyespan.lines.rows.MAX_HELD_BYTES", 64)
    small_blocks(block_bytes=32, first_bytes=16, squeeze_bytes=1 << 20)
    deep = " " * 300
    text = f"top\n{deep}one\n{deep}# two\n{deep}\u2003\u2003x\n{deep}\n{deep}\u3000\nend\n"

    file(text.encode(encoding))
    document = read(Block(2, 50, 1), encoding=encoding)

    assert numbers(document) == [2, 3, 4]  # the blank ones at the end are not shown


def test_a_line_that_ends_before_its_time_is_measured_as_far_as_it_goes(file, open_source, small_blocks):
    small_blocks(block_bytes=64, first_bytes=0, squeeze_bytes=1 << 20)
    path = file(b" " * 500 + b"x\n")
    source = open_source(path)
    rows = Rows(LineReader(source, ReadRequest("file"), UTF8, CallContext()).finder(), max_line_bytes=100)
    os.truncate(path, 200)

    assert list(rows._pieces(0, 500)) == [b" " * 64] * 3 + [b" " * 8]
    assert rows._first_text(0, 500) == ""


def test_rows_above_an_anchor_are_those_below_the_first_one_in_reverse(file, open_source, small_blocks):
    small_blocks(block_bytes=5, first_bytes=3, squeeze_bytes=1 << 20)
    source = open_source(file(b"one\n\n  two and more\r\n\tthree\n# four"))
    rows = Rows(LineReader(source, ReadRequest("file"), UTF8, CallContext()).finder(), max_line_bytes=100)

    def facts(row):
        return (row.number, row.start, row.end, row.data, row.indent, row.is_blank, row.is_comment)

    below = [facts(row) for row in rows.below(rows.at(1))]
    above = [facts(row) for row in rows.above(rows.at(5))]

    assert below == [
        (2, 4, 5, b"", 0, True, False),
        (3, 5, 21, b"  two and more", 2, False, False),
        (4, 21, 28, b"\tthree", 4, False, False),
        (5, 28, 34, b"# four", 0, False, True),
    ]
    assert above == [*below[-2::-1], (1, 0, 4, b"one", 0, False, False)]
    assert rows.at(6) is None


def test_short_reads_are_continued(file, read, monkeypatch):
    file(b"top\n    one\n    two\nend\n" * 50)
    whole = read(Block(3, 50))
    real = os.pread
    monkeypatch.setattr(os, "pread", lambda fd, size, offset: real(fd, min(size, 3), offset))
    monkeypatch.setattr("eyespan.source.Source.max_first_bytes", 8)

    assert read(Block(3, 50)).parts == whole.parts
