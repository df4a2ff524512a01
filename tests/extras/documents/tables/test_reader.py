"""Read columns and rows of CSV, SQLite and Parquet files, hostile ones included."""

from __future__ import annotations

import csv
import gzip
import io
import random
import sqlite3
import tracemalloc
import zipfile

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eyespan import Workspace, worker
from eyespan.context import CallContext
from eyespan.dialects import pieces
from eyespan.errors import Binary, Missing, NoMember, ReadError, ScanLimit, TimedOut, Unreadable
from eyespan.extras.documents.tables import reader as tables
from eyespan.extras.documents.tables import sqlite as sqlite_decoder
from eyespan.extras.documents.tables import tabular
from eyespan.model import MIB, DocumentOptions, ReadRequest, TableOptions
from eyespan.worker.client import JobLimits, Worker
from tests.sizes import examples, size

DOCUMENTS = frozenset(["archive", "compressed", "csv", "sqlite", "parquet"])


def read(directory, path, member="", encoding="utf-8", **options):
    with Workspace(directory) as workspace:
        request = ReadRequest(
            path, documents=DOCUMENTS, member=member, encoding=encoding, options=table_options(**options)
        )
        return workspace.engine.read(request)


def table_options(table=None, rows=(1, None)):
    return DocumentOptions(table=TableOptions(table, *rows))


def fails(directory, path, member="", **options):
    with pytest.raises(ReadError) as caught:
        read(directory, path, member, **options)
    return caught.value


def shown_rows(text):
    """Return the cells of the table in an answer, without its header."""
    lines = [line for line in text.split("\n") if line.startswith("| ")]
    return [line[2:-2].split(" | ") for line in lines[2:]]


# --- CSV -------------------------------------------------------------------------------------------------------------


def test_columns_types_and_rows_of_a_csv_file(tmp_path):
    (tmp_path / "a.csv").write_text(
        "id,name,price,when,ok,zip,seen,nothing\n"
        '1,"Smith, J.",1.5,2020-01-31,true,00123,2020-01-31T10:00:00Z,\n'
        "2,Anna,2,2021-02-01,false,99999,2020-01-31 11:30,\n"
        "3,,-3e5,2022-12-31,TRUE,12345,2020-01-31T10:00:00+01:00,\n"
    )

    found = read(tmp_path, "a.csv")

    assert found.kind == "csv"
    assert found.parts[0].text == (
        "CSV, 8 columns, 3 rows, separated by commas\n"
        "columns: id integer, name text or empty, price number, when date, ok boolean, zip text, seen timestamp, "
        "nothing empty\n\n"
        "rows 1-3 of 3\n"
        "| id | name | price | when | ok | zip | seen | nothing |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --- |\n"
        "| 1 | Smith, J. | 1.5 | 2020-01-31 | true | 00123 | 2020-01-31T10:00:00Z |  |\n"
        "| 2 | Anna | 2 | 2021-02-01 | false | 99999 | 2020-01-31 11:30 |  |\n"
        "| 3 |  | -3e5 | 2022-12-31 | TRUE | 12345 | 2020-01-31T10:00:00+01:00 |  |"
    )
    assert (found.extra["total_rows"], found.extra["rows_returned"]) == (3, [1, 3])


@pytest.mark.parametrize("delimiter", tables.DELIMITERS)
def test_the_separator_is_found(delimiter, tmp_path):
    made = io.StringIO()
    writer = csv.writer(made, delimiter=delimiter)
    writer.writerow(["a", "b", "c"])
    for n in range(30):
        writer.writerow([n, "text, with; all| the\tmarks", "x"])
    (tmp_path / "a.csv").write_text(made.getvalue())

    assert read(tmp_path, "a.csv").extra["delimiter"] == delimiter


def test_lines_that_end_with_cr_alone_are_rows(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"name,n\ra,1\rb,2\r")

    assert shown_rows(read(tmp_path, "a.csv").parts[0].text) == [["a", "1"], ["b", "2"]]


def test_a_file_without_names_in_its_first_row(tmp_path):
    (tmp_path / "a.tsv").write_text("1\tx\n2\ty\n")

    found = read(tmp_path, "a.tsv")

    assert [column["name"] for column in found.extra["columns"]] == ["column 1", "column 2"]
    assert found.extra["total_rows"] == 2
    assert "no names in the first row" in found.parts[0].text


