"""Bulk reading: records of many files, and exports that continue."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pytest

from eyespan import CallContext, Policy, Workspace
from eyespan.cli.main import main
from eyespan.errors import Cancelled, TimedOut
from eyespan.extras.bulk import pool, reading
from eyespan.extras.bulk.export import export_lines, export_table
from eyespan.extras.bulk.pool import read_many
from eyespan.extras.bulk.record import SCHEMA, Record
from eyespan.extras.bulk.walk import find_files
from eyespan.guard import Guard, listing
from eyespan.guard import tree as tree_walk

HANG_SECONDS = 60


@pytest.fixture
def tree(tmp_path):
    root = tmp_path / "tree"
    (root / "a" / "deep").mkdir(parents=True)
    (root / "a.txt").write_text("after the directory\n")
    (root / "a" / "one.py").write_text("def f():\n    return 1\n")
    (root / "a" / "deep" / "two.md").write_text("# Two\n")
    (root / "b[1].txt").write_text("odd name\n")
    (root / "empty.txt").write_text("")
    (root / "data.bin").write_bytes(bytes(range(256)) * 4)
    (root / "bad.pdf").write_bytes(b"%PDF-1.7\n broken")
    (root / ".env").write_text("KEY=1\n")
    (root / "link").symlink_to("a.txt")
    os.mkfifo(root / "pipe")
    return root


@pytest.fixture
def workspace(tree):
    with Workspace(tree) as workspace:
        yield workspace


def paths(workspace, *targets):
    return [path for path, *_ in find_files(workspace, targets)]


def test_a_directory_gives_everything_below_it_in_one_order(workspace):
    assert paths(workspace, ".") == [
        "a.txt",
        "a/deep/two.md",
        "a/one.py",
        "b[1].txt",
        "bad.pdf",
        "data.bin",
        "empty.txt",
        "pipe",
    ]
    assert paths(workspace, "a") == ["a/deep/two.md", "a/one.py"]


def test_a_directory_of_many_pages_is_walked_to_its_end(tmp_path, monkeypatch):
    monkeypatch.setattr(tree_walk, "PAGE_NAMES", 7)
    monkeypatch.setattr(listing, "MAX_SCANNED", 3)
    expected = sorted([f"{number:03}.txt" for number in range(50)] + ["020/x", "a-b/y", "a/z", "a.txt"])
    for path in [*expected, ".env"]:
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text("x")
    with Workspace(tmp_path) as workspace:
        assert paths(workspace, ".") == expected
        assert paths(workspace, "**") == expected
    with Workspace(tmp_path, backend="portable") as workspace:
        assert paths(workspace, ".") == expected


def test_a_page_of_denied_names_does_not_end_the_walk(tmp_path, monkeypatch):
    monkeypatch.setattr(tree_walk, "PAGE_NAMES", 2)
    for name in ("a.key", "b.key", "c.key", "d.key", "z.txt"):
        (tmp_path / name).write_text("x")
    with Workspace(tmp_path, policy=Policy(deny=["*.key"])) as workspace:
        assert paths(workspace, ".") == ["z.txt"]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("**/*.py", ["a/one.py"]),
        ("*.txt", ["a.txt", "b[1].txt", "empty.txt"]),
        ("a/*.py", ["a/one.py"]),
        ("a/**", ["a/deep/two.md", "a/one.py"]),
        ("**/t?o.md", ["a/deep/two.md"]),
        ("[ab].txt", ["a.txt"]),
        ("[!b]*.txt", ["a.txt", "empty.txt"]),
        ("{a,empty}.tx?", ["a.txt", "empty.txt"]),
    ],
)
def test_patterns(pattern, expected, workspace):
    assert paths(workspace, pattern) == expected


@pytest.mark.parametrize(
    ("target", "reason"), [(".*", "no file matches"), ("typo", "no such file or directory"), (".env", "denied")]
)
def test_a_target_without_a_file_is_an_error(target, reason, workspace, capfd, tree):
    ((path, error, _),) = find_files(workspace, [target])
    status = main(["export", target, "--root", str(tree), "--to", "-"])

    assert (path, status) == (target, 1)
    assert reason in str(error).lower()
    last = capfd.readouterr().err.splitlines()[-1]
    assert last == "eyespan: not complete: 1 target or directory not read, 1 error in all"


def test_a_directory_that_is_not_searched_to_its_end_is_an_error(workspace, tree, tmp_path, capfd, monkeypatch):
    def files_beneath(*_):
        raise TimedOut("a", seconds=10)

    monkeypatch.setattr(Guard, "files_beneath", files_beneath)

    assert main(["export", "a", "a.txt", "--root", str(tree), "--to", str(tmp_path / "o.jsonl")]) == 1
    assert [row["error_code"] for row in rows(tmp_path / "o.jsonl")] == ["timeout", ""]
    assert capfd.readouterr().err.splitlines()[-1].startswith("eyespan: not complete: 1 target or directory not read")


def test_excluded_names_are_left_out(workspace, tree):
    found = [record.source for record in workspace.read_many(".", exclude=["*.txt", "deep/", "bad.pdf", "pipe"])]

    assert found == ["a/one.py", "data.bin"]


def test_the_command_excludes_names_and_reads_documents(tree, capfd):
    (tree / "a" / "page.html").write_text("<h1>Title</h1><p>Text</p>")

    main(["export", "a", "--root", str(tree), "--to", "-", "--exclude", "*.py", "--exclude", "deep", "--document"])

    (row,) = map(json.loads, capfd.readouterr().out.splitlines())
    assert (row["kind"], row["text"]) == ("html", "# Title\n\nText\n")


def test_an_export_leaves_out_its_own_result(tree, monkeypatch):
    monkeypatch.chdir(tree)
    for _ in range(2):
        main(["export", ".", "--to", "out[1].jsonl"])
    sources = [json.loads(line)["source"] for line in (tree / "out[1].jsonl").read_text().splitlines()]

    assert [source for source in sources if source.startswith("out")] == []


def test_the_encoding_of_a_text_is_recorded(workspace, tree):
    (tree / "west.txt").write_bytes("Größe: 5 °C, schöne Grüße aus München\n".encode("cp1252"))
    (tree / "wide.txt").write_text("wide\n", "utf-16")

    found = {record.source: record.facts for record in workspace.read_many(["a.txt", "west.txt", "wide.txt"])}

    assert [found[name]["encoding"] for name in sorted(found)] == ["utf-8", "cp1252", "utf-16-le"]
    assert [name for name in found if "encoding_confidence" in found[name]] == ["west.txt"]


class TestNamesThatAreNotUnicode:
    NAME = b"odd\xff\\udc41.txt"
    WRITTEN = "odd\\udcff\\udc5cudc41.txt"

    @pytest.fixture
    def odd(self, tree):
        Path(os.fsdecode(os.fsencode(tree) + b"/" + self.NAME)).write_text("text\n")

    def test_they_are_escaped_such_that_they_lead_back(self, odd, workspace, tree):
        (record,) = workspace.read_many(os.fsdecode(self.NAME))
        (again,) = workspace.read_many(record.source)

        assert (record.source, record.text) == (self.WRITTEN, "text\n")
        assert again == record
        assert "text" in workspace.tool("native").call({"files": record.selector}).text

    def test_lines_and_tables_can_be_loaded(self, odd, workspace, tmp_path):
        export_table(workspace, ["."], str(tmp_path / "o.parquet"))

        wanted = "where source like 'odd%'"
        loaded = [duckdb.sql(f"select source from '{tmp_path}/{name}' {wanted}").fetchall() for name in FORMS]
        assert loaded == [[(self.WRITTEN,)]] * 2

    def test_a_later_run_keeps_them(self, odd, workspace, tmp_path):
        out = str(tmp_path / "o.jsonl")
        first, second = (export_lines(workspace, ["."], out) for _ in range(2))

        assert second.kept == first.files - first.errors


FORMS = ("o.parquet", "o.parquet.jsonl")


@pytest.mark.parametrize("workers", [0, 2])
def test_every_file_is_accounted_for(workers, workspace):
    done = []
    records = list(workspace.read_many(".", workers=workers, ordered=True, on_progress=done.append))

    by_source = {record.source: record for record in records}
    assert list(by_source) == paths(workspace, ".")
    assert by_source["a/one.py"].text == "def f():\n    return 1\n"
    assert by_source["a/one.py"].selector == "a/one.py:1-2"
    assert by_source["a/one.py"].tokens > 3
    assert by_source["empty.txt"].error_code == ""
    assert by_source["pipe"].error_code == "not_regular"
    assert by_source["bad.pdf"].is_error
    assert done[-1] == len(by_source)
    assert len({(record.source, record.version, record.part) for record in records}) == len(records)


def test_a_selector_reads_the_part_again(workspace, tree):
    (tree / "long.txt").write_text("".join([f"line {number}\n" for number in range(1, 300_001)]))
    records = list(read_many(workspace, "long.txt"))

    assert len(records) > 1
    assert "".join([record.text for record in records]) == (tree / "long.txt").read_text()
    last = workspace.tool("native").call({"files": [records[-1].selector], "budget": 2000})
    assert records[-1].text.splitlines()[0] in last.text


def test_an_export_by_an_earlier_release_is_read_again(workspace, tree, tmp_path, monkeypatch):
    out = str(tmp_path / "out.jsonl")
    monkeypatch.setattr(reading, "RECORDS_VERSION", reading.RECORDS_VERSION - 1)
    export_lines(workspace, ["a.txt"], out)
    monkeypatch.undo()

    assert [export_lines(workspace, ["a.txt"], out).kept for _ in range(2)] == [0, 1]


def test_limits_and_cancellation(workspace, tree):
    (tree / "long.txt").write_text("x" * 99 + "\n" * 50_000)
    (record,) = [record for record in workspace.read_many("long.txt", max_bytes=1000) if record.is_error]
    assert record.error_code == "too_large"
    context = CallContext()
    records = workspace.read_many(".", context=context)
    next(records)
    context.cancelled = True
    with pytest.raises(Cancelled):
        list(records)
    with pytest.raises(ValueError, match="max_in_flight"):
        workspace.read_many(".", max_in_flight=0)


def test_rules_of_the_host_hold(tree):
    with Workspace(tree, policy=Policy(deny=["a/**"])) as workspace:
        assert "a/one.py" not in paths(workspace, ".", "a")
        (record,) = workspace.read_many("a/one.py")
        assert (record.text, record.error_code) == ("", "policy_denied")


def worker_pids():
    """Return the processes that this one has started for bulk reading."""
    found = subprocess.run(
        ["pgrep", "-P", str(os.getpid()), "-f", "eyespan.extras.bulk.worker"], capture_output=True, text=True
    )
    return [int(pid) for pid in found.stdout.split()]


def test_a_process_that_ends_loses_no_file(workspace, tree):
    for number in range(20):
        (tree / f"n{number:02}.txt").write_text(f"{number}\n")
    found = workspace.read_many("n*.txt", workers=1, ordered=True, max_in_flight=8)
    first = next(found)
    (pid,) = worker_pids()
    os.kill(pid, signal.SIGKILL)

    records = [first, *found]

    assert [record.text for record in records] == [f"{number}\n" for number in range(20)]
    assert worker_pids() == []


@pytest.mark.parametrize("ordered", [True, False])
def test_a_file_that_ends_processes_is_given_up_alone(ordered, workspace, tmp_path, monkeypatch):
    ends_at_one_file = """
