"""The loop: damages seeds, feeds them, and keeps what broke a promise.

Watched from outside: the input at hand lies in a shared file, so that one on which the process dies or hangs is found
there by whoever started it.
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

from fuzzing.target import REPOSITORY, Broken, Hang, Target

REGRESSIONS = REPOSITORY / "tests" / "fuzz" / "regressions"
MAX_POPULATION = 400
MOST_FINDINGS = 20
"""More of them would be more of the same."""


@dataclass
class Finding:
    """An input that broke a promise."""

    target: str
    data: bytes
    fault: str

    @property
    def name(self) -> str:
        return f"{self.target}-{sha256(self.data).hexdigest()[:12]}"


@dataclass
class Result:
    """What came of a run."""

    target: str
    runs: int = 0
    seconds: float = 0.0
    slowest_ms: float = 0.0
    outcomes: Counter = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)


class Slate:
    """Where the input at hand is written down: the how-manieth it is (0: none yet), its length, its bytes."""

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
    """Damaged seeds without end, the same for the same seed; a sent-back input becomes a seed."""
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
    """The inputs that once broke a promise of the target."""
    return [path.read_bytes() for path in sorted(REGRESSIONS.glob(f"{name}/*")) if path.suffix != ".md"]


def run(
    target: Target,
    runs: int | None,
    seconds: float | None,
    seed: int,
    *,
    more: Sequence[bytes] = (),
    slate: Slate | None = None,
    report=lambda finding: None,
) -> Result:
    """Feeds damaged inputs to an opened target until it has had `runs` of them or `seconds` are over.

    `more` are seeds beside the target's own.
    """
    result = Result(target.name)
    source = inputs(target, seed, more)
    data = next(source)
    start = time.monotonic()
    before = _alarm(target.patience_seconds)
    try:
        while True:
            if slate is not None:
                slate.write(result.runs + 1, data)
            fault, outcome, took = judge(target, data)
            result.runs += 1
            result.slowest_ms = max(result.slowest_ms, took * 1000)
            # What was never heard before is worth damaging further.
            new = outcome not in result.outcomes
            result.outcomes[outcome] += 1
            if fault is not None:
                result.findings.append(Finding(target.name, data, fault))
                report(result.findings[-1])
            result.seconds = time.monotonic() - start
            if (
                (runs is not None and result.runs >= runs)
                or (seconds is not None and result.seconds >= seconds)
                or len(result.findings) >= MOST_FINDINGS
            ):
                return result
            data = source.send(data if new and fault is None else None)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def judge(target: Target, data: bytes) -> tuple[str | None, str, float]:
    """One input: what is wrong, if anything; a word for what came of it; how long it took."""
    signal.alarm(int(target.patience_seconds))
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
        fault = f"no answer in {target.patience_seconds} s"
    except Exception:
        fault = traceback.format_exc()
    return fault, outcome, time.monotonic() - start


def _alarm(seconds: float):
    def ring(number, frame):
        raise Hang

    return signal.signal(signal.SIGALRM, ring)


def keep(finding: Finding, folder: Path) -> Path:
    """Writes an input down with what is wrong with it and how to feed it again."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / finding.name
    path.write_bytes(finding.data)
    again = f"python tools/fuzz.py --target {finding.target} --replay {path}"
    path.with_suffix(".md").write_text(f"{again}\n\n{finding.fault}\n", encoding="utf-8", errors="backslashreplace")
    return path


def shortened(target: Target, data: bytes, tries: int = 400) -> bytes:
    """A shorter input that is wrong as well: pieces are taken out as long as something stays wrong."""
    size = len(data) // 2
    while size >= 1 and tries > 0:
        at = 0
        while at < len(data) and tries > 0:
            less = data[:at] + data[at + size :]
            tries -= 1
            if judge(target, less)[0] is not None:
                data = less
            else:
                at += size
        size //= 2
    return data
