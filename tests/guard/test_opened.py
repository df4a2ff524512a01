"""The short way to an open file: what the accelerator tells of it, and the folder in which it is opened again."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from asking import answer
from hypothesis import given
from hypothesis import strategies as st

from eyespan import _native
from eyespan.guard import openat, paths

accelerated = pytest.mark.skipif(_native.open_beneath is None, reason="done by the accelerator")
by_handle = pytest.mark.parametrize("backend", ["openat2", "walk"])
FIELDS = ("st_mode", "st_ino", "st_dev", "st_nlink", "st_size", "st_mtime_ns", "st_ctime_ns")
SECONDS = 1_000_000_000


# --- what is told --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changed_ns",
    [1, -1, 1_700_000_000_123_456_789, -2_000_000_000 * SECONDS, 9_223_372_035 * SECONDS, 13_000_000_000 * SECONDS],
    ids=["1970", "1969", "2023", "1906", "2262", "2381"],
)
@pytest.mark.parametrize("size", [0, 10, 100_000])
def test_a_status_says_what_the_system_says(changed_ns, size, strong, make_guard, tmp_path):
    """Also of years that nanoseconds in 64 bits do not reach."""
    file = tmp_path / "file"
    file.write_bytes(b"x" * size)
    os.link(file, tmp_path / "other")
    try:
        os.utime(file, ns=(changed_ns, changed_ns))
    except OverflowError:
        os.utime(file, (changed_ns // SECONDS, changed_ns // SECONDS))
    wanted = os.stat(file)

    with make_guard(tmp_path, backend=strong).open("file") as source:
        assert [getattr(source.status, name) for name in FIELDS] == [getattr(wanted, name) for name in FIELDS]
        assert source.identity == (wanted.st_dev, wanted.st_ino)
        assert source.first_bytes == b"x" * min(size, source.max_first_bytes)
        assert not source.changed()


@pytest.mark.parametrize(
    "path", ["a/b/file", "./a/b/file", "a//b/file", "a/./b/file", "a/b/../b/file", "a/.b/..c", "a/.b/...", "link"]
)
def test_a_path_has_one_canonical_form_however_it_is_spelled(path, strong, make_guard, tmp_path):
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/.b").mkdir()
    for name in ("a/b/file", "a/.b/..c", "a/.b/..."):
        (tmp_path / name).write_bytes(b"text")
    (tmp_path / "link").symlink_to("a/./b/file")
    wanted = os.path.relpath(os.path.realpath(tmp_path / path), os.path.realpath(tmp_path))

    with make_guard(tmp_path, backend=strong).open(path) as source:
        assert (source.asked, source.path, source.canonical) == (path, path, wanted)


@accelerated
def test_the_accelerator_refuses_what_is_no_question(tmp_path):
    folder = os.open(tmp_path, os.O_RDONLY)
    good = (folder, ".", True, b"", True, 0, -1, -1)
    os.close(_native.open_beneath(*good).fd)
    for at, wrong, kind in (
        (0, "x", TypeError),
        (0, -1, OSError),
        (0, 1 << 40, OSError),
        (0, 1 << 80, OverflowError),
        (1, "a\0b", ValueError),
        (1, b"a\0b", ValueError),
        (1, "\ud800", UnicodeEncodeError),
        (1, None, TypeError),
        (3, "x", TypeError),
        (5, None, TypeError),
        (6, 1 << 70, OverflowError),
        (7, None, TypeError),
    ):
        with pytest.raises(kind):
            _native.open_beneath(*good[:at], wrong, *good[at + 1 :])
    with pytest.raises(TypeError):
        _native.open_beneath(*good[:-1])
    found = _native.open_beneath(*good)
    os.close(found.fd)
    with pytest.raises(TypeError):
        type(found)()
    os.close(folder)


# --- what is known need not be asked -------------------------------------------------------------------------------


def test_a_root_of_kernel_state_holds_none_but_files_of_kernel_state(strong, make_guard):
    """The number of its file system says only that it is the same."""
    guard = make_guard("/proc/self", backend=strong)

    assert answer(guard, "status") == "PermissionRefused"


def test_what_a_source_holds_is_not_read_again(strong, make_guard, tmp_path, monkeypatch):
    """But behind its end the file may have grown."""
    (tmp_path / "file").write_bytes(b"0123456789")
    with make_guard(tmp_path, backend=strong).open("file") as source:
        assert source.first_bytes == b"0123456789"
        with open(tmp_path / "file", "ab") as file:
            file.write(b"abc")
        reads = []
        pread = os.pread
        monkeypatch.setattr(os, "pread", lambda *where: reads.append(where[2]) or pread(*where))

        assert [source.read_at(*where) for where in ((0, 99), (3, 4), (9, 1), (10, 99), (13, 1))] == [
            b"0123456789",
            b"3456",
            b"9",
            b"abc",
            b"",
        ]
        assert reads == [10, 13]
        assert source.read_fully(8, 99) == b"89abc"


def test_of_a_large_file_as_much_is_read_at_once_as_is_asked_for(strong, make_guard, tmp_path):
    (tmp_path / "file").write_bytes(bytes(200_000))
    with make_guard(tmp_path, backend=strong).open("file") as source:
        assert len(source.first_bytes) == source.max_first_bytes
        assert len(source.read_at(10, 150_000)) == 150_000


@given(st.lists(st.sampled_from(["tmp", "root", "a", ".", "..", ""]), max_size=8).map("/".join))
def test_the_short_way_to_a_root_is_the_long_one(path):
    class Root:
        path = "/tmp/root"
        prefix = "/tmp/root/"
        spellings = (("tmp", "root"), ("tmp",))

    root = Root()
    found = paths.beneath(f"/{path}", [root])
    if found is not None:
        assert paths.locate(f"/{path}", [root]) == found


# --- the folder of descriptors -------------------------------------------------------------------------------------


def held(monkeypatch, fd):
    """Another folder in place of the one that is held."""
    monkeypatch.setattr(openat, "handles", fd)


@by_handle
def test_a_guard_does_without_the_folder_of_descriptors(backend, make_guard, tmp_path, monkeypatch):
    (tmp_path / "file").write_bytes(b"text")
    guard = make_guard(tmp_path, backend=backend)
    gone = os.dup(0)
    os.close(gone)
    for wrong in (-1, gone, 0):  # not held; closed by somebody; in its place something else, most often no folder
        held(monkeypatch, wrong)
        assert answer(guard, "file") == b"text"


@by_handle
def test_another_folder_in_its_place_gives_nothing_away(backend, make_guard, tmp_path, monkeypatch):
    """A number that was closed and is somebody else's by now: what is opened there is not what was found."""
    (tmp_path / "root").mkdir()
    (tmp_path / "root/file").write_bytes(b"text")
    (tmp_path / "outside").mkdir()
    for number in range(200):
        (tmp_path / f"outside/{number}").write_bytes(b"secret")
    guard = make_guard(tmp_path / "root", backend=backend)
    outside = os.open(tmp_path / "outside", os.O_PATH)
    held(monkeypatch, outside)
    before = sorted(os.listdir("/proc/self/fd"))

    assert answer(guard, "file") == "NotFound"
    assert sorted(os.listdir("/proc/self/fd")) == before
    os.close(outside)


