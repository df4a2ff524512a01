"""Bulk reading has all of a document, or names what is left out: rows in against rows out, for every kind of table."""

from __future__ import annotations

import io
import json
import os
import re
import sqlite3
import tarfile
import zipfile

import duckdb
import pytest
from PIL import Image

from eyespan import Workspace
from eyespan.extras.bulk import windows
from eyespan.extras.bulk.export import export_lines
from tests.readers.pdf_files import pages, words

NAMES = [f"row-{number:05d}" for number in range(25)]
CSV = "id,name\n" + "".join([f"{number},{name}\n" for number, name in enumerate(NAMES)])


@pytest.fixture
def workspace(tmp_path):
    with Workspace(tmp_path, deadline_seconds=60) as workspace:
        yield workspace


def _csv(path):
    path.write_text(CSV)


def _tsv(path):
    path.write_text(CSV.replace(",", "\t"))


def _jsonl(path):
    path.write_text("".join([json.dumps({"name": name}) + "\n" for name in NAMES]))


def _parquet(path):
    duckdb.sql(f"copy (select i as id, format('row-{{:05d}}', i) as name from range(25) t(i)) to '{path}'")


def _sqlite(path):
    made = sqlite3.connect(path)
    made.execute("create table t (id integer, name text)")
    made.executemany("insert into t values (?, ?)", enumerate(NAMES))
    made.commit()
    made.close()


def _notebook(path):
    output = {"output_type": "stream", "name": "stdout", "text": "".join([f"{name}{'.' * 4000}\n" for name in NAMES])}
    cell = {"cell_type": "code", "source": "x", "metadata": {}, "execution_count": 1, "outputs": [output]}
    path.write_text(json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))


TABLES = {
    "a.csv": _csv,
    "a.tsv": _tsv,
    "a.jsonl": _jsonl,
    "a.parquet": _parquet,
    "a.sqlite": _sqlite,
    "a.ipynb": _notebook,
}


@pytest.mark.parametrize("chunk_tokens", [None, 100])
@pytest.mark.parametrize("name", TABLES)
def test_every_row_is_in_one_record(workspace, tmp_path, monkeypatch, name, chunk_tokens):
    monkeypatch.setattr(windows, "MAX_ROWS", 7)
    TABLES[name](tmp_path / name)

    records = list(workspace.read_many(name, chunk_tokens=chunk_tokens))

    assert [record.error_code for record in records if record.error_code] == []
    assert re.findall(r"row-\d{5}", "".join([record.text for record in records])) == NAMES
    assert [record.facts["left_out"] for record in records if "left_out" in record.facts] == []


@pytest.mark.parametrize("chunk_tokens", [None, 100])
@pytest.mark.parametrize("name", [name for name in TABLES if name != "a.ipynb"])
def test_a_selector_reads_the_rows_of_its_record(workspace, tmp_path, monkeypatch, name, chunk_tokens):
    monkeypatch.setattr(windows, "MAX_ROWS", 7)
    TABLES[name](tmp_path / name)
    tool = workspace.tool("native")

    for record in workspace.read_many(name, chunk_tokens=chunk_tokens):
        shown = tool.call({"files": [record.selector], "budget": 100_000}).text

        assert re.findall(r"row-\d{5}", shown) == re.findall(r"row-\d{5}", record.text), record.selector


def test_an_export_has_as_many_rows_as_the_files(workspace, tmp_path):
    for name, make in TABLES.items():
        make(tmp_path / name)
    out = tmp_path.parent / f"{tmp_path.name}.jsonl"

    export_lines(workspace, ["."], str(out))

    records = [json.loads(line) for line in out.read_text().splitlines()]
    counts = dict.fromkeys(TABLES, 0)
    for record in records:
        counts[record["source"]] += len(re.findall(r"row-\d{5}", record["text"]))
    assert counts == dict.fromkeys(TABLES, 25)


