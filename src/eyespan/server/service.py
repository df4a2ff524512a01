"""The tools of one caller, over one workspace. No transport, no threads.

Results are plain dicts. Bytes in them stand for base64 text, which the transports write. The stdio server and the HTTP
server both answer from here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from eyespan import plugins
from eyespan.context import CallContext
from eyespan.dialects import dialect_class
from eyespan.errors import ReadError
from eyespan.escape import valid_text
from eyespan.model import Content, DocumentContent, ImageContent, Reply, ReplyError, TextContent
from eyespan.recorder import Recorder, facts, watched
from eyespan.server import json_messages
from eyespan.server.audit_trail import AuditLog, AuditTrail
from eyespan.server.definitions import definition
from eyespan.server.mcp_names import INVALID_PARAMS, RpcError
from eyespan.server.serve_options import DEFAULT_DIALECT, ServeOptions
from eyespan.tool import Tool
from eyespan.workspace import HOST, Workspace

Handler = Callable[[Mapping[str, Any], str, CallContext], dict[str, Any]]
"""Answers one method: `(params, caller, context) -> result`. Raises: RpcError; WouldBlock, if it may not block."""
PLAIN = ServeOptions(max_answer_tokens=0)
"""Of a caller who names none: the answers of the dialects as they are."""
_CONTENT_KEYS = frozenset(("text", "content", "base64"))
"""Keys of a structured result that repeat the text; they are left out beside it."""


class Service:
    """Tools in one or several dialects, and files as resources."""

    def __init__(
        self,
        workspace: Workspace,
        dialects: Sequence[str] = (),
        options: ServeOptions = PLAIN,
        *,
        audit: AuditLog | None = None,
        max_result_bytes: int | None = None,
    ) -> None:
        """Make the tools of `dialects`, or of those of the options. Raises: what `Workspace.tool` raises."""
        self.workspace = workspace
        self.trail = AuditTrail(audit, is_required=options.audit_required)
        self.resources = plugins.load(plugins.own("RESOURCES")[0])(workspace, self.trail, max_result_bytes)
        self._is_data = options.structured
        self._max_result_bytes = max_result_bytes
        names = tuple(dict.fromkeys(dialects or options.dialects)) or (DEFAULT_DIALECT,)
        self._tools: dict[str, Tool] = {}
        """The tools by each name they answer to."""
        self._listed: list[tuple[str, Tool]] = []
        unprefixed: list[tuple[str, Tool]] = []
        for dialect in names:
            prefix = f"{dialect.replace('-', '_')}_" if len(names) > 1 else ""
            for tool in workspace.toolset(dialect, **_server_settings(workspace, dialect, options)):
                spec = tool.spec
                self._listed.append((prefix + spec.name, tool))
                self._tools.update({prefix + name: tool for name in (spec.name, *spec.aliases)})
                unprefixed += [(name, tool) for name in (spec.name, *spec.aliases)]
        # Accept a name without prefix too, since models know it, unless two dialects have that name.
        for name, tool in unprefixed:
            if len({id(other) for other_name, other in unprefixed if other_name == name}) == 1:
                self._tools.setdefault(name, tool)
        self.instructions = _instructions(workspace, self._listed)

    @property
    def remembers(self) -> bool:
        """Return True if a tool leaves out what it has shown, so that only one conversation may use it."""
        return any(getattr(tool.dialect, "remembers", False) for _, tool in self._listed)

    def handler(self, method: str) -> Handler:
        """Return the handler of a method. Raises: KeyError."""
        if method == "tools/call":
            return self._call_tool
        handlers: Mapping[str, Handler] = {"tools/list": self._list_tools, **self.resources.handlers}
        return handlers[method]

    def _list_tools(self, params: Mapping[str, Any], caller: str, context: CallContext) -> dict[str, Any]:
        return {"tools": [definition(name, tool, is_data=self._is_data) for name, tool in self._listed]}

    def _call_tool(self, params: Mapping[str, Any], caller: str, context: CallContext) -> dict[str, Any]:
        """Call a tool. Raises: RpcError for an unknown tool; any other failure is a result with `isError`."""
        name = params.get("name")
        tool = self._tools.get(name) if isinstance(name, str) else None
        if tool is None:
            known = ", ".join(listed for listed, _ in self._listed)
            message = f"Unknown tool: {name}" if isinstance(name, str) else "name must be a string"
            raise RpcError(INVALID_PARAMS, message, {"tools": known})
        arguments = params.get("arguments")
        if arguments is None:
            arguments = {}
        reply, _ = self.reply(tool, arguments, caller, context)
        result = self._result(tool, reply)
        try:
            charge_json(result, context)
        except ReadError as error:
            return self._result(tool, tool.error_reply(error))
        return result

    def toolsets(self) -> dict[str, list[Tool]]:
        """Return the tools by dialect."""
        by_dialect: dict[str, list[Tool]] = {}
        for _, tool in self._listed:
            by_dialect.setdefault(tool.dialect.name, []).append(tool)
        return by_dialect

    def reply(self, tool: Tool, arguments: Any, caller: str, context: CallContext) -> tuple[Reply, Recorder | None]:
        """Call a tool, and write the audit line of the call.

        An answer that is too large, or may not be given because the line cannot be written, is replaced by an error.
        Raises: WouldBlock, if the context may not block.
        """
        recorder = None
        if self.trail.log is None:
            reply = tool.call(arguments, context=context)
        else:
            reply, recorder, seconds = watched(tool, arguments, context)
            is_read = reply.error is None
            is_noted = self.trail.note(
                facts(recorder),
                context,
                caller=caller,
                dialect=tool.dialect.name,
                is_read=is_read,
                size_bytes=_size_bytes(reply.content) if is_read else 0,
                tokens=reply.facts["tokens"] if is_read else 0,
                code=None if reply.error is None else reply.error.code,
                seconds=seconds,
            )
            if not is_noted:
                text = "The audit log cannot be written, so files cannot be read. Ask the user to fix this."
                return _failed(text, "audit"), recorder
        limit = self._max_result_bytes
        if limit is not None and (size := _size_bytes(reply.content)) > limit:
            text = f"The answer has {size} bytes, this server sends at most {limit}. Ask for fewer lines or pages."
            return _failed(text, "answer_too_large"), recorder
        return reply, recorder

    def _result(self, tool: Tool, reply: Reply) -> dict[str, Any]:
        result: dict[str, Any] = {
            "content": [_block(block, tool) for block in reply.content],
            "isError": reply.error is not None,
        }
        meta: dict[str, Any] = {}
        if reply.error is not None:
            meta["eyespan/error"] = {"code": reply.error.code}
        else:
            counted = meta["eyespan/facts"] = reply.facts
            own = {name: value for name, value in (reply.structured or {}).items() if name not in _CONTENT_KEYS}
            if tool.dialect.output_schema is not None:
                result["structuredContent"] = reply.structured
            elif self._is_data:
                result["structuredContent"] = {"text": reply.text, "facts": counted, "result": own}
            else:
                meta["eyespan/facts"] = {**own, **counted}
        if reply.notes:
            meta["eyespan/notes"] = list(reply.notes)
        if meta:
            result["_meta"] = meta
        return result


def _block(block: Content, tool: Tool) -> dict[str, Any]:
    if isinstance(block, TextContent):
        return {"type": "text", "text": block.text}
    if isinstance(block, ImageContent):
        return {"type": "image", "data": block.data, "mimeType": block.media_type}
    if tool.dialect.sends_documents:
        if block.media_type.startswith("audio/"):
            return {"type": "audio", "data": block.data, "mimeType": block.media_type}
        resource = {"uri": block.uri, "mimeType": block.media_type, "blob": block.data}
        return {"type": "resource", "resource": resource}
    # Hosts write such a block to disk, or give its base64 to the model as text.
    text = f"[A document of type {block.media_type}, {len(block.data)} bytes, which is not sent over MCP.]"
    return {"type": "text", "text": text}


def _failed(text: str, code: str) -> Reply:
    return Reply((TextContent(text),), None, ReplyError(code, text))


def _size_bytes(content: Sequence[Content]) -> int:
    """Return the size of the contents, without the overhead of JSON and base64."""
    size = 0
    for block in content:
        if isinstance(block, TextContent):
            size += len(block.text) if block.text.isascii() else len(block.text.encode())
        elif isinstance(block, (ImageContent, DocumentContent)):
            size += len(block.data)
    return size


def _server_settings(workspace: Workspace, dialect: str, options: ServeOptions) -> Mapping[str, Any]:
    """Return the settings of a dialect.

    Its definition names the roots by default: the instructions name them too. The lower of two limits of an answer
    holds.
    """
    configured = {**workspace.settings.get(HOST, {}), **workspace.settings.get(dialect, {})}
    limits = [one for one in (options.max_answer_tokens, configured.get("max_answer_tokens", 0)) if one]
    chosen: dict[str, Any] = {"max_answer_tokens": min(limits, default=0)}
    name = "describes_roots"
    if name in dialect_class(dialect).settings and name not in configured:
        chosen[name] = True
    return {**chosen, **options.settings.get(dialect, {})}


def _instructions(workspace: Workspace, listed: Sequence[tuple[str, Tool]]) -> str:
    """Return what a host may show its model about the server: the roots, and what each tool shows."""
    roots = ", ".join([workspace.path_map.outward(root.path) for root in workspace.roots])
    parts: dict[str, list[str]] = {}
    for name, tool in listed:
        parts.setdefault(tool.dialect.instructions, []).append(name)
    several = [f"{', '.join(names)}: {text}" for text, names in parts.items()]
    shown = " ".join(several if len(several) > 1 else parts)
    names = ", ".join(name for name, _ in listed)
    return valid_text(
        f"Reads files below {_short(roots, 300, 'its directories')} with {_short(names, 250, 'its tools')}; it never "
        "writes. Use it in place of cat, sed and head: line numbers are exact, files of any size and encoding are "
        "read, and what an answer leaves out is named with the call that reads on. "
        f"{_short(shown, 600, 'Each tool describes itself.')} Keys and credentials are refused."
    )


def _short(text: str, max_chars: int, instead: str) -> str:
    """Return a part of the instructions, of which a host may cut off the end."""
    return text if len(text) <= max_chars else instead


def charge_json(result: dict[str, Any], context: CallContext) -> None:
    """Pay for the JSON of a result, until it was sent. Raises: TooMuchMemory, Cancelled, TimedOut."""
    if context.memory.is_held and (size_bytes := json_messages.large_bytes(result)):
        context.charge(size_bytes)
