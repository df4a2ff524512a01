"""Every system call of a read fails in turn: the answer is right or a clean error, and nothing is left behind.

The faults are put below everything, between the program and the C library (shim.c), so that they meet the C accelerator
and ctypes as well as Python. Here a choice of reads and errors; all of them with `make soak`.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
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


def sweep(shim, files, backend, *options, shares=1):
    """In so many processes at once, each with its share of the reads; what they tell is in files beside the tree."""
    environment = {**os.environ, "LD_PRELOAD": str(shim), "EYESPAN_CACHE": "off"}
    command = [sys.executable, str(HERE / "sweep.py"), str(files), backend, *options]
    with contextlib.ExitStack() as stack:
        names = [*[f"{backend}-{n}.jsonl" for n in range(1, shares + 1)], f"{backend}-errors.txt"]
        *outputs, errors = [stack.enter_context((files / name).open("w+")) for name in names]
        running = [
            subprocess.Popen([*command, f"--share={n}/{shares}"], stdout=output, stderr=errors, env=environment)
            for n, output in enumerate(outputs, 1)
        ]
        ended = [process.wait() for process in running]
        for file in (*outputs, errors):
            file.seek(0)
        assert ended == [0] * shares, errors.read()[-2000:]
        return [json.loads(line) for output in outputs for line in output]


def problems(found):
    return [f"{one['backend']}, {one['scenario']}: {problem}" for one in found for problem in one["problems"]]


def check(found, backend, full=False):
    assert problems(found) == []
    assert all(one["calls"] for one in found)
    assert max(one["peak_kb"] for one in found) < MEMORY_KB
    tried = {kind: sum(one["tried"] for one in found if one["kind"] == kind) for kind in ("errors", "short", "lies")}
    assert min(tried.values()) > 20
    names = {name for one in found for name in one["names"]}
    # Each way to open is met where it really happens: were it not, all of the above would prove nothing.
    assert ("openat2" in names) == backend.startswith("openat2")
    assert ("readlinkat" in names) == (backend != "portable")
    if full or backend == "openat2":
        # So is what is kept on disk between processes: a file too small for that would be read just as well.
        assert {"rename", "write", "utimensat"} <= names


def told(found):
    """The figures of a sweep, for `pytest -s`."""
    tried = {kind: sum(one["tried"] for one in found if one["kind"] == kind) for kind in ("errors", "short", "lies")}
    same = sum(one["told"].get("same", 0) for one in found)
    return (
        f"{len({one['scenario'] for one in found})} reads, {sum(tried.values())} faults ({tried['errors']} errors of 8 "
        f"kinds, {tried['short']} short reads, {tried['lies']} lying sizes): {same} overcome, "
        f"{sum(tried.values()) - same} told, {len(problems(found))} problems"
    )


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_fault_is_told_or_overcome_and_nothing_is_left(shim, files, backend):
    check(sweep(shim, files, backend), backend)


@pytest.mark.soak
@pytest.mark.parametrize("backend", BACKENDS)
def test_every_fault_of_every_read_is_told_or_overcome(shim, files, backend):
    started = time.monotonic()
    found = sweep(shim, files, backend, "--full", shares=min(2, os.cpu_count() or 1))
    print("", f"{backend}: {told(found)}; {time.monotonic() - started:.0f} s", *problems(found), sep="\n")
    check(found, backend, full=True)


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
