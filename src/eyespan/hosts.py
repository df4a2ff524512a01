"""Agent frameworks and model APIs: the public name of `eyespan.extras.hosts`.

`eyespan.hosts.langchain`, `openai_agents`, `pydantic_ai` and `google_adk` are modules of their own.
"""

from __future__ import annotations

from eyespan.extras import hosts as _hosts
from eyespan.extras.hosts import (
    afrom_tool_call,
    afrom_tool_calls,
    from_tool_call,
    from_tool_calls,
    to_anthropic,
    to_gemini,
    to_mcp,
    to_openai,
)

__all__ = [
    "afrom_tool_call",
    "afrom_tool_calls",
    "from_tool_call",
    "from_tool_calls",
    "to_anthropic",
    "to_gemini",
    "to_mcp",
    "to_openai",
]
__path__ = _hosts.__path__
