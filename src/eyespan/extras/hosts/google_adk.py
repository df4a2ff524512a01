"""Google's Agent Development Kit: `LlmAgent(tools=[to_google_adk(tool)])`. Needs the extra `adk`.

Images and PDFs reach the model as parts of the function response; over MCP, the kit passes them on as base64 text.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from eyespan.extras.hosts.toolsets import takes_toolsets
from eyespan.model import TextContent
from eyespan.tool import Tool

try:
    from google.adk.tools.base_tool import BaseTool
    from google.genai import types
except ImportError as error:
    raise ImportError('eyespan.hosts.google_adk needs the kit: pip install "eyespan[adk]"') from error


@takes_toolsets
def to_google_adk(tool: Tool) -> BaseTool:
    """Return the tool as a `BaseTool` with the dialect's own name, description and schema; a list for a toolset."""
    return ReadTool(tool)


class ReadTool(BaseTool):
    """A tool of eyespan in the kit. Its result is `{"result": text, "parts": [...]}` or `{"error": text}`."""

    def __init__(self, tool: Tool) -> None:
        super().__init__(name=tool.spec.name, description=tool.spec.description)
        self.tool = tool

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(
            name=self.name, description=self.description, parameters_json_schema=deepcopy(self.tool.spec.input_schema)
        )

    async def run_async(self, *, args: dict[str, Any], tool_context: Any) -> dict[str, Any]:
        """Call the tool."""
        reply = await self.tool.acall(args)
        if reply.is_error:
            return {"error": reply.text}
        parts = [
            types.Part.from_bytes(data=block.data, mime_type=block.media_type)
            for block in reply.content
            if not isinstance(block, TextContent)
        ]
        return {"result": reply.text, "parts": parts} if parts else {"result": reply.text}
