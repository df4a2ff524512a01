"""The goals, compared with the medians of one run.

A goal in milliseconds is that of a reference machine: `python -c pass` takes 10.5 ms there, two threads copy 12.8 GB a
second from the page cache, and a thousand small files are opened, read and closed in 3.5 ms. `machine_factor` is the
ratio of the best times of this machine to these (the median of the three), and such goals are multiplied by it. It uses
the best times because a busy machine must not make goals easier. Ratios compare medians of this run and need no factor.
"""

from __future__ import annotations

import statistics

from workloads import STRUCTURED

REFERENCE_PYTHON_MS, REFERENCE_FILES_MS = 10.5, 3.5
REFERENCE_GB_PER_SECOND = 12.8
MEMORY_MB, MEMORY_MANY_MB = 20, 32

BARE_NUMBERED = "bare read, numbered in C"
BARE_PREAD = "bare pread, two threads"
NAIVE, BATCHES = "open, read and number in Python", "eyespan, 10 native calls"
AT_ONCE, ECHO = "eyespan serve (MCP), sent at once", "bare echo over pipes"
OWN, PLAIN, MCP, COMMAND = "eyespan", "eyespan, without numbers", "eyespan serve (MCP)", "eyespan read"


SCAN = (
    "Counting costs a fifth of a bare read where the file lies in large pages of the cache and is read at over 20 GB a "
    "second, also with vectors of 32 bytes."
)
FIRST = "What a first call in a process costs whatever the size, 2 to 3 ms: imports, a thread, fresh memory, the index."
FILES = (
    "The guard looks before it opens: its system calls take twice the time of bare ones. Numbering takes a sixth of a "
    "call, Python around the one call of C a quarter."
)
REASONS = {
    # (row, beginning of the goal): the reason why it is missed. Shown only where it is missed.
    ("W1", "eyespan, claude"): "Looking for pictures, PDFs and notebooks, and the facts beside the answer: 5 us of 45.",
    ("W1", "eyespan, forge"): "The result object beside the text: 4 us of 44.",
    ("W2", "1.25"): SCAN,
    ("W2", "2.5"): SCAN,
    ("W3", "without numbers: 0.2"): "The first call of a process, whose code runs cold: 0.04 ms from the second on.",
    ("W3", "without numbers: 5"): "The first call, as above.",
    ("W3", "with numbers, the first"): SCAN,
    ("W5", "3 times"): FILES,
    ("W5", "ahead"): FILES,
    ("W5", "over MCP: 1.5"): (
        "Two processes that wake each other over two pipes, and whose code is cold after each wait: the bare echo, "
        "which does no work, takes four times as long as all calls in process."
    ),
    (
        "W5",
        "over MCP: 2",
    ): "The calls themselves, in a process whose code is cold after each wait: twice their hot time.",
    ("W5", "over MCP, all"): "JSON in and out, the facts with an estimate of tokens, and the client's own time.",
    (
        "W5",
        "in 10 native",
    ): (
        "The system calls of the guard take two fifths of it, hashes, gutters and estimates in C a third, Python "
        "around the one call of C the rest."
    ),
    ("W6", "1.25"): SCAN,
    ("W6", "2 times"): SCAN,
    ("W8", "without numbers: 0.2"): (
        "The appended bytes are not in the processor's caches yet: a bare read of the last 64 KB takes half of it."
    ),
    ("W9/10 MB", "10 MB"): FIRST,
    ("W9/101 MB", "101 MB"): FIRST,
    ("W9/1 GB", "1 GB"): SCAN,
    ("W9/4 GB", "4 GB"): SCAN,
    ("W10", "1.5"): "Some twenty modules of our own; the largest are the nouns, the errors and the encodings.",
}


def reason(goal):
    """Return the known reason why a goal is missed."""
    for (row, start), text in REASONS.items():
        if goal["row"] == row and goal["goal"].startswith(start):
            return text
    return ""


