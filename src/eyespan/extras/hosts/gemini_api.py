"""The Gemini API, in plain dictionaries, without the `google-genai` package."""

from __future__ import annotations

from base64 import b64encode
from copy import deepcopy
from typing import Any

from eyespan.extras.hosts.openai import as_text
from eyespan.extras.hosts.toolsets import takes_toolsets
from eyespan.model import Reply, TextContent
from eyespan.tool import Tool

MEDIA_TYPES = ("image/png", "image/jpeg", "image/webp", "application/pdf")
"""The media types that a function response may hold."""


@takes_toolsets
def to_gemini(tool: Tool) -> Any:
    """Return the function declaration for `tools=[{"functionDeclarations": [...]}]`, or a list for a toolset."""
    spec = tool.spec
    return {"name": spec.name, "description": spec.description, "parametersJsonSchema": deepcopy(spec.input_schema)}


def function_response(reply: Reply, call_id: str | None, name: str) -> dict[str, Any]:
    """Return the reply as a part of a user's content. Images and PDFs are parts of the response."""
    texts: list[str] = []
    parts: list[dict[str, Any]] = []
    for block in reply.content:
        if not isinstance(block, TextContent) and block.media_type in MEDIA_TYPES:
            data = b64encode(block.data).decode("ascii")
            parts.append({"inlineData": {"mimeType": block.media_type, "data": data}})
        else:
            texts.append(as_text(block))
    response = {
        "name": name,
        "response": {"error" if reply.is_error else "output": "\n".join(texts)},
        **({"id": call_id} if call_id else {}),
        **({"parts": parts} if parts else {}),
    }
    return {"functionResponse": response}
