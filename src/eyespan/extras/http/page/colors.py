"""Styles of the source text in an answer, for the page (Pygments).

The lexers of Pygments run in the sandboxed worker, on the lines of the answer without the line numbers of its dialect.
The response is checked as if it came from an attacker: one known style for each character. Text of an unknown language,
a text that is too large or takes too long has no styles.
"""

from __future__ import annotations

import re
from importlib.util import find_spec
from itertools import groupby

from eyespan.cli.highlight import COLORS, MAX_BYTES, SECONDS
from eyespan.context import CallContext
from eyespan.errors import ReadError
from eyespan.opened import decode_bytes
from eyespan.outline import language_of

Line = tuple[int, list[tuple[int, str]]]
"""The characters of the line number, then pairs of a length and a style for the rest of the line."""
_NUMBER = re.compile(r" {0,20}L?\d{1,20}(?:\t|→|: | \| )")
_OWN_LINE = re.compile(r">[^>]")
"""A line of the tool itself, in an answer of `native`."""


def line_styles(text: str, path: str, context: CallContext) -> list[Line] | None:
    """Return the styles of each line of an answer about one file; None if there are none for it."""
    numbers = [_prefix(line) for line in text.split("\n")]
    rest = "\n".join([line[size:] for size, line in zip(numbers, text.split("\n"), strict=True)])
    data = rest.encode("utf-8", "replace")
    left = context.left()
    own = CallContext(SECONDS if left is None else min(SECONDS, left), may_block=context.may_block)
    try:
        language = language_of(path, data[:200]) if path and any(numbers) else None
        if not language or len(data) > MAX_BYTES or find_spec("pygments") is None:
            return None
        facts, blobs = decode_bytes(f"highlight-{language}", data, {}, own)
    except ReadError:
        return None
    names = facts.get("styles")
    if not isinstance(names, list) or len(blobs) != 1 or len(blobs[0]) != len(rest):
        return None
    known = [name if isinstance(name, str) and name in COLORS else "" for name in names]
    lines, start = [], 0
    for size, line in zip(numbers, rest.split("\n"), strict=True):
        runs = [(len(list(run)), number) for number, run in groupby(blobs[0][start : start + len(line)])]
        lines.append((size, [(length, known[number] if number < len(known) else "") for length, number in runs]))
        start += len(line) + 1
    return lines


def _prefix(line: str) -> int:
    """Return how many characters of a line are not of the file."""
    if _OWN_LINE.match(line):
        return len(line)
    found = _NUMBER.match(line)
    return 0 if found is None else found.end()
