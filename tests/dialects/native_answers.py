"""Reading the native dialect's answers back: which characters of which line they show."""

from __future__ import annotations

import re

_GUTTER = re.compile(r"(?:(\d+)(?::(\d+))?)?\t")


def shown(text, separator="\t"):
    """{line: (first column, text)} of every row in an answer about one file, in order; asserts the answer's form."""
    rows = []
    lines = text.split("\n")
    assert re.search(r"(/\d+|/\?) #\d{12}$", lines[0]), lines[0]
    number = None
    for line in lines[1:]:
        if line == "...":
            number = None
            continue
        if line.startswith(("note: ", "left out", "outline of ")):
            break
        if not line:
            assert number is not None
            number += 1
            rows.append((number, 1, ""))
            continue
        gutter = _GUTTER.match(line)
        assert gutter, line
        if gutter[1]:
            number = int(gutter[1])
        else:
            assert number is not None
            number += 1
        rows.append((number, int(gutter[2] or 1), line[gutter.end() :]))
    return rows


def follow(tool, selector, budget, most=10_000):
    """Every row that following the continuations from a selector shows, and how many calls it took."""
    waiting, rows, calls = [selector], [], 0
    while waiting:
        calls += 1
        assert calls < most
        reply = tool.call({"files": [waiting.pop(0)], "budget": budget})
        assert not reply.is_error, reply.text
        if "\n" in reply.text:
            rows += shown(reply.text)
        waiting = [*reply.structured.get("left_out", []), *waiting]
    return rows, calls


def characters(rows):
    """{(line, column): character}; asserts that none is shown twice. An empty line is (line, 0)."""
    found = {}
    for number, column, text in rows:
        for at, character in enumerate(text, column):
            assert (number, at) not in found, (number, at)
            found[number, at] = character
        if not text:
            assert (number, 0) not in found
            found[number, 0] = ""
    return found
