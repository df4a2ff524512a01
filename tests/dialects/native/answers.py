"""Parse the answers of the native dialect: the characters of each line that they show."""

from __future__ import annotations

import re

_GUTTER = re.compile(r"(?:(\d+)(?::(\d+))?)?\t")


def shown(text, separator="\t"):
    """Return number, first column and text of every row in an answer about one file; check the form of the answer."""
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
    """Follow the continuations from a selector; return every row shown and the number of calls."""
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
    """Return the character at each (line, column), an empty line at (line, 0); check that none is shown twice."""
    found = {}
    for number, column, text in rows:
        for at, character in enumerate(text, column):
            assert (number, at) not in found, (number, at)
            found[number, at] = character
        if not text:
            assert (number, 0) not in found
            found[number, 0] = ""
    return found


def line_numbers(reply):
    """Return the numbers of the lines that a reply shows."""
    return [number for number, _, _ in shown(reply.text)]
