"""A model's tool call, answered with the item that its API expects.

A call is recognized by its fields: an OpenAI Responses `function_call` item, a tool call of a Chat Completions
message, an Anthropic `tool_use` block, a `functionCall` part of Gemini; each as a dictionary or as an object of the
API's own package. A wrong name, wrong JSON or wrong arguments are the model's mistake and are answered with an error.
An object that is not a tool call is the caller's mistake and raises.

Results are dictionaries as the API's own package types them. Their declared type is `Any`, because the call decides
which API they are for; `to_openai` and `to_anthropic` declare the types of the packages.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from eyespan.escape import valid_text
from eyespan.extras.hosts import anthropic, gemini_api, openai
from eyespan.extras.hosts.schemas import without_nulls
from eyespan.model import Reply, ReplyError, TextContent
from eyespan.tool import Tool

RESPONSES, CHAT, ANTHROPIC, GEMINI = "responses", "chat", "anthropic", "gemini"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One tool call of any API."""

    api: str
    call_id: str
    name: str
    arguments: Any


def from_tool_call(tools: Tool | Iterable[Tool], call: Any, *, strict: bool = False) -> Any:
    """Answer one tool call with a `function_call_output` item, a `tool` message, a `tool_result` block or a
    `functionResponse` part.

    A tool answers to its name and its aliases. Pass the same `strict` as to `to_openai`. A tool message of Chat
    Completions holds only text; `from_tool_calls` keeps its images.

    Raises: TypeError for an object that is not a tool call, ValueError if two tools have the same name.
    """
    return _item(*_answer(_tool_tuple(tools), call, strict))


def from_tool_calls(tools: Tool | Iterable[Tool], calls: Iterable[Any], *, strict: bool = False) -> list[Any]:
    """Answer all tool calls of one turn. Append the items to `input` (Responses), `contents` (Gemini) or `messages`.

    For Chat Completions the images and files follow the tool messages in one user message; for Anthropic and Gemini all
    results are in one user message, as these APIs require. Raises as `from_tool_call` does.
    """
    known = _tool_tuple(tools)
    return _turn([_answer(known, call, strict) for call in calls])


async def afrom_tool_call(tools: Tool | Iterable[Tool], call: Any, *, strict: bool = False) -> Any:
    """Answer as `from_tool_call` does, off the event loop. Cancelling the task stops the read."""
    return _item(*await _aanswer(_tool_tuple(tools), call, strict))


async def afrom_tool_calls(tools: Tool | Iterable[Tool], calls: Iterable[Any], *, strict: bool = False) -> list[Any]:
    """Answer as `from_tool_calls` does, off the event loop, with concurrent reads."""
    import asyncio

    known = _tool_tuple(tools)
    return _turn(list(await asyncio.gather(*[_aanswer(known, call, strict) for call in calls])))


def _answer(tools: tuple[Tool, ...], call: Any, strict: bool) -> tuple[ToolCall, Any, Reply]:
    parsed = _parse_call(call)
    tool, arguments = _resolve(tools, parsed, strict)
    return parsed, arguments, tool if isinstance(tool, Reply) else tool.call(arguments)


async def _aanswer(tools: tuple[Tool, ...], call: Any, strict: bool) -> tuple[ToolCall, Any, Reply]:
    parsed = _parse_call(call)
    tool, arguments = _resolve(tools, parsed, strict)
    return parsed, arguments, tool if isinstance(tool, Reply) else await tool.acall(arguments)


