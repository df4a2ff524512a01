"""Arguments in the words of other read tools: `file_path`, `offset` and `limit`, `start_line`, `view_range` and others.

Names are compared without case, underscores and hyphens, so `filePath`, `file_path` and `FilePath` are one. The result
has native's own names, and a note about the names that were translated, because the same word may mean something else
in another tool.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eyespan import selectors
from eyespan.dialects.arguments import as_number, as_whole, refusal, shown
from eyespan.dialects.native.arguments import NAMES, Ask, listed, noted
from eyespan.errors import BadArguments
from eyespan.escape import visible
from eyespan.extras.pasted.loose import loose_ranges
from eyespan.selectors import Piece, Target, is_area, parse_ranges, write_range
from eyespan.suggest import nearest

_WORDS = {
    "path": "file path paths filepath filepaths filename filenames absolutepath absolutefilepath relativepath target"
    " relativeworkspacepath targetfile targetfiles targets uri uris url selector selectors location locations resource"
    " directory dir",
    "budget": "budget maxtokens tokenbudget tokenlimit maxoutputtokens maxresulttokens tokens",
    "pattern": "pattern query search regex regexp searchpattern searchterm searchquery grep",
    "glob": "glob include includepattern filepattern globpattern",
    "context": "context contextlines linesofcontext around surroundinglines",
    "first": "startline linestart start from fromline firstline first beginline begin startlineoneindexed"
    " startlinenumber offset lineoffset",
    "last": "endline lineend end to toline lastline last endlineoneindexed endlinenumber endlineoneindexedinclusive",
    "count": "limit count length numlines linecount maxlines nlines numberoflines",
    "lines": "lines loc linerange lineranges viewrange ranges range",
    "head": "head headlines",
    "tail": "tail taillines",
    "symbol": "symbol symbolname function functionname class classname method methodname name namepath",
    "pages": "page pages pagerange",
    "cells": "cell cells",
    "sheet": "sheet sheetname",
    "table": "table tablename",
    "member": "member entry",
    "revision": "revision rev ref commit gitref",
    "line": "line linenumber lineno",
    "column": "column col character",
    "setting": "encoding linenumbers showlinenumbers numbers remember fold redact",
    "ignored": "explanation description reason reasoning thought intent purpose taskprogress shouldreadentirefile"
    " readentirefile requiresapproval recursive depth maxdepth includebody outputmode n",
}
ROLES = {word: role for role, words in _WORDS.items() for word in words.split()}
"""What the arguments of other tools mean here. `setting`: set where the tool is made; `ignored`: about the call."""
EMPTY: tuple[Any, ...] = (None, "", [], {})
_ALIASES = ("file", "path", "paths", "file_path")
"""Other names of `files` that mean nothing else; they need no note."""


# --- calls -----------------------------------------------------------------------------------------------------------


def translate_call(arguments: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return the arguments of a call in native's own names, and notes about those that were translated.

    Raises: BadArguments.
    """
    own: dict[str, Any] = {}
    others: dict[str, Any] = {}
    notes: list[str] = []
    for name, value in arguments.items():
        key = plain(name)
        role = key if key in NAMES else ROLES.get(key, "")
        role = "files" if role == "path" else role
        if role not in NAMES:
            if not role and key != "command":
                raise _unknown(name)
            others[name] = value
        elif value not in EMPTY:
            if role in own:
                raise _bad(f'{shown(name)} gives {role} a second time; write {{"{role}": ...}} once')
            own[role] = value
            if name != role and name not in _ALIASES:
                notes.append(f"{visible(name)} as {role}")
    part, translated = translate_file(others)
    notes += [visible(name) for name in translated]
    glob = part.pop("path", None)  # of the others, only a glob gives a path
    if glob is not None:
        own["files"] = [_below(one, glob) for one in listed(own.get("files", "."))]
    if "pattern" in part and "files" not in own:
        own["files"] = "."
    if part:
        own["files"] = [_with_part(item, part) for item in listed(own.get("files"))]
    return own, notes


def _below(directory: Any, glob: str) -> Any:
    return f"{directory.rstrip('/')}/{glob}" if isinstance(directory, str) and directory not in (".", "./") else glob


def _unknown(name: Any) -> BadArguments:
    similar = nearest(name, NAMES, 1) if isinstance(name, str) else []
    meant = f" Did you mean {similar[0]}?" if similar else ""
    return _bad(
        f"no argument {shown(name)}; there are {', '.join(NAMES[:-1])} and {NAMES[-1]}.{meant} "
        'Lines, symbols and searches belong to the file: {"files": ["a.py:10-20", "b.py::name", "src?word"]}'
    )


