"""Reading the whole file of a job."""

from __future__ import annotations

import io

import pytest

from eyespan.decoders.files import read_up_to, read_whole
from eyespan.errors import Unreadable


class ShortReads(io.BytesIO):
    def read(self, size=-1):
        return super().read(min(size, 3))


@pytest.mark.parametrize("kind", [io.BytesIO, ShortReads])
def test_a_file_is_read_to_its_end_or_the_limit(kind):
    assert read_up_to(kind(b"0123456789"), 20) == b"0123456789"
    assert read_up_to(kind(b"0123456789"), 7) == b"0123456"
    assert read_whole(kind(b"0123456789"), 10, kind="html") == b"0123456789"
    with pytest.raises(Unreadable, match="more than 9 bytes"):
        read_whole(kind(b"0123456789"), 9, kind="html")
