"""Secrets in text: where they are, and a mark in their place that nobody takes for the value.

Line by line, so that numbers stay those of the file. A mark is `«redacted:what»`: no parser takes it for a key, and
written back by mistake it breaks loudly instead of quietly. Finds what has a shape (keys of known services, tokens,
passwords in addresses, values given to names such as `password`); it cannot find a secret that looks like any word.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_SECRET_CHARS = 4096
"""Text is looked at this far before and behind what is shown, so that no cut leaves half a secret unseen."""

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
_BEARER = re.compile(r"\b(?:bearer|basic)\s{1,4}(?P<token>[0-9A-Za-z+/=_.~-]{16,2000})", re.IGNORECASE)
_KEY_START = re.compile(r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----")
_KEY_END = re.compile(r"-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----")
_KEY_LINE = re.compile(r"[0-9A-Za-z+/]{40,}={0,2}")
# A value that is only a reference to where the secret is, or an example of one.
_REFERENCE = re.compile(
    r"""(?ix) \$ | %\w+% | \{\{ | <\w | \*{3} | x{4} | (?:os|env|process|config|settings|self|args)\b[.(\[]
    | (?:none|null|true|false|undefined|string|required|optional|changeme|example|placeholder|your[-_ ])\b """
)
_PLAIN_WORD = re.compile(r"[a-z_]+(?:\.[a-z_]+)*\(?|[A-Z_]+|[\w.]+\(.*", re.ASCII)

Span = tuple[int, int, str]


def secrets(lines: Sequence[str]) -> list[list[Span]]:
    """For each line where its secrets are: start, end and what it is; sorted, never overlapping.

    Consecutive lines of a text: a private key goes over several.
    """
    found: list[list[Span]] = []
    inside = False
    for text in lines:
        start, end = _KEY_START.search(text), _KEY_END.search(text)
        if start is not None and (end is None or end.start() < start.end()):
            inside = True
            found.append([(start.end(), len(text), "private-key")] if start.end() < len(text) else [])
        elif start is not None and end is not None:
            found.append([(start.end(), end.start(), "private-key")])
        elif inside or end is not None:
            stop = end.start() if end is not None else len(text)
            found.append([(0, stop, "private-key")] if text[:stop].strip() else [])
            if end is not None:
                inside = False
                _mark_lines_before(lines, found)
        elif _KEY_LINE.fullmatch(text.strip()):
            found.append([(0, len(text), "key-material")])
        else:
            found.append(_in_line(text))
    return found


def _mark_lines_before(lines: Sequence[str], found: list[list[Span]]) -> None:
    """The lines of a key whose beginning is not among these lines."""
    at = len(found) - 2
    while at >= 0 and lines[at].strip() and re.fullmatch(r"[0-9A-Za-z+/=]+", lines[at].strip()):
        found[at] = [(0, len(lines[at]), "private-key")]
        at -= 1


def _in_line(text: str) -> list[Span]:
    spans: list[Span] = []
    for match in _SHAPE.finditer(text):
        spans.append((match.start(), match.end(), (match.lastgroup or "secret").replace("_", "-")))
    for match in _IN_URL.finditer(text):
        spans.append((*match.span("password"), "password"))
    for match in _BEARER.finditer(text):
        spans.append((*match.span("token"), "token"))
    for match in _VALUE.finditer(text):
        group = next(name for name in ("double", "single", "bare") if match[name] is not None)
        value = match[group]
        if _REFERENCE.match(value) or (group == "bare" and _PLAIN_WORD.fullmatch(value)):
            continue
        spans.append((*match.span(group), "value"))
    spans.sort(key=lambda span: (span[0], -span[1]))
    kept: list[Span] = []
    for span in spans:
        if not kept or span[0] >= kept[-1][1]:
            kept.append(span)
        elif span[1] > kept[-1][1]:
            kept[-1] = (kept[-1][0], span[1], kept[-1][2])
    return kept


def redacted(text: str, spans: Sequence[Span], start: int = 0, end: int | None = None) -> str:
    """`text[start:end]` with marks for its secrets; one that is only touched is marked, none of it shown."""
    end = len(text) if end is None else end
    pieces: list[str] = []
    at = start
    for first, last, what in spans:
        if last <= at or first >= end:
            continue
        pieces += [text[at : max(at, first)], f"«redacted:{what}»"]
        at = last
    if at < end:
        pieces.append(text[at:end])
    return "".join(pieces)


def up_to(text: str, spans: Sequence[Span], end: int) -> int:
    """Where to cut at the earliest from `end` on, so that no secret is cut in two."""
    for first, last, _ in spans:
        if first < end < last:
            return last
    return end
