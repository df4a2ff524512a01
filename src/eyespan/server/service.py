"""The tools and resources of one caller, over one workspace. No transport, no threads.

Results are plain dicts. Bytes in them stand for base64 text, which the transports write. The stdio server and the HTTP
server both answer from here.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from eyespan.context import CallContext, WouldBlock
from eyespan.dialects import dialect_class, resource
from eyespan.dialects.resource import complete, uri_of
from eyespan.errors import ReadError
from eyespan.escape import valid_text
from eyespan.model import Content, DocumentContent, ImageContent, Reply, ReplyError, TextContent
from eyespan.server import json_lines
from eyespan.server.definitions import definition, output_schema
from eyespan.server.options import DEFAULT_DIALECT
from eyespan.server.protocol import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    READING_METHODS,
    RESOURCE_NOT_FOUND,
    RESOURCE_TEMPLATE,
    RpcError,
)
from eyespan.tokens import estimate
from eyespan.tool import Tool
from eyespan.workspace import Workspace

if TYPE_CHECKING:
    from eyespan.guard.listing import Listing
    from eyespan.recorder import Recorder
    from eyespan.server.options import ServeOptions


class AuditLog(Protocol):
    """Where the lines about calls go."""

    def write(self, line: dict[str, Any]) -> None:
        """Append one line. Raises: OSError."""


_CONTENT_KEYS = frozenset(("text", "content", "base64"))
"""Keys of a structured result that repeat the content blocks. `_meta` leaves them out."""


class Service:
    """Tools in one or several dialects, and files as resources."""

    def __init__(
        self,
        workspace: Workspace,
        dialects: Sequence[str] = (),
        *,
        settings: Mapping[str, Mapping[str, Any]] | None = None,
        rich: bool = False,
        audit: AuditLog | None = None,
        audit_required: bool = False,
        max_result_bytes: int | None = None,
    ) -> None:
        """Make the tools. Raises: ValueError, TypeError for an unknown dialect or setting."""
        self.workspace = workspace
        self.refusal: str | None = None
        """The reason for which nothing can be read at present."""
        self.audit = audit
        self._rich = rich
        self._audit_required = audit_required
        self._max_result_bytes = max_result_bytes
        names = tuple(dict.fromkeys(dialects)) or (DEFAULT_DIALECT,)
        self._tools: dict[str, Tool] = {}
        """The tools by each name they answer to."""
        self._listed: list[tuple[str, Tool]] = []
        unprefixed: list[tuple[str, Tool]] = []
        for dialect in names:
            prefix = f"{dialect.replace('-', '_')}_" if len(names) > 1 else ""
            for tool in workspace.toolset(dialect, **_server_settings(workspace, dialect, settings or {})):
                spec = tool.spec
                self._listed.append((prefix + spec.name, tool))
                self._tools.update({prefix + name: tool for name in (spec.name, *spec.aliases)})
                unprefixed += [(name, tool) for name in (spec.name, *spec.aliases)]
        # Accept a name without prefix too, since models know it, unless two dialects have that name.
        for name, tool in unprefixed:
            if len({id(other) for other_name, other in unprefixed if other_name == name}) == 1:
                self._tools.setdefault(name, tool)
        self.instructions = _instructions(workspace, self._listed)

    @classmethod
    def from_options(
        cls,
        workspace: Workspace,
        options: ServeOptions,
        *,
        dialects: Sequence[str] = (),
        audit: AuditLog | None,
        max_result_bytes: int | None = None,
    ) -> Service:
        """Make the service of a server; `dialects` override those of the options. Raises: ValueError, TypeError."""
        return cls(
            workspace,
            dialects or options.dialects,
            settings=options.settings,
            rich=options.rich,
            audit=audit,
            audit_required=options.audit_required,
            max_result_bytes=max_result_bytes,
        )

    def handler(self, method: str) -> Callable[[Mapping[str, Any], str, CallContext], dict[str, Any]]:
        """Return the handler of a method: `(params, caller, context) -> result`. Raises: KeyError.

        Handlers raise RpcError, and WouldBlock if the context may not block.
        """
        if self.refusal is not None and method in READING_METHODS:
            return self._refuse
        if method == "tools/call":
            return self._call_tool
        return {
            "tools/list": self._list_tools,
            "resources/list": lambda params, caller, context: {"resources": []},
            "resources/templates/list": self._list_templates,
            "resources/read": self._read_resource,
            "completion/complete": self._complete,
        }[method]

    def _refuse(self, params: Mapping[str, Any], caller: str, context: CallContext) -> dict[str, Any]:
        """Refuse a call: with a result that the model understands, or with an error for other methods."""
        assert self.refusal is not None
        if "arguments" in params or "name" in params:
            return _error_result(self.refusal, "outside_root")
        raise RpcError(INVALID_PARAMS, self.refusal)

    # --- tools -----------------------------------------------------------------------------------------------------

    def _list_tools(self, params: Mapping[str, Any], caller: str, context: CallContext) -> dict[str, Any]:
        return {"tools": [definition(name, tool) for name, tool in self._listed]}

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
        reply, recorder = self.reply(tool, arguments, caller, context)
        result = self._result(tool, reply, recorder)
        try:
            _charge_json(result, context)
        except ReadError as error:
            return self._result(tool, tool.error_reply(error), recorder)
        return result

    def toolsets(self) -> dict[str, list[Tool]]:
        """Return the tools by dialect."""
        found: dict[str, list[Tool]] = {}
        for _, tool in self._listed:
            found.setdefault(tool.dialect.name, []).append(tool)
        return found

    def reply(self, tool: Tool, arguments: Any, caller: str, context: CallContext) -> tuple[Reply, Recorder | None]:
        """Call a tool, and write the audit line of the call.

        An answer that is too large, or may not be given because the line cannot be written, is replaced by an error.
        Raises: WouldBlock, if the context may not block.
        """
        recorder = None
        if self.audit is None and not self._rich:
            reply = tool.call(arguments, context=context)
        else:
            from eyespan.recorder import facts, watched

            reply, recorder, seconds = watched(tool, arguments, context)
            if self.audit is not None:
                is_read = reply.error is None
                verdict = "cancelled" if context.cancelled else "read" if is_read else "refused"
                line = {"caller": caller, "dialect": tool.dialect.name, **facts(recorder)}
                line |= {"bytes": _size_bytes(reply.content) if is_read else 0}
                line |= {"tokens": reply.facts["tokens"] if is_read else 0, "verdict": verdict}
                if context.store_requests:
                    line |= {"store_requests": context.store_requests, "store_bytes": context.store_bytes}
                line |= {"code": None if reply.error is None else reply.error.code, "ms": round(seconds * 1000, 3)}
                if not self._write_audit(line):
                    text = "The audit log cannot be written, so files cannot be read. Ask the user to fix this."
                    return _failed(text, "audit"), recorder
        limit = self._max_result_bytes
        if limit is not None and (size := _size_bytes(reply.content)) > limit:
            text = f"The answer has {size} bytes, this server sends at most {limit}. Ask for fewer lines or pages."
            return _failed(text, "answer_too_large"), recorder
        return reply, recorder

    def list_names(self, path: str, caller: str, context: CallContext) -> Listing:
        """List a directory, and write the audit line of the call. Raises: ReadError, RpcError, WouldBlock."""
        from eyespan.recorder import Recorder

        recorder = Recorder(self.workspace.engine)
        start = time.perf_counter()
        listing = None
        would_block = False
        try:
            listing = recorder.list(path, context)
        except WouldBlock:
            would_block = True  # the transport repeats the call in a thread, and that one is logged
            raise
        finally:
            context.finish()
            names = [] if listing is None else [entry.name for entry in listing.entries]
            if not would_block:
                self._audit_names(recorder, "view", path, names, caller=caller, context=context, start=start)
        return listing

    def _write_audit(self, line: dict[str, Any]) -> bool:
        """Write an audit line. Returns False if the answer must be withheld."""
        assert self.audit is not None
        try:
            self.audit.write(line)
        except OSError as error:
            from eyespan.server.audit import warn

            warn(error)
            return not self._audit_required
        return True

    def _result(self, tool: Tool, reply: Reply, recorder: Recorder | None) -> dict[str, Any]:
        result: dict[str, Any] = {
            "content": [self._block(block, recorder, tool) for block in reply.content],
            "isError": reply.error is not None,
        }
        meta: dict[str, Any] = {}
        if reply.error is not None:
            meta["eyespan/error"] = {"code": reply.error.code}
        else:
            facts = meta["eyespan/facts"] = reply.facts
            if output_schema(tool) is not None:
                result["structuredContent"] = reply.structured
            elif reply.structured is not None:
                own = {name: value for name, value in reply.structured.items() if name not in _CONTENT_KEYS}
                meta["eyespan/facts"] = {**own, **facts}
        if reply.notes:
            meta["eyespan/notes"] = list(reply.notes)
        if meta:
            result["_meta"] = meta
        return result

    def _block(self, block: Content, recorder: Recorder | None, tool: Tool) -> dict[str, Any]:
        if isinstance(block, TextContent):
            return {"type": "text", "text": block.text}
        if isinstance(block, ImageContent):
            return {"type": "image", "data": block.data, "mimeType": block.media_type}
        if tool.dialect.sends_documents:
            if block.media_type.startswith("audio/"):
                return {"type": "audio", "data": block.data, "mimeType": block.media_type}
            resource = {"uri": block.uri, "mimeType": block.media_type, "blob": block.data}
            return {"type": "resource", "resource": resource}
        if self._rich:
            path = recorder.document.facts.canonical if recorder is not None and recorder.document is not None else ""
            path = os.path.join(self.workspace.roots[0].path, path)  # an absolute path leads back, whatever the roots
            resource = {"uri": uri_of(path), "mimeType": block.media_type, "blob": block.data}
            return {"type": "resource", "resource": resource}
        # Hosts write such a block to disk, or give its base64 to the model as text.
        text = f"[A document of type {block.media_type}, {len(block.data)} bytes, which is not sent over MCP.]"
        return {"type": "text", "text": text}

    # --- files as resources ----------------------------------------------------------------------------------------

    def _list_templates(self, params: Mapping[str, Any], caller: str, context: CallContext) -> dict[str, Any]:
        template = {
            "uriTemplate": RESOURCE_TEMPLATE,
            "name": "file",
            "title": "A file of the workspace",
            "description": "path: absolute, or relative to the first root. start and limit: a range of lines, counted "
            "from 1. Text files are returned as text, all others as base64.",
        }
        return {"resourceTemplates": [template]}

    def _read_resource(self, params: Mapping[str, Any], caller: str, context: CallContext) -> dict[str, Any]:
        from eyespan.recorder import Recorder, facts

        uri = params.get("uri")
        if not isinstance(uri, str):
            raise RpcError(INVALID_PARAMS, "uri must be a string")
        recorder = Recorder(self.workspace.engine)
        start = time.perf_counter()
        code = None
        would_block = False
        contents: dict[str, Any] = {}
        try:
            contents = resource.read(recorder, self.workspace.roots, uri, context, self._max_result_bytes)
        except ReadError as error:
            code = error.code
            raise RpcError(RESOURCE_NOT_FOUND, valid_text(str(error)), {"uri": uri}) from None
        except WouldBlock:
            would_block = True  # the transport repeats the read in a thread, and that one is logged
            raise
        finally:
            context.finish()
            if self.audit is not None and not would_block:
                size = len(contents.get("text", "").encode()) if "text" in contents else len(contents.get("blob", b""))
                verdict = "cancelled" if context.cancelled else "read" if contents else "refused"
                line = {"caller": caller, "dialect": "resource", **facts(recorder), "bytes": size}
                line |= {"tokens": estimate(contents.get("text", "")), "verdict": verdict}
                line |= {"code": code, "ms": round((time.perf_counter() - start) * 1000, 3)}
                if not self._write_audit(line):
                    message = "the audit log cannot be written, so files cannot be read"
                    raise RpcError(INTERNAL_ERROR, message, {"uri": uri})
        try:
            _charge_json(contents, context)
        except ReadError as error:
            raise RpcError(RESOURCE_NOT_FOUND, valid_text(str(error)), {"uri": uri}) from None
        return {"contents": [contents]}

    def _complete(self, params: Mapping[str, Any], caller: str, context: CallContext) -> dict[str, Any]:
        ref, argument = params.get("ref"), params.get("argument")
        if not isinstance(ref, dict) or not isinstance(argument, dict):
            raise RpcError(INVALID_PARAMS, "ref and argument must be objects")
        if ref.get("type") != "ref/resource" or ref.get("uri") != RESOURCE_TEMPLATE:
            raise RpcError(INVALID_PARAMS, f"only the template {RESOURCE_TEMPLATE} has completions")
        value = argument.get("value")
        if not isinstance(value, str):
            raise RpcError(INVALID_PARAMS, "argument.value must be a string")
        if argument.get("name") != "path":
            return {"completion": {"values": [], "total": 0, "hasMore": False}}
        from eyespan.recorder import Recorder

        recorder = Recorder(self.workspace.engine)
        start = time.perf_counter()
        try:
            completion = complete(recorder, value, context)
        finally:
            context.finish()
        names = completion["values"]
        self._audit_names(recorder, "completion", value, names, caller=caller, context=context, start=start)
        return {"completion": completion}

    def _audit_names(
        self,
        recorder: Recorder,
        dialect: str,
        path: str,
        names: Sequence[str],
        *,
        caller: str,
        context: CallContext,
        start: float,
    ) -> None:
        """Write the audit line of a listing. Raises: RpcError, if the names may not be given without it."""
        if self.audit is None:
            return
        is_refused = recorder.list_error is not None
        line = {
            "caller": caller,
            "dialect": dialect,
            "path": path,
            "canonical": recorder.listed,
            "mtime_ns": None,
            "range": None,
            "rule": recorder.rule,
            "bytes": sum(len(name.encode("utf-8", "surrogatepass")) for name in names),
            "tokens": 0,
            "verdict": "cancelled" if context.cancelled else "refused" if is_refused else "read",
            "code": recorder.list_error,
            "ms": round((time.perf_counter() - start) * 1000, 3),
        }
        if not self._write_audit(line):
            raise RpcError(INTERNAL_ERROR, "the audit log cannot be written, so directories cannot be listed")


def _failed(text: str, code: str) -> Reply:
    return Reply((TextContent(text),), None, ReplyError(code, text))


def _error_result(text: str, code: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "isError": True, "_meta": {"eyespan/error": {"code": code}}}


def _charge_json(result: dict[str, Any], context: CallContext) -> None:
    """Pay for the JSON of a result, until it was sent. Raises: TooMuchMemory, Cancelled, TimedOut."""
    if context.is_held and (size_bytes := json_lines.large_bytes(result)):
        context.charge(size_bytes)


def _size_bytes(content: Sequence[Content]) -> int:
    """Return the size of the contents, without the overhead of JSON and base64."""
    size = 0
    for block in content:
        if isinstance(block, TextContent):
            size += len(block.text) if block.text.isascii() else len(block.text.encode())
        elif isinstance(block, (ImageContent, DocumentContent)):
            size += len(block.data)
    return size


def _server_settings(
    workspace: Workspace, dialect: str, settings: Mapping[str, Mapping[str, Any]]
) -> Mapping[str, Any]:
    """Return the settings of a dialect. Its definition names the roots by default: the instructions name them too."""
    given = settings.get(dialect, {})
    configured = workspace.settings.get(dialect, {})
    name = "describes_roots"
    if name in dialect_class(dialect).settings and name not in configured:
        return {name: True, **given}
    return given


def _instructions(workspace: Workspace, listed: Sequence[tuple[str, Tool]]) -> str:
    """Return what a host may show its model about the server: the roots, and what each tool shows."""
    roots = ", ".join(root.path for root in workspace.roots)
    parts: dict[str, list[str]] = {}
    for name, tool in listed:
        parts.setdefault(tool.dialect.instructions, []).append(name)
    if len(parts) == 1:
        shown = next(iter(parts))
    else:
        shown = " ".join([f"{', '.join(names)}: {text}" for text, names in parts.items()])
    names = ", ".join(name for name, _ in listed)
    return valid_text(
        f"Reads files below {roots} with {names}; it never writes. {shown} Keys and credentials are refused."
    )
