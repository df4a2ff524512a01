"""LangChain and LangGraph: `create_agent(model, tools=[to_langchain(tool)])`. Needs the extra `langchain`.

Text, images and PDFs become LangChain's standard content blocks; the whole `Reply` is the message's artifact. A failed
read is a tool message with the status `error`, so the agent continues.
"""

from __future__ import annotations

from base64 import b64encode
from copy import deepcopy
from typing import Any

from eyespan.extras.hosts.schemas import openai_strict, without_nulls
from eyespan.extras.hosts.toolsets import takes_toolsets
from eyespan.model import Content, Reply, TextContent
from eyespan.tool import Tool

try:
    from langchain_core.tools import StructuredTool, ToolException
except ImportError as error:
    raise ImportError('eyespan.hosts.langchain needs LangChain: pip install "eyespan[langchain]"') from error


@takes_toolsets
def to_langchain(tool: Tool, *, strict: bool = False) -> StructuredTool:
    """Return the tool as a `StructuredTool` with the dialect's own name, description and schema.

    A toolset becomes a list of them. `strict` is for models bound with `strict=True`: optional properties are nullable,
    and nulls are dropped.
    """
    spec = tool.spec

    def arguments(given: dict[str, Any]) -> dict[str, Any]:
        sent: dict[str, Any] = without_nulls(given, spec.input_schema) if strict else given
        return sent

    def read(**given: Any) -> tuple[str | list[dict[str, Any]], Reply]:
        return _answer(tool.call(arguments(given)))

    async def aread(**given: Any) -> tuple[str | list[dict[str, Any]], Reply]:
        return _answer(await tool.acall(arguments(given)))

    return StructuredTool(
        name=spec.name,
        description=spec.description,
        args_schema=openai_strict(spec.input_schema) if strict else deepcopy(spec.input_schema),
        func=read,
        coroutine=aread,
        response_format="content_and_artifact",
        handle_tool_error=True,
    )


def _answer(reply: Reply) -> tuple[str | list[dict[str, Any]], Reply]:
    if reply.is_error:
        raise ToolException(reply.text)
    if all(isinstance(block, TextContent) for block in reply.content) and len(reply.content) == 1:
        return reply.text, reply
    return [_block(block) for block in reply.content], reply


def _block(block: Content) -> dict[str, Any]:
    if isinstance(block, TextContent):
        return {"type": "text", "text": block.text}
    kind = "image" if block.type == "image" else "file"
    return {"type": kind, "base64": b64encode(block.data).decode("ascii"), "mime_type": block.media_type}
