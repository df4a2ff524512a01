"""A model's tool call, in the shape its API gives it, answered with the item which that API takes.

The three shapes are told apart by what they hold: an OpenAI Responses `function_call` item, a tool call of a Chat
Completions message, an Anthropic `tool_use` block; each as a dictionary or as the object of the API's own package.
Whatever the model got wrong (the name, the JSON, the arguments) is answered, so that it can do better; only an object
that is no tool call at all is the caller's mistake and raises.
"""

from __future__ import annotations

import json

from eyespan.escape import valid_text
from eyespan.hosts import anthropic, openai
from eyespan.hosts.schemas import without_nulls
from eyespan.model import Reply, ReplyError, TextContent
from eyespan.record import record
from eyespan.tool import Tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

RESPONSES, CHAT, ANTHROPIC = "responses", "chat", "anthropic"


@record
class Asked:
    """One tool call, whichever API it came from."""

    api: str
    call_id: str
    name: str
    arguments: Any


def from_tool_call(tools: Tool | Iterable[Tool], call: Any, *, strict: bool = False) -> dict[str, Any]:
    """Answers one tool call: a `function_call_output` item, a `tool` message or a `tool_result` block.

    A tool answers to its name and its aliases. `strict` is what `to_openai` was given. A tool message of Chat
    Completions holds only text; `from_tool_calls` keeps its pictures.

    Raises: TypeError for an object that is no tool call, ValueError when two of the tools have the same name.
    """
    asked = _asked(call)
    tool, arguments = _prepared(_listed(tools), asked, strict)
    return _item(asked, arguments, tool if isinstance(tool, Reply) else tool.call(arguments))


def from_tool_calls(
    tools: Tool | Iterable[Tool], calls: Iterable[Any], *, strict: bool = False
) -> list[dict[str, Any]]:
    """Answers all tool calls of one turn: what to append to `input` (Responses) or `messages` (the other two).

    For Chat Completions the pictures and files follow the tool messages in one user message; for Anthropic all results
    are in one user message, as that API wants it.
    """
    known = _listed(tools)
    answered = []
    for call in calls:
        asked = _asked(call)
        tool, arguments = _prepared(known, asked, strict)
        answered.append((asked, arguments, tool if isinstance(tool, Reply) else tool.call(arguments)))
    return _turn(answered)


async def afrom_tool_call(tools: Tool | Iterable[Tool], call: Any, *, strict: bool = False) -> dict[str, Any]:
    """`from_tool_call` off the event loop; cancelling the task stops the read."""
    return _item(*await _answered(_listed(tools), call, strict))


async def afrom_tool_calls(
    tools: Tool | Iterable[Tool], calls: Iterable[Any], *, strict: bool = False
) -> list[dict[str, Any]]:
    """`from_tool_calls` off the event loop, the reads at the same time."""
    import asyncio

    known = _listed(tools)
    return _turn(list(await asyncio.gather(*[_answered(known, call, strict) for call in calls])))


async def _answered(tools: tuple[Tool, ...], call: Any, strict: bool) -> tuple[Asked, Any, Reply]:
    asked = _asked(call)
    tool, arguments = _prepared(tools, asked, strict)
    return asked, arguments, tool if isinstance(tool, Reply) else await tool.acall(arguments)


def parsed(text: str | bytes | bytearray) -> Any:
    """Arguments as the JSON text that models write. Raises: ValueError, with a text for the model."""
    try:
        text = text if isinstance(text, str) else text.decode("utf-8")
        return json.loads(text, parse_constant=_no_number) if text.strip() else {}
    except RecursionError:
        raise ValueError("the arguments are nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"the arguments are not valid JSON: {error}") from None


def failed(code: str, message: str) -> Reply:
    """The reply to a call that reached no tool."""
    message = valid_text(message)
    return Reply((TextContent(message),), None, ReplyError(code, message))


def filename(arguments: Any, suffix: str = ".pdf") -> str:
    """What to call a document that goes to a model as a file: the name that the model asked for."""
    for key in ("file_path", "path"):
        path = arguments.get(key) if isinstance(arguments, dict) else None
        if isinstance(path, str) and (name := path.replace("\\", "/").rstrip("/").rpartition("/")[2]):
            name = valid_text(name)
            return name if name.lower().endswith(suffix) else name + suffix
    return f"document{suffix}"


def _asked(call: Any) -> Asked:
    kind = _get(call, "type")
    if kind == "function_call" and _get(call, "call_id") is not None:
        return Asked(RESPONSES, _get(call, "call_id"), _get(call, "name"), _get(call, "arguments"))
    if kind == "tool_use" and _get(call, "id") is not None:
        return Asked(ANTHROPIC, _get(call, "id"), _get(call, "name"), _get(call, "input"))
    function = _get(call, "function")
    if function is not None and _get(call, "id") is not None:
        return Asked(CHAT, _get(call, "id"), _get(function, "name"), _get(function, "arguments"))
    raise TypeError(
        "not a tool call: it must be a function_call item of OpenAI Responses, a tool call of a Chat Completions "
        f"message or a tool_use block of Anthropic, not {type(call).__name__}"
        + (f" of type {kind!r}" if isinstance(kind, str) else "")
    )


def _get(call: Any, name: str) -> Any:
    return call.get(name) if isinstance(call, dict) else getattr(call, name, None)


def _prepared(tools: tuple[Tool, ...], asked: Asked, strict: bool) -> tuple[Tool | Reply, Any]:
    """The tool and its arguments, or the reply that says why there are none."""
    arguments = asked.arguments
    tool = _named(tools, asked.name)
    if tool is None:
        names = ", ".join([tool.spec.name for tool in tools]) or "none"
        return failed("unknown_tool", f"There is no tool {asked.name!r}; there is: {names}."), arguments
    if isinstance(arguments, (str, bytes, bytearray)):
        try:
            arguments = parsed(arguments)
        except ValueError as error:
            return failed("invalid_json", str(error)), None
    elif arguments is None:
        arguments = {}
    return tool, without_nulls(arguments, tool.spec.input_schema) if strict else arguments


def _listed(tools: Tool | Iterable[Tool]) -> tuple[Tool, ...]:
    if isinstance(tools, Tool):
        return (tools,)
    known = tuple(tools)
    names = [tool.spec.name for tool in known]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"two of the tools are called {twice[0]!r}: a call cannot tell which it means")
    return known


def _named(tools: tuple[Tool, ...], name: Any) -> Tool | None:
    for tool in tools:
        if tool.spec.name == name:
            return tool
    for tool in tools:
        if name in tool.spec.aliases:
            return tool
    return None


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _item(asked: Asked, arguments: Any, reply: Reply) -> dict[str, Any]:
    if asked.api == RESPONSES:
        return openai.responses_output(reply, asked.call_id, filename(arguments))
    if asked.api == CHAT:
        return openai.tool_message(reply, asked.call_id)
    return anthropic.tool_result(reply, asked.call_id, filename(arguments))


def _turn(answered: list[tuple[Asked, Any, Reply]]) -> list[dict[str, Any]]:
    items = [_item(*one) for one in answered]
    if answered and answered[0][0].api == ANTHROPIC:
        return [{"role": "user", "content": items}]
    more = [
        part
        for asked, arguments, reply in answered
        if asked.api == CHAT
        for part in openai.attachments(reply, filename(arguments, ""))
    ]
    return [*items, {"role": "user", "content": more}] if more else items
