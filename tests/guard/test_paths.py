from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from eyespan.errors import InvalidPath
from eyespan.guard import paths

from .guard_calls import ask


def test_a_long_name_that_is_not_unicode_is_reported_as_that(make_guard, tmp_path):
    error = ask(make_guard(tmp_path), "\ud800" * 2000)

    assert isinstance(error, InvalidPath)
    assert "not valid Unicode" in str(error)


@given(st.lists(st.sampled_from(["tmp", "root", "a", ".", "..", ""]), max_size=8).map("/".join))
def test_the_fast_path_to_a_root_agrees_with_the_general_one(path):
    class Root:
        path = "/tmp/root"
        prefix = "/tmp/root/"
        spellings = (("tmp", "root"), ("tmp",))

    root = Root()
    found = paths.beneath(f"/{path}", [root])
    if found is not None:
        assert paths.locate(f"/{path}", [root]) == found


NAMES = st.lists(st.sampled_from(["a", "b", ".", "..", "", ".a"]), max_size=6)


@given(st.lists(st.lists(st.sampled_from(["a", "b", ".a"]), max_size=3), min_size=1, max_size=5), NAMES)
def test_the_deepest_of_many_roots_contains_a_path(places, names):
    class Root:
        def __init__(self, spelling):
            self.spellings = (tuple(spelling),)

    def parts(path):
        return [name for name in path.split("/") if name not in ("", ".")]

    path = f"/{'/'.join(names)}"
    above = [place for place in places if parts(path)[: len(place)] == place]
    found = paths.beneath(path, [Root(place) for place in places])

    if found is None:
        assert above == []
    else:
        spelling = list(found[0].spellings[0])
        assert spelling == max(above, key=len)
        assert [*spelling, *parts(found[1])] == parts(path)
        assert not found[1].startswith("/")
