"""The results of a run as Markdown and as a chart."""

from __future__ import annotations

import math
from html import escape

CHART_ROWS = ("many", "file", "window", "window again", "tail")
CHART_NAMES = {"eyespan": "eyespan", "eyespan serve (MCP)": "eyespan, over MCP", "coreutils": "head, tail, cat"}
MOST_BARS = 8


def ms(value) -> str:
    """Format a time with three significant digits."""
    if value is None:
        return ""
    if value >= 10_000:
        return f"{value / 1000:,.1f} s"
    if value >= 100:
        return f"{value:,.0f} ms"
    if value >= 10:
        return f"{value:.1f} ms"
    return f"{value:.2f} ms" if value >= 1 else f"{value:.3f} ms"


def goal_value(value, unit) -> str:
    if value is None:
        return "-"
    if unit == "ms":
        return ms(value)
    if unit == "MB":
        return f"{value:.1f} MB"
    shown = f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"
    return f"{shown} {unit}"


def verdict(goal) -> str:
    return {True: "held", False: "**missed**", None: "not measured"}[goal["held"]]


def ranked(row):
    """Return the contestants of a row: those with right answers by time, then the others."""
    return sorted(
        row["contestants"].items(),
        key=lambda item: (not item[1]["ok"], item[1]["outcome"] == "not offered", item[1]["median_ms"] or 1e12),
    )


def summary(results) -> str:
    """Format the goals for a terminal, with each answer of eyespan or a floor that is wrong."""
    lines = []
    for goal in results["goals"]:
        if goal["held"] is None:
            continue
        mark = "held  " if goal["held"] else "MISSED"
        against = f"  ({goal['against']})" if goal["against"] else ""
        lines.append(f"{mark} {goal['row']:6} {goal['goal']}: {goal_value(goal['measured'], goal['unit'])}{against}")
    held = sum([goal["held"] is True for goal in results["goals"]])
    missed = sum([goal["held"] is False for goal in results["goals"]])
    other = len(results["goals"]) - held - missed
    lines.append(f"{held} goals held, {missed} missed, {other} not measured")
    lines += [
        f"WRONG  {row}, {name}: {entry['outcome']}"
        for row, found in results["rows"].items()
        for name, entry in found["contestants"].items()
        if entry["role"] in ("eyespan", "floor") and not entry["ok"]
    ]
    return "\n".join(lines)


def markdown(results) -> str:
    machine = results["machine"]
    held = sum([goal["held"] is True for goal in results["goals"]])
    missed = sum([goal["held"] is False for goal in results["goals"]])
    lines = [
        "# Benchmark results" + (" (quick run)" if results["quick"] else ""),
        "",
        f"eyespan {results['eyespan']['version']} ({results['eyespan']['commit']}), {results['date']}, one run of "
        f"{results['passes']} pass{'es' * (results['passes'] != 1)}, {results['seconds'] // 60 + 1} minutes. "
        f"{machine['processor']}, {machine['cores']} cores, {machine['memory_gb']} GB, {machine['system']}, "
        f"Python {machine['python']}, node {machine['node'] or 'missing'}, coreutils {machine['coreutils']}; "
        f"load before the run {results['load_before']}.",
        "",
        "Made by `make bench`, which installs the peers and makes the files; nothing here is written by hand. Everyone "
        "reads the same files, warm in the page cache, by the same requests, and takes turns. Workers are timed inside "
        "the process, servers as a round trip at a thin client, commands from start to the end of their output. "
        "Memory is the peak of the process and its children during the row. Every line of an answer is checked: what "
        "is wrong, endless or late is a failure, not a time. Peers ran with their defaults, telemetry off, "
        + ("cut off the network." if results["isolated"] else "not cut off the network (not allowed here)."),
        "",
        "## Goals",
        "",
        f"{held} held, {missed} missed. Times are ratios of medians of this run (bench/goals.py).",
        "",
        "| row | goal | limit | measured | against | |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for goal in results["goals"]:
        limit, measured = (goal_value(goal[key], goal["unit"]) for key in ("limit", "measured"))
        cells = (goal["row"], goal["goal"].replace("|", "\\|"), limit, measured, goal["against"], verdict(goal))
        lines.append(f"| {' | '.join(cells)} |")
    absent = {name: f"{peer['missing']}" for name, peer in results["peers"].items() if peer["missing"]}
    absent.update(results["missing"])
    if absent:
        lines += ["", "Missing: " + "; ".join(f"{name} ({why})" for name, why in absent.items()) + "."]
    lines += ["", "## Rows"]
    for name, row in results["rows"].items():
        lines += [
            "",
            f"### {name}: {row['title']}",
            "",
            "| contestant | median | p99 | best | calls | peak MB | characters | |",
            "| --- | --- | --- | --- | --- | --- | --- | --- |",
        ]
        for who, entry in ranked(row):
            version = f" {entry['version']}" if entry["version"] else ""
            bold = f"**{who}**" if entry["role"] == "eyespan" else who
            outcome = entry["outcome"] + (", numbered" if entry["numbered"] else "")
            if entry["ok"]:
                times = [ms(entry["median_ms"]), ms(entry["p99_ms"]), ms(entry["best_ms"]), str(entry["calls"])]
            else:
                times = ["", "", "", ""]
                after = entry.get("failed_after_ms")
                outcome += f" (after {ms(after)})" if after else ""
            peak = f"{entry['peak_mb']:,.1f}" if entry["peak_mb"] else ""
            chars = f"{entry['chars']:,}" if entry["chars"] and entry["role"] != "floor" else ""
            shown = outcome.replace("|", "\\|")
            lines.append(f"| {bold}{version} | {' | '.join(times)} | {peak} | {chars} | {shown} |")
    return "\n".join(lines) + "\n"


# --- chart -----------------------------------------------------------------------------------------------------------

STYLE = """
  .ground { fill: #ffffff } .text { fill: #1f2328 } .faint { fill: #59636e } .grid { stroke: #d1d9e0 }
  .own { fill: #1a7f5a } .other { fill: #9aa5b1 } .shell { fill: #c7a252 }
  text { font: 13px system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif }
  .head { font-weight: 600; font-size: 14px } .small { font-size: 12px }
  @media (prefers-color-scheme: dark) {
    .ground { fill: #0d1117 } .text { fill: #e6edf3 } .faint { fill: #9198a1 } .grid { stroke: #30363d }
    .own { fill: #3fb984 } .other { fill: #5b6672 } .shell { fill: #a8873c }
  }
"""
WIDTH, LEFT, RIGHT, BAR, GAP = 860, 214, 92, 16, 8


def chart(results) -> str:
    """Draw bars on a logarithmic scale, one panel for each row; contestants without right answers are named below."""
    rows = [results["rows"][name] for name in CHART_ROWS if name in results["rows"]]
    panels = [(f"{row['title'][:1].upper()}{row['title'][1:]}", row) for row in rows]
    body, y = [], 14
    for title, row in panels:
        drawn, y = _panel(title, row, y)
        body += drawn
    machine = results["machine"]
    body.append(
        f'<text class="faint small" x="16" y="{y + 8}">Median time, logarithmic scale; shorter is better. One run of '
        f"{results['date']}, {escape(machine['processor'])}, {machine['cores']} cores. Every answer was checked.</text>"
    )
    height = y + 24
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
            'role="img" aria-labelledby="chart-title">',
            f'<title id="chart-title">{escape(_spoken(panels))}</title>',
            f"<style>{STYLE}</style>",
            f'<rect class="ground" width="{WIDTH}" height="{height}" rx="6"/>',
            *body,
            "</svg>\n",
        ]
    )


