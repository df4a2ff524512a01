"""Some modules are imported when they are first needed. Without a free descriptor that fails, and the reply reports it.

The shortage is real: the limit of the process is lowered at one import after another (`cold_start`).
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from eyespan.dialects import dialect_names
from tests.sizes import size

HERE = Path(__file__).parent
pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks for open descriptors in /proc")
ENVIRONMENT = {**os.environ}


def cold_start(files, dialect, *options):
    command = [sys.executable, str(HERE / "cold_start.py"), str(files), dialect, *options]
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT)
    assert done.returncode == 0, done.stderr[-2000:]
    return [ast.literal_eval(line) for line in done.stdout.splitlines()]


def check(found):
    assert [one for one in found if one[2].startswith("WRONG") or one[3]] == []
    return Counter(result for _, _, result, _ in found)


# The others import the same modules.
@pytest.mark.parametrize("dialect", size(short=("native", "claude"), long=dialect_names()))
def test_an_import_that_finds_no_descriptor_is_reported_and_succeeds_later(files, dialect):
    check(cold_start(files, dialect, f"--every={size(short=900, long=4)}"))


@pytest.mark.soak
@pytest.mark.parametrize("options", [[], ["--once"]], ids=["lasting", "once"])
@pytest.mark.parametrize("dialect", dialect_names())
def test_every_import_of_every_first_read_may_find_no_descriptor(files, dialect, options):
    results = check(cold_start(files, dialect, "--all", *options))

    print(f"{dialect}: {sum(results.values())} imports, {dict(results)}")


def test_an_event_loop_without_a_free_descriptor_gets_an_answer(files):
    code = f"""
import asyncio, resource
from eyespan import Workspace

tool = Workspace({str(files / "root")!r}).tool("claude")
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)

async def ask():
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    first = await tool.acall({{"file_path": {str(files / "root/link")!r}}})
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    second = await tool.acall({{"file_path": {str(files / "root/link")!r}}})
    print(first.error.code, first.error.message)
    print(second.error, second.text.splitlines()[0])

asyncio.run(ask())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=ENVIRONMENT)

    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        f"io Error reading file: {os.strerror(24)}",
        "None      1\tline 1 — ünï",
    ]
