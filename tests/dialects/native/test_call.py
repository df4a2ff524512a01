from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import tracemalloc
import zipfile

import pytest

from eyespan import Workspace
from eyespan.dialects.native.call import share
from eyespan.errors import ReadError
from eyespan.model import ReadRequest

from .answers import line_numbers, shown

LITTLE_BYTES = 4 << 20
"""Less memory than a block for each of many lines takes."""


def test_a_symbol_comes_with_its_decorators_and_the_comment_above(call):
    reply = call("src/lib.py::Harbour.berths")

    assert shown(reply.text)[0] == (8, 1, "    # Where ships lie.")
    assert reply.text.startswith("> src/lib.py::Harbour.berths 8-12/19 #")


def test_the_symbol_around_a_line_is_shown(call):
    assert call("src/lib.py:15::").text == call("src/lib.py::Harbour.enter").text
    assert call("src/lib.py:10:5::").text == call("src/lib.py::Harbour.berths").text
    assert call("src/lib.py:12-14::").text == call("src/lib.py::Harbour").text


def test_symbols_around_several_lines_are_shown_once_each(call):
    reply = call("src/lib.py:15,14,19::")

    assert line_numbers(reply) == [14, 15, 18, 19]
    assert "note: in ::Harbour.enter (14-15), ::close (18-19)" in reply.text


def test_a_line_outside_every_symbol_is_shown_with_the_lines_nearby(call):
    reply = call("src/lib.py:2::")

    assert line_numbers(reply) == list(range(1, 8))
    assert "note: no symbol around line 2" in reply.text


def test_a_file_whose_name_looks_like_a_selector_still_opens(root, call):
    (root / "a.py:2-3").write_text("the odd one\n")
    (root / "x@v1").write_text("at\n")

    assert shown(call("a.py:2-3").text) == [(1, 1, "the odd one")]
    assert shown(call("a.py:2-3:1").text) == [(1, 1, "the odd one")]
    assert line_numbers(call([{"path": "a.py", "lines": "2-3"}])) == [2, 3]
    assert shown(call("x@v1").text) == [(1, 1, "at")]


def test_names_that_begin_like_an_address_are_names(root, call):
    (root / "data").write_text("1\n2\n3\n")

    assert line_numbers(call("data:2-3")) == [2, 3]


def test_a_selector_longer_than_any_name_is_understood(call):
    ranges = ",".join(f"{n}-{n + 1}" for n in range(1, 30, 3))

    assert line_numbers(call(f"a.py:{ranges},{ranges},{ranges},{ranges},{ranges},{ranges}")) == [
        n for n in range(1, 31) if n % 3
    ]
    assert "no such file" in call("n" * 300).text or "too long" in call("n" * 300).text


# --- many files ----------------------------------------------------------------------------------------------------


def test_many_lines_of_one_file_are_shown(root, call_within):
    (root / "long.txt").write_text("".join([f"line {n}\n" for n in range(1, 10_001)]))

    reply = call_within(LITTLE_BYTES, "long.txt:" + ",".join([str(n) for n in range(10, 10_001, 20)]), budget=20_000)

    assert line_numbers(reply) == list(range(10, 10_001, 20))


def test_many_lines_of_a_notebook_are_shown(root, call_within):
    source = "".join([f"line {n}\n" for n in range(1, 5001)])
    cell = {"cell_type": "code", "source": source, "metadata": {}, "outputs": [], "execution_count": 1}
    (root / "a.ipynb").write_text(json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell]}))

    reply = call_within(LITTLE_BYTES, "a.ipynb:c1:" + ",".join([str(n) for n in range(10, 5001, 50)]), budget=20_000)

    assert not reply.is_error
    assert reply.text.count("\tline ") == 100


def test_many_long_files_share_the_memory_of_a_call(root, call_within):
    for number in range(30):
        (root / f"{number}.txt").write_text(f"words in file {number}\n" * 5000)

    reply = call_within(LITTLE_BYTES, [f"{number}.txt" for number in range(30)], budget=5000)

    assert len(reply.structured["parts"]) == 30
    assert not [part for part in reply.structured["parts"] if "error" in part]


