"""`eyespan schema`: a tool definition, ready to paste into a request."""

from __future__ import annotations

import json

from eyespan.cli import Options, Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from eyespan.model import ToolSpec

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
    from eyespan.dialects import dialect_class

    try:
        spec = dialect_class(words[0])().spec
    except ValueError as error:
        raise Usage(str(error)) from None
    print(json.dumps(SHAPES[host](spec), indent=2, ensure_ascii=False))
    return 0


def _own(spec: ToolSpec) -> dict[str, Any]:
    return {
        "name": spec.name,
        "aliases": list(spec.aliases),
        "description": spec.description,
        "input_schema": spec.input_schema,
    }


def _mcp(spec: ToolSpec) -> dict[str, Any]:
    return {
        "name": spec.name,
        "description": spec.description,
        "inputSchema": spec.input_schema,
        "annotations": {
            "readOnlyHint": True,
            "destructiveHint": False,
            "idempotentHint": True,
            "openWorldHint": False,
        },
    }


def _openai(spec: ToolSpec) -> dict[str, Any]:
    return {
        "type": "function",
        "name": spec.name,
        "description": spec.description,
        "parameters": spec.input_schema,
        "strict": False,
    }


def _anthropic(spec: ToolSpec) -> dict[str, Any]:
    return {"name": spec.name, "description": spec.description, "input_schema": spec.input_schema}


SHAPES = {"": _own, "mcp": _mcp, "openai": _openai, "anthropic": _anthropic}
