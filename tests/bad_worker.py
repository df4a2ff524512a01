"""A worker whose decoders misbehave."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

from eyespan.model import MIB
from eyespan.worker.client import JobLimits, Worker

ECHOED = ["some bytes", "", "second"]
"""The blobs of the task "echo" for the fixture `file`."""
DECODERS = Path(__file__).with_name("bad_decoders.py")
_TASKS = (
    *("echo", "crash", "abort", "leave", "loop", "sleep", "nap", "drip", "eat", "nibble", "flood", "deep"),
    *("refuse", "lacks", "odd", "lie", "environment", "attempts"),
)
_TABLE = {**{name: f"bad_decoders:{name}" for name in _TASKS}, "absent": "no_such_module:decode"}


def fork_server_pid(worker):
    """Return the process id of a worker's fork server, or None if it is not running."""
    process = worker._client.process
    return None if process is None else process.pid


def bad_worker(backend="auto", **limits):
    wanted = {"seconds": 30, "memory_bytes": 160 * MIB, "output_bytes": 16 * MIB, **limits}
    return Worker(JobLimits(**wanted), decoders=_TABLE, path=[str(DECODERS.parent)], backend=backend)


def echo(worker, fd):
    """Run the task "echo" and return its blobs."""
    facts, blobs = worker.run("echo", fd, {"word": "é"}, asked="data")
    assert facts["params"]["word"] == "é"
    return [blob.decode() for blob in blobs]


def script(body):
    """Run `body` in a new process that has a bad worker; return what it printed."""
    head = f"""
        import os, signal, sys, threading, time
        sys.path.insert(0, {str(DECODERS.parent)!r})
        from bad_worker import bad_worker, fork_server_pid
        worker = bad_worker()
        fd = os.open({str(DECODERS)!r}, os.O_RDONLY)
        def works(): return worker.run("echo", fd, {{}}, asked="")[1][2] == b"second"
    """
    code = textwrap.dedent(head) + textwrap.dedent(body)
    done = subprocess.run(
        [sys.executable, "-c", code], input=b"kept for the caller", capture_output=True, timeout=60, check=False
    )
    assert done.stderr == b""
    return done.stdout.decode()
