"""Walk through everything below a directory, in order and with bounds, for tools that list and search."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from eyespan import errors
from eyespan.context import CallContext
from eyespan.dialects.arguments import BadArguments
from eyespan.engine import Engine
from eyespan.guard.listing import Entry
from eyespan.source import FullStatus

MAX_ENTRIES = 50_000
"""The most entries of one walk."""
MAX_DEPTH = 200

Enters = Callable[[str, Entry], bool | None]
"""Whether a walk enters an entry: None leaves it out."""


def entries_below(path: str, engine: Engine, context: CallContext, enters: Enters) -> Iterator[tuple[str, Entry]]:
    """Yield the relative path and the entry of everything below `path`, each directory before its contents.

    Raises: ReadError; BadArguments for too many entries.
    """
    count = 0
    pending = [iter([("", entry) for entry in _entries(path, engine, context)])]
    while pending:
        step = next(pending[-1], None)
        if step is None:
            pending.pop()
            continue
        above, entry = step
        relative = f"{above}/{entry.name}" if above else entry.name
        entered = enters(relative, entry)
        if entered is None:
            continue
        count += 1
        if count > MAX_ENTRIES:
            raise BadArguments("too_large", f"More than {MAX_ENTRIES} entries; choose a smaller directory")
        yield relative, entry
        if entered and len(pending) < MAX_DEPTH:
            try:
                found = _entries(os.path.join(path, relative), engine, context)
            except (errors.Cancelled, errors.TimedOut):
                raise
            except errors.ReadError:
                continue  # removed since it was listed, not readable, or a link to something else
            pending.append(iter([(relative, one) for one in found]))


def status_of(path: str, engine: Engine, context: CallContext) -> FullStatus | None:
    """Return the status of a file; None for a link that leads nowhere or outside the roots."""
    context.check()
    try:
        return engine.describe(path, context)
    except (errors.Cancelled, errors.TimedOut):
        raise
    except errors.ReadError:
        return None


def _entries(path: str, engine: Engine, context: CallContext) -> tuple[Entry, ...]:
    context.check()
    listing = engine.list(path, context)
    if listing.partial:
        raise BadArguments("too_large", "A directory below has too many entries; choose a smaller one")
    return listing.entries
