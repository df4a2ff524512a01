"""`eyespan schema`: a tool definition, ready to paste into a request."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from eyespan.cli.options import Arguments, Parser, UsageError, one_of
from eyespan.extras.hosts.anthropic import to_anthropic
from eyespan.extras.hosts.gemini_api import to_gemini
from eyespan.extras.hosts.mcp import to_mcp
from eyespan.extras.hosts.openai import to_openai
from eyespan.tool import Tool
from eyespan.workspace import Workspace

HELP = """\
usage: eyespan schema DIALECT [--for mcp|openai|anthropic|gemini]

Prints the tool definition of a dialect as JSON: name, description and input
schema as the dialect defines them. Of a dialect with several tools it prints a
list.

  eyespan schema claude --for anthropic
"""


FORMATS: dict[str, Callable[[Tool], Any]] = {
    "anthropic": to_anthropic,
    "gemini": to_gemini,
    "mcp": to_mcp,
    "openai": to_openai,
}


def add_options(parser: Parser) -> None:
    """Add the options of the command."""
    words = f"the format of this API: {', '.join(FORMATS)} (default: eyespan's own, with aliases)"
    parser.add_argument("--for", metavar="HOST", dest="host", type=one_of(*FORMATS), help=words)


def main(arguments: Arguments) -> int:
    """Print the definition."""
    if len(arguments.operands) != 1:
        raise UsageError("schema needs one dialect. Try: eyespan dialects")
    try:
        tools = Workspace(os.getcwd()).toolset(arguments.operands[0])
    except ValueError as error:
        raise UsageError(str(error)) from None
    definition: Callable[[Tool], Any] = FORMATS.get(arguments.values.get("host", ""), lambda tool: asdict(tool.spec))
    made = [definition(tool) for tool in tools]
    print(json.dumps(made if len(made) > 1 else made[0], indent=2, ensure_ascii=False))
    return 0
