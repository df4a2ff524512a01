"""`eyespan call`: tool calls as a model makes them, JSON in and JSON out."""

from __future__ import annotations

import json
import sys

from eyespan.cli import Options, Usage
from eyespan.model import TextContent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from eyespan.model import Reply
    from eyespan.tool import Tool

HELP = """\
usage: eyespan call DIALECT [JSON] [options]

One tool call: the dialect's own arguments as a JSON object (as a word, or on standard input), the reply as one JSON
object. The exit status is 1 when the reply is an error.

  eyespan call forge '{"path": "app.py", "head": 20}'
  eyespan call --root / codex '{"file_path": "/etc/hostname"}'
  echo '{"path": "app.py"}' | eyespan call workspace
  eyespan call forge --set max_scan_bytes=100000 '{"path": "app.log", "tail": 5}'

options
  --jsonl              many calls: one {"id": ..., "args": {...}} a line on standard input, one reply a line, in order
  --set NAME=VALUE     a setting of the dialect (JSON, or plain text); repeat it for several
  --root DIR           a folder that may be read (default: the current folder)
  --config FILE        a configuration file
  --timeout SECONDS    the longest one call may take (10)

A reply: {"is_error", "content": [{"type", "text" | "data" + "media_type"}], "structured", "error": {"code", "message"}}
"""


def main(options: Options) -> int:
    jsonl = False
    settings: dict[str, Any] = {}
    words: list[str] = []
    rest = iter(options.rest)
    for word in rest:
        if word == "--jsonl":
            jsonl = True
        elif word == "--set" or word.startswith("--set="):
            name, equals, value = (word.partition("=")[2] or next(rest, "")).partition("=")
            if not equals:
                raise Usage("--set takes NAME=VALUE")
            settings[name] = _value(value)
        elif word == "--":
            words.extend(rest)
        elif word.startswith("-") and len(word) > 1:
            raise Usage(f"call has no option {word}. Try: eyespan call --help")
        else:
            words.append(word)
    if not words:
        raise Usage("call needs a dialect. Try: eyespan dialects")
    tool = make_tool(options, words[0], settings)
    if jsonl:
        if len(words) > 1:
            raise Usage("with --jsonl the calls come from standard input, one a line")
        return _many(tool)
    if len(words) > 2:
        raise Usage("call takes one JSON object; put it in quotes")
    text = words[1] if len(words) == 2 and words[1] != "-" else sys.stdin.buffer.read().decode("utf-8", "replace")
    try:
        arguments = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Usage(f"the arguments are not JSON: {error}") from None
    reply = tool.call(arguments)
    _write(reply_json(reply))
    return 1 if reply.is_error else 0


def make_tool(options: Options, dialect: str, settings: dict[str, Any]) -> Tool:
    """The tool of a dialect, with the settings of the configuration and, over them, those given.

    Raises: Usage.
    """
    from eyespan.dialects import DIALECTS

    if dialect not in DIALECTS:
        raise Usage(f"no dialect {dialect!r}; there are {', '.join(DIALECTS)}")
    workspace, limits = options.workspace()
    try:
        return workspace.tool(dialect, **{**(limits if dialect == "forge" else {}), **settings})
    except (TypeError, ValueError) as error:
        raise Usage(str(error)) from None


def _many(tool: Tool) -> int:
    failed = False
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
            reply = reply_json(tool.call(call["args"]))
        except (ValueError, RecursionError) as error:
            message = f"this line is no call: {error}"
            reply = {
                "is_error": True,
                "content": [{"type": "text", "text": message}],
                "structured": None,
                "error": {"code": "invalid_json", "message": message},
            }
        failed = failed or bool(reply["is_error"])
        _write({**answer, **reply})
    return 1 if failed else 0


def reply_json(reply: Reply) -> dict[str, Any]:
    """A reply in the JSON form of the contract."""
    content: list[dict[str, str]] = []
    for block in reply.content:
        if isinstance(block, TextContent):
            content.append({"type": "text", "text": block.text})
        else:
            from base64 import b64encode

            data = b64encode(block.data).decode("ascii")
            content.append({"type": block.type, "data": data, "media_type": block.media_type})
    error = reply.error
    answer: dict[str, Any] = {
        "is_error": reply.is_error,
        "content": content,
        "structured": reply.structured,
        "error": None if error is None else {"code": error.code, "message": error.message},
    }
    if reply.notes:
        answer["notes"] = list(reply.notes)
    return answer


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _write(answer: dict[str, Any]) -> None:
    line = json.dumps(answer, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()
