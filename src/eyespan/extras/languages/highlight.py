"""Colours for the source text that `eyespan read` shows on a terminal, and its page in a browser (Pygments).

The lexers of Pygments run in the sandboxed worker. The response is checked as if it came from an attacker: one known
style for each character. Text of an unknown language, a text that is too large or takes too long has no colours.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from eyespan.context import DEADLINE_SECONDS, CallContext
from eyespan.errors import ReadError
from eyespan.model import Lines, TextPart
from eyespan.opened import Opened, decode_bytes
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
    if opened.source.status.st_size > MAX_BYTES:
        return {}
    try:
        part: Any = opened.read(Lines()).parts[0]
    except ReadError:
        return {}
    if not isinstance(part, TextPart) or part.first_line != 1:
        return {}
    lines = styled_lines(bytes(part.data), opened.source.name, opened.context) or []
    return dict(enumerate([[(piece, COLORS.get(style, "")) for piece, style in line] for line in lines], 1))


def styled_lines(data: bytes, name: str, context: CallContext) -> list[list[tuple[str, str]]] | None:
    """Return the lines of a source text as pieces with their style, a key of COLORS or ""; None if it has no styles.

    `name` is the file's, for its language.
    """
    language = language_of(name, data[:200])
    if not language or len(data) > MAX_BYTES:
        return None
    left = context.left()
    own = CallContext(SECONDS if left is None else min(SECONDS, left), may_block=context.may_block)
    try:
        facts, blobs = decode_bytes(f"highlight-{language}", data, {}, own)
    except ReadError:
        return None
    text = data.decode("utf-8", "replace")
    styles = facts.get("styles")
    if not isinstance(styles, list) or len(blobs) != 1 or len(blobs[0]) != len(text):
        return None
    known = [style if isinstance(style, str) and style in COLORS else "" for style in styles]
    return _pieces(text, [known[number] if number < len(known) else "" for number in blobs[0]])


def _pieces(text: str, styles: Sequence[str]) -> list[list[tuple[str, str]]]:
    """Return the lines of a text, each as pieces of one style."""
    lines, start = [], 0
    for line in text.split("\n"):
        runs = groupby(zip(line, styles[start : start + len(line)], strict=True), itemgetter(1))
        lines.append([("".join([char for char, _ in run]), style) for style, run in runs])
        start += len(line) + 1
    return lines
