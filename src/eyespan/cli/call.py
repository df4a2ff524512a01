"""`eyespan call`: tool calls as a model makes them, with arguments and replies in JSON."""

from __future__ import annotations

import json
import sys
from base64 import b64encode
from typing import Any

from eyespan.cli.options import Arguments, Parser, UsageError, add_map, add_settings, settings_by_dialect
from eyespan.model import Reply, TextContent
from eyespan.tool import Tool, Toolset

HELP = """\
usage: eyespan call DIALECT [TOOL] [JSON] [options]

Makes one tool call. The arguments of the dialect are one JSON object, given as
a word or on standard input; the reply is one JSON object. The exit status is 1
when the reply is an error.

  eyespan call forge '{"path": "app.py", "head": 20}'
  eyespan call --root / codex '{"file_path": "/etc/hostname"}'
  eyespan call filesystem list_directory '{"path": "."}'
  echo '{"path": "app.py"}' | eyespan call workspace
  eyespan call forge --set max_scan_bytes=9999 '{"path": "app.log", "tail": 5}'

A reply: {"is_error", "content": [{"type", "text" | "data" + "media_type"}],
"structured", "error": {"code", "message"},
"facts": {"tokens", "bytes", "lines", "left_out" ...}}
"""
CAN_DETACH = True


def add_options(parser: Parser) -> None:
    """Add the options of the command."""
    parser.add_argument(
        "--jsonl",
        action="store_true",
        help='many calls: one {"id": ..., "args": {...}} per line of standard input, one reply per line',
    )
    add_settings(parser)
    add_map(parser)


def main(arguments: Arguments) -> int:
    """Make the calls. Returns 1 if a reply is an error."""
    words = arguments.operands
    if not words:
        raise UsageError("call needs a dialect. Try: eyespan dialects")
    settings = settings_by_dialect(arguments.values.get("settings", ()), words[:1])
    tools = make_tools(arguments, words[0], settings.get(words[0], {}))
    if arguments.values.get("jsonl"):
        if len(words) > 1:
            raise UsageError("with --jsonl, standard input holds the calls, one per line")
        return _call_lines(tools)
    rest = list(words[1:])
    tool = _find_tool(tools, rest.pop(0) if len(tools) > 1 and rest else None)
    if len(rest) > 1:
        raise UsageError("call takes one JSON object; put it in quotes")
    text = rest[0] if rest and rest[0] != "-" else sys.stdin.buffer.read().decode("utf-8", "replace")
    if not text.strip():
        raise UsageError("call needs the arguments of the tool as one JSON object. Try: eyespan call --help")
    try:
        given = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the arguments are not JSON, which a shell wants in single quotes: {error}") from None
    reply = tool.call(given)
    _write(reply_json(reply))
    return 1 if reply.is_error else 0


def make_tools(arguments: Arguments, dialect: str, settings: dict[str, Any]) -> Toolset:
    """Return the tools of a dialect. `settings` override those of the configuration. Raises: UsageError."""
    workspace = arguments.workspace()
    try:
        return workspace.toolset(dialect, **settings)
    except (TypeError, ValueError) as error:
        raise UsageError(str(error)) from None


def _find_tool(tools: Toolset, name: str | None) -> Tool:
    """Return the tool of a name, or the only one. Raises: UsageError."""
    if name is None and len(tools) == 1:
        return tools[0]
    try:
        return tools.named(name or "")
    except KeyError:
        known = ", ".join([tool.spec.name for tool in tools])
        asked = "needs the name of a tool" if name is None else f"has no tool {name!r}"
        raise UsageError(f"{tools[0].dialect.name} {asked}; its tools are {known}") from None


def _call_lines(tools: Toolset) -> int:
    """Answer each line of standard input, which names its tool if the dialect has several. Returns 1 for any error."""
    has_failed = False
    for line in sys.stdin.buffer:
        if not line.strip():
            continue
        answer: dict[str, Any] = {}
        try:
            call = json.loads(line)
            if not isinstance(call, dict) or "args" not in call:
                raise ValueError('expected {"id": ..., "args": {...}}')
            if "id" in call:
                answer["id"] = call["id"]
            reply = reply_json(_find_tool(tools, call.get("tool")).call(call["args"]))
        except (ValueError, RecursionError, UsageError) as error:
            message = f"not a call: {error}"
            reply = {
                "is_error": True,
                "content": [{"type": "text", "text": message}],
                "structured": None,
                "error": {"code": "invalid_json", "message": message},
            }
        has_failed = has_failed or bool(reply["is_error"])
        _write({**answer, **reply})
    return 1 if has_failed else 0


def reply_json(reply: Reply) -> dict[str, Any]:
    """Return a reply as the JSON object that `call` prints."""
    content: list[dict[str, str]] = []
    for block in reply.content:
        if isinstance(block, TextContent):
            content.append({"type": "text", "text": block.text})
        else:
            data = b64encode(block.data).decode("ascii")
            content.append({"type": block.type, "data": data, "media_type": block.media_type})
    error = reply.error
    answer: dict[str, Any] = {
        "is_error": reply.is_error,
        "content": content,
        "structured": reply.structured,
        "error": None if error is None else {"code": error.code, "message": error.message},
        "facts": reply.facts,
    }
    if reply.notes:
        answer["notes"] = list(reply.notes)
    return answer


def _write(answer: dict[str, Any]) -> None:
    line = json.dumps(answer, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()
