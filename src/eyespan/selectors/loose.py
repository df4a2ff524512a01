"""Read paths and ranges in the spellings of other systems, tools and people. Pure; `pasted` uses it."""

from __future__ import annotations

import os
import re
from urllib.parse import unquote

from eyespan.model import Lines, Tail
from eyespan.selectors import Piece, Place, Range, Ranges, parse_ranges

MAX_NAMES = 12
"""The components of a path that are removed one by one from its start."""
MAX_NUMBER = 10**15
MAX_RANGES_CHARS = 256


# --- paths -----------------------------------------------------------------------------------------------------------


def path_spellings(path: str) -> list[str]:
    """Return the spellings of a path on this machine, the path as it is first.

    A path of another system or user (`C:\\`, `/c/`, `~/`, `$HOME/`) loses the names at its start one by one, because
    its directories do not exist here.
    """
    found = [path]
    if "\\ " in path:
        found.append(path.replace("\\ ", " "))
    if "\\" in path:
        path = path.replace("\\\\", "\\").replace("\\", "/")
        found.append(path)
    if path.lower().startswith("file:"):
        path = "/" + path[5:].lstrip("/") if not path[5:].startswith("//localhost/") else path[16:]
        found.append(path)
    if "%" in path:
        path = unquote(path)
        found.append(path)
    foreign = _FOREIGN.match(path)
    if foreign is not None:
        rest = path[foreign.end() :].lstrip("/")
        if foreign["home"]:
            found.append(f"{os.path.expanduser('~')}/{rest}")
        elif foreign["working"]:
            found.append(rest)
        found += [f"/{rest}", *shorter(rest, is_foreign=True)]
    elif path.startswith(("/", "../")):
        if path.startswith("//") and ":" in path:  # a label of Bazel
            found.append(path.strip("/").replace(":", "/"))
        found += shorter(path, is_foreign=False)
    else:
        if _DIFF_PREFIX.match(path):
            found.append(path[2:])
        for mark in ("@/", "~/", "@", ":", "file:"):
            if path.startswith(mark) and len(path) > len(mark):
                found.append(path[len(mark) :])
        scheme, colon, rest = path.partition(":")
        if colon and _SCHEME.fullmatch(scheme) and "." in rest and " " not in path and not rest.startswith("//"):
            found += [rest.lstrip("/"), *shorter(rest, is_foreign=True)]
    return [one for one in dict.fromkeys(found) if one]


def shorter(path: str, *, is_foreign: bool) -> list[str]:
    """Return a path without the first of its names, one by one.

    Of a path that may exist elsewhere on this machine, the whole path or at least a directory and a name must remain.
    """
    names = [name for name in path.split("/") if name not in ("", ".", "..")]
    least = 1 if is_foreign else 2
    found = ["/".join(names[at:]) for at in range(min(len(names), MAX_NAMES)) if len(names) - at >= least]
    if not found and path.startswith("/") and len(names) == 1:
        found = names
    return found


def strip(text: str) -> str:
    """Return a text without blanks, quotes, brackets and punctuation around it."""
    for _ in range(6):
        before = text
        text = text.strip(" \t\xa0\u200b\ufeff*_|") if len(text) > 1 and text.strip("*_|") else text.strip()
        text = text.lstrip("\"'`“”‘’«»([{<>").rstrip("\"'`“”‘’«»>,;")
        for opener, closer in ("()", "[]", "{}"):
            if text.endswith(closer) and text.count(closer) > text.count(opener):
                text = text[:-1]
        if text.endswith((":", ".")) and not text.endswith("::") and text.strip(".:/"):
            text = text[:-1] if not text.endswith("..") else text
        text = _BULLET.sub("", text, count=1)
        if text == before:
            break
    return text


# --- ranges ----------------------------------------------------------------------------------------------------------


