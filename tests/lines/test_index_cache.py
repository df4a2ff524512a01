"""The cache of indexes: found again by other reads and threads, and never wrong or in the way."""

from __future__ import annotations

import errno
import os
import random
import threading
from dataclasses import replace

import pytest

from eyespan import Workspace
from eyespan.caches import ENTRY_BYTES
from eyespan.context import CallContext
from eyespan.guard.guarded_file import LocalFile
from eyespan.lines import index
from eyespan.lines.encodings import UTF8
from eyespan.lines.index import Indexer


def test_another_read_uses_the_index(small_index, tmp_path, monkeypatch, forge):
    (tmp_path / "log").write_bytes(b"".join(b"line %d\n" % n for n in range(2000)))
    forge("log", tail=1)
    monkeypatch.setattr(Indexer, "_scan", None)

    assert forge("log", start_line=1500, limit=1).text == "line 1499\n"


def test_the_indexes_in_memory_are_bounded_in_bytes(small_index, tmp_path, monkeypatch, forge):
    for number in range(8):
        (tmp_path / f"log{number}").write_bytes(b"x\n" * 2000)
        forge(f"log{number}", tail=1)
        if number == 0:
            (first,) = small_index.values()
            monkeypatch.setattr(small_index, "max_bytes", 3 * (first.size_bytes + ENTRY_BYTES))

    assert len(small_index) == 3


def test_threads_share_one_cache(small_index, tmp_path, forge):
    (tmp_path / "log").write_bytes(b"".join(b"line %d\n" % n for n in range(5000)))
    wrong = []

    def read(seed):
        choose = random.Random(seed)
        for _ in range(60):
            line = choose.randint(1, 5000)
            if forge("log", start_line=line, limit=1).text != f"line {line - 1}\n":
                wrong.append(line)

    threads = [threading.Thread(target=read, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert wrong == []


def test_an_endless_file_asked_again_and_again_takes_no_more_memory(tmp_path, monkeypatch):
    """The index is cached for the next call, also after a call that is given up; here 1 TB of holes."""
    with (tmp_path / "holes").open("wb") as file:
        file.write(b"text\n")
        file.truncate(1 << 40)

    def counted(self, start, end, stride):
        return [0] * ((end - start) // stride)  # the counts of holes, without the seconds

    monkeypatch.setattr(Indexer, "_count", counted)
    monkeypatch.setattr(index, "SCAN_BYTES", 1 << 30)
    monkeypatch.setattr("eyespan.source.RACY_NS", 0)
    Workspace(tmp_path).tool("codex").call({"file_path": str(tmp_path / "holes"), "offset": 3})

    (made,) = index._indexes.values()
    assert made.covered > 900 << 30
    assert made.size_bytes < 2 << 20


# --- failures ------------------------------------------------------------------------------------------------------


@pytest.fixture
def indexed(file, open_source, monkeypatch):
    """A large file with old times, and the finder of its lines, which has an index of all of it."""
    monkeypatch.setattr("eyespan.source.RACY_NS", 0)
    monkeypatch.setattr(index, "MIN_FILE_BYTES", 1)
    index._indexes.clear()
    source = open_source(file(b"line\n" * 200_000))
    made = Indexer(source, UTF8, CallContext())
    made.end(source.size_bytes)
    yield source, made
    index._indexes.clear()


def test_the_index_of_a_file_that_did_not_change_is_cached(indexed):
    source, made = indexed
    made.save()

    assert index._indexes.values() == [made.index]
    assert Indexer(source, UTF8, CallContext()).index is made.index


def test_the_index_of_a_file_with_young_times_is_not_cached(indexed, monkeypatch):
    monkeypatch.setattr("eyespan.source.RACY_NS", 2**62)

    indexed[1].save()

    assert index._indexes.values() == []


def test_an_index_of_a_file_that_changed_during_the_scan_is_not_cached(indexed):
    source, made = indexed
    os.truncate(f"/proc/self/fd/{source.fd}", 10)

    made.save()

    assert index._indexes.values() == []


@pytest.mark.parametrize("number", [errno.ESTALE, errno.EIO])
def test_an_index_whose_file_has_no_status_any_more_is_not_cached(indexed, monkeypatch, number):
    def fails(_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(LocalFile, "status_now", fails)
    indexed[1].save()

    assert index._indexes.values() == []


def test_an_index_of_another_line_feed_is_not_used(indexed):
    source, made = indexed
    made.save()

    other = Indexer(source, replace(UTF8, newline=b"\n\0"), CallContext())

    assert other.index.covered == 0
