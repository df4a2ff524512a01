from __future__ import annotations

import os

import pytest

from tests.bad_worker import bad_worker


@pytest.fixture
def worker():
    """A worker whose decoders misbehave."""
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
