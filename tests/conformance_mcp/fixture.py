"""Tools and resources for the official conformance suite, served by the real servers.

    python fixture.py http PORT      the HTTP server
    python fixture.py stdio          the stdio server
    python fixture.py bridge PORT    the stdio server with an HTTP adapter, since the suite uses only HTTP

The suite asks for tools and resources by names of its own (`test_simple_text`, `test://static-text`). Each name stands
for a reply that a tool could give, or for a file; the servers send it in their own way.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Empty, Queue
from typing import Any

from eyespan.dialects.base import Dialect
from eyespan.extras.resources.handlers import RESOURCE_TEMPLATE
from eyespan.extras.resources.polling import STREAM_KEY
from eyespan.model import DocumentContent, ImageContent, Reply, ReplyError, TextContent, ToolSpec
from eyespan.server import ServeOptions, mcp_names, serve, stdio
from eyespan.server.service import Service
from eyespan.workspace import Workspace

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de"
    "0000000c4944415408d763f8cfc000000301010018dd8db00000000049454e44ae426082"
)
TEXT, IMAGE = TextContent("This is a simple text response for testing."), ImageContent(PNG, "image/png")
DOCUMENT = DocumentContent(b"%PDF-1.4", "application/pdf", uri="file:///paper.pdf")
FAILED = ReplyError("test", "This tool intentionally returns an error for testing")

REPLIES = {
    "test_simple_text": Reply((TEXT,)),
    "test_image_content": Reply((IMAGE,)),
    "test_embedded_resource": Reply((DOCUMENT,)),
    "test_multiple_content_types": Reply((TEXT, IMAGE, DOCUMENT)),
    "test_error_handling": Reply((TextContent(FAILED.message),), None, FAILED),
    "test_tool_with_progress": Reply((TEXT,)),
    "test_logging_tool": Reply((TEXT,)),  # a tool that could log and does not
}
FILES = {
    "test://static-text": "file:///static.txt",
    "test://static-binary": "file:///static.png",
    "test://template/123/data": "file:///123.txt",
}


class CannedTool:
    """A tool with a fixed reply."""

    class dialect(Dialect):  # noqa: N801  (stands for an object)
        name = "fixture"
        sends_documents = True

    def __init__(self, name: str) -> None:
        self.spec = ToolSpec(name, "Of the conformance suite.", {"type": "object", "properties": {}})
        self.engine: Any = None

    def call(self, arguments: Any, *, context: Any) -> Reply:
        if self.spec.name == "test_tool_with_progress":
            for done in (1, 50, 100, 100):
                time.sleep(0.25)  # the servers report progress at most five times a second
                context.advance(done, 100)
        return REPLIES[self.spec.name]


class FixtureService(Service):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in REPLIES:
            tool: Any = CannedTool(name)
            self._tools[name] = tool
            self._listed.append((name, tool))

    def _call_tool(self, params: Any, caller: str, context: Any) -> dict[str, Any]:
        tool = self._tools.get(params.get("name"))
        if isinstance(tool, CannedTool):
            return self._result(tool, tool.call({}, context=context))
        return super()._call_tool(params, caller, context)

    def handler(self, method: str) -> Any:
        if method == "resources/read":
            return self._read_by_name
        if method == "resources/list":
            return lambda *_: {"resources": [{"uri": "test://static-text", "name": "static-text"}]}
        if method == "completion/complete":
            return self._complete_any
        return super().handler(method)

    def _read_by_name(self, params: Any, caller: str, context: Any) -> dict[str, Any]:
        asked = params.get("uri")
        try:
            result = self.resources.read({"uri": FILES.get(asked, asked)}, caller, context)
        except mcp_names.RpcError as refused:
            refused.data = {"uri": asked}
            raise
        result["contents"][0]["uri"] = asked
        return result

    def _complete_any(self, params: Any, caller: str, context: Any) -> dict[str, Any]:
        """Complete paths for every argument, since the suite asks for the argument of a prompt."""
        ref = {"type": "ref/resource", "uri": RESOURCE_TEMPLATE}
        return self.resources.complete({"ref": ref, "argument": {"name": "path", "value": "s"}}, caller, context)


class Bridge(BaseHTTPRequestHandler):
    """Converts HTTP to lines and back, with the statuses of the revision 2026-07-28."""

    STATUS = {-32700: 400, -32600: 400, -32602: 400, -32022: 400, -32601: 404}
    protocol_version = "HTTP/1.1"
    child: subprocess.Popen[bytes]
    waiting: dict[int, Queue[dict[str, Any]]] = {}
    tokens: dict[Any, int] = {}
    lock = threading.Lock()
    last = 0

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        message = json.loads(body)
        if "id" not in message:
            assert self.child.stdin is not None
            self.child.stdin.write(json.dumps(message).encode() + b"\n")
            self.child.stdin.flush()
            self._send(202, b"")
            return
        params = message.get("params") or {}
        meta = params.get("_meta") or {}
        with self.lock:
            Bridge.last += 1
            number, asked = self.last, message["id"]
            answers: Queue[dict[str, Any]] = Queue()
            self.waiting[number] = answers
            if "progressToken" in meta:
                self.tokens[meta["progressToken"]] = number
            assert self.child.stdin is not None
            self.child.stdin.write(json.dumps({**message, "id": number}).encode() + b"\n")
            self.child.stdin.flush()
        if message["method"] == mcp_names.LISTEN:
            self._stream(answers, asked)
            return
        notifications = []
        while "id" not in (answer := answers.get(timeout=60)):
            notifications.append(answer)
        answer["id"] = asked
        modern = self.headers.get("MCP-Protocol-Version") not in (None, *mcp_names.HANDSHAKE_VERSIONS)
        status = self.STATUS.get(answer.get("error", {}).get("code"), 200) if modern else 200
        if notifications:
            events = "".join(f"event: message\ndata: {json.dumps(item)}\n\n" for item in [*notifications, answer])
            self._send(status, events.encode(), "text/event-stream")
        else:
            self._send(status, json.dumps(answer).encode())

    def _stream(self, answers: Queue[dict[str, Any]], asked: Any) -> None:
        """Send the notifications of a subscription as they come, up to an answer or five seconds without any."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        with contextlib.suppress(Empty, OSError):
            while "id" not in (item := answers.get(timeout=5)):
                item["params"]["_meta"][STREAM_KEY] = asked
                self.wfile.write(f"event: message\ndata: {json.dumps(item)}\n\n".encode())
                self.wfile.flush()
            self.wfile.write(f"event: message\ndata: {json.dumps({**item, 'id': asked})}\n\n".encode())

    def do_GET(self) -> None:
        self._send(405, b"")

    def do_DELETE(self) -> None:
        self._send(405, b"")

    def _send(self, status: int, body: bytes, kind: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Print nothing; the suite has a log of its own."""

    @classmethod
    def pump(cls) -> None:
        """Pass each line of the stdio server to the request that it answers."""
        assert cls.child.stdout is not None
        for line in cls.child.stdout:
            message = json.loads(line)
            number = message.get("id")
            if number is None:
                params = message.get("params", {})
                number = cls.tokens.get(params.get("progressToken"), params.get("_meta", {}).get(STREAM_KEY))
            if number in cls.waiting:
                cls.waiting[number].put(message)


def run(argv: list[str]) -> int:
    server, port = argv[0], argv[1] if len(argv) > 1 else ""
    if server == "bridge":
        Bridge.child = subprocess.Popen(
            [sys.executable, __file__, "stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        threading.Thread(target=Bridge.pump, daemon=True).start()
        ThreadingHTTPServer(("127.0.0.1", int(port)), Bridge).serve_forever()
    directory = Path(tempfile.mkdtemp(prefix="eyespan-conformance-"))
    (directory / "static.txt").write_text("This is the content of the static text resource.\n")
    (directory / "static.png").write_bytes(PNG)
    (directory / "123.txt").write_text("Data for ID: 123\n")
    if server == "http":
        from eyespan.extras.http import caller_services
        from eyespan.extras.http.http_options import HttpOptions

        caller_services.Service = FixtureService  # type: ignore[misc]  # the servers answer from this class here
        options: ServeOptions = HttpOptions(
            dialects=("workspace",), http=("127.0.0.1", int(port)), no_token=True, rate=100_000
        )
    else:
        options = ServeOptions(dialects=("workspace",))
    stdio.Service = FixtureService  # type: ignore[misc]
    return serve(lambda roots: Workspace(directory), options)


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
