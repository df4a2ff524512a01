"""The lines of the audit log about the calls of one service."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from eyespan.context import CallContext, WouldBlock
from eyespan.engine import Engine
from eyespan.recorder import Recorder, facts
from eyespan.server.audit import warn
from eyespan.server.mcp_names import INTERNAL_ERROR, RpcError


class AuditLog(Protocol):
    """Where the lines about calls go."""

    def write(self, line: dict[str, Any]) -> None:
        """Append one line. Raises: OSError."""


@dataclass(slots=True)
class Noted:
    """What a block has read, for its line."""

    recorder: Recorder
    names: list[str] = field(default_factory=list)
    """The names that it has found."""
    size_bytes: int = 0
    tokens: int = 0
    code: str | None = None
    """The code of the error that it ended with."""


class AuditTrail:
    """Writes one line per call. If a log is required, an answer without its line is withheld."""

    def __init__(self, log: AuditLog | None, *, is_required: bool) -> None:
        self.log = log
        self._is_required = is_required

    def note(
        self,
        facts: Mapping[str, Any],
        context: CallContext,
        *,
        caller: str,
        dialect: str,
        is_read: bool,
        size_bytes: int,
        tokens: int,
        code: str | None,
        seconds: float,
    ) -> bool:
        """Write the line of a call that has ended. Returns False if the answer must be withheld."""
        if self.log is None:
            return True
        verdict = "cancelled" if context.cancelled else "read" if is_read else "refused"
        line = {"caller": caller, "dialect": dialect, **facts, "bytes": size_bytes, "tokens": tokens}
        line["verdict"] = verdict
        if context.store_requests:
            line |= {"store_requests": context.store_requests, "store_bytes": context.store_bytes}
        line |= {"code": code, "ms": round(seconds * 1000, 3)}
        try:
            self.log.write(line)
        except OSError as error:
            warn(error)
            return not self._is_required
        return True

    @contextmanager
    def noting(
        self, engine: Engine, context: CallContext, *, caller: str, dialect: str, path: str | None = None
    ) -> Iterator[Noted]:
        """Write the line of a block that reads a file by the recorder, or with a `path` looks at names.

        Raises: RpcError, if the answer may not be given without the line.
        """
        noted = Noted(Recorder(engine))
        recorder, start = noted.recorder, time.perf_counter()
        is_repeated = is_done = False
        try:
            yield noted
            is_done = True
        except WouldBlock:
            is_repeated = True  # the transport repeats the call in a thread, and that one is logged
            raise
        finally:
            context.finish()
            line = facts(recorder)
            if path is not None:
                line = {"path": path, "canonical": recorder.listed, "mtime_ns": None, "range": None}
                line["rule"] = recorder.rule
            code = noted.code or recorder.list_error
            names_bytes = sum([len(name.encode("utf-8", "surrogatepass")) for name in noted.names])
            if not is_repeated and not self.note(
                line,
                context,
                caller=caller,
                dialect=dialect,
                is_read=is_done and code is None,
                size_bytes=noted.size_bytes + names_bytes,
                tokens=noted.tokens,
                code=code,
                seconds=time.perf_counter() - start,
            ):
                raise RpcError(INTERNAL_ERROR, "the audit log cannot be written, so files cannot be read or listed")
