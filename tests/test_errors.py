from __future__ import annotations

import errno
import os

import pytest

from eyespan.errors import short_of, shortage


def caused(error, by):
    try:
        raise error from by
    except type(error) as raised:
        return raised


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.ENOMEM])
@pytest.mark.parametrize(
    "made",
    [
        lambda number: OSError(number, os.strerror(number)),
        lambda number: ImportError(f"libz.so.1: cannot open shared object file: {os.strerror(number)}"),
        lambda number: caused(ValueError("a hash that is not there"), OSError(number, "")),
        lambda number: caused(ImportError("no name"), ImportError(os.strerror(number))),
    ],
    ids=["by number", "in words", "the cause of another error", "in words, the cause"],
)
def test_a_shortage_is_known_by_number_or_in_words(made, number):
    assert shortage(made(number)) == number


def test_a_shortage_of_memory_is_one():
    assert shortage(MemoryError()) == errno.ENOMEM


@pytest.mark.parametrize("error", [SyntaxError("no names of characters"), ImportError("cannot import name 'x'")])
def test_an_import_that_gives_no_reason_is_judged_by_what_the_system_has_left(error, monkeypatch):
    assert shortage(error) == 0

    def none_left():
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(os, "pipe", none_left)

    assert shortage(error) == errno.EMFILE


@pytest.mark.parametrize("error", [OSError(errno.EIO, ""), ImportError("No module named 'x'"), KeyError("x")])
def test_any_other_error_is_none(error):
    assert shortage(error) == 0
    assert short_of(error, "a.txt") is None


def test_it_is_told_as_a_read_that_the_system_refused():
    failure = short_of(OSError(errno.EMFILE, ""), "a.txt")

    assert (failure.code, failure.path, str(failure)) == ("io", "a.txt", os.strerror(errno.EMFILE))
