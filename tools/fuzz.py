#!/usr/bin/env python3
"""Feeds damaged inputs to everything in eyespan that takes bytes from strangers, and looks at every answer.

    python tools/fuzz.py --list                                     the targets and what each promises
    python tools/fuzz.py --target all --runs 2000                   so many inputs for each target
    python tools/fuzz.py --target text notebook --seconds 60        so long for each
    python tools/fuzz.py --target quick --runs 40000 --jobs 2       a group: quick (in this process), worker
    python tools/fuzz.py --target pdf --replay FILE                 one input again, as a finding's note says
    python tools/fuzz.py --target csv --guided --seconds 60         guided by coverage (needs atheris)

The same seed gives the same inputs. Each target runs in a process of its own that is watched from here: one that dies
or hangs is a finding, too. Findings are written as files with how to feed them again. Exit status 0: no promise broken.
"""

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

sys.path.insert(0, str(Path(__file__).resolve().parent))
os.environ.setdefault("EYESPAN_CACHE", "off")

from fuzzing import documents, inside, loop, talk, texts

WORKER = {target.name: target for target in documents.TARGETS}
QUICK = {
    target.name: target
    for target in (*texts.TARGETS, *inside.TARGETS, *documents.DECODERS, *talk.TARGETS, *talk.arguments())
}
TARGETS = {**QUICK, **WORKER}
GROUPS = {"all": TARGETS, "quick": QUICK, "worker": WORKER}
GRACE_SECONDS = 20
PROGRAM = Path(__file__).resolve()
"""What runs one target; the tests have one with targets of their own."""


def main(argv: list[str] | None = None) -> int:
    options = _options(argv)
    if options.list:
        for name, target in TARGETS.items():
            print(f"{name}\n    {target.invariant}")
        return 0
    names = list(dict.fromkeys(name for given in options.target for name in GROUPS.get(given, [given])))
    if options.replay:
        return _replay(names[0], options.replay)
    if options.guided:
        return _guided(names, options)
    if options.child:
        return _child(names[0], options)
    return _watch(names, options)


