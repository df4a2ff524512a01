"""Stands between a tool and its engine for one call and remembers what was asked for and what was opened.

So the audit log knows paths, rules and ranges without the dialects or the engine knowing of an audit log.
"""

from __future__ import annotations

import time

from eyespan.errors import PolicyDenied, ReadError
from eyespan.model import CharRange, Lines, Tail, TextPart
from eyespan.tool import Tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from eyespan.context import CallContext

    # What a witness is to the type checker: it answers to everything an engine does.
    from eyespan.engine import Engine as _Engine
    from eyespan.model import Document, ReadRequest, Reply
else:
    _Engine = object


class Witness(_Engine):
    """An engine that remembers its last read, and every file it was asked for."""

    __slots__ = ("_engine", "asked", "document", "error", "files", "request")

    def __init__(self, engine: _Engine) -> None:
        self._engine = engine
        self.asked = ""
        self.request: ReadRequest | None = None
        self.document: Document | None = None
        self.error: ReadError | None = None
        self.files: dict[str, dict[str, Any]] = {}
        """What was opened, by its name on disk, and what a rule refused, by the name asked for."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def admit(self, path: str, lexical: bool = False) -> str:
        self.asked = path
        try:
            return self._engine.admit(path, lexical)
        except ReadError as error:
            self.error = error
            raise

    def read(self, request: ReadRequest, context: CallContext | None = None) -> Document:
        return self._seen(request, lambda: self._engine.read(request, context))

    def look(self, request: ReadRequest, context: CallContext | None = None) -> Document:
        return self._seen(request, lambda: self._engine.look(request, context))

    def _seen(self, request: ReadRequest, act: Callable[[], Document]) -> Document:
        self.asked = request.path
        self.request = request
        try:
            self.document = document = act()
        except ReadError as error:
            if not isinstance(self.error, PolicyDenied):
                self.error = error
            if isinstance(error, PolicyDenied):
                self.files[request.path] = {"path": request.path, "canonical": None, "range": None, "rule": error.rule}
            raise
        name = document.facts.canonical
        told = {"path": request.path, "canonical": name, "range": _range(self), "rule": None}
        if document.parts or name not in self.files:
            self.files[name] = told
        return document


def watched(tool: Tool, arguments: Any, context: CallContext) -> tuple[Reply, Witness, float]:
    """The tool's answer to one call, what was seen on the way, and the seconds it took."""
    witness = Witness(tool.engine)
    start = time.perf_counter()
    reply = Tool(tool.dialect, witness).call(arguments, context=context)
    return reply, witness, time.perf_counter() - start


def facts(witness: Witness) -> dict[str, Any]:
    """The part of an audit line that is about the file."""
    error, document = witness.error, witness.document
    line: dict[str, Any] = {"path": witness.asked, "canonical": None, "range": _range(witness)}
    if document is not None:
        line["canonical"] = document.facts.canonical
    line["rule"] = (error.rule or "tool") if isinstance(error, PolicyDenied) else None
    if len(witness.files) > 1:
        line["files"] = list(witness.files.values())
    return line


def _range(witness: Witness) -> str | None:
    """What was shown of the file, or asked for where nothing was."""
    if witness.document is not None:
        for part in witness.document.parts:
            if isinstance(part, TextPart):
                return f"{part.first_line}-{part.first_line + part.line_count - 1}" if part.line_count else "none"
    if witness.request is None:
        return None
    selection = witness.request.selection
    if isinstance(selection, Lines):
        return f"{selection.first}-{'' if selection.count is None else selection.first + selection.count - 1}"
    if isinstance(selection, CharRange):
        return f"{selection.first}-{'' if selection.last is None else selection.last}"
    return f"last {selection.count}" if isinstance(selection, Tail) else f"around {selection.anchor}"
