"""Compare a run with the committed results: fail, with the name of the row, if eyespan became slower.

    python bench/check.py                      measures with small sizes, two minutes, and compares
    python bench/check.py --measured FILE      compares the results.json of an earlier run

Machines differ, so times are compared as multiples of the floor of their row: the same bytes, read with the bare calls
of the system in the same run, or the start of Python for a command. A row without a floor of its own is compared with
the median of all floors. Rows are the same if their titles are, which name the sizes; a quick run shares those of small
files with a full run. The best times count, because a busy machine makes medians longer. `--tolerance` is the share by
which a row may be slower.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOLERANCE = 0.25
OURS, FLOOR = "eyespan", "floor"
COMMAND, START = "eyespan read", "python -c pass"
"""A command consists of the start of a process, so that is its floor in every row."""
NEEDED = "eyespan,bare,python -c"
"""The contestants of a run that is only compared."""


def compare(measured, committed):
    """Return (row, contestant, factor) for each that both runs have: above 1 is slower than committed."""
    rows = [name for name, row in measured.items() if row["title"] == committed.get(name, {}).get("title")]
    floors = {name: _factors(measured[name], committed[name], FLOOR) for name in rows}
    everywhere = [factor for found in floors.values() for factor in found.values()]
    starts = [found[START] for found in floors.values() if START in found]
    found = []
    for name in rows:
        for contestant, factor in _factors(measured[name], committed[name], OURS).items():
            near = starts if contestant == COMMAND and starts else floors[name].values() or everywhere
            if near:
                found.append((name, contestant, factor / statistics.median(near)))
    return found


def _factors(measured, committed, role):
    """Return how many times as long each contestant of a role took as in the committed run."""
    factors = {}
    for name, entry in measured["contestants"].items():
        before = committed["contestants"].get(name)
        if entry["role"] == role and before and entry["ok"] and before["ok"] and entry["best_ms"] and before["best_ms"]:
            factors[name] = entry["best_ms"] / before["best_ms"]
    return factors


def broken(measured, committed):
    """Return (row, contestant, outcome) for each answer of eyespan that was right in the committed run and is not."""
    return [
        (name, contestant, entry["outcome"])
        for name, row in measured.items()
        for contestant, entry in row["contestants"].items()
        if entry["role"] == OURS
        and not entry["ok"]
        and committed.get(name, {}).get("contestants", {}).get(contestant, {}).get("ok")
    ]


def report(measured, committed, tolerance):
    """Return the lines of the comparison, and True if no row is slower than the tolerance allows."""
    found = compare(measured, committed)
    if not found:
        return ["no row of this run is among the committed results"], False
    lines, is_good = [], True
    for row, contestant, factor in found:
        is_slower = factor > 1 + tolerance
        is_good = is_good and not is_slower
        lines.append(
            f"{'SLOWER' if is_slower else 'ok':6} {row:8} {contestant:28} {factor:5.2f} times the committed run"
        )
    for row, contestant, outcome in broken(measured, committed):
        is_good = False
        lines.append(f"WRONG  {row:8} {contestant:28} {outcome}")
    return lines, is_good


def measure(directory):
    """Run the benchmark with small sizes and return its results."""
    command = [sys.executable, HERE / "run.py", "--quick", "--only", NEEDED, "--out", directory]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return json.loads(Path(directory, "results.json").read_text())


def main(arguments=None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measured", type=Path, help="the results.json of a run; without it, one is made")
    parser.add_argument("--committed", type=Path, default=HERE / "results.json", help="the results to compare with")
    parser.add_argument("--tolerance", type=float, default=TOLERANCE, help=f"the default is {TOLERANCE}")
    options = parser.parse_args(arguments)
    committed = json.loads(options.committed.read_text())
    if options.measured is not None:
        measured = json.loads(options.measured.read_text())
    else:
        with tempfile.TemporaryDirectory() as directory:
            measured = measure(directory)
    lines, is_good = report(measured["rows"], committed["rows"], options.tolerance)
    print("\n".join(lines))
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
