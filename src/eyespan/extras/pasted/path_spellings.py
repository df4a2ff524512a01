"""Read paths in the spellings of other systems, tools and people. Pure."""

from __future__ import annotations

import os
import re
from urllib.parse import unquote

MAX_NAMES = 12
"""The components of a path that are removed one by one from its start."""

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
