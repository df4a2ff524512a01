"""Patterns of paths: `src/**/*.py`, `*.{ts,tsx}`."""

from __future__ import annotations

import re

MAX_PATTERN_CHARS = 1000
_SIGNS = "*[{"
_PIECE = re.compile(r"\*\*/|\*+|\?|\[!?\]?[^\]/]*\]|\{[^{}]*\}|.", re.DOTALL)


def is_glob(path: str) -> bool:
    """Return True for a path with a wildcard."""
    return "*" in path and len(path) <= MAX_PATTERN_CHARS


def split_glob(path: str) -> tuple[str, str]:
    """Return the directory before the first wildcard, "" for the present one, and the pattern below it."""
    names = path.split("/")
    count = next((at for at, name in enumerate(names) if any(sign in name for sign in _SIGNS)), len(names))
    base = "/".join(names[:count])
    return "/" if path.startswith("/") and not base else base, "/".join(names[count:])


def compile_glob(pattern: str) -> re.Pattern[str]:
    """Return a regular expression for the whole path: `*` stays within one name, `**` does not."""
    return re.compile(_translated(pattern), re.DOTALL)


def _translated(pattern: str) -> str:
    parts = []
    for found in _PIECE.finditer(pattern):
        piece = found[0]
        if piece == "**/":
            parts.append("(?:[^/]+/)*+")
        elif piece.startswith("**"):
            parts.append(".*+" if found.end() == len(pattern) else "[^/]*")
        elif piece == "*":
            parts.append("[^/]*")
        elif piece == "?":
            parts.append("[^/]")
        elif piece[0] == "[" and len(piece) > 2:
            inner = re.sub(r"([\\\[\]&~|^])", r"\\\1", piece[1:-1].removeprefix("!"))
            parts.append(f"[{'^/' if piece[1] == '!' else ''}{inner}]")
        elif piece[0] == "{" and len(piece) > 1:
            parts.append(f"(?:{'|'.join([_translated(one) for one in piece[1:-1].split(',')])})")
        else:
            parts.append(re.escape(piece))
    return "".join(parts)
