"""Anthropic's Messages API, in plain dictionaries, without the `anthropic` package."""

from __future__ import annotations

from base64 import b64encode
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from eyespan.extras.hosts.openai import IMAGE_TYPES, as_text, single_text
from eyespan.extras.hosts.schemas import anthropic_strict
from eyespan.extras.hosts.toolsets import takes_toolsets
from eyespan.model import Content, DocumentContent, ImageContent, Reply
from eyespan.tool import Tool

if TYPE_CHECKING:
    from anthropic.types import ToolParam, ToolUnionParam


@takes_toolsets
def to_anthropic(tool: Tool, *, strict: bool = False) -> ToolUnionParam:
    """Return the tool for `tools=[...]` of `messages.create`, or a list for a toolset.

    With `strict`, the API enforces the schema.

    The dialect `text-editor` is a built-in tool of the API, which is given by its type.
    """
    built_in: ToolUnionParam | None = getattr(tool.dialect, "anthropic_type", None)
    if built_in is not None and not strict:
        return deepcopy(built_in)
    spec = tool.spec
    schema = anthropic_strict(spec.input_schema) if strict else deepcopy(spec.input_schema)
    definition: ToolParam = {"name": spec.name, "description": spec.description, "input_schema": schema}
    if strict:
        definition["strict"] = True
    return definition


def tool_result(reply: Reply, call_id: str, filename: str = "") -> dict[str, Any]:
    """Return the reply as a `tool_result` block of a user message."""
    content = single_text([_block(block, filename) for block in reply.content])
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, "is_error": reply.is_error}


def _block(block: Content, filename: str) -> dict[str, Any]:
    if isinstance(block, ImageContent) and block.media_type in IMAGE_TYPES:
        return {"type": "image", "source": _base64_source(block)}
    if isinstance(block, DocumentContent) and block.media_type == "application/pdf":
        return {"type": "document", "title": filename, "source": _base64_source(block)}
    return {"type": "text", "text": as_text(block)}


def _base64_source(block: ImageContent | DocumentContent) -> dict[str, Any]:
    return {"type": "base64", "media_type": block.media_type, "data": b64encode(block.data).decode("ascii")}
