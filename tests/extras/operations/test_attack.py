"""`eyespan doctor --attack`: what holds, and that each attack would find a hole."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

import pytest

from eyespan import plugins
from eyespan.extras.http import listener_attack
from eyespan.extras.operations import attack, probe
from eyespan.policy import Policy
from eyespan.sandbox import landlock, seccomp
from eyespan.workspace import Workspace

linux = pytest.mark.skipif(
    sys.platform != "linux" or landlock.version() < 6 or os.uname().machine not in seccomp.ARCHITECTURES,
    reason="needs a kernel with all layers of the sandbox",
)
NAMES = [
    *("escape by path and link", "escape by race", "denied names", "decoder sandbox", "server sandbox"),
    *("listeners", "flood", "other users"),
]


@linux
def test_every_attack_on_this_machine_fails(eyespan, monkeypatch):
    monkeypatch.setattr(attack.attacks, "__defaults__", (0.2,))

    code, out, _ = eyespan("doctor", "--attack", "--json")

    assert [(row["name"], row["state"]) for row in json.loads(out)] == [(name, "ok") for name in NAMES]
    assert code == 0


@pytest.fixture
def found(monkeypatch):
    """Return a function that makes the attacks on files, and returns the names of those that found a hole."""
    own = plugins.own
    monkeypatch.setattr("eyespan.plugins.own", lambda constant: () if constant == "ATTACKS" else own(constant))
    monkeypatch.setattr(attack, "_sandbox", lambda profile, directory: (True, ""))

    def run():
        return [name for name, has_failed, _ in attack.attacks(0.2) if not has_failed]

    return run


def test_a_wider_root_is_found(found, monkeypatch):
    def wide(root):
        return Workspace(os.path.dirname(root), os.path.join(root, "..", "root"))

    monkeypatch.setattr(attack, "Workspace", wide)

    assert "escape by path and link" in found()


def test_missing_rules_are_found(found, monkeypatch):
    monkeypatch.setattr(attack, "Workspace", lambda root: Workspace(root, policy=Policy(built_in=False)))

    assert found() == ["denied names"]


@pytest.fixture
def short_directory():
    """Make a directory whose path is shorter than that of tmp_path: the path of a socket has at most 107 bytes."""
    with tempfile.TemporaryDirectory() as made:
        yield Path(made)


@linux
@pytest.mark.parametrize("profile", ["decoder", "server"])
def test_a_missing_sandbox_is_found(profile, short_directory, monkeypatch):
    for name in ("root/swapped", "outside"):
        (short_directory / name).mkdir(parents=True)
        (short_directory / name / "notes.txt").touch()
    (short_directory / "root" / "notes.txt").touch()
    in_child = probe.in_child
    monkeypatch.setattr(probe, "in_child", lambda function, _, *words: in_child(function, "none", *words))

    has_failed, tried = attack._sandbox(profile, short_directory)

    assert not has_failed
    assert tried.count(",") == 9


def test_a_status_that_differs_is_found(tmp_path, monkeypatch):
    (tmp_path / "root").mkdir()
    monkeypatch.setattr(listener_attack, "IDLE", 1)
    monkeypatch.setattr(listener_attack, "_requests", lambda port, token: [("x", 200, b"GET / HTTP/1.1\r\n\r\n")])

    rows = list(listener_attack.attacks(tmp_path))

    assert rows[0] == ("listeners", False, "x: 400, not 200")
