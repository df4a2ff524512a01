"""The loop: damage seeds, check each input, and record those that broke an invariant.

The current input lies in a shared file, so that the process that watches finds it there if this one dies or hangs.
"""

from __future__ import annotations

import mmap
import os
import random
import signal
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from proof import REPOSITORY
from proof.fuzz.target import Broken, Hang, Target

REGRESSIONS = REPOSITORY / "tests" / "proof" / "regressions"
MAX_POPULATION = 400
MAX_FINDINGS = 20
"""A run ends here: more findings would repeat the same faults."""


@dataclass
class Finding:
    """An input that broke an invariant."""

    target: str
    data: bytes
    fault: str

    @property
    def name(self) -> str:
        return f"{self.target}-{sha256(self.data).hexdigest()[:12]}"


@dataclass
class Result:
    """The result of a run."""

    target: str
    runs: int = 0
    seconds: float = 0.0
    slowest_ms: float = 0.0
    outcomes: Counter = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)


class CurrentInput:
    """A shared file with the current input: its number (0: none yet), its length, its bytes."""

    BYTES = 1 << 20

    def __init__(self, path: str) -> None:
        fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        os.ftruncate(fd, self.BYTES)
        self._map = mmap.mmap(fd, self.BYTES)
        os.close(fd)

    def write(self, number: int, data: bytes) -> None:
        data = data[: self.BYTES - 16]
        self._map[:16] = number.to_bytes(8, "little") + len(data).to_bytes(8, "little")
        self._map[16 : 16 + len(data)] = data

    def read(self) -> tuple[int, bytes]:
        size = int.from_bytes(self._map[8:16], "little")
        return int.from_bytes(self._map[:8], "little"), self._map[16 : 16 + size]


def inputs(target: Target, seed: int, more: Sequence[bytes] = ()):
    """Yield damaged seeds without end, the same for the same `seed`; an input that is sent back becomes a seed."""
    dice = random.Random(f"{target.name} {seed}")
    population = [*target.seeds(), *regressions(target.name), *more]
    number = 0
    while True:
        data = population[number % len(population)]
        kept = yield target.mutate(dice, data, dice.choice(population))
        if kept is not None and len(population) < MAX_POPULATION:
            population.append(kept)
        number += 1


def regressions(name: str) -> list[bytes]:
    """Return the inputs that once broke the invariant of the target."""
    return [path.read_bytes() for path in sorted(REGRESSIONS.glob(f"{name}/*")) if path.suffix != ".md"]


def run(
    target: Target,
    runs: int | None,
    seconds: float | None,
    seed: int,
    *,
    more: Sequence[bytes] = (),
    current: CurrentInput | None = None,
    report=lambda finding: None,
) -> Result:
    """Check damaged inputs on an opened target until `runs` of them are done or `seconds` are over.

    `more` are seeds in addition to the target's own.
    """
    result = Result(target.name)
    source = inputs(target, seed, more)
    data = next(source)
    start = time.monotonic()
    while True:
        if current is not None:
            current.write(result.runs + 1, data)
        fault, outcome, took = check(target, data)
        result.runs += 1
        result.slowest_ms = max(result.slowest_ms, took * 1000)
        # An input with a new outcome reached new code, so it is damaged further.
        is_new = outcome not in result.outcomes
        result.outcomes[outcome] += 1
        if fault is not None:
            result.findings.append(Finding(target.name, data, fault))
            report(result.findings[-1])
        result.seconds = time.monotonic() - start
        if (
            (runs is not None and result.runs >= runs)
            or (seconds is not None and result.seconds >= seconds)
            or len(result.findings) >= MAX_FINDINGS
        ):
            return result
        data = source.send(data if is_new and fault is None else None)


def check(target: Target, data: bytes) -> tuple[str | None, str, float]:
    """Check one input and return the fault, if any, a word for the outcome, and the seconds it took."""
    before = signal.signal(signal.SIGALRM, _raise_hang)
    signal.alarm(int(target.deadline_seconds))
    start, busy = time.monotonic(), time.process_time()
    fault, outcome = None, "broken"
    try:
        outcome = target.check(data)
        busy = time.process_time() - busy
        if busy > target.cpu_seconds:
            fault = f"{busy:.1f} s of CPU time for {len(data)} bytes"
    except Broken as error:
        fault = str(error)
    except Hang:
        fault = f"no answer in {target.deadline_seconds} s"
    except Exception:
        fault = traceback.format_exc()
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    return fault, outcome, time.monotonic() - start


def _raise_hang(number: int, frame: object) -> None:
    raise Hang


def write_finding(finding: Finding, directory: Path) -> Path:
    """Write an input to a file, beside a note with its fault and the command that repeats it."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / finding.name
    path.write_bytes(finding.data)
    again = f"python -m proof fuzz --target {finding.target} --replay {path}"
    path.with_suffix(".md").write_text(f"{again}\n\n{finding.fault}\n", encoding="utf-8", errors="backslashreplace")
    return path
