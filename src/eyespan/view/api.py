"""The answers of the page's requests, as plain values. The page computes nothing itself."""

from __future__ import annotations

import time
from base64 import b64encode

from eyespan.context import CallContext
from eyespan.dialects import DIALECTS, dialect_class
from eyespan.errors import ReadError
from eyespan.model import TextContent
from eyespan.tokens import estimate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, Protocol

    from eyespan.guard.listing import Listing
    from eyespan.model import Reply
    from eyespan.tool import Tool
    from eyespan.view.activity import Activity
    from eyespan.workspace import Workspace

    class Backend(Protocol):
        """The files and tools that the page shows, and its record of reads."""

        roots: Sequence[str]

        def toolsets(self) -> Mapping[str, Sequence[Tool]]:
            """Return the tools by dialect."""

        def list(self, path: str, context: CallContext) -> Listing:
            """Return the names in a directory. Raises: ReadError."""

        def call(self, tool: Tool, arguments: Any, context: CallContext) -> Reply:
            """Call a tool."""

        def note(self, dialect: str, arguments: Any, answer: dict[str, Any]) -> None:
            """Note a call of the page."""

        def since(self, after: str) -> dict[str, Any]:
            """Return the reads after a position, as `Activity.since` does."""


class BadRequest(Exception):
    """A request of the page that cannot be answered."""


class WorkspaceBackend:
    """A workspace with every dialect, and the reads of an audit log."""

    def __init__(self, workspace: Workspace, activity: Activity) -> None:
        self._workspace = workspace
        self._activity = activity
        self.roots: Sequence[str] = [root.path for root in workspace.roots]

    def toolsets(self) -> dict[str, Sequence[Tool]]:
        return {name: self._workspace.toolset(name) for name in DIALECTS}

    def list(self, path: str, context: CallContext) -> Listing:
        return self._workspace.engine.list(path, context)

    def call(self, tool: Tool, arguments: Any, context: CallContext) -> Reply:
        return tool.call(arguments, context=context)

    def note(self, dialect: str, arguments: Any, answer: dict[str, Any]) -> None:
        self._activity.add_preview(dialect, arguments, answer)

    def since(self, after: str) -> dict[str, Any]:
        return self._activity.since(after)


class Api:
    """The requests of the page over one backend."""

    def __init__(self, backend: Backend, deadline_seconds: float | None = None) -> None:
        self._backend = backend
        self._deadline_seconds = deadline_seconds

    @classmethod
    def of_workspace(cls, workspace: Workspace, activity: Activity) -> Api:
        """Return the requests over a workspace."""
        return cls(WorkspaceBackend(workspace, activity), workspace.deadline_seconds)

    def state(self) -> dict[str, Any]:
        """Return the roots and the tools of every dialect, each with the schema that its form is made of."""
        dialects = []
        for name, tools in self._backend.toolsets().items():
            specs = [
                {"name": tool.spec.name, "description": tool.spec.description, "schema": tool.spec.input_schema}
                for tool in tools
            ]
            dialects.append({"name": name, "summary": dialect_class(name).summary, "tools": specs})
        return {"roots": list(self._backend.roots), "dialects": dialects}

    def names(self, path: str, context: CallContext | None = None) -> dict[str, Any]:
        """Return the names in a directory."""
        try:
            listing = self._backend.list(path or ".", context or CallContext(self._deadline_seconds))
        except ReadError as error:
            return {"entries": [], "error": {"code": error.code, "message": str(error)}}
        entries = [{"name": entry.name, "type": entry.what} for entry in listing.entries]
        return {"entries": entries, "is_complete": not listing.partial, "error": None}

    def call(self, request: Mapping[str, Any], context: CallContext | None = None) -> dict[str, Any]:
        """Make one tool call and return its blocks, as the model receives them. Raises: BadRequest."""
        dialect, tool_name = request.get("dialect"), request.get("tool")
        toolsets = self._backend.toolsets()
        if not isinstance(dialect, str) or dialect not in toolsets:
            raise BadRequest(f"no dialect {dialect!r}")
        tools = {tool.spec.name: tool for tool in toolsets[dialect]}
        tool = tools.get(tool_name) if isinstance(tool_name, str) else next(iter(tools.values()))
        if tool is None:
            raise BadRequest(f"{dialect} has no tool {tool_name!r}")
        started = time.perf_counter()
        reply = self._backend.call(tool, request.get("arguments"), context or CallContext(self._deadline_seconds))
        seconds = time.perf_counter() - started
        blocks: list[dict[str, Any]] = []
        for block in reply.content:
            if isinstance(block, TextContent):
                blocks.append({"type": "text", "text": block.text, "tokens": estimate(block.text)})
            else:
                data = b64encode(block.data).decode("ascii")
                blocks.append({"type": block.type, "media_type": block.media_type, "data": data, "tokens": None})
        answer = {
            "blocks": blocks,
            "tokens": sum([block["tokens"] or 0 for block in blocks]),
            "facts": dict(reply.facts),
            "notes": list(reply.notes),
            "error": None if reply.error is None else {"code": reply.error.code, "message": reply.error.message},
            "ms": round(seconds * 1000, 1),
        }
        self._backend.note(dialect, request.get("arguments"), answer)
        return answer

    def activity(self, after: str) -> dict[str, Any]:
        """Return the reads after a certain position, and the sums of all."""
        return self._backend.since(after)
