"""The cache of indexes: found again by other reads and threads, and never wrong or in the way."""

from __future__ import annotations

import errno
import os
import random
import threading

import pytest

from eyespan import Workspace
from eyespan.caches import ENTRY_BYTES
from eyespan.context import CallContext
from eyespan.errors import SystemFailure
from eyespan.guard.guarded_file import LocalFile
from eyespan.lines import index
from eyespan.lines.encodings import UTF8
from eyespan.lines.index import Indexer

MUCH_LATER = 2**62
"""The start of a read so late that the times of the file are proof."""


def test_another_read_uses_the_index(small_index, tmp_path, monkeypatch, forge):
    (tmp_path / "log").write_bytes(b"".join(b"line %d\n" % n for n in range(2000)))
    forge("log", tail=1)
    monkeypatch.setattr(index._native, "scan", None)

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

    def counted(fd, start, end, stride):
        return bytes((end - start) // stride * 4), end  # the counts of holes, without the seconds

    monkeypatch.setattr(index._native, "scan", counted)
    monkeypatch.setattr(index, "MOST_SCAN_BYTES", 1 << 30)
    Workspace(tmp_path).tool("codex").call({"file_path": str(tmp_path / "holes"), "offset": 3})

    (made,) = index._indexes.values()
    assert made.covered > 900 << 30
    assert made.size_bytes < 2 << 20


# --- failures ------------------------------------------------------------------------------------------------------


@pytest.fixture
def indexed(file, open_source, monkeypatch):
    """A file, and an index of it that the cache trusts."""
    monkeypatch.setattr(index, "RACY_NS", 0)
    monkeypatch.setattr(index, "TRUST_GROWTH_BYTES", 1)
    source = open_source(file(b"line\n" * 200_000))
    made = Indexer(source, UTF8, CallContext())
    made.end(source.size_bytes)
    return source, made.index


def test_a_file_that_changed_during_the_scan_other_than_by_growing_is_not_cached(indexed):
    source, found = indexed
    os.truncate(f"/proc/self/fd/{source.fd}", 10)

    index.put(source, b"\n", found, MUCH_LATER)

    assert index.find(source, b"\n") is None


def test_an_index_whose_file_is_gone_from_its_server_is_not_cached(indexed, monkeypatch):
    source, found = indexed

    def fails(_):
        raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))

    monkeypatch.setattr(LocalFile, "status_now", fails)
    index.put(source, b"\n", found, MUCH_LATER)

    assert len(index._indexes) == 0


def test_an_index_whose_file_cannot_be_sampled_is_neither_cached_nor_trusted(indexed, monkeypatch):
    source, found = indexed
    index.put(source, b"\n", found, MUCH_LATER)
    assert index.find(source, b"\n") is not None

    def unreadable(*_):
        raise SystemFailure("", errno.EIO)

    monkeypatch.setattr(index, "fingerprint", unreadable)
    source.size_bytes += 1
    assert index.find(source, b"\n") is None
    index.put(source, b"\n", found, MUCH_LATER)
    assert len(index._indexes) == 0
