"""The table of mounts, held open by a process that soon cannot open it. Which mount a path leads to: test_patience."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import select
import sys
from pathlib import Path

import pytest

from eyespan.guard import mounts

TABLE = Path("/proc/self/mountinfo")
pytestmark = pytest.mark.skipif(not TABLE.exists(), reason="no table of mounts here")
MNT_DETACH = 2


def may_mount() -> bool:
    if sys.platform != "linux":
        return False
    return bool(int(Path("/proc/self/status").read_text().partition("CapEff:")[2].split()[0], 16) >> 21 & 1)


mounting = pytest.mark.skipif(not may_mount(), reason="no right to mount (CAP_SYS_ADMIN)")


@contextlib.contextmanager
def mounted(point: Path):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"none", os.fsencode(point), b"tmpfs", 0, None) != 0:
        pytest.skip(f"the system mounts nothing here: {os.strerror(ctypes.get_errno())}")
    try:
        yield
    finally:
        libc.umount2(os.fsencode(point), MNT_DETACH)


def close_table():
    fd, mounts._held = mounts._held, -1
    if fd >= 0:
        os.close(fd)


@pytest.fixture
def held(monkeypatch):
    monkeypatch.setattr(mounts, "_table", (float("-inf"), []))
    mounts.keep_table_open()
    yield
    close_table()


@pytest.fixture
def no_proc(monkeypatch):
    """Make the table impossible to open, as from inside a sandbox."""
    monkeypatch.setattr(mounts, "_TABLE", "/proc/self/no such table")


def test_what_is_held_is_the_same_table(held):
    assert mounts._held_table() == TABLE.read_bytes()


def test_nothing_is_open_before_it_is_held_nor_after():
    before = sorted(os.listdir("/proc/self/fd"))
    mounts.keep_table_open()
    mounts.keep_table_open()
    kept = len(os.listdir("/proc/self/fd"))
    assert os.get_inheritable(mounts._held) is False
    close_table()
    close_table()

    assert kept == len(before) + 1
    assert sorted(os.listdir("/proc/self/fd")) == before


def test_where_there_is_no_table_nothing_is_held(no_proc):
    mounts.keep_table_open()

    assert mounts._held == -1


@mounting
def test_a_mount_is_seen_at_once_though_the_table_cannot_be_opened_any_more(held, no_proc, tmp_path):
    file = str(tmp_path / "file")
    before = mounts.plain_point(file)
    with mounted(tmp_path):
        during = mounts.plain_point(file)
    after = mounts.plain_point(file)

    assert during == str(tmp_path)
    assert before == after != during


@mounting
def test_without_it_a_mount_is_not_seen(no_proc, tmp_path, monkeypatch):
    """Why it is held."""
    monkeypatch.setattr(mounts, "_FRESH_SECONDS", 0.0)
    before = mounts.plain_point(str(tmp_path))
    with mounted(tmp_path):
        assert mounts.plain_point(str(tmp_path)) == before


@mounting
def test_a_forked_process_reads_it_too_and_takes_nothing_away_from_its_parent(held, no_proc, tmp_path, monkeypatch):
    monkeypatch.setattr(mounts, "_FRESH_SECONDS", 0.0)
    file = str(tmp_path / "file")
    with mounted(tmp_path):
        child = os.fork()
        if child == 0:
            os._exit(0 if mounts.plain_point(file) == str(tmp_path) else 1)
        here = mounts.plain_point(file)
        _, status = os.waitpid(child, 0)

    assert (here, status) == (str(tmp_path), 0)


def test_a_table_that_changes_while_it_is_read_is_read_again(held, monkeypatch):
    answers = iter([True, True, False])
    monkeypatch.setattr(mounts, "_changed", lambda: next(answers))

    assert mounts._held_table() == TABLE.read_bytes()
    assert list(answers) == []


def test_a_table_that_changes_all_the_time_is_not_read_for_ever(held, monkeypatch):
    asked = []
    monkeypatch.setattr(mounts, "_changed", lambda: asked.append(1) or True)

    assert mounts._held_table() == TABLE.read_bytes()
    assert len(asked) == mounts._TORN_TRIES


def test_a_table_that_can_no_longer_be_read_is_as_it_was(held, monkeypatch):
    known = mounts._mounts()

    def fails(*_):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "pread", fails)
    monkeypatch.setattr(mounts, "_FRESH_SECONDS", -1.0)

    assert mounts._mounts() == known != []


def test_a_system_that_cannot_say_whether_it_changed_is_believed_for_a_second(held, monkeypatch):
    class Poll:
        def register(self, *_):
            pass

        def poll(self, _seconds):
            raise OSError(errno.ENOMEM, "Cannot allocate memory")

    monkeypatch.setattr(select, "poll", Poll)

    assert not mounts._changed()
    assert mounts._held_table() == TABLE.read_bytes()
