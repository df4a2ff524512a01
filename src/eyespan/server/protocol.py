"""The few MCP methods that a read tool needs, over `Tool` objects: no transport, no threads, both eras.

Revisions up to 2025-11-25 open with a handshake; from 2026-07-28 on every request carries its own envelope in `_meta`
and nothing is remembered. A connection may use either, also one after the other: what a request carries decides.
Results are plain dicts; bytes in them stand for base64 text. Both doors (stdio, HTTP) answer from here.
"""

from __future__ import annotations

import eyespan
from eyespan.context import WouldBlock
from eyespan.dialects import DIALECTS
from eyespan.errors import ReadError
from eyespan.escape import valid_text, valid_tree
from eyespan.model import DocumentContent, ImageContent, TextContent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from eyespan.context import CallContext
    from eyespan.model import Content, Reply
    from eyespan.server.audit import Audit
    from eyespan.server.recorder import Recorder
    from eyespan.tool import Tool
    from eyespan.workspace import Workspace

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602
INTERNAL_ERROR, BUSY, RESOURCE_NOT_FOUND, UNSUPPORTED_VERSION = -32603, -32000, -32002, -32022

HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN_VERSIONS = ("2026-07-28",)
BATCH_VERSION = "2025-03-26"
"""The one revision that knows batches."""

_PREFIX = "io.modelcontextprotocol/"
VERSION_KEY, CAPABILITIES_KEY = f"{_PREFIX}protocolVersion", f"{_PREFIX}clientCapabilities"
CLIENT_KEY, SERVER_KEY = f"{_PREFIX}clientInfo", f"{_PREFIX}serverInfo"

HANDSHAKE_METHODS = frozenset(("initialize", "ping"))
COMMON_METHODS = frozenset(
    (
        "tools/list",
        "tools/call",
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "completion/complete",
    )
)
READING_METHODS = frozenset(("tools/call", "resources/read", "completion/complete"))
"""Those that look at the disk, and so may take their time."""

TTL_MS = {
    "server/discover": 3_600_000,
    "tools/list": 3_600_000,
    "resources/list": 3_600_000,
    "resources/templates/list": 3_600_000,
    "resources/read": 0,
}
"""How long a client may keep a result (2026-07-28). Files change; what is on offer does not, while a server runs."""

CAPABILITIES: dict[str, Any] = {"tools": {}, "resources": {}, "completions": {}}
MOST_SHOWN_CHARS = 500_000
"""Told to Claude Code, which otherwise saves answers of some 50 KB and more to disk and shows its model two of them."""
ANNOTATIONS = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}
TEMPLATE = "file:///{+path}{?start,limit}"

_CONTENT_KEYS = frozenset(("text", "content", "base64"))
"""What a dialect's structure repeats of the blocks; no place for that in `_meta`."""


class Refused(Exception):
    """A request that is answered with a JSON-RPC error."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.data = data

    def as_error(self) -> dict[str, Any]:
        error: dict[str, Any] = {"code": self.code, "message": valid_text(self.message)}
        if self.data is not None:
            error["data"] = valid_tree(self.data)
        return error


def server_info() -> dict[str, Any]:
    return {"name": "eyespan", "title": "eyespan", "version": eyespan.__version__}


def default_dialect() -> str:
    """eyespan's own once there is one, else the one that most models know."""
    return "native" if "native" in DIALECTS else "claude"


