from __future__ import annotations

import errno
import os
from _thread import get_ident

import pytest

from eyespan.context import CallContext
from eyespan.errors import Cancelled, SystemFailure
from eyespan.guard.guarded_file import BlockingFile, LocalFile
from tests.descriptors import leaked, open_descriptors

from .fake_os import failing


def test_the_first_bytes_are_read_once(strong, make_guard, tmp_path, monkeypatch):
    """After its end the file may have grown."""
    (tmp_path / "file").write_bytes(b"0123456789")
    with make_guard(tmp_path, backend=strong).open("file") as source:
        assert source.first_bytes == b"0123456789"
        with open(tmp_path / "file", "ab") as file:
            file.write(b"abc")
        reads = []
        pread = os.pread
        monkeypatch.setattr(os, "pread", lambda *where: reads.append((get_ident(), where[2])) or pread(*where))

        assert [source.read_at(*where) for where in ((0, 99), (3, 4), (9, 1), (10, 99), (13, 1))] == [
            b"0123456789",
            b"3456",
            b"9",
            b"abc",
            b"",
        ]
        assert [start for thread, start in reads if thread == get_ident()] == [10, 13]
        assert source.read_fully(8, 99) == b"89abc"


def test_a_read_of_a_large_file_returns_as_much_as_requested(strong, make_guard, tmp_path):
    (tmp_path / "file").write_bytes(bytes(200_000))
    with make_guard(tmp_path, backend=strong).open("file") as source:
        assert len(source.first_bytes) == source.max_first_bytes
        assert len(source.read_at(10, 150_000)) == 150_000


def source_of(path):
    fd = os.open(path, os.O_RDONLY)
    return LocalFile(fd, os.fstat(fd), asked="asked", path="file", canonical="file")


def test_a_failed_read_reports_the_error_of_the_system(tmp_path, monkeypatch):
    (tmp_path / "file").write_bytes(b"text")
    with source_of(tmp_path / "file") as source:
        monkeypatch.setattr(os, "pread", failing(errno.EIO))

        with pytest.raises(SystemFailure) as caught:
            source.read_at(0, 4)
        assert (caught.value.errno, caught.value.path) == (errno.EIO, "asked")


def test_a_stale_file_has_changed(tmp_path, monkeypatch):
    (tmp_path / "file").write_bytes(b"text")
    with source_of(tmp_path / "file") as source:
        monkeypatch.setattr(LocalFile, "status_now", failing(errno.ESTALE))
        assert source.changed()
        monkeypatch.setattr(LocalFile, "status_now", failing(errno.EIO))
        with pytest.raises(SystemFailure):
            source.changed()
    source.close()  # once more is no error


@pytest.fixture
def slow(tmp_path):
    """Makes sources whose file system may not answer."""
    made = []

    def make(data, *, copies, context=None):
        (tmp_path / "file").write_bytes(data)
        fd = os.open(tmp_path / "file", os.O_RDONLY)
        context = context or CallContext()
        made.append(
            BlockingFile(fd, os.fstat(fd), asked="a", path="file", canonical="file", context=context, copies=copies)
        )
        return made[-1]

    yield make
    for one in made:
        one.close()


def test_decoders_get_a_copy_of_a_file_whose_close_may_block(slow, monkeypatch):
    before = open_descriptors()
    data = os.urandom(3 << 20)
    real = os.write
    source = slow(data, copies=True)
    monkeypatch.setattr(os, "write", lambda fd, view: real(fd, view[: 1 << 19]))  # as the system may

    copy = source.fd

    assert (source.fd, copy != source._fd) == (copy, True)
    assert os.pread(copy, len(data) + 1, 0) == data
    source.close()
    source.close()
    assert leaked(before) == []


def test_decoders_get_the_file_itself_if_it_is_local_or_large(slow, monkeypatch):
    plain = slow(b"text", copies=False)
    assert plain.fd == plain._fd
    monkeypatch.setattr("eyespan.guard.guarded_file.MAX_COPY_BYTES", 3)
    large = slow(b"text", copies=True)
    assert large.fd == large._fd


def test_an_incomplete_copy_is_not_used(slow, monkeypatch):
    """The second one who asked once got what the first had copied before the read failed."""
    data = os.urandom(3 << 20)
    source = slow(data, copies=True)
    before = open_descriptors()
    real = os.pread
    with monkeypatch.context() as patch:
        patch.setattr(os, "pread", lambda fd, size, at: failing(errno.EIO)() if at else real(fd, size, at))
        with pytest.raises(SystemFailure) as caught:
            source.fd  # noqa: B018  (it makes the copy)
    assert (caught.value.errno, caught.value.path, open_descriptors()) == (errno.EIO, "a", before)

    assert os.pread(source.fd, len(data) + 1, 0) == data


@pytest.mark.parametrize("call", ["memfd_create", "write"])
def test_a_copy_that_fails_is_an_error_of_the_read(call, slow, monkeypatch):
    source = slow(b"text", copies=True)
    before = open_descriptors()
    monkeypatch.setattr(os, call, failing(errno.EMFILE))

    with pytest.raises(SystemFailure) as caught:
        source.fd  # noqa: B018  (as above)
    assert (caught.value.errno, open_descriptors()) == (errno.EMFILE, before)


def test_a_cancelled_call_stops_reading(slow):
    context = CallContext()
    source = slow(b"text", copies=True, context=context)
    assert source.read_at(0, 2) == b"te"
    context.cancelled = True

    with pytest.raises(Cancelled):
        source.read_at(2, 2)
