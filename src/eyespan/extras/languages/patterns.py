"""Outline Makefiles, Dockerfiles, SQL and CSS by patterns: targets, stages, statements, rules."""

from __future__ import annotations

import re

from eyespan.extras.languages.line_numbers import LineNumbers
from eyespan.outline.model import Definition, Nesting, Outline, build_outline, shortened
from eyespan.outline.source_text import comment_start, decode_text

SIGNATURE_CHARS = 100


def scan(data: bytes, language: str) -> Outline:
    """Return the definitions of a file in one of these languages."""
    text = decode_text(data).replace("\r\n", "\n")
    match language:
        case "make":
            definitions = _make_definitions(text.split("\n"))
        case "dockerfile":
            definitions = _dockerfile_stages(text.split("\n"))
        case "sql":
            definitions = _sql_definitions(text)
        case _:
            definitions = _css_rules(text)
    return build_outline(definitions, "regex")


def _signature(text: str) -> str:
    return shortened(" ".join(text.split()), SIGNATURE_CHARS)


# --- make -------------------------------------------------------------------------------------------------------------

_TARGET = re.compile(r"([^\s#:=][^:=#]*)::?(?![:=])[^=]*$")
_REFERENCE = re.compile(r"\$\([^()]*\)|\$\{[^{}]*\}")
_SPECIAL_TARGETS = frozenset(
    re.findall(
        r"\S+",
        ".PHONY .SUFFIXES .DEFAULT .PRECIOUS .INTERMEDIATE .SECONDARY .SECONDEXPANSION .IGNORE .SILENT "
        ".DELETE_ON_ERROR .LOW_RESOLUTION_TIME .EXPORT_ALL_VARIABLES .NOTPARALLEL .ONESHELL .POSIX "
        ".NOTINTERMEDIATE .WAIT .MAKE",
    )
)
_TARGET_VARIABLE = re.compile(r"[^:=#]+:[ \t]*(?:override[ \t]+|export[ \t]+)?[\w.-]+[ \t]*[:?+!]?=")
_VARIABLE = re.compile(r"(?:export[ \t]+|override[ \t]+)*([\w.-]+)[ \t]*(?::{1,3}|[?+!])?=")
_DEFINE = re.compile(r"(?:export[ \t]+|override[ \t]+)*define[ \t]+([\w.-]+)")


def _make_definitions(lines: list[str]) -> list[Definition]:
    definitions: list[Definition] = []
    variables: set[str] = set()
    last = 0
    while last < len(lines):
        start = last + 1
        line = lines[start - 1]
        last = _continued(lines, start)
        if not line.strip() or line[0] in "\t# ":
            continue
        if match := _DEFINE.match(line):
            while last < len(lines) and lines[last - 1].strip() != "endef":
                last += 1
            definitions += _make_symbols("macro", [match[1]], lines, start, last, f"define {match[1]}")
        elif match := _VARIABLE.match(line):
            if match[1] not in variables:
                variables.add(match[1])
                definitions += _make_symbols("constant", [match[1]], lines, start, last, _signature(line[:60]))
        elif not _TARGET_VARIABLE.match(plain := _without_references(line)) and (
            match := _TARGET.match(plain.split("#", 1)[0].split(";", 1)[0])
        ):
            last = _recipe_end(lines, start)
            if match[1].split()[0] in _SPECIAL_TARGETS:
                continue
            # Comment and signature are found once for all targets: a line can name thousands of them.
            names = line[: match.end(1)].rstrip("& \t").split()
            definitions += _make_symbols("target", names, lines, start, last, _signature(line[: match.end()]))
    return definitions


def _without_references(line: str) -> str:
    """Return a line with underscores for references such as `$(SOURCES:%.c=%.o)`."""
    before = ""
    while before != line:
        before, line = line, _REFERENCE.sub(lambda found: "_" * len(found[0]), line)
    return line


def _make_symbols(
    kind: str, names: list[str], lines: list[str], start: int, last: int, signature: str
) -> list[Definition]:
    first = comment_start(lines, start)
    return [Definition(name=name, kind=kind, line=start, first=first, last=last, signature=signature) for name in names]


def _continued(lines: list[str], number: int) -> int:
    """Return the last of the lines that line `number` continues on with backslashes."""
    while lines[number - 1].endswith("\\") and number < len(lines):
        number += 1
    return number


def _recipe_end(lines: list[str], start: int) -> int:
    """Return the last line of the recipe below the rule on line `start`: lines with a tab, and their continuations."""
    end = at = _continued(lines, start)
    while at < len(lines):
        line = lines[at]
        if line.startswith("\t"):
            end = at = _continued(lines, at + 1)
        elif not line.strip() or line.startswith("#"):
            at += 1
        else:
            break
    return end


# --- Dockerfile -------------------------------------------------------------------------------------------------------

_FROM = re.compile(r"FROM[ \t]+(?:--\S+[ \t]+)*(\S+)(?:[ \t]+AS[ \t]+(\S+))?", re.IGNORECASE)


def _dockerfile_stages(lines: list[str]) -> list[Definition]:
    starts = [(number, match) for number, line in enumerate(lines, 1) if (match := _FROM.match(line.lstrip()))]
    stages = []
    for index, (number, match) in enumerate(starts):
        last = comment_start(lines, starts[index + 1][0]) - 1 if index + 1 < len(starts) else len(lines)
        while last > number and not lines[last - 1].strip():
            last -= 1
        stages.append(
            Definition(
                name=match[2] or match[1],
                kind="stage",
                line=number,
                first=comment_start(lines, number),
                last=max(last, number),
                signature=_signature(lines[number - 1]),
            )
        )
    return stages


# --- SQL --------------------------------------------------------------------------------------------------------------