class Service:
    """What one caller may use: tools in their dialects over one workspace, and its files as resources."""

    def __init__(
        self,
        workspace: Workspace,
        dialects: Sequence[str] = (),
        *,
        settings: Mapping[str, Mapping[str, Any]] | None = None,
        rich: bool = False,
        audit: Audit | None = None,
        audit_required: bool = False,
        max_answer_bytes: int | None = None,
    ) -> None:
        """Raises: ValueError, TypeError for an unknown dialect or setting."""
        self.workspace = workspace
        self.audit = audit
        self._rich = rich
        self._audit_required = audit_required
        self._max_answer_bytes = max_answer_bytes
        names = tuple(dict.fromkeys(dialects)) or (default_dialect(),)
        self._tools: dict[str, Tool] = {}
        """By every name they answer to."""
        self._listed: list[tuple[str, Tool]] = []
        bare: list[tuple[str, Tool]] = []
        for dialect in names:
            tool = workspace.tool(dialect, **(settings or {}).get(dialect, {}))
            spec = tool.spec
            prefix = f"{dialect.replace('-', '_')}_" if len(names) > 1 else ""
            self._listed.append((prefix + spec.name, tool))
            self._tools.update({prefix + name: tool for name in (spec.name, *spec.aliases)})
            bare += [(name, tool) for name in (spec.name, *spec.aliases)]
        # A host that asks by the name its model knows is understood, unless two dialects have that name.
        for name, tool in bare:
            if len({id(other) for other_name, other in bare if other_name == name}) == 1:
                self._tools.setdefault(name, tool)
        self.instructions = _instructions(workspace, [name for name, _ in self._listed])

    def handler(self, method: str) -> Callable[[Mapping[str, Any], str, CallContext], dict[str, Any]]:
        """What answers a method: `(params, caller, context) -> result`. Raises: KeyError."""
        return {
            "tools/list": self._list_tools,
            "tools/call": self._call_tool,
            "resources/list": lambda params, caller, context: {"resources": []},
            "resources/templates/list": self._list_templates,
            "resources/read": self._read_resource,
            "completion/complete": self._complete,
        }[method]

    # --- tools -----------------------------------------------------------------------------------------------------

    def _list_tools(self, params: Mapping[str, Any], caller: str, context: CallContext) -> dict[str, Any]:
        return {"tools": [definition(name, tool) for name, tool in self._listed]}

    def _call_tool(self, params: Mapping[str, Any], caller: str, context: CallContext) -> dict[str, Any]:
        """Raises: Refused for a tool that is not there; whatever else goes wrong is the tool's own answer."""
        name = params.get("name")
        tool = self._tools.get(name) if isinstance(name, str) else None
        if tool is None:
            known = ", ".join(listed for listed, _ in self._listed)
            raise Refused(
                INVALID_PARAMS,
                f"Unknown tool: {name}" if isinstance(name, str) else "name must be a string",
                {"tools": known},
            )
        arguments = params.get("arguments")
        if arguments is None:
            arguments = {}
        if self.audit is None and not self._rich:
            return self._result(tool, tool.call(arguments, context=context), None)
        from eyespan.server.recorder import facts, watched

        reply, recorder, seconds = watched(tool, arguments, context)
        if self.audit is not None:
            verdict = "cancelled" if context.cancelled else "read" if reply.error is None else "refused"
            line = {"caller": caller, "dialect": tool.dialect.name, **facts(recorder)}
            line |= {"bytes": _weight(reply.content) if reply.error is None else 0, "verdict": verdict}
            line |= {"code": None if reply.error is None else reply.error.code, "ms": round(seconds * 1000, 3)}
            if not self._recorded(line):
                return _failure("The audit log cannot be written, so nothing is read. Tell the user.", "audit")
        return self._result(tool, reply, recorder)

    def _recorded(self, line: dict[str, Any]) -> bool:
        """Writes an audit line; whether the answer may go out."""
        assert self.audit is not None
        try:
            self.audit.write(line)
        except OSError as error:
            from eyespan.server.audit import complain

            complain(error)
            return not self._audit_required
        return True

    def _result(self, tool: Tool, reply: Reply, recorder: Recorder | None) -> dict[str, Any]:
        limit = self._max_answer_bytes
        if limit is not None and (weight := _weight(reply.content)) > limit:
            text = f"The answer has {weight} bytes, this server sends at most {limit}. Ask for fewer lines or pages."
            return _failure(text, "answer_too_large")
        result: dict[str, Any] = {
            "content": [self._block(block, recorder) for block in reply.content],
            "isError": reply.error is not None,
        }
        meta: dict[str, Any] = {}
        if reply.error is not None:
            meta["eyespan/error"] = {"code": reply.error.code}
        elif reply.structured is not None:
            if tool.dialect.name in _OUTPUT_SCHEMAS:
                result["structuredContent"] = reply.structured
            else:
                meta["eyespan/facts"] = {k: v for k, v in reply.structured.items() if k not in _CONTENT_KEYS}
        if reply.notes:
            meta["eyespan/notes"] = list(reply.notes)
        if meta:
            result["_meta"] = meta
        return result

    def _block(self, block: Content, recorder: Recorder | None) -> dict[str, Any]:
        if isinstance(block, TextContent):
            return {"type": "text", "text": block.text}
        if isinstance(block, ImageContent):
            return {"type": "image", "data": block.data, "mimeType": block.media_type}
        if self._rich:
            from eyespan.dialects.resource import uri_of

            path = recorder.document.facts.canonical if recorder is not None and recorder.document is not None else ""
            resource = {"uri": uri_of(path), "mimeType": block.media_type, "blob": block.data}
            return {"type": "resource", "resource": resource}
        # Hosts save such a block to disk or hand its base64 to the model as text; neither helps anyone.
        text = f"[A document of type {block.media_type}, {len(block.data)} bytes, which is not sent over MCP.]"
        return {"type": "text", "text": text}

    # --- files as resources ----------------------------------------------------------------------------------------

    def _list_templates(self, params: Mapping[str, Any], caller: str, context: CallContext) -> dict[str, Any]:
        template = {
            "uriTemplate": TEMPLATE,
            "name": "file",
            "title": "A file of the workspace",
            "description": "path: absolute, or relative to the first folder served. start and limit: a range of lines, "
            "counted from 1. Text comes as text, anything else as base64.",
        }
        return {"resourceTemplates": [template]}

    def _read_resource(self, params: Mapping[str, Any], caller: str, context: CallContext) -> dict[str, Any]:
        import time

        from eyespan.dialects import resource
        from eyespan.server.recorder import Recorder, facts

        uri = params.get("uri")
        if not isinstance(uri, str):
            raise Refused(INVALID_PARAMS, "uri must be a string")
        recorder = Recorder(self.workspace.engine)
        start = time.perf_counter()
        code = None
        waits = False
        contents: dict[str, Any] = {}
        try:
            contents = resource.read(recorder, self.workspace.roots, uri, context, self._max_answer_bytes)
        except ReadError as error:
            code = error.code
            raise Refused(RESOURCE_NOT_FOUND, valid_text(str(error)), {"uri": uri}) from None
        except WouldBlock:
            waits = True
            raise
        finally:
            if self.audit is not None and not waits:
                size = len(contents.get("text", "").encode()) if "text" in contents else len(contents.get("blob", b""))
                verdict = "cancelled" if context.cancelled else "read" if contents else "refused"
                line = {"caller": caller, "dialect": "resource", **facts(recorder), "bytes": size, "verdict": verdict}
                line |= {"code": code, "ms": round((time.perf_counter() - start) * 1000, 3)}
                if not self._recorded(line):
                    raise Refused(INTERNAL_ERROR, "the audit log cannot be written, so nothing is read", {"uri": uri})
        return {"contents": [contents]}

    def _complete(self, params: Mapping[str, Any], caller: str, context: CallContext) -> dict[str, Any]:
        ref, argument = params.get("ref"), params.get("argument")
        if not isinstance(ref, dict) or not isinstance(argument, dict):
            raise Refused(INVALID_PARAMS, "ref and argument must be objects")
        if ref.get("type") != "ref/resource" or ref.get("uri") != TEMPLATE:
            raise Refused(INVALID_PARAMS, f"nothing to complete there; the one template is {TEMPLATE}")
        value = argument.get("value")
        if not isinstance(value, str):
            raise Refused(INVALID_PARAMS, "argument.value must be a string")
        if argument.get("name") != "path":
            return {"completion": {"values": [], "total": 0, "hasMore": False}}
        from eyespan.dialects.resource import complete

        return {"completion": complete(self.workspace.engine, value, context)}


