"""Agent frameworks and model APIs, one file for each.

Without any dependency: tool definitions for OpenAI, Anthropic, Gemini and MCP, and `from_tool_call`, which answers a
model's tool call.

    tool = Workspace(".").tool("claude")
    message = client.messages.create(..., tools=[to_anthropic(tool)], messages=messages)
    calls = [block for block in message.content if block.type == "tool_use"]
    messages += [{"role": "assistant", "content": message.content}, *from_tool_calls(tool, calls)]

`eyespan.hosts.langchain`, `hosts.openai_agents`, `hosts.pydantic_ai` and `hosts.google_adk` convert a tool into the
framework's own type; each needs the extra of its name.
"""

from __future__ import annotations

from eyespan.extras import hosts as _hosts
from eyespan.extras.hosts.anthropic import to_anthropic as to_anthropic
from eyespan.extras.hosts.calls import afrom_tool_call as afrom_tool_call
from eyespan.extras.hosts.calls import afrom_tool_calls as afrom_tool_calls
from eyespan.extras.hosts.calls import from_tool_call as from_tool_call
from eyespan.extras.hosts.calls import from_tool_calls as from_tool_calls
from eyespan.extras.hosts.gemini_api import to_gemini as to_gemini
from eyespan.extras.hosts.mcp import to_mcp as to_mcp
from eyespan.extras.hosts.openai import to_openai as to_openai

__path__ = _hosts.__path__
