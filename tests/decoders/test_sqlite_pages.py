"""Large databases, read page by page: the rows that SQLite itself returns, and damage."""

from __future__ import annotations

import contextlib
import random
import sqlite3

import pytest

from eyespan.decoders import sqlite, sqlite_pages
from eyespan.errors import Unreadable

PARAMS = {"first": 1, "count": 10, "table": None, "windowed": False, "seconds": 10.0}


def database(path, encoding="UTF-8", page_bytes=512):
    connection = sqlite3.connect(path)
    connection.execute(f"pragma page_size = {page_bytes}")
    connection.execute(f"pragma encoding = '{encoding}'")
    connection.execute(
        'create table ships (id integer primary key, name text not null, "ton, s" real default (1+1), raw blob, '
        "loud text generated always as (upper(name)) virtual, check (id > 0))"
    )
    connection.execute("create table pairs (a, b, primary key (a, b)) without rowid")
    connection.execute("create view heavy as select * from ships")
    dice = random.Random(7)
    for number in range(1, 401):
        values = (number * 3, f"ship é {number} " * dice.randrange(1, 60), number / 3, bytes(dice.randrange(0, 900)))
        connection.execute("insert into ships values (?, ?, ?, ?)", values)
    connection.execute("insert into ships values (?, ?, ?, ?)", (1 << 40, "x", None, None))
    connection.commit()
    rows = connection.execute('select id, name, "ton, s", raw from ships order by id').fetchall()
    connection.close()
    return rows


@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16le", "UTF-16be"])
@pytest.mark.parametrize("page_bytes", [512, 4096])
def test_rows_are_those_of_sqlite(tmp_path, encoding, page_bytes):
    rows = database(tmp_path / "a.db", encoding, page_bytes)
    with (tmp_path / "a.db").open("rb") as file:
        found = sqlite_pages._Database(file)
        ships = next(table for table in found.tables() if table.name == "ships")
        whole = [tuple(row[:4]) for row in found.rows(ships, 1, 1000)]
        window = [tuple(row[:4]) for row in found.rows(ships, 300, 5)]

    assert whole == rows
    assert window == rows[299:304]


def test_a_large_database_is_described_like_a_small_one(tmp_path, monkeypatch):
    database(tmp_path / "a.db")
    monkeypatch.setattr(sqlite, "MAX_BYTES", 1000)
    with (tmp_path / "a.db").open("rb") as file:
        whole = sqlite.decode(file, PARAMS)[1][0].decode().split("\n\n")
        one = sqlite.decode(file, {**PARAMS, "table": "SHIPS", "first": 2, "count": 1})[1][0].decode()
        none = sqlite.decode(file, {**PARAMS, "table": "nope"})[0]

    assert whole[0] == "SQLite database, 2 tables, 1 view; rows of a database of this size are not counted"
    assert whole[1].split("\n")[:3] == [
        "## table ships",
        "columns: id INTEGER primary key, name TEXT, ton, s REAL, raw BLOB, loud TEXT".replace("INTEGER", "integer")
        .replace("TEXT", "text")
        .replace("REAL", "real")
        .replace("BLOB", "blob"),
        "rows 1-3",
    ]
    assert whole[2].endswith("its rows are not shown: a table without row numbers in a database of this size")
    assert whole[3] == "## view heavy"
    assert "\nrow 2\n" in one
    assert none == {"no_table": True, "suggestions": ["ships", "pairs", "heavy"]}


def test_damage_is_text_or_an_error_of_the_file(tmp_path):
    database(tmp_path / "a.db")
    data = (tmp_path / "a.db").read_bytes()
    dice = random.Random(3)
    for _ in range(200):
        broken = bytearray(data)
        for _ in range(20):
            broken[dice.randrange(len(broken))] = dice.randrange(256)
        (tmp_path / "b.db").write_bytes(broken[: dice.randrange(100, len(broken))])
        with (tmp_path / "b.db").open("rb") as file, contextlib.suppress(Unreadable):
            assert sqlite_pages.decode(file, {**PARAMS, "count": 1000, "windowed": True})[1][0].decode()
