"""SQLite databases: the schema, and rows of their tables.

The whole file is held in memory, so nothing has to be opened and nothing can be written; a larger one is refused.
Changes that are only in a write-ahead log beside it are not read, which the answer states. The only statements are
those below: SQL in the file is never run, views and virtual tables are not queried, and an authorizer allows only
reading. Every statement has a time limit.
"""

from __future__ import annotations

import io
import sqlite3
import time
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from eyespan.decoders.files import unreadable
from eyespan.escape import plural
from eyespan.extras.documents.tables import tabular

MAX_BYTES = 128 << 20
"""It is held twice for a moment, within the memory limit of a job."""
MAX_TABLES = 200
MAX_NAMED_TABLES = 10_000
"""The facts have the names of so many tables, the text describes the first `MAX_TABLES`."""
SAMPLED_TABLES = 20
TABLE_ROWS = 3
"""Rows shown of each table if no table is selected."""
COUNT_SECONDS = 0.5
"""The CPU time, as for all that follows: the database is in memory."""
MAX_VALUE_BYTES = 16 << 20
_HEADER_BYTES = 100
_ALLOWED = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ}
_REFUSED_FUNCTIONS = ("load_extension", "fts3_tokenizer")
_STEPS = 500
"""Steps of the engine between two checks of the time."""
_ERRORS = (sqlite3.Error, UnicodeError)
"""The module decodes messages and names of a damaged database, which need not be UTF-8."""