def _with_part(item: Any, part: Mapping[str, Any]) -> Any:
    """Return a file with the part that other arguments select of it. Raises: BadArguments."""
    if isinstance(item, str) and item:
        if part.keys() <= {"pattern"}:
            return f"{item}?{part['pattern']}"
        if any(isinstance(one.piece, (selectors.Ranges, selectors.SymbolPiece)) for one in selectors.readings(item)):
            path = next(one.path for one in selectors.readings(item) if one.piece is not None)
            other = f"{visible(path)}:{next(iter(part.values()))}"
            raise _bad(f'{shown(item)} has its own part; ask for one of them, as in {{"files": "{other}"}}')
        return {"path": item, **part}
    if isinstance(item, dict) and not any(name in item for name in part):
        return {**item, **part}
    raise _bad(f'{shown(item)} has its own {next(iter(part))}; write each file with its lines: "a.py:10-20"')


# --- files given as objects ------------------------------------------------------------------------------------------


def ask_of(item: Mapping[str, Any]) -> Ask:
    """Return the target of a file that is given as an object. Raises: BadArguments."""
    item, names = translate_file(item)
    path = item.get("path")
    if not isinstance(path, str) or not path:
        raise _bad(
            f'a file given as an object needs a path, as in {{"path": "a.py", "lines": "10-20"}}, not {shown(item)}'
        )
    member, revision = item.get("member", ""), item.get("revision", "")
    if not isinstance(member, str) or not isinstance(revision, str):
        raise _bad(f"member and revision must be texts, not {shown(item)}")
    piece, pattern = _piece(item), item.get("pattern", "")
    if not isinstance(pattern, str) or len(pattern) > selectors.MAX_PATTERN_CHARS or "\n" in pattern:
        raise _bad(f"a pattern must be a text of one line, not {shown(pattern)}")
    target = Target(path, piece, member, revision, pattern)
    found: tuple[Target, ...] = (target,)
    if piece is not None and not member and not revision and ("@" in path or "!/" in path):
        found = tuple(dict.fromkeys([target, *selectors.bases(path, piece)]))
    ask = Ask(selectors.write_target(target), found, is_object=True)
    return noted(ask, names) if names else ask


def _piece(item: Mapping[str, Any]) -> Piece | None:
    """Return what an object selects: one piece."""
    if "lines" in item:
        ranges = parse_ranges(item["lines"])
        if ranges is None:
            raise _bad(f'lines must be as in "10-20,40-60", not {shown(item["lines"])}')
        return selectors.Ranges(ranges)
    for name, kind in (("pages", selectors.Pages), ("cells", selectors.Cells)):
        if name in item:
            span = selectors.parse_span(item[name])
            if span is None:
                raise _bad(f'{name} must be as in "3-5", not {shown(item[name])}')
            return kind(*span)
    for name in ("symbol", "sheet", "range", "table"):
        if not isinstance(item.get(name, ""), str):
            raise _bad(f"a name must be a text, not {shown(item[name])}")
    if "symbol" in item:
        return selectors.SymbolPiece(item["symbol"])
    if "range" in item:
        return selectors.Area(item.get("sheet", ""), item["range"])
    named = item.get("sheet") or item.get("table")
    return selectors.Named(named) if named else None


def plain(name: Any) -> str:
    """Return the spelling by which names of arguments are compared; "" for a name that is no text."""
    if not isinstance(name, str):
        return ""
    return name.replace("_", "").replace("-", "").lower()