FORKING = """
import os, sys
from eyespan import Workspace
from eyespan.guard import openat

workspace = Workspace(sys.argv[1], backend=sys.argv[2])
tool = workspace.tool("forge")
mine = openat.handles
seen = tool.call({"path": "file"}).text
assert "text" in seen
child = os.fork()
if child == 0:
    good = False
    try:
        good = os.readlink(f"/proc/self/fd/{openat.handles}") == f"/proc/{os.getpid()}/fd"
        more = [os.open(os.devnull, os.O_RDONLY) for _ in range(5)]  # the numbers are other than the parent's
        good = good and tool.call({"path": "file"}).text == seen and tool.call({"path": "link"}).text == seen
    finally:
        os._exit(0 if good else 1)
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
assert openat.handles == mine and tool.call({"path": "file"}).text == seen
sys.exit(status)
"""


@by_handle
def test_a_forked_process_does_not_look_among_its_parents_descriptors(backend, tmp_path):
    (tmp_path / "file").write_bytes(b"text")
    (tmp_path / "link").symlink_to("file")

    done = subprocess.run([sys.executable, "-c", FORKING, str(tmp_path), backend], capture_output=True, text=True)

    assert (done.returncode, done.stderr) == (0, "")


def test_without_proc_nothing_is_held(monkeypatch):
    def nothing(*_):
        raise FileNotFoundError

    held(monkeypatch, -1)
    monkeypatch.setattr(os, "open", nothing)
    openat.hold_handles()

    assert openat.handles == -1

    openat._hold_own_handles()  # nor does a forked process try again

    assert openat.handles == -1


def test_the_folder_of_descriptors_is_opened_once(monkeypatch):
    held(monkeypatch, -1)
    before = len(os.listdir("/proc/self/fd"))
    openat.hold_handles()
    first = openat.handles
    openat.hold_handles()

    assert openat.handles == first >= 0
    assert len(os.listdir("/proc/self/fd")) == before + 1
    os.close(first)


def test_of_two_threads_that_open_it_the_first_is_believed(monkeypatch):
    held(monkeypatch, -1)
    real, late = os.open, []

    def slowly(*how):
        monkeypatch.setattr(os, "open", real)
        openat.hold_handles()  # what another thread does meanwhile
        late.append(real(*how))
        return late[0]

    monkeypatch.setattr(os, "open", slowly)
    openat.hold_handles()

    assert os.readlink(f"/proc/self/fd/{openat.handles}") == f"/proc/{os.getpid()}/fd"
    os.close(openat.handles)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(late[0])


def test_what_is_held_of_the_parent_is_let_go_for_ones_own(monkeypatch, tmp_path):
    parents = os.open(tmp_path, os.O_PATH)
    held(monkeypatch, parents)
    openat._hold_own_handles()

    assert os.readlink(f"/proc/self/fd/{openat.handles}") == f"/proc/{os.getpid()}/fd"
    os.close(openat.handles)
