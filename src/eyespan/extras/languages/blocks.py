"""Outline languages by lines that look like definitions (`block_rules`), each to the end of its block.

For languages without a wheel of their grammar. Strings and comments are blanked out first, so nothing in them is a
definition or a bracket. A definition whose block is never closed gets a line of doubt, because its end is then a guess;
so does one whose end disagrees with the indentation (`alignment`). The time is proportional to the length of the text.
"""

from __future__ import annotations

import re
from dataclasses import replace

from eyespan.extras.languages.alignment import Alignment
from eyespan.extras.languages.block_rules import RULES
from eyespan.extras.languages.line_numbers import LineNumbers
from eyespan.outline.model import TYPE_KINDS, Definition, Outline, build_outline, nested, shortened
from eyespan.outline.source_text import comment_start, decode_text, squeeze

SIGNATURE_CHARS = 160
HEADER_CHARS = 3000
"""The text after the name of a definition that is searched for its body."""
_ATTRIBUTES = re.compile(r"\b[A-Z][A-Z0-9_]{2,}\s*\([^;{}]*|\b__attribute__.*", re.DOTALL)
"""The attributes after the name of a method of Objective-C."""
End = tuple[int, int]
"""The last line of a definition, and its line of doubt or 0."""


def scan(data: bytes, language: str) -> Outline:
    """Return the definitions of a file in one of the languages of the table."""
    scanner = _BlockScanner(decode_text(data).replace("\r\n", "\n"), language)
    found = nested(scanner.definitions())
    for index, one in enumerate(found):
        is_inside = one.parent >= 0 and found[one.parent].kind in TYPE_KINDS
        if one.kind in ("function", "method"):
            found[index] = replace(one, kind="method" if is_inside else "function")
    return build_outline(scanner.alignment.with_doubts(found, ()), "shape", is_complete=scanner.is_balanced)


