from __future__ import annotations

import pytest

from eyespan.guard import Guard, Root
from eyespan.policy import Policy
from tests.backends import BACKENDS, STRONG

from .guard_calls import Watch


@pytest.fixture(params=BACKENDS)
def backend(request):
    return request.param


@pytest.fixture(params=STRONG)
def strong(request):
    """The backends that give the same answers, including every errno."""
    return request.param


@pytest.fixture
def make_guard():
    """Make guards; their roots are closed at the end."""
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
