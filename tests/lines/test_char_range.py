"""Character ranges of a text, against slices of the whole text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyespan import Workspace
from eyespan.context import CallContext
from eyespan.lines import char_range
from eyespan.lines.encodings import READ_BYTES
from eyespan.model import CharRange, ReadRequest, Tail
from tests.sizes import examples

texts = st.lists(st.sampled_from(["a", "é", "語", "🙂", "\n", "\r\n", "\r", "\t", "\u2028", "word "]), max_size=60).map(
    "".join
)
encodings = st.sampled_from(["utf-8", "utf-16-le", "utf-32-be"])
BOMS = {"utf-8": b"", "utf-16-le": b"\xff\xfe", "utf-32-be": b"\0\0\xfe\xff"}


def lines_of(text):
    """Lines with their terminators."""
    return [line + "\n" for line in text.split("\n")[:-1]] + [text.rpartition("\n")[2]] * (not text.endswith("\n"))


def read(directory, data, selection, encoding="bom"):
    (directory / "f.txt").write_bytes(data)
    with Workspace(directory) as workspace:
        document = workspace.engine.read(ReadRequest("f.txt", selection, encoding=encoding))
    return document.parts[0], document.extra


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return tmp_path_factory.mktemp("char_range")


@pytest.fixture(autouse=True, params=[3, 65536])
def block_bytes(request, monkeypatch):
    monkeypatch.setattr(char_range, "BLOCK_BYTES", request.param * 4)


def test_a_range_ends_with_its_last_line_wherever_a_block_ends(directory):
    for first in range(1, 5):
        for last in range(first, 5):
            part, _ = read(directory, b"one\ntwo two two\nthree\nfour\n", CharRange(first, 1, last))
            lines = [b"one\n", b"two two two\n", b"three\n", b"four\n"][first - 1 : last]
            assert (bytes(part.data), part.line_count, part.more) == (b"".join(lines), len(lines), last < 4)


def test_a_tail_begins_with_the_line_that_starts_where_the_limit_is(directory):
    part, _ = read(directory, b"aaaa\nbb\ncc\n", Tail(3, max_bytes=6))

    assert (bytes(part.data), part.first_line, part.line_count) == (b"bb\ncc\n", 2, 2)


def test_a_column_after_an_empty_line_with_a_carriage_return_is_after_no_character(directory):
    _, facts = read(directory, b"\r\ntwo\n", CharRange(1, 5))

    assert facts["line_chars"] == 0


PIECES = st.sampled_from([b"a", "é".encode(), b"\n", b"\r\n", b"\xff", b"\xe2\x82", b"word "])


@pytest.mark.parametrize(
    ("data", "selection", "replaced"),
    [
        (b"a\n\xff\n", CharRange(1, 1, 1), 0),
        (b"a\n\xff\n", CharRange(1, 1, 2), 1),
        (b"\xff\xffa\xff\n", CharRange(1, 3, 1), 1),
        (b"\xffab\xff\n", CharRange(1, 1, None, 3), 1),
        ("\ufffd\n".encode() + b"\xff", CharRange(1, 1), 1),
        ("\ufffd\n".encode() + b"\xff", CharRange(1, 1, 1), 0),
    ],
)
def test_only_undecodable_pieces_of_the_range_are_counted(directory, data, selection, replaced):
    part, facts = read(directory, data, selection)

    assert facts.get("replaced", 0) == replaced
    assert "\udfff" not in bytes(part.data).decode()


@settings(deadline=None, max_examples=examples(150))
@given(texts, encodings, st.integers(1, 8), st.integers(1, 12), st.none() | st.integers(0, 5), st.integers(2, 40))
def test_a_range_is_a_slice_of_the_whole_text(directory, text, encoding, first, column, extra, limit):
    data = BOMS[encoding] + text.encode(encoding)
    last = None if extra is None else first + extra

    part, _ = read(directory, data, CharRange(first, column, last, limit))

    lines = lines_of(text) if text else []
    assert part.total_lines == len(lines)
    if first > len(lines):
        assert (part.line_count, part.data) == (0, b"")
        return
    bare = lines[first - 1].removesuffix("\n")
    rest = lines[first - 1][min(column - 1, len(bare)) :] + "".join(lines[first:last])
    given_text = part.data.decode()
    assert rest.startswith(given_text)
    assert part.cut_short == (len(given_text) < len(rest))
    assert len(given_text) in ((len(rest),) if len(rest) <= limit else (limit, limit - 1))
    assert part.more == (part.cut_short or first + part.line_count - 1 < len(lines))
    assert part.ends_open == (not text.endswith("\n"))


@settings(deadline=None, max_examples=examples(150))
@given(texts.filter(len), encodings, st.integers(1, 8), st.integers(4, 60))
def test_a_tail_is_whole_lines_or_the_start_of_the_last_one(directory, text, encoding, count, limit):
    part, _ = read(directory, BOMS[encoding] + text.encode(encoding), Tail(count, max_bytes=limit))

    lines = lines_of(text)
    asked = lines[-count:]
    given_text = part.data.decode()
    assert part.total_lines == len(lines)
    if part.cut_short:
        assert part.first_line == len(lines)
        assert lines[-1].startswith(given_text)
    else:
        assert "".join(asked).endswith(given_text)
        assert part.first_line == len(lines) - part.line_count + 1
        if part.line_count < len(asked) and part.line_count < count:
            more = "".join(lines[-part.line_count - 1 :])
            assert len(more.encode(encoding)) > limit


def test_a_column_after_the_end_of_its_line_returns_the_length_of_the_line(tmp_path):
    for data, chars in ((b"ab\ncdef\r\nx\n", 4), (b"ab\ncdef", 4), ("ab\nçdéf\n".encode(), 4)):
        part, extra = read(tmp_path, data, CharRange(2, 9, 2))

        assert (extra["line_chars"], part.data.strip()) == (chars, b"")


def test_undecodable_bytes_count_as_the_characters_they_are_shown_as(tmp_path):
    data = b"a\xff\xe8\xaab\xf0\x9f\x99\n"
    shown = data.decode("utf-8", "replace")

    for column in range(1, len(shown)):
        part, _ = read(tmp_path, data, CharRange(1, column))
        assert part.data.decode() == shown[column - 1 :]


def test_of_a_gigabyte_only_the_range_is_read(tmp_path, monkeypatch):
    with (tmp_path / "big").open("wb") as file:
        file.truncate(1 << 30)
        file.seek(0)
        file.write(b"x" * 70_000)
        file.seek((1 << 30) - 5)
        file.write(b"\nend\n")
    seen = []
    from eyespan.guard.guarded_file import LocalFile

    whole = LocalFile.read_at
    monkeypatch.setattr(LocalFile, "read_at", lambda self, at, size: seen.append(size) or whole(self, at, size))
    with Workspace(tmp_path) as workspace:
        document = workspace.engine.read(ReadRequest("big", CharRange(1, 60_001, None, 5000), text_rule="any"))

    assert document.parts[0].data == b"x" * 5000
    assert document.parts[0].total_lines is None
    assert sum(seen) < 1 << 20


def test_a_guess_is_returned_with_its_confidence(tmp_path):
    text = "Dès Noël, où un zéphyr haï me vêt de glaçons würmiens, je dîne d’exquis rôtis de bœuf.\n" * 8

    _, facts = read(tmp_path, text.encode("cp1252"), CharRange(), encoding="auto")

    assert 0 < facts["encoding_confidence"] <= 1
    assert facts["encoding_found"] == "detected"


def test_undecodable_pieces_are_counted(tmp_path):
    assert read(tmp_path, b"a\xffb\n\xfe\n", CharRange())[1]["replaced"] == 2
    assert "replaced" not in read(tmp_path, b"ab\n", CharRange())[1]


class Totals(CallContext):
    """Notes what the call holds after each charge."""

    def __init__(self):
        super().__init__()
        self.totals = []

    def charge(self, size_bytes):
        super().charge(size_bytes)
        self.totals.append(self.memory.charged_bytes)


def test_the_pieces_of_a_text_are_paid_for_before_it_is_made_of_them(directory):
    """One wide character makes the whole text wide."""
    (directory / "f.txt").write_bytes("🙂".encode() + b"a" * 9999)
    context = Totals()
    with Workspace(directory) as workspace:
        workspace.engine.read(ReadRequest("f.txt", CharRange(1, 1)), context)

    assert context.totals[-2:] == [10_000 * READ_BYTES[4]] * 2