def _options(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--target", nargs="+", default=["all"], choices=[*GROUPS, *TARGETS], metavar="NAME")
    parser.add_argument("--list", action="store_true", help="show the targets")
    parser.add_argument("--runs", type=int, help="inputs for each target (2000, unless --seconds is given)")
    parser.add_argument("--seconds", type=float, help="time for each target")
    parser.add_argument("--seed", type=int, default=1, help="other damage (1)")
    parser.add_argument("--jobs", type=int, default=1, help="targets at the same time (1)")
    parser.add_argument("--findings", type=Path, default=Path("fuzz-findings"), help="folder for what was found")
    parser.add_argument("--replay", type=Path, help="feed this file once")
    parser.add_argument("--guided", action="store_true", help="guided by coverage, with atheris")
    parser.add_argument(
        "--corpus",
        type=Path,
        default=Path("fuzz-corpus"),
        help="where --guided keeps inputs that reach new code; plain runs start from them",
    )
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.runs is None and options.seconds is None:
        options.runs = 2000
    return options


# --- one target, in this process -----------------------------------------------------------------------------------


def _child(name: str, options: argparse.Namespace) -> int:
    target = TARGETS[name]
    slate = loop.Slate(options.child)
    target.open()
    try:
        result = loop.run(
            target,
            options.runs,
            options.seconds,
            options.seed,
            more=[path.read_bytes() for path in sorted((options.corpus / name).glob("*"))],
            slate=slate,
            report=lambda finding: loop.keep(finding, options.findings),
        )
        lost = _no_longer_reads(target)
    finally:
        target.close()
    if lost:
        result.findings.append(loop.Finding(name, b"", lost))
    print(
        json.dumps(
            {
                "runs": result.runs,
                "seconds": result.seconds,
                "slowest_ms": result.slowest_ms,
                "outcomes": result.outcomes,
                "findings": [[finding.name, finding.fault] for finding in result.findings],
            }
        )
    )
    return 0


def _no_longer_reads(target) -> str:
    """After all the damage a sound input is read as ever, or what is wrong."""
    fault, _, _ = loop.judge(target, target.seeds()[-1])
    signal.alarm(0)
    return f"an undamaged input is no longer taken: {fault}" if fault else ""


def _replay(name: str, path: Path) -> int:
    target = TARGETS[name]
    data = path.read_bytes()
    target.open()
    try:
        fault, outcome, took = loop.judge(target, data)
        signal.alarm(0)
    finally:
        target.close()
    print(f"{name}: {fault or outcome} ({took * 1000:.1f} ms)")
    return 1 if fault else 0


# --- all of them, from outside -------------------------------------------------------------------------------------


class _Child:
    """A target in a process of its own."""

    def __init__(self, name: str, options: argparse.Namespace, folder: str, runs: int | None, seed: int) -> None:
        self.name, self.runs, self.seed = name, runs, seed
        self.slate_path = os.path.join(folder, f"{name}-{seed}")
        self.slate = loop.Slate(self.slate_path)
        self.slate.write(0, b"")
        words = [sys.executable, str(PROGRAM), "--target", name, "--child", self.slate_path]
        words += ["--seed", str(seed), "--findings", str(options.findings), "--corpus", str(options.corpus)]
        words += [] if runs is None else ["--runs", str(runs)]
        words += [] if options.seconds is None else ["--seconds", str(options.seconds)]
        self.output = tempfile.TemporaryFile()  # noqa: SIM115  (closed when the process has ended)
        self.process = subprocess.Popen(words, stdout=self.output)
        self.last = (-1, time.monotonic())

    def fault(self) -> str:
        """What is wrong with the process itself; "" as long as it runs or if it ended well."""
        code = self.process.poll()
        if code is not None:
            return f"the process died ({signal.Signals(-code).name if code < 0 else code})" if code else ""
        number = self.slate.read()[0]
        if number != self.last[0]:
            self.last = (number, time.monotonic())
        elif time.monotonic() - self.last[1] > TARGETS[self.name].patience_seconds + GRACE_SECONDS:
            self.process.kill()
            self.process.wait()
            return "the process hangs"
        return ""

    def told(self) -> dict:
        self.output.seek(0)
        text = self.output.read().decode()
        self.output.close()
        return json.loads(text.splitlines()[-1]) if text.strip() else {}


def _watch(names: list[str], options: argparse.Namespace) -> int:
    waiting = []
    for name in names:
        reason = TARGETS[name].unavailable()
        if reason:
            print(f"{name}: not run, {reason}")
        else:
            waiting.append((name, options.runs, options.seed))
    totals: Counter = Counter()
    running: list[_Child] = []
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        while waiting or running:
            while waiting and len(running) < options.jobs:
                name, runs, seed = waiting.pop(0)
                running.append(_Child(name, options, folder, runs, seed))
            time.sleep(0.05)
            for child in list(running):
                fault = child.fault()
                if not fault and child.process.poll() is None:
                    continue
                running.remove(child)
                if fault:
                    child.output.close()
                    number, data = child.slate.read()
                    totals.update(inputs=number, findings=1)
                    if number == 0:  # the next would do no better
                        print(f"{child.name}: {fault} before its first input", flush=True)
                        continue
                    path = loop.keep(loop.Finding(child.name, data, fault), options.findings)
                    print(f"{child.name}: {fault}, input {number}: {path}", flush=True)
                    left = None if child.runs is None else child.runs - number
                    if totals["findings"] < loop.MOST_FINDINGS and (left is None or left > 0):
                        waiting.insert(0, (child.name, left, child.seed + 1000))
                else:
                    _tell(child, child.told(), totals, options.findings)
    seconds = time.monotonic() - start
    print(f"in all: {totals['inputs']} inputs in {seconds:.0f} s, {totals['findings']} promises broken")
    return 1 if totals["findings"] else 0


def _tell(child: _Child, told: dict, totals: Counter, folder: Path) -> None:
    outcomes = Counter(told["outcomes"])
    seen = ", ".join(f"{name} {count}" for name, count in outcomes.most_common(8))
    more = len(outcomes) - 8
    rate = told["runs"] / max(told["seconds"], 1e-9)
    print(
        f"{child.name}: {told['runs']} inputs in {told['seconds']:.0f} s ({rate:.0f}/s, slowest "
        f"{told['slowest_ms']:.0f} ms), {len(told['findings'])} promises broken ({seen}"
        f"{f', and {more} more' if more > 0 else ''})",
        flush=True,
    )
    for name, fault in told["findings"]:
        print(f"    {folder / name}: {fault.strip().splitlines()[-1][:300]}", flush=True)
    totals.update(inputs=told["runs"], findings=len(told["findings"]))


def _guided(names: list[str], options: argparse.Namespace) -> int:
    """Each target in a process that libFuzzer takes over."""
    if options.child:
        from fuzzing import guided

        runs = -1 if options.runs is None else options.runs
        seconds = int(options.seconds or 0)
        corpus = options.corpus / names[0]
        guided.main(names[0], TARGETS.__getitem__, runs, seconds, options.seed, corpus, options.findings)
    worst = 0
    for name in names:
        if not TARGETS[name].guidable or TARGETS[name].unavailable():
            print(f"{name}: not guided, its work is done in another process")
            continue
        words = [sys.executable, str(PROGRAM), "--guided", "--child", "1", "--target", name]
        words += ["--seed", str(options.seed), "--findings", str(options.findings), "--corpus", str(options.corpus)]
        words += [] if options.runs is None else ["--runs", str(options.runs)]
        words += [] if options.seconds is None else ["--seconds", str(options.seconds)]
        done = subprocess.run(words, stderr=subprocess.PIPE, text=True, errors="replace")
        lines = [line for line in done.stderr.splitlines() if line.startswith(("stat::", "#"))]
        reached = next((line for line in reversed(lines) if " cov: " in line), "")
        print(f"{name}: {'ok' if done.returncode == 0 else done.stderr[-1500:]} {reached}", flush=True)
        worst = max(worst, abs(done.returncode))
    return 1 if worst else 0


if __name__ == "__main__":
    sys.exit(main())