import os
import shutil
from eyespan.extras.bulk import worker

def read_file(workspace, path, options, read=worker.read_file):
    return os._exit(9) if path == "a.txt" else read(workspace, path, options)

worker.read_file = read_file
"""
    (tmp_path / "sitecustomize.py").write_text(ends_at_one_file)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    expected = {record.source: record.error_code for record in workspace.read_many(".")} | {"a.txt": "crash"}

    records = list(workspace.read_many(".", workers=2, ordered=ordered))

    assert {record.source: record.error_code for record in records} == expected
    assert len(records) == len(expected)


@pytest.mark.parametrize("program", [shutil.which("false"), "/no/such/program", ""])
def test_processes_that_end_before_their_first_file_are_one_error(program, workspace, monkeypatch):
    monkeypatch.setattr(sys, "executable", program)

    with pytest.raises(ChildProcessError, match="a process that reads files cannot be started: "):
        list(workspace.read_many(".", workers=2))


def test_a_root_that_processes_cannot_open_is_one_error(tree, workspace, capfd):
    tree.rename(tree.with_name("moved"))
    with pytest.raises(ChildProcessError) as raised:
        list(workspace.read_many("a.txt", workers=2))

    reason = f"a root must be an existing directory: {tree}"
    assert raised.value.strerror == f"a process that reads files cannot be started: {reason}"
    assert capfd.readouterr() == ("", "")


def test_the_first_example_of_the_page_runs_as_a_script(tree):
    page = (Path(__file__).parents[3] / "docs" / "bulk.md").read_text()
    (tree / "docs").mkdir()
    (tree / "docs" / "page.md").write_text("# Page\n")
    (tree / "src").mkdir()
    (tree / "src" / "app.py").write_text("def main(): ...\n")
    (tree / "example.py").write_text(page.partition("```python\n")[2].partition("```")[0])

    done = subprocess.run([sys.executable, "example.py"], cwd=tree, capture_output=True, text=True)

    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(done.stdout.splitlines()) == ["docs/page.md:1-1 4 ", "src/app.py:1-1 5 "]


def test_processes_end_with_a_caller_that_is_killed(tree):
    code = """
