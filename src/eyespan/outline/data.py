"""JSON, YAML, TOML and INI by their keys. The scanners are tolerant: of a broken file they tell what comes before."""

from __future__ import annotations

import re

from eyespan.outline.model import Find, Rows, build, ended, text_of
from eyespan.outline.python import above

TYPE_CHECKING = False
if TYPE_CHECKING:
    from eyespan.outline.model import Outline

_DEEPEST = 2
"""Keys further in are not listed."""
_VALUE_CHARS = 40


def look(data: bytes, language: str) -> Outline:
    text = text_of(data)
    match language:
        case "json":
            finds, complete = _json(text)
        case "yaml":
            finds, complete = _yaml(text.replace("\r\n", "\n").split("\n")), True
        case "toml":
            finds, complete = _toml(text)
        case _:
            finds, complete = _ini(text.replace("\r\n", "\n").split("\n")), True
    return build(finds, "shape", complete)


def _short(value: str) -> str:
    return value if len(value) <= _VALUE_CHARS else value[: _VALUE_CHARS - 1] + "…"


# --- JSON -------------------------------------------------------------------------------------------------------------

_JSON = re.compile(
    r""""(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?|//[^\n]*|/\*.*?(?:\*/|\Z)|[{}\[\],:]|[^\s{}\[\],:"'/]+|/""", re.DOTALL
)


class _Level:
    """One open object or array."""

    __slots__ = ("count", "find", "is_array")

    def __init__(self, is_array: bool, find: int) -> None:
        self.is_array = is_array
        self.find = find
        """The key whose value this is, or -1."""
        self.count = 0


def _json(text: str) -> tuple[list[Find], bool]:
    row = Rows(text)
    finds: list[Find] = []
    levels: list[_Level] = []
    parents: list[int] = []  # of each level: the find around what is in it
    pending, awaiting = "", -1  # a string that may be a key; the key whose value comes next
    fresh = True  # nothing of the current member has been seen
    complete = True
    line = 1
    for token in _JSON.finditer(text):
        what = token[0]
        mark = what[0]
        if mark == "/" and len(what) > 1:
            continue
        line = row(token.start())
        if mark in "{[":
            if levels:
                levels[-1].count += fresh
            if awaiting < 0 and len(levels) == 1 and levels[0].is_array:  # an element of the outermost list
                awaiting = len(finds)
                finds.append(Find(f"[{levels[0].count - 1}]", "key", line, line, line))
            levels.append(_Level(mark == "[", awaiting))
            parents.append(awaiting)
            awaiting, fresh, pending = -1, True, ""
        elif mark in "}]":
            if not levels:
                return finds, False
            level = levels.pop()
            parents.pop()
            complete = complete and level.is_array == (mark == "]")
            if level.find >= 0:
                old = finds[level.find]
                shown = f"{old.name} [{level.count}]" if level.is_array else f"{old.name} {{{level.count}}}"
                finds[level.find] = ended(old, line, shown)
            fresh, pending, awaiting = False, "", -1
        elif mark == ",":
            fresh, pending, awaiting = True, "", -1
        elif mark == ":":
            if pending and levels and not levels[-1].is_array:
                parent = parents[-1]
                inside = parent >= 0 or len(levels) == 1
                if inside and len(levels) <= _DEEPEST + 1:
                    awaiting = len(finds)
                    finds.append(Find(pending, "key", line, line, line, parent))
            pending = ""
        else:
            if levels:
                levels[-1].count += fresh
            fresh = False
            if awaiting >= 0:
                old = finds[awaiting]
                finds[awaiting] = ended(old, line, f"{old.name}: {_short(what)}")
                awaiting = -1
            elif levels and not levels[-1].is_array:
                pending = what.strip("\"'") or '""'
    for level in levels:
        if level.find >= 0:
            finds[level.find] = ended(finds[level.find], row.last)
    return finds, complete and not levels


# --- YAML -------------------------------------------------------------------------------------------------------------

