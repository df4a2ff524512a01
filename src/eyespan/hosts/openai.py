"""OpenAI's two APIs, Responses and Chat Completions, in plain dictionaries: nothing of the `openai` package is needed.

A result of Responses holds text, pictures and files. A tool message of Chat Completions holds text only: what is more
than text goes into a user message behind all the tool messages of the turn.
"""

from __future__ import annotations

from base64 import b64encode

from eyespan.hosts.schemas import copied, openai_strict
from eyespan.model import DocumentContent, ImageContent, TextContent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from eyespan.model import Reply
    from eyespan.tool import Tool

PICTURES = ("image/png", "image/jpeg", "image/webp", "image/gif")
"""The pictures that OpenAI's models take."""


def to_openai(tool: Tool, *, strict: bool = False, api: str = "responses") -> dict[str, Any]:
    """The tool as `tools=[...]` of `responses.create` wants it, or of `chat.completions.create` (`api="chat"`).

    With `strict` the API holds the model to the schema: all properties are then required and the optional ones
    nullable. Say `strict=True` to `from_tool_call` too, where null is taken for absent.
    """
    spec = tool.spec
    function = {
        "name": spec.name,
        "description": spec.description,
        "parameters": openai_strict(spec.input_schema) if strict else copied(spec.input_schema),
        "strict": strict,
    }
    if api == "responses":
        return {"type": "function", **function}
    if api == "chat":
        return {"type": "function", "function": function}
    raise ValueError(f'api must be "responses" or "chat", not {api!r}')


def responses_output(reply: Reply, call_id: str, filename: str = "") -> dict[str, Any]:
    """The reply as a `function_call_output` item. The API has no field for errors; the text tells."""
    blocks: list[dict[str, Any]] = []
    for block in reply.content:
        if isinstance(block, ImageContent) and block.media_type in PICTURES:
            blocks.append({"type": "input_image", "image_url": data_url(block), "detail": "auto"})
        elif isinstance(block, DocumentContent):
            blocks.append({"type": "input_file", "filename": filename, "file_data": data_url(block)})
        else:
            blocks.append({"type": "input_text", "text": as_text(block)})
    return {"type": "function_call_output", "call_id": call_id, "output": _plain(blocks)}


def tool_message(reply: Reply, call_id: str) -> dict[str, Any]:
    """The reply as a message with the role `tool`; a line of text stands for each picture or file."""
    blocks: list[dict[str, Any]] = [{"type": "text", "text": as_text(block)} for block in reply.content]
    return {"role": "tool", "tool_call_id": call_id, "content": _plain(blocks)}


def attachments(reply: Reply, name: str) -> list[dict[str, Any]]:
    """The pictures and files of a reply as parts of a user message of Chat Completions, `name` in front of them."""
    parts: list[dict[str, Any]] = []
    for block in reply.content:
        if isinstance(block, ImageContent) and block.media_type in PICTURES:
            parts.append({"type": "image_url", "image_url": {"url": data_url(block)}})
        elif isinstance(block, DocumentContent):
            parts.append({"type": "file", "file": {"filename": name, "file_data": data_url(block)}})
    return [{"type": "text", "text": f"{name}:"}, *parts] if parts else []


def data_url(block: ImageContent | DocumentContent) -> str:
    return f"data:{block.media_type};base64,{b64encode(block.data).decode('ascii')}"


def as_text(block: TextContent | ImageContent | DocumentContent) -> str:
    """A text, or what stands for a block where only text can."""
    return block.text if isinstance(block, TextContent) else f"[{block.media_type}, {len(block.data)} bytes]"


def _plain(blocks: list[dict[str, Any]]) -> str | list[dict[str, Any]]:
    """One text is a string; an empty text among other blocks is none."""
    full = [block for block in blocks if block.get("text") != ""]
    if not full:
        return ""
    text: str | None = full[0].get("text")
    return text if len(full) == 1 and text is not None else full
