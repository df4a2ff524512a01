from __future__ import annotations

from eyespan import Workspace
from eyespan.model import BytesPart, Limits, ReadRequest

DATA = bytes(range(256)) * 1000


def test_the_bytes_of_a_long_file_are_read_up_to_the_limit(tmp_path):
    (tmp_path / "a.bin").write_bytes(DATA)

    with Workspace(tmp_path) as workspace:
        whole = workspace.engine.read(ReadRequest("a.bin", wants_bytes=True))
        limits = Limits(max_whole_bytes=200_000)
        cut = workspace.engine.read(ReadRequest("a.bin", wants_bytes=True, limits=limits))

    assert whole.parts == (BytesPart(DATA, truncated=False),)
    assert cut.parts == (BytesPart(DATA[:200_000], truncated=True),)
