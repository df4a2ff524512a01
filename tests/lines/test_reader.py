"""The line reader alone: any window and any tail of any bytes, in whatever pieces a source returns them."""

from __future__ import annotations

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyespan import Workspace
from eyespan.context import CallContext
from eyespan.errors import Cancelled, ReadError, ScanLimit, SystemFailure, TooLarge, WindowTooLarge
from eyespan.lines import encodings
from eyespan.lines.encodings import UTF8
from eyespan.lines.finder import LineFinder
from eyespan.lines.reader import LineReader
from eyespan.lines.window import LINE_BYTES
from eyespan.model import ANY_IS_TEXT, EXACT_TOTAL, CharRange, Limits, Lines, ReadRequest, Tail
from eyespan.source import Source
from tests.sizes import examples

WIDE = [encodings.by_bom(bom) for bom in (b"\xff\xfe", b"\xfe\xff", b"\xff\xfe\0\0", b"\0\0\xfe\xff")]
ALL = [encodings.UTF8, *WIDE]


class Pieces(Source):
    """A source in memory that returns no more than `most` bytes at a time and notes how far it was read."""

    is_indexable = False

    def __init__(self, data: bytes, most: int = 1 << 30, first: int = 0) -> None:
        self.data = data
        self.size_bytes = len(data)
        self.asked = "file"
        self._first_bytes = data[:first]
        self.most = most
        self.reached = 0

    def read_at(self, offset, size_bytes):
        data = self.data[offset : offset + min(size_bytes, self.most)]
        self.reached = max(self.reached, offset + len(data))
        return data


def reader(data, encoding=encodings.UTF8, *, block=16, squeeze=1 << 20, most=1 << 30, first=0, context=None, **request):
    source = data if isinstance(data, Pieces) else Pieces(data, most, first)
    made = LineReader(source, ReadRequest("file", **request), encoding, context or CallContext())
    made.block_bytes, made.squeeze_bytes = block, squeeze
    return made


