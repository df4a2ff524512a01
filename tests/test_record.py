"""Records: the first few are made another way than those that follow, and nobody can tell."""

from __future__ import annotations

import pytest

from eyespan.record import FEW, record


def made():
    @record
    class Point:
        x: int
        y: int = 2
        name: str = "p"

    return Point


@pytest.mark.parametrize("before", [0, FEW, FEW + 3])
def test_arguments_mean_the_same_however_many_were_made_before(before):
    point = made()
    for n in range(before):
        point(n)

    for one in (point(1), point(1, 2), point(x=1, y=2), point(1, name="p"), point(1, 2, "p")):
        assert one == point(1, 2, "p")
        assert repr(one) == "Point(x=1, y=2, name='p')"
        assert hash(one) == hash(point(1))
    assert point(1) != point(2)
    assert point(1) != (1, 2, "p")


@pytest.mark.parametrize("before", [0, FEW + 3])
@pytest.mark.parametrize(
    ("values", "named"), [((), {}), ((1, 2, "p", 4), {}), ((1,), {"z": 3}), ((1,), {"x": 1}), ((), {"y": 1})]
)
def test_wrong_arguments_are_told_as_of_any_function(before, values, named):
    point = made()
    for n in range(before):
        point(n)

    with pytest.raises(TypeError, match="__init__"):
        point(*values, **named)


def test_the_general_way_sets_every_slot_and_nothing_else():
    one = made()(5, name="q")

    assert (one.x, one.y, one.name) == (5, 2, "q")
    assert not hasattr(one, "__dict__")
