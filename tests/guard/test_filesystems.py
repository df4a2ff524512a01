from __future__ import annotations

import errno

from eyespan.guard import filesystems

from .fake_os import FakeOs


def test_without_fstatfs_no_file_system_counts_as_kernel_state(monkeypatch):
    monkeypatch.setattr(filesystems, "_fstatfs", None)
    assert not filesystems.is_pseudo(0)
    monkeypatch.setattr(filesystems, "os", FakeOs("O_PATH"))
    assert not filesystems.is_pseudo(0)


def test_an_interrupted_fstatfs_is_repeated(monkeypatch):
    answers = [-1, 0]
    monkeypatch.setattr(filesystems, "_fstatfs", lambda fd, buffer: answers.pop(0))
    monkeypatch.setattr(filesystems.ctypes, "get_errno", lambda: errno.EINTR)

    assert filesystems.filesystem_type(0) == 0
    assert answers == []
