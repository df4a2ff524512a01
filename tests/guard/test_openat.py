from __future__ import annotations

import errno
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from eyespan import _native
from eyespan.guard import Root, mounts, openat
from tests.backends import HANDLES
from tests.descriptors import leaked, open_descriptors

from .any_type import AnyType
from .fake_os import FakeOs, failing
from .guard_calls import answer, ask

accelerated = pytest.mark.skipif(_native.open_beneath is None, reason="done by the accelerator")
by_handle = pytest.mark.parametrize("backend", HANDLES)


def test_openat2_is_available_if_a_call_succeeds(monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(openat, "os", FakeOs(open=failing(errno.EACCES)))
        assert not openat.available()
    with monkeypatch.context() as patch:
        patch.setattr(openat, "PROC", "/no such directory")  # what is found could not be opened
        assert not openat.available()
    with monkeypatch.context() as patch:
        patch.setattr(_native, "open_beneath", failing(errno.ENOSYS))
        assert not openat.available()
    with monkeypatch.context() as patch:
        patch.setattr(_native, "open_beneath", failing(errno.EPERM))  # seccomp of old containers
        assert not openat.available()
        patch.setattr(_native, "open_beneath", None)
        assert not openat.available()


@accelerated
def test_the_accelerator_refuses_wrong_arguments(tmp_path):
    directory = os.open(tmp_path, os.O_RDONLY)
    good = (directory, ".", True, b"", True, 0, -1, -1)
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
    os.close(directory)


@pytest.mark.parametrize("number", [errno.EXDEV, errno.EAGAIN, errno.ENAMETOOLONG])
def test_the_walk_decides_where_the_kernel_cannot(number, make_guard, tmp_path, monkeypatch):
    (tmp_path / "file").write_bytes(b"text")
    monkeypatch.setattr(_native, "open_beneath", failing(number))

    assert answer(make_guard(tmp_path, backend="openat2"), "file") == b"text"


def opened(fd, name):
    """Return a file in the form of the accelerator."""
    return SimpleNamespace(
        fd=fd, readable=True, plain=False, pseudo=False, type=0xEF53, name=name, head=None, st_mode=0o100644
    )


def test_a_name_outside_the_root_is_not_returned(make_guard, tmp_path, monkeypatch):
    """No descriptor stays open; the answer may be any of three."""
    (tmp_path / "root").mkdir()
    (tmp_path / "root/file").write_bytes(b"text")
    made = []

    def elsewhere(*_):
        made.append(os.open(tmp_path / "root/file", os.O_RDONLY))
        return opened(made[-1], b"/etc/passwd")

    guard = make_guard(tmp_path / "root", backend="openat2")
    monkeypatch.setattr(_native, "open_beneath", elsewhere)

    result = answer(guard, "file")

    assert result in (b"text", "OutsideRoot", "SystemFailure")
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(made[0])


@pytest.mark.parametrize("name", [None, b"\0"])
@pytest.mark.parametrize("opens", [True, False])
def test_a_failure_between_opening_and_naming_closes_the_descriptor(name, opens, make_guard, tmp_path, monkeypatch):
    (tmp_path / "file").write_bytes(b"text")
    made = []

    def found(*_):
        made.append(os.open(tmp_path / "file", os.O_RDONLY) if opens else -1)
        return opened(made[-1], name)

    guard = make_guard(tmp_path, backend="openat2")
    monkeypatch.setattr(_native, "open_beneath", found)
    monkeypatch.setattr(openat, "_canonical_path", failing(errno.EIO))
    monkeypatch.setattr(openat, "_path_below", failing(errno.EIO))

    assert ask(guard, "file").errno == errno.EIO
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(made[0])


@pytest.mark.skipif(_native.open_beneath is None, reason="done by the accelerator")
@pytest.mark.parametrize("size", [0, 1, 16_382, 16_383, 16_384, 65_535, 65_536, 65_537])
def test_a_small_file_is_read_together_with_its_opening(size, make_guard, tmp_path, monkeypatch):
    data = os.urandom(size)
    (tmp_path / "file").write_bytes(data)
    reads = []
    pread = os.pread
    monkeypatch.setattr(os, "pread", lambda *where: reads.append(where) or pread(*where))

    with make_guard(tmp_path, backend="openat2").open("file") as source:
        assert source.first_bytes == data[: source.max_first_bytes]

    assert bool(reads) == (size == 0 or size >= 16_384)


@pytest.mark.skipif(_native.open_beneath is None, reason="done by the accelerator")
@pytest.mark.parametrize("what", ["same size", "longer"])
def test_a_file_that_changes_after_it_is_read_has_its_old_status_and_has_changed(
    what, make_guard, tmp_path, monkeypatch
):
    """The reported status of a file is never newer than its contents."""
    file = tmp_path / "file"
    file.write_bytes(b"old")
    opener = _native.open_beneath

    def then_changed(*where):
        found = opener(*where)
        file.write_bytes(b"new" if what == "same size" else b"newer")
        os.utime(file, ns=(1, 1))
        return found

    guard = make_guard(tmp_path, backend="openat2")
    monkeypatch.setattr(_native, "open_beneath", then_changed)

    with guard.open("file") as source:
        assert (source.first_bytes, source.size_bytes) == (b"old", 3)
        assert source.status.st_mtime_ns != 1
        assert source.changed()


@pytest.mark.skipif(_native.open_beneath is None, reason="done by the accelerator")
@pytest.mark.parametrize(
    "what", ["a file", "a pipe", "a mount of another type", "a deleted directory", "below a mount that may hang"]
)
def test_only_a_local_directory_is_opened_without_blocking_and_nothing_stays_open(what, tmp_path, monkeypatch):
    place = tmp_path / "place"
    if what == "a file":
        place.write_bytes(b"")
    elif what == "a pipe":
        os.mkfifo(place)
    else:
        place.mkdir()
    monkeypatch.setattr(mounts, "local_mount_point", lambda path: None if "below" in what else str(tmp_path))
    monkeypatch.setattr(openat, "LOCAL_TYPES", frozenset() if "another" in what else AnyType())
    if what == "a deleted directory":
        real = _native.open_beneath

        def gone(*how):
            found = real(*how)
            name = os.fsencode(place) + b" (deleted)"
            return SimpleNamespace(fd=found.fd, name=name, type=found.type, st_mode=found.st_mode)

        monkeypatch.setattr(_native, "open_beneath", gone)
    before = open_descriptors()

    assert openat.open_local_directory(str(place)) is None
    assert leaked(before) == []


def test_a_directory_never_hangs_if_its_file_system_is_local(tmp_path, monkeypatch):
    root = Root(tmp_path)
    monkeypatch.setattr(openat, "LOCAL_TYPES", AnyType())
    assert openat.never_hangs(root.fd)
    monkeypatch.setattr(openat, "LOCAL_TYPES", frozenset())
    assert not openat.never_hangs(root.fd)
    root.close()
    assert not openat.never_hangs(root.fd)  # the descriptor is closed


# --- the descriptor directory, /proc/self/fd -----------------------------------------------------------------------


def replace_handles(monkeypatch, fd):
    """Put another directory in the place of /proc/self/fd."""
    monkeypatch.setattr(openat, "handles", fd)


@by_handle
def test_files_open_without_the_descriptor_directory(backend, make_guard, tmp_path, monkeypatch):
    (tmp_path / "file").write_bytes(b"text")
    guard = make_guard(tmp_path, backend=backend)
    gone = os.dup(0)
    os.close(gone)
    for wrong in (-1, gone, 0):  # not open; closed by other code; another file, most often no directory
        replace_handles(monkeypatch, wrong)
        assert answer(guard, "file") == b"text"


@by_handle
def test_a_wrong_descriptor_directory_reveals_nothing(backend, make_guard, tmp_path, monkeypatch):
    """Other code closed the descriptor and its number was used again: another file is opened there."""
    (tmp_path / "root").mkdir()
    (tmp_path / "root/file").write_bytes(b"text")
    (tmp_path / "outside").mkdir()
    for number in range(200):
        (tmp_path / f"outside/{number}").write_bytes(b"secret")
    guard = make_guard(tmp_path / "root", backend=backend)
    outside = os.open(tmp_path / "outside", os.O_PATH)
    replace_handles(monkeypatch, outside)
    before = open_descriptors()

    assert answer(guard, "file") == "NotFound"
    assert leaked(before) == []
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
def test_a_forked_process_uses_its_own_descriptor_directory(backend, tmp_path):
    (tmp_path / "file").write_bytes(b"text")
    (tmp_path / "link").symlink_to("file")

    # The walk reads in a thread, and Python 3.12 warns of a fork beside threads. The child only reads and exits.
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORKING, str(tmp_path), backend]
    done = subprocess.run(command, capture_output=True, text=True)

    assert (done.returncode, done.stderr) == (0, "")


def test_without_proc_there_is_no_descriptor_directory(monkeypatch):
    def nothing(*_):
        raise FileNotFoundError

    replace_handles(monkeypatch, -1)
    monkeypatch.setattr(os, "open", nothing)
    openat.hold_handles()

    assert openat.handles == -1

    openat._hold_own_handles()  # nor does a forked process try again

    assert openat.handles == -1


def test_the_descriptor_directory_is_opened_once(monkeypatch):
    replace_handles(monkeypatch, -1)
    before = len(open_descriptors())
    openat.hold_handles()
    first = openat.handles
    openat.hold_handles()

    assert openat.handles == first >= 0
    assert len(open_descriptors()) == before + 1
    os.close(first)


def test_two_threads_that_open_the_descriptor_directory_keep_one(monkeypatch):
    replace_handles(monkeypatch, -1)
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


def test_an_inherited_descriptor_directory_is_replaced(monkeypatch, tmp_path):
    parents = os.open(tmp_path, os.O_PATH)
    replace_handles(monkeypatch, parents)
    openat._hold_own_handles()

    assert os.readlink(f"/proc/self/fd/{openat.handles}") == f"/proc/{os.getpid()}/fd"
    os.close(openat.handles)
