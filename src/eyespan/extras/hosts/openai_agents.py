"""OpenAI's Agents SDK: `Agent(tools=[to_openai_agents(tool)])`. Needs the extra `openai-agents`.

Text, images and PDFs reach the model in their own types; over MCP, the SDK passes a PDF on as base64 text.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from eyespan.extras.hosts.calls import attachment_name, error_reply, parse_arguments
from eyespan.extras.hosts.openai import IMAGE_TYPES, as_text, data_url
from eyespan.extras.hosts.schemas import openai_strict, without_nulls
from eyespan.extras.hosts.toolsets import takes_toolsets
from eyespan.model import Content, DocumentContent, ImageContent
from eyespan.tool import Tool

try:
    from agents import FunctionTool, ToolOutputFileContent, ToolOutputImage, ToolOutputText
except ImportError as error:
    raise ImportError('eyespan.hosts.openai_agents needs the SDK: pip install "eyespan[openai-agents]"') from error


@takes_toolsets
def to_openai_agents(tool: Tool, *, strict: bool = False) -> FunctionTool:
    """Return the tool as a `FunctionTool` with the dialect's own name, description and schema.

    A toolset becomes a list of them. With `strict`, the API enforces the schema: optional properties are nullable, and
    nulls are dropped.
    """
    spec = tool.spec

    async def invoke(_context: Any, text: str) -> str | list[Any]:
        arguments: Any = {}
        try:
            arguments = parse_arguments(text)
        except ValueError as error:
            reply = error_reply("invalid_json", str(error))
        else:
            reply = await tool.acall(without_nulls(arguments, spec.input_schema) if strict else arguments)
        return [_output(block, attachment_name(arguments)) for block in reply.content]

    return FunctionTool(
        name=spec.name,
        description=spec.description,
        params_json_schema=openai_strict(spec.input_schema) if strict else deepcopy(spec.input_schema),
        on_invoke_tool=invoke,
        strict_json_schema=strict,
    )


def _output(block: Content, name: str) -> Any:
    if isinstance(block, ImageContent) and block.media_type in IMAGE_TYPES:
        return ToolOutputImage(image_url=data_url(block))
    if isinstance(block, DocumentContent):
        return ToolOutputFileContent(file_data=data_url(block), filename=name)
    return ToolOutputText(text=as_text(block))
