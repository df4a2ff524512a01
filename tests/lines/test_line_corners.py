"""The corners of the line reader: files that change under it, caches that fail, limits reached in the middle."""

from __future__ import annotations

import errno
import os
import sys
from array import array

import pytest

from eyespan import Workspace
from eyespan.context import CallContext
from eyespan.errors import Missing, ReadError, SystemFailure, TooLarge, WindowTooLarge
from eyespan.guard.source import LocalFile
from eyespan.lines import cache, detect, encodings
from eyespan.lines.block import ROW_BYTES, _Upward
from eyespan.lines.cache import Store
from eyespan.lines.encodings import UTF8
from eyespan.lines.index import Indexer, LineIndex
from eyespan.lines.reader import LineReader
from eyespan.lines.rows import Row
from eyespan.model import ANY_IS_TEXT, EXACT_TOTAL, Block, CharRange, Limits, Lines, ReadRequest, Tail


def read(folder, name="file", selection=None, **more):
    with Workspace(folder) as workspace:
        request = ReadRequest(name, selection or Lines(), text_rule=ANY_IS_TEXT, **more)
        return workspace.engine.read(request)


def streamed(folder, selection, **more):
    with Workspace(folder) as workspace:
        request = ReadRequest("file", selection, text_rule=ANY_IS_TEXT, **more)
        return list(workspace.engine.stream(request, CallContext()))


def rows(document):
    (part,) = document.parts
    return [number for number, _ in part.rows]


def fails(number):
    def call(*_, **__):
        raise OSError(number, os.strerror(number))

    return call


@pytest.fixture
def file(tmp_path):
    def make(data):
        (tmp_path / "file").write_bytes(data)
        return tmp_path

    return make


def opened(path):
    fd = os.open(path, os.O_RDONLY)
    return LocalFile(fd, os.fstat(fd), asked="file", path="file", canonical="file")


# --- windows -------------------------------------------------------------------------------------------------------


def test_a_stream_beyond_the_end_is_one_empty_part(file):
    (part,) = streamed(file(b"a\nb\n"), Lines(9))

    assert (part.data, part.line_count, part.total_lines) == (b"", 0, 2)


@pytest.mark.parametrize("selection", [Tail(1), CharRange(2, 1)])
def test_what_is_no_plain_window_streams_as_one_part(selection, file):
    (part,) = streamed(file(b"a\nb\n"), selection)

    assert bytes(part.data) == b"b\n"


def test_limits_of_a_small_file_are_those_of_a_large_one(file):
    folder = file(b"line\n" * 100)

    with pytest.raises(ReadError):
        read(folder, limits=Limits(max_scan_bytes=50), selection=Lines(90, 1))
    with pytest.raises(TooLarge):
        read(folder, limits=Limits(max_whole_bytes=50))
    assert read(folder, limits=Limits(max_whole_bytes=50), selection=Lines(2, 1)).parts[0].line_count == 1


@pytest.mark.parametrize("counts", [True, False])
def test_long_lines_in_a_heavy_window_are_shortened_on_the_way(counts, file, monkeypatch):
    monkeypatch.setattr(LineReader, "squeeze_bytes", 100)
    monkeypatch.setattr(LineReader, "block_bytes", 64)
    monkeypatch.setattr("eyespan.source.Source.max_first_bytes", 16)
    long = b"x" * 90
    data = b"short\n" + long + b"\r\n" + long + b"\nshort\n" + long * 5
    limits = Limits(max_line_bytes=20, max_line_chars=3)

    part = read(file(data), limits=limits, counts_cut_chars=counts, total=EXACT_TOTAL).parts[0]

    shown = bytes(part.data).split(b"\n")
    assert shown[0] == b"short"
    assert all(line.startswith(b"xxxx") for line in (shown[1], shown[2], shown[4]))
    assert part.total_lines == part.line_count == 5
    assert part.cuts.get(5) == (450 if counts else -1)


def test_bytes_that_are_no_characters_of_a_wide_encoding_do_not_hide_its_lines(file):
    data = "a\n".encode("utf-16-le") + b"\0\xd8" + "\nb\n".encode("utf-16-le") + b"\x00\xdc" + "\n".encode("utf-16-le")

    part = read(file(data), encoding="utf-16-le").parts[0]

    assert bytes(part.data).decode() == "a\n\ufffd\nb\n\ufffd\n"


