"""The requests of all contestants and the checks of answers.

A check reads the whole text of an answer and returns "ok" or the mistake. A wrong answer has no time in any comparison.
"""

from __future__ import annotations

import re

import data as files

WINDOW_LINES, TAIL_LINES = 2000, 200
TOLERATED_LINES = 10
"""Extra lines that are accepted: one peer counts ends differently."""
LINE_CHARS = 2000
TOLERATED_CHARS = 100
"""A peer that shows 2,000 characters of a line may count its own ellipsis among them."""


class Verdict:
    """The verdict on an answer, and a flag for line numbers."""

    def __init__(self, outcome, numbered=False):
        self.outcome = outcome
        self.numbered = numbered

    @property
    def ok(self):
        return self.outcome == "ok"


class Workload:
    """One row: a request, its check and its number of repetitions.

    `first`: each sample is the first call of a new process; `then` names the row for the calls after it.
    `rounds`: the number of turns of eyespan, the floors and the commands in a pass.
    """

    def __init__(self, name, title, request, check=None, *, first=False, then=None, rounds=3, most=200):
        self.name = name
        self.title = title
        self.request = request
        self.check = check
        self.first = first
        self.then = then
        self.rounds = rounds
        self.most = most


READS = ("start", "file", "window", "tail", "many", "long line", "growing")
"""The rows that every read tool can take part in."""


def workloads(data):
    """Return all rows in order. `growing` needs a file that grows; the driver appends to it."""
    log, source = str(data.log), str(data.source)
    size, last = _size(data.log), files.last_line(data.log)
    names = [path.name for path in data.modules]
    small = [str(path) for path in data.small]
    many = f"{len(small):,} small files ({sum(path.stat().st_size for path in data.small) / 1e6:.1f} MB)"
    window = {"op": "window", "path": log, "start": data.deep_line, "count": WINDOW_LINES}
    tail = {"op": "tail", "path": log, "count": TAIL_LINES}
    first = {"op": "window", "path": source, "start": 1, "count": WINDOW_LINES}
    return [
        Workload("start", "start: from nothing to the tool list, memory at rest", {"op": "start"}),
        Workload("file", "first 2,000 lines of a 50 KB source file", first, whole_file(data.source)),
        Workload(
            "window", f"2,000 lines at line {data.deep_line:,} of {size}, first time", window,
            log_window(data.deep_line, data.deep_line + WINDOW_LINES - 1), first=True, then="window again",
        ),
        Workload("window again", "the same window again, in the same process", None),
        Workload("tail", f"last 200 lines of {size}, first time", tail, log_window(last - TAIL_LINES + 1, last),
                 first=True, then="tail again"),
        Workload("tail again", "the same tail again, in the same process", None),
        Workload("many", many, {"op": "many", "paths": small}, all_files(data.small)),
        Workload("long line", f"first 2,000 characters of a {_size(data.one_line)} line",
                 {**first, "path": str(data.one_line), "count": 1}, one_line(data.one_line), rounds=1, most=60),
        Workload("growing", f"1 MB appended to {size}, last 200 lines", {**tail, "path": str(data.grow)}, rounds=1,
                 most=20),
        Workload("shell", "a 50 KB file from a cold shell", {"op": "shell", "path": source}, whole_file(data.source),
                 rounds=10, most=4),
        Workload("outline", f"outline of a {data.module.stat().st_size / 1e3:.0f} KB Python module, first time",
                 {"op": "outline", "path": str(data.module)}, has_all(["call_0_0", "call_0_1249"]), first=True,
                 then="outline again"),
        Workload("outline again", "the same outline again, in the same process", None),
        Workload("search", f"search of {len(names)} modules", {"op": "search", "path": str(data.modules[0].parent)},
                 has_all(names), rounds=1, most=20),
        Workload("records", f"{many} into records", {"op": "records", "paths": small}, all_files(data.small), rounds=1,
                 most=5),
    ]  # fmt: skip


def _size(path):
    size = path.stat().st_size
    return f"{size / 1e9:.0f} GB" if size > 9e8 else f"{size / 1e6:.0f} MB"


# --- checks ----------------------------------------------------------------------------------------------------------


def log_window(first, last):
    """Check for exactly these log lines, in order; numbers of lines must be right."""

    def check(text):
        found, numbers = [], []
        for line in text.split("\n"):
            mark = files.MARK.search(line)
            if mark:
                found.append(int(mark[1]))
                number = re.match(r"\D{0,8}(\d+)\D", line[: max(0, line.find("2026-"))] or "")
                numbers.append(int(number[1]) if number else None)
        wanted = range(first, last + 1)
        if not found:
            return Verdict("wrong: no lines of the file")
        if found[0] != first and first not in found:
            return Verdict(f"wrong: starts at line {found[0]:,} instead of {first:,}")
        at = found.index(first)
        if found[at : at + len(wanted)] != list(wanted):
            return Verdict(f"wrong: {len(found):,} of {len(wanted):,} lines")
        if len(found) > len(wanted) + TOLERATED_LINES:
            return Verdict(f"unbounded: {len(found):,} lines for {len(wanted):,}")
        if numbers.count(None) < len(numbers) / 2:
            if numbers != found:
                return Verdict("wrong: line numbers are not those of the file")
            return Verdict("ok", numbered=True)
        return Verdict("ok")

    return check


def whole_file(path):
    """Check for every line of a source file, in order."""
    lines = path.read_text().split("\n")

    def check(text):
        at, shown, numbered, wanted = 0, 0, 0, 0
        for number, line in enumerate(lines, 1):
            line = line.strip()
            if len(line) < 12:
                continue  # too short to be unique
            wanted += 1
            found = text.find(line, at)
            if found < 0:
                continue
            start = text.rfind("\n", 0, found) + 1
            numbered += str(number) in re.findall(r"\d+", text[start:found])
            shown += 1
            at = found + len(line)
        if shown < wanted:
            return Verdict(f"wrong: {shown:,} of {wanted:,} lines")
        return Verdict("ok", numbered=numbered == wanted)

    return check


def all_files(paths):
    """Check for the first, longest and last line of each file, and for at least the characters of all files."""
    probes = []
    for path in paths:
        lines = [line.strip() for line in path.read_text().split("\n") if len(line.strip()) > 12]
        probes.append((lines[0], max(lines, key=len), lines[-1]))
    total = sum([path.stat().st_size for path in paths])

    def check(text):
        missing = sum([not all(line in text for line in probe) for probe in probes])
        if missing:
            return Verdict(f"wrong: {missing:,} of {len(probes):,} files are not all there")
        return Verdict("ok" if len(text) >= total * 0.95 else f"wrong: {len(text):,} of {total:,} characters")

    return check


def has_all(words):
    """Check for all of these words."""

    def check(text):
        missing = [word for word in words if word not in text]
        return Verdict("ok" if not missing else f"wrong: {len(missing):,} of {len(words):,} names are not there")

    return check


def one_line(path):
    """Check for the first characters of an endless line, and not many more."""
    with open(path, encoding="utf-8") as file:
        start = file.read(LINE_CHARS)

    def check(text):
        if len(text) > 20 * LINE_CHARS:
            return Verdict(f"unbounded: {len(text):,} characters")
        length = LINE_CHARS
        while length and start[:length] not in text:
            length -= 1 if length > LINE_CHARS - TOLERATED_CHARS else length
        if length:
            return Verdict("ok")
        return Verdict("wrong: fewer than 2,000 characters of the line" if start[:100] in text else "wrong: no text")

    return check