class Table:
    """The rows of one run, with the lookups that goals need."""

    def __init__(self, rows, log_bytes):
        self.rows = rows
        self._log_bytes = log_bytes

    def entry(self, row, name):
        """Return the entry of `name` in `row` if its answers were right."""
        entry = self.rows.get(row, {}).get("contestants", {}).get(name)
        return entry if entry and entry["ok"] and entry["calls"] else None

    def ms(self, row, name):
        entry = self.entry(row, name)
        return entry["median_ms"] if entry else None

    def best(self, row, name):
        entry = self.entry(row, name)
        return entry["best_ms"] if entry else None

    def right(self, row, role):
        """Return name and entry of each contestant of a role with right answers in `row`."""
        found = self.rows.get(row, {}).get("contestants", {})
        return [(name, e) for name, e in found.items() if e["role"] == role and e["ok"] and e["calls"]]

    def machine_factor(self):
        factors = [
            here / there
            for here, there in (
                (self.best("W10", "python -c pass"), REFERENCE_PYTHON_MS),
                (self.best("W5", "bare system calls"), REFERENCE_FILES_MS),
                (self.best("W6", BARE_PREAD), self._log_bytes / REFERENCE_GB_PER_SECOND / 1e6),
            )
            if here
        ]
        return statistics.median(factors) if factors else 1.0


class Goals:
    """Collects goals with their measured values."""

    def __init__(self, table):
        self.table = table
        self.factor = table.machine_factor()
        self.found = []

    def _add(self, row, text, measured, limit, unit, held, against=""):
        self.found.append(
            {
                "row": row,
                "goal": text,
                "measured": None if measured is None else float(f"{measured:.4g}"),
                "limit": float(f"{limit:.4g}"),
                "unit": unit,
                "held": held,
                "against": against,
            }
        )

    def at_most_ms(self, row, name, limit, text):
        measured = self.table.ms(row, name)
        limit *= self.factor
        self._add(row, text, measured, limit, "ms", None if measured is None else measured <= limit)

    def at_most_times(self, row, name, floor, limit, text, extra_ms=0.0):
        """Add a goal: no slower than `limit` times a floor, plus `extra_ms`."""
        ours, bare = self.table.ms(row, name), self.table.ms(row, floor)
        measured = None if ours is None or bare is None else (ours - extra_ms * self.factor) / bare
        self._add(row, text, measured, limit, "times", None if measured is None else measured <= limit, floor)

    def faster(self, row, name, other, limit, text, other_row=None):
        ours, theirs = self.table.ms(row, name), self.table.ms(other_row or row, other)
        measured = None if ours is None or theirs is None else theirs / ours
        self._add(row, text, measured, limit, "times faster", None if measured is None else measured >= limit, other)

    def faster_than_peers(self, row, name, limit, text, keep=lambda entry: True):
        """Add a goal relative to the fastest peer with right answers; servers are compared with our server."""
        worst, against = None, self._without_peers(row)
        for peer, entry in self.table.right(row, "peer"):
            ours = self.table.ms(row, MCP if peer.endswith("(MCP)") else name)
            if ours and keep(entry) and (worst is None or entry["median_ms"] / ours < worst):
                worst, against = entry["median_ms"] / ours, peer
        held = None if worst is None else worst >= limit  # without a peer to compare with, nothing was shown
        self._add(row, text, worst, limit, "times faster", held, against)

    def _without_peers(self, row):
        """Return a note if no peer can be compared; "" if none took part."""
        roles = [entry["role"] for entry in self.table.rows.get(row, {}).get("contestants", {}).values()]
        return "no peer that can be compared" if "peer" in roles else ""

    def less_memory(self, row, name, limit, text):
        ours, least, against = self.table.entry(row, name), None, self._without_peers(row)
        for peer, entry in self.table.right(row, "peer"):
            if entry["peak_mb"] and (least is None or entry["peak_mb"] < least):
                least, against = entry["peak_mb"], peer
        measured = least / ours["peak_mb"] if ours and least else None
        held = None if measured is None else measured >= limit
        self._add(row, text, measured, limit, "times less memory", held, against)

    def memory(self, rows, limit, text):
        """Return the peak memory of eyespan in these rows, in process or as a server."""
        peaks = [
            (entry["peak_mb"], f"{row}, {name}")
            for row in rows
            for name, entry in self.table.right(row, "eyespan")
            if entry["peak_mb"] and "without C" not in name
        ]
        if peaks:
            most, where = max(peaks)
            self._add("memory", text, most, limit, "MB", most <= limit, where)


