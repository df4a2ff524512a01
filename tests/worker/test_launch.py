from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bad_worker import echo, fork_server_pid, script

FIXTURES = Path(__file__).parent.parent / "fixtures"
posix = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
linux = pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")


@posix
def test_a_job_has_two_descriptors_closed_streams_and_no_environment(worker, file, monkeypatch):
    monkeypatch.setenv("SECRET_TOKEN", "x")

    facts, _ = worker.run("environment", file, {}, asked="data")

    assert facts["files"] == [0, 1, 2, 3, 4]
    assert facts["directory"] == "/"
    assert not {"SECRET_TOKEN", "HOME", "PATH"} & set(facts["names"])


@linux
def test_the_process_shares_no_stream_and_no_session_with_its_parent(worker, file):
    echo(worker, file)
    mine = {os.readlink(f"/proc/self/fd/{fd}") for fd in (0, 1, 2)}
    theirs = {
        os.readlink(f"/proc/{fork_server_pid(worker)}/fd/{fd}")
        for fd in os.listdir(f"/proc/{fork_server_pid(worker)}/fd")
    }

    assert not mine & theirs
    assert os.getsid(fork_server_pid(worker)) != os.getsid(0)


@posix
def test_the_standard_streams_of_the_caller_stay_untouched():
    out = script("""
        assert works()
        try:
            worker.run("crash", fd, {}, asked="")
        except Exception as error:
            pass
        worker.stop()
        print(sys.stdin.read())
    """)

    assert out == "kept for the caller\n"


def test_modules_of_the_current_directory_are_not_imported(tmp_path):
    (tmp_path / "PIL").mkdir()
    (tmp_path / "PIL" / "__init__.py").write_text("open('planted', 'w')\n")
    picture = FIXTURES / "pictures" / "plain.png"
    argv = [sys.executable, "-m", "eyespan", "call", "claude", "--root", str(picture.parent)]
    asked = json.dumps({"file_path": str(picture)})
    done = subprocess.run([*argv, asked], cwd=tmp_path, capture_output=True, timeout=60)

    assert json.loads(done.stdout)["is_error"] is False
    assert not (tmp_path / "planted").exists()
