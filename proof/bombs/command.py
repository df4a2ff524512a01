"""Read a corpus of small bombs in every dialect, in one process and over HTTP, and check memory, time and answers.

    python -m proof bombs                       all of them; an hour on two cores
    python -m proof bombs --group tar zip       only these groups
    python -m proof bombs --quick               one or two bombs of each group, some four minutes
    python -m proof bombs --remote s3           as objects of a bucket; https and https-whole: of a web server

The corpus is made in a temporary directory. Each bomb is read in every dialect and by several selectors, first in one
process and then by eight callers of `eyespan serve --http` at once. The process may take 64 MB above idle during a
call; at rest afterwards 24 MB; no call may take longer than 10.5 s; and the next plain read must be correct. The exit
status is 0 if all of that holds. Needs Linux.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from proof import REPOSITORY
from proof.bombs import configuration, stores
from proof.bombs.calls import TOOLS
from proof.bombs.corpus import groups_by_name, make_corpus
from proof.bombs.serving import CALLERS, Server, Serving

MB = 1_000_000
PEAK_MB, REST_MB, SECONDS = 64, 24, 10.5
REST_SECONDS = 25
PER_GROUP = 2


def main(argv: list[str] | None = None) -> int:
    options = _parse(argv)
    chosen = chosen_names(options.group, per_group=PER_GROUP if options.quick else None)
    if not chosen:
        print("no bomb in these groups", file=sys.stderr)
        return 2
    made = Path(tempfile.mkdtemp())
    try:
        root = made / "work"
        root.mkdir()
        make_corpus(root, lambda bomb: bomb.name in chosen)
        broken = [] if options.remote else _read_configurations(made)
        for store in options.remote or [""]:
            broken += _read_everywhere(root, store, made, options)
    finally:
        subprocess.run(["rm", "-rf", made], check=True)  # Python's own function fails in a deep tree
    for line in broken:
        print(f"BROKEN {line}", file=sys.stderr)
    return 1 if broken else 0


def _parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m proof bombs", description=__doc__.split("\n")[0])
    parser.add_argument("--group", nargs="+", default=[], help="only bombs of these groups")
    parser.add_argument("--quick", action="store_true", help=f"only {PER_GROUP} bombs of each group")
    parser.add_argument("--no-http", action="store_true", help="only in one process")
    parser.add_argument("--no-process", action="store_true", help="only over HTTP")
    parser.add_argument("--dialect", nargs="+", choices=TOOLS, default=list(TOOLS), help="only these dialects")
    parser.add_argument("--remote", nargs="+", choices=stores.NAMES, default=[], help="read from these stores")
    parser.add_argument("--rows", action="store_true", help="print the figures of each bomb")
    return parser.parse_args(argv)


def chosen_names(groups: list[str], per_group: int | None) -> set[str]:
    """Return the names of the bombs of these groups, or of all; `per_group` of each group, spread over it."""
    by_group: dict[str, list[str]] = {}
    for name, group in groups_by_name().items():
        if not groups or group in groups:
            by_group.setdefault(group, []).append(name)
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


def _read_everywhere(root: Path, store_name: str, scratch: Path, options: argparse.Namespace) -> list[str]:
    """Read the corpus in one process and over HTTP, from the disk or from a store; return what is broken."""
    store = stores.Store(store_name, root, scratch) if store_name else None
    address, environment = (store.address, store.environment) if store else ("", {})
    callers = CALLERS if store else 1
    environment = {**os.environ, **environment, "EYESPAN_BOMBS_ADDRESS": address, "EYESPAN_BOMBS_CALLERS": str(callers)}
    if options.dialect != list(TOOLS):
        environment["EYESPAN_BOMBS_DIALECTS"] = ",".join(options.dialect)
    where = f"{store_name} " if store else ""
    broken = []
    try:
        if not options.no_process:
            here = f"{where}in one process{', eight at once' if callers > 1 else ''}"
            broken += _read_here(root, environment, here, options.rows)
        if not options.no_http:
            server = Server(address or str(root), scratch / "log", environment=environment)
            serving = Serving(server, root, address.partition("=")[0], options.dialect)
            broken += _read_over_http(serving, root, f"{where}over HTTP, eight at once", options.rows)
    finally:
        if store is not None:
            store.close()
    return broken


def _read_here(root: Path, environment: dict[str, str], where: str, has_rows: bool) -> list[str]:
    argv = [sys.executable, "-m", "proof.bombs.reading", str(root)]
    rows = []
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY, env=environment) as process:
        assert process.stdout is not None
        for line in process.stdout:
            rows.append(json.loads(line))
            _print_row(rows[-1], has_rows)
    broken = [line for row in rows for line in complaints(row, f"{where}:")]
    if process.returncode:
        broken.append(f"{where}: the process ended with status {process.returncode}")
    _print_figures(where, rows)
    rest = rows[-1]["after"] / MB if rows else 0.0
    print(f"  at rest {rest:.1f} MB above idle")
    return broken + ([f"{where}: {rest:.1f} MB above idle at rest"] if rest > REST_MB else [])


def _read_over_http(serving: Serving, root: Path, where: str, has_rows: bool) -> list[str]:
    rows = []
    try:
        serving.warm_up()
        for name, _, selectors in json.loads((root / "bombs.json").read_text()):
            rows.append(serving.read(name, selectors))
            _print_row(rows[-1], has_rows)
        rest = serving.server.at_rest(REST_SECONDS, serving.idle, REST_MB * MB) / MB
    finally:
        status = serving.server.end()
    broken = [line for row in rows for line in complaints(row, f"{where}:")]
    _print_figures(where, rows)
    print(f"  at rest {rest:.1f} MB above idle")
    if rest > REST_MB:
        broken.append(f"{where}: {rest:.1f} MB above idle at rest")
    return broken + ([f"{where}: the server ended with status {status}"] if status else [])


def _print_row(row: dict[str, Any], is_wanted: bool) -> None:
    if is_wanted:
        peak, rest = row["peak"] / MB, row["after"] / MB
        print(f"  {row['name']}: {peak:.1f} MB, {row['seconds']:.2f} s, then {rest:.1f} MB", flush=True)


def _print_figures(where: str, rows: list[dict[str, Any]]) -> None:
    if not rows:
        return
    peak, slow = max(rows, key=lambda row: row["peak"]), max(rows, key=lambda row: row["seconds"])
    print(f"{where}: {len(rows)} bombs, {sum(row['calls'] for row in rows)} calls")
    print(f"  the most memory {peak['peak'] / MB:.1f} MB above idle ({peak['name']})")
    print(f"  the longest call {slow['seconds']:.2f} s ({slow['name']})", flush=True)