def parse_arguments(text: str | bytes | bytearray) -> Any:
    """Parse the JSON of a model's arguments; an empty text stands for an empty object.

    Raises: ValueError, with a message for the model.
    """
    try:
        text = text if isinstance(text, str) else text.decode("utf-8")
        return json.loads(text, parse_constant=_refuse_constant) if text.strip() else {}
    except RecursionError:
        raise ValueError("the arguments are nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"the arguments are not valid JSON: {error}") from None


def error_reply(code: str, message: str) -> Reply:
    """Return the reply to a call that reached no tool."""
    message = valid_text(message)
    return Reply((TextContent(message),), None, ReplyError(code, message))


def attachment_name(arguments: Any, suffix: str = ".pdf") -> str:
    """Return the file name for a document in a reply: the last part of the path that the model asked for."""
    for key in ("file_path", "path"):
        path = arguments.get(key) if isinstance(arguments, dict) else None
        if isinstance(path, str) and (name := path.replace("\\", "/").rstrip("/").rpartition("/")[2]):
            name = valid_text(name)
            return name if name.lower().endswith(suffix) else name + suffix
    return f"document{suffix}"


def _parse_call(call: Any) -> ToolCall:
    """Recognize the API of a call by its fields. Raises: TypeError."""
    kind, call_id = _get(call, "type"), _get(call, "id")
    if kind == "function_call" and _get(call, "call_id") is not None:
        return _tool_call(RESPONSES, _get(call, "call_id"), call, "arguments")
    if kind == "tool_use" and call_id is not None:
        return _tool_call(ANTHROPIC, call_id, call, "input")
    if _get(call, "function") is not None and call_id is not None:
        return _tool_call(CHAT, call_id, _get(call, "function"), "arguments")
    called = _get(call, "functionCall") or _get(call, "function_call") or call
    if isinstance(_get(called, "name"), str) and (called is not call or _get(call, "args") is not None):
        return _tool_call(GEMINI, _get(called, "id") or "", called, "args")
    raise TypeError(
        "not a tool call: it must be a function_call item of OpenAI Responses, a tool call of a Chat Completions "
        f"message, a tool_use block of Anthropic or a functionCall part of Gemini, not {type(call).__name__}"
        + (f" of type {kind!r}" if isinstance(kind, str) else "")
    )


def _tool_call(api: str, call_id: str, called: Any, arguments: str) -> ToolCall:
    return ToolCall(api=api, call_id=call_id, name=_get(called, "name"), arguments=_get(called, arguments))


def _get(call: Any, name: str) -> Any:
    return call.get(name) if isinstance(call, dict) else getattr(call, name, None)


def _resolve(tools: tuple[Tool, ...], call: ToolCall, strict: bool) -> tuple[Tool | Reply, Any]:
    """Return the tool of a call and its arguments. In place of the tool: an error reply, if the call is wrong."""
    arguments = call.arguments
    tool = _find_tool(tools, call.name)
    if tool is None:
        names = ", ".join([tool.spec.name for tool in tools]) or "none"
        return error_reply("unknown_tool", f"There is no tool {call.name!r}; there is: {names}."), arguments
    if isinstance(arguments, (str, bytes, bytearray)):
        try:
            arguments = parse_arguments(arguments)
        except ValueError as error:
            return error_reply("invalid_json", str(error)), None
    elif arguments is None:
        arguments = {}
    return tool, without_nulls(arguments, tool.spec.input_schema) if strict else arguments


def _tool_tuple(tools: Tool | Iterable[Tool]) -> tuple[Tool, ...]:
    """Return the tools as a tuple. Raises: ValueError if two have the same name."""
    if isinstance(tools, Tool):
        return (tools,)
    known = tuple(tools)
    names = [tool.spec.name for tool in known]
    duplicates = sorted({name for name in names if names.count(name) > 1})
    if duplicates:
        raise ValueError(f"two of the tools have the name {duplicates[0]!r}, so a call for it is ambiguous")
    return known


def _find_tool(tools: tuple[Tool, ...], name: Any) -> Tool | None:
    named = [tool for tool in tools if tool.spec.name == name] or [tool for tool in tools if name in tool.spec.aliases]
    return named[0] if named else None


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _item(call: ToolCall, arguments: Any, reply: Reply) -> dict[str, Any]:
    if call.api == RESPONSES:
        return openai.responses_output(reply, call.call_id, attachment_name(arguments))
    if call.api == CHAT:
        return openai.tool_message(reply, call.call_id)
    if call.api == GEMINI:
        return gemini_api.function_response(reply, call.call_id, call.name)
    return anthropic.tool_result(reply, call.call_id, attachment_name(arguments))


def _turn(answered: list[tuple[ToolCall, Any, Reply]]) -> list[dict[str, Any]]:
    items = [_item(*one) for one in answered]
    if answered and answered[0][0].api == ANTHROPIC:
        return [{"role": "user", "content": items}]
    if answered and answered[0][0].api == GEMINI:
        return [{"role": "user", "parts": items}]
    attachments = [
        part
        for call, arguments, reply in answered
        if call.api == CHAT
        for part in openai.attachments(reply, attachment_name(arguments, ""))
    ]
    return [*items, {"role": "user", "content": attachments}] if attachments else items
