"""Walk through everything below a directory, in order and with bounds, for tools that list and search."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator

from eyespan import errors
from eyespan.context import CallContext
from eyespan.dialects.arguments import BadArguments
from eyespan.engine import Engine
from eyespan.guard.listing import Entry
from eyespan.source import FullStatus

MAX_DEPTH = 200
KEPT_BYTES = 400
"""The memory of an entry that a tool keeps for its answer, without its path."""

Enters = Callable[[str, Entry], bool | None]
"""Whether a walk enters an entry: None leaves it out."""


def entries_below(path: str, engine: Engine, context: CallContext, enters: Enters) -> Iterator[tuple[str, Entry]]:
    """Yield the relative path and the entry of everything below `path`, each directory before its contents.

    The deadline and the memory of the call are its limits. Raises: ReadError; BadArguments for too large a directory.
    """
    pending = [_entries("", path, engine, context)]
    while pending:
        above, entries, held_bytes = pending[-1]
        if (entry := next(entries, None)) is None:
            pending.pop()
            context.memory.refund(held_bytes)
            continue
        relative = f"{above}/{entry.name}" if above else entry.name
        entered = enters(relative, entry)
        if entered is None:
            continue
        yield relative, entry
        if entered and len(pending) < MAX_DEPTH:
            try:
                pending.append(_entries(relative, path, engine, context))
            except (errors.Cancelled, errors.TimedOut):
                raise
            except errors.ReadError:
                continue  # removed since it was listed, not readable, or a link to something else


def keep(path: str, context: CallContext) -> str:
    """Return a path that becomes a part of the answer. Raises: TooMuchMemory."""
    context.charge(KEPT_BYTES + 4 * len(path))
    return path


def status_of(path: str, engine: Engine, context: CallContext) -> FullStatus | None:
    """Return the status of a file; None for a link that leads nowhere or outside the roots."""
    context.check()
    try:
        return engine.describe(path, context)
    except (errors.Cancelled, errors.TimedOut):
        raise
    except errors.ReadError:
        return None


def is_directory(directory: str, entry: Entry, engine: Engine, context: CallContext) -> bool:
    """Return True for a directory, and for a link to one below the roots."""
    if entry.what != "link":
        return entry.what == "directory"
    status = status_of(os.path.join(directory, entry.name), engine, context)
    return status is not None and stat.S_ISDIR(status.st_mode)


def _entries(above: str, path: str, engine: Engine, context: CallContext) -> tuple[str, Iterator[Entry], int]:
    """Return the path of a directory, its entries, and the memory that they take."""
    context.check()
    before_bytes = context.memory.charged_bytes
    listing = engine.list(os.path.join(path, above) if above else path, context)
    if listing.partial:
        raise BadArguments("too_large", "A directory below has too many entries; choose a smaller one")
    return above, iter(listing.entries), context.memory.charged_bytes - before_bytes
