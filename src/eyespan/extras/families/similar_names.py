"""Names in a directory that look like the name of a missing file."""

from __future__ import annotations

import os

from eyespan import errors
from eyespan.context import CallContext
from eyespan.engine import Engine


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
