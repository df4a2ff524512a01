"""Outline Markdown by its headings, with `#` or underlined; each goes to the line before the next of its level.

Fenced code, HTML comments and the front matter hold no headings. Blank lines before the next heading belong to none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from eyespan.outline.model import Outline, outline_of_headings
from eyespan.outline.source_text import decode_text

_HASHES = re.compile(r" {0,3}(#{1,6})(?:[ \t](.*))?$")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)$")
_NO_PARAGRAPH = re.compile(r"[ \t]*(?:[-+*>|]|\d{1,9}[.)])(?:[ \t]|$)|    |\t| {0,3}(?:[-*_][ \t]*){3,}$|[ \t]*\|")


def scan(data: bytes, language: str) -> Outline:
    """Return the headings of a Markdown file."""
    lines = decode_text(data).replace("\r\n", "\n").split("\n")
    return outline_of_headings(_headings(lines), lines)


def _headings(lines: list[str]) -> Iterator[tuple[int, int, str]]:
    """Yield line, level and text of each heading."""
    fence = ""
    is_comment = False
    paragraph = 0  # the first line of the paragraph that an underline would make a heading, or 0
    start = _after_front_matter(lines)
    for number, line in enumerate(lines[start:], start + 1):
        if fence:
            closing = _FENCE.match(line)
            if closing and closing[1].startswith(fence) and not closing[2].strip():
                fence = ""
            continue
        if is_comment:
            is_comment = "-->" not in line
            continue
        opening = _FENCE.match(line)
        if opening and not (opening[1][0] == "`" and "`" in opening[2]):
            fence, paragraph = opening[1], 0
        elif line.lstrip().startswith("<!--"):
            is_comment, paragraph = "-->" not in line, 0
        elif hashes := _HASHES.match(line):
            yield number, len(hashes[1]), _without_closing_hashes(hashes[2] or "")
            paragraph = 0
        elif paragraph and (underline := _UNDERLINE.match(line)):
            text = " ".join(part.strip() for part in lines[paragraph - 1 : number - 1])
            yield paragraph, 1 if underline[1][0] == "=" else 2, text
            paragraph = 0
        elif not line.strip():
            paragraph = 0
        elif not paragraph and not _NO_PARAGRAPH.match(line) and (number < 2 or _ends_block(lines[number - 2])):
            paragraph = number


def _without_closing_hashes(text: str) -> str:
    text = text.strip()
    bare = text.rstrip("#")
    return bare.rstrip() if not bare or bare[-1] in " \t" else text


def _ends_block(line: str) -> bool:
    """Return True if the next line starts a paragraph rather than continuing a list item or a quotation."""
    return not line.strip() or not _NO_PARAGRAPH.match(line)


def _after_front_matter(lines: list[str]) -> int:
    """Return the number of lines that the front matter takes."""
    fence = lines[0].rstrip()
    if fence in ("---", "+++"):
        for number, line in enumerate(lines[1:2000], 1):
            if line.rstrip() in (fence, "..." if fence == "---" else fence):
                return number + 1
    return 0