def test_a_window_of_rows(tmp_path):
    (tmp_path / "a.csv").write_text("n\n" + "".join(f"{n}\n" for n in range(1, 5001)))

    assert shown_rows(read(tmp_path, "a.csv", rows=(4000, 2)).parts[0].text) == [["4000"], ["4001"]]
    past = read(tmp_path, "a.csv", rows=(6000, 2))
    assert past.extra["rows_returned"] is None
    assert "no rows from row 6000 on of 5000" in past.parts[0].text
    assert shown_rows(read(tmp_path, "a.csv", rows=(1, 0)).parts[0].text) == []


def test_the_rows_of_a_large_file_are_not_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "COUNT_BYTES", 1000)
    (tmp_path / "a.csv").write_text("n,m\n" + "".join(f"{n},x\n" for n in range(1, 3001)))

    assert read(tmp_path, "a.csv").extra["total_rows"] is None
    assert shown_rows(read(tmp_path, "a.csv", rows=(2500, 1)).parts[0].text) == [["2500", "x"]]


@pytest.mark.parametrize(("encoding", "rule"), [("utf-8-sig", "utf-8"), ("utf-16", "utf-8"), ("cp1252", "cp1252")])
def test_encodings(encoding, rule, tmp_path):
    (tmp_path / "a.csv").write_bytes("näme;wert\nÄ;1\nÖ;2\n".encode(encoding))

    found = read(tmp_path, "a.csv", encoding=rule)

    assert [column["name"] for column in found.extra["columns"]] == ["näme", "wert"]
    assert shown_rows(found.parts[0].text) == [["Ä", "1"], ["Ö", "2"]]


def test_rows_of_other_lengths_are_counted_and_shown(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n1\n1,2,3\n1,2\n")

    found = read(tmp_path, "a.csv")

    assert "2 rows with another number of columns" in found.parts[0].text
    assert shown_rows(found.parts[0].text)[0] == ["1", ""]


def test_cells_stay_in_their_place(tmp_path):
    (tmp_path / "a.csv").write_text('a,b\n"x\ny|z","\x1b[31m\u202e"\n' + "q" * 500 + ",1\n")

    rows = read(tmp_path, "a.csv").parts[0].text.split("\n")

    assert rows[-2] == "| x\\ny\\|z | \\x1b[31m\\u202e |"
    assert rows[-1] == f"| {'q' * 200}... (500 chars) | 1 |"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a,b\n" + "x" * (2 * MIB), "invalid CSV: a line exceeds 1048576 bytes"),
        ('a,b\n"' + "x\n" * 100_000, "invalid CSV: field larger than field limit (131072)"),
        ("a;b\rc\n1;2\n", "invalid CSV: new-line character seen in unquoted field"),
    ],
)
def test_an_invalid_csv_file_is_an_error(text, reason, tmp_path):
    (tmp_path / "a.csv").write_text(text, newline="")

    assert fails(tmp_path, "a.csv").reason.startswith(reason)


@pytest.mark.parametrize(
    ("name", "text", "header"),
    [
        ("a.tsv", "one line", "CSV, 1 column, 0 rows, separated by tabs"),
        ("a.csv", "a,b", "CSV, 2 columns, 0 rows, separated by commas"),
        ("a.csv", 'a;b\n"' + "x" * 100_000 + '";1\n', "CSV, 2 columns, 1 row, separated by semicolons"),
    ],
)
def test_the_separator_is_found_in_short_samples(name, text, header, tmp_path):
    (tmp_path / name).write_text(text)

    assert read(tmp_path, name).parts[0].text.split("\n")[0] == header


def test_a_file_is_scanned_up_to_a_limit(tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text("a,b\n" + "1,2\n" * 100)
    monkeypatch.setattr(tables, "MAX_SCAN_BYTES", 100)

    assert isinstance(fails(tmp_path, "a.csv"), ScanLimit)


def test_an_empty_file_is_an_empty_text(tmp_path):
    (tmp_path / "a.csv").write_text("")
    (tmp_path / "b.csv").write_text("\n\n")

    assert read(tmp_path, "a.csv").kind == "text"
    assert read(tmp_path, "b.csv").extra["total_rows"] == 0


def test_a_table_in_an_archive_and_a_compressed_one(tmp_path):
    data = b"a,b\n1,2\n"
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(data))
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("b.csv", data)

    assert shown_rows(read(tmp_path, "a.csv.gz").parts[0].text) == [["1", "2"]]
    assert shown_rows(read(tmp_path, "a.zip", "b.csv").parts[0].text) == [["1", "2"]]


