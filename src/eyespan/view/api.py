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
    from collections.abc import Mapping
    from typing import Any

    from eyespan.view.activity import Activity
    from eyespan.workspace import Workspace


class BadRequest(Exception):
    """A request of the page that cannot be answered."""


class Api:
    """The requests of the page over one workspace."""

    def __init__(self, workspace: Workspace, activity: Activity) -> None:
        self._workspace = workspace
        self._activity = activity

    def state(self) -> dict[str, Any]:
        """Return the roots and the tools of every dialect, each with the schema that its form is made of."""
        dialects = []
        for name in DIALECTS:
            tools = [
                {"name": tool.spec.name, "description": tool.spec.description, "schema": tool.spec.input_schema}
                for tool in self._workspace.toolset(name)
            ]
            dialects.append({"name": name, "summary": dialect_class(name).summary, "tools": tools})
        return {"roots": [root.path for root in self._workspace.roots], "dialects": dialects}

    def names(self, path: str) -> dict[str, Any]:
        """Return the names in a directory."""
        try:
            listing = self._workspace.engine.list(path or ".", CallContext(self._workspace.deadline_seconds))
        except ReadError as error:
            return {"entries": [], "error": {"code": error.code, "message": str(error)}}
        entries = [{"name": entry.name, "type": entry.what} for entry in listing.entries]
        return {"entries": entries, "is_complete": not listing.partial, "error": None}

    def call(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Make one tool call and return its blocks, as the model receives them. Raises: BadRequest."""
        dialect, tool_name = request.get("dialect"), request.get("tool")
        if not isinstance(dialect, str) or dialect not in DIALECTS:
            raise BadRequest(f"no dialect {dialect!r}")
        tools = {tool.spec.name: tool for tool in self._workspace.toolset(dialect)}
        tool = tools.get(tool_name) if isinstance(tool_name, str) else next(iter(tools.values()))
        if tool is None:
            raise BadRequest(f"{dialect} has no tool {tool_name!r}")
        started = time.perf_counter()
        reply = tool.call(request.get("arguments"))
        seconds = time.perf_counter() - started
        blocks: list[dict[str, Any]] = []
        for block in reply.content:
            if isinstance(block, TextContent):
                blocks.append({"type": "text", "text": block.text, "tokens": estimate(block.text)})
            else:
                data = b64encode(block.data).decode("ascii")
                blocks.append({"type": block.type, "media_type": block.media_type, "data": data, "tokens": None})
        facts = dict(reply.facts)
        answer = {
            "blocks": blocks,
            "tokens": sum([block["tokens"] or 0 for block in blocks]),
            "facts": facts,
            "notes": list(reply.notes),
            "error": None if reply.error is None else {"code": reply.error.code, "message": reply.error.message},
            "ms": round(seconds * 1000, 1),
        }
        self._activity.add_preview(dialect, request.get("arguments"), answer)
        return answer

    def activity(self, after: int) -> dict[str, Any]:
        """Return the reads after a certain number, and the sums of all."""
        return self._activity.since(after)
