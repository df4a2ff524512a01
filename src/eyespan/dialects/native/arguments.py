"""The arguments of the native tool, from what models send to targets."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from eyespan import selectors
from eyespan.dialects.arguments import refusal, shown
from eyespan.dialects.native import foreign, holdings
from eyespan.errors import BadArguments
from eyespan.escape import visible
from eyespan.model import CharRange, Lines
from eyespan.selectors import Piece, Target
from eyespan.selectors.loose import loose_ranges

LEAST_BUDGET = 50
HIGHEST_BUDGET = 200_000
MAX_FILES = 100
"""The targets of one call."""
MAX_CONTEXT = 50


@dataclass(frozen=True, slots=True)
class Ask:
    """One target as the caller wrote it, and the ways to read it."""

    written: str
    readings: tuple[Target, ...]
    is_object: bool = False
    """Path and piece were given separately, so the path is read as nothing else."""
    note: str = ""
    """The names of other tools that were translated into this target."""


@dataclass(frozen=True, slots=True)
class NativeArgs:
    """The arguments of one call."""

    asks: tuple[Ask, ...]
    budget: int
    known: Mapping[str, tuple[CharRange, ...]]
    """Hashes of parts that the caller holds, each with the lines of the part if they are given."""
    outline: bool
    document: bool = False
    """Files that are text and documents, such as web pages, are shown as documents."""
    fresh: bool = False
    """Everything is sent, whatever the caller holds."""
    has_budget: bool = False
    """The caller names the budget."""
    context: int | None = None
    """The lines around each match of a search."""


def parse_arguments(arguments: Any, default_budget: int) -> NativeArgs:
    """Check the arguments of a call. Raises: BadArguments."""
    if isinstance(arguments, str) or (isinstance(arguments, list) and arguments):
        arguments = {"files": arguments}
    if not isinstance(arguments, dict):
        raise _bad('the arguments must be an object, as in {"files": ["a.py:10-20"]}')
    notes: list[str] = []
    part: dict[str, Any] = {}
    if not _NAMES_SET.issuperset(arguments):
        arguments, part, notes = _translated(arguments)
    items = _listed(arguments.get("files"))
    if not items:
        raise _bad('files is required: a path, or several, as in ["a.py", "b.py:10-20"]')
    if len(items) > MAX_FILES:
        raise _bad(f"files names {len(items)} targets; a call takes {MAX_FILES}. Send the others in further calls")
    if part:
        items = [_with_part(item, part) for item in items]
    asks = tuple([_ask(item) for item in items])
    if notes:
        asks = tuple([_noted(ask, notes) for ask in asks[:1]]) + asks[1:]
    return NativeArgs(
        asks=asks,
        budget=_budget(arguments.get("budget"), default_budget),
        known=known_parts(arguments.get("known")),
        outline=_is_true(arguments, "outline"),
        document=_is_true(arguments, "document"),
        fresh=_is_true(arguments, "fresh"),
        has_budget=arguments.get("budget") is not None,
        context=_context(arguments.get("context")),
    )


def _translated(arguments: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
    """Return arguments of other tools in native's own names, the part of the files that they select, and notes.

    Raises: BadArguments.
    """
    own: dict[str, Any] = {}
    others: dict[str, Any] = {}
    notes: list[str] = []
    for name, value in arguments.items():
        key = foreign.plain(name)
        role = key if key in _NAMES else foreign.ROLES.get(key, "")
        role = "files" if role == "path" else role
        if role not in _NAMES:
            if not role and key != "command":
                raise _unknown(name)
            others[name] = value
        elif value not in foreign.EMPTY:
            if role in own:
                raise _bad(f'{shown(name)} gives {role} a second time; write {{"{role}": ...}} once')
            own[role] = value
            if name != role and name not in _ALIASES:
                notes.append(f"{visible(name)} as {role}")
    part, translated = foreign.translate_file(others)
    notes += [visible(name) for name in translated]
    glob = part.pop("path", None)  # of the others, only a glob gives a path
    if glob is not None:
        own["files"] = [_below(one, glob) for one in _listed(own.get("files", "."))]
    if "pattern" in part and "files" not in own:
        own["files"] = "."
    return own, part, notes


def _below(directory: Any, glob: str) -> Any:
    return f"{directory.rstrip('/')}/{glob}" if isinstance(directory, str) and directory not in (".", "./") else glob


def _unknown(name: Any) -> BadArguments:
    from eyespan.suggest import nearest

    similar = nearest(name, _NAMES, 1) if isinstance(name, str) else []
    meant = f" Did you mean {similar[0]}?" if similar else ""
    return _bad(
        f"no argument {shown(name)}; there are {', '.join(_NAMES[:-1])} and {_NAMES[-1]}.{meant} "
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


def _noted(ask: Ask, names: list[str]) -> Ask:
    return replace(ask, note=f"read as {visible(ask.written)} ({', '.join(dict.fromkeys(names))})")


def _is_true(arguments: Mapping[str, Any], name: str) -> bool:
    value = arguments.get(name)
    found = False if value is None else foreign.as_bool(value)
    if found is None:
        raise _bad(f"{name} must be true or false, not {shown(value)}")
    return found


def _context(value: Any) -> int | None:
    number = None if value is None else foreign.as_number(value)
    if value is not None and (number is None or not 0 <= number <= MAX_CONTEXT):
        raise _bad(f"context must be a number of lines from 0 to {MAX_CONTEXT}, not {shown(value)}")
    return number


def _budget(value: Any, default: int) -> int:
    if value is None:
        return default
    number = foreign.as_number(value)
    if number is None or number < 1:
        raise _bad(f"budget must be a number of tokens, {LEAST_BUDGET} or more, not {shown(value)}")
    return max(LEAST_BUDGET, min(number, HIGHEST_BUDGET))


_NAMES = ("files", "budget", "known", "outline", "document", "fresh", "context")
_NAMES_SET = frozenset(_NAMES)
_ALIASES = ("file", "path", "paths", "file_path")
"""Other names of `files` that mean nothing else; they need no note."""


def _listed(files: Any) -> list[Any]:
    if isinstance(files, str) and files.startswith("[") and files.endswith("]"):
        try:  # some models send the list as text
            files = json.loads(files)
        except (ValueError, RecursionError):
            pass
    return files if isinstance(files, list) else [] if files is None else [files]


def _ask(item: Any) -> Ask:
    if isinstance(item, str) and item:
        return Ask(item, tuple(selectors.readings(item)))
    if not isinstance(item, dict):
        raise _bad(f"files holds {shown(item)}; each must be a path with or without a selector")
    item, names = foreign.translate_file(item)
    path = item.get("path")
    if not isinstance(path, str) or not path:
        raise _bad(
            f'a file given as an object needs a path, as in {{"path": "a.py", "lines": "10-20"}}, not {shown(item)}'
        )
    member, revision = item.get("member") or "", item.get("revision") or ""
    if not isinstance(member, str) or not isinstance(revision, str):
        raise _bad(f"member and revision must be texts, not {shown(item)}")
    piece = _piece(item)
    pattern = item.get("pattern") or ""
    if not isinstance(pattern, str) or len(pattern) > selectors.MAX_PATTERN_CHARS or "\n" in pattern:
        raise _bad(f"a pattern must be a text of one line, not {shown(pattern)}")
    target = Target(path, piece, member, revision, pattern)
    found: tuple[Target, ...] = (target,)
    if piece is not None and not member and not revision and ("@" in path or "!/" in path):
        found = tuple(dict.fromkeys([target, *selectors.bases(path, piece)]))
    ask = Ask(selectors.write_target(target), found, is_object=True)
    return _noted(ask, names) if names else ask


def _piece(item: Mapping[str, Any]) -> Piece | None:
    """What an object selects; its one piece says it in so many words."""
    lines, pages, cells = item.get("lines"), item.get("pages"), item.get("cells")
    if lines is not None:
        ranges = selectors.parse_ranges(lines) or loose_ranges(lines)
        if ranges is None:
            raise _bad(f'lines must be as in "10-20,40-60", not {shown(lines)}')
        return selectors.Ranges(ranges)
    for name, given, kind in (("pages", pages, selectors.Pages), ("cells", cells, selectors.Cells)):
        if given is not None:
            span = selectors.parse_span(foreign.spelled_lines(given))
            if span is None:
                raise _bad(f'{name} must be as in "3-5", not {shown(given)}')
            return kind(*span)
    symbol, sheet, area = item.get("symbol"), item.get("sheet"), item.get("range")
    for value in (symbol, sheet, area, item.get("table")):
        if value is not None and not (isinstance(value, str) and value):
            raise _bad(f"a name must be a text, not {shown(value)}")
    if symbol:
        return selectors.SymbolPiece(symbol)
    if area:
        return selectors.Area(sheet or "", area)
    named = sheet or item.get("table")
    return selectors.Named(named) if named else None


def known_parts(value: Any) -> dict[str, tuple[CharRange, ...]]:
    """Return the hashes that a caller holds; `a.py:10-40 #482913758201` gives the lines of the part, too."""
    given = value if isinstance(value, list) else [] if value is None else [value]
    found: dict[str, tuple[CharRange, ...]] = {}
    for item in given:
        known = holdings.as_hash(item)
        if known is None:
            raise _bad(f"known must be hashes of earlier answers, such as 482913758201, not {shown(item)}")
        lines = _KNOWN_LINES.search(item) if isinstance(item, str) else None
        ranges = selectors.parse_ranges(lines[1]) if lines else None
        whole = [one for one in ranges or () if isinstance(one, Lines)]
        found[known] = tuple([CharRange(one.first, 1, one.first + (one.count or 1) - 1) for one in whole])
    return found


_KNOWN_LINES = re.compile(r"([0-9][0-9,-]*)(?:/[0-9?]+)?\s*#[0-9]+$")
_bad = refusal("invalid_arguments")
