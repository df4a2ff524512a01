from __future__ import annotations

import errno
import os
import re
from pathlib import Path

import pytest

from eyespan import errors
from eyespan.errors import short_of, shortage


def drawn_tree():
    """Return the tree of the module docstring as pairs of class name and base class name."""
    pairs, above = [], ["Exception"]
    for line in errors.__doc__.splitlines():
        if drawn := re.match(r"    ((?:│   |    )*(?:[├└]── )?)([A-Z]\w+)(?:\s|$)", line):
            depth = len(drawn[1]) // 4
            above[depth + 1 :] = [drawn[2]]
            pairs.append((drawn[2], above[depth]))
    return pairs


def test_the_docstring_draws_every_error_below_its_base_class():
    classes = [one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, Exception)]

    assert sorted(drawn_tree()) == sorted((one.__name__, one.__base__.__name__) for one in classes)


def test_every_read_error_is_defined_in_this_module():
    names = {name for name, base in drawn_tree() if base != "Exception" or name == "ReadError"}
    elsewhere = [
        f"{path.name}: {name}"
        for path in Path(errors.__file__).parent.rglob("*.py")
        for name, bases in re.findall(r"^ *class (\w+)\(([^)]*)\)", path.read_text("utf-8"), re.MULTILINE)
        if path.name != "errors.py" and not names.isdisjoint(re.findall(r"\w+", bases))
    ]

    assert elsewhere == []


def test_an_error_carries_its_fields_and_a_reason_in_words():
    past = errors.PastEnd("a.pdf", part="page", wanted="9", document="the PDF", total=1)
    no_part = errors.NoSuchPart("a.pdf", document="a PDF", part="cells")
    no_symbol = errors.NoSymbol("a.py", symbol="f", suggestions=("a.py::g",))

    assert (past.code, past.wanted, past.total, str(past)) == ("past_end", "9", 1, "no page 9: the PDF has 1 page")
    assert (no_part.code, no_part.part, str(no_part)) == ("no_such_part", "cells", "a PDF has no cells")
    assert (no_symbol.code, no_symbol.suggestions, str(no_symbol)) == ("no_symbol", ("a.py::g",), "no symbol f")


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
    ids=["errno", "text", "errno of the cause", "text of the cause"],
)
def test_a_shortage_is_recognised_by_errno_or_by_text(made, number):
    assert shortage(made(number)) == number


def test_a_memory_error_is_a_shortage():
    assert shortage(MemoryError()) == errno.ENOMEM


@pytest.mark.parametrize("error", [SyntaxError("no names of characters"), ImportError("cannot import name 'x'")])
def test_an_import_that_fails_without_a_reason_is_a_shortage_if_no_descriptor_is_free(error, monkeypatch):
    assert shortage(error) == 0

    def none_left():
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(os, "pipe", none_left)

    assert shortage(error) == errno.EMFILE


@pytest.mark.parametrize("error", [OSError(errno.EIO, ""), ImportError("No module named 'x'"), KeyError("x")])
def test_other_errors_are_not_a_shortage(error):
    assert shortage(error) == 0
    assert short_of(error, "a.txt") is None


def test_a_shortage_is_reported_as_a_failed_system_call():
    failure = short_of(OSError(errno.EMFILE, ""), "a.txt")

    assert (failure.code, failure.path, str(failure)) == ("io", "a.txt", os.strerror(errno.EMFILE))
