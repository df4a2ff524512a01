"""Find the first line of the documentation of a symbol: of the comment above it, or of its docstring in Python."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eyespan.outline import Symbol


MAX_CHARS = 100
MAX_HEADER_LINES = 40
_COMMENTS = ("///", "//!", "/**", "/*!", "//", "/*", "*/", "--[[", "--", ";;;", ";;", ";", "#:", "#", "*", "%")
_QUOTES = ('"""', "'''", '"', "'")


def first_doc_line(symbol: Symbol, lines: Mapping[int, str], language: str) -> str:
    """Return the first line of a symbol's documentation, or "". `lines` holds the lines of the symbol by number."""
    found = _docstring(symbol, lines) if language == "python" else ""
    return _cut(found or _comment(symbol, lines))


def _comment(symbol: Symbol, lines: Mapping[int, str]) -> str:
    for number in range(symbol.first, symbol.line):
        text = lines.get(number, "").strip()
        if text.startswith(("#[", "@")):
            continue
        for sign in _COMMENTS:
            if text.startswith(sign):
                words = text[len(sign) :].strip().removesuffix("*/").strip()
                if any(character.isalnum() for character in words):
                    return words
                break
    return ""


def _docstring(symbol: Symbol, lines: Mapping[int, str]) -> str:
    depth = 0
    for number in range(symbol.line, min(symbol.last, symbol.line + MAX_HEADER_LINES)):
        text = lines.get(number, "").partition("#")[0].rstrip()
        depth += sum(map(text.count, "([{")) - sum(map(text.count, ")]}"))
        if depth <= 0 and text.endswith(":"):
            return _string_start([lines.get(number + at, "").strip() for at in (1, 2)])
    return ""


def _string_start(following: list[str]) -> str:
    """Return the first line of a string that starts in the first of these lines; "" if there is none."""
    text = following[0].lstrip("rRuUbB")
    for quote in _QUOTES:
        if text.startswith(quote):
            words = text[len(quote) :].partition(quote)[0].strip()
            return words or (following[1].partition(quote)[0].strip() if len(quote) == 3 else "")
    return ""


def _cut(text: str) -> str:
    return text if len(text) <= MAX_CHARS else f"{text[: MAX_CHARS - 1].rstrip()}…"