from eyespan import Workspace
records = Workspace(".").read_many(".", workers=2, ordered=True)
print(next(records).source, flush=True)
input()
"""
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    process = subprocess.Popen([sys.executable, "-c", code], cwd=tree, text=True, **pipes)
    assert process.stdout.readline() == "a.txt\n"
    process.kill()

    # Its processes share its standard error, which ends with the last of them.
    assert process.communicate(timeout=HANG_SECONDS) == ("", "")


# --- export ----------------------------------------------------------------------------------------------------------


def rows(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_an_export_has_the_columns_of_the_schema(workspace, tmp_path):
    report = export_lines(workspace, ["."], str(tmp_path / "out.jsonl"))

    assert (report.files, report.kept) == (8, 0)
    assert all(list(row) == list(SCHEMA) for row in rows(tmp_path / "out.jsonl"))


def test_a_second_run_reads_only_what_changed(workspace, tree, tmp_path):
    out = tmp_path / "out.jsonl"
    export_lines(workspace, ["."], str(out))
    before = out.read_bytes()
    again = export_lines(workspace, ["."], str(out))

    assert out.read_bytes() == before
    assert again.kept == again.files - 2, "errors are tried again"
    (tree / "a.txt").write_text("changed\n")
    (tree / "b[1].txt").unlink()
    (tree / "c.txt").write_text("new\n")
    changed = export_lines(workspace, ["."], str(out))
    assert changed.kept == changed.files - 4
    fresh = tmp_path / "fresh.jsonl"
    export_lines(workspace, ["."], str(fresh))
    assert out.read_bytes() == fresh.read_bytes()


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_killed_export_continues_to_the_same_bytes(tree, tmp_path):
    for number in range(400):
        (tree / f"n{number:03}.txt").write_text(f"{number}\n" * 50)
    whole, out = tmp_path / "whole.jsonl", tmp_path / "out.jsonl"
    command = [sys.executable, "-m", "eyespan", "--root", str(tree), "export", ".", "--to"]
    run(*command, str(whole))
    process = subprocess.Popen([*command, str(out)], stderr=subprocess.DEVNULL)
    part = tmp_path / "out.jsonl.part"
    while process.poll() is None and not (part.exists() and part.stat().st_size > 8192):
        time.sleep(0.001)
    process.kill()
    process.wait()

    run(*command, str(out))

    assert out.read_bytes() == whole.read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["out.jsonl", "tree", "whole.jsonl"]


@pytest.mark.parametrize("cut", [0, 1, 500, 2000])
def test_what_is_left_of_a_run_is_used_wherever_it_was_cut(cut, workspace, tmp_path):
    whole, out = tmp_path / "whole.jsonl", tmp_path / "out.jsonl"
    export_lines(workspace, ["."], str(whole))
    (tmp_path / "out.jsonl.part").write_bytes(whole.read_bytes()[:cut])

    export_lines(workspace, ["."], str(out))

    assert out.read_bytes() == whole.read_bytes()


def test_two_runs_never_write_one_file(workspace, tmp_path):
    out = str(tmp_path / "out.jsonl")
    started = []

    def start_another(report):
        if not started:
            started.append(report.files)
            with pytest.raises(OSError, match="another export writes this file"):
                export_lines(workspace, ["."], out)

    export_lines(workspace, ["."], out, on_progress=start_another)

    assert started == [1]
    assert len({row["source"] for row in rows(tmp_path / "out.jsonl")}) == 8


def test_of_two_killed_runs_the_longer_is_continued(workspace, tmp_path):
    whole, out = tmp_path / "whole.jsonl", tmp_path / "out.jsonl"
    files = export_lines(workspace, ["."], str(whole)).files
    lines = whole.read_bytes().splitlines(keepends=True)
    (tmp_path / "out.jsonl.resumed").write_bytes(b"".join(lines[:2]))
    (tmp_path / "out.jsonl.part").write_bytes(b"".join(lines[:4]))

    report = export_lines(workspace, ["."], str(out))

    assert (report.files, report.kept) == (files, 3), "the last file of a killed run may not be complete"
    assert out.read_bytes() == whole.read_bytes()


def test_files_that_are_read_again_among_others_share_one_pool(workspace, tree, tmp_path, monkeypatch):
    starts = []
    real = pool.BulkWorker
    monkeypatch.setattr(pool, "BulkWorker", lambda workspace: starts.append(1) or real(workspace))
    out = tmp_path / "out.jsonl"
    export_lines(workspace, ["."], str(out))
    before = out.read_bytes()

    export_lines(workspace, ["."], str(out), workers=1)

    assert (out.read_bytes(), len(starts)) == (before, 1)


def test_a_table_has_the_same_records(workspace, tmp_path):
    duckdb = pytest.importorskip("duckdb", reason="the extra `tables` is not installed")
    out = tmp_path / "o'ut.parquet"
    report = export_table(workspace, ["."], str(out))

    with duckdb.connect() as database:
        found = database.read_parquet(str(out).replace("'", "'")).fetchall()
    assert len(found) == report.records
    assert {row[0] for row in found} == {row["source"] for row in rows(tmp_path / "o'ut.parquet.jsonl")}


def test_the_command_explains_wrong_usage(tree, tmp_path):
    def run(*words):
        command = [sys.executable, "-m", "eyespan", "export", *words]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tree)
        return done.returncode, done.stderr

    assert run("a") == (2, "eyespan: export needs --to FILE. Try: eyespan export --help\n")
    assert run("a", "--to", "x.csv")[0] == 2
    assert run("a", "--to", "no/x.jsonl") == (2, "eyespan: --to no/x.jsonl: there is no directory no\n")


@pytest.mark.parametrize("to", ["-", "out.jsonl"])
def test_the_command_explains_processes_that_cannot_be_started(to, tree, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "executable", "/no/such/program")

    assert main(["--root", str(tree), "export", "a.txt", "--to", to, "--jobs", "2"]) == 1
    reason = "/no/such/program: No such file or directory"
    assert capfd.readouterr() == ("", f"eyespan: a process that reads files cannot be started: {reason}\n")


def test_records_are_values():
    assert Record("a", part=1) == Record("a", part=1)
    assert Record("a").as_json()["data"] == ""


def test_a_dataset_of_ray_has_the_columns_of_the_schema(workspace):
    pytest.importorskip("pyarrow", reason="Ray Data is not installed")
    from eyespan.extras.bulk.ray import RayReader

    table = RayReader(workspace, reading.Options()).table([("a.txt", "", "", None), ("nope", "not_found", "no", None)])

    assert table.column_names == list(SCHEMA)
    assert sorted(table.column("error_code").to_pylist()) == ["", "not_found"]


def test_the_walk_of_a_dataset_is_divided_by_directories(tree, workspace):
    from eyespan.extras.bulk.ray import RayWalker, _shards

    class Column(list):
        def tolist(self):
            return list(self)

    rows = [
        row
        for shard in _shards(workspace, ["."])
        for chunk in RayWalker(workspace)({"target": Column([shard])})
        for files in chunk["files"]
        for row in json.loads(files)
    ]

    assert sorted([row[0] for row in rows]) == sorted(paths(workspace, "."))
    assert _shards(workspace, ["*.txt"]) == ["*.txt"]


def test_a_process_sends_the_records_of_a_local_file_before_it_reads_the_next(tree):
    """It would otherwise hold the records of eight files."""
    code = """
import pickle, sys
from eyespan.extras.bulk import worker
events, dump = [], pickle.dump
worker.read_file = lambda workspace, path, options: events.append(f"read {path}") or [path]
pickle.dump = lambda value, file: (value and events.append(f"sent {value[0]}"), dump(value, file))
worker.main()
print(*events, sep=", ", file=sys.stderr)
"""
    with Workspace(tree) as workspace:
        sent = pickle.dumps(workspace) + pickle.dumps((["a", "b"], None))
    done = subprocess.run([sys.executable, "-c", code], input=sent, capture_output=True)

    assert done.stderr.decode() == "read a, sent a, read b, sent b\n"