def decode(file: BinaryIO, params: Mapping[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    """Decode the schema and rows: `count` rows from `first` on of `table`, or of all tables if it is None.

    `windowed` is True if `first` and `count` were requested. Raises: Unreadable.
    """
    data = _read_file(file)
    is_logged = data[18:20] == b"\2\2"  # it may have a write-ahead log beside it, which SQLite would open
    if is_logged:
        data[18:20] = b"\1\1"
    database = _Database(data, params["seconds"] * 0.8)
    try:
        facts, blocks = _one_table(database, params) if params["table"] is not None else _overview(database, params)
    except _ERRORS as error:
        raise unreadable(f"not a database, or a corrupt one: {_reason(error)}") from None
    finally:
        database.close()
    if is_logged and blocks:
        blocks[0] += "; changes that are only in its write-ahead log (-wal) are not shown"
    return facts, ["\n\n".join(blocks).encode("utf-8", "replace")]


def rehearse() -> None:
    """Decode a small database once, so that nothing is left to be imported."""
    made = sqlite3.connect(":memory:")
    made.execute("create table t (a integer primary key, b text, c blob)")
    made.execute("insert into t values (1, 'x', x'00')")
    made.commit()
    params = {"table": None, "first": 1, "count": 1, "windowed": False, "seconds": 10.0}
    decode(io.BytesIO(made.serialize()), params)
    decode(io.BytesIO(made.serialize()), {**params, "table": "t"})
    made.close()


def _read_file(file: BinaryIO) -> bytearray:
    data = bytearray()
    while more := file.read(min(1 << 20, MAX_BYTES + 1 - len(data))):
        data += more
        if len(data) > MAX_BYTES:
            reason = f"it is larger than {MAX_BYTES >> 20} MiB; `sqlite3 -readonly FILE` shows it"
            raise unreadable(reason)
    if len(data) < _HEADER_BYTES:
        raise unreadable("it ends within its header")
    return data


class _Database:
    """A database in memory that can only be read."""

    def __init__(self, data: bytearray, seconds: float) -> None:
        self._end = time.process_time() + seconds
        self._step_end = self._end
        self._connection = sqlite3.connect(":memory:", isolation_level=None)
        connection = self._connection
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        for limit, value in (
            (sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES),
            (sqlite3.SQLITE_LIMIT_SQL_LENGTH, 1 << 20),
            (sqlite3.SQLITE_LIMIT_EXPR_DEPTH, 100),
            (sqlite3.SQLITE_LIMIT_ATTACHED, 0),
            (sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH, 1),
            (sqlite3.SQLITE_LIMIT_WORKER_THREADS, 0),
        ):
            connection.setlimit(limit, value)
        try:
            connection.deserialize(data)
            data.clear()
            for pragma in ("trusted_schema=off", "cell_size_check=on", "query_only=on", "temp_store=memory"):
                connection.execute(f"pragma {pragma}")
        except _ERRORS as error:
            connection.close()
            raise unreadable(f"not a database, or a corrupt one: {_reason(error)}") from None
        connection.set_progress_handler(self._is_late, _STEPS)
        connection.set_authorizer(_authorize)

    def close(self) -> None:
        """Release the memory of the database."""
        self._connection.close()

    def _is_late(self) -> bool:
        return time.process_time() > self._step_end

    def query(self, statement: str, *values: Any, seconds: float | None = None) -> list[tuple[Any, ...]]:
        """Return all rows of a statement. Raises: sqlite3.Error; OperationalError after the time limit."""
        self._step_end = self._end if seconds is None else min(self._end, time.process_time() + seconds)
        return self._connection.execute(statement, values).fetchall()

    def rows(self, name: str, first: int, count: int) -> tuple[list[str], Iterator[tuple[Any, ...]]]:
        """Return the names of columns, and rows one by one. Raises: sqlite3.Error, as the rows do."""
        self._step_end = self._end
        cursor = self._connection.execute(f"select * from {_quoted(name)} limit ? offset ?", (count, first - 1))
        return [column[0] for column in cursor.description], cursor


def _authorize(action: int, first: str | None, second: str | None, *_: object) -> int:
    if action in _ALLOWED or (action == sqlite3.SQLITE_PRAGMA and first == "table_xinfo"):
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_FUNCTION and second not in _REFUSED_FUNCTIONS:
        return sqlite3.SQLITE_OK  # count(), and the functions of generated columns
    return sqlite3.SQLITE_DENY


def _overview(database: _Database, params: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    relations = _tables(database)
    tables = [one for one in relations if one["what"] != "view"]
    counts = [plural(len(tables), "table")]
    if len(tables) < len(relations):
        counts.append(plural(len(relations) - len(tables), "view"))
    blocks = [f"SQLite database, {', '.join(counts)}"]
    for number, one in enumerate(relations[:MAX_TABLES]):
        count = params["count"] if params["windowed"] else TABLE_ROWS
        blocks.append(_described(database, one, params, 1, count if number < SAMPLED_TABLES else 0))
    if len(relations) > MAX_TABLES:
        blocks.append(f"... {len(relations) - MAX_TABLES} more")
    return {"tables": relations[:MAX_NAMED_TABLES], "total_tables": len(relations)}, blocks


def _one_table(database: _Database, params: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    relations = _tables(database)
    wanted = str(params["table"])
    one = next((each for each in relations if each["name"] == wanted), None)
    one = one or next((each for each in relations if each["name"].lower() == wanted.lower()), None)
    if one is None:
        return {"no_table": True, "suggestions": [each["name"][:200] for each in relations[:10]]}, [""]
    text = _described(database, one, params, params["first"], params["count"])
    return {"tables": [one], "total_tables": len(relations)}, ["SQLite database", text]


def _tables(database: _Database) -> list[dict[str, Any]]:
    """Return the name and the type of all tables and views, without those of SQLite itself."""
    rows = database.query("select type, name, sql from sqlite_master where type in ('table', 'view')")
    relations = []
    for kind, name, sql in rows:
        if not isinstance(name, str) or name.lower().startswith("sqlite_"):
            continue
        virtual = kind == "table" and str(sql or "").lstrip()[:14].upper() == "CREATE VIRTUAL"
        relations.append({"name": name, "what": "virtual table" if virtual else kind})
    return relations


def _described(database: _Database, one: dict[str, Any], params: Mapping[str, Any], first: int, count: int) -> str:
    """Return a table's heading, columns and rows, and add its facts to `one`."""
    name = one["name"]
    title = f"## {one['what']} {tabular.cell(name)}"
    if one["what"] != "table":
        # A query for its columns would run the statement that defines it.
        return title
    try:
        info = database.query(f"pragma table_xinfo({_quoted(name)})")
        columns = [(str(row[1]), _column_type(row)) for row in info]
    except _ERRORS as error:
        one["problem"] = f"its columns cannot be read: {_reason(error)}"
        return f"{title}\n{one['problem']}"
    one["columns"] = [{"name": column[:200], "type": kind} for column, kind in columns[: tabular.MAX_COLUMNS]]
    one["total_rows"] = total = _row_count(database, name)
    title += f", {plural(total, 'row')}" if total is not None else ", many rows"
    lines = [title, f"columns: {tabular.columns_line(columns)}"]
    if count and total != 0:
        try:
            names, stored_rows = database.rows(name, first, count)
            rows = tabular.table(names, stored_rows, is_selected=params["windowed"])
        except _ERRORS as error:
            one["problem"] = f"its rows cannot be read: {_reason(error)}"
            return "\n".join([*lines, one["problem"]])
        one.update(rows.facts(first))
        lines += [tabular.rows_line(first, rows.row_count, total, name), *([rows.text()] if rows.row_count else [])]
    return "\n".join(lines)


def _row_count(database: _Database, name: str) -> int | None:
    try:
        return int(database.query(f"select count(*) from {_quoted(name)}", seconds=COUNT_SECONDS)[0][0])
    except _ERRORS:
        return None


def _column_type(row: tuple[Any, ...]) -> str:
    """Return the declared type of a column and its constraints."""
    _, _, declared, not_null, default, key, hidden = row
    words = [tabular.cell(str(declared))] if declared else []
    if key:
        words.append("primary key")
    elif not_null:
        words.append("not null")
    if hidden in (2, 3):
        words.append("generated")
    if default is not None:
        words.append(f"default {tabular.cell(str(default)[:40])}")
    return " ".join(words)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _reason(error: Exception) -> str:
    if isinstance(error, UnicodeError):
        return "its names are not UTF-8"
    text = str(error)
    return "it takes too long" if text == "interrupted" else text[:200]
