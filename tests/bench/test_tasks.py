from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("bpe_openai", reason="bpe-openai is not installed")
if shutil.which("git") is None:
    pytest.skip("repositories are made with git", allow_module_level=True)

from bench import tasks

LIB = "def first(value):\n    return value + 1\n\n\ndef second(value):\n    return first(value) * {}\n"
USE = "from lib import second\n\n\ndef use():\n    return second(3)\n"


@pytest.fixture
def repository(tmp_path):
    root = tmp_path / "project"
    root.mkdir()
    names = {f"GIT_{who}_{what}": "a" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    (root / "use.py").write_text(USE)
    for factor in (1, 2):
        (root / "lib.py").write_text(LIB.format(factor))
        subprocess.run(["git", "add", "."], cwd=root, check=True)
        subprocess.run(["git", "commit", "-qm", "x"], cwd=root, env={**os.environ, **names}, check=True)
    return root


def test_a_task_is_the_changed_function_and_its_callers(repository, tmp_path):
    place = tmp_path / "place"
    place.mkdir()
    found = tasks.Repository(Path(repository), place)

    ((_, functions, callers),) = found.tasks(4)

    assert [key for key, _ in functions] == [("lib.py", "second")]
    assert [(path, line) for path, line, _ in callers] == [("use.py", 5)]


def test_every_tool_is_counted(repository, tmp_path):
    place = tmp_path / "place"
    place.mkdir()

    ((_, row),) = tasks.measure(tasks.Repository(Path(repository), place), 4)

    assert set(row) >= {"native", "claude", "codex", "forge", "workspace"}
    assert row["native"][1] == 1
    assert row["claude"][1] == 3
    assert all(tokens > 50 for tokens, _ in row.values())
