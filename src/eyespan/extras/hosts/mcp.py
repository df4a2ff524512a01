"""MCP's tool definition, in plain dictionaries, without the `mcp` package."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from eyespan.extras.hosts.toolsets import takes_toolsets
from eyespan.server.definitions import definition
from eyespan.tool import Tool


@takes_toolsets
def to_mcp(tool: Tool) -> dict[str, Any]:
    """Return the definition of the tool, as `eyespan serve` lists it in `tools/list`; a list for a toolset."""
    return deepcopy(definition(tool.spec.name, tool))
