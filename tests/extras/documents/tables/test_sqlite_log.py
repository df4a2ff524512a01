"""Write-ahead logs of SQLite: their pages replace those of the database as in SQLite itself."""

from __future__ import annotations

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyespan.extras.documents.tables import sqlite_log

MAX_BYTES = 1 << 24


def logged(directory, page_bytes: int = 1024) -> tuple[bytes, bytes]:
    """Return a database and its log: rows that were added, changed and removed, and a transaction that is not ended."""
    path = directory / "a.db"
    made = sqlite3.connect(path, isolation_level=None)
    made.execute(f"pragma page_size = {page_bytes}")
    made.execute("pragma journal_mode = wal")
    made.execute("pragma wal_autocheckpoint = 0")
    made.execute("create table t (a integer primary key, b text)")
    made.execute("pragma wal_checkpoint(truncate)")
    made.executemany("insert into t values (?, ?)", [(n, "x" * n) for n in range(60)])
    made.execute("update t set b = 'new' where a = 3")
    made.execute("delete from t where a > 50")
    made.execute("pragma cache_size = 1")  # pages of the transaction go to the log before its end
    made.execute("begin")
    made.executemany("insert into t values (?, ?)", [(n, "y" * 900) for n in range(100, 140)])
    found = path.read_bytes(), (directory / "a.db-wal").read_bytes()
    made.execute("rollback")
    made.close()
    return found


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return logged(tmp_path_factory.mktemp("logged"))


def rows(database: bytearray) -> list[tuple[int, str]]:
    database[18:20] = b"\1\1"
    made = sqlite3.connect(":memory:")
    try:
        made.deserialize(bytes(database))
        return made.execute("select * from t").fetchall()
    finally:
        made.close()


COMMITTED = [(n, "new" if n == 3 else "x" * n) for n in range(51)]


@pytest.mark.parametrize("page_bytes", [512, 4096, 65536])
def test_changes_whose_transaction_has_ended_count(tmp_path, page_bytes):
    database, log = logged(tmp_path, page_bytes)
    held = bytearray(database)

    changed = sqlite_log.apply(held, log, MAX_BYTES)

    assert changed
    assert rows(held) == COMMITTED


def test_the_result_is_that_of_sqlite_wherever_the_log_ends(files, tmp_path):
    database, log = files
    for size in range(0, len(log), 4321):
        held = bytearray(database)
        sqlite_log.apply(held, log[:size], MAX_BYTES)
        (tmp_path / "b.db").write_bytes(database)
        (tmp_path / "b.db-wal").write_bytes(log[:size])
        own = sqlite3.connect(tmp_path / "b.db")
        expected = own.execute("select * from t").fetchall()
        own.close()

        assert rows(held) == expected


def test_a_database_that_would_be_too_large_stays_as_it_is(files):
    database, log = files
    held = bytearray(database)

    assert (sqlite_log.apply(held, log, 2048), bytes(held)) == (None, database)


@given(data=st.data())
def test_a_damaged_log_changes_nothing_after_the_damage(files, data):
    database, log = files
    damaged = bytearray(log)
    at = data.draw(st.integers(0, len(log) - 1))
    damaged[at] ^= data.draw(st.integers(1, 255))
    whole, cut = bytearray(database), bytearray(database)
    frames = max(0, at - 32) // (24 + 1024)

    changed = sqlite_log.apply(whole, damaged, MAX_BYTES)

    if at < 32:
        assert (changed, bytes(whole)) == (None, database)
    else:
        sqlite_log.apply(cut, log[: 32 + frames * (24 + 1024)], MAX_BYTES)
        assert whole == cut
