"""The arguments of the native tool, from what models send to targets."""

from __future__ import annotations

from eyespan import selectors
from eyespan.dialects.arguments import as_whole, shown
from eyespan.dialects.native import versions
from eyespan.errors import BadArguments
from eyespan.record import record
from eyespan.selectors import Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from eyespan.selectors import Piece

LEAST_BUDGET = 50
HIGHEST_BUDGET = 200_000
MAX_FILES = 100


@record
class Ask:
    """One target as the caller wrote it, and the ways to read it."""

    written: str
    readings: tuple[Target, ...]
    is_object: bool = False
    """Path and piece were given separately, so the path is read as nothing else."""


@record
class NativeArgs:
    """The arguments of one call."""

    asks: tuple[Ask, ...]
    budget: int
    known: frozenset[str]
    outline: bool
    document: bool = False
    """Files that are text and documents, such as web pages, are shown as documents."""


def parse_arguments(arguments: Any, default_budget: int) -> NativeArgs:
    """Check the arguments of a call. Raises: BadArguments."""
    if isinstance(arguments, str):
        arguments = {"files": arguments}
    if not isinstance(arguments, dict):
        raise _bad('the arguments must be an object, as in {"files": ["a.py:10-20"]}')
    unknown = [name for name in arguments if name not in (*_NAMES, *_ALIASES)]
    if unknown:
        raise _bad(
            f"no argument {shown(unknown[0])}; there are {', '.join(_NAMES[:-1])} and {_NAMES[-1]}. "
            'Lines belong to the file: "a.py:10-20"'
        )
    files = next((arguments[name] for name in ("files", *_ALIASES) if arguments.get(name) is not None), None)
    asks = tuple([_ask(item) for item in _listed(files)])
    if not asks:
        raise _bad('files is required: a path, or several, as in ["a.py", "b.py:10-20"]')
    if len(asks) > MAX_FILES:
        raise _bad(f"files names {len(asks)} targets; at most {MAX_FILES} fit in a call")
    for name in ("outline", "document"):
        if arguments.get(name) is not None and type(arguments[name]) is not bool:
            raise _bad(f"{name} must be true or false, not {shown(arguments[name])}")
    return NativeArgs(
        asks=asks,
        budget=_budget(arguments.get("budget"), default_budget),
        known=_known(arguments.get("known")),
        outline=bool(arguments.get("outline")),
        document=bool(arguments.get("document")),
    )


def _budget(value: Any, default: int) -> int:
    if value is None:
        return default
    number = as_whole(value)
    if number is None or number < 1:
        raise _bad(f"budget must be a number of tokens, {LEAST_BUDGET} or more, not {shown(value)}")
    return max(LEAST_BUDGET, min(number, HIGHEST_BUDGET))


_NAMES = ("files", "budget", "known", "outline", "document")
_ALIASES = ("file", "path", "paths", "file_path")
"""What models that know other tools call `files`."""
_OBJECT = ("path", "lines", "symbol", "pages", "cells", "sheet", "range", "table", "member", "revision")


def _listed(files: Any) -> list[Any]:
    if isinstance(files, str) and files.startswith("[") and files.endswith("]"):
        import json

        try:  # some models send the list as text
            files = json.loads(files)
        except ValueError:
            pass
    return files if isinstance(files, list) else [] if files is None else [files]


def _ask(item: Any) -> Ask:
    if isinstance(item, str) and item:
        return Ask(item, tuple(selectors.readings(item)))
    if not isinstance(item, dict):
        raise _bad(f"files holds {shown(item)}; each must be a path with or without a selector")
    unknown = [name for name in item if name not in _OBJECT]
    path = item.get("path")
    if unknown or not isinstance(path, str) or not path:
        raise _bad(f"a file given as an object has path and perhaps {', '.join(_OBJECT[1:])}; not {shown(item)}")
    member, revision = item.get("member") or "", item.get("revision") or ""
    if not isinstance(member, str) or not isinstance(revision, str):
        raise _bad(f"member and revision must be texts, not {shown(item)}")
    target = Target(path, _piece(item), member, revision)
    return Ask(selectors.write_target(target), (target,), is_object=True)


def _piece(item: Mapping[str, Any]) -> Piece | None:
    """What an object selects; its one piece says it in so many words."""
    lines, pages, cells = item.get("lines"), item.get("pages"), item.get("cells")
    if lines is not None:
        text = _spelled(lines)
        ranges = selectors.parse_ranges(text)
        if ranges is None:
            raise _bad(f'lines must be as in "10-20,40-60", not {shown(lines)}')
        return selectors.Ranges(ranges)
    for name, given, kind in (("pages", pages, selectors.Pages), ("cells", cells, selectors.Cells)):
        if given is not None:
            span = selectors.parse_span(_spelled(given))
            if span is None:
                raise _bad(f'{name} must be as in "3-5", not {shown(given)}')
            return kind(*span)
    symbol, sheet, area = item.get("symbol"), item.get("sheet"), item.get("range")
    for value in (symbol, sheet, area, item.get("table")):
        if value is not None and not (isinstance(value, str) and value):
            raise _bad(f"a name must be a text, not {shown(value)}")
    if symbol:
        return selectors.Symbol(symbol)
    if area:
        return selectors.Area(sheet or "", area)
    named = sheet or item.get("table")
    return selectors.Named(named) if named else None


def _spelled(value: Any) -> str:
    """A range as text: "10-20", 10, or [10, 20]."""
    if isinstance(value, list) and len(value) == 2 and all(type(number) is int for number in value):
        return f"{value[0]}-{value[1]}" if value[1] > 0 else f"{value[0]}-"
    return str(value) if type(value) in (str, int) else ""


def _known(value: Any) -> frozenset[str]:
    given = value if isinstance(value, list) else [] if value is None else [value]
    found = []
    for item in given:
        known = versions.as_hash(item)
        if known is None:
            raise _bad(f"known must be hashes as this tool tells them, such as 482913758201, not {shown(item)}")
        found.append(known)
    return frozenset(found)


def _bad(text: str) -> BadArguments:
    return BadArguments("invalid_arguments", text)
