"""The arguments of the native tool, from what models send to targets.

The words of other tools, and files given as objects, are translated by the extra `pasted`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

from eyespan import plugins, selectors
from eyespan.dialects.arguments import as_number, refusal, shown
from eyespan.dialects.native import holdings
from eyespan.escape import visible
from eyespan.model import CharRange, Lines
from eyespan.selectors import Target

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
    if not _NAMES_SET.issuperset(arguments):
        arguments, notes = _foreign().translate_call(arguments)
    items = listed(arguments.get("files"))
    if not items:
        raise _bad('files is required: a path, or several, as in ["a.py", "b.py:10-20"]')
    if len(items) > MAX_FILES:
        raise _bad(f"files names {len(items)} targets; a call takes {MAX_FILES}. Send the others in further calls")
    asks = tuple([_ask(item) for item in items])
    if notes:
        asks = tuple([noted(ask, notes) for ask in asks[:1]]) + asks[1:]
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


def _foreign() -> Any:
    """Return the module that translates the words of other tools."""
    return import_module(plugins.own("ARGUMENTS")[0])


def noted(ask: Ask, names: Sequence[str]) -> Ask:
    """Return a target with a note about the names that were translated."""
    return replace(ask, note=f"read as {visible(ask.written)} ({', '.join(dict.fromkeys(names))})")


def _is_true(arguments: Mapping[str, Any], name: str) -> bool:
    value = arguments.get(name)
    found = False if value is None else _TRUTH.get(str(value).lower()) if isinstance(value, (int, str)) else None
    if found is None:
        raise _bad(f"{name} must be true or false, not {shown(value)}")
    return found


def _context(value: Any) -> int | None:
    number = None if value is None else as_number(value, ("float", "text"))
    if value is not None and (number is None or not 0 <= number <= MAX_CONTEXT):
        raise _bad(f"context must be a number of lines from 0 to {MAX_CONTEXT}, not {shown(value)}")
    return number


def _budget(value: Any, default: int) -> int:
    if value is None:
        return default
    number = as_number(value, ("float", "text"))
    if number is None or number < 1:
        raise _bad(f"budget must be a number of tokens, {LEAST_BUDGET} or more, not {shown(value)}")
    return max(LEAST_BUDGET, min(number, HIGHEST_BUDGET))


NAMES = ("files", "budget", "known", "outline", "document", "fresh", "context")
_NAMES_SET = frozenset(NAMES)
_TRUTH = {"true": True, "false": False, "yes": True, "no": False, "1": True, "0": False}


def listed(files: Any) -> list[Any]:
    """Return the files of a call as a list."""
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
    ask: Ask = _foreign().ask_of(item)
    return ask


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