_SQL_PIECE = re.compile(
    r"""--[^\n]*|/\*.*?(?:\*/|\Z)|'[^']*'?|"[^"]*"?|`[^`]*`?|(\$\w*\$).*?(?:\1|\Z)|;|\bBEGIN\b|\bCASE\b|\bEND\b"""
    r"""|^GO[ \t\r]*$""",
    re.DOTALL | re.IGNORECASE | re.MULTILINE,
)
_SQL_NAME = r"""(?:"[^"]+"|`[^`]+`|\[[^\]]+\]|[\w$#@]+)"""
_CREATE = re.compile(
    rf"""[ \t]*(?:CREATE|ALTER(?=\s+(?:PROC|FUNCTION|TRIGGER|VIEW)))\s+
    (?:OR\s+(?:REPLACE|ALTER)\s+)?(?:(?:GLOBAL|LOCAL|TEMP|TEMPORARY|UNLOGGED|UNIQUE|CLUSTERED|
    NONCLUSTERED|MATERIALIZED|RECURSIVE|VIRTUAL|EXTERNAL|FOREIGN|CONSTRAINT|DEFINER\s*=\s*\S+)\s+)*
    (TABLE|VIEW|INDEX|FUNCTION|PROCEDURE|PROC|TRIGGER|TYPE|SCHEMA|DATABASE|SEQUENCE|DOMAIN|EXTENSION|ROLE|USER|POLICY)\s+
    (?:CONCURRENTLY\s+)?(?:IF\s+NOT\s+EXISTS\s+)?({_SQL_NAME}(?:\s*\.\s*{_SQL_NAME})*)""",
    re.IGNORECASE | re.VERBOSE,
)
_SQL_BLANK = re.compile(r"(?:\s+|--[^\n]*|/\*.*?(?:\*/|\Z))*", re.DOTALL)
_SQL_QUOTES = re.compile(r"[\"`\[\]\s]")
_SQL_KINDS = {"proc": "procedure"}
_PREFIX_CHARS = 400
"""The length of the start of a statement that is searched for CREATE."""


def _sql_definitions(text: str) -> list[Definition]:
    lines = text.split("\n")
    numbers = LineNumbers(text)
    definitions: list[Definition] = []
    for start, end in _statements(text):
        blank = _SQL_BLANK.match(text, start, end)
        at = blank.end() if blank else start
        create = _CREATE.match(text, at)
        if not create:
            continue
        line = numbers.at(at)
        kind = create[1].lower()
        floor = definitions[-1].last if definitions else 0
        definitions.append(
            Definition(
                name=_SQL_QUOTES.sub("", create[2]),
                kind=_SQL_KINDS.get(kind, kind),
                line=line,
                first=comment_start(lines, line, floor, ("--",)),
                last=numbers.at(max(at, end - 1)),
                signature=_signature(create[0]),
            )
        )
    return definitions


_ROUTINE = re.compile(r"\s*(?:CREATE|ALTER)\b(?:\s+OR\s+ALTER\b)?(\s+(?:PROC|FUNCTION|TRIGGER))?", re.IGNORECASE)


def _statements(text: str) -> list[tuple[int, int]]:
    """Return start and end of each statement with its semicolon; those in a BEGIN ... END are part of its statement.

    A line GO ends a batch, and a routine before it is the whole batch.
    """
    found: list[tuple[int, int]] = []
    has_batches = re.search(r"^GO[ \t\r]*$", text, re.IGNORECASE | re.MULTILINE) is not None
    start = depth = 0
    for piece in _SQL_PIECE.finditer(text):
        spelled = piece[0].upper().strip()
        if spelled in ("BEGIN", "CASE"):
            # BEGIN opens a body only in a CREATE statement; elsewhere it starts a transaction.
            depth += spelled == "CASE" or _routine(text, start, piece.start()) is not None
        elif spelled == "END":
            depth = max(0, depth - 1)
        elif spelled == "GO":
            found.append((start, start + len(text[start : piece.start()].rstrip())))
            start, depth = piece.end(), 0
        elif spelled == ";" and depth == 0:
            routine = _routine(text, start, piece.start()) if has_batches else None
            if routine is None or not routine[1]:
                found.append((start, piece.end()))
                start = piece.end()
    if text[start:].strip():
        found.append((start, len(text.rstrip())))
    return found


def _routine(text: str, start: int, end: int) -> re.Match[str] | None:
    """Return the start of a statement that defines something."""
    return _ROUTINE.match(re.sub(r"--[^\n]*", "", text[start : min(start + _PREFIX_CHARS, end)]))


# --- CSS --------------------------------------------------------------------------------------------------------------

_CSS_PIECE = re.compile(r"""/\*.*?(?:\*/|\Z)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?|[{};]|//[^\n]*""", re.DOTALL)

_CSS_BLANK = re.compile(r"(?:\s+|/\*.*?\*/|//[^\n]*(?:\n|$))*", re.DOTALL)
_CSS_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


def _css_rules(text: str) -> list[Definition]:
    numbers = LineNumbers(text)
    nesting = Nesting()
    start = 0  # the end of the last brace or semicolon
    for piece in _CSS_PIECE.finditer(text):
        spelled = piece[0]
        if spelled not in ("{", "}", ";"):
            continue
        if spelled == "{":
            before = text[start : piece.start()]
            blank = _CSS_BLANK.match(before)
            at = blank.end() if blank else 0
            name = " ".join(_CSS_COMMENT.sub("", before[at:]).split()) or "{}"
            line = numbers.at(start + at)
            nesting.add(name, "rule", line, signature=_signature(name))
        elif spelled == "}" and nesting.open:
            nesting.close(numbers.at(piece.start()))
        start = piece.end()
    nesting.close_all(numbers.last)
    return nesting.definitions