class _BlockScanner:
    """The definitions of one text."""

    def __init__(self, text: str, language: str) -> None:
        self._text = text
        self._language = language
        self._rules = RULES[language]
        self._masked = re.compile(self._rules.skipped, re.DOTALL | re.MULTILINE).sub(_blanked, text)
        self._lines = text.split("\n")
        self._numbers = LineNumbers(text)
        self.alignment = Alignment(self._masked.split("\n"))
        self.is_balanced = True
        """False if a block was never closed, or a closing bracket closes none."""

    def definitions(self) -> list[Definition]:
        """Return the definitions in file order."""
        starts = self._starts()
        ends = self._by_braces(starts) if self._rules.ends == "braces" else self._by_parentheses(starts)
        found: list[Definition] = []
        for (match, kind), (last, doubt) in zip(starts, ends, strict=True):
            name, owner = self._name(match)
            if not name:
                continue
            line = self._numbers.at(match.start("name") if match.groupdict().get("name") else _first_char(match))
            before = found[-1] if found else None
            floor = min(before.line if before is not None else 0, line - 1)
            line_end = self._text.find("\n", match.end())
            signature = squeeze(self._text[_first_char(match) : line_end if line_end >= 0 else None])
            found.append(
                Definition(
                    name=name,
                    kind=kind,
                    line=line,
                    first=comment_start(self._lines, line, floor, self._rules.comments),
                    last=max(last, line),
                    signature=shortened(signature.rstrip("{ =:"), SIGNATURE_CHARS),
                    owner=owner,
                    doubt=doubt,
                )
            )
        return found

    def _starts(self) -> list[tuple[re.Match[str], str]]:
        """Return the starts of definitions and their kinds, one for each line, by the first pattern that matches."""
        flags = re.MULTILINE | (0 if self._rules.is_case_sensitive else re.IGNORECASE)
        found: dict[int, tuple[re.Match[str], str]] = {}
        for pattern, kind in self._rules.definitions:
            for match in re.compile(pattern, flags).finditer(self._text):
                start = _first_char(match)
                if self._masked[start].isspace() and self._text[start] != '"':
                    continue  # in a comment or a string
                found.setdefault(self._numbers.at(start), (match, kind))
        return [found[line] for line in sorted(found)]

    def _name(self, match: re.Match[str]) -> tuple[str, str]:
        """Return the name of a definition and what it belongs to."""
        groups = match.groupdict()
        if groups.get("hcl"):
            words = [quoted or plain for quoted, plain in re.findall(r'"([^"\n]*)"|([\w.-]+)', groups["hcl"])]
            return words[-1], ".".join(words[:-1])
        if groups.get("objc"):
            # The words of the name, without those in strings and in the arguments of attributes at the end.
            written = _ATTRIBUTES.sub("", self._masked[match.start("objc") : match.end("objc")])
            parts = re.findall(r"(\w+)\s*:", written)
            return "".join([f"{part}:" for part in parts]) or groups["objc"].split()[0], ""
        name = groups.get("name") or ""
        if len(name) > 2 and name[0] in "\"`'{(" and name[-1] in "\"`'})":
            name = name[1:-1].strip()
        return " ".join(name.split()), ""

    # --- ends ---------------------------------------------------------------------------------------------------------

    def _pairs(self, pattern: str) -> dict[int, int]:
        """Return the offset of what closes each block, by the last character of what opens it.

        The pattern has a group `close`.
        """
        pairs: dict[int, int] = {}
        stack: list[int] = []
        for piece in re.finditer(pattern, self._masked):
            if piece["close"] is None:
                stack.append(piece.end() - 1)
            elif stack:
                pairs[stack.pop()] = piece.start()
            else:
                self.is_balanced = False
        if stack:
            self.is_balanced = False
        return pairs

    def _by_braces(self, starts: list[tuple[re.Match[str], str]]) -> list[End]:
        pairs = self._pairs(r"(?P<close>\})|\{")
        ends = []
        for match, kind in starts:
            line = self._numbers.at(match.end())
            if self._language == "objc" and kind == "macro":
                while line < len(self._lines) and self._lines[line - 1].endswith("\\"):
                    line += 1
                ends.append((line, 0))
                continue
            if self._language == "objc" and kind in ("class", "impl", "interface"):
                end = self._masked.find("\n@end", match.end())
                ends.append((self._numbers.at(end + 1) if end >= 0 else line, 0 if end >= 0 else line))
                continue
            body = self._body(match)
            if body is None:
                ends.append((line, 0))
            elif self._masked[body] != "{":
                ends.append((self._numbers.at(body), 0))
            else:
                paired = self._numbers.at(pairs[body]) if body in pairs else 0
                # Braces that do not match may be paired wrongly; those of one line, or in one column, are not.
                aligned = paired if self.is_balanced or paired == line else self.alignment.closing_line(line)
                ends.append((aligned or paired or line, 0 if paired and aligned == paired else line))
        return ends

    def _body(self, match: re.Match[str]) -> int | None:
        """Return the offset of the brace that opens the body of a definition, or of what ends one without a body."""
        text, rules = self._masked, self._rules
        at = match.end()
        if text[at - 1] == "{":
            return at - 1
        depth = text.count("(", match.start(), at) - text.count(")", match.start(), at)
        stop = min(len(text), at + HEADER_CHARS)
        while at < stop:
            char = text[at]
            if char in "([":
                depth += 1
            elif char in ")]":
                depth -= 1
                if depth < 0:
                    return None
            elif char == "{":
                if depth == 0 or self._language in ("r", "groovy"):
                    return at
            elif char == ";" and depth <= 0 and rules.has_semicolons:
                return at
            elif char == "\n" and depth <= 0 and not rules.has_semicolons:
                after = re.compile(r"\s*").match(text, at)
                following_at = after.end() if after else at
                if text[following_at : following_at + 1] != "{":
                    return at if text[match.end() : at].strip() else None
            at += 1
        return None

    def _by_parentheses(self, starts: list[tuple[re.Match[str], str]]) -> list[End]:
        pairs = self._pairs(r"(?P<close>\))|\(") | self._pairs(self._rules.words)
        ends = []
        for match, _ in starts:
            closing = pairs.get(self._masked.find("(", match.start()))
            line = self._numbers.at(match.end())
            ends.append((line, line) if closing is None else (self._numbers.at(closing), 0))
        return ends


def _first_char(match: re.Match[str]) -> int:
    """Return the first character of a definition that is not a blank."""
    return match.start() + len(match[0]) - len(match[0].lstrip())


def _blanked(found: re.Match[str]) -> str:
    """Return blanks for a comment or a string; its first and last characters stay if they are quotes."""
    text = found[0]
    blanks = re.sub(r"[^\n]", " ", text)
    return f'"{blanks[1:-1]}"' if text[0] in "\"'" and len(text) > 1 and "\n" not in (text[0], text[-1]) else blanks
