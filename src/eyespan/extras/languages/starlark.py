"""Outline Starlark as Python, with the targets of Bazel: calls that give a name."""

from __future__ import annotations

import re

from eyespan.outline import python
from eyespan.outline.model import Definition, Outline, build_outline, definition_of, nested
from eyespan.outline.source_text import LineNumbers, comment_start, decode_text

_CALL = re.compile(r"^([A-Za-z_][\w.]*)\(", re.MULTILINE)
_PIECE = re.compile(r"\"\"\"(?:\\.|[^\\])*?\"\"\"|\"(?:\\.|[^\"\\\n])*\"?|'(?:\\.|[^'\\\n])*'?|#[^\n]*|[()]", re.DOTALL)
_TARGET = re.compile(r"""\bname\s*=\s*["']([^"'\n]+)["']""")


def scan(data: bytes, language: str) -> Outline:
    """Return functions, constants and targets."""
    found = python.scan(data, "python")
    text = decode_text(data).replace("\r\n", "\n")
    numbers = LineNumbers(text)
    lines = text.split("\n")
    definitions = [definition_of(one) for one in found.symbols]
    for call in _CALL.finditer(text):
        end = _call_end(text, call.end())
        name = _TARGET.search(text, call.end(), end)
        if name is not None:
            line = numbers.at(call.start())
            definitions.append(
                Definition(
                    name=name[1],
                    kind="target",
                    line=line,
                    first=comment_start(lines, line),
                    last=numbers.at(end),
                    signature=f'{call[1]}(name = "{name[1]}")',
                )
            )
    return build_outline(nested(definitions), found.how, is_complete=found.is_complete)


def _call_end(text: str, at: int) -> int:
    """Return the offset of the parenthesis that closes a call."""
    depth = 1
    for piece in _PIECE.finditer(text, at):
        depth += (piece[0] == "(") - (piece[0] == ")")
        if not depth:
            return piece.start()
    return len(text) - 1
