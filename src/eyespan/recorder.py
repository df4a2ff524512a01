"""The recorder of one call, placed between a tool and its engine for the audit log and the page.

It records paths, rules and ranges, so that neither the dialects nor the engine need to know about the log.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from eyespan.context import CallContext
from eyespan.dialects.path_map import PathMap
from eyespan.errors import PolicyDenied, ReadError
from eyespan.guard.listing import Listing
from eyespan.model import CharRange, Document, Lines, ReadRequest, Reply, Tail, TextPart
from eyespan.opened import Opened
from eyespan.source import FullStatus
from eyespan.tool import Tool

if TYPE_CHECKING:
    # For the type checker a recorder is an engine: it forwards everything else to one.
    from eyespan.engine import Engine as _Engine
else:
    _Engine = object


T = TypeVar("T")
_RANGES = re.compile(r"\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*")
"""Lines of a selector: 1-20,40."""
MAX_OPENED = 1000
"""The files that a search opens and shows nothing of are recorded up to this number; those that it shows always are."""


class Recorder(_Engine):
    """An engine that records its last read and every file it was asked for."""

    def __init__(self, engine: _Engine) -> None:
        self._engine = engine
        self.asked = ""
        self.request: ReadRequest | None = None
        self.document: Document | None = None
        self.rule: str | None = None
        """The rule that denied a file of this call, or the tool."""
        self.listed: str | None = None
        """The directory that was listed, by its path below its root."""
        self.list_error: str | None = None
        """The code of the error that listing a directory ended with."""
        self.shown: str | None = None
        """The lines of the file read last that the answer shows, if it shows less than was read."""
        self._canonical_names: dict[str, str] = {}
        """The names on disk of the files that were read, by their paths in answers."""
        self.files: dict[str, dict[str, Any]] = {}
        """The files that were opened, by their names on disk, and those that a rule denied, by the names asked for."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def admit(self, path: str, lexical: bool = False) -> str:
        self.asked = path
        try:
            return self._engine.admit(path, lexical)
        except PolicyDenied as error:
            self._denied(error)
            raise

    def describe(self, path: str, context: CallContext | None = None) -> FullStatus:
        self.asked = self.asked or path
        try:
            return self._engine.describe(path, context)
        except PolicyDenied as error:
            self._denied(error)
            raise

    def list(self, path: str, context: CallContext | None = None, *, hides_ignored: bool = False) -> Listing:
        self.asked = self.asked or path
        try:
            listing = self._engine.list(path, context, hides_ignored=hides_ignored)
        except ReadError as error:
            if isinstance(error, PolicyDenied):
                self._denied(error)
            self.list_error = error.code
            raise
        self.listed = listing.path
        return listing

    def read(self, request: ReadRequest, context: CallContext | None = None) -> Document:
        document = self._tried(request, lambda: self._engine.read(request, context))
        self._read(request, document)
        return document

    def open(self, request: ReadRequest, context: CallContext | None = None) -> Opened:
        opened = self._tried(request, lambda: self._engine.open(request, context))
        self._read(request, Document("", opened.facts, ()))
        opened.observer = self._read
        return opened

    def _tried(self, request: ReadRequest, act: Callable[[], T]) -> T:
        self.asked = request.path
        self.request = request
        try:
            return act()
        except PolicyDenied as error:
            self._denied(error)
            denied = {"path": request.path, "canonical": None, "mtime_ns": None, "range": None, "rule": error.rule}
            self.files[request.path] = denied
            raise

    def _denied(self, error: PolicyDenied) -> None:
        # Only the text is kept: an error holds its traceback, and that holds every buffer of the read.
        if self.rule is None:
            self.rule = error.rule or "tool"

    def _read(self, request: ReadRequest, document: Document) -> None:
        self.request, self.document = request, document
        name = document.facts.canonical
        if document.parts or (name not in self.files and len(self.files) < MAX_OPENED):
            entry = {"path": request.path, "canonical": name, "mtime_ns": document.facts.mtime_ns}
            self.files[name] = {**entry, "range": _range(self), "rule": None}
            self._canonical_names[document.facts.path] = name

    def note_shown(self, reply: Reply, path_map: PathMap) -> None:
        """Take the lines of each file from an answer that names them: it may show less than was read."""
        parts = reply.structured.get("parts") if isinstance(reply.structured, dict) else None
        for part in parts or ():
            path = part.get("path", "")
            name = self._canonical_names.get(path_map.inward(path))
            shown = part.get("selector", "").removeprefix(f"{path}:")
            if name is not None and _RANGES.fullmatch(shown):
                shown = ",".join([one if "-" in one else f"{one}-{one}" for one in shown.split(",")])
                self.files[name]["range"] = shown
                if self.document is not None and self.document.facts.canonical == name:
                    self.shown = shown


def watched(tool: Tool, arguments: Any, context: CallContext) -> tuple[Reply, Recorder, float]:
    """Call the tool; return its reply, the record of the call and the seconds it took."""
    recorder = Recorder(tool.engine)
    start = time.perf_counter()
    reply = Tool(tool.dialect, recorder, workspace=tool.workspace).call(arguments, context=context)
    recorder.note_shown(reply, tool.path_map)
    return reply, recorder, time.perf_counter() - start


def facts(recorder: Recorder) -> dict[str, Any]:
    """Return the part of an audit line that describes the file."""
    document = recorder.document
    line: dict[str, Any] = {"path": recorder.asked, "canonical": None, "mtime_ns": None}
    line["range"] = recorder.shown or _range(recorder)
    if document is not None:
        line["canonical"] = document.facts.canonical
        line["mtime_ns"] = document.facts.mtime_ns
    line["rule"] = recorder.rule
    if len(recorder.files) > 1:
        line["files"] = list(recorder.files.values())
    return line


def _range(recorder: Recorder) -> str | None:
    """Return the lines that were shown, or those that were asked for if nothing was; None for images and pages."""
    if recorder.document is not None and recorder.document.parts:
        for part in recorder.document.parts:
            if isinstance(part, TextPart):
                return f"{part.first_line}-{part.first_line + part.line_count - 1}" if part.line_count else "none"
        if recorder.document.kind not in ("text", "binary"):
            return None
    if recorder.request is None:
        return None
    selection = recorder.request.selection
    if isinstance(selection, Lines):
        return f"{selection.first}-{'' if selection.count is None else selection.first + selection.count - 1}"
    if isinstance(selection, CharRange):
        return f"{selection.first}-{'' if selection.last is None else selection.last}"
    return f"last {selection.count}" if isinstance(selection, Tail) else f"around {selection.anchor}"