def judge(rows, log_bytes):
    """Return all goals of the table and the factor of this machine."""
    table = Table(rows, log_bytes)
    goals = Goals(table)
    pairs = (
        (OWN, BARE_NUMBERED),
        ("eyespan, claude dialect", f"{BARE_NUMBERED} (claude)"),
        ("eyespan, forge dialect", f"{BARE_NUMBERED} (forge)"),
    )
    for name, floor in pairs:
        goals.at_most_times("W1", name, floor, 2, f"{name}: 2 times the bare read with C numbering")
    goals.at_most_ms("W1", MCP, 0.3, "over MCP: 0.3 ms")
    goals.faster_than_peers(
        "W1", OWN, 5, "5 times faster than every peer that numbers lines", lambda entry: entry["numbered"]
    )
    goals.at_most_times("W2", OWN, BARE_PREAD, 1.25, "1.25 times a bare two-thread pread of the same bytes")
    goals.faster("W2", OWN, "coreutils", 2.5, "2.5 times faster than `tail -n +N | head`")
    goals.faster_than_peers("W2", OWN, 25, "25 times faster than every peer that answers right")
    goals.less_memory("W2", OWN, 100, "1/100 of their memory")
    goals.at_most_ms("W3", PLAIN, 0.2, "without numbers: 0.2 ms, the first time")
    goals.faster("W3", PLAIN, "coreutils", 5, "without numbers: 5 times faster than `tail`")
    goals_w3_first(goals)
    goals.at_most_ms("W3b", OWN, 0.1, "with numbers: 0.1 ms once the lines are counted")
    goals.faster("W3b", OWN, "coreutils", 5, "with numbers, counted: 5 times faster than `tail`")
    goals.at_most_ms("W4", OWN, 0.15, "same process: 0.15 ms")
    goals.faster("W4", OWN, "coreutils", 400, "400 times faster than `tail -n +N | head`")
    goals.at_most_times("W5", OWN, "bare system calls", 3, "3 times the bare system calls, guard included")
    goals.faster("W5", OWN, "coreutils", 1, "ahead of `cat`")
    goals.faster("W5", OWN, NAIVE, 1.5, "1.5 times faster than a few lines of Python")
    goals.at_most_times("W5", MCP, OWN, 1.5, "over MCP: 1.5 times the calls in process")
    goals.at_most_times("W5", MCP, ECHO, 2, "over MCP: 2 times a bare echo of the same bytes over the same pipes")
    goals.at_most_times("W5", AT_ONCE, OWN, 1.5, "over MCP, all calls sent at once: 1.5 times the calls in process")
    goals.at_most_times("W5", BATCHES, OWN, 1.2, "in 10 native calls: 1.2 times the calls in process")
    goals.at_most_times("W6", OWN, BARE_PREAD, 1.25, "1.25 times the bare pread")
    goals.faster("W6", OWN, "coreutils", 2, "2 times faster than `wc -l`")
    goals.at_most_ms("W7", PLAIN, 0.2, "0.2 ms")
    goals.faster_than_peers("W7", PLAIN, 1, "ahead of every peer")
    goals.at_most_ms("W8", OWN, 1.0, "with numbers: 1 ms")
    goals.at_most_ms("W8", PLAIN, 0.2, "without numbers: 0.2 ms")
    goals.faster("W8", OWN, "coreutils", 2, "with numbers: 2 times faster than `tail`")
    goals.faster("W8", PLAIN, "coreutils", 2, "without numbers: 2 times faster than `tail`")
    growth(goals, rows)
    goals.at_most_times("W10", COMMAND, "python -c pass", 1.5, "1.5 times `python -c pass`")
    goals.faster("W10", COMMAND, "node -e 0", 1, "ahead of `node -e 0`")
    goals.memory(["W5"], MEMORY_MANY_MB, f"W5: at most {MEMORY_MANY_MB} MB in the process")
    others = [row for row in rows if row != "W5" and row not in STRUCTURED]
    goals.memory(others, MEMORY_MB, f"all other rows of lines: at most {MEMORY_MB} MB")
    return goals.found, goals.factor


def goals_w3_first(goals):
    """Compare with W6: numbers require that the whole file is counted."""
    ours, bare = goals.table.ms("W3", OWN), goals.table.ms("W6", BARE_PREAD)
    measured = ours / bare if ours and bare else None
    text = "with numbers, the first time: as W6"
    goals._add("W3", text, measured, 1.25, "times", None if measured is None else measured <= 1.25, BARE_PREAD)


def growth(goals, rows):
    """Add goals for scale: W4 constant and W2 at memory speed for any size."""
    sizes = [row for row in rows if row.startswith("W9/") and not row.endswith("/again")]
    for row in sizes:
        goals.at_most_times(row, OWN, BARE_PREAD, 1.25, f"{row[3:]}: 1.25 times the bare pread")
    times = [ms for row in sizes if (ms := goals.table.ms(f"{row}/again", OWN))]
    measured = max(times) / min(times) if len(times) > 1 else None
    text = "again: the largest no slower than 1.5 times the smallest"
    goals._add("W9", text, measured, 1.5, "times", None if measured is None else measured <= 1.5)
