"""`eyespan schema`: a tool definition, ready to paste into a request."""

from __future__ import annotations

import json
import os

from eyespan.cli import Options, Usage
from eyespan.hosts import to_anthropic, to_mcp, to_openai
from eyespan.workspace import Workspace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from eyespan.tool import Tool

HELP = """\
usage: eyespan schema DIALECT [--for mcp|openai|anthropic]

The tool definition of a dialect as JSON: name, description and input schema in the dialect's own words, in the shape
that the host named with --for expects (default: eyespan's own, with aliases).

  eyespan schema claude --for anthropic
"""


def main(options: Options) -> int:
    host = ""
    words: list[str] = []
    rest = iter(options.rest)
    for word in rest:
        if word == "--for" or word.startswith("--for="):
            host = word.partition("=")[2] or next(rest, "")
            if host not in SHAPES:
                raise Usage(f"--for takes {', '.join(sorted(filter(None, SHAPES)))}")
        elif word.startswith("-"):
            raise Usage(f"schema has no option {word}. Try: eyespan schema --help")
        else:
            words.append(word)
    if len(words) != 1:
        raise Usage("schema needs one dialect. Try: eyespan dialects")
    try:
        tool = Workspace(os.getcwd()).tool(words[0])
    except ValueError as error:
        raise Usage(str(error)) from None
    print(json.dumps(SHAPES[host](tool), indent=2, ensure_ascii=False))
    return 0


def _own(tool: Tool) -> dict[str, Any]:
    spec = tool.spec
    return {
        "name": spec.name,
        "aliases": list(spec.aliases),
        "description": spec.description,
        "input_schema": spec.input_schema,
    }


SHAPES = {"": _own, "mcp": to_mcp, "openai": to_openai, "anthropic": to_anthropic}
