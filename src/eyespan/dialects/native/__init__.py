"""eyespan's own tool, `read`: several files and pieces of files in one call, within one budget, honest about all of it.

A call names targets (docs/selectors.md). Each becomes a part: text by lines, an outline, a folder's names, pages,
pictures, or the reason why not. All parts share the budget; whatever does not fit is named with the selector that gets
it, so nothing is cut in silence and reading on always makes progress. docs/native.md describes the answer.
"""

from __future__ import annotations

from eyespan import selectors
from eyespan.context import CallContext
from eyespan.dialects.arguments import BadArguments, as_whole, shown
from eyespan.dialects.base import Dialect
from eyespan.dialects.native import gutter, versions
from eyespan.dialects.native.call import Call
from eyespan.dialects.native.gutter import SEPARATORS, Style
from eyespan.dialects.native.parts import in_words
from eyespan.model import ReplyError, ToolSpec
from eyespan.record import record
from eyespan.selectors import Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from eyespan.dialects.base import Admit
    from eyespan.engine import Engine
    from eyespan.errors import ReadError
    from eyespan.model import Reply
    from eyespan.selectors import Piece

DEFAULT_BUDGET = 10_000
LEAST_BUDGET = 50
HIGHEST_BUDGET = 200_000
MAX_FILES = 100


@record
class Ask:
    """One thing the caller wants, as written, and the ways to understand it."""

    written: str
    readings: tuple[Target, ...]


@record
class NativeArgs:
    asks: tuple[Ask, ...]
    budget: int
    known: frozenset[str]
    outline: bool


class Native(Dialect):
    name = "native"
    summary = (
        "eyespan's own: many files and ranges in one call, selectors, a token budget, symbols, hashes, honest facts"
    )
    settings = {"budget": DEFAULT_BUDGET, "separator": "tab", "numbers": gutter.EVERY, "redact": False}

    def _configure(self, settings: Mapping[str, Any]) -> None:
        budget, every = settings["budget"], settings["numbers"]
        if type(budget) is not int or not LEAST_BUDGET <= budget <= HIGHEST_BUDGET:
            raise ValueError(
                f"budget must be a number of tokens from {LEAST_BUDGET} to {HIGHEST_BUDGET}, not {budget!r}"
            )
        if settings["separator"] not in SEPARATORS:
            raise ValueError(f"separator must be one of {', '.join(SEPARATORS)}, not {settings['separator']!r}")
        if type(every) is not int or not 0 <= every <= 100:
            raise ValueError(
                f"numbers must be from 0 (none) and 1 (every line) to 100 (every hundredth), not {every!r}"
            )
        self.budget = budget
        self.style = Style(SEPARATORS[settings["separator"]], every)
        self.redact = bool(settings["redact"])
        self.versions = versions.Versions()

    def _spec(self) -> ToolSpec:
        return ToolSpec("read", _description(self.style), _schema(self.budget))

    def run(self, arguments: Any, engine: Engine, context: CallContext | None) -> Reply:
        return Call(
            self, self.parse(arguments, engine.admit), engine, context or CallContext(engine.deadline_seconds)
        ).reply()

    # --- arguments -------------------------------------------------------------------------------------------------

    def parse(self, arguments: Any, admit: Admit) -> NativeArgs:
        if isinstance(arguments, str):
            arguments = {"files": arguments}
        if not isinstance(arguments, dict):
            raise _bad('the arguments must be an object, as in {"files": ["a.py:10-20"]}')
        unknown = [name for name in arguments if name not in ("files", "budget", "known", "outline", *_ALIASES)]
        if unknown:
            raise _bad(
                f"no argument {shown(unknown[0])}; there are files, budget, known and outline. "
                'Lines belong to the file: "a.py:10-20"'
            )
        files = next((arguments[name] for name in ("files", *_ALIASES) if arguments.get(name) is not None), None)
        asks = tuple([_ask(item) for item in _listed(files)])
        if not asks:
            raise _bad('files is required: a path, or several, as in ["a.py", "b.py:10-20"]')
        if len(asks) > MAX_FILES:
            raise _bad(f"files names {len(asks)} targets; at most {MAX_FILES} fit in a call")
        outline = arguments.get("outline")
        if outline is not None and type(outline) is not bool:
            raise _bad(f"outline must be true or false, not {shown(outline)}")
        return NativeArgs(asks, self._budget(arguments.get("budget")), _known(arguments.get("known")), bool(outline))

    def _budget(self, value: Any) -> int:
        if value is None:
            return self.budget
        number = as_whole(value)
        if number is None or number < 1:
            raise _bad(f"budget must be a number of tokens, {LEAST_BUDGET} or more, not {shown(value)}")
        return max(LEAST_BUDGET, min(number, HIGHEST_BUDGET))

    def render_error(self, error: ReadError) -> ReplyError:
        return ReplyError(error.code, in_words(error))


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
    return Ask(selectors.write_target(target), (target,))


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


# --- the words of the tool -----------------------------------------------------------------------------------------


def _description(style: Style) -> str:
    mark = {"\t": "tab", " ": "blank"}.get(style.separator, style.separator)
    if style.every == 0:
        numbers = "Lines come bare."
    elif style.every == 1:
        numbers = f"Lines come as number, {mark}, text."
    else:
        numbers = f"Lines come as {mark}, text; every {_ordinal(style.every)} line has its number before the {mark}."
    return (
        "Reads files, documents and pictures; many in one call. Selectors follow the path: "
        "a.py:10-20,40-60 a.py:10+5 app.log:-50 a.c:120:8 lib.py::Class.method doc.pdf:p3-5 nb.ipynb:c2-4 "
        "book.xlsx:Sheet1!A1:D20 logs.zip!/app.log. "
        f"A folder gives its names. {numbers} A part begins with path:lines/total #hash. "
        "What exceeds the budget is listed at the end as selectors that read on."
    )


def _ordinal(number: int) -> str:
    return {2: "second", 5: "fifth", 10: "tenth"}.get(number, f"{number}th")


def _schema(budget: int) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            "files": {
                "description": 'Paths with selectors, or {"path": ..., "lines" | "symbol" | "pages" | "cells": ...}',
                "anyOf": [
                    {"type": "string"},
                    {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "object"}]}},
                ],
            },
            "budget": {"type": "integer", "description": f"Tokens for the whole answer (default {budget})"},
            "known": {
                "type": "array",
                "items": {"type": "string"},
                "description": "Hashes of parts you hold; unchanged ones are not sent again",
            },
            "outline": {"type": "boolean", "description": "Symbols with their lines instead of text"},
        },
        "required": ["files"],
    }