def translate_file(given: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return a file given as an object in native's own names, and the names that were translated.

    Raises: BadArguments, for names that are not known or do not fit together.
    """
    found: dict[str, Any] = {}
    parts: dict[str, Any] = {}
    translated: list[str] = []
    for name, value in given.items():
        if value in EMPTY:
            continue
        role = ROLES.get(plain(name), "")
        if plain(name) == "command":
            if value != "view":
                raise _bad(f"this tool only reads, so it takes no command {shown(value)}; write {_EXAMPLE}")
            role = "ignored"
        if role == "setting":
            translated.append(f"{name} is a setting of the tool, not of a call")
        if role in ("ignored", "setting"):
            continue
        if name == "range" and isinstance(value, str) and parse_ranges(value) is None and is_area(value):
            role = "range"  # cells of a sheet, not lines
        if role == "pattern" and str(value).startswith("*"):
            role = "glob"  # no expression starts so
        if role in ("", "budget"):
            raise _bad(
                f"a file has no {shown(name)}; it has a path and perhaps lines, symbol, pattern, pages, cells, sheet, "
                f'range, table, member, revision, as in {{"path": "a.py", "lines": "10-20"}}'
            )
        if role in (found if role == "path" else parts):
            raise _bad(f"{shown(name)} gives the {role} of the file a second time; write {_EXAMPLE}")
        (found if role == "path" else parts)[role] = value
        if name != role:
            translated.append(name)
    lines = _lines(parts)
    if lines is not None:
        if "lines" in parts:
            raise _bad(f"the lines are given twice, as lines and by a start or an end; write {_EXAMPLE}")
        found["lines"] = lines
    for name in _PLACES:
        parts.pop(name, None)
    glob = parts.pop("glob", None)
    if isinstance(glob, str):
        base = str(found.get("path") or ".").rstrip("/")
        found["path"] = f"{'' if base == '.' else f'{base}/'}{glob if '/' in glob else f'**/{glob}'}"
    for name in ("lines", "pages", "cells"):
        if name in parts:
            parts[name] = spelled_lines(parts[name])
    return {**found, **parts}, translated


_EXAMPLE = '{"files": ["a.py:10-20"]}'


def _lines(parts: Mapping[str, Any]) -> str | None:
    """Return the lines that a start, an end and a count give together. Raises: BadArguments."""
    numbers = {name: _number(parts[name], name) for name in _PLACES if name in parts}
    if "head" in numbers or "tail" in numbers:
        if len(numbers) > 1:
            raise _bad(f"head and tail stand alone; write several ranges as {_EXAMPLE}")
        return f"1-{max(1, numbers['head'])}" if "head" in numbers else f"-{max(1, abs(numbers['tail']))}"
    first = numbers.get("first")
    if first is not None and first < 0:
        return f"-{-first}"  # from the end, as some tools count
    if not numbers:
        return None
    if "line" in numbers:
        if numbers.keys() - {"line", "column"}:
            raise _bad(f"a line and a range exclude each other; write {_EXAMPLE}")
        line = max(1, numbers["line"])
        return f"{line}:{max(1, numbers['column'])}" if "column" in numbers else f"{line}"
    start = max(1, first or 1)
    if "last" in numbers:
        if "count" in numbers:
            raise _bad(f"an end and a count exclude each other; write {_EXAMPLE}")
        last = numbers["last"]
        return f"{min(start, last)}-{max(start, last)}" if last > 0 else f"{start}-"
    if "count" in numbers:
        if numbers["count"] < 1:
            raise _bad(f"the number of lines must be 1 or more, not {numbers['count']}; the last 5 lines are a.py:-5")
        return f"{start}+{numbers['count']}"
    return f"{start}-"


_PLACES = ("first", "last", "count", "head", "tail", "line", "column")


def spelled_lines(value: Any) -> str:
    """Return ranges as text: "10-20", 10, [10, 20], ["1-2", "5-6"], [[1, 2], [5, 6]], {"start": 1, "end": 2}.

    A text that is no range in any of the usual spellings is returned unchanged. Raises: BadArguments.
    """
    if isinstance(value, str):
        ranges = None if parse_ranges(value) else loose_ranges(value)
        return value if ranges is None else ",".join(map(write_range, ranges))
    if as_whole(value) is not None:
        return str(as_whole(value))
    if isinstance(value, dict):
        return _spelled_object(value)
    if isinstance(value, list) and value:
        numbers = [as_whole(item) for item in value]
        if len(value) == 2 and None not in numbers:
            first, last = numbers
            return f"{max(1, first or 1)}-{last}" if last is not None and last > 0 else f"{max(1, first or 1)}-"
        return ",".join([spelled_lines(item) for item in value])
    raise _bad(f'lines must be as in "10-20,40-60", not {shown(value)}')


def _spelled_object(value: Mapping[str, Any]) -> str:
    """Return a range given as an object; positions of language servers count from 0. Raises: BadArguments."""
    ends = {plain(name): end for name, end in value.items()}
    start, end = ends.get("start"), ends.get("end")
    if isinstance(start, dict) and isinstance(end, dict) and "line" in start and "line" in end:
        first, last = _number(start["line"], "line"), _number(end["line"], "line")
        by = 0 if "column" in start else 1  # of syntax trees, whose lines count from 1
        return f"{first + by}-{last + by}"
    parts: dict[str, Any] = {}
    for name, number in ends.items():
        role = ROLES.get(name, "")
        if role not in ("first", "last", "count"):
            raise _bad(f'lines must be as in "10-20,40-60", not {shown(value)}')
        parts[role] = number
    lines = _lines(parts)
    if lines is None:
        raise _bad(f'lines must be as in "10-20,40-60", not {shown(value)}')
    return lines


def _number(value: Any, name: str) -> int:
    number = as_number(value, ("float", "text"))
    if number is None:
        raise _bad(f"the {_ROLES.get(name, name)} must be a whole number, not {shown(value)}; write {_EXAMPLE}")
    return number


_ROLES = {"first": "first line", "last": "last line", "count": "number of lines"}


_bad = refusal("invalid_arguments")
