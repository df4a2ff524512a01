"""The walls around a job, tried from inside."""

import json
import os
import platform
import struct
import subprocess
import sys

import pytest

from eyespan import worker as shared
from eyespan.sandbox import decoder as jail
from eyespan.sandbox import kernel

from .conftest import BAD, bad_worker

linux = pytest.mark.skipif(sys.platform != "linux", reason="these walls are made of Linux system calls")
known_machine = pytest.mark.skipif(platform.machine() not in kernel.ARCHITECTURES, reason="no call numbers for it")


@linux
def test_all_walls_stand_where_the_kernel_has_them():
    layers = shared.layers()

    has_landlock = kernel.landlock_version() > 0
    assert layers == {
        "process": True,
        "limits": True,
        "no_new_privs": True,
        "capabilities": True,
        "landlock": has_landlock,
        "seccomp": platform.machine() in kernel.ARCHITECTURES,
    }


@linux
@known_machine
@pytest.mark.parametrize("backend", ["fork_server", "plain"])
def test_nothing_that_a_decoder_has_no_business_with_works(backend, file, tmp_path):
    worker = bad_worker(backend, seconds=10)
    try:
        params = {"pid": os.getpid(), "folder": str(tmp_path)}
        facts, _ = worker.run("attempts", file, params, asked="data")
    finally:
        worker.stop()

    assert facts["worked"] == []


@linux
def test_the_same_would_have_worked_without_the_walls(tmp_path):
    (tmp_path / "data").touch()
    code = (
        f"import json, os, sys; sys.path.insert(0, {str(BAD.parent)!r}); from bad_decoders import attempts\n"
        f"with open({str(tmp_path / 'data')!r}, 'rb') as file:\n"
        f"    params = {{'pid': os.getpid(), 'folder': {str(tmp_path)!r}, 'skip': ['exec', 'ptrace', 'unshare']}}\n"
        f"    print(json.dumps(attempts(file, params)[0]['worked']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, timeout=60)

    worked = json.loads(done.stdout)
    assert len(worked) == 18, worked


def steps(program):
    return [struct.unpack("HBBI", program[at : at + 8]) for at in range(0, len(program), 8)]


def answer(program, machine, number, arguments=(0,) * 6):
    """What the filter says to a call, worked out step by step."""
    data = struct.pack("iIQ6Q", number, machine, 0, *arguments)
    at, held = 0, 0
    code = steps(program)
    while True:
        kind, yes, no, value = code[at]
        at += 1
        if kind == 0x06:
            return value
        if kind == 0x20:
            held = struct.unpack("I", data[value : value + 4])[0]
            continue
        holds = {0x15: held == value, 0x35: held >= value, 0x45: bool(held & value)}[kind]
        at += yes if holds else no


ALLOW, REFUSE, ABSENT, KILL = 0x7FFF0000, 0x00050001, 0x00050026, 0x80000000


@pytest.mark.parametrize(("machine", "column"), [("x86_64", 0), ("aarch64", 1)])
def test_the_filter_refuses_what_the_table_lists_and_lets_the_rest_pass(machine, column):
    program = jail.job_filter(machine)
    architecture = kernel.ARCHITECTURES[machine][1]
    numbers = set(kernel.calls(jail.REFUSED, machine))
    special = {pair[column] for pair, _, _ in jail.REFUSED_UNLESS} | {pair[column] for pair in jail.ABSENT.values()}

    refused = {n for n in range(600) if answer(program, architecture, n) == REFUSE}

    assert refused - special == numbers
    assert {n for n in range(600) if answer(program, architecture, n) == ABSENT} == {
        pair[column] for pair in jail.ABSENT.values()
    }


MUST_NOT = {
    "x86_64": "2 4 6 21 41 42 49 57 58 59 62 76 82 83 85 86 87 88 89 90 92 101 133 157 160 161 165 166 200 234 257 259 "
    "263 264 265 266 267 268 269 272 298 304 308 310 311 317 319 321 322 323 425 428 430 437 438 439",
    "aarch64": "33 34 35 36 37 38 39 40 45 48 51 53 56 78 97 117 129 130 131 164 167 198 200 203 221 241 265 268 270 "
    "271 277 279 280 281 282 425 428 430 437 438 439",
}
"""By the kernel's own tables, whatever the jail's table says: to open, name, make, rename or remove files, to connect,
to start, trace or signal processes, to mount, to lift a limit or a filter."""


@pytest.mark.parametrize("machine", MUST_NOT)
def test_what_no_job_may_ever_call_is_refused(machine):
    program = jail.job_filter(machine)
    architecture = kernel.ARCHITECTURES[machine][1]

    numbers = [int(number) for number in MUST_NOT[machine].split()]

    assert [n for n in numbers if answer(program, architecture, n) != REFUSE] == []


@linux
def test_landlock_alone_keeps_files_out_of_reach():
    """Behind the filter nobody would notice that it is missing."""
    code = (
        "import os\n"
        "from eyespan.sandbox.decoder import Jail\n"
        "layers = Jail(memory_bytes=1 << 40, seconds=60).apply_all_but_filter()\n"
        "try:\n"
        "    os.open('/', os.O_RDONLY)\n"
        "    said = 'opened'\n"
        "except OSError as error:\n"
        "    said = error.strerror\n"
        "print(layers['landlock'], said)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)

    assert done.stdout in ("True Permission denied\n", "False opened\n")


@pytest.mark.parametrize(
    ("number", "arguments", "expected"),
    [
        (56, (0x00010000 | 0x100, 0, 0, 0, 0, 0), ALLOW),  # clone for a thread
        (56, (17, 0, 0, 0, 0, 0), REFUSE),  # clone for a process
        (262, (3, 1, 1, 0x1000, 0, 0), ALLOW),  # fstat
        (262, (3, 1, 1, 0, 0, 0), REFUSE),  # stat by name
        (302, (0, 9, 0, 1, 0, 0), ALLOW),  # a look at a limit
        (302, (0, 9, 1, 0, 0, 0), REFUSE),  # a new limit
        (302, (0, 9, 1 << 32, 0, 0, 0), REFUSE),  # the upper half of the pointer counts
        (0x40000000 + 1, (0,) * 6, REFUSE),  # x32
        (0, (0,) * 6, ALLOW),
    ],
)
def test_the_filter_looks_at_arguments(number, arguments, expected):
    assert answer(jail.job_filter("x86_64"), 0xC000003E, number, arguments) == expected


def test_calls_of_another_architecture_end_the_process():
    assert answer(jail.job_filter("x86_64"), 0x40000003, 5) == KILL


def test_a_machine_whose_numbers_are_unknown_has_no_filter():
    assert jail.job_filter("riscv64") is None
