from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from sys import getsizeof

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyespan import Workspace
from eyespan.context import CallContext
from eyespan.extras.git.differences import _hunks, _shown, difference
from eyespan.model import ReadRequest
from eyespan.selectors import Target
from tests.sizes import examples

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="repositories are made with git")
VERSIONS = [
    "def f():\n    return 1\n\n\ndef g():\n    return 1\n",
    "def f():\n    return 2\n\n\ndef g():\n    return 1",
]


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    root = tmp_path_factory.mktemp("difference")
    names = {f"GIT_{who}_{what}": "a" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}

    def git(*words):
        subprocess.run(["git", *words], cwd=root, env={**os.environ, **names}, check=True)

    git("init", "-q")
    for number, text in enumerate(VERSIONS, 1):
        (root / "a.py").write_text(text)
        git("add", "a.py")
        git("commit", "-qm", "x")
        git("tag", f"v{number}")
    (root / "a.py").write_text(VERSIONS[0])
    return root


def native(root, selector):
    return Workspace(root).tool("native").call({"files": selector}).text.split("\n", 1)


@needs_git
def test_the_difference_of_a_file_between_two_revisions(repository):
    header, body = native(repository, "a.py@v1..v2")

    assert header.startswith("> a.py@v1..v2:1-12/12 #")
    assert [line.removeprefix("1").removeprefix("\t") for line in body.split("\n")] == [
        *("--- a.py@v1", "+++ a.py@v2", "@@ -1,6 +1,6 @@", " def f():", "-    return 1", "+    return 2", " ", " "),
        *(" def g():", "-    return 1", "+    return 1", "\\ No newline at end of file"),
    ]


@needs_git
def test_files_that_were_compared_are_free_again(repository):
    call = CallContext()
    with Workspace(repository) as workspace:

        def open_file(target):
            return workspace.engine.open(ReadRequest(target.path, revision=target.revision), call)

        text, _ = difference(Target("a.py", revision="v1..v2"), open_file)
        refundable_bytes = call.memory.loan_start()
    call.finish()

    assert refundable_bytes == getsizeof(text)


@needs_git
def test_the_difference_of_a_symbol_and_of_the_file_as_it_is(repository):
    assert "-    return 1\n\t+    return 2" in native(repository, "a.py@v1..v2::f")[1]
    assert "-    return 2\n\t+    return 1" in native(repository, "a.py@v2..")[1]
    assert native(repository, "a.py@v1..")[0] == "> a.py@v1..: no difference"
    assert "no revision" in native(repository, "a.py@v1..v9")[0]


lines = st.lists(st.sampled_from(["a", "b", "c", "", "d"]), max_size=30)


@settings(max_examples=examples(500), deadline=None)
@given(lines, lines)
def test_a_difference_leads_from_the_old_lines_to_the_new(before, after):
    found = []
    at = 0
    for hunk in _hunks(before, after):
        found += before[at : hunk[0][1]]
        for line in _shown(hunk, before, after, 1, 1)[1:]:
            if line[0] in " +":
                found.append(line[1:])
            if line[0] in " -":
                assert before[hunk[0][1] : hunk[-1][2]].count(line[1:])
        at = hunk[-1][2]

    assert found + before[at:] == after


@pytest.mark.skipif(shutil.which("patch") is None, reason="the program patch is not installed")
def test_patch_accepts_a_difference():
    before = [f"line {n}" for n in range(40)]
    after = ["new", *before[:10], *before[12:30], "more", *before[30:]]
    text = "\n".join(
        ["--- a", "+++ b", *[line for h in _hunks(before, after) for line in _shown(h, before, after, 1, 1)]]
    )
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "x"
        path.write_text("".join(f"{line}\n" for line in before))
        subprocess.run(["patch", "-s", str(path)], input=f"{text}\n".encode(), check=True)
        assert path.read_text().split("\n")[:-1] == after
