"""Read ranges in the spellings of other tools and people. Pure."""

from __future__ import annotations

import re

from eyespan.model import Lines, Tail
from eyespan.selectors import Place, Range, parse_ranges

MAX_NUMBER = 10**15
MAX_RANGES_CHARS = 256

_DASHES = re.compile(
    r"-{1,2}>|=>|\u2192|:(?=l(?:ines?)?\s?[0-9])|\s?\.\.\.?=?\s?|[\u2010-\u2015\u2212\u2026~]|\s(?:to|through|thru|until)\s"
)
_LINE_WORDS = re.compile(r"(?:lines?|ln|l)[\s:.#]{0,2}(?=[0-9])|(?<=[0-9])c[0-9]{1,6}")
_BLANKS = re.compile(r"\s{0,4}([-+:,;&])\s{0,4}")
_TO_THE_END = re.compile(r"-(?:end|eof|last|\$|\u221e|\*|-1|0(?![0-9]))(?!\w)|(?<=[0-9])\+$")
_COMMAS = re.compile(r"[,;&]|\sand\s")
_RANGE = re.compile(
    r"(?:([0-9]{1,40})(?::([0-9]{1,40}))?(?:-([0-9]{1,40})(?::([0-9]{1,40}))?|\+([0-9]{1,40}))?-?)|-([0-9]{1,40})"
)


def loose_ranges(text: str) -> tuple[Range, ...] | None:
    """Return the ranges of a text in any of the usual spellings, or None.

    `L3-L9`, `3..9`, `3 to 9`, `3–9`, `3-end`, `3-$`, `lines 3-9, 12`. A line 0 is line 1, and `9-3` is `3-9`.
    """
    text = text.strip().strip("()[]{}").lower()
    if len(text) > MAX_RANGES_CHARS:
        return None
    for pattern, replacement in ((_DASHES, "-"), (_LINE_WORDS, ""), (_BLANKS, r"\1"), (_TO_THE_END, "-")):
        text = pattern.sub(replacement, text)
    parsed = [_loose_range(part) for part in _COMMAS.split(text)]
    ranges = tuple([one for one in parsed if one is not None])
    return ranges if len(ranges) == len(parsed) else None


def _loose_range(text: str) -> Range | None:
    exact = parse_ranges(text)
    if exact is not None and len(exact) == 1:
        return exact[0]
    match = _RANGE.fullmatch(text)
    if match is None:
        return None
    first, column, last, last_column, count, tail = match.groups()
    if tail is not None:
        return Tail(number(tail))
    if count is not None:
        return Lines(number(first), number(count))
    # "3:5-9": columns 5 to 9 of line 3, because the text is no exact range.
    if column is not None and last_column is None:
        return Place(number(first), number(column))
    if last is not None:
        return sorted_lines(number(first), number(last))
    return Lines(number(first), None if text.endswith("-") else 1)


def sorted_lines(first: int, last: int) -> Lines:
    """Return the lines from one number to another, whichever comes first."""
    first, last = min(first, last), max(first, last)
    return Lines(first, last - first + 1)


def number(text: str) -> int:
    """Return a line number from digits, between 1 and `MAX_NUMBER`."""
    return max(1, min(int(text), MAX_NUMBER)) if len(text) < 16 else MAX_NUMBER
