"""The answers of the page's requests, as plain values. The page computes nothing itself."""

from __future__ import annotations

import time
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol
from urllib.parse import parse_qsl

from eyespan.context import CallContext, WouldBlock
from eyespan.dialects import dialect_class, dialect_names, forms
from eyespan.errors import ReadError
from eyespan.extras.http.page.activity import Activity
from eyespan.extras.http.page.colors import line_styles
from eyespan.guard.listing import Listing
from eyespan.guard.tree import Survey
from eyespan.model import Content, ImageContent, Reply, TextContent
from eyespan.recorder import Recorder, facts, watched
from eyespan.server import json_messages
from eyespan.server.mcp_names import BUSY, INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, RpcError
from eyespan.server.messages import Message
from eyespan.tokens import estimate, estimate_image
from eyespan.tool import Tool
from eyespan.workspace import Workspace

Report = Callable[[], dict[str, Any]]
MAX_NAMES = 10_000
"""Names of one directory, or of all files, that are sent."""
MAX_COSTS = 25
"""Files that one request measures."""
MAX_CALLS = 20
"""Calls for one file that is measured."""
STATUS_BY_CODE = {INVALID_PARAMS: 400, METHOD_NOT_FOUND: 404, BUSY: 503, INTERNAL_ERROR: 500}


class Backend(Protocol):
    """The files and tools that the page shows, and its record of reads."""

    roots: Sequence[str]
    is_local: bool
    """The page belongs to the user of this machine: it measures files at its start and counts the hidden names."""

    report: Report | None
    """What the reads of a host's transcripts cost, as far as they are counted."""

    def toolsets(self) -> Mapping[str, Sequence[Tool]]:
        """Return the tools by dialect."""

    def list(self, path: str, context: CallContext) -> Listing:
        """Return the names in a directory. Raises: ReadError."""

    def survey(self, path: str, context: CallContext) -> Survey:
        """Return the files below a directory. Raises: ReadError."""

    def call(self, tool: Tool, arguments: Any, context: CallContext) -> tuple[Reply, Recorder | None]:
        """Call a tool; return its reply and the record of the call."""

    def note(self, event: dict[str, Any]) -> None:
        """Note a call of the page, as a line of the audit log."""

    def since(self, after: str) -> dict[str, Any]:
        """Return the reads after a position, as `Activity.since` does."""


class WorkspaceBackend:
    """A workspace with every dialect, and the reads of an audit log."""

    is_local = True

    def __init__(self, workspace: Workspace, activity: Activity, report: Report | None = None) -> None:
        self._workspace = workspace
        self._activity = activity
        self.report = report
        self.roots: Sequence[str] = [root.path for root in workspace.roots]

    def toolsets(self) -> dict[str, Sequence[Tool]]:
        return {name: self._workspace.toolset(name) for name in dialect_names()}

    def list(self, path: str, context: CallContext) -> Listing:
        return self._workspace.engine.list(path, context, hides_ignored=True)

    def survey(self, path: str, context: CallContext) -> Survey:
        return self._workspace.engine.explore(path, lambda _: {}, lambda *_: None, 0, context)

    def call(self, tool: Tool, arguments: Any, context: CallContext) -> tuple[Reply, Recorder | None]:
        reply, recorder, _ = watched(tool, arguments, context)
        return reply, recorder

    def note(self, event: dict[str, Any]) -> None:
        self._activity.add_preview(event)

    def since(self, after: str) -> dict[str, Any]:
        return self._activity.since(after)