def test_all_tables_of_a_database_are_read(workspace, tmp_path):
    made = sqlite3.connect(tmp_path / "a.sqlite")
    for number in range(250):  # more than an answer describes
        made.execute(f"create table t{number} (name text)")
        made.execute(f"insert into t{number} values ('value {number}')")
    made.execute("create table blank (name text)")
    made.execute("create view seen as select * from t1")
    made.commit()
    made.close()

    records = list(workspace.read_many("a.sqlite"))

    found = [one for record in records for one in re.findall(r"value \d+", record.text)]
    assert found == [f"value {number}" for number in range(250)]
    assert [record.selector for record in records[-2:]] == ["a.sqlite:blank", "a.sqlite:seen"]


def test_a_table_that_no_selector_names_has_the_path_of_its_file(workspace, tmp_path):
    made = sqlite3.connect(tmp_path / "a.sqlite")
    made.execute('create table "a: b" (name text)')
    made.execute("create table c (name text)")
    made.execute("insert into c values ('x')")
    made.commit()
    made.close()

    assert [record.selector for record in workspace.read_many("a.sqlite")] == ["a.sqlite", "a.sqlite:c rows 1-1"]


def test_a_long_cell_is_whole(workspace, tmp_path):
    duckdb.sql(f"copy (select repeat('word ', 5000) as text) to '{tmp_path}/a.parquet'")

    (record,) = workspace.read_many("a.parquet")

    assert "word " * 5000 in record.text
    assert "left_out" not in record.facts


def _cut_cell(path):
    duckdb.sql(f"copy (select repeat('x', 500000) as a, 'y' as b) to '{path}.parquet'")
    return f"{path}.parquet"


def _wide(path):
    columns = ", ".join([f"{number} as c{number}" for number in range(203)])
    duckdb.sql(f"copy (select {columns}) to '{path}.parquet'")
    return f"{path}.parquet"


def _orc(path):
    path.with_suffix(".orc").write_bytes(b"ORC" + bytes(200))
    return f"{path}.orc"


def zipped(members):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return made.getvalue()


def _deep_zip(path):
    data = b"hello\n"
    for _ in range(5):
        data = zipped({"inner": data})
    path.with_suffix(".zip").write_bytes(data)
    return f"{path}.zip"


def _frames(path):
    frames = [Image.new("RGB", (30, 20), colour) for colour in ("red", "lime", "blue")]
    frames[0].save(f"{path}.tif", save_all=True, append_images=frames[1:])
    return f"{path}.tif"


def _mail(path):
    path.with_suffix(".eml").write_text(
        "From: a@b.c\nSubject: x\nContent-Type: multipart/mixed; boundary=y\n\n--y\n\nhello\n"
        "--y\nContent-Disposition: attachment; filename=a.txt\n\nattached\n--y--\n"
    )
    return f"{path}.eml"


def _scan(path):
    path.with_suffix(".pdf").write_bytes(pages("0 0 300 300 re f"))
    return f"{path}.pdf"


LEFT_OUT = {
    "ends of 1 cell": _cut_cell,
    "3 columns": _wide,
    "the contents: this is a description": _orc,
    "the contents of 1 member": _deep_zip,
    "frames 2-3": _frames,
    "1 attachment": _mail,
    "the image of a page without a text layer": _scan,
}


@pytest.mark.parametrize("what", LEFT_OUT)
def test_what_is_left_out_is_named(workspace, tmp_path, what):
    name = LEFT_OUT[what](tmp_path / "a")

    records = list(workspace.read_many(name.removeprefix(f"{tmp_path}/")))

    assert [record.error_message for record in records if record.is_error] == []
    assert [record.facts["left_out"] for record in records if "left_out" in record.facts] == [what]


@pytest.mark.parametrize("chunk_tokens", [None, 100])
def test_a_document_without_parts_is_one_empty_record(workspace, tmp_path, chunk_tokens):
    (tmp_path / "a.ipynb").write_text('{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}')

    (record,) = workspace.read_many("a.ipynb", chunk_tokens=chunk_tokens)

    assert (record.kind, record.text, record.error_code) == ("notebook", "", "")


def test_a_database_that_is_too_large_is_an_error(workspace, tmp_path):
    _sqlite(tmp_path / "a.sqlite")
    os.truncate(tmp_path / "a.sqlite", (128 << 20) + 1)

    (record,) = workspace.read_many("a.sqlite")

    reason = "it is larger than 128 MiB; `sqlite3 -readonly FILE` shows it"
    assert (record.error_code, record.error_message, record.text) == ("unreadable", reason, "")


