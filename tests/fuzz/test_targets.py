"""Damaged inputs for everything that takes bytes from strangers, some of a kind; `make fuzz` feeds many thousands.

Also feeds what once broke a promise: each file in `regressions/TARGET/`, explained in the README there.
"""

import importlib.util
import random
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parent.parent.parent / "tools" / "fuzz.py"
spec = importlib.util.spec_from_file_location("fuzz", TOOL)
fuzz = importlib.util.module_from_spec(spec)
spec.loader.exec_module(fuzz)
loop = sys.modules["fuzzing.loop"]

RUNS, WORKER_RUNS = 200, 100
RUNS_OF_MORTALS = 40
KNOWN = sorted(path.relative_to(loop.REGRESSIONS) for path in loop.REGRESSIONS.glob("*/*"))


@pytest.fixture
def opened():
    made = []

    def start(name):
        target = fuzz.TARGETS[name]
        if target.unavailable():
            pytest.skip(target.unavailable())
        target.open()
        made.append(target)
        return target

    yield start
    for target in made:
        target.close()


@pytest.mark.parametrize("name", fuzz.TARGETS)
def test_damaged_inputs_break_no_promise(name, opened):
    target = opened(name)
    runs = WORKER_RUNS if name in fuzz.WORKER else RUNS

    result = loop.run(target, runs, None, seed=20)

    assert [finding.fault for finding in result.findings] == []
    assert result.runs == runs
    # Some were taken and some were not: the damage was neither nothing nor everything. Any HTML is taken.
    assert len(result.outcomes) > 1 or name in ("html", "decode-html")
    assert loop.judge(target, target.seeds()[-1])[0] is None  # and a sound one is taken as ever


@pytest.mark.parametrize("path", KNOWN, ids=str)
def test_what_once_broke_a_promise_does_so_no_more(path, opened):
    target = opened(path.parts[0])

    assert loop.judge(target, (loop.REGRESSIONS / path).read_bytes())[0] is None


def test_every_regression_is_explained():
    told = (loop.REGRESSIONS / "README.md").read_text(encoding="utf-8")

    assert [str(path) for path in KNOWN if f"`{path}`" not in told] == []
    assert all((loop.REGRESSIONS / path).stat().st_size < 10_000 for path in KNOWN)


def test_the_same_seed_gives_the_same_inputs():
    target = fuzz.TARGETS["arguments-native"]
    once, again, other = (loop.inputs(target, seed) for seed in (1, 1, 2))
    first, second, third = ([next(source) for _ in range(30)] for source in (once, again, other))

    assert first == second
    assert first != third


class Touchy(fuzz.loop.Target):
    """A target with faults, to show that they are found."""

    name = "touchy"
    patience_seconds = 1

    def seeds(self):
        return [b"abc"]

    def mutate(self, dice: random.Random, data, other):
        return dice.choice((b"good", b"raises", b"hangs", b"busy", b"broken"))

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
                raise loop.Broken("as told")
        return "fine"


def test_what_raises_hangs_or_breaks_its_promise_is_found(tmp_path):
    found = {}
    for finding in loop.run(Touchy(), 12, None, seed=1).findings:
        found[finding.data] = finding.fault
    path = loop.keep(loop.Finding("touchy", b"raises", found[b"raises"]), tmp_path)

    assert "KeyError: 'unforeseen'" in found[b"raises"]
    assert found[b"hangs"] == "no answer in 1 s"
    assert found[b"broken"] == "as told"
    assert "CPU time" in found[b"busy"]
    assert path.read_bytes() == b"raises"
    assert f"--target touchy --replay {path}" in path.with_suffix(".md").read_text()


@pytest.fixture
def watch(tmp_path, monkeypatch, capsys):
    """`tools/fuzz.py` over the targets of mortal.py, watched from this process: status, findings by input, output."""
    program = Path(__file__).parent / "mortal.py"
    mortal = importlib.util.spec_from_file_location("mortal", program)
    module = importlib.util.module_from_spec(mortal)
    mortal.loader.exec_module(module)
    monkeypatch.setattr(fuzz, "PROGRAM", program)
    monkeypatch.setattr(fuzz, "GRACE_SECONDS", 1)
    for target in module.TARGETS:
        monkeypatch.setitem(fuzz.TARGETS, target.name, target)

    def run(name, runs):
        folder = tmp_path / "findings"
        status = fuzz.main(["--target", name, "--runs", str(runs), "--findings", str(folder)])
        notes = {path.with_suffix("").read_bytes(): path.read_text().splitlines()[-1] for path in folder.glob("*.md")}
        return status, notes, capsys.readouterr().out

    return run


def test_a_process_that_dies_is_found_with_its_input(watch):
    status, found, out = watch("mortal", RUNS_OF_MORTALS)

    assert status == 1
    assert found == {
        b"kill": "the process died (SIGKILL)",
        b"abort": "the process died (SIGABRT)",
        b"fault": "the process died (SIGSEGV)",
        b"leave": "the process died (3)",
    }
    # What came before and after them was fed as well: one death does not end the run.
    assert out.splitlines()[-1].startswith(f"in all: {RUNS_OF_MORTALS} inputs in ")


def test_a_process_that_stands_still_is_found_with_its_input(watch):
    status, found, _ = watch("still", 1)

    assert (status, found) == (1, {b"stop": "the process hangs"})


def test_a_process_that_never_comes_up_is_told_without_an_input(watch):
    status, found, out = watch("stillborn", 50)

    assert (status, found) == (1, {})
    assert out.splitlines()[0] == "stillborn: the process died (1) before its first input"