def test_a_guess_is_told_with_how_sure_it_is(file):
    text = "Dès Noël, où un zéphyr haï me vêt de glaçons würmiens, je dîne d’exquis rôtis de bœuf.\n" * 8
    document = read(file(text.encode("cp1252")), encoding="auto", selection=CharRange())

    assert 0 < document.extra["encoding_confidence"] <= 1
    assert document.extra["encoding_found"] == "detected"


# --- encodings -----------------------------------------------------------------------------------------------------


def test_a_sample_too_short_for_two_units_proves_no_wide_encoding():
    assert encodings.plain_wide(b"a\0") is None


def test_a_pair_that_the_end_of_the_sample_cut_is_no_mistake():
    sample = ("plain text " * 4 + "😀").encode("utf-16-le")[:-2]

    assert encodings.plain_wide(sample).name == "utf-16-le"


def test_control_characters_make_no_wide_text():
    assert encodings.plain_wide("a\x01b\x02c\x03".encode("utf-32-le")) is None


def test_a_sample_around_the_first_strange_byte(monkeypatch):
    monkeypatch.setattr(detect, "SAMPLE_BYTES", 8)
    monkeypatch.setattr(detect, "LOOK_BYTES", 600)

    def of(data):
        return lambda offset, size: data[offset : offset + size]

    assert detect._first_beyond_ascii(0, of(b"a\n" * 200)) == b""  # the file ends
    assert detect._first_beyond_ascii(0, of(b"a\n" * 2000)) == b""  # it goes on beyond what is looked at
    # The line began in the block before.
    assert detect._first_beyond_ascii(0, of(b"a" * 126 + b"\nb" + b"c\xe9d\n" + b"e" * 200)) == b"bc\xe9d\neee"
    assert detect._first_beyond_ascii(0, of(b"a\n" * 63 + b"\xe9\n")) == b"\xe9\n"


def test_a_detector_that_cannot_be_loaded_now_is_not_told_as_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "charset_normalizer", None)
    monkeypatch.setattr(detect, "shortage", lambda error: errno.EMFILE)

    with pytest.raises(ImportError):
        detect._guess(b"text")


def test_without_its_package_a_guess_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "charset_normalizer", None)

    with pytest.raises(Missing, match="charset-normalizer"):
        detect.detect(b"caf\xe9 \xff\xfe\xe9\n" * 9)


def test_bytes_that_nothing_makes_sense_of_are_not_guessed_at(monkeypatch):
    import charset_normalizer

    monkeypatch.setattr(charset_normalizer, "from_bytes", lambda *_, **__: [])

    assert detect._guess(b"\x81\x8d\x8f\x90\x9d") is None


# --- blocks by indentation -----------------------------------------------------------------------------------------

CODE = b"class A:\n    # why\n    def f():\n        one\n\n        two\n    def g():\n        three\nend\n"


def test_a_block_ends_at_its_cap_going_up_and_at_a_smaller_indentation_going_down(file):
    folder = file(CODE)

    assert rows(read(folder, selection=Block(6, 2, 1))) == [6]  # a blank row above is not shown at an end
    assert rows(read(folder, selection=Block(8, 50, 1))) == [4, 5, 6, 7, 8]  # up to what is indented less than it
    assert rows(read(folder, selection=Block(4, 50, 0))) == list(range(1, 10))


def test_a_block_of_too_much_text_is_refused(file):
    folder = file(b"start\n" + b"    " + b"x" * 300 + b"\n" + b"    y\n" * 200)

    with pytest.raises(WindowTooLarge):
        read(folder, selection=Block(100, 10_000, 1), limits=Limits(max_window_bytes=2000))


def test_blank_rows_that_were_too_many_to_hold_are_not_skipped_in_silence():
    rows_up = [Row(number, 0, 1, b"", 0, "") for number in range(9, 0, -1)]
    up = _Upward(iter(rows_up), cap=100, max_bytes=3 * ROW_BYTES)

    assert [up.next()[0].number for _ in range(4)] == [9, 8, 7, 6]
    with pytest.raises(WindowTooLarge):
        up.next()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le"])
def test_a_line_that_starts_with_more_white_space_than_is_held_is_measured_all_the_same(encoding, file, monkeypatch):
    monkeypatch.setattr("eyespan.lines.rows.MOST_HELD_BYTES", 64)
    monkeypatch.setattr(LineReader, "block_bytes", 32)
    monkeypatch.setattr("eyespan.source.Source.max_first_bytes", 16)
    deep = " " * 300
    text = f"top\n{deep}one\n{deep}# two\n{deep}\u2003\u2003x\n{deep}\n{deep}\u3000\nend\n"

    document = read(file(text.encode(encoding)), selection=Block(2, 50, 1), encoding=encoding)

    assert rows(document) == [2, 3, 4]  # the blank ones at the end are not shown


