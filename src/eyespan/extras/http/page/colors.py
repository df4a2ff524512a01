"""Styles of the source text in an answer, for the page: those of `eyespan read`, on the lines of the answer without
the line numbers of its dialect.
"""

from __future__ import annotations

import re

from eyespan import plugins
from eyespan.context import CallContext

Line = tuple[int, list[tuple[int, str]]]
"""The characters of the line number, then pairs of a length and a style for the rest of the line."""
_PREFIX = re.compile(r" {0,20}L?\d{1,20}(?:\t|→|: | \| )")
"""The number of a line, which is not of the file."""


def line_styles(text: str, path: str, context: CallContext) -> list[Line] | None:
    """Return the styles of each line of an answer, plain ones for an unknown language; None for one without numbers."""
    lines = text.split("\n")
    numbers = [_prefix_chars(line) for line in lines]
    if not any(numbers):
        return None
    rest = [line[size:] for size, line in zip(numbers, lines, strict=True)]
    style_lines = plugins.load(plugins.own("STYLES")[0])
    styled = style_lines("\n".join(rest).encode("utf-8", "replace"), path, context) if path else None
    if styled is None:
        styled = [[(line, "")] for line in rest]
    return [(size, [(len(piece), style) for piece, style in line]) for size, line in zip(numbers, styled, strict=True)]


def _prefix_chars(line: str) -> int:
    """Return the length of what is not of the file: a number, or a whole line of the tool in an answer of `native`."""
    if line.startswith(">") and not line.startswith(">>") and len(line) > 1:
        return len(line)
    number = _PREFIX.match(line)
    return number.end() if number else 0
