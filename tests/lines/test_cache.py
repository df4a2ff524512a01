"""The cache of indexes: found again by other reads, threads and processes, and never wrong or in the way."""

from __future__ import annotations

import errno
import os
import random
import subprocess
import sys
import threading
from array import array
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyespan import Workspace
from eyespan.caches import ENTRY_BYTES
from eyespan.context import CallContext
from eyespan.errors import SystemFailure
from eyespan.guard.guarded_file import LocalFile
from eyespan.lines import cache, index
from eyespan.lines.cache import IndexCache
from eyespan.lines.encodings import UTF8
from eyespan.lines.index import Indexer, LineIndex
from tests.sizes import examples

STRIDE = 64
"""The stride of the fixture `small_index`."""
MUCH_LATER = 2**62
"""The start of a read so late that the times of the file are proof."""


def fails(number):
    def call(*_, **__):
        raise OSError(number, os.strerror(number))

    return call


def test_another_process_uses_the_index_of_this_one(small_index, tmp_path, monkeypatch, forge):
    (tmp_path / "log").write_bytes(b"".join(b"line %d\n" % n for n in range(2000)))
    forge("log", tail=1)
    monkeypatch.setattr(cache, "_shared", IndexCache(small_index.directory))  # as in a new process
    monkeypatch.setattr(index._native, "scan", None)

    assert forge("log", start_line=1500, limit=1).text == "line 1499\n"


def test_the_cache_is_private_and_holds_neither_names_nor_contents(small_index, tmp_path, forge):
    (tmp_path / "secret-name.log").write_bytes(b"secret contents\n" * 200)
    forge("secret-name.log", tail=1)

    (file,) = os.scandir(small_index.directory)
    data = Path(file.path).read_bytes()
    assert os.stat(small_index.directory).st_mode & 0o777 == 0o700
    assert file.stat().st_mode & 0o777 == 0o600
    assert "secret" not in file.name
    assert b"secret" not in data


@settings(max_examples=examples(60), deadline=None)
@given(st.data())
def test_a_damaged_cache_is_ignored(data):
    made = LineIndex()
    made.append(array("I", [3, 0, 7]).tobytes())
    made.fingerprint = b"p" * 16
    key = (data.draw(st.sampled_from([5, 2**64 - 2])), 6, b"\n")
    packed = cache._pack(key, made)
    at = data.draw(st.integers(0, len(packed) - 1))
    kind = data.draw(st.sampled_from(["flip", "cut", "grow"]))
    if kind == "flip":
        damaged = packed[:at] + bytes([packed[at] ^ data.draw(st.integers(1, 255))]) + packed[at + 1 :]
    else:
        damaged = packed[:at] if kind == "cut" else packed + b"\0" * (at + 1)

    assert cache._unpack(packed, key).counts == made.counts
    assert cache._unpack(packed, (key[0], 7, b"\n")) is None
    assert cache._unpack(damaged, key) is None


def test_a_file_that_grows_a_little_is_not_written_down_each_time(small_index, tmp_path, forge):
    log = tmp_path / "log"
    log.write_bytes(b"".join(b"line %d\n" % n for n in range(200)))
    forge("log", tail=1)
    (cached,) = (tmp_path / "cache").iterdir()
    written = cached.stat().st_ino

    with log.open("ab") as file:
        file.write(b"a" * STRIDE)
    forge("log", tail=1)
    assert cached.stat().st_ino == written

    with log.open("ab") as file:
        file.write(b"a" * 4 * STRIDE)
    forge("log", tail=1)
    assert cached.stat().st_ino != written


def test_a_damaged_cache_file_costs_a_scan_and_no_error(small_index, tmp_path, monkeypatch, forge):
    (tmp_path / "log").write_bytes(b"".join(b"line %d\n" % n for n in range(2000)))
    forge("log", tail=1)
    (file,) = os.scandir(small_index.directory)
    with open(file.path, "r+b") as written:
        written.seek(100)
        written.write(b"\xff\xff\xff\xff")
    monkeypatch.setattr(cache, "_shared", IndexCache(small_index.directory))

    assert forge("log", start_line=1500, limit=1).text == "line 1499\n"


