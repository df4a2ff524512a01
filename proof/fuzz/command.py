"""Parse the options and run targets: in this process, watched in others, or guided by coverage."""

from __future__ import annotations

import argparse
import json
import subprocess
from pathlib import Path

from proof.fuzz import loop, watch
from proof.fuzz.target import Target
from proof.fuzz.targets import GROUPS, TARGETS


def main(argv: list[str] | None = None) -> int:
    options = _parse(argv)
    if options.list:
        for name, target in TARGETS.items():
            print(f"{name}\n    {target.invariant}")
        return 0
    names = list(dict.fromkeys(name for given in options.target for name in GROUPS.get(given, [given])))
    if options.replay:
        return _replay(TARGETS[names[0]], options.replay)
    if options.guided:
        return _run_guided(names, options)
    if options.child:
        return _run_child(TARGETS[names[0]], options)
    return watch.watch({name: TARGETS[name] for name in names}, options)


def _parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Feed damaged inputs to every parser and check every answer.")
    parser.add_argument("--target", nargs="+", default=["all"], choices=[*GROUPS, *TARGETS], metavar="NAME")
    parser.add_argument("--list", action="store_true", help="list the targets")
    parser.add_argument("--runs", type=int, help="inputs for each target (2000, unless --seconds is given)")
    parser.add_argument("--seconds", type=float, help="time for each target")
    parser.add_argument("--seed", type=int, default=1, help="seed of the damage (1)")
    parser.add_argument("--jobs", type=int, default=1, help="targets at the same time (1)")
    parser.add_argument("--findings", type=Path, default=Path("fuzz-findings"), help="directory for findings")
    parser.add_argument("--replay", type=Path, help="check this file once")
    parser.add_argument("--guided", action="store_true", help="guided by coverage, with atheris")
    parser.add_argument(
        "--corpus",
        type=Path,
        default=Path("fuzz-corpus"),
        help="directory where --guided keeps inputs that reach new code; other runs start from them",
    )
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.runs is None and options.seconds is None:
        options.runs = 2000
    return options


def _run_child(target: Target, options: argparse.Namespace) -> int:
    """Run one target in this process and print the result as JSON for the process that watches."""
    target.open()
    try:
        result = loop.run(
            target,
            options.runs,
            options.seconds,
            options.seed,
            more=[path.read_bytes() for path in sorted((options.corpus / target.name).glob("*"))],
            current=loop.CurrentInput(options.child),
            report=lambda finding: loop.write_finding(finding, options.findings),
        )
        fault = loop.check(target, target.seeds()[-1])[0]
    finally:
        target.close()
    if fault:
        result.findings.append(loop.Finding(target.name, b"", f"an undamaged input fails after the run: {fault}"))
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


def _replay(target: Target, path: Path) -> int:
    data = path.read_bytes()
    target.open()
    try:
        fault, outcome, took = loop.check(target, data)
    finally:
        target.close()
    print(f"{target.name}: {fault or outcome} ({took * 1000:.1f} ms)")
    return 1 if fault else 0


def _run_guided(names: list[str], options: argparse.Namespace) -> int:
    """Run each target in a process that libFuzzer takes over."""
    if options.child:
        from proof.fuzz import guided

        guided.main(
            names[0],
            TARGETS.__getitem__,
            runs=-1 if options.runs is None else options.runs,
            seconds=int(options.seconds or 0),
            seed=options.seed,
            corpus=options.corpus / names[0],
            findings=options.findings,
        )
    worst = 0
    for name in names:
        if not TARGETS[name].guidable or TARGETS[name].unavailable():
            print(f"{name}: not guided, its work is done in another process")
            continue
        words = [*watch.PROGRAM, "--guided", "--child", "1", "--target", name]
        words += ["--seed", str(options.seed), "--findings", str(options.findings), "--corpus", str(options.corpus)]
        words += [] if options.runs is None else ["--runs", str(options.runs)]
        words += [] if options.seconds is None else ["--seconds", str(options.seconds)]
        done = subprocess.run(words, stderr=subprocess.PIPE, text=True, errors="replace")
        lines = [line for line in done.stderr.splitlines() if line.startswith(("stat::", "#"))]
        reached = next((line for line in reversed(lines) if " cov: " in line), "")
        print(f"{name}: {'ok' if done.returncode == 0 else done.stderr[-1500:]} {reached}", flush=True)
        worst = max(worst, abs(done.returncode))
    return 1 if worst else 0
