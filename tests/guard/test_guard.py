from __future__ import annotations

import errno
import os

import pytest

import eyespan.guard as guards
from eyespan import Workspace, _native
from eyespan.context import CallContext, WouldBlock
from eyespan.errors import PolicyDenied
from eyespan.guard import openat
from eyespan.guard.guarded_file import BlockingFile
from eyespan.policy import Policy

from .fake_os import FakeOs
from .guard_calls import answer, ask

FIELDS = ("st_mode", "st_ino", "st_dev", "st_nlink", "st_size", "st_mtime_ns", "st_ctime_ns")
SECONDS = 1_000_000_000


@pytest.mark.parametrize(
    ("lacking", "chosen"),
    [
        (FakeOs(supports_dir_fd={"nothing"}), "portable"),
        (FakeOs("O_PATH"), "walk-by-name"),
        (FakeOs(), "openat2"),
    ],
)
def test_the_strongest_backend_that_works_is_used(lacking, chosen, monkeypatch):
    monkeypatch.setattr(guards, "os", lacking)
    if chosen == "openat2" and not openat.available():
        chosen = "walk"

    assert guards.choose_backend.__wrapped__() == chosen


def test_without_openat2_the_walk_is_used(monkeypatch):
    monkeypatch.setattr(openat, "available", lambda: False)

    assert guards.choose_backend.__wrapped__() == "walk"


def test_an_unknown_backend_is_refused_by_name(tmp_path):
    with pytest.raises(ValueError, match="no guard backend 'best'; there are openat2"):
        Workspace(tmp_path, backend="best")


def test_rules_are_not_applied_to_a_name_that_no_file_can_have(make_guard, tmp_path):
    class Counted(Policy):
        asked = 0

        def admit(self, path, asked):
            Counted.asked += 1
            super().admit(path, asked)

    guard = make_guard(tmp_path, policy=Counted())

    assert answer(guard, ".ssh/" * 1000) == "SystemFailure"
    assert Counted.asked == 0
    assert isinstance(ask(guard, "/elsewhere/.ssh/x"), PolicyDenied)
    assert Counted.asked == 1


@pytest.mark.parametrize(
    "changed_ns",
    [1, -1, 1_700_000_000_123_456_789, -2_000_000_000 * SECONDS, 9_223_372_035 * SECONDS, 13_000_000_000 * SECONDS],
    ids=["1970", "1969", "2023", "1906", "2262", "2381"],
)
@pytest.mark.parametrize("size", [0, 10, 100_000])
def test_a_status_equals_that_of_the_system(changed_ns, size, strong, make_guard, tmp_path):
    """Including years beyond the range of nanoseconds in 64 bits."""
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
def test_a_file_has_one_canonical_path(path, strong, make_guard, tmp_path):
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/.b").mkdir()
    for name in ("a/b/file", "a/.b/..c", "a/.b/..."):
        (tmp_path / name).write_bytes(b"text")
    (tmp_path / "link").symlink_to("a/./b/file")
    wanted = os.path.relpath(os.path.realpath(tmp_path / path), os.path.realpath(tmp_path))

    with make_guard(tmp_path, backend=strong).open(path) as source:
        assert (source.asked, source.path, source.canonical) == (path, path, wanted)


def test_files_in_a_root_of_kernel_state_are_refused(strong, make_guard):
    """The device number of the root shows only that it is the same file system."""
    guard = make_guard("/proc/self", backend=strong)

    assert answer(guard, "status") == "PermissionRefused"


def test_a_blocking_guard_opens_the_same_files(make_guard, tmp_path, backend):
    (tmp_path / "file").write_bytes(b"text")
    guard = make_guard(tmp_path, backend=backend)

    with guard.blocking(CallContext()).open("file") as source:
        assert (type(source), source.first_bytes, source._copies) == (
            BlockingFile,
            b"text",
            not guard.roots[0].never_hangs,
        )


def test_a_guard_that_never_blocks_does_not_list(make_guard, tmp_path):
    (tmp_path / "file").write_bytes(b"text")
    guard = make_guard(tmp_path)

    assert [entry.name for entry in guard.list_beneath(".").entries] == ["file"]
    with pytest.raises(WouldBlock):
        guard.non_blocking().list_beneath(".")


def test_a_file_that_vanishes_between_finding_and_opening_is_not_found(make_guard, tmp_path, monkeypatch):
    """With /proc mounted, its error is final."""
    (tmp_path / "file").write_bytes(b"text")

    def no_handle(path, flags, **where):
        if str(path).startswith("/proc/self/fd/"):
            raise FileNotFoundError(errno.ENOENT, "No such file or directory")
        return os.open(path, flags, **where)

    monkeypatch.setattr(guards, "os", FakeOs(open=no_handle))
    monkeypatch.setattr(_native, "open_beneath", None)

    assert answer(make_guard(tmp_path, backend="walk"), "file") == "NotFound"
