from __future__ import annotations

from eyespan import Workspace
from eyespan.extras.families import kimi


def test_the_status_is_made_for_few_of_the_lines_that_do_not_fit(tmp_path, monkeypatch):
    (tmp_path / "newlines.txt").write_bytes(b"\n" * 300_000)
    made = []
    note = kimi._Status.note
    monkeypatch.setattr(kimi._Status, "note", lambda *args, **more: made.append(1) or note(*args, **more))

    with Workspace(tmp_path) as workspace:
        reply = workspace.tool("kimi").call({"path": "newlines.txt"})

    assert len(reply.text) in range(99_900, 100_001)
    assert len(made) < 100
