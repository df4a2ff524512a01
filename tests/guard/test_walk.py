from __future__ import annotations

import errno
import os

import pytest

from eyespan.guard import walk
from tests.backends import STRONG

from .fake_os import FakeOs, failing
from .guard_calls import answer, ask


def test_a_path_of_too_many_steps_fails(strong, make_guard, tmp_path, monkeypatch):
    (tmp_path / "file").write_bytes(b"text")
    monkeypatch.setattr(walk, "MAX_STEPS", 50)
    guard = make_guard(tmp_path, backend="walk" if "openat2" in strong else strong)

    assert ask(guard, "./" * 60 + "file").errno == errno.ELOOP
    assert answer(guard, "./" * 40 + "file") == b"text"


def test_an_empty_link_leads_nowhere(make_guard, tmp_path, monkeypatch):
    """Linux makes none, other systems do."""
    (tmp_path / "link").symlink_to("x")
    monkeypatch.setattr(walk, "os", FakeOs(readlink=lambda *_, **__: ""))

    assert answer(make_guard(tmp_path, backend="walk"), "link") == "NotFound"


def test_a_name_that_is_replaced_at_every_check_fails(make_guard, tmp_path, monkeypatch):
    (tmp_path / "file").write_bytes(b"text")
    monkeypatch.setattr(walk, "os", FakeOs(open=failing(errno.ELOOP)))

    assert ask(make_guard(tmp_path, backend="walk-by-name"), "file").errno == errno.EAGAIN


def test_a_file_that_is_replaced_before_it_is_opened_is_checked_again(make_guard, tmp_path, monkeypatch):
    (tmp_path / "file").write_bytes(b"text")
    (tmp_path / "other").write_bytes(b"another")
    swapped = []

    def swap_once(name, flags, **where):
        if not swapped:
            swapped.append(name)
            name = "other"
        return os.open(name, flags, **where)

    monkeypatch.setattr(walk, "os", FakeOs(open=swap_once))

    assert answer(make_guard(tmp_path, backend="walk-by-name"), "file") == b"text"
    assert swapped == ["file"]


@pytest.mark.parametrize("backend", STRONG)
def test_links_are_counted_once(backend, make_guard, tmp_path):
    """The kernel tries a path that leads out twice, and counts its links twice."""
    (tmp_path / "directory").mkdir()
    (tmp_path / "file").write_bytes(b"text")
    target = "directory"
    for number in range(38):
        (tmp_path / f"link{number}").symlink_to(target)
        target = f"link{number}"
    guard = make_guard(tmp_path, backend=backend)

    for _ in range(20):
        assert answer(guard, "link37/../file") == b"text"
        assert answer(guard, "link37/../../file") == "OutsideRoot"
