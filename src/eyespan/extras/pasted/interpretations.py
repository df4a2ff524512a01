"""Read what other programs print as targets: compiler messages, tracebacks, search results, URLs, test ids, diffs.

Pure: nothing is opened here. `interpretations(text)` returns the ways to understand a text, the likeliest first. Each
names one or several places, and each place has several readings, because only the files decide which one is meant. The
caller takes the first reading whose file exists and states it in its answer. The forms of one line are the table in
`pasted_forms`; here are the rules for several lines and several paths.

Limits: the first `MAX_TEXT_CHARS` characters, `MAX_LINES` lines and `MAX_PLACES` places of a text are read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from eyespan.extras.pasted.loose import number
from eyespan.extras.pasted.pasted_forms import matches, paths_in
from eyespan.extras.pasted.path_spellings import path_spellings, strip
from eyespan.model import Lines
from eyespan.selectors import Piece, Place, Ranges, Target, bases, readings

MAX_TEXT_CHARS = 64 * 1024
MAX_LINES = 300
MAX_LINE_CHARS = 1000
MAX_PLACES = 100
"""More places of one text than this are left out."""
MAX_READINGS = 48
"""The readings of one place."""


@dataclass(frozen=True, slots=True)
class Interpretation:
    """The places that a text may name."""

    places: tuple[tuple[Target, ...], ...]
    """For each place its readings, the likeliest first."""
    least: int = 1
    """The text has this meaning only if so many of its places exist."""


_COLOURS = re.compile(r"\x1b\[[0-9;]{0,20}[A-Za-z]")
_RENAMED = re.compile(r"\{[^{}]{0,300} => (?:([^{}]{1,300})\}|\}/)")
_QUERY = re.compile(r"(?<=\w)\?(?!L[0-9])[\w=&.%+-]{0,200}(?=:[0-9])")
_BRACES = re.compile(r"([^\s{}]{0,200})\{([^{}\s]{1,500},[^{}]{1,500})\}([^\s{}]{0,200})")
_BETWEEN_NAMES = re.compile(r"[\s,;|]{1,8}(?:(?:and|or|with|to|vs\.?|against|&|\+)[\s,;]{1,4})?")
_VERB = re.compile(r"^\s*(?:compare|diff|read|show)\s+(?:between\s+)?", re.IGNORECASE)
_HUNK = re.compile(r"@@ -[0-9]{1,15}(?:,[0-9]{1,15})? \+(?P<line>[0-9]{1,15})(?:,(?P<count>[0-9]{1,15}))? @@")
_NUMBERED = (
    # rg --heading, eslint, code in a frame, semgrep
    re.compile(r"\s{0,20}(?P<line>[0-9]{1,9})(?::(?P<column>[0-9]{1,6})(?=[\s:])|[:|-](?![0-9])|\s{0,4}[|│┆┊](?=\s))"),
    re.compile(r"\s{0,8}[Ll](?:ine)?[:.]\s{0,20}(?P<line>[0-9]{1,9})(?=[\s|]|$)"),  # gitleaks, sqlfluff, LaTeX
    re.compile(r"-{2,6}>\s{1,4}(?P<line>[0-9]{1,9})(?=\s)"),  # IPython
    re.compile(r"Hunk #[0-9]{1,6} \w{1,20} at (?P<line>[0-9]{1,9})"),  # patch
)
_TABLE = re.compile(r"\s{0,8}Line\s{2,8}\S")  # PHPStan
_TABLE_ROW = re.compile(r"\s{0,8}(?P<line>[0-9]{1,9})\s{2,12}[^\s/.]{1,100}(?:\s|$)")


EXAMPLES = (
    ("a.py src/a.c:3", "a.py, src/a.c:3"),
    ("a.py, src/a.c:3 and lib.py", "a.py, src/a.c:3, lib.py"),
    ("a.py|src/a.c:3", "a.py, src/a.c:3"),
    ("compare a.py:12 with src/a.c:3", "a.py:12, src/a.c:3"),
    ("src/{a.c,a.py}", "src/a.c, src/a.py"),
    ("read the file src/a.c please", "src/a.c"),
    ("a.py:7:x\na.py:9:x\nsrc/a.c:3:x", "a.py:7, a.py:9, src/a.c:3"),
    ("a.py\n7:x\n9:x\n\nsrc/a.c\n3:x", "a.py:7, a.py:9, src/a.c:3"),
    ("src/a.c\n  3:7  error  Missing semicolon  semi\n  9:1  warning  Unused", "src/a.c:3:7, src/a.c:9:1"),
    ('Traceback (most recent call last):\n  File "a.py", line 3, in f\n    g()\nNameError: g', "a.py:3"),
    ("diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -3,7 +3,9 @@ def f()\n x\n+y", "a.py:3-11"),
    ("patching file src/a.c\nHunk #2 FAILED at 9.", "src/a.c:9"),
    ("~/work/src/a.c in f(x)\n     10 def f():\n---> 11     1/0", "src/a.c:11"),
)
"""Texts that name several paths, or have several lines, each with the selectors that it is read as."""


def interpretations(text: str) -> Iterator[Interpretation]:
    """Yield the ways to understand a text, the likeliest first."""
    lines = _lines_of(text)
    if len(lines) > 1:
        yield Interpretation(tuple(_places_of_lines(lines)))
        words = [path for line in lines for _, path in paths_in(line) if "/" in path][:MAX_PLACES]
        yield Interpretation(tuple([tuple(_respelled(readings(strip(path)))) for path in dict.fromkeys(words)]))
    elif lines:
        several = tuple(_several_names(lines[0]))
        if several:
            yield Interpretation(several, least=len(several))
        yield Interpretation((tuple(_line_readings(lines[0], has_names=True)),))
        if several:
            yield Interpretation(several, least=2)
        paths = reversed(paths_in(lines[0]))
        yield Interpretation((tuple(_respelled(target for _, path in paths for target in readings(strip(path)))),))


def _lines_of(text: str) -> list[str]:
    """Return the lines of a text that are not blank, without colours, queries of bundlers and old names of files."""
    text = _COLOURS.sub("", text[:MAX_TEXT_CHARS])
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    lines = [line[:MAX_LINE_CHARS] for line in lines if line.strip()][:MAX_LINES]
    return [_RENAMED.sub(r"\1", _QUERY.sub("", line)) for line in lines]


def _places_of_lines(lines: Sequence[str]) -> list[tuple[Target, ...]]:
    """Return the places that several lines name, each place once.

    A line with a path gives the file of the numbered lines after it, as `rg --heading` and eslint print them. In a
    diff, the numbers of each hunk belong to the file of its header.
    """
    places: dict[tuple[Target, ...], None] = {}
    heading: list[str] = []
    unused: list[tuple[Target, ...]] = []
    is_table = False
    marks = ("+++ ", "@@ ", "rename to ") if any(line.startswith("+++ ") for line in lines) else ("diff --git ",)
    is_diff = any(line.startswith(marks[0]) for line in lines)
    for line in lines:
        if is_diff and not line.startswith(marks):
            continue
        piece = _numbered(line, is_table=is_table) if heading else None
        if piece is not None:
            place = _respelled([Target(path, piece) for path in heading])
            for whole in unused:  # The heading of these lines is no target of its own.
                places.pop(whole, None)
        else:
            # A search is left out: what it printed follows.
            place = [target for target in _line_readings(line, has_names=False) if not target.pattern]
            paths = [path for _, path in paths_in(line)]
            if any(target.piece is not None for target in place):
                place, heading = [target for target in place if target.piece is not None], []
            elif paths:
                is_weak = not any("/" in path for path in paths)
                heading = [*paths, *heading] if is_weak else paths
                unused = [*unused, tuple(place)] if is_weak else [tuple(place)]
                is_table = _TABLE.match(line) is not None
        places[tuple(place)] = None
        if len(places) >= MAX_PLACES:
            break
    return _without_repeated([place for place in places if place])


def _without_repeated(places: Sequence[tuple[Target, ...]]) -> list[tuple[Target, ...]]:
    """Return the places without whole files of which another place names lines, such as the file of a command."""
    with_lines = {target.path for place in places for target in place if isinstance(target.piece, Ranges)}
    return [
        place
        for place in places
        if any(target.piece is not None for target in place) or not any(one.path in with_lines for one in place)
    ]


def _numbered(line: str, *, is_table: bool) -> Piece | None:
    """Return the lines that a hunk or a numbered line names, of the file of its heading."""
    hunk = _HUNK.match(line)
    if hunk is not None:
        return Ranges((Lines(number(hunk["line"]), number(hunk["count"] or "1")),))
    for pattern in (*_NUMBERED, *([_TABLE_ROW] if is_table else [])):
        match = pattern.match(line)
        if match is not None:
            first, column = number(match["line"]), match.groupdict().get("column")
            return Ranges((Place(first, number(column)) if column else Lines(first, 1),))
    return None


def _several_names(line: str) -> list[tuple[Target, ...]]:
    """Return a place for each word of a line, if each looks like a path."""
    braces = _BRACES.fullmatch(line.strip())
    if braces is not None:
        line = " ".join([f"{braces[1]}{name.strip()}{braces[3]}" for name in braces[2].split(",")])
    words = [word for word in [strip(word) for word in _BETWEEN_NAMES.split(strip(_VERB.sub("", line)))] if word]
    if not 2 <= len(words) <= MAX_PLACES or not all("." in word or "/" in word for word in words):
        return []
    return [tuple(_line_readings(word, has_names=False)) for word in words]


def _line_readings(line: str, *, has_names: bool) -> list[Target]:
    """Return the readings of one line by the rows that match it, the surest first."""
    forms = matches(line, has_names=has_names)
    return _respelled(target for row, match in forms for target in row.targets(match))


def _respelled(targets: Iterable[Target]) -> list[Target]:
    """Return targets, each with its path in every spelling, also split at a revision or a member."""
    readings: dict[Target, None] = {}
    for target in targets:
        for path in path_spellings(target.path):
            readings[replace(target, path=path)] = None
            if not target.member and not target.revision and ("!/" in path or "@" in path[1:]):
                readings.update(
                    dict.fromkeys([replace(one, pattern=target.pattern) for one in bases(path, target.piece)])
                )
        if len(readings) >= MAX_READINGS:
            break
    return [target for target in readings if target.path][:MAX_READINGS]