class Api:
    """The requests of the page over one backend; `messages.answer` makes answers of them."""

    def __init__(self, backend: Backend, caller: str = "this page") -> None:
        self._backend = backend
        self.caller = caller

    def answer(self, method: str, params: Mapping[str, Any], context: CallContext) -> dict[str, Any]:
        """Return the result of one request. Raises: RpcError, and WouldBlock if the context may not block."""
        if method == "tools/call":
            return self.call(params, context)
        if method == "state":
            return self.state()
        if method == "names":
            return self.names(params["path"], context)
        if method == "files":
            return self.files(context)
        if method == "activity":
            return self._backend.since(params["after"])
        if method == "why" and self._backend.report is not None:
            return self._backend.report()
        raise RpcError(METHOD_NOT_FOUND, "no such page")

    def state(self) -> dict[str, Any]:
        """Return the roots and the tools of every dialect, each with the schema that its form is made of."""
        dialects = []
        for name, tools in self._backend.toolsets().items():
            specs = [
                {"name": tool.spec.name, "description": tool.spec.description, "schema": tool.spec.input_schema}
                for tool in tools
            ]
            dialects.append({"name": name, "summary": dialect_class(name).summary, "tools": specs})
        here = self._backend
        facts = {"is_local": here.is_local, "has_report": here.report is not None}
        return {"roots": list(here.roots), "dialects": dialects, **facts}

    def names(self, path: str, context: CallContext) -> dict[str, Any]:
        """Return the names in a directory."""
        try:
            listing = self._backend.list(path or ".", context)
        except ReadError as error:
            return {"entries": [], "error": {"code": error.code, "message": str(error)}}
        entries = [{"name": entry.name, "type": entry.what} for entry in listing.entries[:MAX_NAMES]]
        is_complete = not listing.partial and len(listing.entries) <= MAX_NAMES
        return {"entries": entries, "is_complete": is_complete, "error": None}

    def files(self, context: CallContext) -> dict[str, Any]:
        """Return the files below the roots with their sizes, the largest if there are too many, and what rules hide."""
        files: list[tuple[str, int]] = []
        hidden: Counter[str] = Counter()
        errors = []
        is_complete = True
        for root in self._backend.roots:
            start = "" if len(self._backend.roots) == 1 else f"{root.rstrip('/')}/"
            try:
                survey = self._backend.survey(root, context)
            except ReadError as error:
                errors.append(str(error))
                continue
            for directory, found in survey.directories.items():
                files += [(f"{start}{directory}{name}", size_bytes) for name, size_bytes, _ in found]
            is_complete = is_complete and survey.is_complete
            hidden.update(survey.denied)
        largest = sorted(files, key=lambda file: (-file[1], file[0]))[:MAX_NAMES]
        return {
            "files": sorted(largest),
            "count": len(files),
            "is_complete": is_complete,
            "hidden": hidden.most_common() if self._backend.is_local else None,
            "errors": errors,
        }

    def _costs(self, tool: Tool, paths: Any, context: CallContext) -> dict[str, Any]:
        """Return what reading each file whole costs, None for a refused one; fewer if time runs out."""
        if not isinstance(paths, list):
            raise _bad_request("files must be a list of paths")
        costs: list[dict[str, Any] | None] = []
        for path in paths[:MAX_COSTS]:
            if costs and context.is_half_over:
                break
            costs.append(self._cost(tool, path, context))
        return {"costs": costs}

    def _cost(self, tool: Tool, path: Any, context: CallContext) -> dict[str, Any] | None:
        """Read a file and what each answer left out; return the tokens, and whether that was everything."""
        tokens = made = 0
        arguments = self._arguments_of(tool, {"path": path})
        for reply in forms.read_on(tool.dialect, arguments, lambda each: self._backend.call(tool, each, context)[0]):
            if reply is None or reply.is_error:
                return {"tokens": tokens, "is_whole": False} if made else None
            context.memory.deliver()
            tokens, made = tokens + reply.facts["tokens"], made + 1
            if reply.facts.get("left_out") and (made == MAX_CALLS or context.is_half_over):
                return {"tokens": tokens, "is_whole": False}
        return {"tokens": tokens, "is_whole": True}

    def call(self, request: Mapping[str, Any], context: CallContext) -> dict[str, Any]:
        """Make one tool call and return its blocks, as the model receives them. Raises: RpcError, WouldBlock."""
        if not context.may_block:
            raise WouldBlock  # before anything is read and logged: the styles of the answer wait for the worker
        dialect, tool_name = request.get("dialect"), request.get("tool")
        toolsets = self._backend.toolsets()
        if not isinstance(dialect, str) or dialect not in toolsets:
            raise _bad_request(f"no dialect {dialect!r}")
        tools = {tool.spec.name: tool for tool in toolsets[dialect]}
        tool = tools.get(tool_name) if isinstance(tool_name, str) else next(iter(tools.values()))
        if tool is None:
            raise _bad_request(f"{dialect} has no tool {tool_name!r}")
        if "files" in request:
            return self._costs(tool, request["files"], context)
        arguments = request.get("arguments")
        if "file" in request:
            arguments = self._arguments_of(tool, request["file"])
        started = time.perf_counter()
        reply, recorder = self._backend.call(tool, arguments, context)
        seconds = time.perf_counter() - started
        counted = reply.facts
        path = "" if recorder is None or recorder.document is None else recorder.document.facts.path
        answer = {
            "arguments": arguments,
            "blocks": [_block(block, path, context) for block in reply.content],
            "tokens": counted["tokens"],
            "facts": counted,
            "next": [
                {"selector": selector, "arguments": forms.following(tool.dialect, arguments, selector)}
                for selector in counted.get("left_out", ())
            ],
            "notes": list(reply.notes),
            "error": None if reply.error is None else {"code": reply.error.code, "message": reply.error.message},
            "rule": None if recorder is None else recorder.rule,
            "file": None if recorder is None else _file(tool, arguments, recorder),
            "ms": round(seconds * 1000, 1),
        }
        if recorder is not None:
            event = {"caller": "this page", "dialect": dialect, **facts(recorder), "bytes": counted["bytes"]}
            event |= {"tokens": counted["tokens"], "verdict": "refused" if reply.error else "read"}
            self._backend.note(event | {"code": reply.error.code if reply.error else None, "ms": answer["ms"]})
        return answer

    def _arguments_of(self, tool: Tool, file: Any) -> dict[str, Any]:
        """Return the arguments that read a file of the tree or of another answer. Raises: RpcError."""
        if not isinstance(file, dict) or not isinstance(file.get("path"), str):
            raise _bad_request("file must be an object with a path")
        lines = {name: file[name] if isinstance(file.get(name), int) else None for name in ("first", "last")}
        return forms.arguments_of(tool.dialect, file["path"], self._backend.roots[0], **lines)


