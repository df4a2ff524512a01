"""Records: frozen values that are created, compared, copied, changed and pickled like frozen dataclasses."""

from __future__ import annotations

import copy
import inspect
import pickle
import sys

import pytest

import eyespan
from eyespan.model import CharRange, Reply, ReplyError, TextContent
from eyespan.record import FEW, make_constructors, public_record, record, replace


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """Start each test as a process does; a tool of an earlier test makes constructors at once."""
    monkeypatch.setattr("eyespan.record._few", FEW)


def make(decorator=record):
    @decorator
    class Point:
        """A place with a name."""

        x: int
        y: int = 2
        name: str = "p"

        def shifted(self):
            return replace(self, x=self.x + 1)

    return Point


def make_wide(count):
    names = [f"n{place}" for place in range(count)]
    return record(type("Wide", (), {"__annotations__": dict.fromkeys(names, "int"), names[-1]: 7}))


@pytest.mark.parametrize("before", [0, FEW, FEW + 3])
@pytest.mark.parametrize("decorator", [record, public_record])
def test_arguments_mean_the_same_however_many_objects_exist(decorator, before):
    point = make(decorator)
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
def test_invalid_arguments_raise_what_any_function_raises(before, values, named):
    point = make()
    for n in range(before):
        point(n)

    with pytest.raises(TypeError, match=r"Point\.__init__\(\)"):
        point(*values, **named)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 12])
def test_a_record_has_any_number_of_fields(count):
    wide = make_wide(count)
    values = list(range(count - 1))

    for _ in range(FEW + 3):
        made = wide(*values)
        assert [getattr(made, name) for name in wide.__slots__] == [*values, 7]


def test_constructors_are_made_when_many_objects_are_expected():
    point, other = make(), make()
    before = point(1)

    make_constructors(point, point)

    assert list(inspect.signature(point).parameters) == ["x", "y", "name"]
    assert point(1) == before
    assert [other(1), other(1)] == [other(1, 2, "p")] * 2
    assert list(inspect.signature(other).parameters) == ["x", "y", "name"]


def test_every_field_is_a_slot():
    one = make()(5, name="q")

    assert (one.x, one.y, one.name) == (5, 2, "q")
    assert not hasattr(one, "__dict__")


@pytest.mark.parametrize("before", [0, FEW + 3])
def test_no_field_can_be_set_or_deleted(before):
    point = make()
    one = [point(n) for n in range(before + 1)][-1]

    with pytest.raises(AttributeError, match="cannot assign to field 'x' of a frozen Point"):
        one.x = 3
    with pytest.raises(AttributeError, match="cannot assign to field 'other'"):
        one.other = 3
    with pytest.raises(AttributeError, match="cannot delete field 'x'"):
        del one.x
    assert one == point(before)
    assert type(one) is point


def test_a_record_cannot_be_subclassed():
    with pytest.raises(TypeError, match="Point is a record and cannot be subclassed"):
        type("Sub", (make(),), {})


def test_a_default_before_a_field_without_one_is_refused():
    class Wrong:
        x: int = 1
        y: int

    with pytest.raises(TypeError, match="Wrong"):
        record(Wrong)


# --- changed copies ------------------------------------------------------------------------------------------------


def test_replace_returns_a_changed_copy():
    one = make()(1)

    assert replace(one, y=5) == type(one)(1, 5)
    assert one == type(one)(1)
    assert one.shifted() == type(one)(2)
    with pytest.raises(TypeError, match="z"):
        replace(one, z=1)


@pytest.mark.skipif(sys.version_info < (3, 13), reason="copy.replace is new in Python 3.13")
def test_copy_replace_knows_records():
    assert copy.replace(make()(1), y=5).y == 5


def test_copies_are_equal_and_share_what_a_copy_shares():
    reply = Reply((TextContent("a"),), {"lines": [1]})

    shallow, deep = copy.copy(reply), copy.deepcopy(reply)

    assert shallow == deep == reply
    assert shallow.structured is reply.structured
    assert deep.structured["lines"] is not reply.structured["lines"]


# --- pickles -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickled_record_is_equal(protocol):
    for value in (Reply((TextContent("a"),), {"a": 1}, ReplyError("C", "m"), ("note",)), CharRange(2, 3)):
        assert pickle.loads(pickle.dumps(value, protocol)) == value


# --- signatures ----------------------------------------------------------------------------------------------------


def test_public_types_have_their_signature_from_the_start():
    assert str(inspect.signature(make(public_record))) == "(x: 'int', y: 'int' = 2, name: 'str' = 'p') -> None"


def test_every_public_record_is_declared_public():
    public = [getattr(eyespan, name) for name in eyespan.__all__]
    for cls in public:
        if isinstance(cls, type) and hasattr(cls, "__replace__"):
            assert list(inspect.signature(cls).parameters) == list(cls.__slots__), cls


def test_a_constructor_reports_its_class():
    point = make(public_record)

    assert point.__init__.__qualname__ == f"{point.__qualname__}.__init__"
    assert point.__init__.__module__ == __name__
    assert point.__doc__ == "A place with a name."


def test_positional_patterns_match_fields():
    match CharRange(4):
        case CharRange(first, column, None):
            found = (first, column)

    assert found == (4, 1)