def test_what_short_files_leave_of_the_budget_goes_to_a_long_one(root, call):
    (root / "long.txt").write_text("".join([f"line {n}\n" for n in range(1, 10_001)]))
    names = [f"{number}.txt" for number in range(20)]
    for name in names:
        (root / name).write_text("short\n")

    reply = call([*names, "long.txt"], budget=5000)

    assert reply.structured["tokens"] > 0.9 * 5000


def test_a_file_that_takes_too_much_memory_leaves_the_others_readable(root, call_within):
    (root / "wide.txt").write_text("\U0001f600" * 400_000)

    reply = call_within(LITTLE_BYTES, ["wide.txt", "a.py:1-2", "wide.txt:1", "src/lib.py"], budget=100_000)

    assert "wide.txt: reading it takes more than 4 MiB" in reply.text
    assert ["error" in part for part in reply.structured["parts"]] == [True, False, False]


def test_each_part_has_its_own_answer_or_error(root, call):
    reply = call(["a.py:1-2", "none.py", "src/lib.py:1", "a.py:2-3"])

    assert not reply.is_error
    assert [part.get("selector") or part["error"]["code"] for part in reply.structured["parts"]] == [
        "a.py:1-3",
        "not_found",
        "src/lib.py:1",
    ]
    assert "none.py: no such file" in reply.text


def test_when_nothing_can_be_read_the_answer_is_an_error(call):
    reply = call(["none.py", "neither.py"])

    assert reply.error.code == "not_found"
    assert "none.py: no such file" in reply.text
    assert "neither.py: no such file" in reply.text


def test_the_same_file_under_two_names_is_one_part(root, call):
    (root / "link.py").symlink_to("a.py")

    reply = call(["a.py:1-2", "link.py:3-4"])

    assert [part["selector"] for part in reply.structured["parts"]] == ["a.py:1-4"]


def test_several_files_share_one_budget_and_small_ones_are_shown_whole(tmp_path):
    (tmp_path / "small.txt").write_text("one\ntwo\n")
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("".join(f"{name} line {n}\n" for n in range(1, 2000)))
    with Workspace(tmp_path) as workspace:
        reply = workspace.tool("native").call({"files": ["a.txt", "small.txt", "b.txt"], "budget": 1000})

    a, small, b = reply.structured["parts"]
    assert small["next"] is None
    assert (small["selector"], small["total_lines"]) == ("small.txt:1-2", 2)
    assert 0.8 < a["tokens"] / b["tokens"] < 1.25
    assert reply.structured["left_out"] == [a["next"], b["next"]]
    assert 800 < reply.structured["tokens"] <= 1000


def test_files_over_the_budget_are_named(tmp_path):
    names = [f"file{n}.txt" for n in range(20)]
    for name in names:
        (tmp_path / name).write_text("some words on a line\n" * 100)
    with Workspace(tmp_path) as workspace:
        tool = workspace.tool("native")
        reply = tool.call({"files": names, "budget": 300})
        left = reply.structured["left_out"]

    assert left[-1] == "file19.txt"
    assert {name.partition(":")[0] for name in left} == set(names)
    assert reply.text.endswith("\n ".join(["left out, over the budget of 300:", *left]))


@pytest.mark.parametrize(
    ("needs", "budget", "shares"),
    [
        ([100, 100], 152, [70, 70]),
        ([10, 300], 212, [10, 190]),
        ([300, 300, 300], 132, [118, 0, 0]),
        ([1000], 112, [100]),
    ],
)
def test_an_item_gets_what_it_needs_or_an_equal_share(needs, budget, shares):
    assert share(needs, budget, [1] * len(needs)) == shares


# --- nested files and revisions --------------------------------------------------------------------------------------


