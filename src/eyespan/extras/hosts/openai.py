"""OpenAI's APIs Responses and Chat Completions, in plain dictionaries, without the `openai` package.

A result of Responses holds text, images and files. A tool message of Chat Completions holds only text; images and
files go into a user message after all tool messages of the turn.
"""

from __future__ import annotations

from base64 import b64encode
from copy import deepcopy
from typing import TYPE_CHECKING, Any, Literal, overload

from eyespan.extras.hosts.schemas import openai_strict
from eyespan.extras.hosts.toolsets import takes_toolsets
from eyespan.model import DocumentContent, ImageContent, Reply, TextContent
from eyespan.tool import Tool, Toolset

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletionToolParam
    from openai.types.responses import FunctionToolParam

IMAGE_TYPES = ("image/png", "image/jpeg", "image/webp", "image/gif")
"""The media types of images that the models of OpenAI and of Anthropic accept."""


@overload
def to_openai(tool: Tool, *, strict: bool = ..., api: Literal["responses"] = ...) -> FunctionToolParam: ...
@overload
def to_openai(tool: Tool, *, strict: bool = ..., api: Literal["chat"]) -> ChatCompletionToolParam: ...
@overload
def to_openai(tool: Toolset, *, strict: bool = ..., api: Literal["responses"] = ...) -> list[FunctionToolParam]: ...
@overload
def to_openai(tool: Toolset, *, strict: bool = ..., api: Literal["chat"]) -> list[ChatCompletionToolParam]: ...
@takes_toolsets
def to_openai(tool: Tool, *, strict: bool = False, api: str = "responses") -> Any:
    """Return the tool for `tools=[...]` of `responses.create`, or of `chat.completions.create` (`api="chat"`).

    A toolset becomes a list of definitions.

    With `strict`, the API enforces the schema: all properties are required, and the optional ones are nullable. Pass
    `strict=True` to `from_tool_call` too, which then drops the nulls.
    """
    spec = tool.spec
    function = {
        "name": spec.name,
        "description": spec.description,
        "parameters": openai_strict(spec.input_schema) if strict else deepcopy(spec.input_schema),
        "strict": strict,
    }
    if api == "responses":
        return {"type": "function", **function}
    if api == "chat":
        return {"type": "function", "function": function}
    raise ValueError(f'api must be "responses" or "chat", not {api!r}')


def responses_output(reply: Reply, call_id: str, filename: str = "") -> dict[str, Any]:
    """Return the reply as a `function_call_output` item. The API has no field for errors; the text describes them."""
    blocks: list[dict[str, Any]] = []
    for block in reply.content:
        if isinstance(block, ImageContent) and block.media_type in IMAGE_TYPES:
            blocks.append({"type": "input_image", "image_url": data_url(block), "detail": "auto"})
        elif isinstance(block, DocumentContent):
            blocks.append({"type": "input_file", "filename": filename, "file_data": data_url(block)})
        else:
            blocks.append({"type": "input_text", "text": as_text(block)})
    return {"type": "function_call_output", "call_id": call_id, "output": single_text(blocks)}


def tool_message(reply: Reply, call_id: str) -> dict[str, Any]:
    """Return the reply as a message with the role `tool`, with a line of text in place of each image or file."""
    blocks: list[dict[str, Any]] = [{"type": "text", "text": as_text(block)} for block in reply.content]
    return {"role": "tool", "tool_call_id": call_id, "content": single_text(blocks)}


def attachments(reply: Reply, name: str) -> list[dict[str, Any]]:
    """Return the images and files of a reply as parts of a user message of Chat Completions, after a line `name:`."""
    parts: list[dict[str, Any]] = []
    for block in reply.content:
        if isinstance(block, ImageContent) and block.media_type in IMAGE_TYPES:
            parts.append({"type": "image_url", "image_url": {"url": data_url(block)}})
        elif isinstance(block, DocumentContent):
            parts.append({"type": "file", "file": {"filename": name, "file_data": data_url(block)}})
    return [{"type": "text", "text": f"{name}:"}, *parts] if parts else []


def data_url(block: ImageContent | DocumentContent) -> str:
    """Return the block as a data URL."""
    return f"data:{block.media_type};base64,{b64encode(block.data).decode('ascii')}"


def as_text(block: TextContent | ImageContent | DocumentContent) -> str:
    """Return the text of a block, or a note on its type and size if it is no text."""
    return block.text if isinstance(block, TextContent) else f"[{block.media_type}, {len(block.data)} bytes]"


def single_text(blocks: list[dict[str, Any]]) -> str | list[dict[str, Any]]:
    """Drop empty texts, which APIs refuse among blocks, and return the text alone if there is only one block."""
    blocks = [block for block in blocks if block.get("text") != ""]
    text: str | None = blocks[0].get("text") if len(blocks) == 1 else None
    return text if text is not None else blocks or ""
