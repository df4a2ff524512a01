from __future__ import annotations

import gc
import os

import hypothesis
import pytest

from tests.sizes import FUZZ, examples

os.environ.setdefault("EYESPAN_CACHE", "off")  # No test writes to the user's cache directory.
os.environ.setdefault("EYESPAN_TIMEOUT", "120")  # A busy machine is slow; no test waits for this deadline to pass.

# No deadline: nothing in the tests is timed, so that a busy machine cannot make them fail. The same examples each time,
# whatever ran before; `make fuzz` tries others.
hypothesis.settings.register_profile(
    "eyespan", deadline=None, max_examples=examples(100), derandomize=not FUZZ, database=None, print_blob=bool(FUZZ)
)
hypothesis.settings.load_profile("eyespan")


@pytest.fixture(scope="module", autouse=True)
def small_heap():
    """Leave the collected tests and what earlier ones keep out of garbage collection, which large reads start."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def unchanged_limits():
    """Fail a test that does not lift its limit of memory: a later one could start no threads, far from the cause."""
    try:
        import resource
    except ImportError:  # not on Windows
        yield
        return
    before = resource.getrlimit(resource.RLIMIT_AS)
    yield
    assert resource.getrlimit(resource.RLIMIT_AS) == before


@pytest.fixture
def full_device() -> str:
    """Return the path of a device to which every write fails because it is full."""
    path = "/dev/full"
    if not os.access(path, os.W_OK):
        pytest.skip(f"{path} is missing or belongs to another user")
    return path