_YAML_LEAD = re.compile(r" *((?:-[ \t]+)*)")
_YAML_QUOTED = re.compile(r"""("(?:\\.|[^"\\])*"|'(?:''|[^'])*')[ \t]*:(?=\s|$)""")
_YAML_COLON = re.compile(r":(?=\s|$)| #")
_YAML_BLOCK = re.compile(r"(?:[&!]\S+[ \t]+)*[|>][-+0-9]*[ \t]*(?:#.*)?$")


def _yaml_key(line: str) -> tuple[int, str, str] | None:
    """The column of the key on this line, its name and what follows the colon."""
    lead = _YAML_LEAD.match(line)
    at = lead.end() if lead else 0
    if line[at : at + 1] in ('"', "'"):
        quoted = _YAML_QUOTED.match(line, at)
        return (at, quoted[1][1:-1], line[quoted.end() :].strip()) if quoted else None
    if line[at : at + 1] in ("", *"[]{}#&*!|>%@`,?-"):
        return None
    colon = _YAML_COLON.search(line, at)
    if colon is None or colon[0] != ":":
        return None
    return at, line[at : colon.start()].strip(), line[colon.end() :].strip()


def _yaml(lines: list[str]) -> list[Find]:
    finds: list[Find] = []
    open_: list[tuple[int, int]] = []  # find, its indentation
    lists: list[int] = []  # indentation of the lists around this line
    scalar = -1  # the indentation that a block of text is deeper than
    end = 0
    items = 0
    for number, line in enumerate(lines, 1):
        body = line.strip()
        indent = len(line) - len(line.lstrip(" "))
        if scalar >= 0 and (not body or indent > scalar):
            end = number if body else end
            continue
        scalar = -1
        if not body or body[0] == "#":
            continue
        if line.startswith(("---", "...", "%")):
            _close_all(finds, open_, end)
            lists, items, end = [], 0, number
            continue
        is_item = body == "-" or body.startswith("- ")
        while open_ and (indent < open_[-1][1] or (indent == open_[-1][1] and not is_item)):
            finds[open_[-1][0]] = ended(finds[open_[-1][0]], end)
            open_.pop()
        lists = [column for column in lists if column < indent or (column == indent and is_item)]
        if is_item and indent not in lists:
            lists.append(indent)
        if is_item and not open_ and lists == [indent]:  # an item of the outermost list
            finds.append(Find(f"[{items}]", "key", number, above(lines, number), number, -1, _short(body)))
            items += 1
            open_.append((len(finds) - 1, indent))
            lists = []
        elif is_item and open_ and indent == open_[-1][1] and finds[open_[-1][0]].name == f"[{items - 1}]":
            old, _ = open_.pop()
            finds[old] = ended(finds[old], end)
            finds.append(Find(f"[{items}]", "key", number, above(lines, number), number, -1, _short(body)))
            items += 1
            open_.append((len(finds) - 1, indent))
            lists = []
        end = number
        entry = _yaml_key(line)
        if entry is None:
            if _YAML_BLOCK.match(body.lstrip("- ")):
                scalar = indent
            continue
        column, name, value = entry
        if _YAML_BLOCK.match(value):
            scalar = indent
        within_list = bool(lists) or (is_item and not (open_ and finds[open_[-1][0]].line == number))
        depth = len(open_)
        if within_list or depth > _DEEPEST:
            continue
        parent = open_[-1][0] if open_ else -1
        floor = finds[parent].line if parent >= 0 else 0
        first = number if is_item else above(lines, number, floor)
        shown = f"{name}: {_short(value)}" if value and scalar < 0 else name
        finds.append(Find(name, "key", number, first, number, parent, shown))
        open_.append((len(finds) - 1, column))
    _close_all(finds, open_, end)
    return finds


def _close_all(finds: list[Find], open_: list[tuple[int, int]], end: int) -> None:
    while open_:
        index, _ = open_.pop()
        finds[index] = ended(finds[index], end)


# --- TOML -------------------------------------------------------------------------------------------------------------

