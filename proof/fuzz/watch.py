"""Run each target in a process of its own and watch it."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from proof.fuzz import loop
from proof.fuzz.target import Target

GRACE_SECONDS = 20
PROGRAM = [sys.executable, "-m", "proof", "fuzz"]
"""The command that runs one target; the tests use one with targets of their own."""
MAX_OUTCOMES = 8


def watch(targets: dict[str, Target], options: argparse.Namespace) -> int:
    """Run targets, `options.jobs` at once, print a line for each, and return the exit status."""
    pending = []
    for name, target in targets.items():
        reason = target.unavailable()
        if reason:
            print(f"{name}: not run, {reason}")
        else:
            pending.append((target, options.runs, options.seed))
    totals: Counter[str] = Counter()
    running: list[_Child] = []
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as directory:
        while pending or running:
            while pending and len(running) < options.jobs:
                target, runs, seed = pending.pop(0)
                running.append(_Child(target, options, directory, runs, seed))
            time.sleep(0.05)
            for child in list(running):
                fault = child.fault()
                if not fault and child.process.poll() is None:
                    continue
                running.remove(child)
                if not fault:
                    _print_result(child.target.name, child.result(), totals, options.findings)
                    continue
                child.output.close()
                name = child.target.name
                number, data = child.current.read()
                totals.update(inputs=number, findings=1)
                if number == 0:  # Another process would end before its first input too.
                    print(f"{name}: {fault} before its first input", flush=True)
                    continue
                path = loop.write_finding(loop.Finding(name, data, fault), options.findings)
                print(f"{name}: {fault}, input {number}: {path}", flush=True)
                left = None if child.runs is None else child.runs - number
                if totals["findings"] < loop.MAX_FINDINGS and (left is None or left > 0):
                    pending.insert(0, (child.target, left, child.seed + 1000))
    seconds = time.monotonic() - start
    print(f"in all: {totals['inputs']} inputs in {seconds:.0f} s, {totals['findings']} promises broken")
    return 1 if totals["findings"] else 0


class _Child:
    """A target in a process of its own."""

    def __init__(
        self, target: Target, options: argparse.Namespace, directory: str, runs: int | None, seed: int
    ) -> None:
        self.target, self.runs, self.seed = target, runs, seed
        path = os.path.join(directory, f"{target.name}-{seed}")
        self.current = loop.CurrentInput(path)
        self.current.write(0, b"")
        words = [*PROGRAM, "--target", target.name, "--child", path]
        words += ["--seed", str(seed), "--findings", str(options.findings), "--corpus", str(options.corpus)]
        words += [] if runs is None else ["--runs", str(runs)]
        words += [] if options.seconds is None else ["--seconds", str(options.seconds)]
        self.output = tempfile.TemporaryFile()  # noqa: SIM115  (closed when the process has ended)
        self.process = subprocess.Popen(words, stdout=self.output)
        self._last = (-1, time.monotonic())

    def fault(self) -> str:
        """Describe the failure of the process; "" while it runs and if it ended well."""
        code = self.process.poll()
        if code is not None:
            return f"the process died ({signal.Signals(-code).name if code < 0 else code})" if code else ""
        number = self.current.read()[0]
        if number != self._last[0]:
            self._last = (number, time.monotonic())
        elif time.monotonic() - self._last[1] > self.target.deadline_seconds + GRACE_SECONDS:
            self.process.kill()
            self.process.wait()
            return "the process hangs"
        return ""

    def result(self) -> dict[str, Any]:
        """Return the result that the process printed."""
        self.output.seek(0)
        text = self.output.read().decode()
        self.output.close()
        return json.loads(text.splitlines()[-1]) if text.strip() else {}


def _print_result(name: str, result: dict[str, Any], totals: Counter[str], findings: Path) -> None:
    outcomes = Counter(result["outcomes"])
    common = ", ".join(f"{outcome} {count}" for outcome, count in outcomes.most_common(MAX_OUTCOMES))
    more = len(outcomes) - MAX_OUTCOMES
    rate = result["runs"] / max(result["seconds"], 1e-9)
    print(
        f"{name}: {result['runs']} inputs in {result['seconds']:.0f} s ({rate:.0f}/s, slowest "
        f"{result['slowest_ms']:.0f} ms), {len(result['findings'])} promises broken ({common}"
        f"{f', and {more} more' if more > 0 else ''})",
        flush=True,
    )
    for finding, fault in result["findings"]:
        print(f"    {findings / finding}: {fault.strip().splitlines()[-1][:300]}", flush=True)
    totals.update(inputs=result["runs"], findings=len(result["findings"]))
