"""Outline languages by lines that look like definitions, each to the end of its block (`block_rules`, `block_ends`).

Strings and comments are blanked out first, so nothing in them is a definition or a bracket. The time is proportional to
the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from eyespan.outline.block_ends import BlockEnds, BlockText, Start, first_char
from eyespan.outline.block_rules import RULES
from eyespan.outline.merge import nested
from eyespan.outline.model import Definition, Outline, build_outline
from eyespan.outline.text import comment_start, decode_text, squeeze

SIGNATURE_CHARS = 160
_ARGUMENTS = re.compile(r"\b[A-Z][A-Z0-9_]{2,}\s*\([^;{}]*|\b__attribute__.*", re.DOTALL)
"""The attributes after the name of a method of Objective-C."""
_TYPES = frozenset(("class", "struct", "interface", "enum", "trait", "impl"))


def scan(data: bytes, language: str) -> Outline:
    """Return the definitions of a file in one of the languages of the table."""
    text = decode_text(data).replace("\r\n", "\n")
    definitions, is_balanced = _Scanner(BlockText(text, language, RULES[language])).run()
    found = nested(definitions)
    if language == "ocaml":
        found = nested([one for one in found if not _is_local(one, found)])
    for index, one in enumerate(found):
        is_inside = one.parent >= 0 and found[one.parent].kind in _TYPES
        if one.kind in ("function", "method") and (one.kind == "method") != is_inside and language not in ("elixir",):
            found[index] = replace(one, kind="method" if is_inside else "function")
    return build_outline(found, "shape", is_complete=is_balanced)


def _is_local(one: Definition, found: list[Definition]) -> bool:
    """Return True for a definition in the body of a function."""
    return one.kind == "function" and one.parent >= 0 and found[one.parent].kind == "function"


class _Scanner:
    """The definitions of one text."""

    def __init__(self, source: BlockText) -> None:
        self._source = source
        self._text = source.text
        self._language = source.language
        self._rules = source.rules
        self._numbers = source.numbers

    def run(self) -> tuple[list[Definition], bool]:
        """Return the definitions in file order, and True if every block was closed."""
        found = list(self._matches())
        blocks = BlockEnds(self._source)
        ends = blocks.of(found)
        definitions: list[Definition] = []
        floor = 0
        for (match, kind), (last, doubt) in zip(found, ends, strict=True):
            name, owner = self._name(match)
            if not name:
                continue
            line = self._numbers.at(match.start("name") if match.groupdict().get("name") else first_char(match))
            if (
                definitions
                and self._language == "erlang"
                and definitions[-1].name == name
                and line <= definitions[-1].last
            ):
                continue  # another clause of the same function
            first = comment_start(self._source.lines, line, min(floor, line - 1), self._rules.comments)
            start = first_char(match)
            signature = squeeze(self._text[start : self._text.find("\n", match.end()) % (len(self._text) + 1)])
            definitions.append(
                Definition(
                    name=name,
                    kind=kind,
                    line=line,
                    first=first,
                    last=max(last, line),
                    signature=_short_signature(signature),
                    owner=owner,
                    doubt=doubt,
                )
            )
            floor = line
        return definitions, blocks.is_balanced

    def _matches(self) -> Iterator[Start]:
        """Return the starts of definitions in file order, one for each line, by the first pattern that matches."""
        found: dict[int, tuple[int, re.Match[str], str]] = {}
        for order, (pattern, kind) in enumerate(self._rules.definitions):
            for match in re.compile(pattern, self._source.flags).finditer(self._text):
                start = first_char(match)
                if self._source.masked[start : start + 1].strip() == "" and self._text[start] != '"':
                    continue  # in a comment or a string
                place = self._numbers.at(start)
                if place not in found or order < found[place][0]:
                    found[place] = (order, match, kind)
        if self._language in ("haskell", "erlang", "elixir"):
            return iter(_grouped([found[at][1:] for at in sorted(found)], self._language))
        return iter([found[at][1:] for at in sorted(found)])

    def _name(self, match: re.Match[str]) -> tuple[str, str]:
        """Return the name of a definition and what it belongs to."""
        groups = match.groupdict()
        if groups.get("hcl"):
            labels = re.findall(r'"([^"\n]*)"|([\w.-]+)', groups["hcl"])
            words = [quoted or plain for quoted, plain in labels]
            return words[-1], ".".join(words[:-1])
        if groups.get("block"):
            return " ".join(groups["block"].split()), ""
        if groups.get("objc"):
            # The words of the name, without those in strings and in the arguments of attributes at the end.
            written = _ARGUMENTS.sub("", self._source.masked[match.start("objc") : match.end("objc")])
            parts = re.findall(r"(\w+)\s*:", written)
            return "".join([f"{part}:" for part in parts]) or groups["objc"].split()[0], ""
        name = groups.get("name") or ""
        if len(name) > 2 and name[0] in "\"`'{(" and name[-1] in "\"`'})":
            name = name[1:-1].strip()
        if self._language == "perl":
            owner, _, name = name.replace("'", "::").rpartition("::")
            return name, owner.replace("::", ".")
        if self._language == "tcl":
            owner, _, name = name.strip(":").rpartition("::")
            return name, owner.replace("::", ".")
        if self._language in ("julia", "dart") and "." in name:
            owner, _, name = name.rpartition(".")
            return name, owner
        return " ".join(name.split()), ""


def _grouped(found: list[Start], language: str) -> list[Start]:
    """Return definitions without those that continue the one before: clauses and equations of one function."""
    result: list[Start] = []
    for match, kind in found:
        if (
            result
            and kind == "function" == result[-1][1]
            and match["name"] == result[-1][0]["name"]
            and language == "haskell"
        ):
            continue
        result.append((match, kind))
    return result


def _short_signature(text: str) -> str:
    text = text.rstrip("{ ").removesuffix(" do").rstrip(" =:")
    return text if len(text) <= SIGNATURE_CHARS else text[: SIGNATURE_CHARS - 1] + "…"
