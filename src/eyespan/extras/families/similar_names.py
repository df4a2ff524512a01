"""Dialects that name the files beside a missing one whose names look like its name, or read the only one."""

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

MAX_SIMILAR = 3


class SimilarDialect(TableDialect):
    """A dialect that names the files beside a missing one that contain its name or are part of it, in any case."""

    def opened(self, request: ReadRequest, engine: Engine, context: CallContext) -> Opened:
        try:
            return super().opened(request, engine, context)
        except NotFound as error:
            directory, base = os.path.split(os.path.join(engine.guard.roots[0].path, request.path))
            wanted = base.lower()
            try:
                names = [entry.name for entry in engine.list(directory, context).entries if entry.name != base]
            except (errors.Cancelled, errors.TimedOut):
                raise
            except errors.ReadError:
                raise error from None
            similar = [name for name in names if wanted in name.lower() or name.lower() in wanted][:MAX_SIMILAR]
            if not similar:
                raise
            listed = [written_path(os.path.join(directory, name)) for name in similar]
            lines = [
                f"File not found: {written_path(f'{directory}/{base}')}",
                "",
                "Did you mean one of these?",
                *listed,
            ]
            raise BadArguments(error.code, "\n".join(lines)) from None


class LookalikeDialect(TableDialect):
    """A dialect that reads a missing file by the only name beside it that looks the same."""

    def opened(self, request: ReadRequest, engine: Engine, context: CallContext) -> Opened:
        try:
            return super().opened(request, engine, context)
        except NotFound:
            directory, name = os.path.split(request.path.removeprefix("@" if self.paths.has_mentions else ""))
            if name.isascii() and " " not in name and "'" not in name:
                raise
            similar = lookalikes(name, [entry.name for entry in engine.list(directory or ".", context).entries])
            if len(similar) != 1:
                raise
            return engine.open(replace(request, path=os.path.join(directory, similar[0])), context)
