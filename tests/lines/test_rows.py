"""Rows: lines measured one by one, up and down from an anchor."""

from __future__ import annotations

import os

import pytest

from eyespan.context import CallContext
from eyespan.lines.encodings import UTF8
from eyespan.lines.rows import Rows
from eyespan.model import Block, Limits


def numbers(document):
    (part,) = document.parts
    return [number for number, _ in part.rows]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le"])
def test_a_line_that_starts_with_much_white_space_is_measured_whatever_is_shown_of_it(
    encoding, file, read, small_blocks
):
    small_blocks(block_bytes=32, first_bytes=16, squeeze_bytes=1 << 20)
    deep = " " * 300
    text = f"top\n{deep}one\n{deep}# two\n{deep}\u2003\u2003x\n{deep}\n{deep}\u3000\nend\n"

    file(text.encode(encoding))
    document = read(Block(2, 50, 1), encoding=encoding, limits=Limits(max_line_bytes=20))

    assert numbers(document) == [2, 3, 4]  # the blank ones at the end are not shown
    assert {row for _, row in document.parts[0].rows} == {b" " * 20}


def test_a_long_line_is_measured_by_its_first_bytes(file, read, small_blocks, monkeypatch):
    monkeypatch.setattr("eyespan.lines.rows.MEASURED_BYTES", 64)
    small_blocks(block_bytes=32, first_bytes=16, squeeze_bytes=100)
    file(b"top\n" + b" " * 30 + b"a" * 5000 + b"\n" + b" " * 30 + b"b\r\nend\n")

    assert numbers(read(Block(2, 50, 1), limits=Limits(max_line_bytes=20))) == [2, 3]


@pytest.mark.parametrize("lines", [1, 2, 3, 64])
def test_rows_above_an_anchor_are_those_below_the_first_one_in_reverse(
    file, open_source, small_blocks, monkeypatch, lines
):
    monkeypatch.setattr("eyespan.lines.rows.WINDOW_LINES", lines)
    small_blocks(block_bytes=5, first_bytes=3, squeeze_bytes=1 << 20)
    source = open_source(file(b"one\n\n  two and more\r\n\tthree\n# four"))
    rows = Rows(source, UTF8, CallContext(), max_line_bytes=100)

    def facts(row):
        return (row.number, row.data, row.indent, row.is_blank, row.is_comment)

    below = [facts(row) for row in rows.below(rows.at(1))]
    above = [facts(row) for row in rows.above(rows.at(5))]

    assert below == [
        (2, b"", 0, True, False),
        (3, b"  two and more", 2, False, False),
        (4, b"\tthree", 4, False, False),
        (5, b"# four", 0, False, True),
    ]
    assert above == [*below[-2::-1], (1, b"one", 0, False, False)]
    assert rows.at(6) is None


def test_short_reads_are_continued(file, read, monkeypatch):
    file(b"top\n    one\n    two\nend\n" * 50)
    whole = read(Block(3, 50))
    real = os.pread
    monkeypatch.setattr(os, "pread", lambda fd, size, offset: real(fd, min(size, 3), offset))
    monkeypatch.setattr("eyespan.source.Source.max_first_bytes", 8)

    assert read(Block(3, 50)).parts == whole.parts