class Session:
    """One connection of a door that has connections: which revision was agreed on, and who is there."""

    __slots__ = ("caller", "service", "version")

    def __init__(self, service: Service, caller: str = "") -> None:
        self.service = service
        self.version: str | None = None
        self.caller = caller

    def answer(self, method: str, params: Mapping[str, Any], context: CallContext) -> dict[str, Any]:
        """The result of one request.

        Raises: Refused.
        """
        meta = params.get("_meta")
        if method != "initialize" and isinstance(meta, dict) and VERSION_KEY in meta:
            return self._modern(method, params, meta, context)
        if method == "initialize":
            if isinstance(meta, dict) and VERSION_KEY in meta and "protocolVersion" not in params:
                raise Refused(METHOD_NOT_FOUND, "Method not found", method)  # of a revision without handshake
            return self._initialize(params)
        if method == "ping":
            return {}
        if method == "server/discover":
            raise Refused(INVALID_PARAMS, f"params._meta lacks {VERSION_KEY} and {CAPABILITIES_KEY}")
        if method not in COMMON_METHODS:
            raise Refused(METHOD_NOT_FOUND, "Method not found", method)
        if self.version is None:
            raise Refused(INVALID_PARAMS, f"send initialize first, or {VERSION_KEY} in params._meta")
        return self.service.handler(method)(params, self.caller, context)

    def _initialize(self, params: Mapping[str, Any]) -> dict[str, Any]:
        asked = params.get("protocolVersion")
        if not isinstance(asked, str):
            raise Refused(INVALID_PARAMS, "protocolVersion must be a string")
        self.version = asked if asked in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1]
        self.caller = caller_of(params.get("clientInfo")) or self.caller
        return {
            "protocolVersion": self.version,
            "capabilities": CAPABILITIES,
            "serverInfo": server_info(),
            "instructions": self.service.instructions,
        }

    def _modern(
        self, method: str, params: Mapping[str, Any], meta: Mapping[str, Any], context: CallContext
    ) -> dict[str, Any]:
        version = meta[VERSION_KEY]
        if CAPABILITIES_KEY not in meta:
            raise Refused(INVALID_PARAMS, f"params._meta lacks {CAPABILITIES_KEY}")
        if not isinstance(version, str):
            raise Refused(INVALID_PARAMS, f"{VERSION_KEY} must be a string")
        if version not in MODERN_VERSIONS:
            data = {"supported": list(MODERN_VERSIONS), "requested": version}
            raise Refused(UNSUPPORTED_VERSION, "Unsupported protocol version", data)
        if method == "server/discover":
            result: dict[str, Any] = {
                "supportedVersions": list(MODERN_VERSIONS),
                "capabilities": CAPABILITIES,
                "instructions": self.service.instructions,
            }
        elif method in COMMON_METHODS:
            try:
                result = self.service.handler(method)(params, caller_of(meta.get(CLIENT_KEY)) or self.caller, context)
            except Refused as refused:
                if refused.code == RESOURCE_NOT_FOUND:  # retired in this revision
                    refused.code = INVALID_PARAMS
                raise
        else:
            raise Refused(METHOD_NOT_FOUND, "Method not found", method)
        result["resultType"] = "complete"
        if method in TTL_MS:
            result |= {"ttlMs": TTL_MS[method], "cacheScope": "private"}
        result["_meta"] = {**result.get("_meta", {}), SERVER_KEY: server_info()}
        return result


