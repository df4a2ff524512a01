from __future__ import annotations

import json
import os
import platform
import struct
import subprocess
import sys

import pytest

from bad_worker import DECODERS, bad_worker
from eyespan import worker as shared
from eyespan.sandbox import decoder, landlock, seccomp

linux = pytest.mark.skipif(sys.platform != "linux", reason="the layers are Linux system calls")
known_machine = pytest.mark.skipif(platform.machine() not in seccomp.ARCHITECTURES, reason="unknown call numbers")


@linux
def test_every_layer_of_this_kernel_is_up():
    layers = shared.layers()

    has_landlock = landlock.version() > 0
    assert layers == {
        "process": True,
        "limits": True,
        "no_new_privs": True,
        "capabilities": True,
        "landlock": has_landlock,
        "seccomp": platform.machine() in seccomp.ARCHITECTURES,
    }


@linux
@known_machine
@pytest.mark.parametrize("backend", ["fork_server", "no_fork"])
def test_a_decoder_can_reach_nothing_but_its_file(backend, tmp_path):
    (tmp_path / "data").write_bytes(b"some bytes")
    file = os.open(tmp_path / "data", os.O_RDONLY)
    worker = bad_worker(backend, seconds=10)
    try:
        params = {"pid": os.getpid(), "directory": str(tmp_path)}
        facts, _ = worker.run("attempts", file, params, asked="data")
    finally:
        worker.stop()
        os.close(file)

    assert facts["worked"] == []


@linux
def test_the_same_attempts_succeed_outside_the_sandbox(tmp_path):
    (tmp_path / "data").touch()
    code = (
        f"import json, os, sys; sys.path.insert(0, {str(DECODERS.parent)!r}); from bad_decoders import attempts\n"
        f"with open({str(tmp_path / 'data')!r}, 'rb') as file:\n"
        f"    params = {{'pid': os.getpid(), 'directory': {str(tmp_path)!r}, 'skip': ['exec', 'ptrace', 'unshare']}}\n"
        f"    print(json.dumps(attempts(file, params)[0]['worked']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, timeout=60)

    worked = json.loads(done.stdout)
    assert len(worked) == 18, worked


def steps(program):
    return [struct.unpack("HBBI", program[at : at + 8]) for at in range(0, len(program), 8)]


def answer(program, machine, number, arguments=(0,) * 6):
    """Return the result of the filter for a call, by interpreting its instructions."""
    data = struct.pack("iIQ6Q", number, machine, 0, *arguments)
    at, value_loaded = 0, 0
    code = steps(program)
    while True:
        kind, yes, no, value = code[at]
        at += 1
        if kind == 0x06:
            return value
        if kind == 0x20:
            value_loaded = struct.unpack("I", data[value : value + 4])[0]
            continue
        holds = {0x15: value_loaded == value, 0x35: value_loaded >= value, 0x45: bool(value_loaded & value)}[kind]
        at += yes if holds else no


ALLOW, REFUSE, ABSENT, KILL = 0x7FFF0000, 0x00050001, 0x00050026, 0x80000000


@pytest.mark.parametrize(("machine", "column"), [("x86_64", 0), ("aarch64", 1)])
def test_the_filter_refuses_exactly_the_calls_of_the_table(machine, column):
    program = decoder.job_filter(machine)
    architecture = seccomp.ARCHITECTURES[machine][1]
    numbers = set(seccomp.calls(decoder.REFUSED, machine))
    special = {pair[column] for pair, _, _ in decoder.REFUSED_UNLESS} | {
        pair[column] for pair in decoder.ABSENT.values()
    }

    refused = {n for n in range(600) if answer(program, architecture, n) == REFUSE}

    assert refused - special == numbers
    assert {n for n in range(600) if answer(program, architecture, n) == ABSENT} == {
        pair[column] for pair in decoder.ABSENT.values()
    }


NEVER_ALLOWED = {
    "x86_64": "2 4 6 21 41 42 49 57 58 59 62 76 82 83 85 86 87 88 89 90 92 101 133 157 160 161 165 166 200 234 257 259 "
    "263 264 265 266 267 268 269 272 298 304 308 310 311 317 319 321 322 323 425 428 430 437 438 439",
    "aarch64": "33 34 35 36 37 38 39 40 45 48 51 53 56 78 97 117 129 130 131 164 167 198 200 203 221 241 265 268 270 "
    "271 277 279 280 281 282 425 428 430 437 438 439",
}
"""From the kernel's own tables, independent of `seccomp`: calls that open, name, make, rename or remove files, connect,
start, trace or signal processes, mount, lift a limit or a filter."""


@pytest.mark.parametrize("machine", NEVER_ALLOWED)
def test_calls_that_no_job_may_make_are_refused(machine):
    program = decoder.job_filter(machine)
    architecture = seccomp.ARCHITECTURES[machine][1]

    numbers = [int(number) for number in NEVER_ALLOWED[machine].split()]

    assert [n for n in numbers if answer(program, architecture, n) != REFUSE] == []


@linux
def test_landlock_alone_refuses_files():
    """The filter refuses the same calls, so without this test a missing Landlock would go unnoticed."""
    code = (
        "import os\n"
        "from eyespan.sandbox.decoder import DecoderSandbox\n"
        "layers = DecoderSandbox(memory_bytes=1 << 40, seconds=60).apply_without_filter()\n"
        "try:\n"
        "    os.open('/', os.O_RDONLY)\n"
        "    result = 'opened'\n"
        "except OSError as error:\n"
        "    result = error.strerror\n"
        "print(layers['landlock'], result)"
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
        (302, (0, 9, 0, 1, 0, 0), ALLOW),  # reading a limit
        (302, (0, 9, 1, 0, 0, 0), REFUSE),  # setting a limit
        (302, (0, 9, 1 << 32, 0, 0, 0), REFUSE),  # the upper half of the pointer counts
        (0x40000000 + 1, (0,) * 6, REFUSE),  # x32
        (0, (0,) * 6, ALLOW),
    ],
)
def test_the_filter_checks_arguments(number, arguments, expected):
    assert answer(decoder.job_filter("x86_64"), 0xC000003E, number, arguments) == expected


def test_calls_of_another_architecture_kill_the_process():
    assert answer(decoder.job_filter("x86_64"), 0x40000003, 5) == KILL


def test_a_machine_with_unknown_call_numbers_has_no_filter():
    assert decoder.job_filter("riscv64") is None
