"""Parse the answers of the native dialect: the characters of each line that they show."""

from __future__ import annotations

import re

_GUTTER = re.compile(r"(?:(\d+)\*?(?::(\d+))?)?\t")


def shown(text, separator="\t"):
    """Return number, first column and text of every row in an answer about one file; check the form of the answer."""
    rows = []
    lines = text.split("\n")
    start = next(at for at, line in enumerate(lines) if re.search(r"(/\d+|/\?) #\d{12}$", line))
    assert start == 0 or lines[0].startswith(">outline of "), lines[0]
    number = None
    for line in lines[start + 1 :]:
        if line == ">..." or line.startswith((">= ", ">… ")):
            number = None
            continue
        if line.startswith(">"):
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
        reply = tool.call({"files": [waiting.pop(0)], **({} if budget is None else {"budget": budget})})
        if calls == 1 and reply.is_error and reply.error.code == "past_end":
            return [], 1
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


# --- the grammar of docs/native.md -----------------------------------------------------------------------------------

_QUOTED = r'"[^"]*"'
_PIECE = rf":(?:{_QUOTED}|[^\W\d][^\":]*(?::[^\":]*)?)"
_HEADER = re.compile(rf' ({_QUOTED}|[^":]+)({_PIECE})?(:|::.* )([0-9][0-9:,-]*)/(\d+|\?) #\d{{12}}', re.S)
_DIRECTORY = re.compile(r" .*: directory, \d+ names?( seen of more)?(, \d+-\d+ shown)?", re.S)
_WORDS = re.compile(
    r"note: .+|(?:outlines )?left out, over the budget of \d+:|outline of .*|… \d+ more( on line \d+)?|"
    r"map of .*|directories:|files by rank, names with lines:",
    re.S,
)
_GAP = re.compile(r"= [0-9,-]+( shown as [0-9,-]+)?|… \d+(-\d+)?( .*)?", re.S)
_OUTLINE_ROW = re.compile(r" *\d+(-\d+)? | +\"[^\n]*\"$", re.S)


def blocks(text):
    """Split an answer into the lines of the tool itself, each with the lines that follow it: (own, content)."""
    found = []
    for line in text.split("\n"):
        if line.startswith(">"):
            found.append((line[1:], []))
        else:
            found[-1][1].append(line)
    return found


def read_back(text, style):
    """Parse an answer by its grammar; return its parts as (kind, name, contents).

    The kinds: "text" with {(line, column): text}, "names" and "left out" with names, "outline" with rows, "failure" and
    "facts" with the words after the name, "note" with its text.
    """
    parts = []
    for own, content in blocks(text):
        kind, _name, rows = parts[-1] if parts else ("", "", [])
        if own == "..." or (kind == "text" and _GAP.fullmatch(own)):
            assert kind == "text"
            if not rows[-1]:
                rows.pop()  # held or hidden lines before the first row, or several gaps in a row
            rows.append(content)
        elif own.startswith(" "):
            if _HEADER.fullmatch(own):
                parts.append(("text", own[1:], [content]))
            elif _DIRECTORY.fullmatch(own):
                parts.append(("names", own[1:], content))
            else:
                assert not content, own
                parts.append(("facts", own[1:], content))
        elif own.startswith("! "):
            assert not content
            parts.append(("failure", own[2:], content))
        else:
            assert _WORDS.fullmatch(own), own
            if own.startswith("…"):
                assert kind == "outline"
                assert all(_OUTLINE_ROW.match(row) for row in content), content
                rows += content
            elif own.startswith("outline of "):
                assert all(_OUTLINE_ROW.match(row) for row in content), content
                parts.append(("outline", own.removeprefix("outline of "), content))
            elif own.startswith(("map of ", "directories:", "files by rank")):
                assert all(row.startswith(" ") for row in content), content
                parts.append(("map", own, content))
            elif own.startswith(("left out", "outlines left out")):
                parts.append(("left out", "", content))
            else:
                assert not content, own
                parts.append(("note", own, content))
    for kind, _, runs in parts:
        if kind == "text" and not runs[-1]:
            runs.pop()
    return [
        (kind, name, _rows(name, content, style) if kind == "text" else _names(kind, content))
        for kind, name, content in parts
    ]


def _names(kind, content):
    if kind in ("names", "left out"):
        assert all(line.startswith(" ") for line in content)
        return [line[1:] for line in content]
    return content


def _rows(header, runs, style):
    """Return the text at each (line, column) of a part; check it against the extent in the header."""
    extent = _HEADER.fullmatch(f" {header}")[4]
    found = {}
    for span, lines in zip(extent.split(","), runs, strict=True):
        first, _, last = span.partition("-")
        line, _, column = first.partition(":")
        number, column = int(line), int(column or 1)
        for at, row in enumerate(lines):
            found[number, column] = _ungutter(row, number, column, at == 0, style)
            end = (number, column + len(found[number, column]) - 1)
            number, column = number + 1, 1
        last_line, _, last_column = (last or line).partition(":")
        assert end[0] == int(last_line)
        assert not last_column or end[1] == int(last_column)
    return found


def _ungutter(row, number, column, is_first, style):
    if row.startswith(f"{number}*\t"):  # a match of a search
        return row[len(f"{number}*\t") :]
    if column > 1:
        lead = f"{number}:{column}\t"
    elif is_first or number % style.every == 0:
        lead = f"{number}\t"
    elif not row:
        return row
    else:
        lead = "\t"
    assert row.startswith(lead), (row, lead)
    return row[len(lead) :]
