import os
from pathlib import Path

import pytest

from eyespan.model import MIB
from eyespan.worker.client import JobLimits, Worker

BAD = Path(__file__).with_name("bad_decoders.py")
TASKS = (
    *(
        "echo",
        "crash",
        "abort",
        "leave",
        "loop",
        "sleep",
        "nap",
        "drip",
        "eat",
        "flood",
        "deep",
        "refuse",
        "lacks",
        "odd",
    ),
    *("lie", "environment", "attempts"),
)
TABLE = {**{name: f"bad_decoders:{name}" for name in TASKS}, "absent": "no_such_module:decode"}


def bad_worker(backend="auto", **limits):
    """A worker whose tasks are the decoders that misbehave."""
    wanted = {"seconds": 30, "output_bytes": 32 * MIB, **limits}
    return Worker(JobLimits(**wanted), decoders=TABLE, path=[str(BAD.parent)], backend=backend)


@pytest.fixture
def worker():
    made = bad_worker()
    yield made
    made.stop()


@pytest.fixture
def file(tmp_path):
    """A descriptor of a small file."""
    path = tmp_path / "data"
    path.write_bytes(b"some bytes")
    fd = os.open(path, os.O_RDONLY)
    yield fd
    os.close(fd)