def _bars(row):
    """Return the contestants to draw: ours, the commands, and the fastest peers with right answers."""
    right = [(name, e) for name, e in ranked(row) if e["ok"] and e["median_ms"] and e["role"] != "floor"]
    own = [(name, e) for name, e in right if e["role"] == "eyespan" and name in CHART_NAMES]
    shell = [(name, e) for name, e in right if e["role"] == "command"][:2]
    peers = [(name, e) for name, e in right if e["role"] == "peer"]
    return sorted([*own, *shell, *peers[: MOST_BARS - len(own) - len(shell)]], key=lambda bar: bar[1]["median_ms"])


def _panel(title, row, y):
    bars = _bars(row)
    if not bars:
        return [], y
    times = [entry["median_ms"] for _, entry in bars]
    low = math.floor(math.log10(min(times))) - 0.15
    high = math.ceil(math.log10(max(times)))
    if high - low < 1:
        high += 1
    scale = (WIDTH - LEFT - RIGHT) / (high - low)
    out = [f'<text class="text head" x="16" y="{y + 12}">{escape(title)}</text>']
    top = y + 26
    bottom = top + len(bars) * (BAR + GAP) - GAP
    for power in range(math.ceil(low), high + 1):
        x = LEFT + (power - low) * scale
        out.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{top - 4}" y2="{bottom + 4}"/>')
        label = f"{10 ** (power - 3)} s" if power >= 3 else f"{10.0**power:g} ms"
        out.append(f'<text class="faint small" text-anchor="middle" x="{x:.1f}" y="{bottom + 18}">{label}</text>')
    at = top
    for name, entry in bars:
        length = max(2.0, (math.log10(entry["median_ms"]) - low) * scale)
        kind = {"eyespan": "own", "command": "shell"}.get(entry["role"], "other")
        label = CHART_NAMES.get(name, name)
        middle = at + BAR - 4
        out.append(f'<text class="text" text-anchor="end" x="{LEFT - 8}" y="{middle}">{escape(label)}</text>')
        out.append(f'<rect class="{kind}" x="{LEFT}" y="{at}" width="{length:.1f}" height="{BAR}" rx="2"/>')
        shown = ms(entry["median_ms"])
        out.append(f'<text class="text" x="{LEFT + length + 6:.1f}" y="{middle}">{shown}</text>')
        at += BAR + GAP
    y = bottom + 26
    failed = [name for name, e in ranked(row) if not e["ok"] and e["role"] == "peer" and e["outcome"] != "not offered"]
    for start in range(0, len(failed), 4):
        lead = "No right answer: " if start == 0 else ""
        names = ", ".join(failed[start : start + 4]) + ("," if start + 4 < len(failed) else "")
        out.append(f'<text class="faint small" x="16" y="{y + 12}">{escape(lead + names)}</text>')
        y += 16
    return out, y + 18


def _spoken(panels) -> str:
    """Return the text of the chart for screen readers."""
    told = []
    for title, row in panels:
        bars = ", ".join(f"{CHART_NAMES.get(name, name)} {ms(entry['median_ms'])}" for name, entry in _bars(row))
        told.append(f"{title}: {bars}.")
    return " ".join(told)
