"""`eyespan doctor`."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

from eyespan.extras.operations import doctor
from eyespan.extras.operations.doctor import pip_extras


def test_each_part_has_one_row(directory, eyespan):
    rows = json.loads(eyespan("doctor", "--json")[1])

    assert {row["name"] for row in rows} >= {"guard", "inner loops"}
    assert len(eyespan("doctor")[1].splitlines()) == len(rows)


def test_every_extra_has_a_row():
    with open(Path(__file__).parents[3] / "pyproject.toml", "rb") as file:
        extras = tomllib.load(file)["project"]["optional-dependencies"]

    installing = {extra for extra, packages in extras.items() if packages and extra not in ("all", "dev", "mcp")}
    assert pip_extras().keys() == installing


def test_only_a_problem_fails(directory, eyespan, monkeypatch):
    states = {row["state"] for row in json.loads(eyespan("doctor", "--json")[1])}
    monkeypatch.setattr(doctor, "_is_installed", lambda module: False)

    assert eyespan("doctor")[0] == (1 if "problem" in states else 0)
    monkeypatch.setattr("eyespan.extras.operations.doctor.choose_backend", lambda: "portable")
    code, out, _ = eyespan("doctor")
    assert code == 1
    assert "\n! guard " in out


def test_a_system_without_proc_is_a_problem(directory, eyespan, monkeypatch):
    monkeypatch.setattr("eyespan.extras.operations.doctor.choose_backend", lambda: "walk")
    monkeypatch.setattr("eyespan.guard.openat.PROC", "/no such directory")

    assert "\n! /proc " in eyespan("doctor")[1]


def test_the_name_of_a_root_stays_on_its_line(tmp_path, eyespan):
    root = tmp_path / "a\nb\x1b[31m\u202e"
    root.mkdir()

    rows = eyespan("doctor", "--root", str(root))[1].splitlines()

    assert rows[-1].endswith("a\\x0ab\\x1b[31m\\u202e")
