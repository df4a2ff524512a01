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

    def __init__(self, name, title, request, check=None, *, first=False, then=None, rounds=1, most=200):
        self.name = name
        self.title = title
        self.request = request
        self.check = check
        self.first = first
        self.then = then
        self.rounds = rounds
        self.most = most

    @property
    def group(self):
        return self.name.partition("/")[0]


def workloads(data):
    """Return all rows in order. W8 needs a file that grows; the driver appends to it."""
    log = str(data.log)
    size = _size(data.log)
    total = files.last_line(data.log)
    deep = window_request(data.log, data.deep_line)
    tail = {"op": "tail", "path": log, "count": TAIL_LINES}
    deep_check = log_window(data.deep_line, data.deep_line + WINDOW_LINES - 1)
    tail_check = log_window(total - TAIL_LINES + 1, total)
    source = {"op": "window", "path": str(data.source), "start": 1, "count": WINDOW_LINES}
    again = "W2 again, in the same process"
    rows = [
        Workload("W0", "start: from nothing to the tool list, memory at rest", {"op": "start"}, rounds=3),
        Workload("W1", "first 2,000 lines of a 50 KB source file", source, whole_file(data.source), rounds=3),
        Workload(
            "W2", f"2,000 lines at line {data.deep_line:,} of {size}, first time", deep, deep_check, first=True,
            then="W4", rounds=3,
        ),
        Workload("W4", again, None),
        Workload("W3", f"last 200 lines of {size}, first time", tail, tail_check, first=True, then="W3b", rounds=3),
        Workload("W3b", "W3 again, in the same process", None),
        Workload("W5", f"{len(data.small):,} small files ({sum(p.stat().st_size for p in data.small) / 1e6:.1f} MB)",
                 {"op": "many", "paths": [str(path) for path in data.small]}, all_files(data.small), rounds=3),
        Workload("W6", f"number of lines of {size}", {"op": "count", "path": log}, has_count(total), first=True,
                 rounds=3),
        Workload("W7", f"first 2,000 characters of a {_size(data.one_line)} line",
                 {**source, "path": str(data.one_line), "count": 1}, one_line(data.one_line), most=60),
        Workload("W8", f"1 MB appended to {size}, last 200 lines",
                 {"op": "tail", "path": str(data.grow), "count": TAIL_LINES}, most=20),
    ]  # fmt: skip
    for path in data.growth:
        line = files.last_line(path) * 9 // 10
        check = log_window(line, line + WINDOW_LINES - 1)
        name = f"W9/{_size(path)}"
        title = f"2,000 lines at 90 % of {_size(path)}, first time"
        request = window_request(path, line)
        rows.append(Workload(name, title, request, check, first=True, then=f"{name}/again", rounds=3))
        rows.append(Workload(f"{name}/again", f"the same again, {_size(path)}", None))
    rows += _structured(data)
    cold = {"op": "cold", "path": str(data.source)}
    rows.append(Workload("W10", "a 50 KB file from a cold shell", cold, whole_file(data.source), rounds=10, most=4))
    return rows


STRUCTURED = ("W11", "W12", "W12b", "W13", "W14", "W15", "W16", "W17")
"""Rows that only eyespan, its floors and single commands take part in."""


def _structured(data):
    """Return the rows about structure, many files and networks."""
    module, directory = str(data.module), str(data.modules[0].parent)
    names = [path.name for path in data.modules]
    first = f"{_kilobytes(data.small[0])} source file"
    return [
        Workload("W11", f"a {first} in the native dialect", {"op": "native", "path": str(data.small[0])},
                 whole_file(data.small[0])),
        Workload("W12", f"outline of a {_kilobytes(data.module)} Python module, first time",
                 {"op": "outline", "path": module}, has_all(["call_0_0", "call_0_1249"]), first=True, then="W12b",
                 rounds=3, most=20),
        Workload("W12b", "W12 again, in the same process", None),
        Workload("W13", f"map of a directory of {len(names)} modules", {"op": "map", "path": directory},
                 has_all(names), most=10),
        Workload("W14", f"search of {len(names)} modules", {"op": "search", "path": directory},
                 has_all(names), most=20),
        Workload("W15", f"{len(data.small):,} small files into records",
                 {"op": "records", "paths": [str(path) for path in data.small]}, all_files(data.small), most=5),
        Workload("W16", "a 50 KB source file over HTTP", {"op": "http", "path": str(data.source)},
                 whole_file(data.source)),
        Workload("W17", "a 50 KB source file of a remote root", {"op": "remote", "path": str(data.source)},
                 whole_file(data.source), most=50),
    ]  # fmt: skip


def _kilobytes(path):
    return f"{path.stat().st_size / 1e3:.0f} KB"


def window_request(path, line):
    return {"op": "window", "path": str(path), "start": line, "count": WINDOW_LINES}


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


def has_count(total):
    def check(text):
        numbers = re.findall(r"\d+", text.replace(",", ""))
        return Verdict("ok" if str(total) in numbers else "wrong: the number is not in the answer")

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
