"""Read a file to its end, in each dialect: one function for each way to continue."""

from __future__ import annotations

import base64
import re
from pathlib import Path

from proof.exact.callers import Wrong


def read_codex(call, root: Path, name: str):
    """Return the lines without their ends; after a full slice another one may follow."""
    lines: list[str] = []
    while True:
        answer = call({"file_path": str(root / name), "offset": len(lines) + 1})
        if answer.error is not None:
            if "offset exceeds file length" in answer.error:
                return lines
            raise Wrong(answer.error)
        got = answer.text.split("\n")
        for line in got:
            lines.append(_without(line, f"L{len(lines) + 1}: "))
        if len(got) < 2000:
            return lines


def read_claude(call, root: Path, name: str, first: int = 0, separator: str = "\t"):
    """Return the lines without their ends, or the text of an error."""
    lines: list[str] = []
    while True:
        answer = call({"file_path": str(root / name), "offset": len(lines) + first})
        if answer.error is not None:
            return answer.error
        facts = answer.structured
        if not facts["lines_returned"]:
            if facts.get("total_lines") != len(lines) or not answer.text.startswith("<system-reminder>"):
                raise Wrong(f"no lines, but the facts {facts}")
            return lines
        got = answer.text.split("\n")
        if len(got) != facts["lines_returned"]:
            raise Wrong(f"{len(got)} lines, reported as {facts['lines_returned']}")
        for line in got:
            lines.append(_without(line, f"{len(lines) + 1:>6}{separator}"))
        if not facts["truncated"]:
            return lines


def read_workspace(call, root: Path, name: str):
    """Return the text, read a window at a time, or the text of an error."""
    windows, start = [], 1
    while True:
        answer = call({"path": name, "start_line": start, "max_lines": 500})
        if answer.error is not None:
            return answer.error
        windows.append(answer.structured["content"])
        if answer.structured["meta"]["byte_length"] != (root / name).stat().st_size:
            raise Wrong("the size differs")
        following = answer.structured["next_start_line"]
        if following is None:
            return ["\n".join(windows)]
        if following <= start:
            raise Wrong(f"the continuation of line {start} is line {following}")
        start = following


def read_forge(call, root: Path, name: str, numbers: bool = True):
    """Return the whole text, read in ranges if it is too large; bytes; or the text of an error."""
    answer = call({"path": name, "show_line_numbers": numbers})
    if answer.error is None and answer.structured["binary"]:
        data = base64.b64decode(answer.structured["base64"])
        if answer.text.partition("\n")[2] != answer.structured["base64"]:
            raise Wrong("the text and the result differ")
        return (data, answer.structured["truncated"])
    if answer.error is None:
        return ["".join(_numbered_off(answer.text, 1) if numbers else [answer.text])]
    if "File too large" not in answer.error:
        return answer.error
    lines: list[str] = []
    while True:
        start = len(lines) + 1
        answer = call({"path": name, "start_line": start, "limit": 3000, "show_line_numbers": numbers})
        if answer.error is not None:
            if f"exceeds file line count {len(lines)}" in answer.error:
                return ["".join(lines)]
            return answer.error
        got = _numbered_off(answer.text, start) if numbers else _feeds(answer.text)
        lines += got
        if len(got) < 3000:
            return ["".join(lines)]


def read_native(call, root: Path, name: str, budget: int = 100_000):
    """Return the rows and the notes beside them; every answer names its continuation."""
    rows: list[str] = []
    notes: set[str] = set()
    asked = name
    column = 1
    for _ in range(100_000):
        answer = call({"files": [asked], "budget": budget})
        if answer.error is not None:
            return answer.error
        (part,) = answer.structured["parts"]
        header, *lines = answer.text.split("\n")
        match = re.search(r":(\d+)(?::(\d+))?(?:-(\d+)(?::(\d+))?)?/(\d+|\?) #\d+$", header)
        if match is None:
            notes.update(header.rpartition(": ")[2].split("; "))
            return rows, notes
        first, start, last, end, _total = match.groups()
        first, last = int(first), int(last or first)
        if (int(start or 1), first) != (column, len(rows) + (column == 1)):
            raise Wrong(f"asked for {asked[-60:]!r}, got {header[-60:]!r}")
        for number in range(first, last + 1):
            line = lines.pop(0)
            text = _without(line, f"{number}:{column}\t" if column > 1 else f"{number}\t")
            if column > 1:
                rows[-1] += text
            else:
                rows.append(text)
            column = 1
        if end is not None:
            column = len(rows[-1]) + 1
            if int(end) != column - 1:
                raise Wrong(f"{header[-60:]!r}, but the row ends at {column - 1}")
        notes.update(lines[0].removeprefix(">note: ").split("; ") if lines and lines[0].startswith(">note: ") else ())
        if part["next"] is None:
            return rows, notes
        asked = part["next"]
    raise Wrong("the continuations never end")


def _without(line: str, lead: str) -> str:
    if not line.startswith(lead):
        raise Wrong(f"{line[:40]!r} does not begin with {lead!r}")
    return line[len(lead) :]


def _feeds(text: str) -> list[str]:
    """Split a text after its line feeds; nothing else ends a line."""
    lines = [line + "\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _numbered_off(text: str, first: int) -> list[str]:
    lines = _feeds(text)
    width = len(str(first + len(lines) - 1))
    return [_without(line, f"{number:>{width}}\t") for number, line in enumerate(lines, first)]
