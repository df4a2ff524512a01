"""Many objects: several are read at the same time, and unchanged ones are not read again."""

from __future__ import annotations

import threading

import pytest

from eyespan import Workspace
from eyespan.extras.bulk.export import export_lines
from eyespan.extras.remote import remote_file

from .bucket_server import BucketServer

COUNT = 40
AT_ONCE = 6


@pytest.fixture(params=["s3", "gs", "az"])
def bucket(request, monkeypatch):
    server = BucketServer(request.param)
    server.files = {f"d/{number:02}.py": b"def f(): pass\n" for number in range(COUNT)}
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    yield server
    server.close()


def answer_together(server, is_one=lambda handler: ".py" in handler.path):
    """Answer the first `AT_ONCE` of these requests only when all of them were made."""
    together = threading.Barrier(AT_ONCE)
    first = [None] * AT_ONCE
    answer = server.answer

    def wait(handler):
        if is_one(handler) and first:
            first.pop()
            together.wait(60)
        answer(handler)

    server.answer = wait


def test_an_export_of_unchanged_objects_takes_a_listing(bucket, tmp_path):
    target = str(tmp_path / "out.jsonl")
    with Workspace(f"{bucket.root}/d") as workspace:
        first = export_lines(workspace, ["."], target)
        bucket.files["d/07.py"] = b"def g(): pass\n"
        bucket.etags["d/07.py"] = '"two"'
        bucket.requests.clear()
        second = export_lines(workspace, ["."], target)
        requests = len(bucket.requests)
        bucket.requests.clear()
        third = export_lines(workspace, ["."], target)

    assert (first.kept, second.kept, third.kept) == (0, COUNT - 1, COUNT)
    assert (requests, len(bucket.requests)) == (2, 1)


@pytest.mark.parametrize("workers", [0, 1])
def test_a_process_reads_several_objects_at_the_same_time(workers, bucket):
    answer_together(bucket)
    with Workspace(f"{bucket.root}/d", deadline_seconds=60) as workspace:
        records = list(workspace.read_many(".", workers=workers))

    assert [record.source for record in records] == [f"{number:02}.py" for number in range(COUNT)]
    assert {record.error_code for record in records} == {""}


def test_a_map_reads_several_objects_at_the_same_time(bucket):
    answer_together(bucket)
    with Workspace(f"{bucket.root}/d", deadline_seconds=60) as workspace:
        text = workspace.tool("native").call({"files": ["**"]}).text

    assert text.count(".py") == COUNT


def test_a_scan_reads_several_ranges_at_the_same_time(bucket, monkeypatch):
    monkeypatch.setattr(remote_file, "RANGE_BYTES", 1 << 18)
    bucket.files["d/big.log"] = b"line of a log\n" * 300_000
    second_step = remote_file.FIRST_BYTES + remote_file.BLOCK_BYTES + (1 << 20)
    answer_together(bucket, lambda handler: int(handler.headers["Range"][6:].partition("-")[0]) >= second_step)
    with Workspace(f"{bucket.root}/d", deadline_seconds=60) as workspace:
        reply = workspace.tool("codex").call({"file_path": f"{workspace.roots[0].path}/big.log", "offset": 290_000})

    assert reply.text.startswith("L290000: line of a log\n")


def test_an_export_reads_a_large_text_once(bucket):
    bucket.files = {"d/big.log": b"line of a log\n" * 600_000}
    with Workspace(f"{bucket.root}/d", deadline_seconds=60) as workspace:
        text = "".join([record.text for record in workspace.read_many(".")])

    ranges = [list(map(int, wanted[6:].split("-"))) for _, wanted in bucket.requests if wanted]
    assert text.encode() == bucket.files["d/big.log"]
    assert sum([last - first + 1 for first, last in ranges]) == max(len(text), remote_file.FIRST_BYTES)
