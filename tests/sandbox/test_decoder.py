from __future__ import annotations

import json
import os
import platform
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from eyespan import worker as shared
from eyespan.context import CallContext
from eyespan.errors import Cancelled
from eyespan.sandbox import decoder, landlock, seccomp
from tests.bad_worker import DECODERS, bad_worker, fork_server_pid

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
def test_the_kernel_confirms_the_layers_of_a_job(tmp_path):
    (tmp_path / "data").write_bytes(b"some bytes")
    worker, call = bad_worker(), CallContext()
    found = {}

    def look(*_):
        server = fork_server_pid(worker)
        children = Path(f"/proc/{server}/task/{server}/children").read_text().split() if server else []
        for child in children:
            lines = Path(f"/proc/{child}/status").read_text().splitlines()
            status = dict(line.split(":\t", 1) for line in lines)
            if status["Seccomp"] == "2":  # the last layer is up
                found.update(status)
                call.cancelled = True

    call.advance = lambda *_: (look(), call.check())
    try:
        with (tmp_path / "data").open("rb") as file, pytest.raises(Cancelled):
            worker.run("sleep", file.fileno(), {}, asked="data", context=call)
    finally:
        worker.stop()

    capabilities = {found[name] for name in ("CapInh", "CapPrm", "CapEff")}
    assert (capabilities, found["NoNewPrivs"]) == ({"0" * 16}, "1")


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


def test_a_machine_with_unknown_call_numbers_has_no_filter():
    assert decoder.job_filter("riscv64") is None