def loose_ranges(text: str) -> tuple[Range, ...] | None:
    """Return the ranges of a text in any of the usual spellings, or None.

    `L3-L9`, `3..9`, `3 to 9`, `3–9`, `3-end`, `3-$`, `lines 3-9, 12`. A line 0 is line 1, and `9-3` is `3-9`.
    """
    text = text.strip().strip("()[]{}").lower()
    if len(text) > MAX_RANGES_CHARS:
        return None
    text = _DASHES.sub("-", text)
    text = _LINE_WORDS.sub("", text)
    text = _COLUMN_OF_LINE.sub("", text)
    text = _BLANKS.sub(r"\1", text)
    text = _TO_THE_END.sub("-", text)
    found: list[Range] = []
    for part in _COMMAS.split(text):
        one = _loose_range(part)
        if one is None:
            return None
        found.append(one)
    return tuple(found)


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
    if last is not None:
        # "3:5-9": columns 5 to 9 of line 3, because the text is no exact range.
        if column is not None and last_column is None:
            return Place(number(first), number(column))
        return sorted_lines(number(first), number(last))
    if column is not None:
        return Place(number(first), number(column))
    return Lines(number(first), None) if text.endswith("-") else Lines(number(first), 1)


def sorted_lines(first: int, last: int) -> Lines:
    """Return the lines from one number to another, whichever comes first."""
    first, last = min(first, last), max(first, last)
    return Lines(first, last - first + 1)


def piece_of(text: str) -> Piece | None:
    """Return the lines that a text names in any spelling, or None."""
    ranges = loose_ranges(text)
    return None if ranges is None else Ranges(ranges)


def number(text: str) -> int:
    """Return a line number from digits, between 1 and `MAX_NUMBER`."""
    return max(1, min(int(text[:18]), MAX_NUMBER)) if len(text) < 16 else MAX_NUMBER


# --- patterns --------------------------------------------------------------------------------------------------------

_BULLET = re.compile(r"^(?:[│├└─ \u2500-\u257f]{2,200}|[-*•]\s{1,4}|@(?=[\w./~]))")
_FOREIGN = re.compile(
    r"(?P<drive>(?://\?/)?[A-Za-z]:(?=/)|/(?:cygdrive/|mnt/)?[A-Za-z](?=/)|//[^/]{1,200}/[^/]{1,200}(?=/))"
    r"|(?P<home>~(?=/)|\$\{?HOME\}?(?=/)|%USERPROFILE%(?=/))"
    r"|(?P<working>\$\{?\w{1,60}\}?(?=/)|%\w{1,60}%(?=/)|\$\(pwd\)(?=/)|<[\w -]{1,60}>(?=/))"
)
_SCHEME = re.compile(r"[a-z][a-z-]{1,20}")
_DIFF_PREFIX = re.compile(r"[abciow]/[^/]")
_DASHES = re.compile(
    r"-{1,2}>|=>|\u2192|:(?=l(?:ines?)?\s?[0-9])|\s?\.\.\.?=?\s?|[\u2010-\u2015\u2212\u2026~]|\s(?:to|through|thru|until)\s"
)
_LINE_WORDS = re.compile(r"(?:lines?|ln|l)[\s:.#]{0,2}(?=[0-9])")
_COLUMN_OF_LINE = re.compile(r"(?<=[0-9])c[0-9]{1,6}")
_BLANKS = re.compile(r"\s{0,4}([-+:,;&])\s{0,4}")
_TO_THE_END = re.compile(r"-(?:end|eof|last|\$|\u221e|\*|-1|0(?![0-9]))(?!\w)|(?<=[0-9])\+$")
_COMMAS = re.compile(r"[,;&]|\sand\s")
_RANGE = re.compile(
    r"(?:([0-9]{1,40})(?::([0-9]{1,40}))?(?:-([0-9]{1,40})(?::([0-9]{1,40}))?|\+([0-9]{1,40}))?-?)|-([0-9]{1,40})"
)
