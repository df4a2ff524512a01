"""Outline YAML by its keys and the items of the outermost list, down to the third level.

A scanner of lines, not a parser: keys in flow collections and in lists below the outermost one are not listed.
"""

from __future__ import annotations

import re

from eyespan.outline.model import Definition, Nesting, Outline, build_outline, shortened
from eyespan.outline.source_text import comment_start, decode_text

MAX_DEPTH = 2
"""Keys with more keys around them are not listed."""
VALUE_CHARS = 40
_INDICATORS = re.compile(r" *((?:-[ \t]+)*)")
_QUOTED_KEY = re.compile(r"""("(?:\\.|[^"\\])*"|'(?:''|[^'])*')[ \t]*:(?=\s|$)""")
_COLON_OR_COMMENT = re.compile(r":(?=\s|$)| #")
_BLOCK_SCALAR = re.compile(r"(?:[&!]\S+[ \t]+)*[|>][-+0-9]*[ \t]*(?:#.*)?$")


def scan(data: bytes, language: str) -> Outline:
    """Return the keys of a YAML file."""
    return build_outline(_YamlScanner(decode_text(data).replace("\r\n", "\n").split("\n")).run(), "shape")


class _YamlScanner:
    """One pass over the lines of a file."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._nesting = Nesting()
        self._lists: list[int] = []
        """The columns of the lists around the current line, without the outermost list of a document."""
        self._scalar_indent = -1
        """Lines indented deeper than this are text of a block scalar; -1: none is open."""
        self._last = 0
        """The last line of what is open."""
        self._item = -1
        """The index of the current item of the outermost list, or -1."""
        self._item_count = 0

    def run(self) -> list[Definition]:
        for number, line in enumerate(self._lines, 1):
            body = line.strip()
            indent = len(line) - len(line.lstrip(" "))
            if self._is_in_scalar(body, indent):
                if body:
                    self._last = number
            elif not body or body[0] == "#":
                continue
            elif line.startswith(("---", "...", "%")):
                self._start_document(number)
            else:
                is_item = body == "-" or body.startswith("- ")
                self._leave(indent, is_item)
                if is_item:
                    self._enter_item(number, body, indent)
                self._last = number
                self._add_key(number, body, indent, is_item)
        self._nesting.close_all(self._last)
        return self._nesting.definitions

    def _is_in_scalar(self, body: str, indent: int) -> bool:
        if self._scalar_indent >= 0 and body and indent <= self._scalar_indent:
            self._scalar_indent = -1
        return self._scalar_indent >= 0

    def _start_document(self, number: int) -> None:
        self._nesting.close_all(self._last)
        self._lists = []
        self._item, self._item_count = -1, 0
        self._last = number

    def _leave(self, indent: int, is_item: bool) -> None:
        """Close the keys and lists that end before this line. An item may stand in the column of its list's key."""
        self._nesting.close_from(indent + 1 if is_item else indent, self._last)
        self._lists = [column for column in self._lists if column < indent or (column == indent and is_item)]

    def _enter_item(self, number: int, body: str, indent: int) -> None:
        """Add an item of the outermost list, or note that the line lies in another list."""
        nesting = self._nesting
        if nesting.open and nesting.parent == self._item and nesting.column == indent:
            nesting.close(self._last)
        elif nesting.open or self._lists not in ([], [indent]):
            if indent not in self._lists:
                self._lists.append(indent)
            return
        self._lists = []
        self._item = len(nesting.definitions)
        signature = shortened(body, VALUE_CHARS)
        first = comment_start(self._lines, number)
        nesting.add(f"[{self._item_count}]", "key", number, indent, first=first, signature=signature)
        self._item_count += 1

    def _add_key(self, number: int, body: str, indent: int, is_item: bool) -> None:
        """Add the key of a line, if it has one and lies neither in a list nor too deep."""
        entry = _key_of(self._lines[number - 1])
        if _BLOCK_SCALAR.match(body.lstrip("- ") if entry is None else entry[2]):
            self._scalar_indent = indent
        if entry is None:
            return
        column, name, value = entry
        nesting = self._nesting
        is_in_list = bool(self._lists) or (is_item and nesting.parent_line != number)
        if is_in_list or len(nesting.open) > MAX_DEPTH:
            return
        has_value = value and self._scalar_indent < 0
        first = number if is_item else comment_start(self._lines, number, nesting.parent_line)
        signature = f"{name}: {shortened(value, VALUE_CHARS)}" if has_value else name
        nesting.add(name, "key", number, column, first=first, signature=signature)


def _key_of(line: str) -> tuple[int, str, str] | None:
    """Return the column and name of the key on this line and the text after its colon; None if there is no key."""
    indicators = _INDICATORS.match(line)
    at = indicators.end() if indicators else 0
    if line[at : at + 1] in ('"', "'"):
        quoted = _QUOTED_KEY.match(line, at)
        return (at, quoted[1][1:-1], line[quoted.end() :].strip()) if quoted else None
    if line[at : at + 1] in ("", *"[]{}#&*!|>%@`,?-"):
        return None
    colon = _COLON_OR_COMMENT.search(line, at)
    if colon is None or colon[0] != ":":
        return None
    return at, line[at : colon.start()].strip(), line[colon.end() :].strip()
