from __future__ import annotations

import errno
import os
from _thread import get_ident
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
    good = (directory, ".", True, b"", True, 0, -1)
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
    guard = make_guard(tmp_path, backend="openat2")
    reads = []
    pread = os.pread
    monkeypatch.setattr(os, "pread", lambda *where: reads.append(get_ident()) or pread(*where))

    def is_read_later():
        reads.clear()
        with guard.open("file") as source:
            assert source.first_bytes == data[: source.max_first_bytes]
        return get_ident() in reads  # threads of other tests may read, too

    # While others mount or rename, the kernel may not decide, and the guard walks to the file.
    assert all(is_read_later() for _ in range(20)) == (size == 0 or size >= 16_384)


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
