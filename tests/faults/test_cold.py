"""Most of eyespan is loaded when it is first needed. While no descriptor is free it cannot be, and that is then told.

Really no descriptor: the limit of the process is lowered at one import after another (cold.py).
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from eyespan.dialects import DIALECTS
from sizes import size

HERE = Path(__file__).parent
pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at /proc for what is left open")
ENVIRONMENT = {**os.environ, "EYESPAN_CACHE": "off"}


def cold(files, dialect, *options):
    command = [sys.executable, str(HERE / "cold.py"), str(files), dialect, *options]
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT)
    assert done.returncode == 0, done.stderr[-2000:]
    return [ast.literal_eval(line) for line in done.stdout.splitlines()]


def check(found):
    assert [one for one in found if one[2].startswith("WRONG") or one[3]] == []
    return Counter(how for _, _, how, _ in found)


# The dialects of the shipped programs load the same parts.
@pytest.mark.parametrize("dialect", [name for name in DIALECTS if size(short="upstream" not in name, long=True)])
def test_a_part_that_cannot_be_loaded_now_is_told_so_and_loaded_later(files, dialect):
    told = check(cold(files, dialect, f"--every={size(short=10, long=4)}"))

    assert sum(told.values()) - told["same"] > 0


@pytest.mark.soak
@pytest.mark.parametrize("options", [[], ["--once"]], ids=["lasting", "once"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_import_of_every_first_read_may_find_no_descriptor(files, dialect, options):
    told = check(cold(files, dialect, "--all", *options))

    print(f"{dialect}: {sum(told.values())} imports, {dict(told)}")


def test_an_event_loop_that_cannot_load_its_threads_gets_an_answer(files):
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
