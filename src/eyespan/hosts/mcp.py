"""MCP's tool definition, in plain dictionaries: nothing of the `mcp` package is needed."""

from __future__ import annotations

from eyespan.hosts.schemas import copied
from eyespan.server.protocol import definition

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from eyespan.tool import Tool


def to_mcp(tool: Tool) -> dict[str, Any]:
    """The tool as our own server lists it in `tools/list`."""
    found: dict[str, Any] = copied(definition(tool.spec.name, tool))
    return found
