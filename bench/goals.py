"""The goals, compared with the medians of one run.

All are ratios within the run, except memory, so they hold on other machines. Ratios to a bare read need the file of
1 GB, because a first call costs 2 to 3 ms whatever the size; a quick run does not judge them.
"""

from __future__ import annotations

OWN, MCP, COMMAND = "eyespan", "eyespan serve (MCP)", "eyespan read"
PREAD, PYTHON, START = "bare pread", "few lines of Python", "python -c pass"
RESTING_MB = 24


def judge(rows, *, is_quick):
    """Return every goal with its limit and the measured value; `held` is None where one is missing."""

    def entry(row, name):
        found = rows.get(row, {}).get("contestants", {}).get(name)
        return found if found and found["ok"] and found["calls"] else None

    def times(row, name, other):
        ours, theirs = entry(row, name), entry(row, other)
        return ours["median_ms"] / theirs["median_ms"] if ours and theirs else None

    def goal(row, text, measured, limit, unit="times", against=""):
        held = None if measured is None else measured <= limit
        value = None if measured is None else float(f"{measured:.4g}")
        return {
            "row": row, "goal": text, "measured": value, "limit": limit, "unit": unit, "held": held, "against": against
        }  # fmt: skip

    peers = [name for name, one in rows.get("many", {}).get("contestants", {}).items() if one["role"] == "peer"]
    ratios = {peer: times("many", MCP if peer.endswith("(MCP)") else OWN, peer) for peer in peers}
    shares = [(ratio, peer) for peer, ratio in ratios.items() if ratio is not None]
    share, peer = max(shares, default=(None, "no peer with right answers"))
    server = entry("start", MCP)
    found = [
        goal("many", "no slower than a few lines of Python", times("many", OWN, PYTHON), 1.0, against=PYTHON),
        goal("many", "ahead of every peer, a server compared with the server", share, 1.0, against=peer),
        goal("shell", "3 times the start of Python", times("shell", COMMAND, START), 3.0, against=START),
        goal("start", f"at most {RESTING_MB} MB at rest", server and server["peak_mb"], RESTING_MB, "MB", MCP),
    ]
    if not is_quick:
        found += [
            goal(row, "1.3 times a bare read of the same bytes", times(row, OWN, PREAD), 1.3, against=PREAD)
            for row in ("window", "tail")
        ]
    return found
