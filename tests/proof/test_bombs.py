"""The corpus of bombs, and a selection of it read in one process."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest

from eyespan.outline import languages
from proof import REPOSITORY
from proof.bombs import configuration, stores
from proof.bombs.calls import DIALECTS
from proof.bombs.command import chosen_names, complaints
from proof.bombs.corpus import groups_by_name, make_corpus
from proof.bombs.reading import Reading
from proof.bombs.serving import CALLERS
from proof.bombs.texts import DEFINITIONS
from tests.sizes import size

GROUPS = {
    *("text", "directory", "source", "json", "yaml", "toml", "config", "csv", "tar", "zip", "compressed", "nested"),
    *(
        "git",
        "notebook",
        "image",
        "pdf",
        "office",
        "html",
        "mail",
        "sqlite",
        "parquet",
    ),
    *("markup", "search"),
}
SHORT = {
    *("newlines.txt", "names.py", "commas.csv", "names.tar.gz", "counts.zip"),
    *("one-line.txt", "zeros.log.zst", "git-commit/f.txt", "git-hash-cycle/f.txt", "elements.html"),
}
"""Bombs that are read within seconds and that took a multiple of the limit before there was one."""
linux = pytest.mark.skipif(sys.platform != "linux", reason="the memory is read from /proc")


def test_the_corpus_has_bombs_of_every_group_and_language():
    groups = groups_by_name()

    assert set(groups.values()) == GROUPS
    assert len(groups) >= 60
    assert set(groups) >= SHORT
    assert sum(group == "source" for group in groups.values()) >= 2 * len(languages())
    assert set(DEFINITIONS) <= set(languages())


def test_a_selection_has_bombs_of_every_group():
    few = chosen_names([], per_group=2)
    groups = groups_by_name()

    assert {groups[name] for name in few} == GROUPS
    assert len(few) <= 2 * len(GROUPS)
    assert {groups[name] for name in chosen_names(["tar", "zip"], per_group=None)} == {"tar", "zip"}


@linux
def test_bombs_take_little_memory_and_time_and_spoil_no_later_read(tmp_path):
    wanted = size(short=SHORT, long={name for name, group in groups_by_name().items() if group != "source"})
    names = make_corpus(tmp_path, lambda bomb: bomb.name in wanted)
    for sample in size(short=[*tmp_path.glob("sample.*")], long=[]):
        if sample.suffix not in (".csv", ".html", ".py", ".zip", ".gz"):
            sample.unlink()
    done = subprocess.run(
        [sys.executable, "-m", "proof.bombs.reading", str(tmp_path)],
        cwd=REPOSITORY,
        env={**os.environ, "EYESPAN_BOMBS_DIALECTS": ",".join(size(short=DIALECTS[:2], long=DIALECTS))},
        capture_output=True,
        text=True,
        check=True,
    )
    rows = [json.loads(line) for line in done.stdout.splitlines()]

    assert [row["name"] for row in rows] == names
    # Times are not compared: another process may have the machine.
    assert [line for row in rows for line in complaints({**row, "seconds": 0}, "")] == []


@linux
@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
@pytest.mark.soak
@pytest.mark.parametrize("name", ["https", "https-whole"])
def test_bombs_of_a_web_server_are_read_by_eight_threads(tmp_path, monkeypatch, name):
    (tmp_path / "work").mkdir()
    wanted = size(short={"newlines.txt", "counts.zip"}, long={"newlines.txt", "names.zip"})
    names = make_corpus(tmp_path / "work", lambda bomb: bomb.name in wanted)
    store = stores.Store(name, tmp_path / "work", tmp_path)
    try:
        for key, value in store.environment.items():
            monkeypatch.setenv(key, value)
        reading = Reading(str(tmp_path / "work"), store.address, ["native"], CALLERS)
        reading.samples = size(short=["sample.json"], long=reading.samples)
        reading.warm_up()
        rows = [reading.read(bomb, []) for bomb in names]
    finally:
        store.close()

    assert [(row["name"], row["calls"], row["wrong"]) for row in rows] == [(bomb, 3 * CALLERS, []) for bomb in names]
    assert "line 1 of the plain file" in reading.expected["native"].text


def test_a_broken_promise_is_reported():
    row = {"name": "x", "peak": 65_000_000, "seconds": 10.6, "largest": ["codex", {}], "slowest": ["codex", {}]}

    assert complaints({**row, "wrong": ["native"]}, "here:") == [
        "here: x: 65.0 MB above idle in ['codex', {}]",
        "here: x: 10.6 s in ['codex', {}]",
        "here: x: wrong afterwards or no answer: native",
    ]
    assert complaints({**row, "peak": 64_000_000, "seconds": 10.5, "wrong": []}, "here:") == []


def test_a_hostile_configuration_is_one_line_or_has_no_effect(tmp_path):
    answers = {name: answer for name, _, answer in configuration.read_below(tmp_path)}

    assert set(answers) == set(configuration.FILES)
    assert {name: answer for name, answer in answers.items() if "\n" in answer} == {}
    assert {name for name, answer in answers.items() if answer == "L1: plain"} == {"stars"}