def test_a_line_that_ends_before_its_time_is_measured_as_far_as_it_goes(file, monkeypatch):
    from eyespan.lines.rows import Rows

    folder = file(b" " * 500 + b"x\n")
    with opened(folder / "file") as source:
        lines = LineReader(source, ReadRequest("file"), UTF8, CallContext())
        made = Rows(source, lines, UTF8, CallContext(), 100, 64)
        source.first_bytes  # noqa: B018  (read now, before the file is cut)
        os.truncate(folder / "file", 200)
        source._first_bytes = b""

        assert list(made._pieces(0, 500)) == [b" " * 64] * 3 + [b" " * 8]
        assert made._first_text(0, 500) == ""


def test_short_reads_are_gone_on_with(file, monkeypatch):
    folder = file(b"top\n    one\n    two\nend\n" * 50)
    whole = read(folder, selection=Block(3, 50))
    real = os.pread
    monkeypatch.setattr(os, "pread", lambda fd, size, offset: real(fd, min(size, 3), offset))
    monkeypatch.setattr("eyespan.source.Source.max_first_bytes", 8)

    assert read(folder, selection=Block(3, 50)).parts == whole.parts


# --- the index and its store ---------------------------------------------------------------------------------------


def test_a_file_that_ends_while_it_is_indexed_is_not_indexed(file, monkeypatch):
    folder = file(b"line\n" * 100_000)
    with opened(folder / "file") as source:
        made = Indexer(source, UTF8, CallContext(), None)
        os.truncate(folder / "file", 100)
        made.end(source.size_bytes)

        assert made.broken


def test_the_tail_of_a_file_that_became_shorter_is_that_of_what_is_left(file):
    folder = file(b"".join(b"line %d\n" % number for number in range(100)))
    with opened(folder / "file") as source:
        lines = LineReader(source, ReadRequest("file"), UTF8, CallContext())
        os.truncate(folder / "file", 35)

        part = lines.tail(2, numbered=False)

    assert bytes(part.data) == b"line 3\nline 4\n"


def test_an_index_that_cannot_be_read_is_an_error_of_the_read(file, monkeypatch):
    folder = file(b"line\n" * 100_000)
    with opened(folder / "file") as source:
        made = Indexer(source, UTF8, CallContext(), None)
        monkeypatch.setattr("eyespan.lines.index._native.scan", fails(errno.EIO))

        with pytest.raises(SystemFailure):
            made.end(source.size_bytes)


@pytest.fixture
def kept(file, tmp_path, monkeypatch):
    """An index of a file, the file, and a store on disk that takes files of any size."""
    folder = file(b"line\n" * 200_000)
    monkeypatch.setattr(cache, "DISK_MIN_BYTES", 1)
    monkeypatch.setattr(cache, "DISK_STEP_BYTES", 1)
    monkeypatch.setattr(cache, "RACY_NS", 0)
    monkeypatch.setattr(cache, "TRUST_GROWTH_BYTES", 1)
    source = opened(folder / "file")
    made = Indexer(source, UTF8, CallContext(), None)
    made.end(source.size_bytes)
    yield Store(str(tmp_path / "cache")), source, made.index
    source.close()


def names(made):
    return sorted(os.listdir(made.folder)) if os.path.isdir(made.folder) else []


def test_what_changed_under_the_scan_and_not_by_growing_is_not_kept(kept):
    made, source, found = kept
    os.truncate(f"/proc/self/fd/{source.fd}", 10)

    made.keep(source, b"\n", found, 2**62)

    assert made.find(source, b"\n") is None
    assert names(made) == []


def test_an_index_whose_file_is_gone_from_its_server_is_not_kept(kept, monkeypatch):
    made, source, found = kept
    monkeypatch.setattr(LocalFile, "status_now", fails(errno.ESTALE))

    made.keep(source, b"\n", found, 2**62)

    assert (made._kept, names(made)) == ({}, [])


def test_an_index_whose_file_cannot_be_sampled_is_neither_kept_nor_trusted(kept, monkeypatch):
    made, source, found = kept
    made.keep(source, b"\n", found, 2**62)
    assert made.find(source, b"\n") is not None

    def unreadable(*_):
        raise SystemFailure("", errno.EIO)

    monkeypatch.setattr(cache, "fingerprint", unreadable)
    source.size_bytes += 1
    assert made.find(source, b"\n") is None
    made.keep(source, b"\n", found, 2**62)
    assert made._kept == {}


