"""Runs commands in process."""

from __future__ import annotations

import sys

import pytest

from eyespan.cli.main import main


@pytest.fixture
def directory(tmp_path, monkeypatch):
    """Return the current directory, with two text files."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "poem.txt").write_text("one\ntwo\nthree\nfour\n")
    (tmp_path / "open.txt").write_text("alpha\nomega")
    return tmp_path


@pytest.fixture
def eyespan(capfdbinary):
    """Return a function that runs a command and returns its exit status, standard output and standard error."""

    def run(*argv):
        code = main(list(argv))
        sys.stdout.flush()
        out, err = capfdbinary.readouterr()
        return code, out.decode(), err.decode()

    return run
