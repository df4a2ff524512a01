"""The audit log: what is in a line, what is not, when nothing is read without one, and the summary for people."""

from __future__ import annotations

import json
import os
import stat
import threading

import pytest

from eyespan.server import audit_main
from eyespan.server.audit import Audit


def logged(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_one_line_a_call_without_contents(lines, tree, tmp_path):
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

    keys = ["time", "caller", "dialect", "path", "canonical", "range", "rule", "bytes", "verdict", "code", "ms"]
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
    assert "line 3" not in log.read_text()
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


def test_a_log_that_others_could_read_is_closed_to_them(tmp_path):
    log = tmp_path / "audit.jsonl"
    log.write_text("")
    log.chmod(0o644)

    Audit(str(log)).close()

    assert stat.S_IMODE(log.stat().st_mode) == 0o600


@pytest.mark.parametrize("required", [False, True])
def test_nothing_is_read_without_a_line_when_that_is_required(lines, tree, required):
    extra = ["--audit-required"] if required else []
    server = lines("--dialect", "claude", "--audit", "/dev/full", *extra)

    result = server.call("Read", file_path=str(tree / "hello.txt"))
    resource = server.ask("resources/read", {"uri": "file:///hello.txt"})
    server.close()

    assert result["isError"] is required
    assert ("error" in resource) is required
    assert ("hello" in json.dumps([result, resource]).replace("hello.txt", "")) is not required
    assert server.errors.count("the audit log cannot be written") == 1


def test_a_log_that_cannot_be_opened_is_told_at_the_start(tree, tmp_path):
    import subprocess
    import sys

    argv = [sys.executable, "-m", "eyespan.server", "--root", str(tree), "--audit", str(tmp_path / "no" / "log")]
    done = subprocess.run(argv, input=b"", capture_output=True)

    assert done.returncode == 1
    assert b"No such file" in done.stderr


def test_full_files_are_turned_over_and_no_line_is_lost(tmp_path):
    log = tmp_path / "audit.jsonl"
    # Two writers in one file, as two worker processes have it.
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


def test_only_so_many_old_files_are_kept(tmp_path):
    log = tmp_path / "audit.jsonl"
    writer = Audit(str(log), 100)
    for number in range(20):
        writer.write({"caller": "x", "number": number})
    writer.close()

    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["audit.jsonl", *(f"audit.jsonl.{n}" for n in range(1, 5)), "audit.jsonl.lock"]
    assert logged(log)[-1]["number"] == 19


def test_a_log_that_was_moved_away_is_made_anew(tmp_path):
    log = tmp_path / "audit.jsonl"
    writer = Audit(str(log))
    writer.write({"caller": "a"})
    os.rename(log, tmp_path / "elsewhere")
    writer.write({"caller": "b"})
    writer.close()

    assert [row["caller"] for row in logged(log)] == ["b"]


def test_the_summary_says_what_was_read_refused_and_by_whom(lines, tree, tmp_path, capsys):
    log = tmp_path / "audit.jsonl"
    server = lines("--dialect", "claude", "--audit", str(log))
    for _ in range(3):
        server.call("Read", file_path=str(tree / "hello.txt"))
    server.call("Read", file_path=str(tree / "src" / "app.py"))
    server.call("Read", file_path=str(tree / ".env"))
    server.close()
    with log.open("a") as file:
        file.write("no audit line\n")

    assert audit_main([str(log)]) == 0
    text = capsys.readouterr().out

    assert "5 calls from " in text
    assert "4 read (" in text
    assert "1 refused" in text
    most_read = text[text.index("Most read") :].splitlines()
    assert most_read[1].split()[0] == "3"
    assert most_read[1].endswith("hello.txt")
    assert "(rule **/.env)" in text
    assert "judge/1: 4 read, 1 refused" in text
    assert "█" in text
    assert "1 lines are no audit lines." in text

    assert audit_main([str(log), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["verdicts"] == {"read": 4, "refused": 1}
    assert audit_main([str(log), "--refused"]) == 0
    assert capsys.readouterr().out.count("\n") == 1
    assert audit_main([str(log), "--caller", "nobody"]) == 0
    assert capsys.readouterr().out.startswith("No calls.")


def test_a_name_in_the_log_cannot_move_the_cursor(tmp_path, capsys):
    log = tmp_path / "audit.jsonl"
    line = {"time": "2026-11-15T10:00:00.000Z", "caller": "x\x1b[2J", "path": "a\nb\x1b]0;x", "canonical": None}
    log.write_text(json.dumps({**line, "verdict": "read", "bytes": 1, "ms": 1.0}) + "\n")

    audit_main([str(log)])

    assert "\x1b" not in capsys.readouterr().out


@pytest.mark.parametrize(("argv", "status"), [([], 2), (["--bad"], 2), (["/nowhere/at/all"], 1), (["--help"], 0)])
def test_wrong_usage_of_the_summary(argv, status, capsys):
    assert audit_main(argv) == status
    capsys.readouterr()