def caller_of(info: Any) -> str:
    """The name a client gives itself, for the audit log."""
    if not isinstance(info, dict) or not isinstance(info.get("name"), str):
        return ""
    version = info.get("version")
    name = f"{info['name']}/{version}" if isinstance(version, str) and version else info["name"]
    return valid_text(name)[:100]


def progress_token(params: Mapping[str, Any]) -> str | int | None:
    """What a caller wants its progress notices marked with, if it wants any."""
    meta = params.get("_meta")
    token = meta.get("progressToken") if isinstance(meta, dict) else None
    return token if is_id(token) else None


def is_id(value: Any) -> bool:
    """Whether a value can name a request: a string that can be written back, or a whole number."""
    return type(value) is int or (isinstance(value, str) and valid_text(value) == value)


def definition(name: str, tool: Tool) -> dict[str, Any]:
    """A tool as `tools/list` has it, under the name it is listed by."""
    spec = tool.spec
    listed: dict[str, Any] = {
        "name": name,
        "description": spec.description,
        "inputSchema": spec.input_schema,
        "annotations": ANNOTATIONS,
        "_meta": {"anthropic/maxResultSizeChars": MOST_SHOWN_CHARS},
    }
    schema = _OUTPUT_SCHEMAS.get(tool.dialect.name)
    if schema is not None:
        listed["outputSchema"] = schema
    return listed


def _failure(text: str, code: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "isError": True, "_meta": {"eyespan/error": {"code": code}}}


def _weight(content: Sequence[Content]) -> int:
    """What the blocks weigh on the wire, about."""
    size = 0
    for block in content:
        if isinstance(block, TextContent):
            size += len(block.text) if block.text.isascii() else len(block.text.encode())
        elif isinstance(block, (ImageContent, DocumentContent)):
            size += len(block.data)
    return size


def _instructions(workspace: Workspace, names: list[str]) -> str:
    roots = ", ".join(root.path for root in workspace.roots)
    return valid_text(
        f"Reads files below {roots} with {', '.join(names)}; it never writes. Text comes by lines: of a large file ask "
        "for the range you need. Pictures, PDF pages and notebooks come as what they are. Keys and credentials are "
        "refused."
    )


_OBJECT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "content": {"type": "string"},
        "truncated": {"type": "boolean"},
        "next_start_line": {"type": ["integer", "null"]},
        "meta": {
            "type": "object",
            "properties": {
                "byte_length": {"type": "integer"},
                "line_count": {"type": "integer"},
                "returned_line_count": {"type": "integer"},
                "mtime_ms": {"type": "number"},
            },
            "required": ["byte_length", "line_count", "returned_line_count", "mtime_ms"],
        },
    },
    "required": ["path", "content", "truncated", "next_start_line", "meta"],
}
# Only where the dialect's result is a structure: with structuredContent there, hosts drop the blocks beside it.
_OUTPUT_SCHEMAS = {"workspace": _OBJECT, "workspace-upstream": _OBJECT}
