"""Read a corpus of small bombs in every dialect, in one process and over HTTP, and check memory, time and answers.

    python -m proof bombs                       all of them; an hour on two cores
    python -m proof bombs --group tar zip       only these groups
    python -m proof bombs --quick               one or two bombs of each group, some four minutes

The corpus is made in a temporary directory. Each bomb is read in every dialect and by several selectors, first in one
process and then by eight callers of `eyespan serve --http` at once. The process may take 64 MB above idle during a
call; at rest afterwards 8 MB; no call may take longer than 10.5 s; and the next plain read must be correct. The exit
status is 0 if all of that holds. Needs Linux.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from proof import REPOSITORY
from proof.bombs import configuration
from proof.bombs.corpus import bombs, make_corpus
from proof.bombs.serving import Server, Serving

MB = 1_000_000
PEAK_MB, REST_MB, SECONDS = 64, 8, 10.5
REST_SECONDS = 25
PER_GROUP = 2


def main(argv: list[str] | None = None) -> int:
    options = _parse(argv)
    chosen = chosen_names(options.group, per_group=PER_GROUP if options.quick else None)
    if not chosen:
        print("no bomb in these groups", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as made:
        root = Path(made) / "work"
        root.mkdir()
        make_corpus(root, lambda bomb: bomb.name in chosen)
        broken = [*_read_configurations(Path(made)), *_read_here(root)]
        if not options.no_http:
            broken += _read_over_http(root, Path(made) / "log")
    for line in broken:
        print(f"BROKEN {line}", file=sys.stderr)
    return 1 if broken else 0


def _parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m proof bombs", description=__doc__.split("\n")[0])
    parser.add_argument("--group", nargs="+", default=[], help="only bombs of these groups")
    parser.add_argument("--quick", action="store_true", help=f"only {PER_GROUP} bombs of each group")
    parser.add_argument("--no-http", action="store_true", help="only in one process")
    return parser.parse_args(argv)


def chosen_names(groups: list[str], per_group: int | None) -> set[str]:
    """Return the names of the bombs of these groups, or of all; `per_group` of each group, spread over it."""
    by_group: dict[str, list[str]] = {}
    for bomb in bombs():
        if not groups or bomb.group in groups:
            by_group.setdefault(bomb.group, []).append(bomb.name)
    if per_group is None:
        return {name for names in by_group.values() for name in names}
    return {names[len(names) * n // per_group] for names in by_group.values() for n in range(per_group)}


def complaints(row: dict[str, Any], where: str) -> list[str]:
    """Return the promises that one bomb broke, as lines."""
    found = []
    if row["peak"] > PEAK_MB * MB:
        found.append(f"{where} {row['name']}: {row['peak'] / MB:.1f} MB above idle in {row['largest']}")
    if row["seconds"] > SECONDS:
        found.append(f"{where} {row['name']}: {row['seconds']} s in {row['slowest']}")
    found += [f"{where} {row['name']}: wrong afterwards or no answer: {wrong}" for wrong in row["wrong"]]
    return found


def _read_configurations(directory: Path) -> list[str]:
    rows = configuration.read_below(directory)
    slowest = max(seconds for _, seconds, _ in rows)
    print(f"configuration: {len(rows)} files, the slowest read {slowest:.2f} s")
    broken = [f"configuration {name}: {seconds:.1f} s" for name, seconds, _ in rows if seconds > SECONDS]
    return broken + [f"configuration {name}: {answer[:80]!r}" for name, _, answer in rows if "\n" in answer]


def _read_here(root: Path) -> list[str]:
    argv = [sys.executable, "-m", "proof.bombs.reading", str(root)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY) as process:
        assert process.stdout is not None
        rows = [json.loads(line) for line in process.stdout]
    broken = [line for row in rows for line in complaints(row, "in process:")]
    if process.returncode:
        broken.append(f"the process ended with status {process.returncode}")
    _print_figures("in one process", rows)
    rest = rows[-1]["after"] / MB if rows else 0.0
    print(f"  at rest {rest:.1f} MB above idle")
    return broken + ([f"in process: {rest:.1f} MB above idle at rest"] if rest > REST_MB else [])


def _read_over_http(root: Path, log: Path) -> list[str]:
    server = Server(root, log)
    try:
        serving = Serving(server, root)
        serving.warm_up()
        listed = json.loads((root / "bombs.json").read_text())
        rows = [serving.read(name, selectors) for name, _, selectors in listed]
        rest = server.at_rest(REST_SECONDS, serving.idle, REST_MB * MB) / MB
    finally:
        status = server.end()
    broken = [line for row in rows for line in complaints(row, "over HTTP:")]
    _print_figures("over HTTP, eight at once", rows)
    print(f"  at rest {rest:.1f} MB above idle")
    if rest > REST_MB:
        broken.append(f"over HTTP: {rest:.1f} MB above idle at rest")
    return broken + ([f"the server ended with status {status}"] if status else [])


def _print_figures(where: str, rows: list[dict[str, Any]]) -> None:
    if not rows:
        return
    peak, slow = max(rows, key=lambda row: row["peak"]), max(rows, key=lambda row: row["seconds"])
    print(f"{where}: {len(rows)} bombs, {sum(row['calls'] for row in rows)} calls")
    print(f"  the most memory {peak['peak'] / MB:.1f} MB above idle ({peak['name']})")
    print(f"  the longest call {slow['seconds']:.2f} s ({slow['name']})", flush=True)


def count_bombs() -> dict[str, int]:
    """Return the number of bombs by group."""
    counts: dict[str, int] = {}
    for bomb in bombs():
        counts[bomb.group] = counts.get(bomb.group, 0) + 1
    return counts
