"""`eyespan audit`: summarize an audit log of the server for a person."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

from eyespan.cli.options import Arguments, Parser, UsageError, text
from eyespan.escape import in_plain_words, visible
from eyespan.server.audit import MAX_OLD_FILES

HELP = """\
usage: eyespan audit FILE... [options]

Summarizes the audit log of `eyespan serve --audit FILE`: how much was read and
refused, by which caller, and when.

  eyespan audit reads.jsonl                 the log and reads.jsonl.1 to .4
  eyespan audit reads.jsonl --caller codex  callers whose name contains codex
  eyespan audit reads.jsonl --refused       refused calls, one line each
  eyespan audit - < reads.jsonl             from standard input
"""
MAX_ROWS = 10
"""Rows in each table of the summary."""


def add_options(parser: Parser) -> None:
    """Add the options of the command."""
    parser.add_argument("--caller", metavar="TEXT", type=text, help="only callers whose name contains this text")
    parser.add_argument("--refused", action="store_true", help="list the refused calls instead of the summary")
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")


def main(arguments: Arguments) -> int:
    """Print the summary. Returns 1 when a file could not be read."""
    if not arguments.operands:
        raise UsageError("audit needs the file of `eyespan serve --audit FILE`. Try: eyespan audit --help")
    summary = AuditSummary()
    try:
        for name in arguments.operands:
            for line in _read_log(name):
                summary.add(line, arguments.values.get("caller", ""))
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        sys.stderr.write(f"eyespan audit: {in_plain_words(error)}\n")
        return 1
    if arguments.values.get("json"):
        shown = json.dumps(summary.as_json(), ensure_ascii=False, indent=2)
    else:
        shown = "\n".join(summary.refusals() if arguments.values.get("refused") else summary.lines())
    sys.stdout.write(shown + "\n")
    if summary.unreadable and not summary.calls and not summary.unsandboxed_starts:
        print("eyespan: this is not an audit log of `eyespan serve --audit`", file=sys.stderr)
        return 1
    return 0


def _read_log(name: str) -> Iterator[str]:
    """Yield the lines of a log, oldest first. The current file must exist; the rotated ones need not."""
    if name == "-":
        yield from sys.stdin
        return
    for old in (f"{name}.{number}" for number in range(MAX_OLD_FILES, 0, -1)):
        if os.path.exists(old):
            with open(old, encoding="utf-8", errors="replace") as file:
                yield from file
    with open(name, encoding="utf-8", errors="replace") as file:
        yield from file


class AuditSummary:
    """Counts over the lines of a log."""

    def __init__(self) -> None:
        self.verdicts: Counter[str] = Counter()
        self.callers: dict[str, Counter[str]] = {}
        self.files: Counter[str] = Counter()
        self.file_bytes: Counter[str] = Counter()
        self.refused: Counter[tuple[str, str]] = Counter()
        self.dialects: Counter[str] = Counter()
        self.durations_ms: list[float] = []
        self.bytes = 0
        self.first = self.last = ""
        self.unreadable = 0
        self.unsandboxed_starts: list[str] = []
        """Times at which a server was started with `--no-sandbox`."""
        self._refusals: list[str] = []

    def add(self, line: str, caller: str = "") -> None:
        """Count one line, if its caller's name contains `caller`. Count other text as unreadable."""
        if not line.strip():
            return
        try:
            entry: dict[str, Any] = json.loads(line)
            if entry.get("event") == "start":
                self.unsandboxed_starts.append(str(entry["time"]))
                return
            time, name = visible(str(entry["time"])), str(entry["caller"])
            verdict, path = str(entry["verdict"]), str(entry["canonical"] or entry["path"])
            size, duration_ms = int(entry["bytes"]), float(entry["ms"])
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
            self.unreadable += 1
            return
        if caller not in name:
            return
        self.verdicts[verdict] += 1
        self.callers.setdefault(name, Counter())[verdict] += 1
        self.dialects[str(entry.get("dialect"))] += 1
        self.bytes += size
        self.durations_ms.append(duration_ms)
        self.first = min(self.first or time, time)
        self.last = max(self.last, time)
        if verdict == "read":
            self.files[path] += 1
            self.file_bytes[path] += size
        elif verdict == "refused":
            reason = f"rule {entry['rule']}" if entry.get("rule") else str(entry.get("code"))
            self.refused[(path, reason)] += 1
            self._refusals.append(f"{time}  {visible(name)}  {visible(path)}  {visible(reason)}")

    @property
    def calls(self) -> int:
        return sum(self.verdicts.values())

    def lines(self) -> list[str]:
        """Return the summary as lines of text."""
        if not self.calls:
            unreadable = f" {self.unreadable} lines are not audit lines." if self.unreadable else ""
            return [f"No calls.{unreadable}", *self._warnings()]
        read, refused, cancelled = (self.verdicts[name] for name in ("read", "refused", "cancelled"))
        durations = sorted(self.durations_ms)
        shown = [
            f"{self.calls} calls from {_whole_seconds(self.first)} to {_whole_seconds(self.last)} UTC",
            f"{read} read ({_size(self.bytes)}), {refused} refused, {cancelled} cancelled; "
            f"half within {_duration(durations[len(durations) // 2])}, "
            f"99 of 100 within {_duration(durations[min(len(durations) - 1, int(len(durations) * 0.99))])}",
            *self._warnings(),
            "",
            "Most read",
            *(
                f"{count:>7}  {_size(self.file_bytes[path]):>9}  {visible(path)}"
                for path, count in self.files.most_common(MAX_ROWS)
            ),
        ]
        if len(self.files) > MAX_ROWS:
            shown.append(f"         and {len(self.files) - MAX_ROWS} more files")
        if self.refused:
            shown += ["", "Refused"]
            for (path, reason), count in self.refused.most_common(MAX_ROWS):
                shown.append(f"{count:>7}  {visible(f'{path}  ({reason})')}")
        shown += ["", "By caller"]
        for name, counts in sorted(self.callers.items(), key=lambda item: -sum(item[1].values()))[:MAX_ROWS]:
            parts = ", ".join(f"{counts[name]} {name}" for name in ("read", "refused", "cancelled") if counts[name])
            shown.append(f"{sum(counts.values()):>7}  {visible(name)}: {parts}")
        if self.unreadable:
            shown += ["", f"{self.unreadable} lines are not audit lines."]
        return shown

    def _warnings(self) -> list[str]:
        if not self.unsandboxed_starts:
            return []
        last = visible(_whole_seconds(max(self.unsandboxed_starts)))
        times = "once" if len(self.unsandboxed_starts) == 1 else f"{len(self.unsandboxed_starts)} times"
        return [f"! started {times} without the sandbox (--no-sandbox), last at {last} UTC"]

    def refusals(self) -> list[str]:
        return self._refusals or ["Nothing was refused."]

    def as_json(self) -> dict[str, Any]:
        return {
            "calls": self.calls,
            "first": self.first or None,
            "last": self.last or None,
            "bytes": self.bytes,
            "verdicts": dict(self.verdicts),
            "dialects": dict(self.dialects),
            "callers": {name: dict(counts) for name, counts in self.callers.items()},
            "most_read": [{"path": path, "calls": count} for path, count in self.files.most_common(MAX_ROWS)],
            "refused": [
                {"path": path, "why": reason, "calls": count}
                for (path, reason), count in self.refused.most_common(MAX_ROWS)
            ],
            "unreadable_lines": self.unreadable,
            "starts_without_sandbox": len(self.unsandboxed_starts),
        }


def _whole_seconds(time: str) -> str:
    """Shorten a time stamp of the log to whole seconds."""
    return time[:19].replace("T", " ")


def _size(count: int) -> str:
    size = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"


def _duration(milliseconds: float) -> str:
    return f"{milliseconds:.1f} ms" if milliseconds < 1000 else f"{milliseconds / 1000:.1f} s"
