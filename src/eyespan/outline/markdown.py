"""Markdown: headings with `#` or underlined, each to the line before the next of its level.

Fenced code, HTML comments and the front matter hold no headings. Trailing blank lines belong to nobody.
"""

from __future__ import annotations

import re

from eyespan.outline.model import Find, build, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from eyespan.outline.model import Outline

_HASHES = re.compile(r" {0,3}(#{1,6})(?:[ \t](.*))?$")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)$")
_NO_PARAGRAPH = re.compile(r"[ \t]*(?:[-+*>|]|\d{1,9}[.)])(?:[ \t]|$)|    |\t| {0,3}(?:[-*_][ \t]*){3,}$|[ \t]*\|")


def look(data: bytes, language: str) -> Outline:
    lines = text_of(data).replace("\r\n", "\n").split("\n")
    headings = _headings(lines)
    ends = [0] * len(headings)
    open_: list[int] = []
    parents: list[int] = []
    for index, (line, level, _) in enumerate(headings):
        while open_ and headings[open_[-1]][1] >= level:
            ends[open_.pop()] = line - 1
        parents.append(open_[-1] if open_ else -1)
        open_.append(index)
    for index in open_:
        ends[index] = len(lines)
    finds = []
    for (line, _, name), parent, end in zip(headings, parents, ends, strict=True):
        while end > line and not lines[end - 1].strip():
            end -= 1
        finds.append(Find(name, "heading", line, line, end, parent))
    return build(finds, "shape")


def _headings(lines: list[str]) -> list[tuple[int, int, str]]:
    """Line, level, text."""
    found: list[tuple[int, int, str]] = []
    fence = ""
    paragraph = 0  # the line it began on
    comment = False
    start = _after_front_matter(lines)
    for number, line in enumerate(lines[start:], start + 1):
        if fence:
            closing = _FENCE.match(line)
            if closing and closing[1].startswith(fence) and not closing[2].strip():
                fence = ""
            continue
        if comment:
            comment = "-->" not in line
            continue
        opening = _FENCE.match(line)
        if opening and not (opening[1][0] == "`" and "`" in opening[2]):
            fence, paragraph = opening[1], 0
            continue
        if line.lstrip().startswith("<!--"):
            comment, paragraph = "-->" not in line, 0
            continue
        hashes = _HASHES.match(line)
        if hashes:
            found.append((number, len(hashes[1]), _without_closing(hashes[2] or "")))
            paragraph = 0
        elif paragraph and (underline := _UNDERLINE.match(line)):
            text = " ".join(part.strip() for part in lines[paragraph - 1 : number - 1])
            found.append((paragraph, 1 if underline[1][0] == "=" else 2, text))
            paragraph = 0
        elif not line.strip():
            paragraph = 0
        elif not paragraph and not _NO_PARAGRAPH.match(line) and (number < 2 or _ends_block(lines[number - 2])):
            paragraph = number
    return found


def _without_closing(text: str) -> str:
    text = text.strip()
    bare = text.rstrip("#")
    return bare.rstrip() if not bare or bare[-1] in " \t" else text


def _ends_block(line: str) -> bool:
    """Whether what follows this line is a new paragraph rather than more of a list item or a quotation."""
    return not line.strip() or not _NO_PARAGRAPH.match(line)


def _after_front_matter(lines: list[str]) -> int:
    if lines[0].rstrip() in ("---", "+++"):
        mark = lines[0].rstrip()
        for number, line in enumerate(lines[1:2000], 1):
            if line.rstrip() in (mark, "..." if mark == "---" else mark):
                return number + 1
    return 0