LOG = "".join(f"line {n} of the log\n" for n in range(1, 6001))
CODE = "def f():\n    return 1\n\n\nclass A:\n    def m(self):\n        pass\n"


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    here = tmp_path_factory.mktemp("nested")
    (here / "app.log").write_text(LOG)
    (here / "app.log.gz").write_bytes(gzip.compress(LOG.encode()))
    with zipfile.ZipFile(here / "logs.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("app/today.log", LOG)
        archive.writestr("a.py", CODE)
        archive.writestr("odd:1-2", "odd\n")
    (here / "me@home.txt").write_text("mail\n")
    (here / "a.py").write_text("old = 1\n")
    if shutil.which("git"):
        names = {f"GIT_{who}_{what}": "a" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        for words in (["init", "-q"], ["add", "a.py"], ["commit", "-q", "-m", "one"]):
            subprocess.run(["git", *words], cwd=here, env={**os.environ, **names}, check=True)
    (here / "a.py").write_text("new = 1\n")
    return here


def nested(directory, *files, **more):
    return Workspace(directory).tool("native").call({"files": list(files), **more})


def body(reply):
    """Return the text of an answer about one file, without its header."""
    return reply.text.split("\n", 1)[1]


@pytest.mark.parametrize("selector", ["5000-5002", "-3", "1", "2-9", "120:3", "1:4-3"])
@pytest.mark.parametrize("path", ["app.log.gz", "logs.zip!/app/today.log"])
def test_a_nested_file_has_the_lines_of_the_plain_file(path, selector, directory):
    plain = nested(directory, f"app.log:{selector}", budget=500)
    inside = nested(directory, f"{path}:{selector}", budget=500)

    assert not inside.is_error
    assert body(inside).replace(path, "app.log") == body(plain)


def test_following_what_was_left_out_reads_every_line_once(directory):
    left, lines = "logs.zip!/app/today.log", []
    while left:
        reply = nested(directory, left, budget=4000)
        assert not reply.is_error
        lines += [line.partition("\t")[2] for line in reply.text.split("\n") if "\tline " in line]
        left = reply.structured["parts"][0]["next"]

    assert sorted(lines) == sorted(LOG.split("\n")[:-1])


def test_a_symbol_of_a_member(directory):
    assert body(nested(directory, "logs.zip!/a.py::A.m")) == "6\t    def m(self):\n7\t        pass"


def test_a_member_whose_name_looks_like_a_selector(directory):
    assert body(nested(directory, "logs.zip!/odd:1-2")) == "1\todd"


def test_an_archive_is_answered_with_its_members(directory):
    assert "app/today.log" in nested(directory, "logs.zip").text
    assert "a.py" not in nested(directory, "logs.zip!/app").text


def test_a_missing_member_is_answered_with_similar_ones(directory):
    reply = nested(directory, "logs.zip!/today.log:5-6")

    assert reply.is_error
    assert "no member 'today.log'; there is 'app/today.log'" in reply.text


@pytest.mark.skipif(shutil.which("git") is None, reason="repositories are made with git")
def test_a_revision_is_read(directory):
    assert body(nested(directory, "a.py@HEAD")) == "1\told = 1"
    assert body(nested(directory, "a.py@HEAD:1")) == "1\told = 1"
    assert body(nested(directory, "a.py")) == "1\tnew = 1"
    assert "no revision 'nope'" in nested(directory, "a.py@nope").text


def test_a_name_with_an_at_is_a_name(directory):
    assert body(nested(directory, "me@home.txt")) == "1\tmail"
    assert "no such file; near: me@home.txt" in nested(directory, "me@hom.txt").text


def test_a_failed_reading_holds_no_memory_while_others_are_tried(root):
    with zipfile.ZipFile(root / "many.zip", "w") as archive:
        for number in range(8000):
            archive.writestr(f"{number}", b"")

    def peak_of(act):
        peaks = []
        for _ in range(3):  # threads of other tests may take memory meanwhile
            tracemalloc.start()
            try:
                act()
                peaks.append(tracemalloc.get_traced_memory()[1])
            finally:
                tracemalloc.stop()
        return min(peaks)

    with Workspace(root) as workspace:
        tool = workspace.tool("native")
        assert tool.call({"files": "many.zip!/x"}).error.code == "no_member"

        def open_alone():
            with pytest.raises(ReadError):
                workspace.engine.open(ReadRequest("many.zip", member="x"))

        one, several = peak_of(open_alone), peak_of(lambda: tool.call({"files": "many.zip!/x"}))
        assert several < 1.2 * one, (one, several)
