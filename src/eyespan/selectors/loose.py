"""Read paths and ranges in the spellings of other systems, tools and people. Pure; the rows of `pasted` use it."""

from __future__ import annotations

import os
import re
from urllib.parse import unquote

from eyespan.model import Lines, Tail
from eyespan.selectors import Place, Range, parse_ranges

MAX_NAMES = 12
"""The components of a path that are removed one by one from its start."""
MAX_NUMBER = 10**15
MAX_RANGES_CHARS = 256


# --- paths -----------------------------------------------------------------------------------------------------------

_OCTAL = re.compile(r"\\([0-7]{3})")
SCHEME = (
    r"(?:https?://(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\])(?::[0-9]{1,5})?/"
    r"|(?:file|vscode|vscode-insiders|cursor|webpack|webpack-internal|turbopack|package|rsc):/{0,3})"
)
"""The start of a URL of a file on this machine: of an editor, a bundler or a server in development."""
_SCHEME = re.compile(SCHEME)
_FOREIGN = re.compile(
    r"(?:(?://\?/|/)?[A-Za-z]:|/(?:cygdrive/|mnt/)?[A-Za-z]|//[^/]{1,200}/[^/]{1,200}"
    r"|(?P<home>~|\$\{?HOME\}?|%USERPROFILE%)"
    r"|(?P<working>\$\{?\w{1,60}\}?|%\w{1,60}%|\$\(pwd\)|<[\w -]{1,60}>))(?=/)"
)
_DIFF_PREFIX = re.compile(r"^(?:[abciow]/(?=[^/])|@/?(?=.)|:(?=.))")


def path_spellings(path: str) -> list[str]:
    """Return the spellings of a path on this machine, the path as it is first.

    A path of another system or user (`C:\\`, `/c/`, `~/`, `$HOME/`, `webpack:///`) loses the names at its start one by
    one, because its directories do not exist here.
    """
    spellings = [path]
    if _OCTAL.search(path):  # as git quotes a name that is not ASCII
        data = _OCTAL.sub(lambda match: chr(int(match[1], 8) & 0xFF), path)
        spellings.append(data.encode("latin-1", "replace").decode("utf-8", "replace"))
    if "\\" in path:
        spellings.append(path.replace("\\ ", " "))
        path = path.replace("\\\\", "\\").replace("\\", "/")
        spellings.append(path)
    if path.lower().startswith("file:/"):
        path = "/" + path[5:].removeprefix("//localhost/").lstrip("/")
        spellings.append(path)
    if "%" in path:
        path = unquote(path)
        spellings.append(path)
    foreign = _FOREIGN.match(path)
    scheme = _SCHEME.match(path)
    if foreign is not None:
        rest = path[foreign.end() :].lstrip("/")
        start = f"{os.path.expanduser('~')}/" if foreign["home"] else "" if foreign["working"] else "/"
        spellings += [start + rest, *shorter(rest, is_foreign=True)]
    elif path.startswith(("/", "../")):
        if path.startswith("//") and ":" in path:  # a label of Bazel
            spellings.append(path.strip("/").replace(":", "/"))
        spellings += shorter(path, is_foreign=False)
    elif scheme is not None:
        path = f"/{path[scheme.end() :]}"
        spellings += [path, *shorter(path, is_foreign=False)]
    else:
        spellings.append(_DIFF_PREFIX.sub("", path, count=1))
    return [one for one in dict.fromkeys(spellings) if one]


def shorter(path: str, *, is_foreign: bool) -> list[str]:
    """Return a path without the first of its names, one by one.

    Of a path that may exist elsewhere on this machine, the whole path or at least a directory and a name must remain.
    """
    names = [name for name in path.split("/") if name not in ("", ".", "..")]
    if path.startswith("/") and len(names) == 1:
        return names
    least = 1 if is_foreign else 2
    return ["/".join(names[at:]) for at in range(min(len(names) - least + 1, MAX_NAMES))]


_OPENING, _CLOSING = "\"'`“”‘’«»([{<>", "\"'`“”‘’«»>,;"
_BULLET = re.compile(r"^(?:[ \u2500-\u257f]{2,200}|[-*•]\s{1,4}|@(?=[\w./~]))")


def strip(text: str) -> str:
    """Return a text without blanks, quotes, brackets and punctuation around it."""
    for _ in range(6):
        before = text
        text = text.strip(" \t\xa0\u200b\ufeff*|").lstrip(_OPENING).rstrip(_CLOSING)
        for opener, closer in ("()", "[]", "{}"):
            if text.endswith(closer) and text.count(closer) > text.count(opener):
                text = text[:-1]
        if text.endswith((":", ".")) and not text.endswith(("::", "..")):
            text = text[:-1]
        text = _BULLET.sub("", text, count=1)
        if text == before:
            break
    return text


# --- ranges ----------------------------------------------------------------------------------------------------------

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
