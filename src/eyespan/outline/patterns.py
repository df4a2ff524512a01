"""Lists of definitions, by what lines look like: make targets, build stages, SQL statements, style rules."""

from __future__ import annotations

import re

from eyespan.outline.model import Find, Rows, build, ended, text_of
from eyespan.outline.python import above

TYPE_CHECKING = False
if TYPE_CHECKING:
    from eyespan.outline.model import Outline

_SIGNATURE_CHARS = 100


def look(data: bytes, language: str) -> Outline:
    text = text_of(data).replace("\r\n", "\n")
    match language:
        case "make":
            finds = _make(text.split("\n"))
        case "dockerfile":
            finds = _dockerfile(text.split("\n"))
        case "sql":
            finds = _sql(text)
        case _:
            finds = _css(text)
    return build(finds, "regex")


def _shown(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _SIGNATURE_CHARS else text[: _SIGNATURE_CHARS - 1] + "…"


# --- make -------------------------------------------------------------------------------------------------------------

_TARGET = re.compile(r"([^\s#:=][^:=#]*)::?(?![:=])[^=]*$")
_TARGET_VARIABLE = re.compile(r"[^:=#]+:[ \t]*(?:override[ \t]+|export[ \t]+)?[\w.-]+[ \t]*[:?+!]?=")
_VARIABLE = re.compile(r"(?:export[ \t]+|override[ \t]+)*([\w.-]+)[ \t]*(?::{1,3}|[?+!])?=")
_DEFINE = re.compile(r"(?:export[ \t]+|override[ \t]+)*define[ \t]+([\w.-]+)")


def _make(lines: list[str]) -> list[Find]:
    finds: list[Find] = []
    known: set[str] = set()
    number = 0
    while number < len(lines):
        line = lines[number]
        start = number = number + 1
        last = start
        while lines[last - 1].endswith("\\") and last < len(lines):
            last += 1
        number = last
        if not line.strip() or line[0] in "\t# ":
            continue
        if match := _DEFINE.match(line):
            while last < len(lines) and lines[last - 1].strip() != "endef":
                last += 1
            number = last
            finds.append(Find(match[1], "macro", start, above(lines, start), last, -1, f"define {match[1]}"))
        elif match := _VARIABLE.match(line):
            if match[1] not in known:
                known.add(match[1])
                finds.append(Find(match[1], "constant", start, above(lines, start), last, -1, _shown(line[:60])))
        elif not _TARGET_VARIABLE.match(line) and (match := _TARGET.match(line.split("#", 1)[0].split(";", 1)[0])):
            number = end = _recipe_end(lines, start)
            if match[1].startswith(".") and "%" not in match[1] and "/" not in match[1]:
                continue  # .PHONY and its like say something about targets and are none
            first, shown = above(lines, start), _shown(match[0])  # once: there may be thousands of names on the line
            for name in match[1].rstrip("& \t").split():
                finds.append(Find(name, "target", start, first, end, -1, shown))
    return finds


def _recipe_end(lines: list[str], start: int) -> int:
    """The last line of the recipe below the rule on line `start`: lines with a tab, and those they continue on."""
    end = at = start
    while lines[at - 1].endswith("\\") and at < len(lines):
        at += 1
        end = at
    while at < len(lines):
        line = lines[at]
        if line.startswith("\t"):
            at += 1
            end = at
            while lines[at - 1].endswith("\\") and at < len(lines):
                at += 1
                end = at
        elif not line.strip() or line.startswith("#"):
            at += 1
        else:
            break
    return end


# --- Dockerfile -------------------------------------------------------------------------------------------------------

_FROM = re.compile(r"FROM[ \t]+(?:--\S+[ \t]+)*(\S+)(?:[ \t]+AS[ \t]+(\S+))?", re.IGNORECASE)


def _dockerfile(lines: list[str]) -> list[Find]:
    starts = [(number, match) for number, line in enumerate(lines, 1) if (match := _FROM.match(line.lstrip()))]
    finds = []
    for index, (number, match) in enumerate(starts):
        first = above(lines, number)
        last = above(lines, starts[index + 1][0]) - 1 if index + 1 < len(starts) else len(lines)
        while last > number and not lines[last - 1].strip():
            last -= 1
        finds.append(
            Find(match[2] or match[1], "stage", number, first, max(last, number), -1, _shown(lines[number - 1]))
        )
    return finds


# --- SQL --------------------------------------------------------------------------------------------------------------

_SQL_PIECE = re.compile(
    r"""--[^\n]*|/\*.*?(?:\*/|\Z)|'[^']*'?|"[^"]*"?|`[^`]*`?|(\$\w*\$).*?(?:\1|\Z)|;|\bBEGIN\b|\bCASE\b|\bEND\b""",
    re.DOTALL | re.IGNORECASE,
)
_SQL_NAME = r"""(?:"[^"]+"|`[^`]+`|\[[^\]]+\]|[\w$#@]+)"""
_CREATE = re.compile(
    rf"""[ \t]*CREATE\s+(?:OR\s+(?:REPLACE|ALTER)\s+)?(?:(?:GLOBAL|LOCAL|TEMP|TEMPORARY|UNLOGGED|UNIQUE|CLUSTERED|
    NONCLUSTERED|MATERIALIZED|RECURSIVE|VIRTUAL|EXTERNAL|FOREIGN|CONSTRAINT|DEFINER\s*=\s*\S+)\s+)*
    (TABLE|VIEW|INDEX|FUNCTION|PROCEDURE|PROC|TRIGGER|TYPE|SCHEMA|DATABASE|SEQUENCE|DOMAIN|EXTENSION|ROLE|USER|POLICY)\s+
    (?:CONCURRENTLY\s+)?(?:IF\s+NOT\s+EXISTS\s+)?({_SQL_NAME}(?:\s*\.\s*{_SQL_NAME})*)""",
    re.IGNORECASE | re.VERBOSE,
)
_SQL_KINDS = {"proc": "procedure"}


def _sql(text: str) -> list[Find]:
    lines = text.split("\n")
    row = Rows(text)
    finds: list[Find] = []
    for start, end in _statements(text):
        statement = text[start:end]
        blank = len(statement) - len(re.sub(r"\A(?:\s+|--[^\n]*|/\*.*?(?:\*/|\Z))+", "", statement, flags=re.DOTALL))
        match = _CREATE.match(text, start + blank)
        if not match:
            continue
        at = start + blank
        line, last = row(at), row(max(at, end - 1))
        kind = match[1].lower()
        name = re.sub(r"[\"`\[\]\s]", "", match[2])
        floor = finds[-1].last if finds else 0
        finds.append(
            Find(name, _SQL_KINDS.get(kind, kind), line, above(lines, line, floor, ("--",)), last, -1, _shown(match[0]))
        )
    return finds


def _statements(text: str) -> list[tuple[int, int]]:
    """From where to where each statement goes, its semicolon included; those in a BEGIN ... END are its own."""
    found: list[tuple[int, int]] = []
    start = depth = 0
    for piece in _SQL_PIECE.finditer(text):
        what = piece[0].upper()
        if what in ("BEGIN", "CASE"):
            head = text[start : min(start + 400, piece.start())]
            in_body = re.match(r"\s*CREATE\b", re.sub(r"--[^\n]*", "", head), re.IGNORECASE)
            depth += 1 if what == "CASE" or in_body else 0
        elif what == "END":
            depth = max(0, depth - 1)
        elif what == ";" and depth == 0:
            found.append((start, piece.end()))
            start = piece.end()
    if text[start:].strip():
        found.append((start, len(text.rstrip())))
    return found


# --- CSS --------------------------------------------------------------------------------------------------------------

_CSS_PIECE = re.compile(r"""/\*.*?(?:\*/|\Z)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?|[{};]|//[^\n]*""", re.DOTALL)

_CSS_BLANK = re.compile(r"(?:\s+|/\*.*?\*/|//[^\n]*(?:\n|$))*", re.DOTALL)
_CSS_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


def _css(text: str) -> list[Find]:
    row = Rows(text)
    finds: list[Find] = []
    open_: list[int] = []
    begin = 0
    for piece in _CSS_PIECE.finditer(text):
        what = piece[0]
        if what == "{":
            before = text[begin : piece.start()]
            skipped = _CSS_BLANK.match(before)
            at = skipped.end() if skipped else 0
            name = " ".join(_CSS_COMMENT.sub("", before[at:]).split()) or "{}"
            line = row(begin + at)
            finds.append(Find(name, "rule", line, line, line, open_[-1] if open_ else -1, _shown(name)))
            open_.append(len(finds) - 1)
            begin = piece.end()
        elif what == "}":
            if open_:
                index = open_.pop()
                finds[index] = ended(finds[index], row(piece.start()))
            begin = piece.end()
        elif what == ";":
            begin = piece.end()
    for index in open_:
        finds[index] = ended(finds[index], row.last)
    return finds
