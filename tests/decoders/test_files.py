"""Reading the whole file of a job."""

from __future__ import annotations

import io
import os

import pytest

from eyespan.decoders.files import PositionedFile, read_up_to, read_whole
from eyespan.errors import Unreadable


class ShortReads(io.BytesIO):
    def read(self, size=-1):
        return super().read(min(size, 3))


@pytest.mark.parametrize("kind", [io.BytesIO, ShortReads])
def test_a_file_is_read_to_its_end_or_the_limit(kind):
    assert read_up_to(kind(b"0123456789"), 20) == b"0123456789"
    assert read_up_to(kind(b"0123456789"), 7) == b"0123456"
    assert read_whole(kind(b"0123456789"), 10) == b"0123456789"
    with pytest.raises(Unreadable, match="more than 9 bytes"):
        read_whole(kind(b"0123456789"), 9)


class TestPositionedFile:
    def test_two_files_of_one_descriptor_have_positions_of_their_own(self, tmp_path):
        (tmp_path / "a").write_bytes(bytes(range(100)))
        with open(tmp_path / "a", "rb", buffering=0) as file:
            first, second = PositionedFile(file), PositionedFile(file)

            pieces = [first.read(10), second.read(5), first.read(10), second.read(5)]

        assert pieces == [bytes(range(10)), bytes(range(5)), bytes(range(10, 20)), bytes(range(5, 10))]

    def test_nothing_is_read_if_nothing_is_wanted(self):
        file = PositionedFile(io.BytesIO(b"0123456789"))

        assert (file.read(0), file.tell(), file.read()) == (b"", 0, b"0123456789")

    @pytest.mark.parametrize("is_in_memory", [False, True])
    def test_it_reads_like_any_file(self, tmp_path, is_in_memory):
        (tmp_path / "a").write_bytes(bytes(range(100)))
        with open(tmp_path / "a", "rb", buffering=0) as file:
            found = PositionedFile(io.BytesIO(bytes(range(100))) if is_in_memory else file)
            buffer = bytearray(4)

            ends = [found.seek(0, os.SEEK_END), found.seek(-3, os.SEEK_CUR), found.readinto(buffer), found.tell()]
            found.seek(90)
            rest = found.read()

        assert (ends, bytes(buffer), rest) == ([100, 97, 3, 100], b"abc\0", bytes(range(90, 100)))
