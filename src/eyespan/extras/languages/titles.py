"""Outline texts by their titles: reStructuredText, AsciiDoc, TeX.

A section goes to the line before the next title of its level or of a higher one, without the blank lines at its end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from eyespan.outline.model import Outline, outline_of_headings, shortened
from eyespan.outline.source_text import decode_text

SIGNATURE_CHARS = 100


def scan(data: bytes, language: str) -> Outline:
    """Return the titles of a file."""
    lines = decode_text(data).replace("\r\n", "\n").split("\n")
    titles = {"rst": _rst_titles, "asciidoc": _asciidoc_titles, "tex": _tex_titles}[language]
    return outline_of_headings(titles(lines), lines)


# --- reStructuredText -------------------------------------------------------------------------------------------------

_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1{2,}\s*$")
_DIRECTIVE = re.compile(
    r"\.\.\s+(?:(?:py|c|cpp|js|rst):)?(?:function|class|method|attribute|module|data|exception|setting|option|directive|"
    r"describe|cmdoption|envvar|macro|type|struct|enum|member|program|glossary|currentmodule|automodule|autoclass|"
    r"autofunction|admin|templatetag|templatefilter|fieldlookup|django-admin)::\s*(\S.*)"
)


def _rst_titles(lines: list[str]) -> Iterator[tuple[int, int, str]]:
    """Yield line, level and text of each title; levels follow the order in which adornments appear."""
    styles: list[str] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        over = _ADORNMENT.match(line)
        if over and at + 2 < len(lines) and (at == 0 or not lines[at - 1].strip()):
            title, under = lines[at + 1], _ADORNMENT.match(lines[at + 2])
            if under and under[1] == over[1] and title.strip() and len(line.rstrip()) >= len(title.strip()):
                yield at + 1, _level(styles, over[1] * 2), title.strip()
                at += 3
                continue
        under = _ADORNMENT.match(lines[at + 1]) if at + 1 < len(lines) else None
        is_title = line.strip() and not line[0].isspace() and not over and (at == 0 or not lines[at - 1].strip())
        if under and is_title and len(lines[at + 1].rstrip()) >= len(line.rstrip()):
            yield at + 1, _level(styles, under[1]), line.strip()
            at += 2
            continue
        directive = _DIRECTIVE.match(line)
        if directive and styles:
            yield at + 1, len(styles) + 50, shortened(directive[1].strip(), SIGNATURE_CHARS)
        at += 1


def _level(styles: list[str], style: str) -> int:
    if style not in styles:
        styles.append(style)
    return styles.index(style) + 1


# --- AsciiDoc ---------------------------------------------------------------------------------------------------------

_ASCIIDOC = re.compile(r"(={1,6}|#{1,6})[ \t]+(\S.*?)(?:[ \t]+\1)?[ \t]*$")
_FENCE = re.compile(r"(-{4,}|\.{4,}|={4,}|\*{4,}|_{4,}|\+{4,}|/{4,}|\|===|```+(?=\w*[ \t]*$))\w*[ \t]*$")
_UNDERLINES = "=-~^+"


def _asciidoc_titles(lines: list[str]) -> Iterator[tuple[int, int, str]]:
    fence = ""
    for number, line in enumerate(lines, 1):
        opening = _FENCE.match(line)
        if fence:
            fence = "" if opening and opening[1] == fence else fence
            continue
        if title := _ASCIIDOC.match(line):
            yield number, len(title[1]), title[2]
            continue
        above = lines[number - 2] if number > 1 else ""
        is_underline = line[:1] in _UNDERLINES and line.strip() == line[:1] * len(line.strip()) and len(line) > 3
        if is_underline and above.strip() and abs(len(above.rstrip()) - len(line.rstrip())) <= 2 and above[0].isalnum():
            before = lines[number - 3] if number > 2 else ""
            if not before.strip() or before.startswith("["):
                yield number - 1, _UNDERLINES.index(line[0]) + 1, above.strip()
                continue
        if opening and not opening[1].startswith(("=", "*", "_")):
            fence = opening[1]


# --- TeX --------------------------------------------------------------------------------------------------------------

_TEX_LEVELS = ("part", "chapter", "section", "subsection", "subsubsection", "paragraph", "subparagraph")
_TEX = re.compile(
    r"[^%\n]*?\\(?:(part|chapter|section|subsection|subsubsection|paragraph|subparagraph|frametitle)\*?"
    r"\s*(?:\[[^\]]*\])?\s*\{|(?:re)?newcommand\*?\s*\{?\\(\w+)|(?:re)?newenvironment\*?\s*\{(\w+)|"
    r"begin\{(frame|abstract|document|theorem|lemma|proof|figure|table|algorithm|thebibliography)\})"
)


def _tex_titles(lines: list[str]) -> Iterator[tuple[int, int, str]]:
    is_verbatim = False
    for number, line in enumerate(lines, 1):
        if re.search(r"\\(?:begin|end)\{(?:verbatim|lstlisting|minted)\*?\}", line):
            is_verbatim = r"\begin" in line
        found = None if is_verbatim else _TEX.match(line)
        if not found or not found[1]:
            continue
        text = _balanced(line[found.end() :], lines, number)
        level = _TEX_LEVELS.index(found[1]) + 1 if found[1] in _TEX_LEVELS else len(_TEX_LEVELS)
        yield number, level, " ".join(text.split()) or found[1]


def _balanced(text: str, lines: list[str], number: int) -> str:
    """Return the text up to the brace that closes it, at most two lines further."""
    whole = "\n".join([text, *lines[number : number + 2]])
    depth = 1
    for at, char in enumerate(whole):
        depth += (char == "{") - (char == "}")
        if not depth:
            return whole[:at]
    return text
