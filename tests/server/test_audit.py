"""The audit log: the fields of a line, rotation, and reads that are refused because no line can be written."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import threading

import pytest

from eyespan.extras.resources.handlers import RESOURCE_TEMPLATE
from eyespan.server.audit import Audit

from .clients import SERVE


def logged(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_each_call_is_one_line_without_contents(lines, tree, tmp_path):
    log = tmp_path / "audit.jsonl"
    (tree / "link.py").symlink_to("src/app.py")
    server = lines("--dialect", "claude", "--audit", str(log))

    server.call("Read", file_path=str(tree / "link.py"), offset=2, limit=3)
    server.call("Read", file_path=str(tree / ".env"))
    server.call("Read", file_path="/etc/passwd")
    server.call("Read", file_path="relative")
    server.ask("resources/read", {"uri": "file:///hello.txt"})
    server.ask("resources/read", {"uri": "file:///none"})
    server.close()

    keys = [
        "time",
        "caller",
        "dialect",
        "path",
        "canonical",
        "mtime_ns",
        "range",
        "rule",
        "bytes",
        "tokens",
        "verdict",
        "code",
        "ms",
    ]
    rows = logged(log)
    assert [list(row) for row in rows] == [keys] * 6
    assert {row["caller"] for row in rows} == {"judge/1"}
    assert [
        [row[key] for key in ("dialect", "path", "canonical", "range", "rule", "verdict", "code")] for row in rows
    ] == [
        ["claude", str(tree / "link.py"), "src/app.py", "3-5", None, "read", None],
        ["claude", str(tree / ".env"), None, "1-2000", "**/.env", "refused", "policy_denied"],
        ["claude", "/etc/passwd", None, "1-2000", None, "refused", "outside_root"],
        ["claude", "", None, None, None, "refused", "invalid_input"],
        ["resource", "hello.txt", "hello.txt", "1-2", None, "read", None],
        ["resource", "none", None, "1-", None, "refused", "not_found"],
    ]
    assert rows[0]["bytes"] > 0
    assert [row["tokens"] > 0 for row in rows] == [True, False, False, False, True, False]
    assert "line 3" not in log.read_text()
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


def test_each_completion_is_one_line(lines, tree, tmp_path):
    log = tmp_path / "audit.jsonl"
    server = lines("--audit", str(log))
    ref = {"type": "ref/resource", "uri": RESOURCE_TEMPLATE}

    for value in ("src/a", "../", "none/", ".ssh/"):
        server.ask("completion/complete", {"ref": ref, "argument": {"name": "path", "value": value}})
    server.close()

    rows = logged(log)
    keys = ("dialect", "path", "canonical", "rule", "bytes", "verdict", "code")
    assert [[row[key] for key in keys] for row in rows] == [
        ["completion", "src/a", "src", None, len("src/app.py"), "read", None],
        ["completion", "../", None, None, 0, "refused", "outside_root"],
        ["completion", "none/", None, None, 0, "refused", "not_found"],
        ["completion", ".ssh/", None, "**/.ssh/**", 0, "refused", "policy_denied"],
    ]


def test_a_log_that_others_can_read_is_restricted_to_its_owner(tmp_path):
    log = tmp_path / "audit.jsonl"
    log.write_text("")
    log.chmod(0o644)

    Audit(str(log)).close()

    assert stat.S_IMODE(log.stat().st_mode) == 0o600


def test_rotation_changes_no_modes(tmp_path, monkeypatch):
    log = tmp_path / "audit.jsonl"
    audit = Audit(str(log), max_bytes=200)

    def refuse(*_):
        raise PermissionError(1, "as in the sandbox of a server")

    monkeypatch.setattr(os, "fchmod", refuse)
    monkeypatch.setattr(os, "chmod", refuse)
    for number in range(5):
        audit.write({"path": "x" * 150, "number": number})
    audit.close()

    found = sorted(path for path in tmp_path.iterdir() if not path.name.endswith(".lock"))
    assert len(found) == 5
    assert {stat.S_IMODE(path.stat().st_mode) for path in found} == {0o600}


@pytest.mark.parametrize("required", [False, True])
def test_without_a_required_line_nothing_is_read(lines, tree, full_device, required):
    extra = ["--audit-required"] if required else []
    server = lines("--dialect", "claude", "--audit", full_device, *extra)

    result = server.call("Read", file_path=str(tree / "hello.txt"))
    resource = server.ask("resources/read", {"uri": "file:///hello.txt"})
    ref = {"type": "ref/resource", "uri": RESOURCE_TEMPLATE}
    names = server.ask("completion/complete", {"ref": ref, "argument": {"name": "path", "value": ""}})
    server.close()

    assert result["isError"] is required
    assert ("error" in resource) is required
    assert ("error" in names) is required
    assert ("hello" in json.dumps([result, resource]).replace("hello.txt", "")) is not required
    assert server.errors.count("the audit log cannot be written") == 1


def test_a_log_that_cannot_be_opened_is_reported_at_the_start(tree, tmp_path):
    argv = [*SERVE, "--root", str(tree), "--audit", str(tmp_path / "no" / "log")]
    done = subprocess.run(argv, input=b"", capture_output=True)

    assert done.returncode == 1
    assert b"No such file" in done.stderr


def test_full_files_are_rotated_and_no_line_is_lost(tmp_path):
    log = tmp_path / "audit.jsonl"
    # Two writers of one file, like two worker processes.
    writers = [Audit(str(log), 10_000), Audit(str(log), 10_000)]

    def write(writer, number):
        for line in range(100):
            writer.write({"caller": f"{number}", "line": line})

    threads = [threading.Thread(target=write, args=(writer, n)) for n, writer in enumerate(writers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for writer in writers:
        writer.close()

    files = sorted(tmp_path.glob("audit.jsonl*"))
    rows = [row for file in files if not file.name.endswith(".lock") for row in logged(file)]
    assert sorted((row["caller"], row["line"]) for row in rows) == [(w, n) for w in "01" for n in range(100)]
    assert len(files) > 2
    assert all(file.stat().st_size <= 10_200 for file in files)
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


def test_at_most_four_old_files_are_kept(tmp_path):
    log = tmp_path / "audit.jsonl"
    writer = Audit(str(log), 100)
    for number in range(20):
        writer.write({"caller": "x", "number": number})
    writer.close()

    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["audit.jsonl", *(f"audit.jsonl.{n}" for n in range(1, 5)), "audit.jsonl.lock"]
    assert logged(log)[-1]["number"] == 19


def test_no_name_breaks_a_line(tmp_path):
    log = tmp_path / "audit.jsonl"
    name = "".join([chr(code) for code in range(0x20000) if not 0xD800 <= code < 0xE000])
    writer = Audit(str(log))
    writer.write({"path": name})
    writer.close()

    assert len(log.read_text("utf-8").splitlines()) == 1
    assert logged(log)[0]["path"] == name


def test_a_log_that_was_moved_is_created_again(tmp_path):
    log = tmp_path / "audit.jsonl"
    writer = Audit(str(log))
    writer.write({"caller": "a"})
    os.rename(log, tmp_path / "elsewhere")
    writer.write({"caller": "b"})
    writer.close()

    assert [row["caller"] for row in logged(log)] == ["b"]
