"""What is inside other files, by the native tool and by `eyespan read`: archives, compressed logs, tables, the past."""

from __future__ import annotations

import gzip
import os
import shutil
import sqlite3
import subprocess
import zipfile

import duckdb
import pytest

from eyespan import Workspace
from eyespan.cli.main import main

LOG = "".join(f"line {n} of the log\n" for n in range(1, 6001))
CODE = "def f():\n    return 1\n\n\nclass A:\n    def m(self):\n        pass\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    here = tmp_path_factory.mktemp("inside")
    (here / "app.log").write_text(LOG)
    (here / "app.log.gz").write_bytes(gzip.compress(LOG.encode()))
    with zipfile.ZipFile(here / "logs.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("app/today.log", LOG)
        archive.writestr("a.py", CODE)
        archive.writestr("odd:1-2", "odd\n")
    made = sqlite3.connect(here / "app.sqlite")
    made.execute("create table users (id integer primary key, name text)")
    made.executemany("insert into users (name) values (?)", [(f"n{n}",) for n in range(300)])
    made.commit()
    made.close()
    duckdb.sql(f"copy (select i, 2 * i as j from range(1000) t(i)) to '{here}/data.parquet' (format parquet)")
    (here / "big.csv").write_text("id,name\n" + "".join(f"{n},n{n}\n" for n in range(2000)))
    (here / "small.csv").write_text("id,name\n1,x\n")
    (here / "me@home.txt").write_text("mail\n")
    (here / "a.py").write_text("old = 1\n")
    if shutil.which("git"):
        names = {f"GIT_{who}_{what}": "a" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        for words in (["init", "-q"], ["add", "a.py"], ["commit", "-q", "-m", "one"]):
            subprocess.run(["git", *words], cwd=here, env={**os.environ, **names}, check=True)
    (here / "a.py").write_text("new = 1\n")
    return here


def call(folder, *files, **more):
    return Workspace(folder).tool("native").call({"files": list(files), **more})


def body(reply):
    """The text of an answer about one file, without its heading."""
    return reply.text.split("\n", 1)[1]


@pytest.mark.parametrize("selector", ["5000-5002", "-3", "1", "2-9", "120:3", "1:4-3"])
@pytest.mark.parametrize("path", ["app.log.gz", "logs.zip!/app/today.log"])
def test_the_same_lines_as_of_the_plain_file(path, selector, folder):
    plain = call(folder, f"app.log:{selector}", budget=500)
    inside = call(folder, f"{path}:{selector}", budget=500)

    assert not inside.is_error
    assert body(inside).replace(path, "app.log") == body(plain)


def test_following_what_was_left_out_reads_every_line_once(folder):
    left, lines = "logs.zip!/app/today.log", []
    while left:
        reply = call(folder, left, budget=4000)
        assert not reply.is_error
        lines += [line.partition("\t")[2] for line in reply.text.split("\n") if "\tline " in line]
        left = reply.structured["parts"][0]["next"]

    assert lines == LOG.split("\n")[:-1]


def test_a_symbol_of_a_member(folder):
    assert body(call(folder, "logs.zip!/a.py::A.m")) == "6\t    def m(self):\n\t        pass"


def test_a_member_whose_name_looks_like_a_selector(folder):
    assert body(call(folder, "logs.zip!/odd:1-2")) == "1\todd"


def test_what_an_archive_holds(folder):
    assert "app/today.log" in call(folder, "logs.zip").text
    assert "a.py" not in call(folder, "logs.zip!/app").text


def test_a_missing_member(folder):
    reply = call(folder, "logs.zip!/today.log:5-6")

    assert reply.is_error
    assert "no member 'today.log'; there is 'app/today.log'" in reply.text


def test_tables(folder):
    assert "## table users, 300 rows" in call(folder, "app.sqlite").text
    assert "| 40 | n39 |" in call(folder, "app.sqlite:users", budget=2000).text
    assert "no table 'nobody'; there is 'users'" in call(folder, "app.sqlite:nobody").text
    assert "Parquet, 2 columns, 1000 rows" in call(folder, "data.parquet").text


def test_a_csv_file_is_described_and_by_lines_it_is_a_text(folder):
    described = call(folder, "big.csv")
    assert "CSV, 2 columns, 2000 rows" in described.text
    assert described.text.startswith("big.csv:table:1-")
    assert call(folder, "big.csv:table").text == described.text
    assert body(call(folder, "big.csv:100-101")) == "100\t98,n98\n\t99,n99"
    assert body(call(folder, "small.csv")) == "1\tid,name\n\t1,x"


def test_a_description_that_does_not_fit_is_gone_on_with(folder):
    for path in ("big.csv", "app.sqlite:users"):
        left, seen = path, ""
        while left:
            reply = call(folder, left, budget=100)
            assert not reply.is_error
            seen += reply.text.split("left out")[0].split("\n", 1)[1]
            left = reply.structured["parts"][0]["next"]
        assert "| 9 | n" in seen


@pytest.mark.skipif(shutil.which("git") is None, reason="repositories are made with git")
def test_the_past(folder):
    assert body(call(folder, "a.py@HEAD")) == "1\told = 1"
    assert body(call(folder, "a.py@HEAD:1")) == "1\told = 1"
    assert body(call(folder, "a.py")) == "1\tnew = 1"
    assert "no revision 'nope'" in call(folder, "a.py@nope").text


def test_a_name_with_an_at_is_a_name(folder):
    assert body(call(folder, "me@home.txt")) == "1\tmail"
    assert "no such file; near: me@home.txt" in call(folder, "me@hom.txt").text


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
def test_eyespan_read(argument, shown, folder, capfdbinary):
    assert main(["read", argument, "--root", str(folder)]) == 0
    assert capfdbinary.readouterr().out.decode() == shown


def test_eyespan_read_of_documents(folder, capfdbinary):
    for argument, words in (
        ("logs.zip", "zip archive, 3 members"),
        ("app.sqlite:users", "rows 1-300 of 300"),
        ("data.parquet", "Parquet, 2 columns"),
    ):
        assert main(["read", argument, "--root", str(folder)]) == 0
        assert words in capfdbinary.readouterr().out.decode()


def test_eyespan_read_tells_what_is_missing(folder, capfdbinary):
    for argument, words in (
        ("logs.zip!/nope:5-6", "no member 'nope'"),
        ("app.sqlite:nobody", "no table 'nobody'"),
        ("nobody@home.txt", "no such file"),
        ("a.py:f", "no symbol f"),
    ):
        assert main(["read", argument, "--root", str(folder)]) == 1
        assert words in capfdbinary.readouterr().err.decode()
