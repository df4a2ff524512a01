from __future__ import annotations

import tracemalloc

from eyespan import Workspace
from eyespan.context import CallContext
from eyespan.model import MIB, BytesPart, Limits, ReadRequest

DATA = bytes(range(256)) * 1000


def test_the_bytes_of_a_long_file_are_read_up_to_the_limit(tmp_path):
    (tmp_path / "a.bin").write_bytes(DATA)

    with Workspace(tmp_path) as workspace:
        whole = workspace.engine.read(ReadRequest("a.bin", wants_bytes=True))
        limits = Limits(max_whole_bytes=200_000)
        cut = workspace.engine.read(ReadRequest("a.bin", wants_bytes=True, limits=limits))
        exact = workspace.engine.read(ReadRequest("a.bin", wants_bytes=True, limits=Limits(max_whole_bytes=len(DATA))))

    assert whole.parts == exact.parts == (BytesPart(DATA, truncated=False),)
    assert cut.parts == (BytesPart(DATA[:200_000], truncated=True),)


def test_bytes_are_paid_for(tmp_path, monkeypatch):
    (tmp_path / "a.bin").write_bytes(DATA * 30)
    charged = []
    charge = CallContext.charge
    monkeypatch.setattr(
        CallContext, "charge", lambda self, size: charge(self, size) or charged.append(self.memory.charged_bytes)
    )

    with Workspace(tmp_path) as workspace:
        workspace.engine.read(
            ReadRequest("a.bin", wants_bytes=True, limits=Limits(max_whole_bytes=1000)), CallContext()
        )
        charged.clear()
        tracemalloc.start()
        try:
            request = ReadRequest("a.bin", wants_bytes=True, limits=Limits(max_window_bytes=16 * MIB))
            document = workspace.engine.read(request, CallContext())
            most = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert document.parts == (BytesPart(DATA * 30, truncated=False),)
    assert most < max(charged) + 2 * MIB
