"""Names in a directory that look like the name of a missing file."""

from __future__ import annotations

import os
from dataclasses import replace

from eyespan import errors
from eyespan.context import CallContext
from eyespan.dialects.arguments import BadArguments
from eyespan.dialects.table import TableDialect
from eyespan.engine import Engine
from eyespan.errors import NotFound
from eyespan.escape import written_path
from eyespan.model import ReadRequest
from eyespan.opened import Opened
from eyespan.suggest import lookalikes


def similar_names(path: str, engine: Engine, context: CallContext, most: int = 3) -> list[str]:
    """Return names beside a missing file that contain its name or are part of it, whatever the case.

    Raises: Cancelled, TimedOut.
    """
    directory, base = os.path.split(path)
    wanted = base.lower()
    try:
        names = [entry.name for entry in engine.list(directory or ".", context).entries if entry.name != base]
    except (errors.Cancelled, errors.TimedOut):
        raise
    except errors.ReadError:
        return []
    return [name for name in names if wanted in name.lower() or name.lower() in wanted][:most]


def as_missing(error: NotFound, path: str, engine: Engine, context: CallContext) -> Exception:
    """Return the error of a missing file, with the names beside it that look like its name.

    Raises: Cancelled, TimedOut.
    """
    similar = similar_names(path, engine, context)
    if not similar:
        return error
    full = os.path.join(engine.guard.roots[0].path, path)
    names = [written_path(os.path.join(os.path.dirname(full), name)) for name in similar]
    lines = [f"File not found: {written_path(full)}", "", "Did you mean one of these?", *names]
    return BadArguments(error.code, "\n".join(lines))


class LookalikeDialect(TableDialect):
    """A dialect that reads a missing file by the only name beside it that looks the same."""

    def opened(self, request: ReadRequest, engine: Engine, context: CallContext) -> Opened:
        try:
            return super().opened(request, engine, context)
        except NotFound:
            directory, name = os.path.split(request.path)
            if name.isascii() and " " not in name and "'" not in name:
                raise
            similar = lookalikes(name, [entry.name for entry in engine.list(directory or ".", context).entries])
            if len(similar) != 1:
                raise
            return engine.open(replace(request, path=os.path.join(directory, similar[0])), context)