def test_a_directory_that_cannot_be_written_is_no_error(small_index, tmp_path, forge):
    (tmp_path / "file").write_bytes(b"")
    small_index.directory = str(tmp_path / "file" / "cache")
    (tmp_path / "log").write_bytes(b"x\n" * 2000)

    assert forge("log", tail=1).text == "x\n"


def test_the_cache_is_bounded(small_index, tmp_path, monkeypatch, forge):
    monkeypatch.setattr(cache, "DISK_TOTAL_BYTES", 1000)
    small_index._indexes.max_entries = 3
    for number in range(8):
        (tmp_path / f"log{number}").write_bytes(b"x\n" * 2000)
        forge(f"log{number}", tail=1)

    assert sum(file.stat().st_size for file in os.scandir(small_index.directory)) <= 1000
    assert len(small_index._indexes) <= 3


def test_the_indexes_in_memory_are_bounded_in_bytes(small_index, tmp_path, monkeypatch, forge):
    for number in range(8):
        (tmp_path / f"log{number}").write_bytes(b"x\n" * 2000)
        forge(f"log{number}", tail=1)
        if number == 0:
            (first,) = small_index._indexes.values()
            small_index._indexes.max_bytes = 3 * (first.size_bytes + ENTRY_BYTES)

    assert len(small_index._indexes) == 3


