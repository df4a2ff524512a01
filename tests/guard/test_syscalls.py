from __future__ import annotations

import errno

import pytest

from eyespan.guard import syscalls


def test_openat2_is_retried_a_limited_number_of_times(monkeypatch):
    calls = []
    monkeypatch.setattr(syscalls, "_syscall", lambda *_: calls.append(1) or -1)
    monkeypatch.setattr(syscalls.ctypes, "get_errno", lambda: errno.EAGAIN)

    with pytest.raises(OSError, match="temporarily unavailable"):
        syscalls.openat2(0, b"x", True)
    assert len(calls) == syscalls.RACE_RETRIES


def test_an_interrupted_fstatfs_is_repeated(tmp_path, monkeypatch):
    answers = [-1, 0]
    monkeypatch.setattr(syscalls, "_fstatfs", lambda fd, buffer: answers.pop(0))
    monkeypatch.setattr(syscalls.ctypes, "get_errno", lambda: errno.EINTR)

    assert syscalls.filesystem_type(0) == 0
    assert answers == []
