"""Every system call of a read fails in turn: the answer is right or a clean error, and nothing stays open.

The faults occur between the program and the C library (shim.c), so they affect the C accelerator and ctypes as well as
Python. `make test` runs a choice of reads and errors, `make soak` all of them.
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

from tests.backends import BACKENDS, HANDLES, STRONG

HERE = Path(__file__).parent
COMPILER = shutil.which(os.environ.get("CC", "cc"))
pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the shim wraps the calls of Linux's C libraries"),
    pytest.mark.skipif(COMPILER is None, reason="no C compiler to build the shim with"),
]
MEMORY_KB = 160 * 1024
"""Of the whole process, with image and grammar libraries. A wrong st_size must not become memory."""


@pytest.fixture(scope="session")
def shim(tmp_path_factory):
    made = tmp_path_factory.mktemp("shim") / "shim.so"
    command = [COMPILER, "-std=gnu11", "-O1", "-shared", "-fPIC", str(HERE / "shim.c"), "-ldl", "-o", str(made)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"the shim does not build here: {done.stderr[-500:]}")
    return made


def sweep(shim, files, backend, *options, shares=1):
    """Run the sweep in several processes, each with its share of the reads. Their output goes beside the tree."""
    environment = {**os.environ, "LD_PRELOAD": str(shim)}
    command = [sys.executable, str(HERE / "fault_sweep.py"), str(files), backend, *options]
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
    # Each backend makes the calls it is named for; else the checks above would prove nothing.
    assert ("openat2" in names) == backend.startswith("openat2")
    assert ("readlinkat" in names) == (backend != "portable")


def figures(found):
    """Return the figures of a sweep, for `pytest -s`."""
    tried = {kind: sum(one["tried"] for one in found if one["kind"] == kind) for kind in ("errors", "short", "lies")}
    same = sum(one["results"].get("same", 0) for one in found)
    return (
        f"{len({one['scenario'] for one in found})} reads, {sum(tried.values())} faults ({tried['errors']} errors of 8 "
        f"kinds, {tried['short']} short reads, {tried['lies']} wrong sizes): {same} overcome, "
        f"{sum(tried.values()) - same} reported, {len(problems(found))} problems"
    )


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_fault_is_reported_or_overcome_and_nothing_stays_open(shim, files, backend):
    check(sweep(shim, files, backend), backend)


@pytest.mark.soak
@pytest.mark.parametrize("backend", BACKENDS)
def test_every_fault_of_every_read_is_reported_or_overcome(shim, files, backend):
    started = time.monotonic()
    found = sweep(shim, files, backend, "--full", shares=min(2, os.cpu_count() or 1))
    print("", f"{backend}: {figures(found)}; {time.monotonic() - started:.0f} s", *problems(found), sep="\n")
    check(found, backend, full=True)


def test_the_sweep_finds_a_broken_reader(shim, files):
    """A reader that takes a short read for the end, and forgets descriptors."""
    found = sweep(shim, files, STRONG[0], "--careless", "small file, forge")

    text = "\n".join(problems(found))
    assert "another answer" in text
    assert "descriptors left" in text


@pytest.mark.parametrize("backend", HANDLES)
def test_a_fault_without_the_shortcuts_is_handled_too(shim, files, backend):
    """The calls that the guard avoids most of the time."""
    short = sweep(shim, files, backend, "small file, forge", "through links")
    long = sweep(shim, files, backend, "--long-way", "small file, forge", "through links")

    assert problems(long) == []
    more = {name for one in long for name in one["names"]} - {name for one in short for name in one["names"]}
    assert {name.removesuffix("64") for name in more} == {"fstatfs"}
