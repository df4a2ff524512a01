from __future__ import annotations

import errno
import os

import pytest

from eyespan import source


def test_close_ignores_every_error_but_a_wrong_descriptor(monkeypatch):
    here, there = os.pipe()
    real = os.close

    def close_and_fail(fd):
        real(fd)
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(os, "close", close_and_fail)
        source.close_fd(here)
    source.close_fd(there)

    with pytest.raises(OSError, match="Bad file descriptor"):
        source.close_fd(here)


def test_bytes_are_spooled_to_a_file_if_the_system_has_no_memfd(monkeypatch):
    monkeypatch.delattr(os, "memfd_create", raising=False)
    fd = source.spool((b"da", b"ta"), asked="")

    assert os.pread(fd, 10, 0) == b"data"
    os.close(fd)


def test_a_position_is_read_where_the_system_has_no_positioned_read(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "_HAS_PREAD", False)
    (tmp_path / "a.txt").write_bytes(b"0123456789")
    fd = os.open(tmp_path / "a.txt", os.O_RDONLY)

    pieces = [source.pread(fd, 3, offset) for offset in (7, 0, 9, 10)]
    os.close(fd)

    assert pieces == [b"789", b"012", b"9", b""]