def lines_of(text: str) -> list[str]:
    lines = [line + "\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


texts = st.text(st.sampled_from("ab\n\n\r\u0a0a\u0a00\u010aé日😀\u2028\0"), max_size=120)
blocks = st.sampled_from([1, 2, 3, 4, 7, 16, 64, 4096])
steps = st.sampled_from([1, 2, 3, 5, 1 << 30])


@settings(deadline=None, max_examples=examples(300))
@given(st.sampled_from(ALL), texts, st.integers(1, 30), st.none() | st.integers(1, 30), blocks, steps, blocks)
def test_any_window(encoding, text, first, count, block, most, first_bytes):
    data = encoding.bom + text.encode(encoding.name)
    lines = lines_of(text)
    wanted = lines[first - 1 :] if count is None else lines[first - 1 : first - 1 + count]

    part = reader(data, encoding, block=block, most=most, first=first_bytes, total=EXACT_TOTAL).window(first, count)

    assert part.data.decode() == "".join(wanted)
    assert (part.first_line, part.line_count, part.total_lines) == (first, len(wanted), len(lines))
    assert part.more == (bool(wanted) and first + len(wanted) <= len(lines))
    assert part.ends_open == (bool(lines) and not lines[-1].endswith("\n"))


@pytest.mark.parametrize("encoding", ALL)
@pytest.mark.parametrize("block", [1, 16, 4096])
def test_a_window_of_no_lines(encoding, block):
    data = encoding.bom + "a\nb\nc\n".encode(encoding.name)

    part = reader(data, encoding, block=block, first=4096).window(2, 0)

    assert (part.data, part.first_line, part.line_count, part.more) == (b"", 2, 0, True)


@settings(deadline=None, max_examples=examples(300))
@given(st.sampled_from(ALL), texts, st.integers(1, 30), blocks, steps, blocks)
def test_any_tail(encoding, text, count, block, most, first_bytes):
    data = encoding.bom + text.encode(encoding.name)
    lines = lines_of(text)
    wanted = lines[-count:]

    part = reader(data, encoding, block=block, most=most, first=first_bytes, selection=Tail(count)).tail(count)

    assert part.data.decode() == "".join(wanted)
    assert (part.first_line, part.line_count) == (max(1, len(lines) - count + 1), len(wanted))
    assert (part.total_lines, part.more) == (len(lines), False)


@settings(deadline=None, max_examples=examples(300))
@given(texts, st.integers(1, 12), blocks, st.sampled_from([0, 1, 5, 20, 1 << 20]), steps)
def test_long_lines_are_held_as_prefixes_with_their_length(text, limit, block, squeeze, most):
    """The part of each line starts like the line, and shows that it was longer."""
    data = text.encode()
    limits = Limits(max_line_bytes=4 * (limit + 2), max_line_chars=limit)

    part = reader(data, block=block, squeeze=squeeze, most=most, limits=limits, counts_cut_chars=True).window(1, None)

    lines, kept = lines_of(text), lines_of(part.data.decode())
    assert len(kept) == len(lines)
    for number, (line, held) in enumerate(zip(lines, kept, strict=True), 1):
        if number in part.cuts:
            bare = line.removesuffix("\n").removesuffix("\r") if line.endswith("\n") else line
            assert part.cuts[number] == len(bare)
            assert held[: limit + 1] == line[: limit + 1]
            assert held.endswith("\n") == line.endswith("\n")
        else:
            assert held == line


@settings(deadline=None)
@given(st.sampled_from(ALL), texts, st.integers(0, 40), st.binary(max_size=3))
def test_line_feeds_are_found_where_the_text_has_them(encoding, text, spot, tail):
    block = text.encode(encoding.name)
    unit = encoding.unit_bytes
    units = [block[at : at + unit] for at in range(0, len(block), unit)]
    ends = [n * unit for n, one in enumerate(units) if one == encoding.newline]
    start = spot % (len(units) + 1) * unit
    after, before = [at for at in ends if at >= start], [at for at in ends if at + unit <= start]

    assert encoding.count(block) == len(ends)
    assert encoding.find(block, start) == (after[0] if after else -1)
    assert encoding.rfind(block, start) == (before[-1] if before else -1)
    for n in range(1, len(ends) + 1):
        assert encoding.nth(block, n) == ends[n - 1] + unit
    assert encoding.nth(block, len(ends) + 1) == -1
    assert encoding.ends_line(block) == (bool(units) and units[-1] == encoding.newline)


@pytest.mark.parametrize("encoding", WIDE)
def test_half_a_unit_at_the_end_is_no_line_feed(encoding):
    """The bytes of a line feed, but across a border between units."""
    data = encoding.bom + ("\u0a0a" * 3).encode(encoding.name) + b"\0"

    part = reader(data, encoding).window(5, 1)

    assert (part.line_count, part.total_lines) == (0, 1)
    assert part.ends_open


# --- work ----------------------------------------------------------------------------------------------------------


def test_reading_stops_once_the_window_is_complete(monkeypatch):
    monkeypatch.setattr(LineFinder, "cheap_bytes", 0)
    source = Pieces(b"line\n" * 1000)

    part = reader(source, block=100).window(3, 2)

    assert (bytes(part.data), part.total_lines, part.more) == (b"line\nline\n", None, True)
    assert source.reached < 200


def test_the_total_is_returned_where_it_is_cheap_to_find():
    assert reader(b"line\n" * 1000, block=100).window(3, 2).total_lines == 1000


def test_only_the_shown_start_of_a_long_last_line_is_read():
    source = Pieces(b"first\n" + b"x" * 100_000)
    limits = Limits(max_line_bytes=50)

    part = reader(source, block=100, squeeze=200, limits=limits).window(2, 1)

    assert bytes(part.data) == b"x" * 50 + b"\n"
    assert (part.line_count, part.total_lines, part.more) == (1, None, True)
    assert source.reached < 1000


def test_a_tail_holds_only_its_own_lines():
    source = Pieces(b"line\n" * 1000)

    part = reader(source, block=64, selection=Tail(2)).tail(2)

    assert (part.first_line, bytes(part.data)) == (999, b"line\nline\n")


# --- limits --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("block", [1, 7, 64])
def test_a_scan_ends_at_its_limit(block):
    data = b"one\ntwo\nthree\n"

    part = reader(data, block=block, limits=Limits(max_scan_bytes=8)).window(2, 1)
    assert bytes(part.data) == b"two\n"
    for first, count in ((2, 2), (3, 1), (1, 1 << 62), (9, 1)):
        with pytest.raises(ScanLimit):
            reader(data, block=block, limits=Limits(max_scan_bytes=8)).window(first, count)
    with pytest.raises(ScanLimit):
        reader(data, block=block, limits=Limits(max_scan_bytes=13)).tail(1)
    assert reader(data, block=block, limits=Limits(max_scan_bytes=14)).tail(1).first_line == 3


def test_a_whole_file_is_bounded_even_if_it_grows():
    source = Pieces(b"0123456789")
    source.size_bytes = 3  # it was that small when it was opened

    with pytest.raises(TooLarge):
        reader(source, limits=Limits(max_whole_bytes=5)).window(1, None)
    with pytest.raises(TooLarge):
        reader(b"0123456789", limits=Limits(max_whole_bytes=9)).window(1, None)
    assert bytes(reader(b"0123456789", limits=Limits(max_whole_bytes=10)).window(1, None).data) == b"0123456789"


@pytest.mark.parametrize("data", [b"x" * 2000, b"\n" * 59, b"word\n" * 48])
def test_a_window_is_weighed_by_its_text_and_its_lines(data):
    """Empty lines have a weight too: an answer shows their numbers."""
    with pytest.raises(WindowTooLarge):
        reader(data, limits=Limits(max_window_bytes=1000)).window(1, None)


@pytest.mark.parametrize("data", [b"x" * 984, b"\n" * 58, b"word\n" * 47])
def test_a_window_of_16_bytes_less_for_each_line_is_read(data):
    assert reader(data, limits=Limits(max_window_bytes=1000)).window(1, None).data == data


def test_a_small_window_of_a_large_file_is_not_too_large():
    assert reader(b"\n" * 2000, limits=Limits(max_window_bytes=1000)).window(500, 40).line_count == 40


# --- files that change ----------------------------------------------------------------------------------------


def test_a_wrong_size_changes_nothing():
    for size in (0, 3, 10**15):
        source = Pieces(b"one\ntwo\nthree\n")
        source.size_bytes = size

        assert bytes(reader(source).window(2, 2).data) == b"two\nthree\n"


def test_a_tail_of_a_file_that_shrinks_is_from_the_rest():
    class Shrinks(Pieces):
        def read_at(self, offset, size_bytes):
            data = super().read_at(offset, size_bytes)
            if not data:
                self.data = self.data[:8]
            return data

    part = reader(Shrinks(b"one\ntwo\nthree\nfour\n"), block=4, selection=Tail(3)).tail(3)

    assert bytes(part.data) in b"one\ntwo\n"


def test_a_tail_of_a_file_that_grows_ignores_the_new_lines():
    class Grows(Pieces):
        def read_at(self, offset, size_bytes):
            data = super().read_at(offset, size_bytes)
            if not data:
                self.data += b"more\n"
            return data

    part = reader(Grows(b"one\ntwo\nthree\n"), block=4, selection=Tail(2)).tail(2)

    assert (part.first_line, bytes(part.data)) == (2, b"two\nthree\n")
    assert (part.total_lines, part.more, part.ends_open) == (3, False, False)


def test_an_error_half_way_is_an_error_not_half_an_answer():
    class Fails(Pieces):
        def read_at(self, offset, size_bytes):
            if offset >= 8:
                raise SystemFailure("file", 5)
            return super().read_at(offset, min(size_bytes, 8 - offset))

    with pytest.raises(SystemFailure):
        reader(Fails(b"one\ntwo\nthree\n"), block=4).window(1, None)


@pytest.mark.parametrize("selection", [Lines(10**9, 1), Lines(1, None), Tail(3)])
def test_a_read_is_cancelled_at_the_next_block(selection):
    beats = []

    def count(done, total):
        beats.append(done)
        if len(beats) == 3:
            context.cancelled = True

    context = CallContext(on_progress=count)
    made = reader(b"line\n" * 10_000, block=50, context=context, selection=selection)

    with pytest.raises(Cancelled):
        made.tail(3) if isinstance(selection, Tail) else made.window(selection.first, selection.count)
    assert len(beats) == 3


def test_the_tail_of_a_file_that_became_shorter_is_that_of_the_rest(file, open_source):
    path = file(b"".join(b"line %d\n" % number for number in range(100)))
    made = LineReader(open_source(path), ReadRequest("file"), UTF8, CallContext())
    os.truncate(path, 35)

    part = made.tail(2, numbered=False)

    assert bytes(part.data) == b"line 3\nline 4\n"


@pytest.mark.parametrize(("data", "ends_open"), [(b"one", True), (b"a\none", True), (b"a\none\n", False)])
def test_a_tail_without_numbers_reports_an_open_last_line(data, ends_open):
    part = reader(data, selection=Tail(1)).tail(1, numbered=False)

    assert (bytes(part.data).rstrip(), part.first_line, part.total_lines) == (b"one", 0, None)
    assert part.ends_open is ends_open


@pytest.mark.parametrize("block_bytes", [4, 1 << 18])
def test_a_tail_or_window_larger_than_the_limit_is_refused(monkeypatch, block_bytes):
    monkeypatch.setattr(LineReader, "block_bytes", block_bytes)
    made = reader(b"one\ntwo\nthree\n", limits=Limits(max_window_bytes=2 * LINE_BYTES + 10))

    assert bytes(made.tail(2, numbered=False).data) == b"two\nthree\n"
    with pytest.raises(WindowTooLarge):
        made.tail(3, numbered=False)
    with pytest.raises(WindowTooLarge):
        made.window(1, 3)


def test_one_reader_answers_any_number_of_questions():
    made = reader(b"one\ntwo\nthree\n", limits=Limits(max_whole_bytes=14), total=EXACT_TOTAL)
    whole = made.window(1, None)

    assert [bytes(part.data) for part in made.stream(2, 1)] == [b"two\n"]
    assert bytes(made.tail(1).data) == b"three\n"
    assert bytes(made.tail(2, numbered=False).data) == b"two\nthree\n"
    assert bytes(made.window(3, 1).data) == b"three\n"
    assert made.window(1, None) == whole


# --- through an engine ---------------------------------------------------------------------------------------------


def stream(path, selection):
    with Workspace(path.parent) as workspace:
        request = ReadRequest("file", selection, text_rule=ANY_IS_TEXT)
        with workspace.engine.open(request, CallContext()) as opened:
            return list(opened.stream())


def test_a_stream_beyond_the_end_is_one_empty_part(file):
    (part,) = stream(file(b"a\nb\n"), Lines(9))

    assert (part.data, part.line_count, part.total_lines) == (b"", 0, 2)


@pytest.mark.parametrize("selection", [Tail(1), CharRange(2, 1)])
def test_a_selection_other_than_lines_streams_as_one_part(selection, file):
    (part,) = stream(file(b"a\nb\n"), selection)

    assert bytes(part.data) == b"b\n"


def test_limits_of_a_small_file_are_those_of_a_large_one(file, read):
    file(b"line\n" * 100)

    with pytest.raises(ReadError):
        read(Lines(90, 1), limits=Limits(max_scan_bytes=50))
    with pytest.raises(TooLarge):
        read(limits=Limits(max_whole_bytes=50))
    assert read(Lines(2, 1), limits=Limits(max_whole_bytes=50)).parts[0].line_count == 1


def test_invalid_units_of_a_wide_encoding_do_not_hide_its_lines(file, read):
    file("a\n".encode("utf-16-le") + b"\0\xd8" + "\nb\n".encode("utf-16-le") + b"\x00\xdc" + "\n".encode("utf-16-le"))

    part = read(encoding="utf-16-le").parts[0]

    assert bytes(part.data).decode() == "a\n\ufffd\nb\n\ufffd\n"
