from __future__ import annotations

import gzip
import sqlite3
import zipfile

import pytest

from eyespan.cli.main import main

LOG = "".join(f"line {n} of the log\n" for n in range(1, 6001))


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    here = tmp_path_factory.mktemp("terminal")
    (here / "app.log.gz").write_bytes(gzip.compress(LOG.encode()))
    with zipfile.ZipFile(here / "logs.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("app/today.log", LOG)
        archive.writestr("odd:1-2", "odd\n")
    made = sqlite3.connect(here / "app.sqlite")
    made.execute("create table users (id integer primary key, name text)")
    made.executemany("insert into users (name) values (?)", [(f"n{n}",) for n in range(300)])
    made.commit()
    made.close()
    (here / "small.csv").write_text("id,name\n1,x\n")
    (here / "me@home.txt").write_text("mail\n")
    (here / "a.py").write_text("new = 1\n")
    return here


@pytest.mark.parametrize(
    ("argument", "shown"),
    [
        ("app.log.gz:5000-5001", "  5000\tline 5000 of the log\n  5001\tline 5001 of the log\n"),
        ("logs.zip!/app/today.log:-1", "  6000\tline 6000 of the log\n"),
        ("logs.zip!/odd:1-2", "     1\todd\n"),
        ("small.csv", "     1\tid,name\n     2\t1,x\n"),
        ("me@home.txt", "     1\tmail\n"),
        ("a.py", "     1\tnew = 1\n"),
    ],
)
def test_lines_are_printed_with_numbers(argument, shown, directory, capfdbinary):
    assert main(["read", argument, "--root", str(directory)]) == 0
    assert capfdbinary.readouterr().out.decode() == shown


def test_documents_are_printed_as_notes(directory, capfdbinary):
    for argument, words in (
        ("logs.zip", "zip archive, 2 members"),
        ("app.sqlite:users", "rows 1-300 of 300"),
    ):
        assert main(["read", argument, "--root", str(directory)]) == 0
        assert words in capfdbinary.readouterr().out.decode()


def test_a_missing_part_is_an_error(directory, capfdbinary):
    for argument, words in (
        ("logs.zip!/nope:5-6", "no member 'nope'"),
        ("app.sqlite:nobody", "no table 'nobody'"),
        ("nobody@home.txt", "no such file"),
        ("a.py:f", "no symbol f"),
    ):
        assert main(["read", argument, "--root", str(directory)]) == 1
        assert words in capfdbinary.readouterr().err.decode()