_TOML_PIECE = re.compile(
    r'''"""(?:\\.|[^\\])*?(?:"""|\Z)|\'\'\'.*?(?:\'\'\'|\Z)|"(?:\\[^\n]|[^"\\\n])*"?|'[^'\n]*'?|#[^\n]*|[\[\]{}\n]''',
    re.DOTALL,
)
_TOML_TABLE = re.compile(r"""[ \t]*\[\[?((?:"(?:\\.|[^"\\])*"|'[^']*'|[^\]"'#])+)\]\]?[ \t\r]*(?:#|$)""")
# `++` and `*+` give nothing back: a long line of dashes without a `=` would be cut into words in every way there is.
_TOML_KEY = re.compile(r"""[ \t]*+((?:"(?:\\.|[^"\\])*+"|'[^']*+'|[\w-]++|[ \t]*+\.)++)[ \t]*+=""")


def _toml(text: str) -> tuple[list[Find], bool]:
    lines = text.split("\n")
    starts, complete = _toml_starts(text)
    finds: list[Find] = []
    table, key = -1, -1
    end = 0  # the last line with anything but a comment on it
    for number, line in enumerate(lines, 1):
        if number not in starts:
            end = number
            continue
        body = line.strip()
        if not body or body[0] == "#":
            continue
        header = _TOML_TABLE.match(line)
        entry = None if header else _TOML_KEY.match(line)
        if (header or entry) and key >= 0:
            finds[key] = ended(finds[key], end)
            key = -1
        if header:
            if table >= 0:
                finds[table] = ended(finds[table], end)
            table = len(finds)
            name = ".".join(part.strip() for part in header[1].split("."))
            finds.append(Find(name, "table", number, above(lines, number), number, -1, body.split("#")[0].strip()))
        elif entry:
            key = len(finds)
            shown = f"{entry[1]} = {_short(line[entry.end() :].strip())}".rstrip(" [{=")
            finds.append(Find(entry[1], "key", number, above(lines, number), number, table, shown))
        end = number
    for index in (key, table):
        if index >= 0:
            finds[index] = ended(finds[index], end)
    return finds, complete


def _toml_starts(text: str) -> tuple[set[int], bool]:
    """The lines on which no value is still open, and whether all are closed at the end."""
    starts = {1}
    line, depth = 1, 0
    header = False
    at_start = True
    for piece in _TOML_PIECE.finditer(text):
        what = piece[0]
        if what == "\n":
            line += 1
            if depth <= 0 or header:
                starts.add(line)
                depth = 0
            header, at_start = False, True
            continue
        if what in "[{":
            if at_start and depth == 0 and not text[text.rfind("\n", 0, piece.start()) + 1 : piece.start()].strip():
                header = True  # a table's brackets are closed on their own line, whatever it looks like
            depth += 1
        elif what in "]}":
            depth -= 1
        else:
            line += what.count("\n")
        at_start = False
    return starts, depth <= 0 or header


# --- INI --------------------------------------------------------------------------------------------------------------

_INI_SECTION = re.compile(r"[ \t]*\[([^\]\n]+)\]")
_INI_KEY = re.compile(r"([^\s\[#;=:][^=:]*)[=:]")


def _ini(lines: list[str]) -> list[Find]:
    finds: list[Find] = []
    section, key = -1, -1
    end = 0
    marks = ("#", ";")
    for number, line in enumerate(lines, 1):
        body = line.strip()
        if not body or body.startswith(marks):
            continue
        header = _INI_SECTION.match(line)
        indented = line[0] in " \t"
        entry = None if header or (indented and key >= 0) else _INI_KEY.match(line.lstrip())
        if header or entry:
            if key >= 0:
                finds[key] = ended(finds[key], end)
                key = -1
            if header:
                if section >= 0:
                    finds[section] = ended(finds[section], end)
                section = len(finds)
                first = above(lines, number, 0, marks)
                finds.append(Find(header[1].strip(), "section", number, first, number, -1, f"[{header[1].strip()}]"))
            elif entry:
                key = len(finds) if not indented else -1
                floor = finds[section].line if section >= 0 else 0
                name = entry[1].rstrip()
                shown = f"{name} = {_short(line.lstrip()[entry.end() :].strip())}"
                finds.append(Find(name, "key", number, above(lines, number, floor, marks), number, section, shown))
        end = number
    for index in (key, section):
        if index >= 0:
            finds[index] = ended(finds[index], end)
    return finds
