"""The rows of this extra: what the core finds through `eyespan.plugins`."""

from __future__ import annotations

from eyespan.plugins import Command

COMMANDS = {
    "schema": Command(
        "DIALECT", "print the tool definition of a dialect, for a host", "eyespan.extras.hosts.schema_command"
    ),
    "setup": Command("[HOST]", "add eyespan to a host's configuration", "eyespan.extras.hosts.setup_command"),
    "why": Command("[TRANSCRIPT...]", "show what the reads of a host cost", "eyespan.extras.hosts.why"),
}
TRANSCRIPT_REPORT = "eyespan.extras.hosts.why:LiveReport"
"""The report that the page shows."""
SETTLED = "eyespan.extras.hosts.host_settings:settled"
"""What changes an answer as the settings of the host have it."""
DEPENDENCIES = {
    "langchain_core": ("langchain", "the tool for LangChain"),
    "agents": ("openai-agents", "the tool for the OpenAI Agents SDK"),
    "pydantic_ai": ("pydantic-ai", "the tool for Pydantic AI"),
    "google.adk": ("adk", "the tool for Google's Agent Development Kit"),
}