class TestPages:
    OUTLINE = {
        60: "<< /Type /Outlines /First 61 0 R /Last 61 0 R /Count 1 >>",
        61: "<< /Title (Start) /Parent 60 0 R /Dest [10 0 R /Fit] >>",
    }

    @pytest.fixture
    def book(self, tmp_path, monkeypatch):
        monkeypatch.setattr(windows, "MAX_PAGES", 2)
        texts = [words((72, 700, f"text of page {number}")) for number in range(1, 6)]
        (tmp_path / "a.pdf").write_bytes(pages(*texts, catalog="/Outlines 60 0 R", more=self.OUTLINE))

    @pytest.mark.usefixtures("book")
    def test_every_page_is_a_record(self, workspace):
        records = list(workspace.read_many("a.pdf"))

        assert [(record.selector, record.text) for record in records] == [
            ("a.pdf", "Bookmarks:\n- Start (p1)"),
            *[(f"a.pdf:p{number}", f"text of page {number}") for number in range(1, 6)],
        ]

    @pytest.mark.usefixtures("book")
    def test_every_page_is_a_chunk(self, workspace):
        records = list(workspace.read_many("a.pdf", chunk_tokens=100))

        assert [(record.selector, record.text) for record in records] == [
            (f"a.pdf:p{number}", f"text of page {number}\n") for number in range(1, 6)
        ]
        assert records[0].facts["left_out"] == "bookmarks, attachments or signatures before the first page"


def tarred(members):
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return made.getvalue()


class TestMembers:
    """The members of an archive are read like files, each with a selector of its own."""

    @pytest.mark.parametrize("chunk_tokens", [None, 100])
    @pytest.mark.parametrize(("name", "pack"), [("a.zip", zipped), ("a.tar.gz", tarred)])
    def test_every_row_of_every_member_is_in_one_record(self, workspace, tmp_path, name, pack, chunk_tokens):
        inner = zipped({f"{number}.txt": line for number, line in enumerate(NAMES)})
        (tmp_path / name).write_bytes(
            pack({"t.csv": CSV.encode(), "d/a.tsv": CSV.replace(",", "\t").encode(), "inner.zip": inner})
        )

        records = list(workspace.read_many(name, chunk_tokens=chunk_tokens))

        assert [record.error_message for record in records if record.error_message] == []
        assert [record.facts["left_out"] for record in records if "left_out" in record.facts] == []
        assert re.findall(r"row-\d{5}", "".join([record.text for record in records])) == 3 * NAMES
        assert {record.source for record in records} == {name}
        assert [record.part for record in records] == list(range(len(records)))
        assert f"{name}!/inner.zip!/0.txt" in [record.selector.partition(":")[0] for record in records]

    def test_a_selector_reads_a_member_again(self, workspace, tmp_path):
        (tmp_path / "a.zip").write_bytes(zipped({"d/b.txt": "one\ntwo\n"}))

        selector = list(workspace.read_many("a.zip"))[-1].selector

        assert "two" in workspace.tool("native").call({"files": selector}).text

    def test_members_that_cannot_be_read_are_errors_of_their_own(self, workspace, tmp_path):
        members = {"bad.pdf": "%PDF-1.7\n broken", "b.txt": "text\n", ".env": "KEY=1"}
        (tmp_path / "a.zip").write_bytes(zipped(members))

        found = [(record.selector, record.text, record.error_code) for record in workspace.read_many("a.zip")][1:]

        assert found == [("a.zip!/bad.pdf", "", "unreadable"), ("a.zip!/b.txt:1-1", "text\n", "")]

    def test_the_limit_of_bytes_names_the_members_after_it(self, workspace, tmp_path):
        (tmp_path / "a.zip").write_bytes(zipped(dict.fromkeys("abcd", "x" * 100)))

        records = list(workspace.read_many("a.zip", max_bytes=300))

        assert [(record.selector, record.error_code) for record in records if record.is_error] == [
            ("a.zip!/c", "too_large"),
            ("a.zip", "too_large"),
        ]
        assert records[-1].error_message.startswith("1 member of a.zip not read: ")
