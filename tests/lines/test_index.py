"""The index against a naive reader: any line of any file, whatever happens to the file between two reads."""

from __future__ import annotations

import errno
import os
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyespan import Workspace
from eyespan.context import CallContext
from eyespan.errors import SystemFailure
from eyespan.lines import index
from eyespan.lines.encodings import UTF8
from eyespan.lines.index import Indexer, LineIndex
from eyespan.model import Lines, ReadRequest
from tests.sizes import examples, size

STRIDE = 64
"""The stride of the fixture `small_index`."""


def lines_of(data):
    lines = data.split(b"\n")
    ends = [line + b"\n" for line in lines[:-1]]
    return [*ends, lines[-1]] if lines[-1] else ends


def check_reads(forge, path, data, choose):
    lines = lines_of(data)
    first = choose.randint(1, len(lines) + 2)
    count = choose.randint(1, 5)
    reply = forge(path, start_line=first, limit=count)
    if first <= len(lines):
        assert reply.text.encode() == b"".join(lines[first - 1 : first - 1 + count])
        assert reply.structured["start_line"] == first
    elif lines:
        assert f"exceeds file line count {len(lines)}" in reply.error.message
    tail = forge(path, tail=count)
    assert tail.text.encode() == b"".join(lines[-count:])
    assert tail.structured["total_lines"] == len(lines)


def random_text(choose, size):
    return bytes(choose.choice(b"ab\n\n cdefghijklmnop") for _ in range(size))


@pytest.mark.parametrize("seed", range(8))
def test_no_change_of_a_file_gives_a_wrong_line(small_index, tmp_path, seed, forge):
    choose = random.Random(seed)
    path = tmp_path / "log"
    data = random_text(choose, 2000)
    path.write_bytes(data)
    for step in range(size(short=80, long=300)):
        match choose.randrange(9):
            case 0 | 1:  # grow
                more = random_text(choose, choose.randint(1, 400))
                with path.open("ab") as file:
                    file.write(more)
                data += more
            case 2:  # rewritten in place, as long as before
                at = choose.randrange(len(data) or 1)
                piece = random_text(choose, min(len(data) - at, choose.randint(1, 30)))
                data = data[:at] + piece + data[at + len(piece) :]
                with path.open("r+b") as file:
                    file.seek(at)
                    file.write(piece)
            case 3:  # cut short
                data = data[: choose.randint(0, len(data))]
                os.truncate(path, len(data))
            case 4:  # rotated: another file under the name
                data = random_text(choose, choose.randint(0, 3000))
                (tmp_path / "new").write_bytes(data)
                os.replace(tmp_path / "new", path)
            case 5:  # written again in place
                data = random_text(choose, choose.randint(0, 3000))
                path.write_bytes(data)
            case 6:
                small_index.clear()
            case _:
                pass
        if step % 3:
            check_reads(forge, "log", data, choose)
        if len(data) > 6000:
            data = data[:2000]
            os.truncate(path, 2000)


def test_a_known_line_is_found_without_a_scan(small_index, tmp_path, monkeypatch, forge):
    (tmp_path / "log").write_bytes(b"".join(b"line %d\n" % n for n in range(2000)))
    forge("log", start_line=1900, limit=1)
    monkeypatch.setattr(Indexer, "_scan", None)  # any call would fail

    assert forge("log", start_line=1500, limit=2).text == "line 1499\nline 1500\n"


def test_the_number_of_lines_is_returned_once_the_index_has_it(small_index, tmp_path, forge):
    """A window at the start of a large file does not count them; after another read has, they are known."""
    (tmp_path / "log").write_bytes(b"".join(b"line %d\n" % n for n in range(2000)))
    engine = Workspace(tmp_path).engine
    window = ReadRequest("log", Lines(3, 1))

    before = engine.read(window).parts[0]
    forge("log", tail=1)
    after = engine.read(window).parts[0]

    assert (bytes(before.data), before.total_lines) == (b"line 2\n", None)
    assert (bytes(after.data), after.total_lines) == (b"line 2\n", 2000)


def test_an_early_line_does_not_scan_the_whole_file(small_index, tmp_path, forge):
    (tmp_path / "log").write_bytes(b"x\n" * 50_000)

    forge("log", start_line=200, limit=1)

    (made,) = small_index.values()
    assert made.covered < 5000


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.integers(0, 9), max_size=60), st.integers(0, 300))
def test_look_up_agrees_with_adding_up(counts, feeds):
    made = LineIndex()
    for at in range(0, len(counts), 7):
        made.append(counts[at : at + 7])

    want = None
    before = 0
    for block, count in enumerate(counts):
        if before + count >= feeds:
            want = (block * index.STRIDE, before)
            break
        before += count

    assert made.locate(feeds) == want
    assert made.feeds == sum(counts)


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.integers(0, 9), max_size=200), st.integers(1, 9))
def test_no_index_grows_beyond_its_bound(counts, step):
    """Blocks become longer instead; a look-up finds the block that holds the line feed, the end is never passed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index, "MAX_BLOCKS", 16)
        made = LineIndex(stride=1)
        while made.covered < len(counts) // made.stride * made.stride:
            end = min(len(counts) // made.stride, made.covered // made.stride + step) * made.stride
            made.append([sum(counts[at : at + made.stride]) for at in range(made.covered, end, made.stride)])
            assert len(made.ends) <= 16
            assert made.covered == len(made.ends) * made.stride
        for feeds in range(1, made.feeds + 1):
            place, before = made.locate(feeds)
            assert sum(counts[:place]) == before < feeds <= sum(counts[: place + made.stride])
        assert made.feeds == sum(counts[: made.covered])
        assert len(counts) - made.covered < made.stride
        assert made.locate(made.feeds + 1) is None


def test_a_file_that_ends_while_it_is_indexed_is_not_indexed(file, open_source):
    path = file(b"line\n" * 100_000)
    source = open_source(path)
    made = Indexer(source, UTF8, CallContext())
    os.truncate(path, 100)

    made.end(source.size_bytes)

    assert made.is_broken


def test_an_index_that_cannot_be_read_is_an_error_of_the_read(file, open_source, monkeypatch):
    def fails(*_):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    source = open_source(file(b"line\n" * 100_000))
    made = Indexer(source, UTF8, CallContext())
    monkeypatch.setattr(os, "pread", fails)

    with pytest.raises(SystemFailure):
        made.end(source.size_bytes)
