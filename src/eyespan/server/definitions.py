"""Tool definitions as `tools/list` returns them."""

from __future__ import annotations

from typing import Any

from eyespan.tool import Tool

META = {"anthropic/alwaysLoad": True}
"""Claude Code sends a model only the names of tools without it, and a tool whose schema is not there is seldom used."""
ANNOTATIONS = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}

_COUNT = {"type": "integer", "minimum": 0}
DATA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "facts": {
            "type": "object",
            "properties": {
                **dict.fromkeys(("tokens", "bytes", "lines", "cut_lines", "total_lines", "file_bytes"), _COUNT),
                "left_out": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["tokens", "bytes"],
        },
        "result": {"type": "object"},
    },
    "required": ["text", "facts", "result"],
}
"""The schema of an answer as data, for hosts that call tools from code: the text, `Reply.facts`, and the fields of the
dialect's own result that do not repeat the text."""


def definition(name: str, tool: Tool, *, is_data: bool = False) -> dict[str, Any]:
    """Return the definition of a tool that is listed under `name`; with `is_data` it answers with data."""
    spec = tool.spec
    listed: dict[str, Any] = {
        "name": name,
        "description": spec.description,
        "inputSchema": spec.input_schema,
        "annotations": ANNOTATIONS,
        "_meta": META,
    }
    schema = tool.dialect.output_schema or (DATA if is_data else None)
    if schema is not None:
        listed["outputSchema"] = schema
    return listed
