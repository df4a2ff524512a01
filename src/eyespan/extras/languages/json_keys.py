"""Outline JSON by its keys, down to the third level. Comments, single quotes and broken files are tolerated."""

from __future__ import annotations

import re
from dataclasses import dataclass

from eyespan.extras.languages.line_numbers import LineNumbers
from eyespan.outline.model import Definition, Outline, build_outline, ended, shortened
from eyespan.outline.source_text import decode_text

MAX_DEPTH = 2
"""Keys with more keys around them are not listed."""
VALUE_CHARS = 40
_TOKEN = re.compile(
    r""""(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?|//[^\n]*|/\*.*?(?:\*/|\Z)|[{}\[\],:]|[^\s{}\[\],:"'/]+|/""", re.DOTALL
)


def scan(data: bytes, language: str) -> Outline:
    """Return the keys of a JSON file."""
    scanner = _JsonScanner(decode_text(data))
    scanner.run()
    return build_outline(scanner.definitions, "shape", is_complete=scanner.is_complete)


@dataclass(slots=True)
class _Level:
    """One open object or array."""

    is_array: bool
    key: int
    """The index of the key whose value it is, or -1."""
    count: int = 0
    """The number of members so far."""


class _JsonScanner:
    """One pass over the tokens of a text."""

    def __init__(self, text: str) -> None:
        self.definitions: list[Definition] = []
        self.is_complete = True
        self._text = text
        self._numbers = LineNumbers(text)
        self._levels: list[_Level] = []
        self._name = ""
        """The last string, if it may be a key."""
        self._key = -1
        """The index of the key whose value comes next, or -1."""
        self._is_new_member = True
        """No token of the current member has been read."""

    def run(self) -> None:
        for token in _TOKEN.finditer(self._text):
            spelled = token[0]
            first = spelled[0]
            if first == "/" and len(spelled) > 1:
                continue
            line = self._numbers.at(token.start())
            if first in "{[":
                self._open_level(first == "[", line)
            elif first in "}]":
                if not self._levels:
                    self.is_complete = False
                    return
                self._close_level(first == "]", line)
            elif first == ",":
                self._end_value(is_new_member=True)
            elif first == ":":
                self._add_key(line)
            else:
                self._add_scalar(spelled, line)
        for level in self._levels:
            self.is_complete = False
            if level.key >= 0:
                self._close(level.key, self._numbers.last)

    def _open_level(self, is_array: bool, line: int) -> None:
        self._count_member()
        if self._key < 0 and len(self._levels) == 1 and self._levels[0].is_array:  # an element of the outermost array
            self._add(f"[{self._levels[0].count - 1}]", line)
        self._levels.append(_Level(is_array, self._key))
        self._end_value(is_new_member=True)

    def _close_level(self, is_array: bool, line: int) -> None:
        level = self._levels.pop()
        if level.is_array != is_array:
            self.is_complete = False
        if level.key >= 0:
            size = f"[{level.count}]" if level.is_array else f"{{{level.count}}}"
            self._close(level.key, line, f" {size}")
        self._end_value(is_new_member=False)

    def _add_key(self, line: int) -> None:
        """Take the string before a colon as a key."""
        levels = self._levels
        if self._name and levels and not levels[-1].is_array:
            is_listed_around = levels[-1].key >= 0 or len(levels) == 1
            if is_listed_around and len(levels) <= MAX_DEPTH + 1:
                self._add(self._name, line, levels[-1].key)
        self._name = ""

    def _add_scalar(self, spelled: str, line: int) -> None:
        """Take a string or a bare word as the value of the last key, or as what may become a key."""
        self._count_member()
        self._is_new_member = False
        if self._key >= 0:
            self._close(self._key, line, f": {shortened(spelled, VALUE_CHARS)}")
            self._key = -1
        elif self._levels and not self._levels[-1].is_array:
            self._name = spelled.strip("\"'") or '""'

    def _count_member(self) -> None:
        if self._levels and self._is_new_member:
            self._levels[-1].count += 1

    def _end_value(self, *, is_new_member: bool) -> None:
        self._is_new_member, self._name, self._key = is_new_member, "", -1

    def _add(self, name: str, line: int, parent: int = -1) -> None:
        self._key = len(self.definitions)
        self.definitions.append(Definition(name=name, kind="key", line=line, first=line, last=line, parent=parent))

    def _close(self, key: int, last: int, value: str = "") -> None:
        definition = self.definitions[key]
        self.definitions[key] = ended(definition, last, f"{definition.name}{value}" if value else "")
