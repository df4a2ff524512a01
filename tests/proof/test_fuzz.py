"""The fuzz targets with a few inputs each; `make fuzz-inputs` checks thousands.

Also checks each input that once broke an invariant: the files in `regressions/TARGET/`, explained in the README there.
"""

import sys
from pathlib import Path

import pytest

from proof.fuzz import command, loop, watch
from proof.fuzz.target import Broken, Target
from proof.fuzz.targets import TARGETS, WORKER
from tests.sizes import size

from . import mortal_targets

RUNS, WORKER_RUNS = size(short=12, long=200), size(short=4, long=100)
MORTAL_RUNS = 40
ACCEPTED = ("html", "decode-html", "eml", "decode-eml", "rtf", "decode-rtf")
REGRESSIONS = sorted(path.relative_to(loop.REGRESSIONS) for path in loop.REGRESSIONS.glob("*/*"))


@pytest.fixture
def opened():
    made = []

    def start(name):
        target = TARGETS[name]
        if target.unavailable():
            pytest.skip(target.unavailable())
        target.open()
        made.append(target)
        return target

    yield start
    for target in made:
        target.close()


@pytest.mark.parametrize("name", TARGETS)
def test_damaged_inputs_break_no_invariant(name, opened):
    target = opened(name)
    runs = WORKER_RUNS if name in WORKER else RUNS

    result = loop.run(target, runs, None, seed=20)

    assert [finding.fault for finding in result.findings] == []
    assert result.runs == runs
    # Several outcomes: some inputs were accepted and some were not. Any HTML and any mail is accepted, and the few
    # inputs of the short form may all have one outcome.
    least = size(short=1, long=1 if name in ACCEPTED else 2)
    assert len(result.outcomes) >= least
    assert loop.check(target, target.seeds()[-1])[0] is None, "an undamaged input fails after the run"


@pytest.mark.parametrize("path", REGRESSIONS, ids=str)
def test_an_input_that_once_broke_an_invariant_is_accepted_or_refused(path, opened):
    target = opened(path.parts[0])

    assert loop.check(target, (loop.REGRESSIONS / path).read_bytes())[0] is None


def test_every_regression_is_explained():
    readme = (loop.REGRESSIONS / "README.md").read_text(encoding="utf-8")

    assert [str(path) for path in REGRESSIONS if f"`{path}`" not in readme] == []
    assert all((loop.REGRESSIONS / path).stat().st_size < 10_000 for path in REGRESSIONS)


def test_the_same_seed_gives_the_same_inputs():
    target = TARGETS["arguments-native"]
    once, again, other = (loop.inputs(target, seed) for seed in (1, 1, 2))
    first, second, third = ([next(source) for _ in range(30)] for source in (once, again, other))

    assert first == second
    assert first != third


class Faulty(Target):
    """A target with faults, to show that they are found."""

    name = "faulty"
    deadline_seconds = 1

    def seeds(self):
        return [b"abc"]

    def __init__(self):
        self.inputs = [b"good", b"raises", b"hangs", b"broken", b"busy"]

    def mutate(self, dice, data, other):
        return self.inputs.pop(0)

    def check(self, data):
        match data:
            case b"raises":
                raise KeyError("unforeseen")
            case b"hangs":
                while True:
                    pass
            case b"busy":
                self.cpu_seconds = -1
            case b"broken":
                raise Broken("a broken invariant")
        return "fine"


def test_an_input_that_raises_hangs_or_breaks_its_invariant_is_found(tmp_path):
    found = {}
    for finding in loop.run(Faulty(), 5, None, seed=1).findings:
        found[finding.data] = finding.fault
    path = loop.write_finding(loop.Finding("faulty", b"raises", found[b"raises"]), tmp_path)

    assert "KeyError: 'unforeseen'" in found[b"raises"]
    assert found[b"hangs"] == "no answer in 1 s"
    assert found[b"broken"] == "a broken invariant"
    assert "CPU time" in found[b"busy"]
    assert path.read_bytes() == b"raises"
    assert f"--target faulty --replay {path}" in path.with_suffix(".md").read_text()


@pytest.fixture
def watched(tmp_path, monkeypatch, capsys):
    """Run the targets of mortal_targets.py, watched from this process: exit status, findings by input, output."""
    monkeypatch.setattr(watch, "PROGRAM", [sys.executable, str(Path(mortal_targets.__file__))])
    monkeypatch.setattr(watch, "GRACE_SECONDS", 1)
    for target in mortal_targets.TARGETS:
        monkeypatch.setitem(TARGETS, target.name, target)

    def run(name, runs):
        directory = tmp_path / "findings"
        status = command.main(["--target", name, "--runs", str(runs), "--findings", str(directory)])
        notes = directory.glob("*.md")
        found = {path.with_suffix("").read_bytes(): path.read_text().splitlines()[-1] for path in notes}
        return status, found, capsys.readouterr().out

    return run


def test_an_input_that_kills_its_process_is_found(watched):
    status, found, out = watched("mortal", MORTAL_RUNS)

    assert status == 1
    assert found == {
        b"kill": "the process died (SIGKILL)",
        b"abort": "the process died (SIGABRT)",
        b"fault": "the process died (SIGSEGV)",
        b"leave": "the process died (3)",
    }
    # All inputs were checked: the death of a process does not end the run.
    assert out.splitlines()[-1].startswith(f"in all: {MORTAL_RUNS} inputs in ")


def test_an_input_that_stops_its_process_is_found(watched):
    status, found, _ = watched("stopped", 1)

    assert (status, found) == (1, {b"stop": "the process hangs"})


def test_a_process_that_fails_to_start_is_reported_without_an_input(watched):
    status, found, out = watched("unopened", 50)

    assert (status, found) == (1, {})
    assert out.splitlines()[0] == "unopened: the process died (1) before its first input"
