from __future__ import annotations

from eyespan.guard import filesystems, syscalls

from .fake_os import FakeOs


def test_without_fstatfs_no_file_system_counts_as_kernel_state(monkeypatch):
    monkeypatch.setattr(syscalls, "_fstatfs", None)
    assert not filesystems.is_pseudo(0)
    monkeypatch.setattr(filesystems, "os", FakeOs("O_PATH"))
    assert not filesystems.is_pseudo(0)