def message_of(address: str, body: bytes | bytearray, values: int = 0) -> Message:
    """Return the request for data at an address as a message. Raises: RpcError.

    `address` is what follows `api/`, with the query; `values` is that of `json_messages.loads`.
    """
    end, _, query = address.partition("?")
    if end == "call":
        try:
            request = json_messages.loads(body, values)
        except json_messages.Malformed:
            request = None
        if not isinstance(request, dict):
            raise _bad_request("a JSON object is expected")
        return Message(0, "tools/call", request)
    found = dict(parse_qsl(query))
    return Message(0, end, {name: found.get(name, "") for name in ("path", "after")})


def body_of(answer: Mapping[str, Any]) -> list[bytes]:
    """Return the JSON of an answer for the page, in pieces."""
    error = answer.get("error")
    return json_messages.dumps(answer["result"] if error is None else {"message": error["message"]})


def status_of(answer: Mapping[str, Any]) -> int:
    """Return the HTTP status of an answer for the page."""
    error = answer.get("error")
    return 200 if error is None else STATUS_BY_CODE.get(error["code"], 500)


def _bad_request(text: str) -> RpcError:
    return RpcError(INVALID_PARAMS, text)


def _block(block: Content, path: str, context: CallContext) -> dict[str, Any]:
    if isinstance(block, TextContent):
        styles = line_styles(block.text, path, context)
        return {"type": "text", "text": block.text, "tokens": estimate(block.text), "styles": styles}
    data = b64encode(block.data).decode("ascii")
    tokens = estimate_image(block.data) if isinstance(block, ImageContent) else None
    return {"type": block.type, "media_type": block.media_type, "data": data, "tokens": tokens}


def _file(tool: Tool, arguments: Any, recorder: Recorder) -> dict[str, Any] | None:
    """Return the one file that a call read and the lines that it named, for the same read in another dialect."""
    if recorder.document is None or len(recorder.files) != 1:
        return None
    path = recorder.document.facts.path
    schema = tool.spec.input_schema
    first, last = forms.lines_of(tool.dialect, arguments)
    name = forms.path_field(schema)
    if name is not None and isinstance(arguments, dict) and forms.takes_selectors(schema["properties"][name]):
        given = arguments.get(name)
        target = given[0] if isinstance(given, list) and given else given
        if target != recorder.asked:
            first, last = _range_of(facts(recorder)["range"])
    return {"path": path, "first": first, "last": last}


def _range_of(text: str | None) -> tuple[int | None, int | None]:
    first, _, last = (text or "").partition("-")
    return (int(first), int(last)) if first.isdecimal() and last.isdecimal() else (None, None)
