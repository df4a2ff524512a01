"""One small file: the answer in one step is that of the ordinary steps."""

from __future__ import annotations

import os
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyespan import Workspace, _native
from eyespan.dialects.native import Native
from tests.sizes import examples

needs_c = pytest.mark.skipif(_native.read_small is None, reason="the accelerator has no step for small files here")

PIECES = ["a", "    b = 1", "\t", "  ", "\n", "\n", "\r\n", "\r", "é", "語", "\u200b", "\x1b$B", "\x0c", "+AGE-", "~{"]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)
STARTS = st.sampled_from(
    ["", "# coding: utf-7\n", "charset=hz-gb-2312\n", "%PDF-1.4\n", "BZh9\n", "a,b\n1,2\n", "\ufeff"]
)
NAMES = st.sampled_from(
    ["a.py", "a.csv", "a.html", "d/a.txt", "a b.py", "a@b.py", 'a".py', "é.py", "a#1.py", "a.ipynb"]
)


def both(tool, arguments):
    """Return the answer of the tool, and that of the ordinary steps; the versions shown before do not matter."""
    quick = tool.call(arguments)
    with mock.patch.object(Native, "answer_small", return_value=None):
        return quick, tool.call(arguments)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    directory = tmp_path_factory.mktemp("small")
    (directory / "d").mkdir()
    with Workspace(directory) as workspace:
        yield directory, workspace


@settings(deadline=None, max_examples=examples(200))
@given(
    NAMES, STARTS, TEXTS, st.sampled_from([{}, {"numbers": 1}, {"numbers": 0}, {"budget": 50}, {"separator": "pipe"}])
)
def test_an_answer_in_one_step_is_that_of_the_ordinary_steps(place, name, start, text, options):
    directory, workspace = place
    path = directory / name
    path.write_text(start + text, newline="")
    tool = workspace.tool("native", **options)

    for asked in (name, str(path), [name]):
        quick, ordinary = both(tool, {"files": asked})
        assert quick == ordinary
        assert quick.measures == ordinary.measures
    path.unlink()


@needs_c
def test_an_ordinary_file_is_answered_in_one_step(place):
    directory, workspace = place
    (directory / "b.py").write_text("def f():\n    return 1\n")

    with mock.patch.object(Native, "run", side_effect=AssertionError):
        reply = workspace.tool("native").call({"files": ["b.py"]})

    assert reply.text.partition("\n")[2] == "1\tdef f():\n\t    return 1"


def test_other_links_of_a_file_are_noted(place):
    directory, workspace = place
    (directory / "c.py").write_text("x = 1\n")
    os.link(directory / "c.py", directory / "other.py")

    assert workspace.tool("native").call({"files": "c.py"}).text.endswith("\n>note: 2 hard links")


def test_a_version_that_was_shown_in_one_step_is_compared_later(place):
    directory, workspace = place
    tool = workspace.tool("native")
    (directory / "v.py").write_text("one\ntwo\n")
    value = tool.call({"files": "v.py"}).structured["parts"][0]["hash"]
    (directory / "v.py").write_text("one\n2\n")

    assert f"changed since #{value}: 2" in tool.call({"files": "v.py", "known": [value]}).text