def test_a_suffix_does_not_make_a_table_of_binary_data(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")

    assert isinstance(fails(tmp_path, "a.csv"), Binary)


@settings(max_examples=examples(80), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.lists(st.text(alphabet='ab1,;\t|"\n é', max_size=6), min_size=2, max_size=4), max_size=8))
def test_every_table_that_python_writes_is_read_back(rows, tmp_path):
    width = max(map(len, rows), default=2)
    made = io.StringIO()
    writer = csv.writer(made, delimiter=",", quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow([f"name{n}" for n in range(width)])
    writer.writerows(rows)
    (tmp_path / "a.csv").write_text(made.getvalue(), newline="")

    found = read(tmp_path, "a.csv", rows=(1, 100))

    if found.extra["delimiter"] == ",":
        assert found.extra["total_rows"] == len(rows)
        wanted = [[tabular.cell(value) for value in row] + [""] * (width - len(row)) for row in rows]
        lines = [line for line in found.parts[0].text.split("\n") if line.startswith("| ")][2:]
        assert lines == [f"| {' | '.join(row)} |" for row in wanted]


def test_columns_without_number_take_a_bounded_amount_of_memory(tmp_path):
    (tmp_path / "a.csv").write_text("," * 1_000_000 + "\n" + "," * 1_000_000 + "\n")
    tracemalloc.start()
    try:
        found = read(tmp_path, "a.csv")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert found.parts[0].text.startswith("CSV, 1,000,001 columns, 2 rows, separated by commas; no names")
    assert (len(found.extra["columns"]), found.extra["total_columns"]) == (20_000, 1_000_001)
    assert peak < 48 * MIB


@pytest.mark.parametrize("cell", ["a", '"a"', "\u0416"])
def test_a_wide_row_is_paid_for_before_it_is_split(tmp_path, monkeypatch, cell):
    """With quotes it is split whole; without, only the first columns are."""
    (tmp_path / "a.csv").write_text(",".join([cell] * 60_000) + "\n1,2\n")
    charged = []
    monkeypatch.setattr(CallContext, "charge", lambda self, size_bytes: charged.append(size_bytes))
    found = read(tmp_path, "a.csv")

    assert found.parts[0].text.startswith("CSV, 60,000 columns, 2 rows, separated by commas; no names")
    cells = 60_000 if '"' in cell else tables.MAX_DESCRIBED_COLUMNS
    described = tables.COLUMN_BYTES * tables.MAX_DESCRIBED_COLUMNS
    assert [size for size in charged if size >= tables.CELL_BYTES * cells and size != described] != []


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_a_row_of_exactly_the_described_columns_is_whole(tmp_path, end):
    for width in (tables.MAX_DESCRIBED_COLUMNS - 1, tables.MAX_DESCRIBED_COLUMNS, tables.MAX_DESCRIBED_COLUMNS + 1):
        row = ",".join([f"c{number}" for number in range(width)])
        (tmp_path / "a.csv").write_bytes(f"{row}{end}".encode())
        found = read(tmp_path, "a.csv")

        assert found.extra.get("total_columns", len(found.extra["columns"])) == width
        last = min(width, tables.MAX_DESCRIBED_COLUMNS) - 1
        assert found.extra["columns"][-1] == {"name": f"c{last}", "type": "empty"}


def test_a_row_over_many_lines_has_an_end(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n" + 'x,"\n",' * 400_000 + "\n")

    assert fails(tmp_path, "a.csv").reason == "invalid CSV: a row exceeds 1048576 bytes"


def test_long_values_of_selected_rows_are_whole_up_to_the_limit_of_the_text(tmp_path):
    row = "\U0001f600" + "a" * 100_000 + ",1\n"
    (tmp_path / "a.csv").write_text("name,number\n" + row * 200)
    tracemalloc.start()
    try:
        found = read(tmp_path, "a.csv", rows=(1, 1000))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert found.extra["rows_returned"] == [1, 3]
    assert found.parts[0].text.count("a" * 100_000) == 3
    assert "rows 1-3 of 200; the next with :rows 4-200\n" in found.parts[0].text
    assert peak < 16 * MIB


# --- SQLite ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def database(tmp_path):
    made = sqlite3.connect(tmp_path / "app.sqlite")
    made.executescript("""
        create table users (id integer primary key, name text not null, born date default '2000-01-01', face blob,
                            loud text generated always as (upper(name)));
        create table "odd "" name" (a, b, primary key (a, b)) without rowid;
        create table empty (x);
        create view names as select name from users;
        create index by_name on users (name);
    """)
    made.executemany(
        "insert into users (id, name, face) values (?, ?, ?)", [(n, f"user {n}", b"\x01" * n) for n in range(1, 101)]
    )
    made.execute("""insert into "odd "" name" values (1, 'y'), (2, 'x')""")
    made.commit()
    made.close()
    return tmp_path


def test_the_schema_of_all_tables_and_some_rows(database):
    found = read(database, "app.sqlite")

    assert found.kind == "sqlite"
    assert found.parts[0].text == (
        "SQLite database, 3 tables, 1 view\n\n"
        "## table users, 100 rows\n"
        "columns: id INTEGER primary key, name TEXT not null, born date default '2000-01-01', face BLOB, "
        "loud TEXT generated\n"
        "rows 1-3 of 100; the next with :users rows 4-100\n"
        "| id | name | born | face | loud |\n"
        "| --- | --- | --- | --- | --- |\n"
        "| 1 | user 1 | 2000-01-01 | x'01' (1 bytes) | USER 1 |\n"
        "| 2 | user 2 | 2000-01-01 | x'0101' (2 bytes) | USER 2 |\n"
        "| 3 | user 3 | 2000-01-01 | x'010101' (3 bytes) | USER 3 |\n\n"
        '## table odd " name, 2 rows\n'
        "columns: a primary key, b primary key\n"
        "rows 1-2 of 2\n"
        "| a | b |\n"
        "| --- | --- |\n"
        "| 1 | y |\n"
        "| 2 | x |\n\n"
        "## table empty, 0 rows\n"
        "columns: x\n\n"
        "## view names"
    )


def test_rows_of_one_table(database):
    found = read(database, "app.sqlite", table="users", rows=(99, 10))

    assert [row[0] for row in shown_rows(found.parts[0].text)] == ["99", "100"]
    assert found.extra["tables"][0]["rows_returned"] == [99, 100]
    assert shown_rows(read(database, "app.sqlite", table="USERS", rows=(1, 1)).parts[0].text)[0][1] == "user 1"
    assert shown_rows(read(database, "app.sqlite", table='odd " name').parts[0].text) == [["1", "y"], ["2", "x"]]


@pytest.mark.parametrize("name", ["nothing", "users; drop table users", 'x" union select 1 --', ""])
def test_a_table_that_is_not_there(name, database):
    error = fails(database, "app.sqlite", table=name)

    assert isinstance(error, NoMember)
    assert "users" in error.suggestions
    assert "no table" in str(error)


def test_a_database_inside_other_files(database):
    data = (database / "app.sqlite").read_bytes()
    (database / "a.gz").write_bytes(gzip.compress(data))
    with zipfile.ZipFile(database / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("in/app.db", data)

    plain = read(database, "app.sqlite").parts
    assert read(database, "a.gz").parts == plain
    assert read(database, "a.zip", "in/app.db").parts == plain


def test_a_write_ahead_log_is_named_and_not_read(tmp_path):
    made = sqlite3.connect(tmp_path / "a.db", isolation_level=None)
    made.execute("pragma journal_mode=wal")
    made.execute("create table t (a)")
    made.execute("insert into t values (1)")
    made.execute("pragma wal_checkpoint(truncate)")
    made.execute("insert into t values (2)")
    before = [(path.name, path.read_bytes(), path.stat().st_mtime_ns) for path in sorted(tmp_path.iterdir())]

    text = read(tmp_path, "a.db").parts[0].text

    assert text.startswith("SQLite database, 1 table; changes that are only in its write-ahead log (-wal) are not ")
    assert shown_rows(text) == [["1"]]
    assert [(path.name, path.read_bytes(), path.stat().st_mtime_ns) for path in sorted(tmp_path.iterdir())] == before
    made.close()


def hostile(folder, *statements, schema=()):
    made = sqlite3.connect(folder / "a.db")
    for statement in statements:
        made.execute(statement)
    if schema:
        made.execute("pragma writable_schema=on")
        for statement in schema:
            made.execute(statement)
    made.commit()
    made.close()


def test_a_view_is_never_run(tmp_path):
    loop = "with recursive c(x) as (select 1 union all select x + 1 from c) select count(*) from c"
    hostile(tmp_path, "create table t (a)", f"create view endless as {loop}")

    assert read(tmp_path, "a.db").parts[0].text.endswith("## view endless")
    assert read(tmp_path, "a.db", table="endless").parts[0].text.endswith("## view endless")


def test_a_table_that_is_a_view_in_disguise_is_not_run(tmp_path):
    loop = "with recursive c(x) as (select 1 union all select x + 1 from c) select count(*) as a from c"
    hostile(
        tmp_path,
        "create table t (a)",
        f"create view v as {loop}",
        schema=["update sqlite_master set type = 'table' where name = 'v'"],
    )

    assert isinstance(outcome(tmp_path, "a.db"), str)


def test_a_generated_column_cannot_reach_anything(tmp_path):
    hostile(
        tmp_path,
        "create table t (a text)",
        "insert into t values ('/etc/passwd')",
        schema=["""update sqlite_master set sql = 'create table t (a text, b as (load_extension(a)))'"""],
    )

    assert "root:" not in outcome(tmp_path, "a.db")


def test_a_virtual_table_is_named_and_not_asked(tmp_path):
    hostile(tmp_path, "create virtual table search using fts5(body)", "insert into search values ('some words')")

    found = read(tmp_path, "a.db", table="search")

    assert found.parts[0].text.endswith("## virtual table search")


def outcome(folder, path, **options):
    """Return the text of a document, or the reason why there is none."""
    try:
        return read(folder, path, **options).parts[0].text
    except ReadError as error:
        assert error.code != "internal"  # noqa: PT017  # any other error will do
        return str(error)


def test_a_statement_that_takes_too_long_is_ended(tmp_path):
    hostile(
        tmp_path,
        "create table t (a)",
        "with recursive c(x) as (select 1 union all select x + 1 from c where x < 1000) insert into t "
        "select 900000 from c",
        "alter table t add column b as (length(replace(hex(zeroblob(a)), '0', 'ab')))",
    )
    params = {"table": "t", "first": 1, "count": 1000, "windowed": True, "seconds": 1.0}
    with open(tmp_path / "a.db", "rb") as file:
        _, (text,) = sqlite_decoder.decode(file, params)

    assert b"its rows cannot be read: it takes too long" in text


def test_a_database_that_is_too_large_for_memory_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(sqlite_decoder, "MAX_BYTES", 1 << 20)
    (tmp_path / "a.db").write_bytes(b"SQLite format 3\0" + bytes(1 << 20))
    params = {"table": None, "first": 1, "count": 1, "windowed": False, "seconds": 1.0}

    with (tmp_path / "a.db").open("rb") as file, pytest.raises(Unreadable) as error:
        sqlite_decoder.decode(file, params)

    assert error.value.reason == "it is larger than 1 MiB; `sqlite3 -readonly FILE` shows it"


def test_only_reading_is_allowed(tmp_path):
    hostile(tmp_path, "create table t (a)")
    with open(tmp_path / "a.db", "rb") as file:
        database = sqlite_decoder._Database(sqlite_decoder._read_file(file), 5)
    for statement in (
        "insert into t values (1)",
        "attach 'x' as x",
        "pragma writable_schema = on",
        "create temp table x (a)",
        "with recursive c(x) as (select 1 union all select 2 from c) select * from c",
        "select load_extension('x')",
        "vacuum into 'x'",
    ):
        with pytest.raises(sqlite3.Error):
            database.query(statement)
    database.close()


# --- Parquet ---------------------------------------------------------------------------------------------------------


def test_a_long_value_of_a_selected_row_is_whole(tmp_path):
    made = sqlite3.connect(tmp_path / "a.sqlite")
    made.execute("create table t (story text)")
    made.execute("insert into t values (?)", ("word " * 5000,))
    made.commit()
    made.close()
    tool = Workspace(tmp_path).tool("native")

    sample, selected = (tool.call({"files": name, "budget": 100_000}).text for name in ("a.sqlite", "a.sqlite:t"))

    assert f"| {('word ' * 40)}... (25000 chars) |" in sample
    assert f"| {'word ' * 5000} |" in selected


def parquet(path, query, options=""):
    duckdb.sql(f"copy ({query}) to '{path}' (format parquet{options})")


@pytest.mark.parametrize("codec", ["snappy", "zstd", "gzip", "lz4", "uncompressed"])
def test_schema_and_rows_of_a_parquet_file(codec, tmp_path):
    parquet(
        tmp_path / "a.parquet",
        "select i as id, 'name ' || i as name, (i * 1.5)::double as price, date '2020-01-01' + i::int as day, "
        "timestamptz '2020-01-01 10:00:00+02' as at, case when i = 1 then null else [i] end as list, "
        "{'a': i, 'b': 'x'} as pair, 'ab'::blob as raw from range(5000) t(i)",
        f", codec {codec}",
    )

    found = read(tmp_path, "a.parquet", rows=(1, 2))

    assert found.kind == "parquet"
    assert found.parts[0].text == (
        "Parquet, 8 columns, 5,000 rows, 1 row group\n"
        "columns: id BIGINT, name VARCHAR, price DOUBLE, day DATE, at TIMESTAMP WITH TIME ZONE, list BIGINT[], "
        "pair STRUCT(a BIGINT, b VARCHAR), raw BLOB\n\n"
        "rows 1-2 of 5000; the next with :rows 3-1002\n"
        "| id | name | price | day | at | list | pair | raw |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --- |\n"
        "| 0 | name 0 | 0.0 | 2020-01-01 | 2020-01-01 08:00:00+00 | [0] | {'a': 0, 'b': x} | ab |\n"
        "| 1 | name 1 | 1.5 | 2020-01-02 | 2020-01-01 08:00:00+00 | NULL | {'a': 1, 'b': x} | ab |"
    )


def test_a_window_of_rows_of_a_parquet_file(tmp_path):
    parquet(tmp_path / "a.parquet", "select i from range(300000) t(i)", ", row_group_size 50000")

    found = read(tmp_path, "a.parquet", rows=(299_999, 5))

    assert shown_rows(found.parts[0].text) == [["299998"], ["299999"]]
    assert found.extra["rows_returned"] == [299_999, 300_000]
    assert "no rows" in read(tmp_path, "a.parquet", rows=(300_001, 5)).parts[0].text


def test_a_parquet_file_in_an_archive(tmp_path):
    parquet(tmp_path / "a.parquet", "select 1 as one")
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.write(tmp_path / "a.parquet", "a.parquet")

    assert shown_rows(read(tmp_path, "a.zip", "a.parquet").parts[0].text) == [["1"]]


def test_without_its_package_it_says_what_to_install(tmp_path):
    (tmp_path / "hidden.py").write_text(
        "import sys\nsys.modules['duckdb'] = None\n"
        "from eyespan.extras.documents.tables.parquet import decode, rehearse\n"
    )
    parquet(tmp_path / "a.parquet", "select 1 as one")
    bare = Worker(decoders={"parquet": "hidden:decode"}, path=[str(tmp_path)])
    params = {"first": 1, "count": 1}
    try:
        with open(tmp_path / "a.parquet", "rb") as file, pytest.raises(Missing, match=r"eyespan\[tables\]"):
            bare.run("parquet", file.fileno(), params, asked="a.parquet")
    finally:
        bare.stop()


def test_a_text_that_begins_like_a_parquet_file(tmp_path):
    (tmp_path / "a.txt").write_text("PAR1 is how they begin\n")

    assert read(tmp_path, "a.txt").kind == "text"


# --- invalid responses ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("blobs", [[], [b"a", b"b"]])
def test_a_response_that_is_not_one_text_is_not_returned(blobs, tmp_path, monkeypatch):
    (tmp_path / "a.sqlite").write_bytes(b"SQLite format 3\0")
    monkeypatch.setattr(worker, "run", lambda *_, **__: ({}, blobs))

    assert fails(tmp_path, "a.sqlite").reason == "the decoder returned an invalid response"


def test_a_table_that_the_decoder_does_not_find_is_no_member(tmp_path, monkeypatch):
    (tmp_path / "a.sqlite").write_bytes(b"SQLite format 3\0")
    monkeypatch.setattr(worker, "run", lambda *_, **__: ({"no_table": True}, []))

    assert isinstance(fails(tmp_path, "a.sqlite", table="x"), NoMember)


# --- damage ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["csv", "sqlite", "parquet"])
def test_damage_never_does_more_than_fail(kind, database):
    path = database / f"seed.{kind}"
    if kind == "csv":
        path.write_text("a,b,c\n" + "".join(f'{n},"x{n}",{n / 7}\n' for n in range(300)))
    elif kind == "sqlite":
        path.write_bytes((database / "app.sqlite").read_bytes())
    else:
        parquet(path, "select i, 'x' || i as s, [i, null] as l from range(1000) t(i)")
    data = path.read_bytes()
    dice = random.Random(f"tables {kind}")
    seen = set()
    for _ in range(size(short=15, long=200)):
        damaged = bytearray(data)
        for _ in range(dice.choice((1, 4, 40))):
            at = dice.randrange(len(damaged))
            match dice.randrange(4):
                case 0:
                    damaged[at] = dice.randrange(256)
                case 1:
                    damaged[at : at + 4] = dice.choice((b"\xff" * 4, bytes(4), b"\x7f\xff\xff\xff"))
                case 2:
                    # Most of what decoders trip over is near the ends.
                    near = dice.choice(
                        (dice.randrange(min(200, len(damaged))), -1 - dice.randrange(min(400, len(damaged))))
                    )
                    damaged[near] ^= 1 << dice.randrange(8)
                case 3:
                    del damaged[at : at + dice.choice((1, 100))]
            if not damaged:
                damaged = bytearray(b"x")
        path.write_bytes(damaged)
        text = outcome(database, path.name)
        assert text
        seen.add("crashed" in text)
    assert seen == {False}, "a decoder crashed in the worker"


def test_a_read_stops_at_its_deadline(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n" + "1,2\n" * 200_000)
    with Workspace(tmp_path) as workspace, pytest.raises(TimedOut):
        workspace.engine.read(ReadRequest("a.csv", documents=DOCUMENTS), CallContext(0))


def test_the_worker_has_what_it_needs_within_its_limits(database):
    parquet(database / "a.parquet", "select 1 as one")
    small = Worker(JobLimits(memory_bytes=320 * MIB))
    params = {"table": None, "first": 1, "count": 5, "windowed": False}
    try:
        for task, name in (("parquet", "a.parquet"), ("sqlite", "app.sqlite")):
            with open(database / name, "rb") as file:
                assert small.run(task, file.fileno(), params, asked=name)[1]
    finally:
        small.stop()


# --- windows of rows --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "window"),
    [
        ("rows 10-20", ("", 10, 11)),
        ("rows 7", ("", 7, 1)),
        ("rows 7-", ("", 7, pieces.TABLE_ROWS)),
        ("users rows 10-20", ("users", 10, 11)),
        ("users", None),
        ("arrows 5", None),
        ("rows x", None),
    ],
)
def test_a_name_selects_rows(name, window):
    assert pieces.row_window(name) == window


def test_windows_of_rows_are_read_from_each_kind_of_table(tmp_path):
    with duckdb.connect() as database:
        database.execute(f"copy (select range as n from range(50)) to '{tmp_path}/a.parquet' (format parquet)")
    with sqlite3.connect(tmp_path / "a.sqlite") as database:
        database.execute("create table t (n)")
        database.executemany("insert into t values (?)", [(n,) for n in range(50)])
    database.close()
    (tmp_path / "a.csv").write_text("n\n" + "".join(f"{n}\n" for n in range(50)))
    selectors = ("a.parquet:rows 11-12", "a.sqlite:t rows 11-12", "a.csv:rows 11-12")

    with Workspace(tmp_path) as workspace:
        native = workspace.tool("native")
        answers = [native.call({"files": selector}).text.split("\n") for selector in selectors]

    assert [[line.strip("\t| ") for line in answer[-2:]] for answer in answers] == [["10", "11"]] * 3
    assert all("rows 11-12 of 50; the next with :" in "\n".join(answer) for answer in answers)


def test_a_parquet_file_whose_rows_are_damaged_still_shows_its_columns(tmp_path):
    parquet(tmp_path / "a.parquet", "select i, 'name ' || i as name from range(100) t(i)", ", codec uncompressed")
    data = (tmp_path / "a.parquet").read_bytes()
    (tmp_path / "a.parquet").write_bytes(data[:4] + b"\xff" * 40 + data[44:])

    lines = read(tmp_path, "a.parquet", rows=(1, 2)).parts[0].text.split("\n")

    assert lines[:2] == ["Parquet, 2 columns, 100 rows, 1 row group", "columns: i BIGINT, name VARCHAR"]
    assert lines[2].startswith("rows 1-2 cannot be decoded: ")
