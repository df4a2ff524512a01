"""`eyespan audit FILE`: what an audit log says, for a person: how much was read and refused, what, by whom, when."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

HELP = """\
eyespan audit: what an audit log of `eyespan serve --audit FILE` says

  eyespan audit reads.jsonl                 all of it, with the older reads.jsonl.1 to .4 beside it
  eyespan audit reads.jsonl --caller codex  only callers whose name has this in it
  eyespan audit reads.jsonl --refused       only what was refused, one line each
  eyespan audit reads.jsonl --json          the same summary as JSON
  eyespan audit - < reads.jsonl             from standard input
"""
SHOWN = 10
BARS = "▁▂▃▄▅▆▇█"
COLUMNS = 48
_KEPT = 4


def main(argv: list[str]) -> int:
    """Exit status 0, 1 when a file could not be read, 2 for wrong usage."""
    files: list[str] = []
    caller = ""
    flags = set()
    left = list(argv)
    while left:
        word = left.pop(0)
        if word in ("--help", "-h"):
            sys.stdout.write(HELP)
            return 0
        if word in ("--refused", "--json"):
            flags.add(word)
        elif word == "--caller" and left:
            caller = left.pop(0)
        elif word.startswith("--caller="):
            caller = word.partition("=")[2]
        elif word.startswith("-") and word != "-":
            sys.stderr.write(f"eyespan audit does not know {word!r}; --help shows what it knows\n")
            return 2
        else:
            files.append(word)
    if not files:
        sys.stderr.write("eyespan audit wants the file of `eyespan serve --audit`; --help shows examples\n")
        return 2
    summary = Summary()
    try:
        for name in files:
            for line in _lines(name):
                summary.take(line, caller)
    except OSError as error:
        sys.stderr.write(f"eyespan audit: {error.filename}: {error.strerror}\n")
        return 1
    if "--json" in flags:
        text = json.dumps(summary.as_json(), ensure_ascii=False, indent=2)
    else:
        text = "\n".join(summary.refusals() if "--refused" in flags else summary.lines())
    sys.stdout.write(text + "\n")
    return 0


def _lines(name: str) -> Iterator[str]:
    if name == "-":
        yield from sys.stdin
        return
    # Oldest first; the current file must be there, the turned over ones need not.
    for old in (f"{name}.{number}" for number in range(_KEPT, 0, -1)):
        if os.path.exists(old):
            with open(old, encoding="utf-8", errors="replace") as file:
                yield from file
    with open(name, encoding="utf-8", errors="replace") as file:
        yield from file


class Summary:
    """Counts over the lines of a log."""

    def __init__(self) -> None:
        self.verdicts: Counter[str] = Counter()
        self.callers: dict[str, Counter[str]] = {}
        self.files: Counter[str] = Counter()
        self.file_bytes: Counter[str] = Counter()
        self.refused: Counter[tuple[str, str]] = Counter()
        self.dialects: Counter[str] = Counter()
        self.times: list[tuple[float, bool]] = []
        self.millis: list[float] = []
        self.bytes = 0
        self.first = self.last = ""
        self.unreadable = 0
        self.unsandboxed: list[str] = []
        """When a server was started with `--no-sandbox`."""
        self._refusals: list[str] = []

    def take(self, line: str, caller: str = "") -> None:
        """Counts one line; one that is no audit line is counted as that."""
        if not line.strip():
            return
        try:
            entry: dict[str, Any] = json.loads(line)
            if entry.get("event") == "start":
                self.unsandboxed.append(str(entry["time"]))
                return
            stamp, who = str(entry["time"]), str(entry["caller"])
            verdict, path = str(entry["verdict"]), str(entry["canonical"] or entry["path"])
            size, millis = int(entry["bytes"]), float(entry["ms"])
            when = _seconds(stamp)
        except (ValueError, KeyError, TypeError, AttributeError):
            self.unreadable += 1
            return
        if caller not in who:
            return
        self.verdicts[verdict] += 1
        self.callers.setdefault(who, Counter())[verdict] += 1
        self.dialects[str(entry.get("dialect"))] += 1
        self.bytes += size
        self.millis.append(millis)
        self.times.append((when, verdict == "read"))
        self.first = min(self.first or stamp, stamp)
        self.last = max(self.last, stamp)
        if verdict == "read":
            self.files[path] += 1
            self.file_bytes[path] += size
        elif verdict == "refused":
            why = f"rule {entry['rule']}" if entry.get("rule") else str(entry.get("code"))
            self.refused[(path, why)] += 1
            self._refusals.append(f"{stamp}  {_safe(who)}  {_safe(path)}  {_safe(why)}")

    @property
    def calls(self) -> int:
        return sum(self.verdicts.values())

    def lines(self) -> list[str]:
        """The summary as a person wants it."""
        if not self.calls:
            told = "No calls." + (f" {self.unreadable} lines are no audit lines." if self.unreadable else "")
            return [told, *self._warnings()]
        read, refused, cancelled = (self.verdicts[name] for name in ("read", "refused", "cancelled"))
        self.millis.sort()
        shown = [
            f"{self.calls} calls from {self.first[:19].replace('T', ' ')} to {self.last[:19].replace('T', ' ')} UTC",
            f"{read} read ({_size(self.bytes)}), {refused} refused, {cancelled} cancelled; "
            f"half within {_millis(self.millis[len(self.millis) // 2])}, "
            f"99 of 100 within {_millis(self.millis[min(len(self.millis) - 1, int(len(self.millis) * 0.99))])}",
            *self._warnings(),
            "",
            *self._chart(),
            "",
            "Most read",
            *_table(
                (f"{count:>7}  {_size(self.file_bytes[path]):>9}  ", path)
                for path, count in self.files.most_common(SHOWN)
            ),
        ]
        if len(self.files) > SHOWN:
            shown.append(f"         and {len(self.files) - SHOWN} more files")
        if self.refused:
            shown += ["", "Refused"]
            shown += _table(
                (f"{count:>7}  ", f"{path}  ({why})") for (path, why), count in self.refused.most_common(SHOWN)
            )
        shown += ["", "By whom"]
        for who, counts in sorted(self.callers.items(), key=lambda item: -sum(item[1].values()))[:SHOWN]:
            said = ", ".join(f"{counts[name]} {name}" for name in ("read", "refused", "cancelled") if counts[name])
            shown.append(f"{sum(counts.values()):>7}  {_safe(who)}: {said}")
        if self.unreadable:
            shown += ["", f"{self.unreadable} lines are no audit lines."]
        return shown

    def _warnings(self) -> list[str]:
        if not self.unsandboxed:
            return []
        last = _safe(max(self.unsandboxed)[:19].replace("T", " "))
        times = "once" if len(self.unsandboxed) == 1 else f"{len(self.unsandboxed)} times"
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
            "callers": {who: dict(counts) for who, counts in self.callers.items()},
            "most_read": [{"path": path, "calls": count} for path, count in self.files.most_common(SHOWN)],
            "refused": [
                {"path": path, "why": why, "calls": count} for (path, why), count in self.refused.most_common(SHOWN)
            ],
            "unreadable_lines": self.unreadable,
            "starts_without_sandbox": len(self.unsandboxed),
        }

    def _chart(self) -> list[str]:
        """Calls over time, one bar for each slice; below it those that were not answered with a file."""
        start = min(when for when, _ in self.times)
        span = max(float(COLUMNS), max(when for when, _ in self.times) - start)
        good, bad = [0] * COLUMNS, [0] * COLUMNS
        for when, is_read in self.times:
            slot = min(COLUMNS - 1, int((when - start) / span * COLUMNS))
            (good if is_read else bad)[slot] += 1
        high = max(*good, *bad)
        return [f"  read     {_bars(good, high)}", f"  refused  {_bars(bad, high)}  ({high} at most in {_span(span)})"]


def _bars(counts: list[int], high: int) -> str:
    return "".join(BARS[(count * len(BARS) - 1) // high] if count else " " for count in counts)


def _table(rows: Iterable[tuple[str, str]]) -> list[str]:
    return [head + _safe(tail) for head, tail in rows]


def _safe(text: str) -> str:
    """A name as a terminal may show it: what is not printable is escaped, so that no file name moves the cursor."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _seconds(stamp: str) -> float:
    from datetime import datetime

    return datetime.fromisoformat(stamp.replace("Z", "+00:00")).timestamp()


def _span(seconds: float) -> str:
    each = seconds / COLUMNS
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if each >= length:
            return f"{each / length:.1f} {unit}"
    return f"{each:.1f} s"


def _size(count: int) -> str:
    size = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"


def _millis(value: float) -> str:
    return f"{value:.1f} ms" if value < 1000 else f"{value / 1000:.1f} s"
