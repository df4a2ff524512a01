from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import sys
from pathlib import Path

import pytest

from eyespan.guard import mounts
from tests.descriptors import leaked, open_descriptors

TABLE = Path("/proc/self/mountinfo")
pytestmark = pytest.mark.skipif(not TABLE.exists(), reason="no mount table here")
MNT_DETACH = 2


@pytest.fixture
def table(tmp_path, monkeypatch):
    """Writes the table that is read."""
    monkeypatch.setattr(mounts, "_table", (float("-inf"), []))
    monkeypatch.setattr(mounts, "_TABLE", str(tmp_path / "mountinfo"))
    monkeypatch.setattr(mounts, "_FRESH_SECONDS", -1.0)
    return tmp_path / "mountinfo"


def test_the_table_is_parsed_as_the_kernel_writes_it(table):
    table.write_bytes(
        b"22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
        b"36 22 0:50 / /net/a\\040b rw - nfs4 server:/a rw\n"
        b"cut off\n"
    )

    assert mounts._mounts() == [("/", "8:1", True), ("/net/a b", "0:50", False)]


def test_without_a_table_each_path_is_its_own_key_and_the_last_table_counts(table):
    """On other systems, without /proc, and without a free descriptor."""
    assert (mounts.mount_of("/net/x/../y"), mounts.local_mount_point("/net/x")) == ("/net/y", None)
    table.write_bytes(b"22 1 8:1 / / rw - ext4 /dev/sda1 rw\n")
    assert mounts.mount_of("/a") == ("8:1", "/a")
    table.unlink()

    assert (mounts.mount_of("/a"), mounts.local_mount_point("/a")) == (("8:1", "/a"), "/")


def test_the_mount_of_a_path_follows_from_its_text(monkeypatch):
    table = [("/", "8:1", True), ("/net", "0:50", False), ("/net/a b", "0:51", False), ("/home", "8:2", True)]
    monkeypatch.setattr(mounts, "_mounts", lambda: table)

    asked = ["/net/x", "/net/a b/c", "/network", "/home/me", "/net", "/net/a b/../x", "/home/../net/x"]

    assert [mounts.mount_of(path) for path in asked] == [
        "0:50",
        "0:51",
        ("8:1", "/network"),
        ("8:2", "/home/me"),
        "0:50",
        "0:50",
        "0:50",
    ]
    assert [mounts.local_mount_point(path) for path in ("/home/me", "/x", "/net/x")] == ["/home", "/", None]


def test_the_topmost_of_several_mounts_counts(monkeypatch):
    monkeypatch.setattr(mounts, "_mounts", lambda: [("/", "8:1", True), ("/a", "8:2", True), ("/a", "0:9", False)])

    assert (mounts.mount_of("/a/b"), mounts.local_mount_point("/a/b")) == ("0:9", None)


def test_the_table_of_this_machine_contains_the_root():
    points = [point for point, _, _ in mounts._mounts()]

    assert "/" in points


# --- the open table ------------------------------------------------------------------------------------------------


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
    fd, mounts._table_fd = mounts._table_fd, -1
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


def test_the_open_table_is_the_same_table(held):
    assert mounts._read_table() == TABLE.read_bytes()


def test_the_table_is_kept_open_by_one_descriptor():
    before = open_descriptors()
    mounts.keep_table_open()
    mounts.keep_table_open()
    kept = len(open_descriptors())
    assert os.get_inheritable(mounts._table_fd) is False
    close_table()
    close_table()

    assert kept == len(before) + 1
    assert leaked(before) == []


def test_without_a_table_nothing_is_kept_open(no_proc):
    mounts.keep_table_open()

    assert mounts._table_fd == -1


@mounting
def test_a_new_mount_is_seen_through_the_open_table(held, no_proc, tmp_path, monkeypatch):
    monkeypatch.setattr(mounts, "_FRESH_SECONDS", 0.0)
    file = str(tmp_path / "file")
    before = mounts.local_mount_point(file)
    with mounted(tmp_path):
        during = mounts.local_mount_point(file)
    after = mounts.local_mount_point(file)

    assert during == str(tmp_path)
    assert before == after != during


@mounting
def test_without_the_open_table_a_new_mount_is_not_seen(no_proc, tmp_path, monkeypatch):
    """Why it is held."""
    monkeypatch.setattr(mounts, "_FRESH_SECONDS", 0.0)
    before = mounts.local_mount_point(str(tmp_path))
    with mounted(tmp_path):
        assert mounts.local_mount_point(str(tmp_path)) == before


@mounting
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # threads of other tests may be idle
def test_a_forked_process_and_its_parent_both_read_the_open_table(held, no_proc, tmp_path, monkeypatch):
    monkeypatch.setattr(mounts, "_FRESH_SECONDS", 0.0)
    file = str(tmp_path / "file")
    with mounted(tmp_path):
        child = os.fork()
        if child == 0:
            os._exit(0 if mounts.local_mount_point(file) == str(tmp_path) else 1)
        here = mounts.local_mount_point(file)
        _, status = os.waitpid(child, 0)

    assert (here, status) == (str(tmp_path), 0)


def test_a_table_that_cannot_be_read_keeps_its_last_contents(held, monkeypatch):
    known = mounts._mounts()

    def fails(*_):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "pread", fails)
    monkeypatch.setattr(mounts, "_FRESH_SECONDS", -1.0)

    assert mounts._mounts() == known != []
