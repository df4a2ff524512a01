"""Find secrets in text and replace them.

The text is searched line by line, so that line numbers stay those of the file. The replacement is `«redacted:kind»`,
which no parser accepts as a key: if a model writes it back by mistake, the error is visible. Secrets are found by their
form: keys of known services, tokens, passwords in URLs, values assigned to names such as `password`. A secret that
looks like an ordinary word is not found.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

MAX_SECRET_CHARS = 4096
"""The text before and after the shown part that is searched too, so that no part of a cut secret is shown."""

_SHAPES = (
    ("aws-key", r"\b(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}\b"),
    ("github-token", r"\b(?:gh[pousr]_[0-9A-Za-z]{30,255}|github_pat_[0-9A-Za-z_]{22,255})"),
    ("gitlab-token", r"\bgl(?:pat|dt|rt|oas)-[0-9A-Za-z_-]{20,255}"),
    ("slack-token", r"\bxox[abeoprs]-[0-9A-Za-z-]{10,255}"),
    ("slack-hook", r"https://hooks\.slack\.com/services/[0-9A-Za-z/]{20,255}"),
    ("google-key", r"\bAIza[0-9A-Za-z_-]{35}"),
    ("api-key", r"\b(?:sk|pk|rk)[-_](?:live|test|ant|proj|svcacct|or)?[-_]?[0-9A-Za-z_-]{20,255}"),
    ("npm-token", r"\bnpm_[0-9A-Za-z]{36}\b"),
    ("pypi-token", r"\bpypi-[0-9A-Za-z_-]{50,255}"),
    ("jwt", r"\beyJ[0-9A-Za-z_-]{8,2000}\.eyJ[0-9A-Za-z_-]{8,2000}\.[0-9A-Za-z_-]{0,1000}"),
)
_SHAPE = re.compile("|".join(f"(?P<{name.replace('-', '_')}>{shape})" for name, shape in _SHAPES))
_VALUE = re.compile(
    r"""(?ix)
    (?<![a-z]) [\w.-]{0,40}?
    (?:passw(?:or)?d|passphrase|secret|api[_-]?key|access[_-]?key|private[_-]?key|auth[_-]?token|access[_-]?token
      |refresh[_-]?token|client[_-]?secret|encryption[_-]?key|signing[_-]?key|credentials?|token)
    [\w.-]{0,20} ["']? \s{0,8} (?:=>|:=|[:=]) \s{0,8}
    (?: "(?P<double>[^"]{4,1000})" | '(?P<single>[^']{4,1000})' | (?P<bare>[^\s"'`,;(){}\[\]<>]{8,1000}) )
    """
)
_IN_URL = re.compile(r"\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@]{0,100}:(?P<password>[^\s/@]{1,200})@", re.IGNORECASE)
_USER_IN_URL = re.compile(r"\bhttps?://(?P<token>(?=[^\s/:@]{0,200}[0-9])[^\s/:@.]{16,200})@", re.IGNORECASE)
"""A token in place of the name of a user: long, with a digit, without a dot."""
_BEARER = re.compile(r"\b(?:bearer|basic)\s{1,4}(?P<token>[0-9A-Za-z+/=_.~-]{16,2000})", re.IGNORECASE)
_KEY_START = re.compile(r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----")
_KEY_END = re.compile(r"-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----")
_KEY_LINE = re.compile(r"[0-9A-Za-z+/]{40,}={0,2}")
# A value that only refers to a secret, or is an example of one.
_REFERENCE = re.compile(
    r"""(?ix) \$ | %\w+% | \{\{ | <\w | \*{3} | x{4} | (?:os|env|process|config|settings|self|args)\b[.(\[]
    | (?:none|null|true|false|undefined|string|required|optional|changeme|example|placeholder|your[-_ ])\b """
)
_PLAIN_WORD = re.compile(r"[a-z_]+(?:\.[a-z_]+)*\(?|[A-Z_]+|[\w.]+\(.*", re.ASCII)

Secret = tuple[int, int, str]
"""Start and end in its line, and its kind."""


def secrets(lines: Sequence[str]) -> list[list[Secret]]:
    """Return the secrets of each line, sorted and without overlaps.

    The lines must be consecutive, because a private key spans several of them.
    """
    by_line: list[list[Secret]] = []
    is_in_key = False
    for text in lines:
        start, end = _KEY_START.search(text), _KEY_END.search(text)
        if start is not None and (end is None or end.start() < start.end()):
            is_in_key = True
            by_line.append([(start.end(), len(text), "private-key")] if start.end() < len(text) else [])
        elif start is not None and end is not None:
            by_line.append([(start.end(), end.start(), "private-key")])
        elif is_in_key or end is not None:
            stop = end.start() if end is not None else len(text)
            by_line.append([(0, stop, "private-key")] if text[:stop].strip() else [])
            if end is not None:
                is_in_key = False
                _add_key_lines_before(lines, by_line)
        elif _KEY_LINE.fullmatch(text.strip()):
            by_line.append([(0, len(text), "key-material")])
        else:
            by_line.append(_secrets_in_line(text))
    return by_line


def _add_key_lines_before(lines: Sequence[str], found: list[list[Secret]]) -> None:
    """Add the lines of a key that begins before the first line."""
    at = len(found) - 2
    while at >= 0 and lines[at].strip() and re.fullmatch(r"[0-9A-Za-z+/=]+", lines[at].strip()):
        found[at] = [(0, len(lines[at]), "private-key")]
        at -= 1


def _secrets_in_line(text: str) -> list[Secret]:
    in_line: list[Secret] = []
    for match in _SHAPE.finditer(text):
        in_line.append((match.start(), match.end(), (match.lastgroup or "secret").replace("_", "-")))
    for match in _IN_URL.finditer(text):
        in_line.append((*match.span("password"), "password"))
    for match in (*_USER_IN_URL.finditer(text), *_BEARER.finditer(text)):
        in_line.append((*match.span("token"), "token"))
    for match in _VALUE.finditer(text):
        group = next(name for name in ("double", "single", "bare") if match[name] is not None)
        value = match[group]
        if _REFERENCE.match(value) or (group == "bare" and _PLAIN_WORD.fullmatch(value)):
            continue
        in_line.append((*match.span(group), "value"))
    return _without_overlaps(in_line)


def _without_overlaps(found: list[Secret]) -> list[Secret]:
    """Return the secrets sorted by their start, overlapping ones joined."""
    merged: list[Secret] = []
    for start, end, kind in sorted(found, key=lambda secret: (secret[0], -secret[1])):
        if not merged or start >= merged[-1][1]:
            merged.append((start, end, kind))
        elif end > merged[-1][1]:
            merged[-1] = (merged[-1][0], end, merged[-1][2])
    return merged


def redacted(text: str, secrets: Sequence[Secret], start: int = 0, end: int | None = None) -> str:
    """Return `text[start:end]` with its secrets replaced, also those that are only partly in it."""
    end = len(text) if end is None else end
    pieces: list[str] = []
    at = start
    for first, last, kind in secrets:
        if last <= at or first >= end:
            continue
        pieces += [text[at : max(at, first)], f"«redacted:{kind}»"]
        at = last
    if at < end:
        pieces.append(text[at:end])
    return "".join(pieces)


def up_to(text: str, secrets: Sequence[Secret], end: int) -> int:
    """Return the first place from `end` on at which a cut divides no secret."""
    for first, last, _ in secrets:
        if first < end < last:
            return last
    return end
