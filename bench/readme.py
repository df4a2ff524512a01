"""Write the benchmark section of docs/benchmarks.md from results.json: no figure there is written by hand.

python bench/readme.py            rewrites the text between the markers
python bench/readme.py --check    only checks that it is up to date
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
README = HERE.parent / "docs" / "benchmarks.md"
RESULTS = HERE / "results.json"
START, END = "<!-- bench:start -->", "<!-- bench:end -->"

ROWS = (
    # row, description, our contestant in the row
    ("file", "first 2,000 lines of a 50 KB source file", "eyespan"),
    ("many", "1,000 small files", "eyespan"),
    ("window", "2,000 lines at line 9,000,000 of a 1 GB log", "eyespan"),
    ("window again", "the same window again", "eyespan"),
    ("tail", "last 200 lines of 1 GB, numbered", "eyespan"),
    ("tail again", "the same tail again", "eyespan"),
    ("long line", "first 2,000 characters of a 200 MB line", "eyespan"),
    ("growing", "1 MB appended to 1 GB, last 200 lines, numbered", "eyespan"),
    ("shell", "`eyespan read` of a 50 KB file from a cold shell", "eyespan read"),
    ("outline", "outline of a 98 KB Python module, first time", "eyespan"),
    ("search", "search of 100 modules", "eyespan"),
)
SERVER = "eyespan serve (MCP)"


class NoMarkersError(ValueError):
    """Raised if docs/benchmarks.md has no markers for the section."""


def section(readme: str) -> str:
    """Return the text between the markers, without the blank lines around it."""
    _, start, rest = readme.partition(START)
    inside, end, _ = rest.partition(END)
    if not start or not end:
        raise NoMarkersError(f"docs/benchmarks.md needs the lines {START} and {END}, with the figures between them")
    return inside.strip("\n")


def with_section(readme: str, text: str) -> str:
    """Return the document with this text between the markers."""
    section(readme)
    before, _, rest = readme.partition(START)
    return f"{before}{START}\n{text}\n{END}{rest.partition(END)[2]}"


def render(results) -> str:
    """Return the section: the chart, a table, and the number of goals that hold."""
    lines = [
        "![Median times of eyespan, the shell and other read tools](../bench/chart.svg)",
        "",
        "| | eyespan | over MCP | quickest other tool with the right answer | the shell | peers: right answers |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name, title, own in ROWS:
        row = results["rows"].get(name)
        if row is not None:
            lines.append(f"| {title} | {' | '.join(_cells(row['contestants'], own))} |")
    machine = results["machine"]
    judged = [goal for goal in results["goals"] if goal["held"] is not None]
    missed = [goal for goal in judged if not goal["held"]]
    missing = [name for name, peer in results["peers"].items() if peer["missing"]]
    lines += [
        "",
        f"Median times (the quickest of a row is bold), peak memory; one run on {machine['processor']}, "
        f"{machine['cores']} cores, Python {machine['python']}, {results['date']}. Peers: "
        + ", ".join(f"{name} {peer['version']}" for name, peer in results["peers"].items() if not peer["missing"])
        + "."
        + (f" Missing: {', '.join(missing)}." if missing else ""),
        f"{len(judged) - len(missed)} of {len(judged)} goals held"
        + (": the misses, and every figure, are in " if missed else "; every figure is in ")
        + "[the results](../bench/RESULTS.md). `make bench` repeats the run.",
    ]
    return "\n".join(lines)


def _cells(entries, own):
    peers = {name: entry for name, entry in entries.items() if entry["role"] == "peer"}
    asked = {name: entry for name, entry in peers.items() if entry["outcome"] != "not offered"}
    right = {name: entry for name, entry in asked.items() if entry["ok"]}
    best = min(right, key=lambda name: right[name]["median_ms"], default=None)
    shell = [entry for entry in entries.values() if entry["role"] == "command" and entry["ok"]]
    quickest = min(shell, key=lambda entry: entry["median_ms"], default=None)
    ours, served = entries.get(own), entries.get(SERVER)
    times = [_time(entry) for entry in (ours, served, right.get(best), quickest)]

    def cell(entry, lead: str = "") -> str:
        text = lead + figure(entry)
        return f"**{text}**" if _time(entry) == min(times) < math.inf else text

    return (
        cell(ours),
        cell(served),
        cell(right[best], f"{best}: ") if best else "none" if asked else "-",
        cell(quickest),
        f"{len(right)} of {len(asked)}" if asked else "-",
    )


def _time(entry) -> float:
    is_right = entry is not None and entry["ok"] and entry["median_ms"] is not None
    return entry["median_ms"] if is_right else math.inf


def figure(entry) -> str:
    """Return a median and the peak memory."""
    if entry is None or not entry["ok"] or entry["median_ms"] is None:
        return "-"
    value = entry["median_ms"]
    if value >= 10_000:
        shown = f"{value / 1000:.1f} s"
    elif value >= 100:
        shown = f"{value:,.0f} ms"
    else:
        shown = f"{value:.1f} ms" if value >= 10 else f"{value:.2f} ms" if value >= 1 else f"{value:.3f} ms"
    return f"{shown}, {entry['peak_mb']:,.0f} MB" if entry["peak_mb"] else shown


def main() -> int:
    text = render(json.loads(RESULTS.read_text()))
    readme = README.read_text()
    if "--check" in sys.argv[1:]:
        if section(readme) != text:
            print("docs/benchmarks.md does not show bench/results.json: run python bench/readme.py", file=sys.stderr)
            return 1
        return 0
    README.write_text(with_section(readme, text))
    return 0


if __name__ == "__main__":
    sys.exit(main())
