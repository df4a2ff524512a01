"""The index against a plain reader: any line of any file, whatever happens to the file between two reads."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
from array import array
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyespan import Workspace
from eyespan.lines import cache as store_module
from eyespan.lines import index as index_module
from eyespan.lines import reader as reader_module
from eyespan.lines.cache import Store
from eyespan.lines.index import LineIndex
from eyespan.model import Lines, ReadRequest

STRIDE = 64


@pytest.fixture(params=[1 << 18, 8], ids=["", "coarse"])
def small_blocks(request, monkeypatch, tmp_path):
    """Sizes a thousand times smaller, so that small files meet every border; a store of its own, on disk too."""
    monkeypatch.setattr(index_module, "MOST_BLOCKS", request.param)
    for module in (index_module, store_module):
        monkeypatch.setattr(module, "STRIDE", STRIDE)
    monkeypatch.setattr(index_module, "GROUP", 4)
    monkeypatch.setattr(index_module, "FIRST_SCAN_BYTES", 2 * STRIDE)
    monkeypatch.setattr(index_module, "LARGEST_SCAN_BYTES", 8 * STRIDE)
    monkeypatch.setattr(index_module, "SAMPLE_BYTES", 16)
    monkeypatch.setattr(reader_module.LineReader, "index_min_bytes", 1)
    monkeypatch.setattr(reader_module.LineReader, "block_bytes", 2 * STRIDE)
    monkeypatch.setattr(reader_module.LineReader, "cheap_bytes", STRIDE)
    monkeypatch.setattr("eyespan.source.Source.max_first_bytes", STRIDE)
    monkeypatch.setattr(store_module, "DISK_MIN_BYTES", 4 * STRIDE)
    monkeypatch.setattr(store_module, "DISK_STEP_BYTES", 4 * STRIDE)
    monkeypatch.setattr(store_module, "RACY_NS", 0)
    monkeypatch.setattr(store_module, "TRUST_GROWTH_BYTES", 1)
    store = Store(str(tmp_path / "cache"))
    monkeypatch.setattr(store_module, "_shared", store)
    return store


def lines_of(data):
    lines = data.split(b"\n")
    ends = [line + b"\n" for line in lines[:-1]]
    return [*ends, lines[-1]] if lines[-1] else ends


def forge(root, path, **arguments):
    tool = Workspace(root).tool("forge", max_file_read_bytes=10**9, max_scan_bytes=10**9, show_line_numbers=False)
    return tool.call({"path": path, **arguments})


def check_reads(root, path, data, choose):
    lines = lines_of(data)
    first = choose.randint(1, len(lines) + 2)
    count = choose.randint(1, 5)
    reply = forge(root, path, start_line=first, limit=count)
    if first <= len(lines):
        assert reply.text.encode() == b"".join(lines[first - 1 : first - 1 + count])
        assert reply.structured["start_line"] == first
    elif lines:
        assert f"exceeds file line count {len(lines)}" in reply.error.message
    tail = forge(root, path, tail=count)
    assert tail.text.encode() == b"".join(lines[-count:])
    assert tail.structured["total_lines"] == len(lines)


def random_text(choose, size):
    return bytes(choose.choice(b"ab\n\n cdefghijklmnop") for _ in range(size))


@pytest.mark.parametrize("trusting", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_no_change_of_a_file_gives_a_wrong_line(small_blocks, tmp_path, monkeypatch, seed, trusting):
    """Below the size from which growth is trusted a file may change in any way; above it is read after each change."""
    if not trusting:
        monkeypatch.setattr(store_module, "TRUST_GROWTH_BYTES", 10**9)
    choose = random.Random(seed)
    path = tmp_path / "log"
    data = random_text(choose, 2000)
    path.write_bytes(data)
    for step in range(300):
        match choose.randrange(9):
            case 0 | 1:  # grow
                more = random_text(choose, choose.randint(1, 400))
                with path.open("ab") as file:
                    file.write(more)
                data += more
            case 2:  # rewritten in place, as long as before
                at = choose.randrange(len(data) or 1)
                piece = random_text(choose, min(len(data) - at, choose.randint(1, 30)))
                data = data[:at] + piece + data[at + len(piece) :]
                with path.open("r+b") as file:
                    file.seek(at)
                    file.write(piece)
            case 3:  # cut short
                data = data[: choose.randint(0, len(data))]
                os.truncate(path, len(data))
            case 4:  # rotated: another file under the name
                data = random_text(choose, choose.randint(0, 3000))
                (tmp_path / "new").write_bytes(data)
                os.replace(tmp_path / "new", path)
            case 5:  # written anew in place
                data = random_text(choose, choose.randint(0, 3000))
                path.write_bytes(data)
            case 6:
                small_blocks.forget()
            case _:
                pass
        if step % 3 or trusting:
            check_reads(tmp_path, "log", data, choose)
        if len(data) > 6000:
            data = data[:2000]
            os.truncate(path, 2000)


def test_following_a_log_reads_only_what_was_appended(small_blocks, tmp_path, monkeypatch):
    path = tmp_path / "log"
    path.write_bytes(b"".join(b"line %d\n" % n for n in range(2000)))
    assert forge(tmp_path, "log", tail=1).text == "line 1999\n"
    scanned = []
    scan = index_module._native.scan
    monkeypatch.setattr(
        index_module._native,
        "scan",
        lambda fd, start, end, stride: scanned.append(start) or scan(fd, start, end, stride),
    )
    (index,) = small_blocks._kept.values()
    covered = path.stat().st_size // index.stride * index.stride
    with path.open("ab") as file:
        file.write(b"".join(b"line %d\n" % n for n in range(2000, 3000)))

    reply = forge(tmp_path, "log", tail=2)

    assert reply.text == "line 2998\nline 2999\n"
    assert reply.structured["total_lines"] == 3000
    assert min(scanned) == covered


def test_a_known_line_is_found_without_a_scan(small_blocks, tmp_path, monkeypatch):
    (tmp_path / "log").write_bytes(b"".join(b"line %d\n" % n for n in range(2000)))
    forge(tmp_path, "log", start_line=1900, limit=1)
    monkeypatch.setattr(index_module._native, "scan", None)  # any call would fail

    assert forge(tmp_path, "log", start_line=1500, limit=2).text == "line 1499\nline 1500\n"


def test_the_number_of_lines_is_told_where_the_index_knows_it(small_blocks, tmp_path):
    """Of a large file nobody counts them for a window at its start; once they were counted they are known."""
    (tmp_path / "log").write_bytes(b"".join(b"line %d\n" % n for n in range(2000)))
    engine = Workspace(tmp_path).engine
    window = ReadRequest("log", Lines(3, 1))

    before = engine.read(window).parts[0]
    forge(tmp_path, "log", tail=1)
    after = engine.read(window).parts[0]

    assert (bytes(before.data), before.total_lines) == (b"line 2\n", None)
    assert (bytes(after.data), after.total_lines) == (b"line 2\n", 2000)


def test_scans_grow_while_they_are_quick_and_shrink_when_they_are_slow(small_blocks, tmp_path, monkeypatch):
    """A scan cannot be stopped on the way: on a slow disk each must end soon."""
    (tmp_path / "log").write_bytes(b"line\n" * 2000)
    clock = 0.0
    seconds_a_block = 0.001
    sizes = []
    scan = index_module._native.scan

    def timed(fd, start, end, stride):
        nonlocal clock, seconds_a_block
        sizes.append((end - start) // STRIDE)
        clock += sizes[-1] * seconds_a_block
        if len(sizes) == 3:
            seconds_a_block = 0.05
        return scan(fd, start, end, stride)

    monkeypatch.setattr(index_module._native, "scan", timed)
    monkeypatch.setattr(index_module, "MOST_BLOCKS", 1 << 18)
    monkeypatch.setattr(index_module, "LARGEST_SCAN_BYTES", 64 * STRIDE)
    monkeypatch.setattr(index_module, "BLIND_SCAN_BYTES", STRIDE)
    monkeypatch.setattr(index_module, "time", SimpleNamespace(monotonic=lambda: clock))

    assert forge(tmp_path, "log", tail=1).structured["total_lines"] == 2000
    assert sizes == [2, 8, 32, 64, *[2] * 25]  # 4 s for the 64, and 0.1 s is wanted


def test_an_early_line_does_not_scan_the_whole_file(small_blocks, tmp_path):
    (tmp_path / "log").write_bytes(b"x\n" * 50_000)

    forge(tmp_path, "log", start_line=200, limit=1)

    (index,) = small_blocks._kept.values()
    assert index.covered < 5000


def test_another_process_uses_what_this_one_learned(small_blocks, tmp_path, monkeypatch):
    (tmp_path / "log").write_bytes(b"".join(b"line %d\n" % n for n in range(2000)))
    forge(tmp_path, "log", tail=1)
    monkeypatch.setattr(store_module, "_shared", Store(small_blocks.folder))  # as a new process has it
    monkeypatch.setattr(index_module._native, "scan", None)

    assert forge(tmp_path, "log", start_line=1500, limit=1).text == "line 1499\n"


def test_the_cache_is_private_and_holds_neither_names_nor_contents(small_blocks, tmp_path):
    (tmp_path / "secret-name.log").write_bytes(b"secret contents\n" * 200)
    forge(tmp_path, "secret-name.log", tail=1)

    (file,) = os.scandir(small_blocks.folder)
    data = Path(file.path).read_bytes()
    assert os.stat(small_blocks.folder).st_mode & 0o777 == 0o700
    assert file.stat().st_mode & 0o777 == 0o600
    assert "secret" not in file.name
    assert b"secret" not in data


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_damaged_cache_is_ignored(data):
    index = LineIndex()
    index.append(array("I", [3, 0, 7]).tobytes())
    index.print = b"p" * 16
    key = (data.draw(st.sampled_from([5, 2**64 - 2])), 6, b"\n")
    packed = store_module._pack(key, index)
    at = data.draw(st.integers(0, len(packed) - 1))
    kind = data.draw(st.sampled_from(["flip", "cut", "grow"]))
    if kind == "flip":
        damaged = packed[:at] + bytes([packed[at] ^ data.draw(st.integers(1, 255))]) + packed[at + 1 :]
    else:
        damaged = packed[:at] if kind == "cut" else packed + b"\0" * (at + 1)

    assert store_module._unpack(packed, key).counts == index.counts
    assert store_module._unpack(packed, (key[0], 7, b"\n")) is None
    assert store_module._unpack(damaged, key) is None


def test_a_file_that_grows_a_little_is_not_written_down_each_time(small_blocks, tmp_path):
    log = tmp_path / "log"
    log.write_bytes(b"".join(b"line %d\n" % n for n in range(200)))
    forge(tmp_path, "log", tail=1)
    (kept,) = (tmp_path / "cache").iterdir()
    written = kept.stat().st_ino

    with log.open("ab") as file:
        file.write(b"a" * STRIDE)
    forge(tmp_path, "log", tail=1)
    assert kept.stat().st_ino == written

    with log.open("ab") as file:
        file.write(b"a" * 4 * STRIDE)
    forge(tmp_path, "log", tail=1)
    assert kept.stat().st_ino != written


def test_a_damaged_cache_file_costs_a_scan_and_no_error(small_blocks, tmp_path, monkeypatch):
    (tmp_path / "log").write_bytes(b"".join(b"line %d\n" % n for n in range(2000)))
    forge(tmp_path, "log", tail=1)
    (file,) = os.scandir(small_blocks.folder)
    with open(file.path, "r+b") as cache:
        cache.seek(100)
        cache.write(b"\xff\xff\xff\xff")
    monkeypatch.setattr(store_module, "_shared", Store(small_blocks.folder))

    assert forge(tmp_path, "log", start_line=1500, limit=1).text == "line 1499\n"


def test_a_folder_that_cannot_be_written_is_no_error(small_blocks, tmp_path):
    (tmp_path / "file").write_bytes(b"")
    small_blocks.folder = str(tmp_path / "file" / "cache")
    (tmp_path / "log").write_bytes(b"x\n" * 2000)

    assert forge(tmp_path, "log", tail=1).text == "x\n"


def test_the_cache_is_bounded(small_blocks, tmp_path, monkeypatch):
    monkeypatch.setattr(store_module, "DISK_TOTAL_BYTES", 1000)
    monkeypatch.setattr(store_module, "MEMORY_ENTRIES", 3)
    for number in range(8):
        (tmp_path / f"log{number}").write_bytes(b"x\n" * 2000)
        forge(tmp_path, f"log{number}", tail=1)

    assert sum(file.stat().st_size for file in os.scandir(small_blocks.folder)) <= 1000
    assert len(small_blocks._kept) <= 3


def test_threads_share_one_store(small_blocks, tmp_path):
    (tmp_path / "log").write_bytes(b"".join(b"line %d\n" % n for n in range(5000)))
    wrong = []

    def read(seed):
        choose = random.Random(seed)
        for _ in range(60):
            line = choose.randint(1, 5000)
            if forge(tmp_path, "log", start_line=line, limit=1).text != f"line {line - 1}\n":
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


def test_processes_share_one_folder(tmp_path):
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


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(0, 9), max_size=60), st.integers(0, 300))
def test_look_up_agrees_with_adding_up(counts, feeds):
    index = LineIndex()
    for at in range(0, len(counts), 7):
        index.append(array("I", counts[at : at + 7]).tobytes())

    want = None
    before = 0
    for block, count in enumerate(counts):
        if before + count >= feeds:
            want = (block * index_module.STRIDE, before)
            break
        before += count

    assert index.locate(feeds) == want
    assert index.feeds() == sum(counts)


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 3000), st.data())
def test_look_up_agrees_across_groups(size, data):
    counts = array("I", [data.draw(st.integers(0, 3))] * size)
    index = LineIndex()
    index.append(counts.tobytes())
    feeds = data.draw(st.integers(1, max(1, sum(counts))))
    found = index.locate(feeds)
    if sum(counts) >= feeds:
        block = found[0] // index_module.STRIDE
        assert sum(counts[:block]) == found[1] < feeds <= found[1] + counts[block]
    else:
        assert found is None


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(0, 9), max_size=200), st.integers(1, 9))
def test_no_index_grows_beyond_its_bound(counts, step):
    """Blocks become longer instead; a look-up finds the block that holds the line feed, the end is never passed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index_module, "MOST_BLOCKS", 16)
        patch.setattr(index_module, "GROUP", 4)
        patch.setattr(index_module, "STRIDE", 1)
        index = LineIndex()
        while index.covered < len(counts) // index.stride * index.stride:
            end = min(len(counts) // index.stride, index.covered // index.stride + step) * index.stride
            pieces = [sum(counts[at : at + index.stride]) for at in range(index.covered, end, index.stride)]
            index.append(array("I", pieces).tobytes())
            assert len(index.counts) <= 4 * 16
            assert index.covered == len(index.counts) // 4 * index.stride
        for feeds in range(1, index.feeds() + 1):
            place, before = index.locate(feeds)
            assert sum(counts[:place]) == before < feeds <= sum(counts[: place + index.stride])
        assert index.feeds() == sum(counts[: index.covered])
        assert len(counts) - index.covered < index.stride
        assert index.locate(index.feeds() + 1) is None


def test_an_endless_file_asked_again_and_again_takes_no_more_memory(tmp_path, monkeypatch):
    """What was scanned is kept for the next call, also by one that is given up; here 1 TB of holes."""
    monkeypatch.setattr(store_module, "_shared", Store(str(tmp_path / "cache")))
    with (tmp_path / "holes").open("wb") as file:
        file.write(b"text\n")
        file.truncate(1 << 40)

    def counted(fd, start, end, stride):
        return bytes((end - start) // stride * 4), end  # as holes are, without the seconds

    monkeypatch.setattr(index_module._native, "scan", counted)
    Workspace(tmp_path).tool("codex").call({"file_path": str(tmp_path / "holes"), "offset": 3})

    (index,) = store_module._shared._kept.values()
    assert index.covered > 900 << 30
    assert index.size_bytes < 2 << 20
    assert sum(path.stat().st_size for path in (tmp_path / "cache").iterdir()) < 2 << 20
