"""Directories are listed with the same checks as files are opened: inside the roots, and only what the rules allow."""

from __future__ import annotations

import errno
import os

import pytest

from eyespan import Policy, Workspace
from eyespan.errors import NotFound, NotRegular, OutsideRoot, PermissionRefused, PolicyDenied
from eyespan.guard import BACKENDS, listing
from tests.descriptors import open_descriptors

from .fake_os import failing


@pytest.fixture(params=BACKENDS)
def backend(request):
    return request.param


@pytest.fixture
def tree(tmp_path):
    root = tmp_path / "root"
    (root / "src").mkdir(parents=True)
    (root / "src" / "b.py").write_text("b")
    (root / "src" / "a.py").write_text("a")
    (root / "src" / "inner").mkdir()
    (root / ".env").write_text("SECRET=1")
    (root / ".ssh").mkdir()
    (root / "link").symlink_to("src")
    (root / "out").symlink_to(tmp_path)
    (root / "far").symlink_to("/etc")
    os.mkfifo(root / "pipe")
    (tmp_path / "private").mkdir()
    return root


def names(listed):
    return [(entry.name, entry.what) for entry in listed.entries]


def test_a_directory_is_listed_by_name_without_what_a_rule_forbids(tree, backend):
    with Workspace(tree, backend=backend) as workspace:
        listed = workspace.engine.list(".")

    assert names(listed) == [
        ("far", "link"),
        ("link", "link"),
        ("out", "link"),
        ("pipe", "other"),
        ("src", "directory"),
    ]
    assert not listed.partial


def test_a_link_inside_the_root_is_followed_and_named_by_its_target(tree, backend):
    with Workspace(tree, backend=backend) as workspace:
        listed = workspace.engine.list("link")

    assert (listed.path, names(listed)) == ("src", [("a.py", "file"), ("b.py", "file"), ("inner", "directory")])


@pytest.mark.parametrize("path", ["out", "far", "..", "src/../..", "out/private", "/", "/etc"])
def test_no_directory_outside_the_root_is_listed(tree, backend, path):
    with Workspace(tree, backend=backend) as workspace, pytest.raises(OutsideRoot):
        workspace.engine.list(path)


def test_what_is_no_directory_is_refused(tree, backend):
    with Workspace(tree, backend=backend) as workspace:
        with pytest.raises(NotRegular) as caught:
            workspace.engine.list("src/a.py")
        with pytest.raises(NotFound):
            workspace.engine.list("src/none")
        with pytest.raises(NotRegular):
            workspace.engine.list("pipe")

    assert caught.value.what == "file"


def test_a_forbidden_directory_is_neither_named_nor_listed(tree, backend):
    with Workspace(tree, policy=Policy(["src/**"]), backend=backend) as workspace:
        assert "src" not in dict(names(workspace.engine.list(".")))
        for path in ("src/inner", "link/inner", ".ssh/x"):
            with pytest.raises(PolicyDenied):
                workspace.engine.list(path)


def test_a_large_directory_is_listed_in_part(tree, backend, monkeypatch):
    monkeypatch.setattr(listing, "MAX_SCANNED", 2)
    with Workspace(tree, backend=backend) as workspace:
        listed = workspace.engine.list("src")

    assert len(listed.entries) == 2
    assert listed.partial


def test_kernel_state_is_not_listed(backend):
    if backend == "portable":
        pytest.skip("that backend has no descriptor to ask")
    with Workspace("/", backend=backend) as workspace, pytest.raises(PermissionRefused):
        workspace.engine.list("proc/self")


def test_no_descriptor_is_left_open(tree, backend):
    with Workspace(tree, backend=backend) as workspace:
        before = len(open_descriptors())
        for path in (".", "link", "out", "src/none", "pipe", "src/a.py"):
            try:
                workspace.engine.list(path)
            except (OutsideRoot, NotFound, NotRegular):
                pass
        assert len(open_descriptors()) <= before


def test_an_entry_that_vanishes_while_it_is_listed_is_other():
    class Gone:
        is_symlink = staticmethod(failing(errno.ENOENT))

    assert listing._type_name(Gone()) == "other"
