from __future__ import annotations

import errno
import os

import pytest

from eyespan.errors import SystemFailure
from eyespan.guard import portable

from .fake_os import FakeOs
from .guard_calls import answer, ask


@pytest.mark.parametrize("name", ["a:stream", "a. ", "a.", "con", "directory/NUL.txt", "lpt1", "CONIN$"])
def test_names_with_a_special_meaning_on_windows_are_refused_there(name, make_guard, tmp_path, monkeypatch):
    monkeypatch.setattr(portable, "os", FakeOs(name="nt"))
    guard = make_guard(tmp_path, backend="portable")

    assert answer(guard, name) == "InvalidPath"
    assert answer(guard, "missing/../plain.txt") == "NotFound"


def test_a_slash_after_a_file_requires_a_directory(make_guard, tmp_path, monkeypatch):
    (tmp_path / "file").write_bytes(b"text")
    monkeypatch.setattr(portable, "_resolve", lambda asked, roots: (str(tmp_path / "file"), roots[0], "file"))

    assert ask(make_guard(tmp_path, backend="portable"), "file/").errno == errno.ENOTDIR


def test_a_file_whose_path_leads_elsewhere_after_opening_is_closed(make_guard, tmp_path, monkeypatch):
    (tmp_path / "file").write_bytes(b"text")
    (tmp_path / "other").write_bytes(b"another")
    real = portable._resolve
    calls = []

    def moved(asked, roots):
        calls.append(asked)
        return real(str(tmp_path / "other") if len(calls) > 1 else asked, roots)

    monkeypatch.setattr(portable, "_resolve", moved)
    before = sorted(os.listdir("/proc/self/fd"))

    assert ask(make_guard(tmp_path, backend="portable"), "file").errno == errno.EAGAIN
    assert len(os.listdir("/proc/self/fd")) <= len(before) + 1  # the root's own


def test_a_directory_whose_path_leads_elsewhere_after_listing_is_not_returned(make_guard, tmp_path, monkeypatch):
    (tmp_path / "directory").mkdir()
    (tmp_path / "other").mkdir()
    real = portable.find
    calls = []

    def moved(roots, root, rest, *how):
        calls.append(rest)
        return real(roots, root, "other" if len(calls) > 1 else rest, *how)

    monkeypatch.setattr(portable, "find", moved)

    with pytest.raises(SystemFailure) as caught:
        make_guard(tmp_path, backend="portable").list_beneath("directory")
    assert caught.value.errno == errno.EAGAIN
