"""MCP's tool definition, in plain dictionaries: nothing of the `mcp` package is needed."""

from __future__ import annotations

from eyespan.hosts.schemas import copied

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from eyespan.tool import Tool


def to_mcp(tool: Tool) -> dict[str, Any]:
    """The tool as an entry of `tools/list`: it only reads, may be called twice, and stays on this machine."""
    spec = tool.spec
    return {
        "name": spec.name,
        "description": spec.description,
        "inputSchema": copied(spec.input_schema),
        "annotations": {
            "readOnlyHint": True,
            "destructiveHint": False,
            "idempotentHint": True,
            "openWorldHint": False,
        },
    }
