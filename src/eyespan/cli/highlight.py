"""Colours for the source text that `eyespan read` shows on a terminal (Pygments).

The lexers of Pygments run in the sandboxed worker. The response is checked as if it came from an attacker: one known
style for each character. Text of an unknown language, a text that is too large or takes too long has no colours.
"""

from __future__ import annotations

from importlib.util import find_spec
from itertools import groupby
from operator import itemgetter
from typing import Any

from eyespan.context import DEADLINE_SECONDS, CallContext
from eyespan.errors import ReadError
from eyespan.model import Lines, TextPart
from eyespan.opened import Opened
from eyespan.outline import language_of

MAX_BYTES = 256 << 10
SECONDS = DEADLINE_SECONDS / 5
COLORS = {
    "comment": "\x1b[90m",
    "string": "\x1b[32m",
    "keyword": "\x1b[35m",
    "name": "\x1b[34m",
    "number": "\x1b[36m",
    "builtin": "\x1b[33m",
    "heading": "\x1b[1m",
    "added": "\x1b[32m",
    "removed": "\x1b[31m",
}
"""Of the sixteen colours that every terminal has and its user may choose."""


def colored_lines(opened: Opened) -> dict[int, list[tuple[str, str]]]:
    """Return the lines of a text by number, as pieces with their colour; empty if there are no colours for it."""
    if opened.source.status.st_size > MAX_BYTES or find_spec("pygments") is None:
        return {}
    try:
        part: Any = opened.read(Lines()).parts[0]
        if not isinstance(part, TextPart) or part.first_line != 1:
            return {}
        data = bytes(part.data)
        language = language_of(opened.source.name, data[:200])
        if not language or len(data) > MAX_BYTES:
            return {}
        left = opened.context.left()
        own = CallContext(SECONDS if left is None else min(SECONDS, left))
        facts, blobs = opened.decode_bytes(f"highlight-{language}", data, {}, own)
    except ReadError:
        return {}
    text = data.decode("utf-8", "replace")
    styles = facts.get("styles")
    if not isinstance(styles, list) or len(blobs) != 1 or len(blobs[0]) != len(text):
        return {}
    colors = [COLORS.get(style, "") if isinstance(style, str) else "" for style in styles]
    return dict(enumerate(_colored_lines(text, blobs[0], colors), 1))


def _colored_lines(text: str, numbers: bytes, colors: list[str]) -> list[list[tuple[str, str]]]:
    """Return the lines of a text, each as pieces of one style with the colour of that style."""
    colored = []
    start = 0
    for line in text.split("\n"):
        chars = zip(line, numbers[start : start + len(line)], strict=True)
        runs = [(number, "".join([char for char, _ in run])) for number, run in groupby(chars, itemgetter(1))]
        colored.append([(piece, colors[number] if number < len(colors) else "") for number, piece in runs])
        start += len(line) + 1
    return colored
