"""Outline TOML and INI files by their sections and keys."""

from __future__ import annotations

import re

from eyespan.outline.model import Definition, Nesting, Outline, build_outline, shortened
from eyespan.outline.source_text import comment_start, decode_text

VALUE_CHARS = 40
_SECTION, _KEY = 0, 1
"""The columns of the two levels: a section ends at the next section, a key at the next key or section."""


def scan(data: bytes, language: str) -> Outline:
    """Return the sections and keys of a TOML or INI file."""
    text = decode_text(data)
    if language == "toml":
        starts, is_complete = _statement_starts(text)
        return build_outline(_toml_definitions(text.split("\n"), starts), "shape", is_complete=is_complete)
    return build_outline(_ini_definitions(text.replace("\r\n", "\n").split("\n")), "shape")


# --- TOML -------------------------------------------------------------------------------------------------------------

_TOML_PIECE = re.compile(
    r'''"""(?:\\.|[^\\])*?(?:"""|\Z)|\'\'\'.*?(?:\'\'\'|\Z)|"(?:\\[^\n]|[^"\\\n])*"?|'[^'\n]*'?|#[^\n]*|[\[\]{}\n]''',
    re.DOTALL,
)
_TOML_TABLE = re.compile(r"""[ \t]*\[\[?((?:"(?:\\.|[^"\\])*"|'[^']*'|[^\]"'#])+)\]\]?[ \t\r]*(?:#|$)""")
# Possessive repeats: backtracking would split a long line of dashes without a `=` into words in every possible way.
_TOML_KEY = re.compile(r"""[ \t]*+((?:"(?:[^"\\]++|\\.){0,999}"|'[^']*+'|[\w-]++|[ \t]*+\.){1,999})[ \t]*+=""")


def _toml_definitions(lines: list[str], starts: set[int]) -> list[Definition]:
    nesting = Nesting()
    last = 0  # the last line with anything but a comment on it
    for number, line in enumerate(lines, 1):
        if number not in starts:
            last = number
            continue
        body = line.strip()
        if not body or body[0] == "#":
            continue
        table = _TOML_TABLE.match(line)
        key = None if table else _TOML_KEY.match(line)
        if table:
            nesting.close_all(last)
            name = ".".join(part.strip() for part in table[1].split("."))
            signature = body.split("#")[0].strip()
            nesting.add(name, "table", number, _SECTION, first=comment_start(lines, number), signature=signature)
        elif key:
            nesting.close_from(_KEY, last)
            value = shortened(line[key.end() :].strip(), VALUE_CHARS)
            signature = f"{key[1]} = {value}".rstrip(" [{=")
            nesting.add(key[1], "key", number, _KEY, first=comment_start(lines, number), signature=signature)
        last = number
    nesting.close_all(last)
    return nesting.definitions


def _statement_starts(text: str) -> tuple[set[int], bool]:
    """Return the lines on which no value is open, and True if none is open at the end."""
    starts = {1}
    line, depth = 1, 0
    is_header = False
    is_line_start = True
    for piece in _TOML_PIECE.finditer(text):
        spelled = piece[0]
        if spelled == "\n":
            line += 1
            if depth <= 0 or is_header:
                starts.add(line)
                depth = 0
            is_header, is_line_start = False, True
            continue
        if spelled in "[{":
            if is_line_start and depth == 0 and _is_first_on_line(text, piece.start()):
                is_header = True  # the brackets of a table close on their own line, even if it is malformed
            depth += 1
        elif spelled in "]}":
            depth -= 1
        else:
            line += spelled.count("\n")
        is_line_start = False
    return starts, depth <= 0 or is_header


def _is_first_on_line(text: str, at: int) -> bool:
    return not text[text.rfind("\n", 0, at) + 1 : at].strip()


# --- INI --------------------------------------------------------------------------------------------------------------

_INI_SECTION = re.compile(r"[ \t]*\[([^\]\n]+)\]")
_INI_KEY = re.compile(r"([^\s\[#;=:][^=:]*)[=:]")
_INI_COMMENTS = ("#", ";")


def _ini_definitions(lines: list[str]) -> list[Definition]:
    nesting = Nesting()
    last = 0
    for number, line in enumerate(lines, 1):
        body = line.strip()
        if not body or body.startswith(_INI_COMMENTS):
            continue
        section = _INI_SECTION.match(line)
        is_indented = line[0] in " \t"
        continues_value = is_indented and nesting.column == _KEY
        key = None if section or continues_value else _INI_KEY.match(line.lstrip())
        if section:
            nesting.close_all(last)
            name = section[1].strip()
            first = comment_start(lines, number, 0, _INI_COMMENTS)
            nesting.add(name, "section", number, _SECTION, first=first, signature=f"[{name}]")
        elif key:
            nesting.close_from(_KEY, last)
            name = key[1].rstrip()
            value = shortened(line.lstrip()[key.end() :].strip(), VALUE_CHARS)
            first = comment_start(lines, number, nesting.parent_line, _INI_COMMENTS)
            nesting.add(name, "key", number, _KEY, first=first, signature=f"{name} = {value}")
            if is_indented:  # one line: indented lines after it are keys of their own
                nesting.open.pop()
        last = number
    nesting.close_all(last)
    return nesting.definitions
