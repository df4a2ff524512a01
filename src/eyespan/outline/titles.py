"""Outline texts by their titles: reStructuredText, AsciiDoc, TeX; the messages of gettext files; labels of assembly.

A section goes to the line before the next title of its level or of a higher one, without the blank lines at its end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from eyespan.outline.merge import nested
from eyespan.outline.model import Definition, Outline, build_outline, outline_of_headings, shortened
from eyespan.outline.text import comment_start, decode_text

SIGNATURE_CHARS = 100


def scan(data: bytes, language: str) -> Outline:
    """Return the titles, messages or labels of a file."""
    lines = decode_text(data).replace("\r\n", "\n").split("\n")
    match language:
        case "po":
            return build_outline(list(_messages(lines)), "shape")
        case "asm":
            return build_outline(nested(list(_labels(lines))), "shape")
        case "rst":
            titles = _rst_titles(lines)
        case "asciidoc":
            titles = _asciidoc_titles(lines)
        case _:
            titles = _tex_titles(lines)
    return outline_of_headings(titles, lines)


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


# --- gettext ----------------------------------------------------------------------------------------------------------


def _messages(lines: list[str]) -> Iterator[Definition]:
    """Yield an entry for each message, named by its text."""
    start = 0
    name: list[str] = []
    line = 0
    is_id = False
    for number, text in enumerate([*lines, ""], 1):
        body = text.strip()
        if not body:
            if line:
                yield _message("".join(name), line, start, number - 1)
            start, name, line, is_id = 0, [], 0, False
            continue
        start = start or number
        if body.startswith("msgid "):
            line, is_id, name = number, True, [_unquoted(body[6:])]
        elif body.startswith(("msgstr", "msgid_plural", "msgctxt", "#")):
            is_id = False
        elif is_id and body.startswith('"'):
            name.append(_unquoted(body))


def _message(name: str, line: int, first: int, last: int) -> Definition:
    name = shortened(" ".join(name.split()), SIGNATURE_CHARS) or "(header)"
    return Definition(name=name, kind="key", line=line, first=first, last=last)


def _unquoted(text: str) -> str:
    return text.strip().strip('"').replace("\\n", " ").replace('\\"', '"')


# --- assembly ---------------------------------------------------------------------------------------------------------

_LABEL = re.compile(r"([A-Za-z_$@?][\w$@?.]*):(?!:)")
_MACRO = re.compile(r"\s*[.%]?macro\s+(\w+)|(\w+)\s+macro\b", re.IGNORECASE)
_END_MACRO = re.compile(r"\s*[.%]?endm(?:acro)?\b", re.IGNORECASE)
_PROC = re.compile(r"([\w$@?]+)\s+proc\b", re.IGNORECASE)
_DEFINE = re.compile(r"\s*#\s*define\s+(\w+)|(?:SYM_FUNC_START\w*|ENTRY|GLOBAL|FUNCTION|TEXT)\s*\(?\s*([\w·.]+)")
_ASM_COMMENTS = ("#", ";", "//", "/*", " *", "@")


def _labels(lines: list[str]) -> Iterator[Definition]:
    """Yield labels, each to the line before the next, macros and procedures."""
    starts: list[tuple[int, str, str]] = []
    macro = 0
    for number, line in enumerate(lines, 1):
        if macro:
            if _END_MACRO.match(line):
                starts[-1] = (*starts[-1][:2], f"macro {number}")
                macro = 0
            continue
        if found := _MACRO.match(line):
            starts.append((number, found[1] or found[2], f"macro {number}"))
            macro = number
        elif found := _PROC.match(line):
            starts.append((number, found[1], "function"))
        elif found := _DEFINE.match(line):
            starts.append((number, found[1] or found[2], f"macro {number}" if found[1] else "function"))
        elif (found := _LABEL.match(line)) and not found[1].startswith((".L", "L_", "$", "@@")):
            starts.append((number, found[1], "function"))
    for index, (number, name, kind) in enumerate(starts):
        first = comment_start(lines, number, starts[index - 1][0] if index else 0, _ASM_COMMENTS)
        if kind.startswith("macro"):
            yield Definition(name=name, kind="macro", line=number, first=first, last=int(kind.split()[1]))
            continue
        following = next((one for one in starts[index + 1 :]), None)
        last = comment_start(lines, following[0], number, _ASM_COMMENTS) - 1 if following else len(lines)
        while last > number and not lines[last - 1].strip():
            last -= 1
        signature = shortened(" ".join(lines[number - 1].split()), SIGNATURE_CHARS)
        yield Definition(
            name=name, kind="function", line=number, first=first, last=max(last, number), signature=signature
        )