@pytest.mark.parametrize("call", ["read", "fstat"])
def test_a_cache_that_cannot_be_read_is_none(call, kept, monkeypatch):
    made, source, found = kept
    made.keep(source, b"\n", found, 2**62)
    made.forget()
    with monkeypatch.context() as patch:
        patch.setattr(cache.os, call, fails(errno.EIO))
        found = made._load(cache._key(source, b"\n"))

    assert found is None


def test_a_cache_of_another_user_or_too_large_is_none(kept, monkeypatch):
    made, source, found = kept
    made.keep(source, b"\n", found, 2**62)
    key = cache._key(source, b"\n")
    assert made._load(key) is not None
    with monkeypatch.context() as patch:
        patch.setattr(cache.os, "getuid", lambda: os.geteuid() + 1)
        assert made._load(key) is None
    monkeypatch.setattr(cache, "DISK_TOTAL_BYTES", 1)
    assert made._load(key) is None


def test_a_cache_that_was_written_in_part_is_thrown_away(kept, monkeypatch):
    made, source, found = kept
    real = os.write
    monkeypatch.setattr(cache.os, "write", lambda fd, data: real(fd, data[:10]))

    made._save(cache._key(source, b"\n"), found.stamped(1, None, b"x" * 16))

    assert names(made) == []


def test_a_cache_file_that_cannot_be_put_in_place_or_removed_is_no_error(kept, monkeypatch):
    made, source, found = kept
    monkeypatch.setattr(cache.os, "replace", fails(errno.EACCES))
    monkeypatch.setattr(cache.os, "unlink", fails(errno.EACCES))

    made._save(cache._key(source, b"\n"), found.stamped(1, None, b"x" * 16))

    assert made.find(source, b"\n") is None


def test_room_is_made_even_if_another_process_is_quicker(kept, monkeypatch):
    made, _, _ = kept
    os.makedirs(made.folder)
    for number in range(3):
        with open(os.path.join(made.folder, str(number)), "w") as written:
            written.write("x" * 100)

    class Entry:
        def __init__(self, path, gone):
            self.path, self._gone = path, gone

        def stat(self, **_):
            if self._gone:
                raise FileNotFoundError
            return os.stat(self.path)

    entries = [Entry(os.path.join(made.folder, str(number)), number == 1) for number in range(3)]
    monkeypatch.setattr(cache.os, "scandir", lambda folder: entries)
    monkeypatch.setattr(cache, "DISK_TOTAL_BYTES", 50)
    monkeypatch.setattr(cache.os, "unlink", fails(errno.ENOENT))

    made._make_room()

    assert len(os.listdir(made.folder)) == 3


def test_a_cache_whose_counts_do_not_add_up_is_none(kept):
    _, source, found = kept
    key = cache._key(source, b"\n")
    short = LineIndex()
    short.append(found.counts)
    data = cache._pack(key, found.stamped(1, None, b"x" * 16))
    body = data[:-16][:-4]  # one count less than the head says

    assert cache._unpack(data, key) is not None
    assert cache._unpack(body + cache.digest(body), key) is None
    assert array("I", [1]).itemsize == 4


def test_where_indexes_are_kept_is_the_users_word(monkeypatch):
    monkeypatch.setenv("EYESPAN_CACHE", "off")
    assert cache.cache_folder() is None
    monkeypatch.setenv("EYESPAN_CACHE", "/somewhere")
    assert cache.cache_folder() == "/somewhere/index"
    monkeypatch.delenv("EYESPAN_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    assert cache.cache_folder() == "/cache/eyespan/index"
    monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")
    assert cache.cache_folder() is None


def test_the_store_is_made_once(monkeypatch):
    monkeypatch.setattr(cache, "_shared", None)

    assert cache.shared() is cache.shared()


def test_a_single_long_line_that_is_cut_ends_the_window_at_its_end(file, monkeypatch):
    monkeypatch.setattr(LineReader, "squeeze_bytes", 100)
    monkeypatch.setattr(LineReader, "block_bytes", 64)
    monkeypatch.setattr("eyespan.source.Source.max_first_bytes", 16)
    limits = Limits(max_line_bytes=20, max_line_chars=3)

    part = read(file(b"x" * 1000 + b"\nnext\n"), selection=Lines(1, 1), limits=limits, total=EXACT_TOTAL).parts[0]

    assert (part.line_count, part.total_lines, part.more) == (1, 2, True)
    assert bytes(part.data).startswith(b"xxxx")
    assert bytes(part.data).endswith(b"\n")
