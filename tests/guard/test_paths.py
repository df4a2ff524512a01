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
