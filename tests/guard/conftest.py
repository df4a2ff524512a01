from __future__ import annotations

import pytest
from guard_calls import Watch

from eyespan.guard import Guard, Root
from eyespan.policy import Policy


@pytest.fixture(params=["openat2", "openat2-by-ctypes", "walk", "walk-by-name", "portable"])
def backend(request):
    return request.param


@pytest.fixture(params=["openat2", "openat2-by-ctypes", "walk", "walk-by-name"])
def strong(request):
    """The backends whose answers are the same to the last errno."""
    return request.param


@pytest.fixture
def make_guard():
    """Guards over roots that are let go of at the end."""
    made: list[Root] = []

    def make(*roots, backend="auto", policy=None):
        opened = [Root(root) for root in roots]
        made.extend(opened)
        return Guard(opened, policy or Policy(), backend)

    yield make
    for root in made:
        root.close()


@pytest.fixture
def watch():
    made: list[Watch] = []

    def start(path):
        made.append(Watch(path))
        return made[-1]

    yield start
    for one in made:
        one.close()
