"""The audit line of a call names every file that was read or refused."""

from __future__ import annotations

from eyespan import Workspace
from eyespan.context import CallContext
from eyespan.server.recorder import facts, watched


def test_every_file_of_a_call_is_recorded(tmp_path):
    (tmp_path / "a.py").write_text("1\n2\n3\n")
    (tmp_path / "b.py").write_text("x\n")
    (tmp_path / "link.py").symlink_to("b.py")
    (tmp_path / ".env").write_text("SECRET\n")
    with Workspace(tmp_path) as workspace:
        asked = {"files": ["a.py:2-3", ".env", "none.py", "link.py"]}
        reply, witness, _ = watched(workspace.tool("native"), asked, CallContext())
        line = facts(witness)

    assert not reply.is_error
    assert line["rule"] == "**/.env"
    assert line["files"] == [
        {"path": "a.py", "canonical": "a.py", "range": "2-3", "rule": None},
        {"path": ".env", "canonical": None, "range": None, "rule": "**/.env"},
        {"path": "link.py", "canonical": "b.py", "range": "1-1", "rule": None},
    ]


def test_a_call_for_one_file_has_no_list(tmp_path):
    (tmp_path / "a.py").write_text("1\n2\n3\n")
    with Workspace(tmp_path) as workspace:
        _, witness, _ = watched(workspace.tool("native"), {"files": "a.py:1"}, CallContext())

    assert facts(witness) == {"path": "a.py", "canonical": "a.py", "range": "1-1", "rule": None}