def test_a_link_in_the_cache_is_not_followed(indexed, tmp_path):
    made, source, found = indexed
    made.put(source, b"\n", found, MUCH_LATER)
    key = cache._key(source, b"\n")
    file = Path(made.directory, cache._name(key))
    file.rename(tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")

    assert made._load(key) is None


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


TWO_PROCESSES = """
import random, sys
from eyespan import Workspace
from eyespan.lines import cache
root, seed = sys.argv[1], int(sys.argv[2])
cache.DISK_MIN_BYTES = 1
cache.DISK_STEP_BYTES = 1
choose = random.Random(seed)
tool = Workspace(root).tool("codex")
for _ in range(15):
    cache._shared = None
    line = choose.randint(1, 700_000)
    text = tool.call({"file_path": f"{root}/log", "offset": line, "limit": 1}).text
    assert text == f"L{line}: line {line}", text
"""


def test_processes_share_one_directory(tmp_path):
    with (tmp_path / "log").open("wb") as file:
        for start in range(1, 700_001, 10_000):
            file.write(b"".join(b"line %d\n" % n for n in range(start, start + 10_000)))
    environment = {**os.environ, "EYESPAN_CACHE": str(tmp_path / "cache")}
    running = [
        subprocess.Popen([sys.executable, "-c", TWO_PROCESSES, str(tmp_path), str(seed)], env=environment)
        for seed in range(3)
    ]

    assert [process.wait() for process in running] == [0, 0, 0]
    assert list((tmp_path / "cache" / "index").glob("*.lines"))


def test_an_endless_file_asked_again_and_again_takes_no_more_memory(tmp_path, monkeypatch):
    """The index is cached for the next call, also after a call that is given up; here 1 TB of holes."""
    monkeypatch.setattr(cache, "_shared", IndexCache(str(tmp_path / "cache")))
    with (tmp_path / "holes").open("wb") as file:
        file.write(b"text\n")
        file.truncate(1 << 40)

    def counted(fd, start, end, stride):
        return bytes((end - start) // stride * 4), end  # the counts of holes, without the seconds

    monkeypatch.setattr(index._native, "scan", counted)
    Workspace(tmp_path).tool("codex").call({"file_path": str(tmp_path / "holes"), "offset": 3})

    (made,) = cache._shared._indexes.values()
    assert made.covered > 900 << 30
    assert made.size_bytes < 2 << 20
    assert sum(path.stat().st_size for path in (tmp_path / "cache").iterdir()) < 2 << 20


# --- failures ------------------------------------------------------------------------------------------------------


@pytest.fixture
def indexed(file, open_source, tmp_path, monkeypatch):
    """A cache on disk that takes files of any size, a file, and an index of it."""
    monkeypatch.setattr(cache, "DISK_MIN_BYTES", 1)
    monkeypatch.setattr(cache, "DISK_STEP_BYTES", 1)
    monkeypatch.setattr(cache, "RACY_NS", 0)
    monkeypatch.setattr(cache, "TRUST_GROWTH_BYTES", 1)
    source = open_source(file(b"line\n" * 200_000))
    made = Indexer(source, UTF8, CallContext(), None)
    made.end(source.size_bytes)
    return IndexCache(str(tmp_path / "cache")), source, made.index


def names(made):
    return sorted(os.listdir(made.directory)) if os.path.isdir(made.directory) else []


def test_a_file_that_changed_during_the_scan_other_than_by_growing_is_not_cached(indexed):
    made, source, found = indexed
    os.truncate(f"/proc/self/fd/{source.fd}", 10)

    made.put(source, b"\n", found, MUCH_LATER)

    assert made.find(source, b"\n") is None
    assert names(made) == []


def test_an_index_whose_file_is_gone_from_its_server_is_not_cached(indexed, monkeypatch):
    made, source, found = indexed
    monkeypatch.setattr(LocalFile, "status_now", fails(errno.ESTALE))

    made.put(source, b"\n", found, MUCH_LATER)

    assert (len(made._indexes), names(made)) == (0, [])


def test_an_index_whose_file_cannot_be_sampled_is_neither_cached_nor_trusted(indexed, monkeypatch):
    made, source, found = indexed
    made.put(source, b"\n", found, MUCH_LATER)
    assert made.find(source, b"\n") is not None

    def unreadable(*_):
        raise SystemFailure("", errno.EIO)

    monkeypatch.setattr(cache, "fingerprint", unreadable)
    source.size_bytes += 1
    assert made.find(source, b"\n") is None
    made.put(source, b"\n", found, MUCH_LATER)
    assert len(made._indexes) == 0


@pytest.mark.parametrize("call", ["read", "fstat"])
def test_a_cache_that_cannot_be_read_is_none(call, indexed, monkeypatch):
    made, source, found = indexed
    made.put(source, b"\n", found, MUCH_LATER)
    made._indexes.clear()
    with monkeypatch.context() as patch:
        patch.setattr(cache.os, call, fails(errno.EIO))
        found = made._load(cache._key(source, b"\n"))

    assert found is None


def test_a_cache_of_another_user_or_too_large_is_none(indexed, monkeypatch):
    made, source, found = indexed
    made.put(source, b"\n", found, MUCH_LATER)
    key = cache._key(source, b"\n")
    assert made._load(key) is not None
    with monkeypatch.context() as patch:
        patch.setattr(cache.os, "getuid", lambda: os.geteuid() + 1)
        assert made._load(key) is None
    monkeypatch.setattr(cache, "DISK_TOTAL_BYTES", 1)
    assert made._load(key) is None


def test_a_cache_that_was_written_in_part_is_removed(indexed, monkeypatch):
    made, source, found = indexed
    real = os.write
    monkeypatch.setattr(cache.os, "write", lambda fd, data: real(fd, data[:10]))

    made._save(cache._key(source, b"\n"), found.stamped(1, None, b"x" * 16))

    assert names(made) == []


def test_a_cache_file_that_cannot_be_put_in_place_or_removed_is_no_error(indexed, monkeypatch):
    made, source, found = indexed
    monkeypatch.setattr(cache.os, "replace", fails(errno.EACCES))
    monkeypatch.setattr(cache.os, "unlink", fails(errno.EACCES))

    made._save(cache._key(source, b"\n"), found.stamped(1, None, b"x" * 16))

    assert made.find(source, b"\n") is None


@pytest.fixture
def opened_directory(indexed):
    """A cache whose directory exists and is open."""
    made, _, _ = indexed
    fd = cache.open_directory(made.directory, create=True)
    yield made, fd
    os.close(fd)


def write_entry(made, name, size=100, age=0):
    path = os.path.join(made.directory, name)
    with open(path, "wb") as written:
        written.write(bytes(size))
    os.utime(path, (1_000_000_000 - age, 1_000_000_000 - age))
    return path


def test_another_process_may_remove_the_oldest_first(opened_directory, monkeypatch):
    made, fd = opened_directory
    for number in range(3):
        write_entry(made, f"{number}-a-0a.lines")
    real = os.stat

    def stat(name, **more):
        if str(name).startswith("1-"):
            raise FileNotFoundError
        return real(name, **more)

    monkeypatch.setattr(cache.os, "stat", stat)
    monkeypatch.setattr(cache, "DISK_TOTAL_BYTES", 50)
    monkeypatch.setattr(cache.os, "unlink", fails(errno.ENOENT))

    cache._remove_oldest(fd)

    assert len(names(made)) == 3


FOREIGN = ["thesis.bin", "notes.lines", "1-2-0a.lines~", "1-2-0a.txt", "1-2.lines", "1-2-0a.linesx", "-1-2-0a.lines"]


def test_only_files_of_the_cache_are_removed_the_oldest_first(opened_directory, monkeypatch):
    made, fd = opened_directory
    for name in FOREIGN:
        write_entry(made, name, size=5000, age=1000)
    os.symlink("thesis.bin", os.path.join(made.directory, "9-9-0a.lines"))
    os.mkdir(os.path.join(made.directory, "8-8-0a.lines"))
    write_entry(made, "1-1-0a.lines", age=30)
    write_entry(made, "2-2-0a.lines.77-ab", age=20)
    write_entry(made, "3-3-0a.lines", age=10)
    monkeypatch.setattr(cache, "DISK_TOTAL_BYTES", 100)

    cache._remove_oldest(fd)

    assert names(made) == sorted([*FOREIGN, "9-9-0a.lines", "8-8-0a.lines", "3-3-0a.lines"])


def test_files_of_another_user_are_not_removed(opened_directory, monkeypatch):
    made, fd = opened_directory
    write_entry(made, "1-1-0a.lines")
    monkeypatch.setattr(cache, "DISK_TOTAL_BYTES", 1)
    with monkeypatch.context() as patch:
        patch.setattr(cache.os, "getuid", lambda: os.geteuid() + 1)

        cache._remove_oldest(fd)

    assert names(made) == ["1-1-0a.lines"]


@pytest.mark.parametrize("what", ["link", "open to others", "another user", "file"])
def test_a_directory_that_is_not_private_is_not_used(what, indexed, tmp_path, monkeypatch):
    made, source, found = indexed
    other = tmp_path / "other"
    other.mkdir(mode=0o700)
    match what:
        case "link":
            os.symlink(other, made.directory)
        case "open to others":
            os.mkdir(made.directory)
            os.chmod(made.directory, 0o755)
        case "another user":
            os.mkdir(made.directory, 0o700)
            monkeypatch.setattr(cache.os, "getuid", lambda: os.geteuid() + 1)
        case "file":
            (tmp_path / "cache").write_text("")

    made._save(cache._key(source, b"\n"), found.stamped(1, None, b"x" * 16))

    assert (names(made), os.listdir(other)) == ([], [])
    assert made._load(cache._key(source, b"\n")) is None


def test_a_directory_without_a_status_is_not_used(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(cache.os, "fstat", fails(errno.EIO))
        found = cache.open_directory(str(tmp_path))

    assert found is None


def test_a_cache_changes_the_times_of_no_file(indexed, monkeypatch):
    made, source, found = indexed
    made.put(source, b"\n", found, MUCH_LATER)
    monkeypatch.setattr(os, "utime", fails(errno.EPERM))

    assert made._load(cache._key(source, b"\n")) is not None


def test_a_cache_whose_counts_do_not_add_up_is_none(indexed):
    _, source, found = indexed
    key = cache._key(source, b"\n")
    short = LineIndex()
    short.append(found.counts)
    data = cache._pack(key, found.stamped(1, None, b"x" * 16))
    body = data[:-16][:-4]  # one count less than the header has

    assert cache._unpack(data, key) is not None
    assert cache._unpack(body + cache.digest(body), key) is None
    assert array("I", [1]).itemsize == 4


def test_the_user_chooses_the_directory(monkeypatch):
    monkeypatch.setenv("EYESPAN_CACHE", "off")
    assert cache.cache_directory() is None
    monkeypatch.setenv("EYESPAN_CACHE", "/somewhere")
    assert cache.cache_directory() == "/somewhere/index"
    monkeypatch.delenv("EYESPAN_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    assert cache.cache_directory() == "/cache/eyespan/index"
    monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")
    assert cache.cache_directory() is None


def test_the_cache_of_a_process_is_made_once(monkeypatch):
    monkeypatch.setattr(cache, "_shared", None)

    assert cache.shared() is cache.shared()
