"""Every system call of a read fails in turn: the answer is right or a clean error, and nothing is left behind.

The faults are put below everything, between the program and the C library (shim.c), so that they meet the C accelerator
and ctypes as well as Python. Here a choice of reads and errors; all of them with `make soak`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from eyespan.guard import BACKENDS

HERE = Path(__file__).parent
COMPILER = shutil.which(os.environ.get("CC", "cc"))
pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the shim wraps the calls of Linux's C libraries"),
    pytest.mark.skipif(COMPILER is None, reason="no C compiler to build the shim with"),
]
MEMORY_KB = 160 * 1024
"""Of the whole process, pictures and grammars loaded; a size that lies must not become memory."""


@pytest.fixture(scope="session")
def shim(tmp_path_factory):
    made = tmp_path_factory.mktemp("shim") / "shim.so"
    command = [COMPILER, "-std=gnu11", "-O1", "-shared", "-fPIC", str(HERE / "shim.c"), "-ldl", "-o", str(made)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"the shim does not build here: {done.stderr[-500:]}")
    return made


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    import tree

    folder = tmp_path_factory.mktemp("f")
    tree.make(folder)
    return folder


def sweep(shim, files, backend, *options):
    environment = {**os.environ, "LD_PRELOAD": str(shim), "EYESPAN_CACHE": "off"}
    command = [sys.executable, str(HERE / "sweep.py"), str(files), backend, *options]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def problems(found):
    return [f"{one['backend']}, {one['scenario']}: {problem}" for one in found for problem in one["problems"]]


def check(found, backend):
    assert problems(found) == []
    assert all(one["calls"] for one in found)
    assert max(one["peak_kb"] for one in found) < MEMORY_KB
    tried = {kind: sum(one["tried"] for one in found if one["kind"] == kind) for kind in ("errors", "short", "lies")}
    assert min(tried.values()) > 20
    names = {name for one in found for name in one["names"]}
    # Each way to open is met where it really happens: were it not, all of the above would prove nothing.
    assert ("syscall" in names) == backend.startswith("openat2")
    assert ("readlinkat" in names) == (backend != "portable")
    return tried


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_fault_is_told_or_overcome_and_nothing_is_left(shim, files, backend):
    check(sweep(shim, files, backend), backend)


@pytest.mark.soak
@pytest.mark.parametrize("backend", BACKENDS)
def test_every_fault_of_every_read_is_told_or_overcome(shim, files, backend):
    tried = check(sweep(shim, files, backend, "--full"), backend)
    print(f"{backend}: {tried}")


def test_a_fault_that_is_not_met_well_would_be_seen(shim, files):
    """The sweep itself: a reader that takes a short read for the end and forgets descriptors is found out."""
    found = sweep(shim, files, "openat2", "--careless", "small file, forge")

    said = "\n".join(problems(found))
    assert "another answer" in said
    assert "descriptors left" in said


@pytest.mark.parametrize("backend", ["openat2", "walk"])
def test_a_fault_on_the_long_way_to_a_file_is_met_as_well(shim, files, backend):
    """What a guard can do without, most of the time, is asked for here."""
    short = sweep(shim, files, backend, "small file, forge", "through links")
    long = sweep(shim, files, backend, "--long-way", "small file, forge", "through links")

    assert problems(long) == []
    more = {name for one in long for name in one["names"]} - {name for one in short for name in one["names"]}
    assert {name.removesuffix("64") for name in more} == {"fstatfs", "open"}
