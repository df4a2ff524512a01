"""Pydantic AI: `Agent(model, tools=[to_pydantic_ai(tool)])`. Needs the extra `pydantic-ai`.

A failed read is a failed tool result (`ToolFailed`): the model sees it, and it does not count as a retry.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import eyespan.tool
from eyespan.extras.hosts.toolsets import takes_toolsets
from eyespan.model import TextContent

try:
    from pydantic_ai import BinaryContent, Tool, ToolReturn
    from pydantic_ai.exceptions import ToolFailed
except ImportError as error:
    raise ImportError('eyespan.hosts.pydantic_ai needs Pydantic AI: pip install "eyespan[pydantic-ai]"') from error


@takes_toolsets
def to_pydantic_ai(tool: eyespan.tool.Tool) -> Tool[Any]:
    """Return the tool as a `Tool` with the dialect's own name, description and schema; metadata holds the `Reply`.

    A toolset becomes a list of them.
    """
    spec = tool.spec

    async def read(**arguments: Any) -> ToolReturn[Any]:
        reply = await tool.acall(arguments)
        if reply.is_error:
            raise ToolFailed(reply.text)
        value: list[Any] = [
            block.text if isinstance(block, TextContent) else BinaryContent(block.data, media_type=block.media_type)
            for block in reply.content
        ]
        return ToolReturn(value if len(value) > 1 else value[0], metadata=reply)

    return Tool.from_schema(read, spec.name, spec.description, deepcopy(spec.input_schema))
